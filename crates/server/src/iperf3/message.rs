//! Messages between the listener and an iperf3 session over their hand-off socket.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netperf_os::Socket;
use netperf_os::pass::{self, PassWait};

/// A message.
#[derive(Debug)]
pub(crate) enum StreamMessage {
    /// Session: connections with the cookie of the test are streams.
    ExpectsConnections,
    /// Session: it wants the next connect words from its client's address. The listener grants.
    ExpectsDatagrams,
    /// Session: no more streams.
    ExpectsNothing,
    /// Session: its streams have ended.
    Over,
    /// Listener: connect words come now.
    Granted,
    /// Listener: a stream, whose cookie has been read, and its place in the order of accept(2).
    Connection(OwnedFd, u64),
    /// A connect word from the first address to the second. A session returns those of other
    /// clients, which came to its socket before that was connected.
    Word(SocketAddr, SocketAddr),
    /// Anything else.
    Unknown,
    /// The other side is gone.
    End,
}

/// Longest message, bytes.
const LONGEST: usize = 256;

/// Sends a message without blocking.
///
/// # Errors
/// `WouldBlock` when the other side does not read, or whatever sendmsg(2) reports.
pub(crate) fn send(to: &Socket, message: &StreamMessage) -> io::Result<()> {
    let word;
    let bytes: &[u8] = match message {
        StreamMessage::ExpectsConnections => b"t",
        StreamMessage::ExpectsDatagrams => b"u",
        StreamMessage::ExpectsNothing => b"n",
        StreamMessage::Over => b"o",
        StreamMessage::Granted => b"g",
        StreamMessage::Connection(fd, place) => return send_connection(to, fd.as_fd(), *place),
        StreamMessage::Word(from, own) => {
            word = format!("p{from} {own}");
            word.as_bytes()
        }
        StreamMessage::Unknown | StreamMessage::End => return Ok(()),
    };
    pass::send(to.as_fd(), bytes, None)
}

/// Sends a stream without blocking.
///
/// # Errors
/// As [`send`].
pub(crate) fn send_connection(to: &Socket, stream: BorrowedFd<'_>, place: u64) -> io::Result<()> {
    pass::send(to.as_fd(), format!("c{place}").as_bytes(), Some(stream))
}

/// Receives a message without blocking; `None` if there is none.
pub(crate) fn receive(from: &Socket) -> Option<StreamMessage> {
    let mut bytes = [0; LONGEST];
    match pass::receive(from.as_fd(), &mut bytes, PassWait::Never) {
        Ok((0, _)) => Some(StreamMessage::End),
        Ok((count, fd)) => Some(parse(bytes.get(..count).unwrap_or_default(), fd)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        Err(_) => Some(StreamMessage::End),
    }
}

fn parse(bytes: &[u8], fd: Option<OwnedFd>) -> StreamMessage {
    match (bytes.split_first(), fd) {
        (Some((b't', [])), _) => StreamMessage::ExpectsConnections,
        (Some((b'u', [])), _) => StreamMessage::ExpectsDatagrams,
        (Some((b'n', [])), _) => StreamMessage::ExpectsNothing,
        (Some((b'o', [])), _) => StreamMessage::Over,
        (Some((b'g', [])), _) => StreamMessage::Granted,
        (Some((b'c', rest)), Some(fd)) => place(rest).map_or(StreamMessage::Unknown, |place| {
            StreamMessage::Connection(fd, place)
        }),
        (Some((b'p', rest)), _) => word(rest).unwrap_or(StreamMessage::Unknown),
        _ => StreamMessage::Unknown,
    }
}

fn place(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn word(bytes: &[u8]) -> Option<StreamMessage> {
    let (from, own) = std::str::from_utf8(bytes).ok()?.split_once(' ')?;
    Some(StreamMessage::Word(from.parse().ok()?, own.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netperf_testkit::eventually;

    use super::*;

    #[test]
    fn messages_are_read_as_they_were_sent() {
        let (near, far) = pass::pair().unwrap();
        let word = StreamMessage::Word(
            "[fe80::1%2]:7".parse().unwrap(),
            "192.0.2.1:5201".parse().unwrap(),
        );
        for message in [
            StreamMessage::ExpectsConnections,
            StreamMessage::ExpectsDatagrams,
            StreamMessage::ExpectsNothing,
            StreamMessage::Over,
            StreamMessage::Granted,
            word,
        ] {
            send(&near, &message).unwrap();
            let read = receive(&far).unwrap();
            assert_eq!(format!("{read:?}"), format!("{message:?}"));
        }
        send_connection(&near, near.as_fd(), 12).unwrap();
        assert!(matches!(
            receive(&far),
            Some(StreamMessage::Connection(_, 12))
        ));
        for wrong in [&b"c1"[..], b"px", b"p1 2", b"gg"] {
            pass::send(near.as_fd(), wrong, None).unwrap();
            assert!(matches!(receive(&far), Some(StreamMessage::Unknown)));
        }
        assert!(receive(&far).is_none());
        drop(near);
        // A process that another test starts has a copy until it runs its program.
        let ends = || matches!(receive(&far), Some(StreamMessage::End));
        assert!(eventually(Duration::from_secs(20), ends));
    }
}
