//! One TLS connection: rustls implements the protocol, this module moves the records.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use netperf_os::sockopt::{self, IntOption};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{ClientConfig, ExtractedSecrets, ServerConfig};

use super::buffers::{BATCH, CipherInput, CipherOutput, FRAGMENT, Intake};
use super::config;
use crate::endpoint::{Received, Sent, received};
use crate::meeting::{GiveUp, Met};

/// rustls' connection of either role.
enum TlsSide {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// Applies the same expression to either role.
macro_rules! either {
    ($side:expr, $connection:ident => $do:expr) => {
        match $side {
            TlsSide::Client($connection) => $do,
            TlsSide::Server($connection) => $do,
        }
    };
}

/// Next step that rustls requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeStep {
    /// Call again.
    Again,
    /// More input.
    Starved,
    /// None: data may be sent.
    Ready,
    /// None: the peer has closed.
    Closed,
}

/// Copies decrypted data into the caller's buffer and the surplus into `rest`.
struct Taker<'a> {
    buf: &'a mut [u8],
    taken: usize,
    rest: &'a mut Vec<u8>,
}

impl Taker<'_> {
    fn take(&mut self, payload: &[u8]) {
        let now = payload.len().min(self.buf.len() - self.taken);
        self.buf[self.taken..self.taken + now].copy_from_slice(&payload[..now]);
        self.taken += now;
        self.rest.extend_from_slice(&payload[now..]);
    }
}

