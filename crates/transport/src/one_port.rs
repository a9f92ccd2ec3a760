//! Data through the port of the control connection (docs/spec/extension.md, One port).
//!
//! netserver's listener accepts everything that arrives at its port. Data begins with a
//! preamble; the session that issued the token in it receives the socket through a *hand-off
//! socket*, a socket pair between listener and session. From then on it is an ordinary data
//! socket.

mod datagrams;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netperf_model::{EndJob, Family, SocketPlan, Token, TransportId};
use netperf_os::pass::{self, PassWait};
use netperf_os::{SockAddr, Socket};

pub use datagrams::{Cancelled, FoundPeer, await_first, meet, probe};

use crate::meeting::{self, GiveUp};
use crate::socket;

/// Length of a preamble, bytes. All four kinds have the same length, so that an answer is never
/// longer than the datagram that caused it.
pub const PREAMBLE: usize = 32;

/// First bytes of every preamble. No control message begins like this: its first byte belongs
/// to the number of a request and is 0 or 255, or, from a peer that does not swap bytes, is the
/// low byte of a request number, none of which equals this one.
const MARK: [u8; 7] = [0xb5, 0x6e, 0x70, 0x00, 0xc7, 0x72, 0x73];

/// Kind of a preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreambleKind {
    /// The rest of this connection is data.
    Connection,
    /// netperf announces a datagram socket.
    Probe,
    /// netserver has opened the matching socket.
    Answer,
    /// netperf is ready to receive data.
    Go,
}

impl PreambleKind {
    const ALL: [Self; 4] = [Self::Connection, Self::Probe, Self::Answer, Self::Go];

    const fn byte(self) -> u8 {
        match self {
            Self::Connection => 0x55,
            Self::Probe => 0x66,
            Self::Answer => 0x77,
            Self::Go => 0x88,
        }
    }
}

/// Preamble of a data connection, or a datagram of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// Kind.
    pub kind: PreambleKind,
    /// Token of the test.
    pub token: Token,
    /// Number of the probe, or of the probe that is answered; else 0.
    pub number: u64,
}

impl Preamble {
    /// Preamble of a connection.
    #[must_use]
    pub const fn connection(token: Token) -> Self {
        Self {
            kind: PreambleKind::Connection,
            token,
            number: 0,
        }
    }

    /// Encodes the preamble.
    #[must_use]
    pub fn bytes(&self) -> [u8; PREAMBLE] {
        let mut bytes = [0; PREAMBLE];
        let (kind, number) = ([self.kind.byte()], self.number.to_be_bytes());
        let fields = MARK.iter().chain(&kind);
        let fields = fields.chain(self.token.bytes()).chain(&number);
        bytes
            .iter_mut()
            .zip(fields)
            .for_each(|(to, from)| *to = *from);
        bytes
    }

    /// Decodes a complete preamble.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = <&[u8; PREAMBLE]>::try_from(bytes).ok()?;
        let (mark, rest) = bytes.split_first_chunk::<7>()?;
        let (kind, rest) = rest.split_first()?;
        let (token, rest) = rest.split_first_chunk::<{ Token::BYTES }>()?;
        let number = u64::from_be_bytes(*rest.first_chunk()?);
        let kind = PreambleKind::ALL
            .into_iter()
            .find(|one| one.byte() == *kind)?;
        (*mark == MARK).then_some(Self {
            kind,
            token: Token::new(*token),
            number,
        })
    }
}

/// Returns true if these first bytes, at least one, may be the beginning of a preamble.
#[must_use]
pub fn begins_preamble(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().zip(&MARK).all(|(said, mark)| said == mark)
}

/// Creates a random token.
///
/// # Errors
/// When the system has no random numbers.
pub fn fresh() -> io::Result<Token> {
    let mut bytes = [0; Token::BYTES];
    netperf_os::system::random(&mut bytes)?;
    Ok(Token::new(bytes))
}

