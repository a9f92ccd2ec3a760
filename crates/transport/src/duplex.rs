//! One direction of a socket that carries both directions. Each direction is moved by its own
//! thread; neither thread owns the socket or waits for the other.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use netperf_model::Sources;
use netperf_os::io::{self as calls, Source};
use netperf_os::uring::To;
use netperf_os::{SockAddr, Socket};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received, stream_sent};
use crate::io::OnRing;
use crate::io::uring::RingCaller;
use crate::meeting::on_socket;
use crate::udp::is_strange;

/// One direction of a connection.
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

/// One direction of a datagram socket.
#[derive(Clone, Copy, Debug)]
pub struct DatagramHalf<'a> {
    /// The socket.
    pub socket: BorrowedFd<'a>,
    /// Destination of datagrams.
    pub to: &'a SockAddr,
    /// Permitted sources; `None` permits all.
    pub sources: Option<&'a Sources>,
}

impl DatagramHalf<'_> {
    /// Sends empty datagrams, which mark the end of data. More than one, because each may be
    /// lost.
    pub fn mark_the_end(&self) {
        for _ in 0..crate::udp::END_MARKS {
            // An error here means that the peer is gone and needs no mark.
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
        let Some(sources) = self.sources else {
            return received(calls::recv(self.socket, buf));
        };
        let mut source = Source::unknown();
        let got = calls::recv_from(self.socket, buf, &mut source);
        permitted(got, &source, sources)
    }
}

/// Ignores datagrams from a source that is not permitted.
fn permitted(got: io::Result<usize>, source: &Source, sources: &Sources) -> io::Result<Received> {
    let got = received(got)?;
    Ok(if is_strange(source, sources) {
        Received::Interrupted
    } else {
        got
    })
}

/// One direction of a datagram socket, with a descriptor of its own: for the ways to wait that keep
/// the socket.
#[derive(Debug)]
pub struct OwnedDatagramHalf {
    socket: Socket,
    to: SockAddr,
    sources: Option<Sources>,
}

on_socket!(OwnedDatagramHalf: socket);

impl DatagramHalf<'_> {
    /// The same direction with a descriptor of its own.
    ///
    /// # Errors
    /// What fcntl(2) reports.
    pub fn to_owned(self) -> io::Result<OwnedDatagramHalf> {
        Ok(OwnedDatagramHalf {
            socket: self.socket.try_clone_to_owned()?.into(),
            to: self.to.clone(),
            sources: self.sources.cloned(),
        })
    }
}

impl OwnedDatagramHalf {
    fn half(&self) -> DatagramHalf<'_> {
        DatagramHalf {
            socket: self.socket.as_fd(),
            to: &self.to,
            sources: self.sources.as_ref(),
        }
    }
}

impl Endpoint for OwnedDatagramHalf {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        self.half().send(buf)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        self.half().recv(buf)
    }
}

impl OnRing for OwnedDatagramHalf {
    #[inline]
    fn to(&self) -> To<'_> {
        To::Address(&self.to)
    }

    #[inline]
    fn recv_by(&mut self, ring: &mut RingCaller, buf: &mut [u8]) -> io::Result<Received> {
        let Some(sources) = &self.sources else {
            return received(ring.recv(self.socket.as_fd(), buf));
        };
        let mut source = Source::unknown();
        let got = ring.recv_from(self.socket.as_fd(), buf, &mut source);
        permitted(got, &source, sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::Policy;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn one_direction_sends_while_the_other_takes_what_no_stranger_sent() {
        let (here, there) = (
            UdpSocket::bind("127.0.0.1:0"),
            UdpSocket::bind("127.0.0.1:0"),
        );
        let (here, there) = (here.unwrap(), there.unwrap());
        let to = SockAddr::from(there.local_addr().unwrap());
        let policy = Policy {
            data_peers: "same".parse().unwrap(),
            ..Policy::default()
        };
        let only = |peer: &str| policy.sources(Some(peer.parse().unwrap()));
        let (strange, known) = (only("192.0.2.1"), only("127.0.0.1"));
        for (sources, taken) in [
            (None, Received::Bytes(3)),
            (Some(&known), Received::Bytes(3)),
            (Some(&strange), Received::Interrupted),
        ] {
            let mut out = DatagramHalf {
                socket: here.as_fd(),
                to: &to,
                sources: None,
            };
            let mut inward = DatagramHalf { sources, ..out };
            assert_eq!(out.send(b"abcd").unwrap(), Sent::Bytes(4));
            assert_eq!(there.recv(&mut [0; 8]).unwrap(), 4);
            there.send_to(b"abc", here.local_addr().unwrap()).unwrap();
            assert_eq!(inward.recv(&mut [0; 8]).unwrap(), taken);
        }
    }
}
