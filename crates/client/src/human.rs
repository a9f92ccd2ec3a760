//! `--human`: the result as a summary for a person.

use std::io::IsTerminal;

use netperf_cli::RunCommand;
use netperf_comparison::RunSummary;
use netperf_model::{Format, Outcome, ReportPlan};
use netperf_program::output::{self, Failure, err};

use super::failure;

/// Accepts every run.
#[expect(clippy::unnecessary_wraps, reason = "the signature of the small build")]
pub(super) const fn check(_run: &RunCommand) -> Result<(), Failure> {
    Ok(())
}

/// The report of an outcome in the format asked for.
pub(super) fn report(outcome: &Outcome, report: &ReportPlan) -> Result<String, Failure> {
    let text = netperf_report::final_report(outcome, report).map_err(failure::selection)?;
    if report.format != Format::Human {
        return Ok(text);
    }
    let gap = if report.prints_interim { "\n" } else { "" };
    summarised(&text, |summary| {
        gap.to_owned() + &summary.text(output::look())
    })
    .ok_or_else(|| Failure::failed("--human: the result cannot be summarised"))
}

fn summarised(text: &str, words: impl FnOnce(RunSummary<'_>) -> String) -> Option<String> {
    let document = netperf_web::document(text.as_bytes())?;
    Some(words(RunSummary::of(&document)))
}

/// Ends a classic run on a terminal with the answer in one line on standard error.
pub(super) fn close(outcome: &Outcome, report: &ReportPlan) {
    let is_classic = report.format == Format::Classic && !report.is_bare();
    let terminals = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    if !(is_classic && terminals && outcome.plan.test.moves_data()) {
        return;
    }
    let document = ReportPlan {
        format: Format::Json,
        ..report.clone()
    };
    let text = netperf_report::final_report(outcome, &document).ok();
    let line = text.and_then(|text| summarised(&text, |summary| summary.headline()));
    if let Some(line) = line {
        let look = output::look();
        err(&format!("{}\n", look.letters(&line)));
    }
}
