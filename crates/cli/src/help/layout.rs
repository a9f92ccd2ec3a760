//! Options under their headings, in 80 columns.

use std::fmt::Write as _;

use netperf_arguments::foreign;
use netperf_text::columns::{width, wrapped};

use crate::entry::{self, OptionEntry};

/// Columns of a line.
pub(super) const WIDTH: usize = 80;

/// Column at which explanations begin.
pub(super) const COLUMN: usize = 34;

/// Appends options under their headings.
pub(crate) fn groups(text: &mut String, entries: &[OptionEntry]) {
    for (group, entries) in entry::by_group(entries) {
        _ = writeln!(text, "\n{}:", group.title());
        for entry in entries {
            option(text, &entry);
        }
    }
}

pub(super) fn option(text: &mut String, entry: &OptionEntry) {
    let letter = match entry.letter {
        Some(letter) => format!("-{letter},"),
        None => String::new(),
    };
    let head = format!("  {letter:4}{}", entry.long_form());
    let aliases: Vec<String> = foreign::aliases_of(entry.long)
        .map(|alias| format!("--{alias}"))
        .collect();
    let mut remarks = Vec::new();
    if !aliases.is_empty() {
        remarks.push(format!("also {}", aliases.join(", ")));
    }
    if !entry.implied.is_empty() {
        remarks.push(format!("without a value: {}", entry.implied));
    }
    if remarks.is_empty() {
        explained(text, &head, entry.help);
    } else {
        let help = format!("{} ({})", entry.help, remarks.join("; "));
        explained(text, &head, &help);
    }
}

/// A head and its explanation beside it, or below it where the head is long.
pub(super) fn explained(text: &mut String, head: &str, help: &str) {
    if width(head) + 2 > COLUMN {
        _ = writeln!(text, "{head}");
        paragraph(text, COLUMN, help);
        return;
    }
    let lines = wrapped(help, WIDTH - COLUMN);
    let mut lines = lines.iter();
    _ = writeln!(
        text,
        "{head:COLUMN$}{}",
        lines.next().map_or("", |line| line)
    );
    for line in lines {
        _ = writeln!(text, "{:COLUMN$}{line}", "");
    }
}

pub(super) fn paragraph(text: &mut String, indent: usize, words: &str) {
    for line in wrapped(words, WIDTH - indent) {
        _ = writeln!(text, "{:indent$}{line}", "");
    }
}
