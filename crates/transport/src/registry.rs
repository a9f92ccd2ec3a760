//! Which code moves the bytes of which transport: the one place that matches on it.

use std::io::Error;

use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Abilities, Family, Setting, SocketPlan, TransportId, TransportRow};

use crate::io;
use crate::meeting::{Addresses, Connects, Plain};
use crate::socket;
use crate::tcp::Tcp;
use crate::udp::{Aimed, ConnectedUdp, First, ToPeer, Udp};

#[cfg(not(all(feature = "tls", feature = "suites")))]
mod absent;
#[cfg(feature = "tls")]
mod encrypted;
#[cfg(feature = "suites")]
mod suites;

#[cfg(not(feature = "tls"))]
use absent as encrypted;
#[cfg(not(feature = "suites"))]
use absent as suites;

/// What is done with a transport once its types are known.
pub trait Visitor {
    /// What comes of it.
    type Out;

    /// A byte stream whose socket can also be written to, spliced from and sent files over:
    /// any endpoint on that socket will do once the connection stands.
    fn stream<C: Connects + Sync>(self, how: C) -> Self::Out;

    /// Any other transport with connections.
    fn connection<C: Connects + Sync>(self, how: C) -> Self::Out;

    /// Datagrams on a socket that can also move many of them in a call.
    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out;

    /// Any other transport without connections.
    fn addressed<A: Addresses>(self, how: A) -> Self::Out;

    /// A transport that this build does not contain.
    fn absent(self, error: Error) -> Self::Out;
}

/// The cargo feature that a transport takes; `None` for those that every build has.
const fn feature(transport: TransportId) -> Option<(&'static str, bool)> {
    match transport {
        TransportId::Tls | TransportId::Ktls => Some(("tls", cfg!(feature = "tls"))),
        TransportId::Sctp
        | TransportId::SctpMany
        | TransportId::Dccp
        | TransportId::XtiTcp
        | TransportId::XtiUdp
        | TransportId::Llc1
        | TransportId::Llc2
        | TransportId::Packet
        | TransportId::Atm => Some(("suites", cfg!(feature = "suites"))),
        TransportId::Tcp
        | TransportId::IpDefault
        | TransportId::Mptcp
        | TransportId::Sdp
        | TransportId::Udp
        | TransportId::UdpLite
        | TransportId::UnixStream
        | TransportId::UnixSeqPacket
        | TransportId::UnixDatagram
        | TransportId::Vsock
        | TransportId::VsockSeqPacket => None,
    }
}

/// Reports a transport that this build does not contain.
///
/// # Errors
/// `Unsupported`, with the name of the missing cargo feature.
pub fn check_built(transport: TransportId) -> Result<(), Error> {
    match feature(transport) {
        Some((name, false)) => Err(Error::new(
            std::io::ErrorKind::Unsupported,
            format!("this program is built without the feature '{name}'"),
        )),
        Some((_, true)) | None => Ok(()),
    }
}

/// The transports whose sockets this host opens, as far as a socket alone can tell.
#[must_use]
pub fn abilities() -> Abilities {
    let opens = |row: &&TransportRow| missing(row.id).is_none();
    Abilities {
        transports: TRANSPORTS.iter().filter(opens).map(|row| row.id).collect(),
        flows: most_flows(),
        features: io::features(),
    }
}

/// Descriptors that flows leave to the rest of the program.
const OTHER_DESCRIPTORS: u64 = 64;

/// The most flows that one process may have open at once; `None` when that cannot be told.
#[must_use]
pub fn most_flows() -> Option<u32> {
    let limit = netperf_os::process::raise_open_files().ok()?;
    let left = limit.saturating_sub(OTHER_DESCRIPTORS);
    Some(u32::try_from(left).unwrap_or(u32::MAX))
}

/// Why this host cannot do a transport; `None` when it can.
#[must_use]
pub fn missing(transport: TransportId) -> Option<Error> {
    let families = [Family::V4, Family::V6];
    let mut tries = families
        .iter()
        .map(|family| socket::create(transport, *family).err());
    let first = tries.next().flatten()?;
    tries.all(|error| error.is_some()).then_some(first)
}

/// What a test asks of a transport besides the transport itself.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Options of the data socket.
    pub socket: &'a SocketPlan,
    /// Associations that netperf opens (SCTP one-to-many), as far as it is known.
    pub associations: u32,
    /// Whether every message is a request or a response.
    pub exchange: bool,
}

/// Calls the method of `visitor` for the class of a transport, with its type.
pub fn visit<V: Visitor>(transport: TransportId, asked: Asked<'_>, visitor: V) -> V::Out {
    let plan = asked.socket;
    match transport {
        TransportId::Tcp
        | TransportId::IpDefault
        | TransportId::Mptcp
        | TransportId::Sdp
        | TransportId::UnixStream
        | TransportId::Vsock => visitor.stream(Plain::<Tcp>::new()),
        TransportId::UnixSeqPacket | TransportId::VsockSeqPacket => {
            visitor.connection(Plain::<ConnectedUdp>::new())
        }
        TransportId::Udp | TransportId::UdpLite | TransportId::UnixDatagram => {
            datagrams(plan, visitor)
        }
        TransportId::Tls | TransportId::Ktls => encrypted::visit(transport, asked, visitor),
        TransportId::Sctp
        | TransportId::SctpMany
        | TransportId::Dccp
        | TransportId::XtiTcp
        | TransportId::XtiUdp
        | TransportId::Llc1
        | TransportId::Llc2
        | TransportId::Packet
        | TransportId::Atm => suites::visit(transport, asked, visitor),
    }
}

fn datagrams<V: Visitor>(plan: &SocketPlan, visitor: V) -> V::Out {
    let first = First {
        connect: plan.connected_datagram,
        answer_from_there: plan.packet_info,
    };
    if plan.connected_datagram {
        visitor.datagrams(
            Udp::<ConnectedUdp>::new(first).labelled(plan.settings.number(Setting::FlowLabel)),
        )
    } else {
        visitor
            .datagrams(Udp::<ToPeer>::new(first).labelled(plan.settings.number(Setting::FlowLabel)))
    }
}
