//! Maps each transport to its types. No other code matches on the transport.

#[cfg(not(all(feature = "tls", feature = "suites")))]
mod absent;
#[cfg(feature = "tls")]
mod encrypted;
#[cfg(feature = "suites")]
mod suites;
mod visitor;

use std::io::Error;

use netperf_model::{
    Abilities, Domain, Family, HostSupport, Setting, SocketKind, SocketPlan, TransportId,
    TransportSet,
};
use netperf_os::address::{local_cid, set_local_cid};

pub use visitor::{Asked, Visitor};

use crate::built::{self, check_flows, check_transport, feature_of};
use crate::io;
use crate::meeting::Plain;
use crate::socket;
use crate::tcp::Tcp;
use crate::udp::{ConnectedUdp, First, ToPeer, Udp};

#[cfg(not(feature = "tls"))]
use absent as encrypted;
#[cfg(not(feature = "suites"))]
use absent as suites;

/// Capabilities of this host and build, with these transports. Opens no socket: without a
/// search, everything in the build is assumed, and a test finds out.
#[must_use]
pub fn abilities(permitted: TransportSet, found: Option<&HostSupport>) -> Abilities {
    let transports = found.map_or_else(TransportSet::all, |found| found.transports);
    let features = match found {
        Some(found) => found.features.clone(),
        None => built::features().collect(),
    };
    let built = |id| check_transport(id).is_ok();
    Abilities {
        transports: permitted
            .filtered(|id| transports.contains(id) && built(id))
            .iter()
            .collect(),
        off: TransportSet::all()
            .filtered(|id| !permitted.contains(id))
            .iter()
            .collect(),
        flows: most_flows(),
        features,
        features_off: Vec::new(),
    }
}

/// The transports of a set whose sockets this host can open, and its features. Opens sockets,
/// which may load kernel modules, and connects none.
#[must_use]
pub fn find(permitted: TransportSet) -> HostSupport {
    HostSupport {
        transports: permitted.filtered(|id| missing(id).is_none()),
        features: io::features(),
        cid: find_cid(permitted),
    }
}

/// The context id of this host, if vsock is one of the transports. It is kept for this process.
pub fn find_cid(permitted: TransportSet) -> Option<u32> {
    let is_vsock = |id: TransportId| id.row().domain == Domain::Vsock;
    let mut all = permitted.iter();
    let cid = all.any(is_vsock).then(local_cid)?.ok()?;
    set_local_cid(cid);
    Some(cid)
}

/// Descriptors reserved for uses other than flows.
const OTHER_DESCRIPTORS: u64 = 64;

/// Largest number of open flows per process, 0 without them in this build; `None` if unknown.
#[must_use]
pub fn most_flows() -> Option<u32> {
    if check_flows().is_err() {
        return Some(0);
    }
    let limit = netperf_os::process::raise_open_files().ok()?;
    let left = limit.saturating_sub(OTHER_DESCRIPTORS);
    Some(u32::try_from(left).unwrap_or(u32::MAX))
}

/// Reason for which this host does not support a transport; `None` if it does.
#[must_use]
pub fn missing(transport: TransportId) -> Option<Error> {
    let families = [Family::V4, Family::V6];
    let mut tries = families
        .iter()
        .map(|family| socket::create(transport, *family).err());
    let first = tries.next().flatten()?;
    tries.all(|error| error.is_some()).then_some(first)
}

/// Calls the method of `visitor` for the class of a transport, with its type.
pub fn visit<V: Visitor>(transport: TransportId, asked: Asked<'_>, visitor: V) -> V::Out {
    match feature_of(transport) {
        None => plain(transport, asked.socket, visitor),
        Some(("tls", _)) => encrypted::visit(transport, asked, visitor),
        Some(_) => suites::visit(transport, asked, visitor),
    }
}

/// Calls the method of `visitor` for the class of a transport that every build has.
fn plain<V: Visitor>(transport: TransportId, plan: &SocketPlan, visitor: V) -> V::Out {
    match transport.row().kind {
        SocketKind::Stream => visitor.stream(Plain::<Tcp>::new()),
        SocketKind::SeqPacket | SocketKind::Dccp => {
            visitor.connection(Plain::<ConnectedUdp>::new())
        }
        SocketKind::Datagram => datagrams(plan, visitor),
    }
}

fn datagrams<V: Visitor>(plan: &SocketPlan, visitor: V) -> V::Out {
    let first = First {
        connect: plan.connected_datagram,
        answer_from_there: plan.packet_info,
    };
    let label = plan.settings.number(Setting::FlowLabel);
    if plan.connected_datagram {
        visitor.datagrams(Udp::<ConnectedUdp>::new(first).labelled(label))
    } else {
        visitor.datagrams(Udp::<ToPeer>::new(first).labelled(label))
    }
}
