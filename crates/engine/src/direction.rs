//! The directions of bulk data both ways: each has the data path that it has alone.

use std::time::Duration;

use netperf_model::{EndJob, EndSetup, Feature, IoMethod};
use netperf_transport::open::{OpenError, PathDirection, WaitMode};

use crate::error::{EngineError, Operation};
use crate::path::PathClass;

/// Interval between looks around while nothing arrives on a single flow.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// The direction that sends, and the one that receives.
pub(crate) fn both(
    job: &EndJob,
    class: PathClass,
    setup: &EndSetup,
) -> [PathDirection<'static>; 2] {
    [true, false].map(|sends| {
        let waits = match &job.flows {
            Some(flows) => WaitMode::Together(flows.count, Duration::ZERO),
            None => WaitMode::InCalls((!sends).then_some(LOOK)),
        };
        PathDirection::new(job, class, setup, sends, waits)
    })
}

/// Names the cause of a direction that cannot be opened.
pub(crate) fn failed(method: IoMethod) -> impl FnOnce(OpenError) -> EngineError {
    let operation = match method {
        IoMethod::Uring => Operation::Extra(Feature::Uring),
        IoMethod::Blocking | IoMethod::Poll | IoMethod::Epoll => Operation::Send,
    };
    move |OpenError { error, .. }| operation.failed()(error)
}
