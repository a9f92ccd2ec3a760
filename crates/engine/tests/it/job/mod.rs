//! What netserver is asked for.

use std::time::Duration;

use netperf_model::{EndJob, Family, Flow, Limit, TransportId};

/// How long the runs are.
pub(crate) const LENGTH: Duration = Duration::from_secs(1);

/// A test of this kind that has a time, and nothing else that was asked for.
pub(crate) fn of_a_second(transport: TransportId, family: Family, flow: Flow) -> EndJob {
    EndJob::new(transport, family, flow, Limit::Time(LENGTH))
}
