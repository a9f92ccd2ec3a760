//! `-k`: one `NAME=value` per line (output.md 8.3).

use crate::selection::{Entry, Selection};
use crate::view::View;

/// Selectors without a value and names that no selector has give no line.
pub(super) fn print(view: &View<'_>, selection: &Selection) -> String {
    let line = |entry: &Entry| Some(format!("{}={}\n", entry.name()?, entry.print(view)?));
    selection.blocks.iter().flatten().filter_map(line).collect()
}