/// netperf's side: sends the preamble over a new connection. It is the first data, so there is
/// space for it.
///
/// # Errors
/// When the connection is broken.
pub fn present(fd: BorrowedFd<'_>, token: &Token) -> io::Result<()> {
    let bytes = Preamble::connection(*token).bytes();
    match netperf_os::io::send(fd, &bytes)? {
        PREAMBLE => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// netperf's side: connects and sends the preamble. A later [`meeting::connect`] finds the
/// socket connected.
///
/// # Errors
/// Whatever connect(2) reports, immediately or later.
pub fn enter(
    socket: &Socket,
    to: &SockAddr,
    token: &Token,
    give_up: GiveUp<'_>,
) -> io::Result<meeting::Met<()>> {
    meeting::connect(socket, to, give_up)?
        .and_then(|()| present(socket.as_fd(), token).map(meeting::Met::Connected))
}

/// Message between the listener and a session over the hand-off socket.
#[derive(Debug)]
pub enum HandoffMessage {
    /// Session: registers this token and no other.
    Open(Token),
    /// Session: removes its token.
    Shut,
    /// Listener: a connection with this token. Its preamble has been read.
    Connection(Token, OwnedFd),
    /// Listener: a probe has arrived.
    Probe(Probe),
}

/// A datagram that requests a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Token of the test.
    pub token: Token,
    /// Number of the probe.
    pub number: u64,
    /// Source address.
    pub from: SocketAddr,
    /// Destination address.
    pub to: SocketAddr,
}

/// Longest message, bytes.
const WORD: usize = 256;

const OPEN: u8 = b'o';
const SHUT: u8 = b's';
const CONNECTION: u8 = b'c';
const PROBE: u8 = b'k';

/// Sends a connection whose preamble has been read, without blocking.
///
/// # Errors
/// As [`send_message`].
pub fn send_connection(handoff: &Socket, token: &Token, data: BorrowedFd<'_>) -> io::Result<()> {
    let bytes = [[CONNECTION].as_slice(), token.bytes()].concat();
    pass::send(handoff.as_fd(), &bytes, Some(data))
}

/// Sends a message without blocking.
///
/// # Errors
/// `WouldBlock` when the other side does not read, or whatever sendmsg(2) reports.
pub fn send_message(handoff: &Socket, word: &HandoffMessage) -> io::Result<()> {
    let bytes = match word {
        HandoffMessage::Open(token) => [[OPEN].as_slice(), token.bytes()].concat(),
        HandoffMessage::Shut => vec![SHUT],
        HandoffMessage::Connection(token, data) => {
            return send_connection(handoff, token, data.as_fd());
        }
        HandoffMessage::Probe(probe) => {
            let text = format!("{} {} {}", probe.number, probe.from, probe.to);
            [[PROBE].as_slice(), probe.token.bytes(), text.as_bytes()].concat()
        }
    };
    pass::send(handoff.as_fd(), &bytes, None)
}

/// Result of a receive from the hand-off socket.
#[derive(Debug)]
pub enum HandoffInput {
    /// A message.
    Message(HandoffMessage),
    /// An invalid message.
    Invalid,
    /// The other side is gone.
    End,
}

/// Receives a message.
///
/// # Errors
/// Whatever recvmsg(2) reports, such as `WouldBlock`.
pub fn recv_message(handoff: &Socket, wait: PassWait) -> io::Result<HandoffInput> {
    let mut bytes = [0; WORD];
    let (count, fd) = pass::receive(handoff.as_fd(), &mut bytes, wait)?;
    if count == 0 {
        return Ok(HandoffInput::End);
    }
    let bytes = bytes.get(..count).unwrap_or_default();
    Ok(parse_message(bytes, fd).map_or(HandoffInput::Invalid, HandoffInput::Message))
}

fn parse_message(bytes: &[u8], fd: Option<OwnedFd>) -> Option<HandoffMessage> {
    let (kind, rest) = bytes.split_first()?;
    if *kind == SHUT {
        return Some(HandoffMessage::Shut);
    }
    let (token, rest) = rest.split_first_chunk::<{ Token::BYTES }>()?;
    let token = Token::new(*token);
    match *kind {
        OPEN => Some(HandoffMessage::Open(token)),
        CONNECTION => Some(HandoffMessage::Connection(token, fd?)),
        PROBE => {
            let mut words = std::str::from_utf8(rest).ok()?.split(' ');
            Some(HandoffMessage::Probe(Probe {
                token,
                number: words.next()?.parse().ok()?,
                from: words.next()?.parse().ok()?,
                to: words.next()?.parse().ok()?,
            }))
        }
        _ => None,
    }
}

/// Accepts the connections with this token from the hand-off socket and sets the options that a
/// listener would have passed on.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    token: Token,
    transport: TransportId,
    family: Family,
    options: &'a SocketPlan,
}

impl<'a> Passed<'a> {
    /// Parameters from a job; `None` if the job uses a separate data port.
    #[must_use]
    pub fn of(job: &'a EndJob) -> Option<Self> {
        Some(Self {
            token: job.token?,
            transport: job.transport,
            family: job.family,
            options: &job.end.socket,
        })
    }

