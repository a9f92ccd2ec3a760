//! Which code moves the bytes of which transport: the one place that matches on it.

use netperf_model::{SocketPlan, TransportId};

use crate::meeting::{Addresses, Connects, Plain};
use crate::tcp::Tcp;
use crate::udp::{Connected, First, ToPeer, Udp};

/// What is done with a transport once its types are known.
pub trait Visitor {
    /// What comes of it.
    type Out;

    /// A byte stream whose socket can also be written to, spliced from and sent files over.
    fn stream(self, how: Plain<Tcp>) -> Self::Out;

    /// Any other transport with connections.
    fn connection<C: Connects>(self, how: C) -> Self::Out;

    /// A transport without connections.
    fn addressed<A: Addresses>(self, how: A) -> Self::Out;
}

/// Has `visitor` do its work with the types of a transport.
pub fn visit<V: Visitor>(transport: TransportId, plan: &SocketPlan, visitor: V) -> V::Out {
    match transport {
        TransportId::Tcp
        | TransportId::IpDefault
        | TransportId::Mptcp
        | TransportId::Sdp
        | TransportId::Sctp
        | TransportId::UnixStream
        | TransportId::Vsock
        | TransportId::Tls
        | TransportId::Ktls
        | TransportId::XtiTcp
        | TransportId::Llc2 => visitor.stream(Plain::new()),
        TransportId::UnixSeqPacket | TransportId::VsockSeqPacket | TransportId::Dccp => {
            visitor.connection(Plain::<Connected>::new())
        }
        TransportId::Udp
        | TransportId::UdpLite
        | TransportId::UnixDatagram
        | TransportId::XtiUdp
        | TransportId::Llc1
        | TransportId::Packet
        | TransportId::Atm
        | TransportId::SctpMany => datagrams(plan, visitor),
    }
}

fn datagrams<V: Visitor>(plan: &SocketPlan, visitor: V) -> V::Out {
    let first = First {
        connect: plan.connected_datagram,
        answer_from_there: plan.packet_info,
    };
    if plan.connected_datagram {
        visitor.addressed(Udp::<Connected>::new(first))
    } else {
        visitor.addressed(Udp::<ToPeer>::new(first))
    }
}
