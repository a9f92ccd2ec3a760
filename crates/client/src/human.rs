//! `--human`: the result as a summary for a person.

use netperf_campaign::{Letters, RunSummary};
use netperf_cli::RunCommand;
use netperf_model::{Format, Outcome, ReportPlan};
use netperf_program::output::{self, Failure};

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
    let document = netperf_web::document(text.as_bytes())
        .ok_or_else(|| Failure::failed("--human: the result cannot be summarised"))?;
    let letters = if output::has_unicode() {
        Letters::Unicode
    } else {
        Letters::Ascii
    };
    Ok(RunSummary::of(&document).text(letters))
}
