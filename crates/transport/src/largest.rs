//! Largest messages of transports.

use std::net::IpAddr;

use netperf_model::{SocketKind, TransportId};
use netperf_os::{Socket, atm};

use crate::dccp;
use crate::frames::{self, Llc1, Packet};

/// The largest message that is sent where no size was asked for, bytes; `None` where
/// only the socket buffer bounds it. `peer` is the other end's host, where it is known.
///
/// SCTP would take one as large as its send buffer, but then holds the next back until
/// that one is acknowledged.
#[must_use]
pub fn message(transport: TransportId, socket: &Socket, peer: Option<IpAddr>) -> Option<u32> {
    /// The largest UDP payload over IPv4: 65535 less the IP and UDP headers.
    const LARGEST_DATAGRAM: u32 = 65_507;
    match transport.row().kind {
        SocketKind::Stream if transport != TransportId::Sctp => None,
        SocketKind::Dccp => Some(dccp::largest_message(socket, peer)),
        SocketKind::Datagram if transport == TransportId::Packet => {
            frames::largest::<Packet>(socket).ok()
        }
        SocketKind::Datagram if transport == TransportId::Llc1 => {
            frames::largest::<Llc1>(socket).ok()
        }
        SocketKind::Datagram if transport == TransportId::Atm => Some(atm::LARGEST_MESSAGE.into()),
        SocketKind::Stream | SocketKind::SeqPacket | SocketKind::Datagram => Some(LARGEST_DATAGRAM),
    }
}
