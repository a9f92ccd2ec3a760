//! Many flows in one process, on a few threads (docs/decisions/0011-flows.md).
//!
//! Each thread has flows, a poller, buffers and counters of its own, and runs one of the
//! loops in [`loops`] over them. The main thread conducts: it opens the gate that releases
//! all of them together, says which stage of the run it is, and watches the control
//! connection meanwhile. A stage is one byte that every thread looks at in every round.

pub mod client;
mod close;
mod conductor;
mod crew;
mod flow;
mod loops;
mod open;
mod poller;
pub mod server;
mod shared;
mod worker;

use netperf_model::{EndPlan, Limit, Many, ServerJob, TestId, TestPlan, TransportId};

/// Why a plan cannot have many flows; `None` when it can. The end of a sentence that
/// begins with "many flows".
#[must_use]
pub fn refusal(plan: &TestPlan) -> Option<&'static str> {
    let unusual = |end: &EndPlan| end.pace.is_some_and(|pace| pace.burst > 0);
    let touches = |end: &EndPlan| end.touch != netperf_model::TouchPlan::default();
    let empty = |size: Option<u32>| size == Some(0);
    let reasons = [
        (
            !has_loops(plan.transport),
            "are not there for this transport",
        ),
        (plan.control.is_none(), "take a netserver: leave out -N"),
        (
            plan.flow.connects,
            "are not there for tests that connect each time",
        ),
        (
            matches!(plan.test, TestId::TcpMss | TestId::TcpSendfile),
            "are not there for this test",
        ),
        (
            unusual(&plan.local) || unusual(&plan.remote),
            "are not paced: leave out -b and -w",
        ),
        (
            touches(&plan.local) || touches(&plan.remote),
            "do not touch their buffers: leave out -k and -K",
        ),
        (
            netperf_model::rate::asked(plan).is_some(),
            "keep to no rate: leave out --rate",
        ),
        (
            plan.local.copy_avoidance || plan.use_write,
            "are moved by send and recv: leave out -V and -I",
        ),
        (
            !plan.local.features().is_empty() || !plan.remote.features().is_empty(),
            "have no data path but the usual one: leave out --io and what goes with it",
        ),
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

fn timed(plan: &TestPlan) -> bool {
    matches!(plan.limit, Limit::Time(_))
}

/// Whether netserver can do what it is asked for with many flows.
pub(crate) fn serves(job: &ServerJob) -> bool {
    has_loops(job.transport) && !job.flow.connects
}

/// How many of all units are for the flow of this index.
#[must_use]
pub fn share(units: u64, flows: u32, index: u32) -> u64 {
    flow::shares(units, flows)(index)
}

/// Whether the loops can move the data of a transport: reliable, connected, and moved by
/// send and recv on a plain socket.
#[must_use]
pub const fn has_loops(transport: TransportId) -> bool {
    matches!(
        transport,
        TransportId::Tcp
            | TransportId::IpDefault
            | TransportId::Mptcp
            | TransportId::UnixStream
            | TransportId::UnixSeqPacket
            | TransportId::Vsock
            | TransportId::VsockSeqPacket
            | TransportId::XtiTcp
    )
}
