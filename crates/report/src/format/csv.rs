//! `-o`: comma separated values (output.md 8.2).

use crate::selection::{Entry, Selection};
use crate::view::View;

/// A line of headers, a line of values; all blocks run together.
///
/// The original stops at an empty first block, whatever follows it.
pub(super) fn print(view: &View<'_>, selection: &Selection) -> String {
    if selection.blocks.first().is_none_or(Vec::is_empty) {
        return String::new();
    }
    let entries = || selection.blocks.iter().flatten();
    let mut out = String::new();
    if view.report.headers {
        let headers = entries().map(header).collect();
        out.push_str(&closed(headers));
    }
    let values = entries().map(|entry| value(view, entry)).collect();
    out.push_str(&closed(values));
    out
}

/// The header words and a comma. A name that no selector has has no title, but a column.
fn header(entry: &Entry) -> String {
    match entry {
        Entry::Known(_) | Entry::Latency(_) => entry.heading() + ",",
        Entry::Unknown => ",".to_owned(),
    }
}

/// The value and a comma. Behind a value that is not there the original also
/// puts a blank.
fn value(view: &View<'_>, entry: &Entry) -> String {
    let printed = entry.print(view).map(|value| one_field(entry, value));
    printed.map_or_else(|| ", ".to_owned(), |value| value + ",")
}

/// A text as one field. Readers of this format split at commas and know no quotes, so a
/// comma in a name, such as `Standard PC (Q35 + ICH9, 2009)`, is a blank here. The texts
/// that stand in quotes are the user's own and stay as they were typed.
fn one_field(entry: &Entry, value: String) -> String {
    match entry {
        Entry::Known(row) if row.format == "%s" => value.replace(", ", " ").replace(',', " "),
        Entry::Known(_) | Entry::Latency(_) | Entry::Unknown => value,
    }
}

/// The line without its last character, the comma that separates from nothing.
fn closed(mut line: String) -> String {
    line.pop();
    line.push('\n');
    line
}
