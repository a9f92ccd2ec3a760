//! The JSON document of a run, and the events of a stream.
//!
//! One set of types is written by `--json` and `--json-stream`, read by `report`, `compare`,
//! `sweep` and `history`, and described by the schema in `docs/schema`. A field has its unit
//! in its name. Every field is written; null is a value that is unknown, was not asked for,
//! or does not apply. A field that is missing in what is read has its default.

mod asked;
mod datagram_times;
mod flows;
mod latency;
mod measured;
mod one_way;
mod rate;
#[cfg(feature = "schema")]
mod schema;
mod until;

use std::time::Duration;

use netperf_model::fields::{AsSeconds, MeasuredFigure};
use netperf_model::{Confidence, Limit, ReportPlan, Span, TestPlan, Warning};
use serde::{Deserialize, Serialize};

use crate::incomplete::SoFar;
use crate::view::View;

pub use asked::{AskedControl, AskedEnd, AskedIo, AskedLimit, AskedTest, EndDocument};
pub use datagram_times::{DatagramTime, DatagramTimes};
pub use flows::{FlowResult, FlowsResult};
pub use latency::{IntervalLatency, LatencySummary, PercentileTime};
pub use measured::{
    DatagramCounts, DemandFigures, EndCounts, IntervalResult, IterationDocument, MeanResult,
    MeasuredEnd, SystemCalls, ThroughputFigures, TransferRates, interim_packets,
};
pub use one_way::OneWayResult;
pub use rate::RateResult;
#[cfg(feature = "schema")]
pub use schema::{SCHEMA_PATH, schema, schema_of};
pub use until::{KnownInterval, KnownTime, UntilResult};

/// The name of the schema.
pub const SCHEMA: &str = "netperf-1";
/// Its version: the second number is raised when a field is added.
const SCHEMA_VERSION: &str = "1.0";

/// The fields that every document begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DocumentHeader {
    /// The schema of this document. Its number is raised when a field changes its meaning or
    /// is removed.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The version of the schema. The second number is raised when a field is added.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = [SCHEMA_VERSION])))]
    pub schema_version: String,
    /// The program that wrote this document.
    pub program: ProgramInfo,
}

impl DocumentHeader {
    /// The header of documents that this program writes.
    #[must_use]
    pub fn own() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            program: ProgramInfo {
                name: "netperf".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                compatible_with: "2.7.0".to_owned(),
            },
        }
    }
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "program")]
pub struct ProgramInfo {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "netperf")))]
    pub name: String,
    /// Its version.
    pub version: String,
    /// The version of the original netperf that it is compatible with.
    pub compatible_with: String,
}

/// A server that is not netserver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "peer_program")]
pub struct PeerProgramInfo {
    /// Its protocol; more may be added.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["iperf2", "iperf3"])))]
    pub program: String,
    /// Its version, if it reports one. Null if unknown.
    pub version: Option<String>,
}

/// Everything known about one run of netperf. Every field is always present; null is a value
/// that is unknown, was not asked for, or does not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "document")]
pub struct Document {
    /// Schema and program.
    #[serde(flatten)]
    pub header: DocumentHeader,
    /// The command line, its words joined by blanks, with the passphrase masked.
    pub command_line: String,
    /// The text of `-B`.
    pub brand: Option<String>,
    /// The identifier of the run: that of `-u`, or a fresh one. Null if the run failed and
    /// none was given.
    pub uuid: Option<String>,
    /// Begin and end.
    #[serde(flatten)]
    pub span: Span,
    /// True if the run has a result of its whole length. False if a signal ended it early: `warnings`
    /// has `ended_early`; and if it failed: `error` has the reason, `partial` and `iterations` have the
    /// measurements before it.
    pub complete: bool,
    /// The test that was requested.
    pub test: AskedTest,
    /// netperf's end.
    pub local: EndDocument,
    /// netserver's end, or that of the peer.
    pub remote: EndDocument,
    /// The program of the server. Null for netserver, and without one (`-N`).
    pub peer: Option<PeerProgramInfo>,
    /// The result: means over all iterations. Null for tests without data, and if the run
    /// failed.
    pub result: Option<MeanResult>,
    /// Every complete iteration, in order; more than one only with `-i`.
    pub iterations: Vec<IterationDocument>,
    /// netperf's end of an iteration that failed, from its beginning to the failure: `remote`
    /// is null in it, and so is every value that needs netserver's counts. Null if none
    /// failed, or if it failed before any data moved.
    pub partial: Option<IterationDocument>,
    /// The interim results of all iterations, in order, including an iteration that failed;
    /// none without `-D`.
    pub intervals: Vec<IntervalResult>,
    /// Times of operations, over all iterations, including one that failed; at a rate
    /// (`--rate`), from the time at which each request was due to its response. Null unless
    /// `-j` or a rate asks for it.
    pub latency: Option<LatencySummary>,
    /// Times from sending each request to its response, over all iterations. Null without a
    /// rate of requests.
    pub service_time: Option<LatencySummary>,
    /// Delays from the time at which each message was due to its sending, over all
    /// iterations. If netserver kept to the rate, only some percentiles, the mean and the
    /// maximum are known. Null without a rate, or if netserver did not report it.
    pub lateness: Option<LatencySummary>,
    /// The rate of a program that sends at a rate. Null without `--rate`.
    pub rate: Option<RateResult>,
    /// The confidence that was reached. Null unless `-i` or `-I` asks for it.
    pub confidence: Option<Confidence>,
    /// The precision that was reached. Null without `--until`, and if the run failed.
    pub until: Option<UntilResult>,
    /// The result of LOC_CPU or REM_CPU. Null for all other tests.
    pub calibration: Option<CalibrationResult>,
    /// Warnings about the values.
    pub warnings: Vec<WarningText>,
    /// The reason of a failure. Null if the run did not fail.
    pub error: Option<RunError>,
}

