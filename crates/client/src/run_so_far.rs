//! Start and measurements of a run that goes on.

use std::time::Duration;

use netperf_cli::RunCommand;
use netperf_measure::clock;
use netperf_model::{Interim, Iteration, Latency, Span, Until, Warning};
use netperf_program::output::Failure;
use netperf_report::SoFar;
use netperf_report::document::RunContext;

/// Start time of the program, since 1970.
#[derive(Clone, Copy)]
pub(crate) struct RunStart(Duration);

impl RunStart {
    pub(crate) fn now() -> Self {
        Self(clock::since_epoch())
    }

    pub(crate) fn until_now(self) -> Span {
        Span {
            started: self.0,
            ended: clock::since_epoch(),
        }
    }

    pub(crate) fn frame(self, run: &RunCommand) -> RunContext<'_> {
        RunContext {
            plan: &run.plan,
            report: &run.report,
            span: self.until_now(),
        }
    }
}

/// Measurements so far, for the report of a failed run.
#[derive(Default)]
pub(crate) struct RunSoFar {
    pub(crate) iterations: Vec<Iteration>,
    /// Failure after the report: nothing arrived, or the result was not stored.
    pub(crate) failure: Option<Failure>,
    /// Interim results, over all iterations.
    pub(crate) intervals: Vec<Interim>,
    /// Latency of operations over all iterations.
    pub(crate) latency: Option<Latency>,
    /// Accuracy reached so far (`--until`).
    pub(crate) until: Option<Until>,
    /// netperf's end of a failed iteration.
    pub(crate) partial: Option<Iteration>,
    /// Longest time in which nothing moved over the connections of a run.
    pub(crate) stall: Option<Duration>,
    /// Settings that are not in force as they were asked for.
    pub(crate) unmet: Vec<Warning>,
}

impl RunSoFar {
    pub(crate) fn so_far(&self) -> SoFar<'_> {
        SoFar {
            iterations: &self.iterations,
            intervals: &self.intervals,
            latency: self.latency.as_ref(),
            partial: self.partial.as_ref(),
        }
    }
}
