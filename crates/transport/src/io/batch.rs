//! Batched datagram calls in one direction.

use std::io;
use std::os::fd::AsFd;

use netperf_model::IoCounts;
use netperf_os::alarm;
use netperf_os::batch::Batch;
use netperf_os::io::{self as calls, Source};
use netperf_os::memory::slot_distance;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{SockAddr, Socket};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};
use crate::meeting::{Parted, Parts, on_socket};
use crate::udp::{mark_the_end, send_mark, send_mark_back};

/// Largest number of segments per send that every kernel supports (`UDP_MAX_SEGMENTS`).
const MOST_SEGMENTS: usize = 64;
/// Largest send, bytes: 65535 less the headers of IPv6 and UDP.
const MOST_BYTES: usize = 65_535 - 48;
/// Explanation of the kernel's error when it cannot segment.
const TOO_LONG: &str = "messages must fit into the path's MTU to be cut by the kernel: give -m";
/// Largest coalesced receive, bytes.
const LONGEST_TRAIN: usize = 65_536;

/// Batching parameters of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trains {
    /// Messages per call.
    pub messages: u32,
    /// True if each message is a train of datagrams (segmentation or receive offload).
    pub segments: bool,
}

impl Trains {
    /// Length of a train of datagrams of this size, bytes.
    #[must_use]
    pub fn train(self, datagram: usize) -> usize {
        let datagram = datagram.max(1);
        let most = if self.segments {
            (MOST_BYTES / datagram).clamp(1, MOST_SEGMENTS)
        } else {
            1
        };
        datagram * most
    }

    /// Length of the send buffer of one call for datagrams of this size, bytes.
    #[must_use]
    pub fn send_buffer(self, datagram: usize) -> usize {
        self.train(datagram) * self.width()
    }

    /// Distance between two slots of the receive buffer for receives of this size, bytes.
    #[must_use]
    pub fn slot(self, space: usize) -> usize {
        let space = if self.segments {
            LONGEST_TRAIN
        } else {
            // No datagram is longer than a train.
            space.min(LONGEST_TRAIN)
        };
        if self.messages > 1 {
            slot_distance(space)
        } else {
            space
        }
    }

    /// Length of the receive buffer of one call, bytes.
    #[must_use]
    pub fn recv_buffer(self, space: usize) -> usize {
        self.slot(space) * self.width()
    }

    fn width(self) -> usize {
        usize::try_from(self.messages.max(1)).unwrap_or(1)
    }
}

/// A socket that sends many datagrams of one size per call.
#[derive(Debug)]
pub struct BatchedSend {
    socket: Socket,
    to: Option<SockAddr>,
    batch: Batch,
    train: usize,
    datagram: usize,
    calls: u64,
    dropped: u64,
}

impl BatchedSend {
    /// Sends datagrams of this size to `to`, or to the connected peer.
    ///
    /// # Errors
    /// When the kernel does not segment datagrams, or not into this size.
    pub fn new(
        socket: Socket,
        to: Option<SockAddr>,
        trains: Trains,
        datagram: usize,
    ) -> io::Result<Self> {
        if trains.segments {
            cut(&socket, datagram)?;
        }
        Ok(Self {
            batch: Batch::sending(trains.width(), to.clone()),
            train: trains.train(datagram),
            datagram: datagram.max(1),
            socket,
            to,
            calls: 0,
            dropped: 0,
        })
    }

    /// Sends to this address from now on.
    #[cold]
    pub(crate) fn aim(&mut self, to: SockAddr) {
        self.batch = Batch::sending(self.batch.width(), Some(to.clone()));
        self.to = Some(to);
    }

    /// Destination of datagrams; `None` is the connected peer.
    pub(crate) const fn to(&self) -> Option<&SockAddr> {
        self.to.as_ref()
    }

