//! Which code moves the bytes of which transport: the one place that matches on it.

use std::io::Error;

use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Abilities, Family, Setting, SocketPlan, TransportId, TransportRow};

use crate::atm::Atm;
use crate::dccp::Dccp;
use crate::frames::{Frames, Llc1, Packet};
use crate::io;
use crate::llc2::Llc2;
use crate::meeting::{Addresses, Connects, Plain};
use crate::non_blocking::NonBlockingly;
use crate::sctp::{Sctp, SctpMany};
use crate::socket;
use crate::tcp::Tcp;
use crate::tls::{Ktls, Tls};
use crate::udp::{Aimed, ConnectedUdp, First, ToPeer, Udp};
use crate::xti::{XtiTcp, XtiUdp};

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

/// Has `visitor` do its work with the types of a transport.
pub fn visit<V: Visitor>(transport: TransportId, asked: Asked<'_>, visitor: V) -> V::Out {
    let plan = asked.socket;
    match transport {
        TransportId::Tcp
        | TransportId::IpDefault
        | TransportId::Mptcp
        | TransportId::Sdp
        | TransportId::UnixStream
        | TransportId::Vsock => visitor.stream(Plain::<Tcp>::new()),
        TransportId::Tls => visitor.connection(Tls::new(plan.tls_cipher.as_deref())),
        TransportId::Ktls => visitor.stream(Ktls::new(plan.tls_cipher.as_deref())),
        TransportId::UnixSeqPacket | TransportId::VsockSeqPacket => {
            visitor.connection(Plain::<ConnectedUdp>::new())
        }
        TransportId::Dccp => visitor.connection(Dccp),
        TransportId::Sctp if plan.non_blocking => visitor.connection(NonBlockingly(Sctp)),
        TransportId::Sctp => visitor.connection(Sctp),
        TransportId::SctpMany => one_to_many(asked, visitor),
        TransportId::XtiTcp => visitor.connection(XtiTcp),
        TransportId::XtiUdp => visitor.addressed(XtiUdp),
        TransportId::Udp | TransportId::UdpLite | TransportId::UnixDatagram => {
            datagrams(plan, visitor)
        }
        TransportId::Llc1 => visitor.addressed(Frames::<Llc1>::new()),
        TransportId::Packet => visitor.addressed(Frames::<Packet>::new()),
        TransportId::Llc2 => visitor.connection(Llc2),
        TransportId::Atm => visitor.addressed(Atm),
    }
}

fn one_to_many<V: Visitor>(asked: Asked<'_>, visitor: V) -> V::Out {
    let how = SctpMany::new(asked);
    if asked.socket.non_blocking {
        visitor.addressed(NonBlockingly(how))
    } else {
        visitor.addressed(how)
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
