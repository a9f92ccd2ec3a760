//! Calls of an endpoint through a ring.

use std::io;
use std::os::fd::BorrowedFd;

use netperf_os::io::Source;
use netperf_os::uring::{To, Uring};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received, stream_sent};
use crate::meeting::OnSocket;

/// Issues calls through a ring. It may defer a send until the wait that follows.
#[derive(Debug)]
pub struct RingCaller {
    pub(super) ring: Uring,
    /// True if a receive immediately follows every send.
    pub(super) puts_off: bool,
}

impl RingCaller {
    #[inline]
    pub(super) fn send(&mut self, fd: BorrowedFd<'_>, buf: &[u8], to: To<'_>) -> io::Result<usize> {
        if self.puts_off {
            self.ring.send_later(fd, buf, to)
        } else {
            self.ring.send(fd, buf, to)
        }
    }

    /// Receives as recv(2) does.
    #[inline]
    pub(crate) fn recv(&mut self, fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
        self.ring.recv(fd, buf, false)
    }

    /// Receives as recvfrom(2) does.
    #[inline]
    pub(crate) fn recv_from(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &mut [u8],
        source: &mut Source,
    ) -> io::Result<usize> {
        self.ring.recv_from(fd, buf, source)
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
