//! Calls by io_uring(7): submitted and awaited in one system call.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_model::IoCounts;
use netperf_os::io as calls;
use netperf_os::io::Source;
use netperf_os::uring::{Multishot, To, Uring};
use netperf_os::{SockAddr, Socket};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received, stream_sent};
use crate::io::Discarding;
use crate::io::while_sending::ReadWhileSending;
use crate::meeting::{OnSocket, Parted, Parts, on_socket};
use crate::socket::SocketFacts;
use crate::tcp::Tcp;
use crate::udp::{ConnectedUdp, ToPeer, UdpResponder, mark_the_end, send_mark, send_mark_back};

/// Time-out of one wait for outstanding completions after the run.
const LOOK: Duration = Duration::from_millis(50);
/// Number of such waits without progress before giving up.
const LOOKS: u32 = 40;

/// Issues calls through a ring. It may defer a send until the wait that follows.
#[derive(Debug)]
pub struct RingCaller {
    ring: Uring,
    /// True if a receive immediately follows every send.
    puts_off: bool,
}

impl RingCaller {
    #[inline]
    fn send(&mut self, fd: BorrowedFd<'_>, buf: &[u8], to: To<'_>) -> io::Result<usize> {
        if self.puts_off {
            self.ring.send_later(fd, buf, to)
        } else {
            self.ring.send(fd, buf, to)
        }
    }
}

/// An endpoint whose calls can go through a ring.
pub trait OnRing: Endpoint + OnSocket {
    /// True if received data is thrown away.
    const DISCARDS: bool = false;

    /// Destination of messages.
    #[inline]
    fn to(&self) -> To<'_> {
        To::Peer
    }

    /// [`Endpoint::send`] through the ring.
    ///
    /// # Errors
    /// As [`Endpoint::send`].
    #[inline]
    fn send_by(&mut self, ring_caller: &mut RingCaller, buf: &[u8]) -> io::Result<Sent> {
        let sent = ring_caller.send(self.fd(), buf, self.to());
        if Self::KEEPS_BOUNDARIES {
            datagram_sent(sent)
        } else {
            stream_sent(sent)
        }
    }

    /// [`Endpoint::recv`] through the ring.
    ///
    /// # Errors
    /// As [`Endpoint::recv`].
    #[inline]
    fn recv_by(&mut self, ring_caller: &mut RingCaller, buf: &mut [u8]) -> io::Result<Received> {
        received(ring_caller.ring.recv(self.fd(), buf, Self::DISCARDS))
    }
}

impl OnRing for Tcp {}

impl OnRing for Discarding {
    const DISCARDS: bool = true;
}

impl OnRing for ReadWhileSending {
    fn send_by(&mut self, ring_caller: &mut RingCaller, buf: &[u8]) -> io::Result<Sent> {
        self.send_with(|socket| ring_caller.ring.send_now(socket, buf))
    }

    fn recv_by(&mut self, ring_caller: &mut RingCaller, buf: &mut [u8]) -> io::Result<Received> {
        self.recv_with(buf, |socket, buf| ring_caller.ring.recv(socket, buf, false))
    }
}

impl OnRing for ToPeer {
    #[inline]
    fn to(&self) -> To<'_> {
        To::Address(&self.to)
    }
}

impl OnRing for ConnectedUdp {}

impl OnRing for UdpResponder {
    #[inline]
    fn send_by(&mut self, ring_caller: &mut RingCaller, buf: &[u8]) -> io::Result<Sent> {
        let (socket, source) = self.answers_to();
        let sent = ring_caller.send(socket.as_fd(), buf, To::Source(source));
        self.unless_reported(datagram_sent(sent), Sent::Interrupted)
    }

    #[inline]
    fn recv_by(&mut self, ring_caller: &mut RingCaller, buf: &mut [u8]) -> io::Result<Received> {
        if self.is_new() {
            // The actions on the first datagram use ordinary calls.
            return self.recv(buf);
        }
        let (socket, source) = self.asked_by();
        let got = received(ring_caller.ring.recv_from(socket.as_fd(), buf, source));
        let got = self.unless_reported(got, Received::Interrupted)?;
        Ok(self.unless_strange(got))
    }
}

