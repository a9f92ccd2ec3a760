//! The transports of the optional suites: SCTP, DCCP, XTI, link level and ATM.

use netperf_model::TransportId;

use super::{Asked, Visitor};
use crate::atm::Atm;
use crate::dccp::Dccp;
use crate::frames::{Frames, Llc1, Packet};
use crate::llc2::Llc2;
use crate::non_blocking::NonBlockingly;
use crate::sctp::{Sctp, SctpMany};
use crate::xti::{XtiTcp, XtiUdp};

/// Calls the method of `visitor` for the class of a transport of these suites.
pub(super) fn visit<V: Visitor>(transport: TransportId, asked: Asked<'_>, visitor: V) -> V::Out {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the caller matches all transports"
    )]
    match transport {
        TransportId::Dccp => visitor.connection(Dccp),
        TransportId::Sctp if asked.socket.non_blocking => visitor.connection(NonBlockingly(Sctp)),
        TransportId::Sctp => visitor.connection(Sctp),
        TransportId::SctpMany => one_to_many(asked, visitor),
        TransportId::XtiTcp => visitor.connection(XtiTcp),
        TransportId::XtiUdp => visitor.messages(XtiUdp),
        TransportId::Llc1 => visitor.addressed(Frames::<Llc1>::new()),
        TransportId::Packet => visitor.addressed(Frames::<Packet>::new()),
        TransportId::Llc2 => visitor.connection(Llc2),
        TransportId::Atm => visitor.addressed(Atm),
        _ => visitor.absent(std::io::ErrorKind::Unsupported.into()),
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
