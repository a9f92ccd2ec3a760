//! Maps each transport to its types. No other code matches on the transport.

use std::io::Error;

use netperf_model::{
    Abilities, Domain, Family, HostSupport, Setting, SocketKind, SocketPlan, TransportId,
    TransportSet,
};

use netperf_os::address::{local_cid, set_local_cid};

use crate::io;
use crate::meeting::{Addresses, Connects, OnSocket, Plain};
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

/// An operation that is generic over the types of a transport.
pub trait Visitor {
    /// Result of the operation.
    type Out;

    /// A byte stream whose socket also supports write(2), splice(2) and sendfile(2): any stream
    /// endpoint can be used once it is connected.
    fn stream<C: Connects + Sync>(self, how: C) -> Self::Out;

    /// Any other connection-oriented transport.
    fn connection<C: Connects + Sync>(self, how: C) -> Self::Out;

    /// Datagrams on a socket that supports batched calls.
    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out;

    /// Any other connectionless transport.
    fn addressed<A: Addresses>(self, how: A) -> Self::Out;

    /// Any other connectionless transport with one socket at each end.
    fn messages<A>(self, how: A) -> Self::Out
    where
        Self: Sized,
        A: Addresses + Sync,
        A::Asking: OnSocket + Send,
        A::Answering: OnSocket + Send,
    {
        self.addressed(how)
    }

    /// A transport that this build does not contain.
    fn absent(self, error: Error) -> Self::Out;
}

/// The cargo features that a build may lack: name, presence and transports.
const OPTIONAL: [(&str, bool, &[TransportId]); 2] = [
    (
        "tls",
        cfg!(feature = "tls"),
        &[TransportId::Tls, TransportId::Ktls],
    ),
    (
        "suites",
        cfg!(feature = "suites"),
        &[
            TransportId::Sctp,
            TransportId::SctpMany,
            TransportId::Dccp,
            TransportId::XtiTcp,
            TransportId::XtiUdp,
            TransportId::Llc1,
            TransportId::Llc2,
            TransportId::Packet,
            TransportId::Atm,
        ],
    ),
];

/// The cargo feature that a transport takes; `None` for those that every build has.
fn feature(transport: TransportId) -> Option<(&'static str, bool)> {
    let mut optional = OPTIONAL.iter();
    let (name, built, _) = optional.find(|(_, _, members)| members.contains(&transport))?;
    Some((name, *built))
}

/// Reports a transport that this build does not contain.
///
/// # Errors
/// `Unsupported`, with the name of the missing cargo feature.
pub fn check_built(transport: TransportId) -> Result<(), Error> {
    match feature(transport) {
        Some((name, false)) => Err(not_built(name)),
        Some((_, true)) | None => Ok(()),
    }
}

/// Reports many flows in a build that does not contain them.
///
/// # Errors
/// `Unsupported`, with the name of the missing cargo feature.
pub fn check_flows() -> Result<(), Error> {
    if cfg!(feature = "flows") {
        Ok(())
    } else {
        Err(not_built("flows"))
    }
}

/// Names the cargo feature that this build lacks.
pub(crate) fn not_built(name: &str) -> Error {
    Error::new(
        std::io::ErrorKind::Unsupported,
        format!("this program is built without the feature '{name}'"),
    )
}

/// Capabilities of this host and build, with these transports. Opens no socket: without a
/// search, everything in the build is assumed, and a test finds out.
#[must_use]
pub fn abilities(permitted: TransportSet, found: Option<&HostSupport>) -> Abilities {
    let transports = found.map_or_else(TransportSet::all, |found| found.transports);
    let features = match found {
        Some(found) => found.features.clone(),
        None => io::built().collect(),
    };
    let built = |id| check_built(id).is_ok();
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

/// Parameters of a test that affect the choice of transport types.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Options of the data socket.
    pub socket: &'a SocketPlan,
    /// Number of associations that netperf opens (SCTP one-to-many), if known.
    pub associations: u32,
    /// True if every message is a request or a response.
    pub exchange: bool,
}

/// Calls the method of `visitor` for the class of a transport, with its type.
pub fn visit<V: Visitor>(transport: TransportId, asked: Asked<'_>, visitor: V) -> V::Out {
    match feature(transport) {
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
