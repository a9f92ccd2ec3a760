//! TLS 1.3 over TCP (RFC 8446), with records made in user space or by the kernel.
//!
//! rustls performs the handshake in both cases. netserver presents a key without a certificate
//! (RFC 7250), created by each process, and netperf accepts any key: the test measures the cost
//! of TLS and does not authenticate. Sessions are never resumed, so that every connection pays
//! for a full handshake.
//!
//! No `close_notify` is sent: the end of the TCP connection is the end of data, as in a TCP
//! test.

mod buffers;
pub(crate) mod config;
mod kernel;
mod session;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

use netperf_os::ktls::{self, KtlsDirection};
use netperf_os::{SockAddr, Socket};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig};

pub use config::{check, ciphers};
pub use kernel::probe;

use crate::endpoint::{Endpoint, Received, Sent};
use crate::meeting::{self, AcceptFilter, Connects, GiveUp, Met, OnSocket};
use crate::tcp::Tcp;
use buffers::Intake;
use kernel::kernels;
use session::Session;

/// TLS configurations of both ends, created on first use.
#[derive(Debug)]
struct Handshakes {
    cipher: Option<String>,
    client: OnceLock<Arc<ClientConfig>>,
    server: OnceLock<Arc<ServerConfig>>,
}

impl Handshakes {
    fn new(cipher: Option<&str>) -> Self {
        Self {
            cipher: cipher.map(str::to_owned),
            client: OnceLock::new(),
            server: OnceLock::new(),
        }
    }

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        intake: Intake,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<(Socket, Session)>> {
        let config = made(&self.client, || config::client(self.cipher.as_deref()))?;
        let Met::Connected(()) = meeting::connect(&socket, to, give_up)? else {
            return Ok(Met::GivenUp);
        };
        ready(&socket, intake)?;
        let peer = to.as_socket().ok_or(io::ErrorKind::Unsupported)?;
        let name = ServerName::IpAddress(peer.ip().into());
        let mut session = Session::client(config, name)?;
        let met = session.handshake(socket.as_fd(), intake, give_up)?;
        met.and_then(|()| Ok(Met::Connected((socket, session))))
    }

    fn accept(
        &self,
        gate: AcceptFilter<'_>,
        intake: Intake,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<(Socket, Session)>> {
        let config = made(&self.server, || config::server(self.cipher.as_deref()))?;
        let Met::Connected(socket) = meeting::accept(gate, give_up)? else {
            return Ok(Met::GivenUp);
        };
        ready(&socket, intake)?;
        let mut session = Session::server(config)?;
        // A failed handshake aborts this connection; the next one may succeed.
        let aborted = |error| io::Error::new(io::ErrorKind::ConnectionAborted, error);
        let met = session.handshake(socket.as_fd(), intake, give_up);
        met.map_err(aborted)?
            .and_then(|()| Ok(Met::Connected((socket, session))))
    }
}

/// The configuration, made when it is needed first.
fn made<T>(
    cell: &OnceLock<Arc<T>>,
    make: impl FnOnce() -> io::Result<Arc<T>>,
) -> io::Result<Arc<T>> {
    match cell.get() {
        Some(config) => Ok(Arc::clone(config)),
        None => make().map(|config| Arc::clone(cell.get_or_init(|| config))),
    }
}

/// Prepares a connection for kernel TLS, if used. The kernel requires an established
/// connection, and the peer may close right after the handshake.
fn ready(socket: &Socket, intake: Intake) -> io::Result<()> {
    match intake {
        Intake::Greedy => Ok(()),
        Intake::RecordByRecord => match ktls::attach(socket.as_fd()) {
            // The peer has already closed. This connection is lost, but the test continues.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, error))
            }
            other => other,
        },
    }
}

/// TLS in user space.
#[derive(Debug)]
pub struct Tls(Handshakes);

impl Tls {
    /// Creates the transport; `cipher` is the only suite to offer and accept, if given. With a
    /// name that [`check`] rejects, every connection fails.
    #[must_use]
    pub fn new(cipher: Option<&str>) -> Self {
        Self(Handshakes::new(cipher))
    }
}

/// A connection with records made in user space.
#[derive(Debug)]
pub struct Encrypted {
    socket: Socket,
    session: Session,
}

impl Connects for Tls {
    type Endpoint = Encrypted;

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Encrypted>> {
        let met = self.0.connect(socket, to, Intake::Greedy, give_up)?;
        met.and_then(|(socket, session)| Ok(Met::Connected(Encrypted { socket, session })))
    }

    fn accept(&self, gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<Encrypted>> {
        let met = self.0.accept(gate, Intake::Greedy, give_up)?;
        met.and_then(|(socket, session)| Ok(Met::Connected(Encrypted { socket, session })))
    }
}

impl Endpoint for Encrypted {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        self.session.send(self.socket.as_fd(), buf)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        self.session.recv(self.socket.as_fd(), buf)
    }

    fn begin(&mut self) {
        self.session.finish(self.socket.as_fd());
    }
}

impl OnSocket for Encrypted {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn into_socket(mut self) -> Socket {
        self.session.finish(self.socket.as_fd());
        self.socket
    }

    fn cipher(&self) -> Option<String> {
        self.session.cipher()
    }
}

/// Kernel TLS: the kernel makes the records after the handshake.
///
/// The kernel never updates keys, and the record count is not checked against the limit of RFC
/// 8446 section 5.5: the data is not secret.
#[derive(Debug)]
pub struct Ktls(Handshakes);

impl Ktls {
    /// Creates the transport; `cipher` as in [`Tls::new`].
    #[must_use]
    pub fn new(cipher: Option<&str>) -> Self {
        Self(Handshakes::new(cipher))
    }
}

/// A TCP connection with kernel TLS. All TCP endpoints can use it.
#[derive(Debug)]
pub struct InKernel {
    connection: Tcp,
    cipher: Option<String>,
}

impl InKernel {
    /// Passes the secrets of a finished handshake to a socket prepared by [`ready`].
    fn new(socket: Socket, session: Session) -> io::Result<Self> {
        let cipher = session.cipher();
        let secrets = session.into_secrets()?;
        for (direction, (sequence, secrets)) in [
            (KtlsDirection::Send, &secrets.tx),
            (KtlsDirection::Receive, &secrets.rx),
        ] {
            ktls::give(socket.as_fd(), direction, &kernels(*sequence, secrets)?)?;
        }
        Ok(Self {
            connection: Tcp(socket),
            cipher,
        })
    }
}

impl Connects for Ktls {
    type Endpoint = InKernel;

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<InKernel>> {
        let met = self
            .0
            .connect(socket, to, Intake::RecordByRecord, give_up)?;
        met.and_then(|(socket, session)| InKernel::new(socket, session).map(Met::Connected))
    }

    fn accept(&self, gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<InKernel>> {
        let met = self.0.accept(gate, Intake::RecordByRecord, give_up)?;
        met.and_then(|(socket, session)| InKernel::new(socket, session).map(Met::Connected))
    }
}

impl Endpoint for InKernel {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        self.connection.send(buf)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        self.connection.recv(buf)
    }
}

impl OnSocket for InKernel {
    fn fd(&self) -> BorrowedFd<'_> {
        self.connection.fd()
    }

    fn into_socket(self) -> Socket {
        self.connection.into_socket()
    }

    fn cipher(&self) -> Option<String> {
        self.cipher.clone()
    }
}
