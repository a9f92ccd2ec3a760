//! Bulk data both ways over a socket: each direction has a data path and its own descriptor.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::IoCounts;
use netperf_os::io::Source;
use netperf_os::{SockAddr, Socket, error_queue, sockopt};

use crate::endpoint::{Endpoint, Received, Sent};
use crate::io::{
    BatchedRecv, BatchedSend, ByRing, Discarding, RingRecv, RingSend, RingZeroCopy, ZeroCopy,
};
use crate::meeting::{OnSocket, Parted, Parts};
use crate::tcp::{Spliced, Tcp};
use crate::udp::{ToPeer, send_mark};

/// Endpoint of one direction, on any data path. Messages keep their boundaries if `WHOLE`.
#[derive(Debug)]
#[expect(missing_docs, reason = "named like the endpoints")]
pub enum PathEndpoint<const WHOLE: bool> {
    Tcp(Tcp),
    TcpByRing(ByRing<Tcp>),
    ToPeer(ToPeer),
    ToPeerByRing(ByRing<ToPeer>),
    ZeroCopy(ZeroCopy),
    RingZeroCopy(RingZeroCopy),
    RingSend(RingSend<WHOLE>),
    BatchedSend(BatchedSend),
    Discarding(Discarding),
    DiscardingByRing(ByRing<Discarding>),
    Spliced(Spliced),
    RingRecv(RingRecv),
    BatchedRecv(BatchedRecv),
}

/// Does `$go` with the endpoint of a direction.
macro_rules! with_endpoint {
    ($path:expr, $endpoint:ident => $go:expr) => {
        match $path {
            PathEndpoint::Tcp($endpoint) => $go,
            PathEndpoint::TcpByRing($endpoint) => $go,
            PathEndpoint::ToPeer($endpoint) => $go,
            PathEndpoint::ToPeerByRing($endpoint) => $go,
            PathEndpoint::ZeroCopy($endpoint) => $go,
            PathEndpoint::RingZeroCopy($endpoint) => $go,
            PathEndpoint::RingSend($endpoint) => $go,
            PathEndpoint::BatchedSend($endpoint) => $go,
            PathEndpoint::Discarding($endpoint) => $go,
            PathEndpoint::DiscardingByRing($endpoint) => $go,
            PathEndpoint::Spliced($endpoint) => $go,
            PathEndpoint::RingRecv($endpoint) => $go,
            PathEndpoint::BatchedRecv($endpoint) => $go,
        }
    };
}

impl<const WHOLE: bool> PathEndpoint<WHOLE> {
    /// Source of the last message; `None` where the endpoint does not note it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "few endpoints note it")]
    fn source(&self) -> Option<SocketAddr> {
        let source: &Source = match self {
            Self::RingRecv(endpoint) => endpoint.source(),
            Self::BatchedRecv(endpoint) => endpoint.source(),
            _ => return None,
        };
        source.address()
    }

    /// Sends to this address from now on.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "few endpoints have an address"
    )]
    fn aim(&mut self, to: SockAddr) {
        match self {
            Self::ToPeer(endpoint) => endpoint.to = to,
            Self::RingSend(endpoint) => endpoint.aim(to),
            Self::BatchedSend(endpoint) => endpoint.aim(to),
            _ => {}
        }
    }

    /// Destination of messages; `None` is the peer of the socket.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "few endpoints have an address"
    )]
    fn to(&self) -> Option<&SockAddr> {
        match self {
            Self::ToPeer(endpoint) => Some(&endpoint.to),
            Self::RingSend(endpoint) => endpoint.to(),
            Self::BatchedSend(endpoint) => endpoint.to(),
            _ => None,
        }
    }
}

impl<const WHOLE: bool> Endpoint for PathEndpoint<WHOLE> {
    const KEEPS_BOUNDARIES: bool = WHOLE;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        with_endpoint!(self, endpoint => endpoint.send(buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        with_endpoint!(self, endpoint => endpoint.recv(buf))
    }

    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        with_endpoint!(self, endpoint => endpoint.messages_sent(bytes))
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        with_endpoint!(self, endpoint => endpoint.take_dropped())
    }

    #[inline]
    fn messages_received(&self) -> u64 {
        with_endpoint!(self, endpoint => endpoint.messages_received())
    }

    #[inline]
    fn has_ended(&self) -> bool {
        with_endpoint!(self, endpoint => endpoint.has_ended())
    }

    #[inline]
    fn each_received(&self, buf: &[u8], bytes: usize, see: impl FnMut(&[u8])) {
        with_endpoint!(self, endpoint => endpoint.each_received(buf, bytes, see));
    }

    fn counts(&self) -> Option<IoCounts> {
        with_endpoint!(self, endpoint => endpoint.counts())
    }

    fn reclaim(&mut self) {
        with_endpoint!(self, endpoint => endpoint.reclaim());
    }
}

impl<const WHOLE: bool> OnSocket for PathEndpoint<WHOLE> {
    fn fd(&self) -> BorrowedFd<'_> {
        with_endpoint!(self, endpoint => endpoint.fd())
    }

    fn into_socket(self) -> Socket {
        with_endpoint!(self, endpoint => endpoint.into_socket())
    }
}

/// Both directions of one of many flows: no call waits.
#[derive(Debug)]
pub struct TwoWays<const WHOLE: bool> {
    outward: PathEndpoint<WHOLE>,
    inward: PathEndpoint<WHOLE>,
    /// This end answers any sender.
    answers: bool,
    /// Flow information of the address, where the other end is still unknown.
    unaimed: Option<u32>,
    sends: u64,
    receives: u64,
}

