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
use crate::meeting::{self, AcceptFilter, Connects, GiveUp, Met, Parted, Parting, Parts};
use crate::udp::ConnectedUdp;

/// How long to wait for room where the queue has a limit of its own.
const PAUSE: Duration = Duration::from_millis(1);

/// The transport. Both ends keep the service code 0, which is the default.
#[derive(Clone, Copy, Debug)]
pub struct Dccp;

impl Connects for Dccp {
    type Endpoint = DccpEndpoint;

    // shutdown(2) of one direction does nothing: there is no such thing in DCCP. A receiver
    // with a full buffer drops the close as well, and it comes again after 3 seconds.
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

/// Without a limit in messages the socket buffer bounds the queue, and a send waits for
/// room. With one, which is the default, a send to a full queue fails even when it is to wait.
fn ready(socket: Socket) -> Met<DccpEndpoint> {
    // A kernel that will not lift it has the endpoint pause for itself.
    let _lifted = sockopt::set(socket.as_fd(), IntOption::DccpQueueLength, 0);
    Met::Connected(DccpEndpoint(socket))
}

/// A connection moved by send(2) and recv(2), a message at a time.
#[derive(Debug)]
pub struct DccpEndpoint(pub Socket);

impl Parts for DccpEndpoint {
    fn part(self) -> Parted {
        // A peer that does not take them in time is told again.
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

/// poll(2) tells of room in the socket buffer, not in a queue that counts messages.
#[cold]
fn pause() {
    wait::sleep(PAUSE);
}

/// What a packet carries besides a message, IP aside: the generic header with long
/// sequence numbers (RFC 4340 section 5.1) and the room that Linux keeps for options.
const OVERHEAD: u32 = 16 + 40;
/// The largest IP packet, bytes.
const LARGEST_PACKET: u32 = 65_535;

/// The largest message for the path to `peer`, bytes; without one, or without a path, what
/// the kernel takes before it knows the path.
pub(crate) fn largest_message(socket: &Socket, peer: Option<IpAddr>) -> u32 {
    peer.and_then(|peer| by_path(peer).ok())
        .unwrap_or_else(|| before_connecting(socket))
}

fn before_connecting(socket: &Socket) -> u32 {
    /// What every IPv4 path carries (RFC 791: 576 bytes) less headers.
    const ANY_PATH: u32 = 536;
    sockopt::fetch(socket.as_fd(), IntOption::DccpMessageSize)
        .ok()
        .and_then(|size| u32::try_from(size).ok())
        .filter(|size| *size > 0)
        .unwrap_or(ANY_PATH)
}

/// From the MTU of the route, which a connected UDP socket tells without sending anything.
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
        // The MTU of the loopback interface is more than an IP packet can have.
        let v4 = by_path("127.0.0.1".parse().unwrap()).unwrap();
        assert_eq!(v4, 65_535 - 20 - 56);
        let v6 = by_path("::1".parse().unwrap()).unwrap();
        assert_eq!(v6, 65_535 - 40 - 56);
    }
}
