//! TLS 1.3 over TCP (RFC 8446): in this program, or with the kernel making the records.
//!
//! The handshake is rustls' in both. netserver presents a key without a certificate
//! (RFC 7250), made afresh by every process, and netperf takes whichever key it is shown:
//! this measures what TLS costs and authenticates nobody. Sessions are never resumed, so
//! that every connection pays for a handshake of its own.
//!
//! No `close_notify` is sent: the end of the TCP connection is the end of the data, as it is
//! for TCP alone.

mod buffers;
pub(crate) mod config;
mod session;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

use netperf_os::ktls::{self, KtlsDirection, KtlsKey, KtlsSecrets};
use netperf_os::{SockAddr, Socket};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConnectionTrafficSecrets, ServerConfig};

pub use config::{check, ciphers};

use crate::endpoint::{Endpoint, Received, Sent};
use crate::meeting::{self, AcceptFilter, Connects, GiveUp, Met, OnSocket};
use crate::tcp::Tcp;
use buffers::Intake;
use session::Session;

/// Both ends' part in handshakes, made when it is first needed.
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
        if self.client.get().is_none() {
            // Nobody else can have set it meanwhile.
            let _set = self.client.set(config::client(self.cipher.as_deref())?);
        }
        let Some(config) = self.client.get() else {
            return Err(io::Error::other("no configuration"));
        };
        let Met::Connected(()) = meeting::connect(&socket, to, give_up)? else {
            return Ok(Met::GivenUp);
        };
        ready(&socket, intake)?;
        let peer = to.as_socket().ok_or(io::ErrorKind::Unsupported)?;
        let name = ServerName::IpAddress(peer.ip().into());
        let mut session = Session::client(Arc::clone(config), name)?;
        let met = session.handshake(socket.as_fd(), intake, give_up)?;
        met.and_then(|()| Ok(Met::Connected((socket, session))))
    }

    fn accept(
        &self,
        gate: AcceptFilter<'_>,
        intake: Intake,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<(Socket, Session)>> {
        if self.server.get().is_none() {
            // Nobody else can have set it meanwhile.
            let _set = self.server.set(config::server(self.cipher.as_deref())?);
        }
        let Some(config) = self.server.get() else {
            return Err(io::Error::other("no configuration"));
        };
        let Met::Connected(socket) = meeting::accept(gate, give_up)? else {
            return Ok(Met::GivenUp);
        };
        ready(&socket, intake)?;
        let mut session = Session::server(Arc::clone(config))?;
        // Whoever goes away in a handshake, or cannot do it, is not the next to come.
        let aborted = |error| io::Error::new(io::ErrorKind::ConnectionAborted, error);
        let met = session.handshake(socket.as_fd(), intake, give_up);
        met.map_err(aborted)?
            .and_then(|()| Ok(Met::Connected((socket, session))))
    }
}

/// Readies a connection for the kernel to make its records, where it is to: that takes a
/// connection that both ends hold, and the peer may let go of it right after the handshake.
fn ready(socket: &Socket, intake: Intake) -> io::Result<()> {
    match intake {
        Intake::Greedy => Ok(()),
        Intake::RecordByRecord => match ktls::attach(socket.as_fd()) {
            // The peer is gone already: one connection less, and no end of the test.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, error))
            }
            other => other,
        },
    }
}

/// TLS in this program.
#[derive(Debug)]
pub struct Tls(Handshakes);

impl Tls {
    /// The transport; `cipher` is the only suite to offer and to take, if there is to be one.
    /// A name that [`check`] does not know makes every connection fail.
    #[must_use]
    pub fn new(cipher: Option<&str>) -> Self {
        Self(Handshakes::new(cipher))
    }
}

/// A connection whose records are made here.
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

/// TLS whose records are made by the kernel, once the handshake is over.
///
/// The kernel never changes keys, and nobody counts records to see whether it should
/// (RFC 8446 section 5.5): what is sent is no secret.
#[derive(Debug)]
pub struct Ktls(Handshakes);

impl Ktls {
    /// The transport; `cipher` as in [`Tls::new`].
    #[must_use]
    pub fn new(cipher: Option<&str>) -> Self {
        Self(Handshakes::new(cipher))
    }
}

/// A TCP connection whose records are made by the kernel: everything that moves bytes over
/// TCP moves them over it.
#[derive(Debug)]
pub struct InKernel {
    connection: Tcp,
    cipher: Option<String>,
}

impl InKernel {
    /// Hands the secrets of a finished handshake to the kernel, which is [`ready`] for them.
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

/// Secrets as the kernel takes them.
fn kernels(sequence: u64, secrets: &ConnectionTrafficSecrets) -> io::Result<KtlsSecrets> {
    fn sized<const N: usize>(bytes: &[u8]) -> io::Result<[u8; N]> {
        bytes.try_into().map_err(io::Error::other)
    }
    let (key, iv) = match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => {
            (KtlsKey::Aes128Gcm(sized(&key.as_ref()[..16])?), iv)
        }
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
            (KtlsKey::Aes256Gcm(sized(key.as_ref())?), iv)
        }
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            (KtlsKey::ChaCha20Poly1305(sized(key.as_ref())?), iv)
        }
        // rustls may learn ciphers that the kernel's header had not when this was written.
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    Ok(KtlsSecrets {
        key,
        iv: sized(iv.as_ref())?,
        sequence,
    })
}

/// Finds out whether the kernel can make records, on a socket that is not connected yet.
///
/// # Errors
/// `EPROTONOSUPPORT` when it cannot: it was built without, or its module is not there. The
/// kernel says `ENOENT`, which everybody takes for a file.
pub fn probe(socket: &Socket) -> io::Result<()> {
    match ktls::attach(socket.as_fd()) {
        // All that is missing is the connection.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::from_raw_os_error(
            netperf_os::io::NO_SUCH_PROTOCOL,
        )),
        other => other,
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