/// An endpoint whose calls go through a ring, one at a time.
#[derive(Debug)]
pub struct ByRing<E> {
    inner: E,
    ring_caller: RingCaller,
    send_calls: u64,
}

impl<E: OnRing> ByRing<E> {
    /// Sends the calls of `inner` through a ring; a receive gives up after `patience`. With
    /// `puts_off`, a receive follows every send at once, and short messages are submitted
    /// together with it.
    ///
    /// # Errors
    /// When the system does not permit a ring.
    pub fn new(inner: E, patience: Option<Duration>, puts_off: bool) -> io::Result<Self> {
        let ring = Uring::new(1, patience)?;
        Ok(Self {
            inner,
            ring_caller: RingCaller { ring, puts_off },
            send_calls: 0,
        })
    }

    /// The same for one of many flows: a send gives up after `patience`, too.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_flow(inner: E, patience: Duration, puts_off: bool) -> io::Result<Self> {
        let mut endpoint = Self::new(inner, Some(patience), puts_off)?;
        endpoint.ring_caller.ring.give_up_sends();
        Ok(endpoint)
    }
}

impl<E: OnRing> Endpoint for ByRing<E> {
    const KEEPS_BOUNDARIES: bool = E::KEEPS_BOUNDARIES;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let before = self.ring_caller.ring.enters();
        let sent = self.inner.send_by(&mut self.ring_caller, buf);
        self.send_calls += self.ring_caller.ring.enters() - before;
        sent
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        self.inner.recv_by(&mut self.ring_caller, buf)
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        self.ring_caller.ring.take_dropped()
    }

    fn counts(&self) -> Option<IoCounts> {
        Some(IoCounts {
            send_calls: self.send_calls,
            recv_calls: self.ring_caller.ring.enters() - self.send_calls,
            ..IoCounts::default()
        })
    }

    fn reclaim(&mut self) {
        self.ring_caller.ring.flush();
        self.inner.reclaim();
    }

    fn settle(&mut self) {
        self.inner.settle();
    }
}

impl<E: OnRing> OnSocket for ByRing<E> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.fd()
    }

    fn into_socket(mut self) -> Socket {
        self.ring_caller.ring.flush();
        self.inner.into_socket()
    }
}

impl<E: OnRing + Parts> Parts for ByRing<E> {
    fn part(mut self) -> Parted {
        self.ring_caller.ring.flush();
        self.inner.part()
    }

    fn facts(&self) -> Option<SocketFacts> {
        self.inner.facts()
    }

    fn waited_in_vain(&self) -> Duration {
        self.inner.waited_in_vain()
    }
}

/// A socket with many concurrent sends.
#[derive(Debug)]
pub struct RingSend {
    socket: Socket,
    to: Option<SockAddr>,
    ring: Uring,
    size: usize,
    last: u64,
    dropped: u64,
}

impl RingSend {
    /// Sends `width` messages of `size` bytes per submission to `to`, or to the connected peer.
    ///
    /// # Errors
    /// When the system does not permit a ring.
    pub fn new(
        socket: Socket,
        to: Option<SockAddr>,
        width: usize,
        size: usize,
    ) -> io::Result<Self> {
        Ok(Self {
            socket,
            to,
            ring: Uring::new(width, None)?,
            size,
            last: 0,
            dropped: 0,
        })
    }
}

impl Endpoint for RingSend {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let to = self.to.as_ref().map_or(To::Peer, To::Address);
        let taken = self
            .ring
            .send_many(self.socket.as_fd(), buf, self.size, to)
            .map(|taken| {
                self.last = taken.sends;
                taken.bytes
            });
        let sent = datagram_sent(taken)?;
        let told = u64::from(sent == Sent::Dropped);
        self.dropped += self.ring.take_dropped().saturating_sub(told);
        Ok(sent)
    }

    fn recv(&mut self, _buf: &mut [u8]) -> io::Result<Received> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[inline]
    fn messages_sent(&self, _bytes: usize) -> u64 {
        self.last
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    fn counts(&self) -> Option<IoCounts> {
        Some(IoCounts {
            send_calls: self.ring.enters(),
            ..IoCounts::default()
        })
    }
}