/// A CPU calibration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "calibration")]
pub struct CalibrationResult {
    /// The calibrated end.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["local", "remote"])))]
    pub end: String,
    /// The rate.
    pub rate: MeasuredFigure,
    /// CPUs online.
    pub cpus: u32,
}

/// A warning about the values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "warning")]
pub struct WarningText {
    /// The kind of doubt, for programs; kinds may be added.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [
        "ended_early", "queue_discarded", "peer_lost", "fell_back_to_tcp", "clock_went_wrong", "generator_late",
        "rate_missed", "not_as_asked", "unanswered", "stalled", "unheard", "implausible", "imprecise", "cpu_bound", "one_host"
    ])))]
    pub code: String,
    /// The warning, for people.
    pub message: String,
}

/// The reason of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "error")]
pub struct RunError {
    /// The lines on standard error, except the one with the incomplete measurement.
    pub message: String,
    /// The exit status of the program.
    pub exit_status: u8,
    /// True if no netserver was found: no such host, a refused connection, another program, or no
    /// answer.
    pub unreached: bool,
}

/// One line of `--json-stream`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename = "event", rename_all = "lowercase")]
pub enum StreamEvent {
    /// The first event: the run begins.
    Start {
        /// Schema and program.
        #[serde(flatten)]
        header: DocumentHeader,
        /// The command line, its words joined by blanks, with the passphrase masked.
        #[serde(default)]
        command_line: String,
        /// The time of the event, since 1970.
        #[serde(default, rename = "time_unix_seconds", with = "AsSeconds")]
        time: Duration,
        /// The test that was requested.
        #[serde(default)]
        test: Box<AskedTest>,
    },
    /// An interval is over.
    Interim {
        /// Its interim result.
        #[serde(default)]
        interval: Box<IntervalResult>,
    },
    /// An iteration is over.
    Iteration {
        /// The time of the event, since 1970.
        #[serde(default, rename = "time_unix_seconds", with = "AsSeconds")]
        time: Duration,
        /// Its measurements.
        #[serde(default)]
        iteration: Box<IterationDocument>,
    },
    /// The last event of a run that succeeded.
    Result {
        /// The document that `--json` prints.
        #[serde(default)]
        document: Box<Document>,
    },
    /// The last event of a run that failed.
    Error {
        /// The time of the event, since 1970.
        #[serde(default, rename = "time_unix_seconds", with = "AsSeconds")]
        time: Duration,
        /// The reason.
        #[serde(default)]
        error: RunError,
        /// netperf's end of an iteration that failed, as in a document.
        #[serde(default)]
        partial: Option<Box<IterationDocument>>,
    },
}

/// Request and output form of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunContext<'a> {
    /// The test that was requested.
    pub plan: &'a TestPlan,
    /// The form of its output.
    pub report: &'a ReportPlan,
    /// Begin and end.
    pub span: Span,
}

impl Document {
    /// A document without measurements.
    #[must_use]
    pub fn empty(context: RunContext<'_>) -> Self {
        let RunContext { plan, report, span } = context;
        Self {
            header: DocumentHeader::own(),
            command_line: report.command_line.clone(),
            brand: report.brand.clone(),
            uuid: plan.uuid.clone(),
            span,
            complete: true,
            test: AskedTest::of(plan),
            local: EndDocument::asked(&plan.local, &plan.local_data),
            remote: EndDocument::asked(&plan.remote, &plan.remote_data),
            peer: plan.peer.map(|peer| PeerProgramInfo {
                program: peer.name().to_owned(),
                version: None,
            }),
            ..Self::default()
        }
    }