    /// Goes on behind the datagrams that the kernel took.
    #[cold]
    fn send_rest(&mut self, buf: &[u8], first: io::Result<usize>, fired: u32) -> io::Result<Sent> {
        let lengths = (buf.len(), self.train, self.datagram);
        let fd = self.socket.as_fd();
        let mut again = |done: usize| {
            let rest = buf.get(done..).unwrap_or_default();
            self.batch.send(fd, rest, self.train)
        };
        let ends = || alarm::fired() != fired || calls::has_no_space(fd);
        let rest = Rest::of(lengths, first, &mut again, &ends);
        self.calls += rest.calls;
        self.dropped += rest.dropped;
        match rest.error {
            Some(error) => datagram_sent(Err(error)).map_err(|error| self.explained(error)),
            None => Ok(Sent::Bytes(rest.bytes)),
        }
    }

    #[cold]
    fn explained(&self, error: io::Error) -> io::Error {
        explained(error, self.train > self.datagram)
    }
}

/// The error of a send that the kernel is perhaps to cut: it reports only that an argument is
/// invalid.
#[cold]
pub(crate) fn explained(error: io::Error, is_train: bool) -> io::Error {
    let too_long = matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::ArgumentListTooLong
    ) || error.raw_os_error() == Some(calls::MESSAGE_TOO_LONG);
    if is_train && too_long {
        io::Error::new(io::ErrorKind::InvalidInput, TOO_LONG)
    } else {
        error
    }
}

/// Has the kernel cut what is sent into datagrams of this size.
pub(crate) fn cut(socket: &Socket, datagram: usize) -> io::Result<()> {
    let size = i32::try_from(datagram).unwrap_or(i32::MAX);
    sockopt::set(socket.as_fd(), IntOption::Segment, size)
}

/// Has the kernel put datagrams together that arrive.
pub(crate) fn put_together(socket: &Socket) -> io::Result<()> {
    sockopt::set(socket.as_fd(), IntOption::Reassemble, 1)
}

/// Result of the calls for one buffer of which the first call did not take all.
#[derive(Debug, Default)]
struct Rest {
    /// Bytes that the kernel took.
    bytes: usize,
    /// Datagrams that it dropped, without the one that an error stands for.
    dropped: u64,
    /// Calls that took some.
    calls: u64,
    /// Error of the first call.
    error: Option<io::Error>,
}

impl Rest {
    /// Repeats the call after the `first` until the buffer is sent, or `ends` returns true.
    /// `lengths` are those of buffer, train and datagram; `again` takes the bytes that are sent.
    ///
    /// sendmmsg(2) does not tell why it stopped. A signal came, or a non-blocking socket has no
    /// space: then `ends` returns true. Otherwise, a full queue dropped the next train, unless
    /// the repeated call would block: sending never fills the buffer of a train that was dropped.
    fn of(
        (length, train, datagram): (usize, usize, usize),
        first: io::Result<usize>,
        again: &mut dyn FnMut(usize) -> io::Result<usize>,
        ends: &dyn Fn() -> bool,
    ) -> Self {
        let mut rest = Self::default();
        let mut last = first;
        loop {
            let next = length.saturating_sub(rest.bytes).min(train);
            let next = next.div_ceil(datagram) as u64;
            match last {
                Ok(count) => {
                    rest.dropped += if rest.bytes > 0 { next } else { 0 };
                    rest.calls += 1;
                    rest.bytes += count;
                    if rest.bytes >= length || ends() {
                        return rest;
                    }
                }
                Err(error) => {
                    let is_full = calls::is_queue_full(&error);
                    if rest.bytes > 0 {
                        rest.dropped += if is_full { 2 * next } else { 0 };
                    } else {
                        rest.dropped += if is_full { next.saturating_sub(1) } else { 0 };
                        rest.error = Some(error);
                    }
                    return rest;
                }
            }
            last = again(rest.bytes);
        }
    }
}

