//! The output formats, one file each.

pub mod classic;

mod columns;
mod csv;
mod keyval;

use netperf_model::Format;

use crate::selection::{Selection, SelectionError};
use crate::view::View;

/// Prints an outcome in the format asked for.
pub(crate) fn print(view: &View<'_>) -> Result<String, SelectionError> {
    let Some(selection) = Selection::of(view.plan(), view.report)? else {
        return Ok(classic::print(view));
    };
    let printer = match &view.report.format {
        // OMNI has no classic layout; its selection prints in columns.
        Format::Classic | Format::Columns(_) => columns::print,
        Format::Csv(_) => csv::print,
        Format::Keyval(_) => keyval::print,
    };
    Ok(printer(view, &selection))
}
