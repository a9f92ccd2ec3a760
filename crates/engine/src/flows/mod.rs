//! Many flows in one process, on a few threads (docs/decisions/0011-flows.md).
//!
//! Each thread has flows, a poller, buffers and counters of its own, and runs one of the
//! loops in [`loops`] over them. The main thread conducts: it opens the gate that releases
//! all of them together, says which stage of the run it is, and watches the control
//! connection meanwhile. A stage is one byte that every thread looks at in every round.

mod accept;
mod close;
mod connect;
mod coordinator;
mod crew;
mod ends;
mod flow;
mod loops;
mod meet;
mod open;
mod poller;
mod run;
mod shared;
mod transactions;
mod worker;

pub(crate) use accept::further;
pub(crate) use run::{Targets, run};

use netperf_model::plan::TouchPlan;
use netperf_model::{
    Duplex, EndJob, EndPlan, Feature, Limit, Many, Setting, TestId, TestPlan, TransportId, Workers,
};

use crate::error::{EngineError, Operation};

/// What the flows of a transport are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Connections whose sockets tell by themselves what can be done: a thread has many.
    Connections,
    /// Connections that hold back some of what has come, or wait by themselves: each has
    /// a thread of its own.
    Threads,
    /// Datagrams, to a socket at netserver for each flow.
    Datagrams,
}

impl Kind {
    /// `None` where there are no flows.
    const fn of(transport: TransportId) -> Option<Self> {
        match transport {
            TransportId::Tcp
            | TransportId::IpDefault
            | TransportId::Mptcp
            | TransportId::Sctp
            | TransportId::Dccp
            | TransportId::UnixStream
            | TransportId::UnixSeqPacket
            | TransportId::Vsock
            | TransportId::VsockSeqPacket
            | TransportId::Ktls => Some(Self::Connections),
            TransportId::Tls | TransportId::XtiTcp => Some(Self::Threads),
            TransportId::Udp | TransportId::UdpLite => Some(Self::Datagrams),
            TransportId::Sdp
            | TransportId::SctpMany
            | TransportId::UnixDatagram
            | TransportId::XtiUdp
            | TransportId::Llc1
            | TransportId::Llc2
            | TransportId::Packet
            | TransportId::Atm => None,
        }
    }
}

/// Why a plan cannot have many flows; `None` when it can. The end of a sentence that
/// begins with "many flows".
#[must_use]
pub fn refusal(plan: &TestPlan) -> Option<String> {
    let Some(kind) = Kind::of(plan.transport) else {
        return Some("are not there for this transport".to_owned());
    };
    of_threads(plan, kind)
        .or_else(|| of_kind(plan, kind).map(str::to_owned))
        .or_else(|| of_ways(plan))
}

/// Whether there are too few threads.
fn of_threads(plan: &TestPlan, kind: Kind) -> Option<String> {
    let many = plan.many.as_ref()?;
    let few = |workers: &Workers| workers.threads.is_some_and(|threads| threads < many.flows);
    let few = kind == Kind::Threads && (few(&many.local) || few(&many.remote));
    few.then(|| {
        format!(
            "over this transport have a thread each: use --threads {}",
            many.flows
        )
    })
}

/// Whether a connection of a transport is no more than a socket that connects.
const fn connects(transport: TransportId) -> bool {
    matches!(
        transport,
        TransportId::Tcp
            | TransportId::IpDefault
            | TransportId::Mptcp
            | TransportId::UnixStream
            | TransportId::UnixSeqPacket
            | TransportId::Vsock
            | TransportId::VsockSeqPacket
    )
}

