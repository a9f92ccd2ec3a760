//! Messages between the listener and a session, over the hand-off socket.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netperf_model::Token;
use netperf_os::Socket;
use netperf_os::pass::{self, PassWait};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn token(byte: u8) -> Token {
        Token::new([byte; Token::BYTES])
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
}
