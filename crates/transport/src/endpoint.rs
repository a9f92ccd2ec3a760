//! What every way of moving bytes has in common.

use std::io;

use netperf_model::{IoCounts, Stamps};

/// What became of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel took this many bytes.
    Bytes(usize),
    /// A local queue was full and the datagram is gone.
    Dropped,
    /// A signal came first.
    Interrupted,
}

/// What became of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// This many bytes arrived, at least one.
    Bytes(usize),
    /// The peer has finished: end of the connection, or an empty datagram.
    End,
    /// A signal came first.
    Interrupted,
    /// Nothing arrived within the socket's receive time-out.
    TimedOut,
}

/// One open connection or datagram socket.
pub trait Endpoint {
    /// Whether a message is always sent and received whole.
    const KEEPS_BOUNDARIES: bool;

    /// Whether most tests use it: loops are then made for it that contain nothing which was
    /// not asked for. Over the others one loop serves whatever is asked.
    const OWN_LOOPS: bool = false;

    /// Hands bytes to the kernel; blocks until there is room.
    ///
    /// # Errors
    /// Anything that is not an outcome of [`Sent`], such as a reset connection.
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent>;

    /// Takes bytes from the kernel; blocks until there are some.
    ///
    /// # Errors
    /// Anything that is not an outcome of [`Received`], such as a reset connection.
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received>;

    /// How many messages the last send was, which took so many bytes.
    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        let _one = bytes;
        1
    }

    /// How many messages the last receive brought.
    #[inline]
    fn messages_received(&self) -> u64 {
        1
    }

    /// Shows each message of the last receive, which left so many bytes in `buf`.
    #[inline]
    fn each_received(&self, buf: &[u8], bytes: usize, mut see: impl FnMut(&[u8])) {
        see(buf.get(..bytes).unwrap_or(buf));
    }

    /// What went on underneath the messages; `None` where each is a call of its own.
    fn counts(&self) -> Option<IoCounts> {
        None
    }

    /// Sends now what the beginning of a connection was to send along with the first data:
    /// data may be a while.
    fn begin(&mut self) {}

    /// The moments of the transactions so far, which are forgotten with that; `None` where
    /// nobody stamps them.
    fn stamps(&mut self) -> Option<Stamps> {
        None
    }

    /// What was to be sent has been: waits, within a deadline of its own, until the
    /// kernel needs none of it any more, where it borrows.
    fn reclaim(&mut self) {}

    /// Where closing a connection takes away what the peer has not received yet: waits,
    /// within a deadline of its own, until it has. Called before a close that nothing
    /// from the peer precedes.
    fn settle(&mut self) {}
}

/// Gives a send's result its meaning on a byte stream.
#[inline]
pub(crate) fn stream_sent(result: io::Result<usize>) -> io::Result<Sent> {
    match result {
        Ok(count) => Ok(Sent::Bytes(count)),
        Err(error) => failed_send(error),
    }
}

#[cold]
fn failed_send(error: io::Error) -> io::Result<Sent> {
    if error.kind() == io::ErrorKind::Interrupted {
        return Ok(Sent::Interrupted);
    }
    Err(netperf_os::io::ending_as_ended(error))
}

/// Gives a send's result its meaning for a datagram: a full queue drops it.
#[inline]
pub(crate) fn datagram_sent(result: io::Result<usize>) -> io::Result<Sent> {
    match result {
        Ok(count) => Ok(Sent::Bytes(count)),
        Err(error) => failed_datagram(error),
    }
}

#[cold]
fn failed_datagram(error: io::Error) -> io::Result<Sent> {
    if netperf_os::io::is_queue_full(&error) {
        return Ok(Sent::Dropped);
    }
    if error.kind() == io::ErrorKind::Interrupted {
        return Ok(Sent::Interrupted);
    }
    Err(error)
}

/// Gives a receive's result its meaning.
#[inline]
pub(crate) fn received(result: io::Result<usize>) -> io::Result<Received> {
    match result {
        Ok(0) => Ok(Received::End),
        Ok(count) => Ok(Received::Bytes(count)),
        Err(error) => failed_receive(error),
    }
}

#[cold]
fn failed_receive(error: io::Error) -> io::Result<Received> {
    let kind = error.kind();
    if kind == io::ErrorKind::Interrupted {
        return Ok(Received::Interrupted);
    }
    if kind == io::ErrorKind::WouldBlock || kind == io::ErrorKind::TimedOut {
        return Ok(Received::TimedOut);
    }
    Err(error)
}