/// What flows of this kind cannot do.
fn of_kind(plan: &TestPlan, kind: Kind) -> Option<&'static str> {
    let datagrams = kind == Kind::Datagrams;
    let empty = |size: Option<u32>| size == Some(0);
    let reasons = [
        (plan.control.is_none(), "take a netserver: leave out -N"),
        (
            plan.flow.connects && !connects(plan.transport),
            "do not connect each time over this transport",
        ),
        (
            datagrams && !plan.flow.sends,
            "are no datagrams that only netserver sends",
        ),
        (
            datagrams && plan.recv_timeout.is_some(),
            "wait for every response: leave out -e",
        ),
        (
            datagrams && plan.flow.duplex == Some(Duplex::Separate),
            "of datagrams go both ways over one socket each: give --bidirectional same",
        ),
        (
            datagrams && plan.remote.socket.packet_info,
            "of datagrams have sockets that are bound before anybody asks: leave out -B",
        ),
        (plan.test == TestId::TcpMss, "are not there for this test"),
        (
            plan.local.socket.fast_open,
            "are connected before they begin: leave out -F",
        ),
        (
            plan.many.as_ref().is_some_and(Many::has_margins) && !timed(plan),
            "are warmed up and cooled down only where a time ends the test",
        ),
        (
            plan.associations > 1,
            "are connections: leave out the number of associations",
        ),
        (
            empty(plan.request) || empty(plan.response),
            "have requests and responses of a byte at least",
        ),
    ];
    let found = reasons.into_iter().find(|(applies, _)| *applies);
    found.map(|(_, reason)| reason)
}

/// What flows can be asked for besides, at either end.
const KNOWN: [Feature; 9] = [
    Feature::Poll,
    Feature::Epoll,
    Feature::Discard,
    Feature::Pages,
    Feature::Series,
    Feature::Rate,
    Feature::OnePort,
    Feature::Duplex,
    Feature::Until,
];

/// Whether flows can be asked for this besides.
fn is_known(feature: Feature) -> bool {
    if let Feature::Setting(setting) = feature {
        return setting != Setting::FlowLabel;
    }
    KNOWN.contains(&feature)
}

/// Ways to move bytes that flows do not know.
fn of_ways(plan: &TestPlan) -> Option<String> {
    let ends = [&plan.local, &plan.remote];
    let mut features = ends.into_iter().flat_map(EndPlan::features);
    if let Some(feature) = features.find(|feature| !is_known(*feature)) {
        return Some(format!(
            "are moved by the usual calls: leave out {}",
            feature.option()
        ));
    }
    let any = |is: fn(&EndPlan) -> bool| ends.into_iter().any(is);
    let reasons = [
        (
            any(|end| end.touch != TouchPlan::default()),
            "do not touch their buffers: leave out -k and -K",
        ),
        (
            any(|end| end.auto_io),
            "have no trials before them: leave out --io auto",
        ),
        (
            plan.local.copy_avoidance,
            "are received with a copy: leave out -V",
        ),
        (
            any(|end| end.io.discard) && plan.transport != TransportId::Tcp,
            "are thrown away in the kernel over TCP only: leave out --discard",
        ),
    ];
    let found = reasons.into_iter().find(|(applies, _)| *applies);
    found.map(|(_, reason)| reason.to_owned())
}

fn timed(plan: &TestPlan) -> bool {
    matches!(plan.limit, Limit::Time(_))
}

/// Whether netserver can do what it is asked for with many flows.
pub(crate) fn serves(job: &EndJob) -> bool {
    let Some(kind) = Kind::of(job.transport) else {
        return false;
    };
    let sends = kind == Kind::Datagrams && !job.test_flow().sends;
    let connects = !job.test_flow().connects || connects(job.transport);
    let known = job
        .end
        .features()
        .iter()
        .all(|feature| KNOWN.contains(feature));
    connects && !sends && known && !job.end.copy_avoidance
}

/// How many of all units are for the flow of this index.
#[must_use]
pub fn share(units: u64, flows: u32, index: u32) -> u64 {
    flow::shares(units, flows)(index)
}

/// A transport that has no flows, although somebody asked for them.
fn no_flows(operation: Operation) -> EngineError {
    operation.failed()(std::io::ErrorKind::Unsupported.into())
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