impl Parts for RingSend {
    fn part(self) -> Parted {
        mark_the_end(move || send_mark(self.socket.as_fd(), self.to.as_ref()))
    }
}

/// A socket with many receive buffers.
#[derive(Debug)]
pub struct RingRecv {
    socket: Socket,
    ring: Multishot,
    source: Source,
    /// The next message is the first and its source address is needed.
    first: bool,
    ended: bool,
    last: u64,
}

impl RingRecv {
    /// Receives into `width` buffers of `space` bytes. With `tells`, messages have a source to
    /// answer.
    ///
    /// # Errors
    /// When the system does not permit a ring.
    pub fn new(socket: Socket, width: usize, space: usize, tells: bool) -> io::Result<Self> {
        Ok(Self {
            socket,
            ring: Multishot::new(width, space)?,
            source: Source::unknown(),
            first: tells,
            ended: false,
            last: 0,
        })
    }

    #[cold]
    fn recv_first(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let fd = self.socket.as_fd();
        let got = received(self.ring.recv_first(fd, buf, &mut self.source));
        self.first = !matches!(got, Ok(Received::Bytes(_)));
        self.last = 1;
        got
    }
}

impl Endpoint for RingRecv {
    const KEEPS_BOUNDARIES: bool = false;

    fn send(&mut self, _buf: &[u8]) -> io::Result<Sent> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        if self.first {
            return self.recv_first(buf);
        }
        if self.ended {
            return Ok(Received::End);
        }
        let arrived = match self.ring.recv(self.socket.as_fd()) {
            Ok(arrived) => arrived,
            Err(error) => return received(Err(error)),
        };
        // Data before the end is counted first.
        self.ended = arrived.empty;
        self.last = arrived.messages;
        received(Ok(arrived.bytes))
    }

    #[inline]
    fn messages_received(&self) -> u64 {
        self.last
    }

    fn counts(&self) -> Option<IoCounts> {
        Some(IoCounts {
            recv_calls: self.ring.enters(),
            ..IoCounts::default()
        })
    }
}

impl Parts for RingRecv {
    fn part(self) -> Parted {
        mark_the_end(move || send_mark_back(self.socket.as_fd(), &self.source))
    }
}

/// A TCP connection with zero-copy sends through a ring.
///
/// As with [`crate::io::ZeroCopy`], at most as many sends are outstanding as there are buffers.
#[derive(Debug)]
pub struct RingZeroCopy {
    socket: Socket,
    ring: Uring,
    window: u64,
    sent: u64,
}

impl RingZeroCopy {
    /// Sends from a ring of `width` buffers.
    ///
    /// # Errors
    /// When the system does not permit a ring.
    pub fn new(socket: Socket, width: u32) -> io::Result<Self> {
        let under_way = usize::try_from(width).unwrap_or(1);
        Ok(Self {
            socket,
            ring: Uring::new(under_way, None)?,
            // The buffer of the next send must not be in use.
            window: u64::from(width.saturating_sub(1).max(1)),
            sent: 0,
        })
    }
}

impl Endpoint for RingZeroCopy {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        while self.ring.held().now >= self.window {
            if !self.ring.wait_for_held(None)? {
                return Ok(Sent::Interrupted);
            }
        }
        let sent = stream_sent(self.ring.send_zero_copy(self.socket.as_fd(), buf));
        self.sent += u64::from(matches!(sent, Ok(Sent::Bytes(_))));
        sent
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.socket.as_fd(), buf))
    }

    fn counts(&self) -> Option<IoCounts> {
        let held = self.ring.held();
        Some(IoCounts {
            send_calls: self.sent,
            recv_calls: 0,
            zerocopy_done: held.told,
            zerocopy_copied: held.copied,
        })
    }

    /// Half-closes the connection and waits for all completions.
    fn reclaim(&mut self) {
        // An error means that the connection is gone and no completion follows.
        let _gone = calls::half_close(self.socket.as_fd());
        let mut in_vain = 0;
        while self.ring.held().now > 0 && in_vain < LOOKS {
            match self.ring.wait_for_held(Some(LOOK)) {
                Ok(true) => in_vain = 0,
                Ok(false) => in_vain += 1,
                Err(_) => return,
            }
        }
    }
}

