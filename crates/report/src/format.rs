//! The output formats, one file each.

pub mod classic;
pub mod json;

mod columns;
mod csv;
mod flows;
mod histogram;
mod keyval;

use netperf_model::{Flow, Format, ReportPlan, SelectionSource, TestId, TestPlan};

use crate::selection::{Selection, SelectionError};
use crate::view::View;

/// The verbosity from which on histograms are shown.
const HISTOGRAM: i32 = 2;

/// Prints an outcome in the format asked for.
pub(crate) fn print(view: &View<'_>) -> Result<String, SelectionError> {
    match view.report.format {
        // The summary for a person is made of the document.
        Format::Json | Format::Human => return Ok(json::document(view)),
        Format::JsonStream => return Ok(json::result_event(view)),
        // The client has printed it.
        Format::Iperf(_) => return Ok(String::new()),
        Format::Classic | Format::Columns(_) | Format::Csv(_) | Format::Keyval(_) => {}
    }
    let Some(selection) = Selection::of(view.plan(), view.report)? else {
        return Ok(classic::print(view) + &flows_of(view) + &crate::effects::print(view));
    };
    let printer = match &view.report.format {
        // OMNI has no classic layout; its selection prints in columns.
        Format::Classic
        | Format::Columns(_)
        | Format::Json
        | Format::JsonStream
        | Format::Human
        | Format::Iperf(_) => columns::print,
        Format::Csv(_) => csv::print,
        Format::Keyval(_) => keyval::print,
    };
    let mut out = printer(view, &selection);
    if view.report.verbosity >= HISTOGRAM {
        out.push_str(&crate::one_way::print(view));
        let heading = format!("\nHistogram of {} times", operation(view.plan().flow));
        out.push_str(&histogram::print(view, &heading));
    }
    out.push_str(&flows_of(view));
    // A selection has what was selected, and nothing else.
    if view.report.format == Format::Columns(SelectionSource::Default) {
        out.push_str(&crate::effects::print(view));
    }
    Ok(out)
}

/// Results of each of many flows, if wanted.
fn flows_of(view: &View<'_>) -> String {
    if view.report.verbosity >= HISTOGRAM {
        flows::print(view)
    } else {
        String::new()
    }
}

/// True if a report of this plan shows a histogram.
pub(crate) fn shows_histogram(plan: &TestPlan, report: &ReportPlan) -> bool {
    let selected = report.format != Format::Classic || plan.test == TestId::Omni;
    report.format.has_lines()
        && report.verbosity >= HISTOGRAM
        && (selected || classic::has_histogram(plan.test))
}

/// Name of an operation in the heading of a histogram.
pub(crate) const fn operation(flow: Flow) -> &'static str {
    match (flow.connects, flow.sends, flow.receives) {
        // netperf keeps the times of its sends.
        _ if flow.duplex.is_some() => "send",
        (true, false, false) => "connect/close",
        (true, _, _) => "connect/request/response/close",
        (false, true, true) => "request/response",
        (false, false, true) => "recv",
        (false, _, false) => "send",
    }
}
