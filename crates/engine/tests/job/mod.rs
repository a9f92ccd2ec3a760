//! What netserver is asked for.

use std::time::Duration;

use netperf_model::{EndPlan, Ending, Family, Flow, Limit, ServerJob, Sources, TransportId};

/// How long the runs are.
pub(crate) const LENGTH: Duration = Duration::from_secs(1);

/// A test of this kind that has a time, and nothing else that was asked for.
pub(crate) fn of_a_second(transport: TransportId, family: Family, flow: Flow) -> ServerJob {
    ServerJob {
        transport,
        family,
        flow,
        limit: Limit::Time(LENGTH),
        request: None,
        response: None,
        end: EndPlan::default(),
        bind: None,
        port: 0,
        peer: None,
        associations: 1,
        ending: Ending::Omni,
        facts: None,
        many: None,
        sources: Sources::default(),
        most_bits: None,
        token: None,
    }
}
