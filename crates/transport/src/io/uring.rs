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
use crate::io::on_ring::{OnRing, RingCaller};
use crate::io::while_sending::ReadWhileSending;
use crate::io::{Discarding, batch};
use crate::meeting::{OnSocket, Parted, Parts, on_socket};
use crate::socket::SocketFacts;
use crate::tcp::Tcp;
use crate::udp::{ConnectedUdp, ToPeer, UdpResponder, mark_the_end, send_mark, send_mark_back};

/// Time-out of one wait for outstanding completions after the run.
const LOOK: Duration = Duration::from_millis(50);
/// Number of such waits without progress before giving up.
const LOOKS: u32 = 40;

impl OnRing for Tcp {}

impl OnRing for Discarding {
    const DISCARDS: bool = true;
}

impl OnRing for ReadWhileSending {
    fn send_by(&mut self, ring_caller: &mut RingCaller, buf: &[u8]) -> io::Result<Sent> {
        self.send_with(|socket| ring_caller.ring.send_now(socket, buf))
    }

    fn recv_by(&mut self, ring_caller: &mut RingCaller, buf: &mut [u8]) -> io::Result<Received> {
        self.recv_with(buf, |socket, buf| ring_caller.recv(socket, buf))
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
        let got = received(ring_caller.recv_from(socket.as_fd(), buf, source));
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

    /// The same for a flow in both directions: no call waits, because the thread waits for both.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_both_ways(inner: E) -> io::Result<Self> {
        let mut endpoint = Self::new(inner, None, false)?;
        endpoint.ring_caller.ring.never_wait();
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

    fn overflowed(&self) -> Option<u32> {
        self.inner.overflowed()
    }

    fn waited_in_vain(&self) -> Duration {
        self.inner.waited_in_vain()
    }
}

/// A socket with many concurrent sends; each takes a whole message, or as much as fits.
#[derive(Debug)]
pub struct RingSend<const WHOLE: bool> {
    socket: Socket,
    to: Option<SockAddr>,
    ring: Uring,
    size: usize,
    /// Bytes of a message: of a send, or of one of those that the kernel cuts it into.
    message: usize,
    last: u64,
    dropped: u64,
}

impl<const WHOLE: bool> RingSend<WHOLE> {
    /// Sends `width` messages of `size` bytes per submission to `to`, or to the connected peer. A
    /// submission gives up after `patience`.
    ///
    /// # Errors
    /// When the system does not permit a ring.
    pub fn new(
        socket: Socket,
        to: Option<SockAddr>,
        (width, size): (usize, usize),
        patience: Option<Duration>,
    ) -> io::Result<Self> {
        let mut ring = Uring::new(width, patience)?;
        ring.give_up_sends();
        Ok(Self {
            socket,
            to,
            ring,
            size: size.max(1),
            message: size.max(1),
            last: 0,
            dropped: 0,
        })
    }

    /// Has the kernel cut each send into datagrams of this size.
    ///
    /// # Errors
    /// When the kernel does not segment datagrams, or not into this size.
    pub fn cut_into(self, datagram: usize) -> io::Result<Self> {
        batch::cut(&self.socket, datagram)?;
        let message = datagram.max(1);
        Ok(Self { message, ..self })
    }

    /// Sends to this address from now on.
    pub(crate) fn aim(&mut self, to: SockAddr) {
        self.to = Some(to);
    }

    /// Destination of messages; `None` is the connected peer.
    pub(crate) const fn to(&self) -> Option<&SockAddr> {
        self.to.as_ref()
    }
}

impl<const WHOLE: bool> Endpoint for RingSend<WHOLE> {
    const KEEPS_BOUNDARIES: bool = WHOLE;
    const ONE_WAY: bool = true;

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
        let cut = self.message < self.size;
        let sent = datagram_sent(taken).map_err(|error| batch::explained(error, cut))?;
        let told = u64::from(sent == Sent::Dropped);
        let each = self.size.div_ceil(self.message) as u64;
        self.dropped += (self.ring.take_dropped() * each).saturating_sub(told);
        Ok(sent)
    }

    fn recv(&mut self, _buf: &mut [u8]) -> io::Result<Received> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        if WHOLE {
            bytes.div_ceil(self.message) as u64
        } else {
            self.last
        }
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

impl Parts for RingSend<true> {
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
    /// Receives into `width` buffers of `space` bytes; a receive gives up after `patience`. With
    /// `tells`, messages have a source to answer.
    ///
    /// # Errors
    /// When the system does not permit a ring.
    pub fn new(
        socket: Socket,
        (width, space): (usize, usize),
        tells: bool,
        patience: Option<Duration>,
    ) -> io::Result<Self> {
        let ring = Multishot::new(width, space, patience)?;
        Ok(Self::by(ring, socket, tells))
    }

    /// The same for datagrams that the kernel puts together.
    ///
    /// # Errors
    /// When the kernel does not coalesce datagrams, or the system does not permit a ring.
    pub fn put_together(
        socket: Socket,
        (width, space): (usize, usize),
        patience: Option<Duration>,
    ) -> io::Result<Self> {
        batch::put_together(&socket)?;
        // Each train has its source.
        let ring = Multishot::of_trains(width, space, patience)?;
        Ok(Self::by(ring, socket, false))
    }

    fn by(ring: Multishot, socket: Socket, tells: bool) -> Self {
        Self {
            socket,
            ring,
            source: Source::unknown(),
            first: tells,
            ended: false,
            last: 0,
        }
    }

    /// Source of the first message, or of the last train.
    pub(crate) fn source(&self) -> &Source {
        self.ring.source().unwrap_or(&self.source)
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
    const ONE_WAY: bool = true;

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

    #[inline]
    fn has_ended(&self) -> bool {
        self.ended
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
        let (source, socket) = (self.source().clone(), self.socket);
        mark_the_end(move || send_mark_back(socket.as_fd(), &source))
    }
}

/// A TCP connection with zero-copy sends through a ring.
///
/// As with [`crate::io::ZeroCopy`], at most as many sends are outstanding as there are buffers.
#[derive(Debug)]
pub struct RingZeroCopy {
    socket: Socket,
    ring: Uring,
    patience: Option<Duration>,
    window: u64,
    sent: u64,
}

impl RingZeroCopy {
    /// Sends from a ring of `width` buffers; a send gives up after `patience`.
    ///
    /// # Errors
    /// When the system does not permit a ring.
    pub fn new(socket: Socket, width: u32, patience: Option<Duration>) -> io::Result<Self> {
        let mut ring = Uring::new(usize::try_from(width).unwrap_or(1), patience)?;
        ring.give_up_sends();
        Ok(Self {
            socket,
            ring,
            patience,
            // The buffer of the next send must not be in use.
            window: u64::from(width.saturating_sub(1).max(1)),
            sent: 0,
        })
    }
}

impl Endpoint for RingZeroCopy {
    const KEEPS_BOUNDARIES: bool = false;
    const ONE_WAY: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        while self.ring.held().now >= self.window {
            if !self.ring.wait_for_held(self.patience)? {
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

on_socket!(RingRecv: socket, RingZeroCopy: socket);

impl<const WHOLE: bool> OnSocket for RingSend<WHOLE> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn into_socket(self) -> Socket {
        self.socket
    }
}

#[cfg(test)]
mod tests;
