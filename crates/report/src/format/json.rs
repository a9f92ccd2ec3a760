//! `--json` and `--json-stream`: one document, or one event per line.

use std::time::Duration;

use netperf_model::fields::MeasuredFigure;
use netperf_model::{Format, Interim, Iteration, ReportPlan, TestPlan};
use serde::Serialize;

use crate::control::Whose;
use crate::document::{
    AskedTest, CalibrationResult, Document, DocumentHeader, IntervalResult, IterationDocument,
    RunContext, RunError, StreamEvent, partial,
};
use crate::incomplete::SoFar;
use crate::view::View;

/// The result of a test without data.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// LOC_CPU and REM_CPU.
    Rate {
        /// The calibrated end.
        whose: Whose,
        /// The calibration rate.
        rate: f64,
        /// CPUs online.
        cpus: u32,
    },
    /// UUID.
    Identifier(&'a str),
}

/// Everything of an outcome, indented.
pub(crate) fn document(view: &View<'_>) -> String {
    pretty(&Document::of(view))
}

/// The last line of a run with a report.
pub(crate) fn result_event(view: &View<'_>) -> String {
    let document = Document::of(view);
    match document.error {
        None => success(document),
        Some(error) => line(&StreamEvent::Error {
            time: document.span.ended,
            error,
            partial: None,
        }),
    }
}

/// One interim result, the `index`-th of the run.
pub(crate) fn interim_event(plan: &TestPlan, index: usize, interim: &Interim) -> String {
    line(&StreamEvent::Interim {
        interval: Box::new(IntervalResult::of(plan, index + 1, interim)),
    })
}

/// The first line; empty unless a stream is wanted.
#[must_use]
pub fn start(context: RunContext<'_>) -> String {
    if context.report.format != Format::JsonStream {
        return String::new();
    }
    line(&StreamEvent::Start {
        header: DocumentHeader::own(),
        command_line: context.report.command_line.clone(),
        time: context.span.started,
        test: Box::new(AskedTest::of(context.plan)),
    })
}

/// The end of an iteration; empty unless a stream is wanted.
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
    line(&StreamEvent::Iteration {
        time: at,
        iteration: Box::new(IterationDocument::of(plan, number, run)),
    })
}

/// The result of a test without data.
#[must_use]
pub fn answer(context: RunContext<'_>, answer: Answer<'_>) -> String {
    let mut document = Document::empty(context);
    match answer {
        Answer::Rate { whose, rate, cpus } => {
            document.calibration = Some(CalibrationResult {
                end: whose.word().to_owned(),
                rate: MeasuredFigure::of(rate),
                cpus,
            });
        }
        Answer::Identifier(identifier) => document.uuid = Some(identifier.to_owned()),
    }
    if context.report.format == Format::JsonStream {
        return success(document);
    }
    pretty(&document)
}

/// The reason of a failure: a document without a result but with the measurements before the
/// failure, or the last line of a stream.
#[must_use]
pub fn failure(context: RunContext<'_>, so_far: SoFar<'_>, error: RunError) -> String {
    if context.report.format == Format::JsonStream {
        return line(&StreamEvent::Error {
            time: context.span.ended,
            error,
            partial: partial(context, so_far).map(Box::new),
        });
    }
    pretty(&Document {
        complete: false,
        error: Some(error),
        ..Document::so_far(context, so_far)
    })
}

fn success(document: Document) -> String {
    line(&StreamEvent::Result {
        document: Box::new(document),
    })
}

/// The value, indented. Writing cannot fail: all keys are texts.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}
