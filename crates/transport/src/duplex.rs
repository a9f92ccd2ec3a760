//! One direction of a socket that carries two, each moved by a thread of its own: neither
//! owns the socket, and neither waits for the other.

use std::io;
use std::os::fd::BorrowedFd;

use netperf_os::SockAddr;
use netperf_os::io as calls;

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received, stream_sent};

/// A direction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct StreamHalf<'a>(pub BorrowedFd<'a>);

impl Endpoint for StreamHalf<'_> {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        stream_sent(calls::send(self.0, buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.0, buf))
    }
}

/// A direction of a datagram socket.
#[derive(Clone, Copy, Debug)]
pub struct DatagramHalf<'a> {
    /// The socket.
    pub socket: BorrowedFd<'a>,
    /// Where datagrams go.
    pub to: &'a SockAddr,
}

impl DatagramHalf<'_> {
    /// Empty datagrams that tell the other end that there is no more: one may be lost.
    pub fn mark_the_end(&self) {
        for _ in 0..crate::udp::END_MARKS {
            // A peer that is gone needs no telling.
            let _gone = calls::send_to(self.socket, &[], self.to);
        }
    }
}

impl Endpoint for DatagramHalf<'_> {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        datagram_sent(calls::send_to(self.socket, buf, self.to))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.socket, buf))
    }
}
