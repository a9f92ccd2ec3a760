//! `-O`: columns, block by block (output.md 8.1).

use crate::selection::{Entry, Selection};
use crate::view::View;

/// Header lines of a block.
const HEADER_LINES: usize = 4;

/// One column: its header lines, its value, its width.
struct TextColumn {
    header: [String; HEADER_LINES],
    value: String,
    width: usize,
}

/// Blocks with an empty line in front of each but the first of the selection.
pub(super) fn print(view: &View<'_>, selection: &Selection) -> String {
    let mut out = String::new();
    for (number, block) in selection.blocks.iter().enumerate() {
        if block.is_empty() {
            continue;
        }
        if number > 0 {
            out.push('\n');
        }
        let columns: Vec<TextColumn> = block.iter().map(|entry| column(view, entry)).collect();
        if view.report.headers {
            for line in 0..HEADER_LINES {
                push_line(&mut out, &columns, |column| &column.header[line]);
            }
        }
        push_line(&mut out, &columns, |column| &column.value);
    }
    out
}

/// As wide as the longest header line, and one wider than the value.
fn column(view: &View<'_>, entry: &Entry) -> TextColumn {
    let header = entry.header();
    let value = entry.print(view);
    let needed = value.as_ref().map_or(0, |value| value.chars().count() + 1);
    let longest = header.iter().map(String::len).max().unwrap_or(0);
    TextColumn {
        header,
        value: value.unwrap_or_default(),
        width: needed.max(longest),
    }
}

fn push_line(out: &mut String, columns: &[TextColumn], text: impl Fn(&TextColumn) -> &str) {
    for column in columns {
        // One blank more than the column's width, also behind the last.
        out.push_str(&format!("{:<width$} ", text(column), width = column.width));
    }
    out.push('\n');
}
