//! `--history`: the result of a run, kept once it is printed.

use netperf_cli::RunCommand;
use netperf_history::{HistoryEntry, HistoryError};
use netperf_model::{Format, Outcome, ReportPlan};
use netperf_program::output::{Failure, err};

use super::store::{now, open, store_failure};

/// The place that was named, if one was.
fn named(place: &str) -> Option<&str> {
    (!place.is_empty()).then_some(place)
}

/// Checks before the run that the result can be stored.
pub(super) fn check(run: &RunCommand) -> Result<(), Failure> {
    let Some(place) = &run.history else {
        return Ok(());
    };
    if !run.plan.test.moves_data() {
        return Err(Failure::invalid(
            "--history: this test has no result to keep",
        ));
    }
    open(named(place), true).map_err(store_failure)?;
    Ok(())
}

/// Keeps it, and says under which number.
pub(super) fn keep(run: &RunCommand, outcome: &Outcome) -> Result<(), Failure> {
    let Some(place) = &run.history else {
        return Ok(());
    };
    let report = ReportPlan {
        format: Format::Json,
        ..run.report.clone()
    };
    let document = netperf_report::final_report(outcome, &report)
        .map_err(|error| HistoryError::Document(error.to_string()))
        .map_err(store_failure)?;
    let entry =
        HistoryEntry::read("the result", document.into_bytes(), None).map_err(store_failure)?;
    for added in open(named(place), true)
        .map_err(store_failure)?
        .add(&[entry], now())
        .map_err(store_failure)?
    {
        err(&format!("netperf: kept as result {}\n", added.id));
    }
    Ok(())
}
