//! One JSON document, or one event per line: everything that is known of a run.
//!
//! The structures here are made for being written and are no part of the model; their
//! schema is `docs/schema/netperf-1.schema.json`. A field says its unit in its name,
//! every field is always there, and what is not known is `null`.

#[macro_use]
mod object;

mod datagrams;
mod ends;
mod flows;
mod latency;
mod list;
mod one_way;
mod rate;
mod results;
mod series;
mod test;
mod until;

use std::time::Duration;

use netperf_model::{Format, Interim, Iteration, ReportPlan, Span, TestPlan, Warning};
use serde::Serialize;

use crate::control::Whose;
use crate::incomplete::SoFar;
use crate::view::View;
use ends::End;
use latency::Latency;
pub(crate) use list::list;
use rate::{Rate, Rated};
use results::{Confidence, Interval, Mean, Run};
use test::Test;
use until::Until;

/// The schema that documents and events follow.
const SCHEMA: &str = "netperf-1";
/// Its version: the second number is raised when a field is added.
const SCHEMA_VERSION: &str = "1.0";

/// What is known of a run, whatever becomes of it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What was asked for.
    pub plan: &'a TestPlan,
    /// How it is to be printed.
    pub report: &'a ReportPlan,
    /// From when to when.
    pub span: Span,
}

/// What a test without data found out.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// LOC_CPU and REM_CPU.
    Rate {
        /// Whose rate it is.
        whose: Whose,
        /// The calibration rate.
        rate: f64,
        /// CPUs online.
        cpus: u32,
    },
    /// UUID.
    Identifier(&'a str),
}

/// Why a run failed.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The lines that are printed without JSON.
    pub message: &'a str,
    /// The exit status of the program.
    pub exit_status: u8,
}

object!(Problem<'_> {
    message,
    exit_status,
});

#[derive(Debug)]
struct Program {
    name: &'static str,
    version: &'static str,
    compatible_with: &'static str,
}

object!(Program {
    name,
    version,
    compatible_with,
});

/// This program.
const PROGRAM: Program = Program {
    name: "netperf",
    version: env!("CARGO_PKG_VERSION"),
    compatible_with: "2.7.1",
};

#[derive(Debug)]
struct Calibration {
    end: &'static str,
    rate: Option<f64>,
    cpus: u32,
}

object!(Calibration { end, rate, cpus });

#[derive(Debug)]
struct Doubt<'a> {
    code: &'static str,
    message: &'a str,
}

object!(Doubt<'_> {
    code,
    message,
});

/// The whole.
#[derive(Debug)]
struct Document<'a> {
    schema: &'static str,
    schema_version: &'static str,
    program: Program,
    command_line: &'a str,
    brand: Option<&'a str>,
    uuid: Option<&'a str>,
    started_unix_seconds: f64,
    ended_unix_seconds: f64,
    complete: bool,
    test: Test<'a>,
    local: End<'a>,
    remote: End<'a>,
    result: Option<Mean>,
    iterations: Vec<Run<'a>>,
    partial: Option<Run<'a>>,
    intervals: Vec<Interval>,
    latency: Option<Latency>,
    service_time: Option<Latency>,
    lateness: Option<Latency>,
    rate: Option<Rate>,
    confidence: Option<Confidence>,
    until: Option<Until>,
    calibration: Option<Calibration>,
    warnings: Vec<Doubt<'a>>,
    error: Option<Problem<'a>>,
}

object!(Document<'_> {
    schema,
    schema_version,
    program,
    command_line,
    brand,
    uuid,
    started_unix_seconds,
    ended_unix_seconds,
    complete,
    test,
    local,
    remote,
    result,
    iterations,
    partial,
    intervals,
    latency,
    service_time,
    lateness,
    rate,
    confidence,
    until,
    calibration,
    warnings,
    error,
});

/// The first line of a stream.
#[derive(Debug)]
struct Start<'a> {
    event: &'static str,
    schema: &'static str,
    schema_version: &'static str,
    program: Program,
    command_line: &'a str,
    time_unix_seconds: f64,
    test: Test<'a>,
}

object!(Start<'_> {
    event,
    schema,
    schema_version,
    program,
    command_line,
    time_unix_seconds,
    test,
});