impl Endpoint for BatchedSend {
    const KEEPS_BOUNDARIES: bool = true;
    const ONE_WAY: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let fired = alarm::fired();
        match self.batch.send(self.socket.as_fd(), buf, self.train) {
            Ok(count) if count == buf.len() => {
                self.calls += 1;
                Ok(Sent::Bytes(count))
            }
            other => self.send_rest(buf, other, fired),
        }
    }

    fn recv(&mut self, _buf: &mut [u8]) -> io::Result<Received> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        bytes.div_ceil(self.datagram) as u64
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    fn counts(&self) -> Option<IoCounts> {
        Some(IoCounts {
            send_calls: self.calls,
            ..IoCounts::default()
        })
    }
}

impl Parts for BatchedSend {
    fn part(self) -> Parted {
        let Self { socket, to, .. } = self;
        mark_the_end(move || send_mark(socket.as_fd(), to.as_ref()))
    }
}

/// A socket that receives many datagrams per call.
#[derive(Debug)]
pub struct BatchedRecv {
    socket: Socket,
    batch: Batch,
    slot: usize,
    discards: bool,
    last: u64,
    ended: bool,
    calls: u64,
}

impl BatchedRecv {
    /// Receives into slots of this size, or discards the data.
    ///
    /// # Errors
    /// When the kernel does not coalesce datagrams.
    pub fn new(socket: Socket, trains: Trains, space: usize, discards: bool) -> io::Result<Self> {
        if trains.segments {
            put_together(&socket)?;
        }
        Ok(Self {
            socket,
            batch: Batch::receiving(trains.width(), trains.segments),
            slot: trains.slot(space),
            discards,
            last: 0,
            ended: false,
            calls: 0,
        })
    }

    /// Source of the first datagram of the last receive.
    pub(crate) fn source(&self) -> &Source {
        self.batch.source()
    }
}

impl Endpoint for BatchedRecv {
    const KEEPS_BOUNDARIES: bool = true;
    const ONE_WAY: bool = true;

    fn send(&mut self, _buf: &[u8]) -> io::Result<Sent> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        if self.ended {
            return Ok(Received::End);
        }
        let fd = self.socket.as_fd();
        let arrived = if self.discards {
            self.batch.discard(fd)
        } else {
            self.batch.recv(fd, buf, self.slot)
        };
        let arrived = match arrived {
            Ok(arrived) => arrived,
            Err(error) => return received(Err(error)),
        };
        // Datagrams before the end mark are counted first.
        self.ended = arrived.empty;
        self.last = arrived.datagrams;
        self.calls += u64::from(arrived.bytes > 0);
        received(Ok(arrived.bytes))
    }

    #[inline]
    fn each_received(&self, buf: &[u8], _bytes: usize, see: impl FnMut(&[u8])) {
        self.batch.each(buf, self.slot, see);
    }

    #[inline]
    fn messages_received(&self) -> u64 {
        self.last
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.ended
    }

    fn counts(&self) -> Option<IoCounts> {
        Some(IoCounts {
            recv_calls: self.calls,
            ..IoCounts::default()
        })
    }
}

impl Parts for BatchedRecv {
    fn overflowed(&self) -> Option<u32> {
        sockopt::receive_drops(self.socket.as_fd()).ok()
    }

    fn part(self) -> Parted {
        let Self { socket, batch, .. } = self;
        let source = batch.source().clone();
        mark_the_end(move || send_mark_back(socket.as_fd(), &source))
    }
}