    /// The document of a complete run.
    #[must_use]
    pub fn of(view: &View<'_>) -> Self {
        let (outcome, report) = (view.outcome, view.report);
        let context = RunContext {
            plan: &outcome.plan,
            report,
            span: outcome.span,
        };
        let so_far = SoFar {
            iterations: &outcome.iterations,
            intervals: &outcome.intervals,
            latency: outcome.latency.as_ref(),
            partial: None,
        };
        let mut document = Self::so_far(context, so_far);
        document.uuid = Some(outcome.uuid.clone());
        if let Some(peer) = &mut document.peer {
            peer.version.clone_from(&outcome.peer_version);
        }
        document.local.set_facts(
            &outcome.hosts.local,
            Some(outcome.agreed.local),
            Some(&outcome.local_host),
        );
        document.remote.set_facts(
            &outcome.hosts.remote,
            outcome.agreed.remote,
            outcome.remote_host.as_ref(),
        );
        document.remote.data_port = Some(outcome.agreed.data_port);
        document.error = outcome.failure().map(RunError::of);
        let cut_short = outcome.warnings.contains(&Warning::EndedEarly)
            && outcome.plan.limit != Limit::UntilStopped;
        document.complete = document.error.is_none() && !cut_short;
        let has_result = document.error.is_none();
        document.result = has_result.then(|| MeanResult::of(view));
        document.confidence = outcome.confidence;
        document.until = UntilResult::of(view);
        document.warnings = outcome.warnings.iter().map(WarningText::of).collect();
        document
    }

    /// A document with what was measured until now.
    #[must_use]
    pub fn so_far(context: RunContext<'_>, so_far: SoFar<'_>) -> Self {
        let RunContext { plan, .. } = context;
        let runs = so_far.iterations.iter().zip(1..);
        let intervals = so_far.intervals.iter().zip(1..);
        let (rate, service_time, lateness) = rate::rate_results(plan, so_far.iterations);
        Self {
            iterations: runs
                .map(|(run, number)| IterationDocument::of(plan, number, run))
                .collect(),
            intervals: intervals
                .map(|(interval, number)| IntervalResult::of(plan, number, interval))
                .collect(),
            latency: so_far.latency.map(LatencySummary::of),
            partial: partial(context, so_far),
            rate,
            service_time,
            lateness,
            ..Self::empty(context)
        }
    }
}

/// netperf's measurements of the iteration that failed.
pub(crate) fn partial(context: RunContext<'_>, so_far: SoFar<'_>) -> Option<IterationDocument> {
    let number = so_far.iterations.len() + 1;
    let run = so_far.partial?;
    Some(IterationDocument::partial(context.plan, number, run))
}

impl RunError {
    /// A failure of the test, with status 1.
    fn of(why: &str) -> Self {
        Self {
            message: format!("netperf: {why}"),
            exit_status: 1,
            unreached: false,
        }
    }
}

impl WarningText {
    /// Code and text of a warning.
    #[must_use]
    pub fn of(warning: &Warning) -> Self {
        let (code, message) = match warning {
            Warning::EndedEarly => (
                "ended_early",
                "the run was ended by a signal before its time",
            ),
            Warning::QueueDiscarded => (
                "queue_discarded",
                "data that was on its way to netperf at the end of the time was discarded: \
                 what arrived until then counts",
            ),
            Warning::FellBackToTcp => (
                "fell_back_to_tcp",
                "the connection fell back to plain TCP: the results are not of MPTCP",
            ),
            Warning::ClockWentWrong => (
                "clock_went_wrong",
                "the processor's counter and the system's clock disagree by more than 0.1 %: \
                 latencies may be wrong",
            ),
            Warning::GeneratorLate(how) => ("generator_late", how.as_str()),
            Warning::RateMissed(how) => ("rate_missed", how.as_str()),
            Warning::Unanswered(how) => ("unanswered", how.as_str()),
            Warning::NotAsAsked(how) => ("not_as_asked", how.as_str()),
            Warning::Stalled(how) => ("stalled", how.as_str()),
            Warning::Unheard(how) => ("unheard", how.as_str()),
            Warning::Implausible(how) => ("implausible", how.as_str()),
            Warning::Imprecise(how) => ("imprecise", how.as_str()),
            Warning::PeerLost(how) => ("peer_lost", how.as_str()),
            Warning::Fragments(how) => ("fragments", how.as_str()),
            Warning::CpuBound(how) => ("cpu_bound", how.as_str()),
            Warning::OneHost => (
                "one_host",
                "client and server are on one host: the network is not measured, and the CPU \
                 utilisation of each is that of both",
            ),
        };
        Self {
            code: code.to_owned(),
            message: message.to_owned(),
        }
    }
}

/// A finite figure.
fn finite(value: impl Into<Option<f64>>) -> Option<f64> {
    value.into().filter(|value| value.is_finite())
}