on_socket!(RingSend: socket, RingRecv: socket, RingZeroCopy: socket);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::thread;

    fn pair() -> (Socket, Socket) {
        netperf_testkit::watchdog::watch_unit();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client.into(), listener.accept().unwrap().0.into())
    }

    #[test]
    fn a_question_and_its_answer_take_one_system_call_at_each_end() {
        let (client, server) = pair();
        let other = thread::spawn(move || {
            let mut server = ByRing::new(Tcp(server), None, true).unwrap();
            let mut buf = [0; 8];
            while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
                assert_eq!(server.send(&buf[..count]).unwrap(), Sent::Bytes(count));
            }
            server.counts().unwrap()
        });
        let mut client = ByRing::new(Tcp(client), None, true).unwrap();
        for _ in 0..10 {
            assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
            assert_eq!(client.recv(&mut [0; 3]).unwrap(), Received::Bytes(3));
        }
        let counts = client.counts().unwrap();
        assert_eq!((counts.send_calls, counts.recv_calls), (0, 10));
        drop(client.into_socket());
        // The last call receives the end.
        assert_eq!(other.join().unwrap().recv_calls, 11);
    }

    #[test]
    fn what_was_put_off_is_sent_before_the_socket_is_given_back() {
        let (client, server) = pair();
        let mut client = ByRing::new(Tcp(client), None, true).unwrap();
        assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
        let _socket = client.into_socket();
        let mut buf = [0; 8];
        assert_eq!(Tcp(server).recv(&mut buf).unwrap(), Received::Bytes(3));
    }

    #[test]
    fn both_ends_count_the_same_datagrams_and_bytes() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap().into();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut client = RingSend::new(client.into(), Some(to), 8, 64).unwrap();
        let mut server = RingRecv::new(server.into(), 16, 2048, true).unwrap();
        assert_eq!(client.send(&[1; 500]).unwrap(), Sent::Bytes(500));
        assert_eq!(client.messages_sent(500), 8);
        drop(client.part());
        let (mut datagrams, mut bytes, mut buf) = (0, 0, [0; 2048]);
        while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
            bytes += count;
            datagrams += server.messages_received();
        }
        assert_eq!((datagrams, bytes), (8, 500));
        assert!(server.source.is_known());
    }

    #[test]
    fn a_stream_crosses_by_many_sends_and_many_buffers_at_a_time() {
        let (client, server) = pair();
        let reader = thread::spawn(move || {
            let mut server = RingRecv::new(server, 4, 10_000, false).unwrap();
            let mut total = 0;
            while let Received::Bytes(count) = server.recv(&mut []).unwrap() {
                total += count;
            }
            total
        });
        let mut client = RingSend::new(client, None, 4, 50_000).unwrap();
        for _ in 0..20 {
            assert_eq!(client.send(&[7; 200_000]).unwrap(), Sent::Bytes(200_000));
        }
        drop(client.into_socket());
        assert_eq!(reader.join().unwrap(), 4_000_000);
    }

    #[test]
    fn no_more_sends_are_held_than_there_are_buffers_and_all_are_heard_of() {
        let (client, server) = pair();
        let reader = thread::spawn(move || {
            let (mut server, mut buf, mut total) = (Tcp(server), vec![0; 1 << 16], 0);
            while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
                total += count;
            }
            total
        });
        let mut client = RingZeroCopy::new(client, 4).unwrap();
        let (data, mut total) = (vec![7; 50_000], 0);
        for _ in 0..100 {
            if let Sent::Bytes(count) = client.send(&data).unwrap() {
                total += count;
            }
            assert!(client.ring.held().now <= 4);
        }
        client.reclaim();
        assert_eq!(client.ring.held().now, 0);
        assert_eq!(client.counts().unwrap().send_calls, 100);
        drop(client);
        assert_eq!(reader.join().unwrap(), total);
    }
}
