//! The table of many flows: transports and options that go together with them.

use std::borrow::Cow;

use super::{Refusal, is_empty};
use crate::catalog::tests::TestId;
use crate::catalog::transports::TransportId;
use crate::end_job::EndJob;
use crate::io::{Feature, IoMethod};
use crate::many::{
    FlowCarrier, Many, Workers, flows_have_sessions, flows_have_threads, tells_address_of_each,
};
use crate::plan::{EndPlan, Limit, TestPlan};

/// A reason against many flows: the end of a sentence that begins with "many flows".
type Reason = (fn(&TestPlan) -> bool, &'static str);

/// Features that flows have.
const HAVE: &[Feature] = &[
    Feature::Poll,
    Feature::Epoll,
    Feature::Uring,
    Feature::Discard,
    Feature::Splice,
    Feature::ZeroCopy,
    Feature::Batch,
    Feature::Segments,
    Feature::Sequence,
    Feature::Pages,
    Feature::Series,
    Feature::Timestamps,
    Feature::DeviceStamps,
    Feature::Rate,
    Feature::OnePort,
    Feature::Duplex,
    Feature::Until,
    Feature::Fractions,
    Feature::Arrivals,
    Feature::FailedSends,
    Feature::Numbers,
];

/// Reasons against many flows in a test.
const TESTS: &[Reason] = &[
    (
        |plan| {
            let remote = plan.many.as_ref().map(|many| &many.remote);
            plan.control.is_none() && remote.is_some_and(|workers| !workers.cpus.is_empty())
        },
        "have no netserver whose threads run on CPUs: leave out --remote-cpus or -N",
    ),
    (
        |plan| plan.flow.connects && !plan.transport.is_connected(),
        "have a connection for each transaction only over transports with connections",
    ),
    (
        |plan| flows_have_sessions(plan) && plan.has_no_peer(),
        "with an address each need netserver, which learns the addresses from netperf: leave out -N",
    ),
    (
        |plan| {
            let placed = plan
                .many
                .as_ref()
                .is_some_and(|it| it.remote.place.is_some());
            flows_have_sessions(plan) && placed
        },
        "with an address each have a process each at netserver: give --cpus and --remote-cpus, not \
         --place",
    ),
    (
        |plan| {
            let margins = plan.many.as_ref().is_some_and(Many::has_margins);
            plan.test == TestId::TcpMss && margins
        },
        "of this test carry no data: leave out --warmup and --cooldown",
    ),
    (
        |plan| {
            let timed = matches!(plan.limit, Limit::Time(_));
            plan.many.as_ref().is_some_and(Many::has_margins) && !timed
        },
        "are warmed up and cooled down only where a time ends the test",
    ),
    (
        |plan| plan.associations > 1,
        "are connections: leave out the number of associations",
    ),
    (is_empty, "have requests and responses of a byte at least"),
];

/// Checks that many flows go together with the rest of a plan, where it has them.
pub(super) fn check(plan: &TestPlan) -> Result<(), Refusal> {
    let Some(many) = &plan.many else {
        return Ok(());
    };
    why_not(plan, many).map_or(Ok(()), |why| {
        Err(Refusal {
            option: option(many),
            why: format!("many flows {why}").into(),
        })
    })
}

fn why_not(plan: &TestPlan, many: &Many) -> Option<Cow<'static, str>> {
    if FlowCarrier::of(plan.transport).is_none() {
        let why = if plan.transport == TransportId::SctpMany {
            "over one-to-many sockets are associations (-T of tests with MANY in their names)"
        } else {
            "are not implemented over the link level"
        };
        return Some(why.into());
    }
    let flows = many.flows;
    let few = |workers: &Workers| workers.threads.is_some_and(|threads| threads < flows);
    let have_threads = |end: &EndPlan, own| {
        few(own) && flows_have_threads(plan.transport, plan.flow.connects, end.io.method)
    };
    if have_threads(&plan.local, &many.local) || have_threads(&plan.remote, &many.remote) {
        let waits = |end: &EndPlan| end.io.method == IoMethod::Uring;
        let what = if waits(&plan.local) || waits(&plan.remote) {
            "with --io uring"
        } else {
            "over this transport"
        };
        return Some(format!("{what} have a thread each: use --threads {flows}").into());
    }
    let reason = TESTS.iter().find(|(is, _)| is(plan));
    let reason = reason.map(|(_, why)| Cow::Borrowed(*why));
    let mut features = [&plan.local, &plan.remote]
        .into_iter()
        .flat_map(EndPlan::features);
    let feature = || {
        let lacking = features.find(|feature| !have(*feature))?;
        let option = lacking.option();
        Some(format!("are not implemented with {option}: leave out {option}").into())
    };
    reason.or_else(feature)
}

/// True if flows have a feature.
fn have(feature: Feature) -> bool {
    matches!(feature, Feature::Setting(_)) || HAVE.contains(&feature)
}

/// The option that makes a test one of many flows, the plainest first.
fn option(many: &Many) -> &'static str {
    let placed = many.local.place.or(many.remote.place).is_some();
    let options = [
        (many.flows > 1, "--flows"),
        (!many.warmup.is_zero(), "--warmup"),
        (!many.cooldown.is_zero(), "--cooldown"),
        (many.begin_at.is_some(), "--begin-at"),
        (!many.local.cpus.is_empty(), "--cpus"),
        (!many.remote.cpus.is_empty(), "--remote-cpus"),
        (placed, "--place"),
    ];
    let found = options.into_iter().find(|(asked, _)| *asked);
    found.map_or("--threads", |(_, option)| option)
}

/// True if netserver can do its part of many flows.
#[must_use]
pub fn serves(job: &EndJob) -> bool {
    if FlowCarrier::of(job.transport).is_none() {
        return false;
    }
    let alone = tells_address_of_each(job.transport, job.test_flow());
    let connects = !job.connects || job.transport.is_connected();
    let known = job.end.features().into_iter().all(have);
    connects && !alone && known
}