/// A TLS connection over a socket that the caller keeps.
///
/// rustls encrypts into and decrypts from buffers that are allocated with the connection.
/// Internally it allocates one buffer for each record in each direction.
pub(super) struct Session {
    side: TlsSide,
    out: CipherOutput,
    incoming: CipherInput,
    /// Decrypted data beyond the caller's buffer.
    rest: Vec<u8>,
    /// Bytes of `rest` that the caller has received.
    given: usize,
    over: bool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Session {
    pub(super) fn client(config: Arc<ClientConfig>, name: ServerName<'static>) -> io::Result<Self> {
        let connection = UnbufferedClientConnection::new(config, name).map_err(failed)?;
        Ok(Self::new(TlsSide::Client(connection)))
    }

    pub(super) fn server(config: Arc<ServerConfig>) -> io::Result<Self> {
        let connection = UnbufferedServerConnection::new(config).map_err(failed)?;
        Ok(Self::new(TlsSide::Server(connection)))
    }

    fn new(side: TlsSide) -> Self {
        Self {
            side,
            out: CipherOutput::new(),
            incoming: CipherInput::new(),
            rest: Vec::with_capacity(CipherInput::CAPACITY),
            given: 0,
            over: false,
        }
    }

    /// Negotiated cipher, for reports.
    pub(super) fn cipher(&self) -> Option<String> {
        either!(&self.side, connection => connection.negotiated_cipher_suite()).map(config::label)
    }

    fn is_handshaking(&self) -> bool {
        either!(&self.side, connection => connection.is_handshaking())
    }

    /// Processes the input. Returns the number of data bytes copied into `buf`.
    fn process(&mut self, buf: &mut [u8]) -> io::Result<(usize, HandshakeStep)> {
        let mut taker = Taker {
            buf,
            taken: 0,
            rest: &mut self.rest,
        };
        let bytes = self.incoming.bytes();
        let (discard, step) = either!(&mut self.side, connection =>
            handle(connection.process_tls_records(bytes), &mut self.out, &mut taker));
        let taken = taker.taken;
        self.incoming.discard(discard);
        Ok((taken, step?))
    }

    /// Completes the handshake; calls `give_up` whenever a signal interrupts, or whenever the
    /// receive time-out of the socket is over.
    pub(super) fn handshake(
        &mut self,
        fd: BorrowedFd<'_>,
        intake: Intake,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<()>> {
        loop {
            let step = match self.process(&mut []) {
                Ok((_, step)) => step,
                Err(error) => {
                    self.say_why(fd);
                    return Err(error);
                }
            };
            if step == HandshakeStep::Again {
                continue;
            }
            let done = step == HandshakeStep::Ready && !self.is_handshaking();
            // The last handshake message is sent with the first data. Sent alone, it would
            // delay the data until the peer acknowledges it (RFC 9293 section 3.7.4, Nagle).
            let may_wait = done && intake == Intake::Greedy;
            while !may_wait && !self.out.flush(fd)? {
                if give_up() {
                    return Ok(Met::GivenUp);
                }
            }
            self.out.settle();
            if done {
                return Ok(Met::Connected(()));
            }
            if intake == Intake::RecordByRecord && matches!(self.side, TlsSide::Server(_)) {
                // The peer sends its last handshake message alone and may delay data until it
                // is acknowledged, so it is acknowledged at once.
                sockopt::set(fd, IntOption::QuickAck, 1)?;
            }
            match self.incoming.fill(fd, intake) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    if give_up() {
                        return Ok(Met::GivenUp);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !give_up() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends rustls' alert about a failed handshake.
    fn say_why(&mut self, fd: BorrowedFd<'_>) {
        // The invalid input must not be processed again.
        self.incoming.clear();
        while let Ok((_, HandshakeStep::Again)) = self.process(&mut []) {}
        // An error means that the peer is gone.
        let _gone = self.out.flush(fd);
    }

    /// Sends the rest of the handshake, but no data: see [`Self::send`].
    pub(super) fn finish(&mut self, fd: BorrowedFd<'_>) {
        if self.out.has_no_data() {
            // An error means that the peer is gone.
            let _gone = self.out.flush(fd);
        }
    }

    /// Traffic secrets of both directions after the handshake.
    ///
    /// # Errors
    /// When data beyond the handshake was read, which would be lost.
    pub(super) fn into_secrets(self) -> io::Result<ExtractedSecrets> {
        if !self.incoming.is_empty() || !self.rest.is_empty() {
            return Err(failed("data was read along with the handshake"));
        }
        let (secrets, ()) = match self.side {
            TlsSide::Client(connection) => connection
                .dangerous_into_kernel_connection()
                .map(|(secrets, _)| (secrets, ())),
            TlsSide::Server(connection) => connection
                .dangerous_into_kernel_connection()
                .map(|(secrets, _)| (secrets, ())),
        }
        .map_err(failed)?;
        Ok(secrets)
    }

    /// Encrypts and sends. Counts the plaintext of records that the kernel has accepted
    /// completely.
    ///
    /// After a signal, part of a record may remain unsent. The next `send` sends it first and
    /// counts it as the beginning of its bytes: the caller of a short send either sends the
    /// rest again or stops. If it stops, the peer cannot decrypt that record, and it is not
    /// counted.
    #[inline]
    pub(super) fn send(&mut self, fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<Sent> {
        let mut done = 0;
        loop {
            if self.out.has_no_data() {
                if done >= buf.len() {
                    return Ok(Sent::Bytes(done));
                }
                self.encrypt(&buf[done..])?;
            }
            let all = self.out.flush(fd)?;
            done += self.out.settle();
            if !all {
                return Ok(if done == 0 {
                    Sent::Interrupted
                } else {
                    Sent::Bytes(done)
                });
            }
        }
    }

    /// Encrypts the data of one call.
    fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        let batch = &plain[..plain.len().min(BATCH)];
        loop {
            let step = either!(&mut self.side, connection =>
                encrypt(connection.process_tls_records(&mut []), batch, &mut self.out))?;
            match step {
                HandshakeStep::Ready => return Ok(()),
                HandshakeStep::Again => {}
                HandshakeStep::Starved | HandshakeStep::Closed => {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }
    }

    /// Receives and decrypts all available records, at least one.
    #[inline]
    pub(super) fn recv(&mut self, fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<Received> {
        let mut taken = self.take_rest(buf);
        loop {
            while taken < buf.len() && self.incoming.has_record() && !self.over {
                let (count, step) = self.process(&mut buf[taken..])?;
                taken += count;
                self.over = step == HandshakeStep::Closed;
            }
            if !self.out.is_empty() {
                // The end of the handshake, or the answer to a key update.
                if !self.out.flush(fd)? && taken == 0 {
                    return Ok(Received::Interrupted);
                }
                if self.out.has_no_data() {
                    self.out.settle();
                }
            }
            if taken > 0 {
                return Ok(Received::Bytes(taken));
            }
            if self.over {
                return Ok(Received::End);
            }
            // An end in the middle of a record counts as a regular end: see `send`.
            match received(self.incoming.fill(fd, Intake::Greedy))? {
                Received::Bytes(_) => {}
                other @ (Received::End | Received::Interrupted | Received::TimedOut) => {
                    return Ok(other);
                }
            }
        }
    }

    /// Returns the surplus of the last record.
    #[inline]
    fn take_rest(&mut self, buf: &mut [u8]) -> usize {
        if self.rest.is_empty() {
            return 0;
        }
        let left = &self.rest[self.given..];
        let now = left.len().min(buf.len());
        buf[..now].copy_from_slice(&left[..now]);
        self.given += now;
        if self.given == self.rest.len() {
            self.rest.clear();
            self.given = 0;
        }
        now
    }
}

/// Performs the step that rustls requires. Returns the processed bytes and the next step.
fn handle<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    out: &mut CipherOutput,
    taker: &mut Taker<'_>,
) -> (usize, io::Result<HandshakeStep>) {
    let mut discard = status.discard;
    let step = match status.state {
        Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
            match traffic.next_record() {
                Some(Ok(record)) => {
                    discard += record.discard;
                    taker.take(record.payload);
                }
                Some(Err(error)) => break Err(failed(error)),
                None => break Ok(HandshakeStep::Again),
            }
        },
        Ok(ConnectionState::EncodeTlsData(mut message)) => {
            message.encode(out.space()).map_err(failed).map(|count| {
                out.wrote(count, 0);
                HandshakeStep::Again
            })
        }
        Ok(ConnectionState::TransmitTlsData(transmit)) => {
            // Output is sent before the next wait.
            transmit.done();
            Ok(HandshakeStep::Again)
        }
        Ok(ConnectionState::BlockedHandshake) => Ok(HandshakeStep::Starved),
        Ok(ConnectionState::WriteTraffic(_)) => Ok(HandshakeStep::Ready),
        Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => Ok(HandshakeStep::Closed),
        // Early data is disabled; other states are unknown.
        Ok(_) => Err(failed("an unexpected state of the connection")),
        Err(error) => Err(failed(error)),
    };
    (discard, step)
}

/// Encrypts `plain` if the connection is ready; otherwise performs the required step.
fn encrypt<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    plain: &[u8],
    out: &mut CipherOutput,
) -> io::Result<HandshakeStep> {
    match status.state {
        Ok(ConnectionState::WriteTraffic(mut traffic)) => {
            for fragment in plain.chunks(FRAGMENT) {
                let count = traffic.encrypt(fragment, out.space()).map_err(failed)?;
                out.wrote(count, fragment.len());
            }
            Ok(HandshakeStep::Ready)
        }
        state => {
            let status = UnbufferedStatus { discard: 0, state };
            let mut nowhere = Taker {
                buf: &mut [],
                taken: 0,
                rest: &mut Vec::new(),
            };
            handle(status, out, &mut nowhere).1
        }
    }
}
