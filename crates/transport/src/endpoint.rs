//! The interface that all endpoints implement.

use std::io;

use netperf_model::{IoCounts, Stamps};

/// Result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel took this many bytes.
    Bytes(usize),
    /// A local queue was full and the datagram was lost.
    Dropped,
    /// A signal interrupted the call.
    Interrupted,
}

/// Result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// This many bytes arrived, at least one.
    Bytes(usize),
    /// The peer has finished: end of the connection, or an empty datagram.
    End,
    /// A signal interrupted the call.
    Interrupted,
    /// Nothing arrived within the socket's receive time-out.
    TimedOut,
}

/// One open connection or datagram socket.
pub trait Endpoint {
    /// True if each message is sent and received whole.
    const KEEPS_BOUNDARIES: bool;

    /// True for the endpoints of the most common tests. They get specialised loops without code
    /// for options that are not used; all other endpoints share one general loop.
    const OWN_LOOPS: bool = false;

    /// True for endpoints of bulk data in one direction alone. They get no other loops over many
    /// flows.
    const ONE_WAY: bool = false;

    /// Hands bytes to the kernel; blocks until there is space.
    ///
    /// # Errors
    /// Anything that is not an outcome of [`Sent`], such as a reset connection.
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent>;

    /// Takes bytes from the kernel; blocks until there are some.
    ///
    /// # Errors
    /// Anything that is not an outcome of [`Received`], such as a reset connection.
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received>;

    /// Number of messages in the last send, which took this many bytes.
    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        let _one = bytes;
        1
    }

    /// Takes the number of messages that a local queue has dropped since the last call, besides
    /// those that [`Sent::Dropped`] reports.
    #[inline]
    fn take_dropped(&mut self) -> u64 {
        0
    }

    /// Number of messages in the last receive.
    #[inline]
    fn messages_received(&self) -> u64 {
        1
    }

    /// True if the end of the data has arrived behind the last receive.
    #[inline]
    fn has_ended(&self) -> bool {
        false
    }

    /// Passes each message of the last receive, which left this many bytes in `buf`, to a
    /// function.
    #[inline]
    fn each_received(&self, buf: &[u8], bytes: usize, mut see: impl FnMut(&[u8])) {
        see(buf.get(..bytes).unwrap_or(buf));
    }

    /// Counts of calls and kernel events below the messages; `None` if each message is one
    /// call.
    fn counts(&self) -> Option<IoCounts> {
        None
    }

    /// Sends pending handshake bytes now instead of with the first data.
    fn begin(&mut self) {}

    /// Takes the timestamps of the transactions so far; `None` if the endpoint does not take
    /// any.
    fn stamps(&mut self) -> Option<Stamps> {
        None
    }

    /// Waits, with a deadline, until the kernel has released all borrowed send buffers.
    fn reclaim(&mut self) {}

    /// Waits, with a deadline, until the peer has received all data, for transports on which a
    /// close discards data in flight. Called before a close that the peer has not initiated.
    fn settle(&mut self) {}
}

/// Interprets the result of a send on a byte stream.
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

/// Interprets the result of a datagram send: a full queue drops the datagram.
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

/// Interprets the result of a receive.
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
