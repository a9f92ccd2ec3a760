//! Output of netperf: pure functions from an outcome to text.
//!
//! [`banner`] is printed before a test starts and [`final_report`] after it
//! has ended, [`interim_line`]s in between; [`control`] serves the tests that only
//! ask netserver something, and [`list`] the option that only asks what can run.
//! Nothing here writes anywhere, so that saved outcomes can be printed again.
//! [`selectors`] is the one table of everything that can be selected, and
//! [`selection`] reads what the user asked for.

mod banner;
pub mod control;
pub mod document;
mod effects;
mod flows;
pub mod fmt;
pub mod format;
mod incomplete;
mod interim;
pub mod latency;
pub mod list;
mod one_way;
mod paths;
mod quality;
mod rate;
pub mod selection;
pub mod selectors;
mod series;
mod until;
pub mod values;
pub mod view;

use netperf_model::{Format, Outcome, ReportPlan, TestPlan};

pub use banner::banner;
pub use incomplete::{INCOMPLETE, SoFar, incomplete};
pub use interim::{interim_line, interim_work};
pub use selection::{Needs, Selection, SelectionError};
pub use until::percent;

/// Everything that is printed after the run, in the format asked for.
///
/// # Errors
/// When a name in a selection file is too long.
pub fn final_report(outcome: &Outcome, report: &ReportPlan) -> Result<String, SelectionError> {
    let hidden = hides_cpu(report).then(|| Outcome {
        plan: without_cpu(&outcome.plan),
        ..outcome.clone()
    });
    let outcome = hidden.as_ref().unwrap_or(outcome);
    match view::View::new(outcome, report) {
        Some(view) => format::print(&view),
        None => Ok(String::new()),
    }
}

/// Returns true if the report does not show CPU utilisation that is measured.
const fn hides_cpu(report: &ReportPlan) -> bool {
    report.hides_cpu && report.format.has_lines()
}

/// The plan as a report without CPU utilisation sees it.
fn without_cpu(plan: &TestPlan) -> TestPlan {
    let mut plan = plan.clone();
    plan.local.cpu = None;
    plan.remote.cpu = None;
    plan
}

/// Measurements that a report needs. Call it before the run: it also finds a selection that
/// cannot be used.
///
/// # Errors
/// When a name in a selection file is too long.
pub fn needs(plan: &TestPlan, report: &ReportPlan) -> Result<Needs, SelectionError> {
    let selection = Selection::of(plan, report)?;
    let mut needs = selection
        .map(|selection| selection.needs)
        .unwrap_or_default();
    needs.latency |= plan.latency || format::shows_histogram(plan, report);
    // The document has everything; only times of operations have a price.
    let whole = report.format.is_json() || report.format == Format::Human;
    needs.hosts |= whole;
    needs.congestion |= whole;
    Ok(needs)
}
