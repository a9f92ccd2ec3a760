//! DCCP: unreliable messages over a connection with congestion control (RFC 4340).

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_os::io as calls;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait;
use netperf_os::{SockAddr, Socket};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};
use crate::meeting::{
    self, AcceptFilter, Connects, GiveUp, Met, Parted, Parting, Parts, on_socket,
};
use crate::udp::ConnectedUdp;

/// Pause before a retry when the transmit queue is limited by packet count.
const PAUSE: Duration = Duration::from_millis(1);

/// The DCCP transport. Both ends use the default service code 0.
#[derive(Clone, Copy, Debug)]
pub struct Dccp;

impl Connects for Dccp {
    type Endpoint = DccpEndpoint;

    // DCCP has no half-close: shutdown(2) of one direction does nothing. A receiver with a full
    // buffer drops the close too, and the peer repeats it only after 3 seconds.
    const PARTING: Parting = Parting::EmptyMessages;

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<DccpEndpoint>> {
        meeting::connect(&socket, to, give_up)?.and_then(|()| Ok(ready(socket)))
    }

    fn accept(&self, gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<DccpEndpoint>> {
        meeting::accept(gate, give_up)?.and_then(|socket| Ok(ready(socket)))
    }
}

/// Removes the packet limit of the transmit queue. The socket buffer then bounds the queue and
/// a send blocks until there is space. With the default limit, even a blocking send to a full
/// queue fails.
fn ready(socket: Socket) -> Met<DccpEndpoint> {
    // If the kernel does not remove the limit, the endpoint pauses instead.
    let _lifted = sockopt::set(socket.as_fd(), IntOption::DccpQueueLength, 0);
    Met::Connected(DccpEndpoint(socket))
}

/// A DCCP connection. send(2) and recv(2) move one message each.
#[derive(Debug)]
pub struct DccpEndpoint(pub Socket);

impl Parts for DccpEndpoint {
    fn part(self) -> Parted {
        // A peer that does not read in time gets the message again.
        let _waits = self.0.set_nonblocking(true);
        ConnectedUdp(self.0).part()
    }
}

impl Endpoint for DccpEndpoint {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        match calls::send(self.0.as_fd(), buf) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                pause();
                Ok(Sent::Interrupted)
            }
            other => datagram_sent(other),
        }
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.0.as_fd(), buf))
    }
}

on_socket!(DccpEndpoint: 0);

/// poll(2) reports space in the socket buffer, not in a queue that counts messages.
#[cold]
fn pause() {
    wait::sleep(PAUSE);
}

/// Packet overhead above IP, bytes: generic header with long sequence numbers (RFC 4340 section
/// 5.1) and the space that Linux reserves for options.
const OVERHEAD: u32 = 16 + 40;
/// The largest IP packet, bytes.
const LARGEST_PACKET: u32 = 65_535;

/// Largest message for the path to `peer`, bytes. Without a peer or a route, the size that the
/// kernel accepts before it knows the path.
pub(crate) fn largest_message(socket: &Socket, peer: Option<IpAddr>) -> u32 {
    peer.and_then(|peer| by_path(peer).ok())
        .unwrap_or_else(|| before_connecting(socket))
}

fn before_connecting(socket: &Socket) -> u32 {
    /// Every IPv4 path carries 576 bytes (RFC 791), less headers.
    const ANY_PATH: u32 = 536;
    sockopt::fetch(socket.as_fd(), IntOption::DccpMessageSize)
        .ok()
        .and_then(|size| u32::try_from(size).ok())
        .filter(|size| *size > 0)
        .unwrap_or(ANY_PATH)
}

/// Derives the size from the route's MTU, which a connected UDP socket reports without sending.
fn by_path(peer: IpAddr) -> io::Result<u32> {
    const DISCARD: u16 = 9;
    let (any, option, header): (SocketAddr, _, u32) = match peer {
        IpAddr::V4(_) => (([0; 4], 0).into(), IntOption::PathMtuV4, 20),
        IpAddr::V6(_) => (([0_u16; 8], 0).into(), IntOption::PathMtuV6, 40),
    };
    let probe = UdpSocket::bind(any)?;
    probe.connect((peer, DISCARD))?;
    let mtu = u32::try_from(sockopt::fetch(probe.as_fd(), option)?).unwrap_or(0);
    mtu.min(LARGEST_PACKET)
        .checked_sub(header + OVERHEAD)
        .filter(|size| *size > 0)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_message_follows_from_the_mtu_of_the_route() {
        // The loopback MTU exceeds the largest IP packet.
        let v4 = by_path("127.0.0.1".parse().unwrap()).unwrap();
        assert_eq!(v4, 65_535 - 20 - 56);
        let v6 = by_path("::1".parse().unwrap()).unwrap();
        assert_eq!(v6, 65_535 - 40 - 56);
    }
}