/// An interval is over.
#[derive(Debug)]
struct IntervalOver {
    event: &'static str,
    interval: Interval,
}

object!(IntervalOver { event, interval });

/// An iteration is over.
#[derive(Debug)]
struct IterationOver<'a> {
    event: &'static str,
    time_unix_seconds: f64,
    iteration: Run<'a>,
}

object!(IterationOver<'_> {
    event,
    time_unix_seconds,
    iteration,
});

/// The last line of a run that succeeded.
#[derive(Debug)]
struct Success<'a> {
    event: &'static str,
    document: Document<'a>,
}

object!(Success<'_> {
    event,
    document,
});

/// The last line of a run that failed.
#[derive(Debug)]
struct Failed<'a> {
    event: &'static str,
    time_unix_seconds: f64,
    error: Problem<'a>,
    partial: Option<Run<'a>>,
}

object!(Failed<'_> {
    event,
    time_unix_seconds,
    error,
    partial,
});

impl<'a> Document<'a> {
    /// A document with nothing measured in it.
    fn empty(frame: Frame<'a>) -> Self {
        let Frame { plan, report, span } = frame;
        Self {
            schema: SCHEMA,
            schema_version: SCHEMA_VERSION,
            program: PROGRAM,
            command_line: &report.command_line,
            brand: report.brand.as_deref(),
            uuid: plan.uuid.as_deref(),
            started_unix_seconds: span.started.as_secs_f64(),
            ended_unix_seconds: span.ended.as_secs_f64(),
            complete: true,
            test: Test::of(plan),
            local: End::asked(&plan.local, &plan.local_data),
            remote: End::asked(&plan.remote, &plan.remote_data),
            result: None,
            iterations: Vec::new(),
            partial: None,
            intervals: Vec::new(),
            latency: None,
            service_time: None,
            lateness: None,
            rate: None,
            confidence: None,
            until: None,
            calibration: None,
            warnings: Vec::new(),
            error: None,
        }
    }

    fn of(view: &View<'a>) -> Self {
        let (outcome, report) = (view.outcome, view.report);
        let plan = &outcome.plan;
        let frame = Frame {
            plan,
            report,
            span: outcome.span,
        };
        let mut document = Self::empty(frame);
        document.uuid = Some(&outcome.uuid);
        document.local.know(
            &outcome.hosts.local,
            Some(outcome.agreed.local),
            Some(&outcome.local_host),
        );
        document.remote.know(
            &outcome.hosts.remote,
            outcome.agreed.remote,
            outcome.remote_host.as_ref(),
        );
        document.remote.data_port = Some(outcome.agreed.data_port);
        document.result = Some(Mean::of(view));
        document.keep(
            frame,
            SoFar {
                iterations: &outcome.iterations,
                intervals: &outcome.intervals,
                latency: outcome.latency.as_ref(),
                partial: None,
            },
        );
        document.confidence = outcome.confidence.map(Confidence::of);
        document.until = Until::of(view);
        document.warnings = outcome.warnings.iter().map(doubt).collect();
        document
    }

    /// Takes in what was measured.
    fn keep(&mut self, frame: Frame<'a>, so_far: SoFar<'a>) {
        let Frame { plan, report, .. } = frame;
        let runs = so_far.iterations.iter().zip(1..);
        let intervals = so_far.intervals.iter().zip(1..);
        self.iterations = runs
            .map(|(run, number)| Run::of(plan, report, number, run))
            .collect();
        self.intervals = intervals
            .map(|(interval, number)| Interval::of(plan, report, number, interval))
            .collect();
        self.latency = so_far.latency.map(Latency::of);
        self.partial = partial(frame, so_far);
        let rated = Rated::of(plan, so_far.iterations);
        self.rate = rated.rate;
        self.service_time = rated.service_time;
        self.lateness = rated.lateness;
    }
}

/// What a warning says.
#[must_use]
pub fn words(warning: &Warning) -> &str {
    doubt(warning).message
}