    /// The next connection.
    ///
    /// # Errors
    /// Whatever recvmsg(2) reports; `ConnectionAborted` for an unusable connection,
    /// `BrokenPipe` when the listener is gone.
    pub(crate) fn take(&self, handoff: &Socket) -> io::Result<(Socket, SockAddr)> {
        loop {
            match recv_message(handoff, PassWait::AsSet)? {
                HandoffInput::Message(HandoffMessage::Connection(token, fd))
                    if token == self.token =>
                {
                    return self.prepared(fd.into());
                }
                // A connection of an earlier test; dropping it closes it.
                HandoffInput::Message(_) | HandoffInput::Invalid => {}
                HandoffInput::End => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    fn prepared(&self, socket: Socket) -> io::Result<(Socket, SockAddr)> {
        let aborted = |_| io::Error::from(io::ErrorKind::ConnectionAborted);
        let from = socket.peer_addr().map_err(aborted)?;
        socket::equip(&socket, self.transport, self.family, self.options).map_err(aborted)?;
        Ok((socket, from))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use netperf_model::Sources;

    use super::*;
    use crate::meeting::AcceptFilter;

    fn token(byte: u8) -> Token {
        Token::new([byte; Token::BYTES])
    }

    #[test]
    fn a_preamble_is_read_as_it_was_written_and_by_no_other_length() {
        for kind in PreambleKind::ALL {
            let preamble = Preamble {
                kind,
                token: token(9),
                number: 0x0102_0304_0506_0708,
            };
            let bytes = preamble.bytes();
            assert_eq!(Preamble::read(&bytes), Some(preamble));
            assert_eq!(Preamble::read(&bytes[..PREAMBLE - 1]), None);
            assert_eq!(Preamble::read(&[bytes.as_slice(), &[0]].concat()), None);
            for at in 0..MARK.len() {
                let mut other = bytes;
                other[at] ^= 0x10;
                assert_eq!(Preamble::read(&other), None);
            }
        }
    }

    #[test]
    fn no_control_message_begins_like_a_preamble() {
        let bytes = Preamble::connection(token(1)).bytes();
        for length in 1..=PREAMBLE {
            assert!(begins_preamble(&bytes[..length]));
        }
        assert!(!begins_preamble(&[]));
        // Request numbers in both byte orders.
        for request in -2000_i32..2000 {
            assert!(!begins_preamble(&request.to_be_bytes()), "{request}");
            assert!(!begins_preamble(&request.to_le_bytes()), "{request}");
        }
    }

    #[test]
    fn messages_go_through_a_handoff_socket() {
        let (listener, session) = pass::pair().unwrap();
        send_message(&session, &HandoffMessage::Open(token(1))).unwrap();
        send_message(&session, &HandoffMessage::Shut).unwrap();
        let probe = Probe {
            token: token(2),
            number: 3,
            from: "[fe80::1%2]:4".parse().unwrap(),
            to: "192.0.2.1:5".parse().unwrap(),
        };
        send_message(&listener, &HandoffMessage::Probe(probe)).unwrap();
        pass::send(listener.as_fd(), b"k?", None).unwrap();
        let heard = |handoff: &Socket| recv_message(handoff, PassWait::Never).unwrap();
        assert!(
            matches!(heard(&listener), HandoffInput::Message(HandoffMessage::Open(t)) if t == token(1))
        );
        assert!(matches!(
            heard(&listener),
            HandoffInput::Message(HandoffMessage::Shut)
        ));
        assert!(
            matches!(heard(&session), HandoffInput::Message(HandoffMessage::Probe(k)) if k == probe)
        );
        assert!(matches!(heard(&session), HandoffInput::Invalid));
        drop(listener);
        assert!(matches!(heard(&session), HandoffInput::End));
    }

    #[test]
    fn a_connection_with_the_token_of_this_test_comes_in_with_its_options() {
        let (listener, session) = pass::pair().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut clients: Vec<TcpStream> = Vec::new();
        for of in [token(1), token(2)] {
            clients.push(TcpStream::connect(port.local_addr().unwrap()).unwrap());
            let served = port.accept().unwrap().0;
            send_message(&listener, &HandoffMessage::Connection(of, served.into())).unwrap();
        }
        let options = SocketPlan {
            nodelay: true,
            recv_buffer: Some(30_000),
            ..SocketPlan::default()
        };
        let sources = Sources::default();
        let gate = AcceptFilter {
            sources: Some(&sources),
            passed: Some(Passed {
                token: token(2),
                transport: TransportId::Tcp,
                family: Family::V4,
                options: &options,
            }),
            ..AcceptFilter::open(&session)
        };
        let (taken, from) = gate.accept().unwrap();
        let [old, new] = clients.as_mut_slice() else {
            panic!("two clients");
        };
        assert_eq!(from.as_socket(), new.local_addr().ok());
        assert!(taken.tcp_nodelay().unwrap());
        assert_eq!(taken.recv_buffer_size().unwrap(), 60_000);
        // The connection of the other test is closed.
        assert_eq!(old.read(&mut [0; 1]).unwrap(), 0);
        new.write_all(b"x").unwrap();
        drop(listener);
        let gone = gate.accept().unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
    }
}