on_socket!(BatchedSend: socket, BatchedRecv: socket);

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::io::Write;
    use std::net::UdpSocket;
    use std::os::unix::net::UnixStream;

    const PLAIN: Trains = Trains {
        messages: 8,
        segments: false,
    };
    const CUT: Trains = Trains {
        messages: 2,
        segments: true,
    };

    fn pair() -> (Socket, SockAddr, Socket) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap().into();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        (client.into(), to, server.into())
    }

    /// Sends one buffer and the end mark and receives them. Returns datagrams sent and
    /// received, and bytes.
    fn moved(trains: Trains, datagram: usize, discards: bool) -> (u64, u64, usize) {
        let (client, to, server) = pair();
        let mut client = BatchedSend::new(client, Some(to), trains, datagram).unwrap();
        let mut server = BatchedRecv::new(server, trains, 2048, discards).unwrap();
        let data = vec![1; trains.send_buffer(datagram)];
        let Sent::Bytes(count) = client.send(&data).unwrap() else {
            panic!("nothing was sent");
        };
        assert_eq!(count, data.len());
        let sent = client.messages_sent(count);
        drop(client.part());
        let mut buf = vec![0; trains.recv_buffer(2048)];
        let (mut datagrams, mut bytes) = (0, 0);
        while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
            bytes += count;
            datagrams += server.messages_received();
        }
        (sent, datagrams, bytes)
    }

    #[test]
    fn both_ends_count_the_same_datagrams_and_bytes() {
        for discards in [false, true] {
            assert_eq!(moved(PLAIN, 64, discards), (8, 8, 512));
            assert_eq!(moved(CUT, 64, discards), (128, 128, 8192));
        }
    }

    /// Sends eight datagrams of a byte with these results of calls, of which some leave the
    /// buffer full. Returns bytes sent, datagrams dropped and calls.
    fn rest(results: &[Result<usize, i32>], full_after: &[usize]) -> (usize, u64, usize) {
        let made = Cell::new(1);
        let result = |index: usize| results[index].map_err(io::Error::from_raw_os_error);
        let mut again = |_| {
            made.set(made.get() + 1);
            result(made.get() - 1)
        };
        let ends = || full_after.contains(&made.get());
        let rest = Rest::of((8, 1, 1), result(0), &mut again, &ends);
        let failed = u64::from(rest.error.as_ref().is_some_and(calls::is_queue_full));
        (rest.bytes, rest.dropped + failed, made.get())
    }

    #[test]
    fn a_datagram_that_waits_for_space_is_not_dropped() {
        const WAIT: i32 = 11;
        const DROP: i32 = 105;
        // The buffer is full: the rest waits, and nothing asks again.
        assert_eq!(rest(&[Ok(3)], &[1]), (3, 0, 1));
        assert_eq!(rest(&[Err(WAIT)], &[]), (0, 0, 1));
        // The buffer is full again after a train that was dropped.
        assert_eq!(rest(&[Ok(3), Ok(2)], &[2]), (5, 1, 2));
        assert_eq!(rest(&[Ok(3), Err(WAIT)], &[]), (3, 0, 2));
        assert_eq!(rest(&[Ok(3), Ok(5)], &[]), (8, 1, 2));
        assert_eq!(rest(&[Ok(3), Err(DROP)], &[]), (3, 2, 2));
        assert_eq!(rest(&[Ok(3), Ok(1), Err(DROP)], &[]), (4, 3, 3));
        assert_eq!(rest(&[Err(DROP)], &[]), (0, 1, 1));
    }

    #[test]
    fn a_buffer_without_space_is_that_of_a_non_blocking_socket() {
        let (client, _, _server) = pair();
        client.set_nonblocking(true).unwrap();
        assert!(!calls::has_no_space(client.as_fd()));
        // Bytes of a connection wait at its sender until the receiver reads.
        let (mut stream, _far) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        while stream.write(&[0; 512]).is_ok() {}
        assert!(calls::has_no_space(stream.as_fd()));
        stream.set_nonblocking(false).unwrap();
        assert!(!calls::has_no_space(stream.as_fd()));
    }

    #[test]
    fn a_train_fits_into_an_ip_packet_and_what_the_kernel_cuts_at_most() {
        let one = Trains {
            messages: 1,
            segments: true,
        };
        assert_eq!(one.train(64), 64 * 64);
        assert_eq!(one.train(1472), 44 * 1472);
        assert_eq!(one.train(65_507), 65_507);
        assert_eq!(PLAIN.train(1472), 1472);
    }
}