fn doubt(warning: &Warning) -> Doubt<'_> {
    match warning {
        Warning::EndedEarly => Doubt {
            code: "ended_early",
            message: "the run was ended by a signal before its time",
        },
        Warning::FellBackToTcp => Doubt {
            code: "fell_back_to_tcp",
            message: "the connection fell back to plain TCP: the figures are not of MPTCP",
        },
        Warning::ClockWentWrong => Doubt {
            code: "clock_went_wrong",
            message: "the processor's counter and the system's clock disagree by more than 0.1 %: \
                 the times of operations are doubtful",
        },
        Warning::GeneratorLate(how) => Doubt {
            code: "generator_late",
            message: how,
        },
        Warning::RateMissed(how) => Doubt {
            code: "rate_missed",
            message: how,
        },
        Warning::Unanswered(how) => Doubt {
            code: "unanswered",
            message: how,
        },
        Warning::Unheard(how) => Doubt {
            code: "unheard",
            message: how,
        },
        Warning::Imprecise(how) => Doubt {
            code: "imprecise",
            message: how,
        },
        Warning::PeerLost(how) => Doubt {
            code: "peer_lost",
            message: how,
        },
    }
}

/// Everything of an outcome, for people too: indented.
pub(crate) fn document(view: &View<'_>) -> String {
    pretty(&Document::of(view))
}

/// The last line of a run that succeeded.
pub(crate) fn result_event(view: &View<'_>) -> String {
    line(&Success {
        event: "result",
        document: Document::of(view),
    })
}

/// One interim result, the `index`-th of the run.
pub(crate) fn interim_event(
    plan: &TestPlan,
    report: &ReportPlan,
    index: usize,
    interim: &Interim,
) -> String {
    let interval = Interval::of(plan, report, index + 1, interim);
    line(&IntervalOver {
        event: "interim",
        interval,
    })
}

/// The first line; empty unless a stream is wanted.
#[must_use]
pub fn start(frame: Frame<'_>) -> String {
    if frame.report.format != Format::JsonStream {
        return String::new();
    }
    line(&Start {
        event: "start",
        schema: SCHEMA,
        schema_version: SCHEMA_VERSION,
        program: PROGRAM,
        command_line: &frame.report.command_line,
        time_unix_seconds: frame.span.started.as_secs_f64(),
        test: Test::of(frame.plan),
    })
}

/// An iteration is over; empty unless a stream is wanted.
#[must_use]
pub fn iteration(
    plan: &TestPlan,
    report: &ReportPlan,
    number: usize,
    run: &Iteration,
    at: Duration,
) -> String {
    if report.format != Format::JsonStream {
        return String::new();
    }
    line(&IterationOver {
        event: "iteration",
        time_unix_seconds: at.as_secs_f64(),
        iteration: Run::of(plan, report, number, run),
    })
}

/// What a test without data found out.
#[must_use]
pub fn answer(frame: Frame<'_>, answer: Answer<'_>) -> String {
    let mut document = Document::empty(frame);
    match answer {
        Answer::Rate { whose, rate, cpus } => {
            document.calibration = Some(Calibration {
                end: whose.word(),
                rate: finite(rate),
                cpus,
            });
        }
        Answer::Identifier(identifier) => document.uuid = Some(identifier),
    }
    if frame.report.format == Format::JsonStream {
        return line(&Success {
            event: "result",
            document,
        });
    }
    pretty(&document)
}

/// Why a run failed: a document without a result but with what was measured before, or
/// the last line of a stream, whose events have told of that.
#[must_use]
pub fn failure<'a>(frame: Frame<'a>, so_far: SoFar<'a>, problem: Problem<'a>) -> String {
    if frame.report.format == Format::JsonStream {
        return line(&Failed {
            event: "error",
            time_unix_seconds: frame.span.ended.as_secs_f64(),
            error: problem,
            partial: partial(frame, so_far),
        });
    }
    let mut document = Document::empty(frame);
    document.complete = false;
    document.keep(frame, so_far);
    document.error = Some(problem);
    pretty(&document)
}

/// What netperf measured of the iteration that failed.
fn partial<'a>(frame: Frame<'a>, so_far: SoFar<'a>) -> Option<Run<'a>> {
    let number = so_far.iterations.len() + 1;
    let run = so_far.partial?;
    Some(Run::partial(frame.plan, frame.report, number, run))
}

/// Nothing that is written here can fail: keys are texts, and there is no other reason.
fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// A figure, unless it is none.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A figure for which -1 stands where it was not measured.
fn measured(value: f64) -> Option<f64> {
    finite(value).filter(|value| *value >= 0.0)
}