impl<const WHOLE: bool> TwoWays<WHOLE> {
    /// Both directions to a known peer.
    #[must_use]
    pub const fn new(outward: PathEndpoint<WHOLE>, inward: PathEndpoint<WHOLE>) -> Self {
        Self {
            outward,
            inward,
            answers: false,
            unaimed: None,
            sends: 0,
            receives: 0,
        }
    }

    /// Both directions to the source of the first message, whose address gets this flow
    /// information.
    #[must_use]
    pub fn answering(self, flow_info: u32) -> Self {
        Self {
            answers: true,
            unaimed: Some(flow_info),
            ..self
        }
    }

    #[cold]
    fn aim(&mut self, flow_info: u32) {
        let Some(mut source) = self.inward.source() else {
            return;
        };
        if let SocketAddr::V6(v6) = &mut source {
            v6.set_flowinfo(flow_info);
        }
        self.outward.aim(source.into());
        self.unaimed = None;
    }

    /// Ignores an error that another host reported by ICMP.
    #[cold]
    fn unless_reported<T>(&self, error: io::Error, interrupted: T) -> io::Result<T> {
        let waits = error.kind() == io::ErrorKind::WouldBlock;
        if self.answers && !waits && error_queue::discard(self.fd()) {
            return Ok(interrupted);
        }
        Err(error)
    }
}

impl<const WHOLE: bool> Endpoint for TwoWays<WHOLE> {
    const KEEPS_BOUNDARIES: bool = WHOLE;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        match self.outward.send(buf) {
            Ok(sent) => {
                self.sends += u64::from(matches!(sent, Sent::Bytes(_)));
                Ok(sent)
            }
            Err(error) => self.unless_reported(error, Sent::Interrupted),
        }
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        match self.inward.recv(buf) {
            Ok(Received::Bytes(count)) => {
                self.receives += 1;
                if let Some(flow_info) = self.unaimed {
                    self.aim(flow_info);
                }
                Ok(Received::Bytes(count))
            }
            Ok(got) => {
                // Reports of zero-copy sends wake the thread up until they are read.
                if let PathEndpoint::ZeroCopy(outward) = &mut self.outward {
                    outward.reap()?;
                }
                Ok(got)
            }
            Err(error) => self.unless_reported(error, Received::Interrupted),
        }
    }

    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        self.outward.messages_sent(bytes)
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        self.outward.take_dropped()
    }

    #[inline]
    fn messages_received(&self) -> u64 {
        self.inward.messages_received()
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.inward.has_ended()
    }

    #[inline]
    fn each_received(&self, buf: &[u8], bytes: usize, see: impl FnMut(&[u8])) {
        self.inward.each_received(buf, bytes, see);
    }

    fn counts(&self) -> Option<IoCounts> {
        let outward = (self.outward.counts(), IoCounts::of_sends(self.sends));
        let inward = (self.inward.counts(), IoCounts::of_receives(self.receives));
        IoCounts::of_parts(outward, inward)
    }

    fn reclaim(&mut self) {
        self.outward.reclaim();
    }
}

impl<const WHOLE: bool> OnSocket for TwoWays<WHOLE> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.outward.fd()
    }

    fn into_socket(self) -> Socket {
        self.outward.into_socket()
    }
}

impl Parts for TwoWays<true> {
    fn overflowed(&self) -> Option<u32> {
        sockopt::receive_drops(self.outward.fd()).ok()
    }

    fn mark(&mut self) {
        send_mark(self.outward.fd(), self.outward.to());
    }

    fn part(self) -> Parted {
        let to = self.outward.to().cloned();
        let socket = self.into_socket();
        crate::udp::mark_the_end(move || send_mark(socket.as_fd(), to.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::batch::Trains;
    use std::net::UdpSocket;

    const FOUR: Trains = Trains {
        messages: 4,
        segments: false,
    };

    fn batches(socket: UdpSocket, to: Option<SockAddr>) -> TwoWays<true> {
        netperf_testkit::watchdog::watch_unit();
        socket.set_nonblocking(true).unwrap();
        let (outward, inward) = (socket.try_clone().unwrap().into(), socket.into());
        TwoWays::new(
            PathEndpoint::BatchedSend(BatchedSend::new(outward, to, FOUR, 10).unwrap()),
            PathEndpoint::BatchedRecv(BatchedRecv::new(inward, FOUR, 64, false).unwrap()),
        )
    }

    #[test]
    fn duplex_senders_are_known_by_their_first_data() {
        let here = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = there.local_addr().unwrap().into();
        let (mut here, mut there) = (batches(here, Some(to)), batches(there, None).answering(0));
        let mut buf = [0; 256];
        assert_eq!(there.recv(&mut buf).unwrap(), Received::TimedOut);
        assert_eq!(here.send(&[1; 35]).unwrap(), Sent::Bytes(35));
        assert_eq!(here.messages_sent(35), 4);
        assert_eq!(there.recv(&mut buf).unwrap(), Received::Bytes(35));
        assert_eq!(there.messages_received(), 4);
        assert_eq!(there.send(&[2; 20]).unwrap(), Sent::Bytes(20));
        there.mark();
        assert_eq!(here.recv(&mut buf).unwrap(), Received::Bytes(20));
        assert!(here.has_ended() && !there.has_ended());
        let counts = here.counts().unwrap();
        assert_eq!((counts.send_calls, counts.recv_calls), (1, 1));
    }
}
