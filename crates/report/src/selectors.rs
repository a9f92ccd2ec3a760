//! The selector table: everything that `-k`, `-o` and `-O` can print.
//!
//! One row per selector, a table for each block of `all`, in the order in which `?`
//! lists them, and further tables of what the original does not have. Parsing of
//! selections, `all`, the CSV header and the columns all come from here. A new
//! selector is a new row; a new value is a function in [`crate::values`].

mod cpu;
mod ends;
mod hosts;
mod result;

use std::sync::LazyLock;

use crate::control::Whose;
use crate::flows::FLOWS;
use crate::latency::LatencyColumn;
use crate::one_way::ONE_WAY;
use crate::paths::PATHS;
use crate::quality::QUALITY;
use crate::rate::RATE;
use crate::series::OVER_TIME;
use crate::until::UNTIL;
use crate::values::Value;
use crate::view::{EndView, View};

/// One selector.
#[derive(Debug)]
pub struct Selector {
    /// Its name, upper case.
    pub name: String,
    /// Its header lines, empty where it has fewer than four.
    pub header: [String; 4],
    /// The unit of its value.
    pub unit: &'static str,
    /// The printf format of its value.
    pub format: &'static str,
    /// Measurements that it needs beyond those of every run.
    pub need: Need,
    /// Its meaning, in one line.
    pub meaning: String,
    value: SelectorValue,
    /// The end that the value is of, if it is of one.
    whose: Whose,
}

/// The value of a selector.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SelectorValue {
    /// Of the run.
    Run(fn(&View<'_>) -> Value),
    /// Of one end.
    End(fn(&View<'_>, EndView<'_>) -> Value),
}

/// A row of the table: one selector, or one for each end. In rows of both ends `{END}` stands
/// for LOCAL or REMOTE, `{E}` for L or R, `{End}` for Local or Remote, and `{end}` for netperf
/// or netserver. A header line `a|b` is `a` at netperf's end and `b` at netserver's.
#[derive(Debug)]
pub(crate) struct SelectorRow {
    name: &'static str,
    header: [&'static str; 4],
    unit: &'static str,
    format: &'static str,
    need: Need,
    value: SelectorValue,
    meaning: &'static str,
}

impl SelectorRow {
    fn selector(&self, whose: Whose) -> Selector {
        let (upper, letter, word, program) = match whose {
            Whose::Local => ("LOCAL", "L", "Local", "netperf"),
            Whose::Remote => ("REMOTE", "R", "Remote", "netserver"),
        };
        let line = |line: &'static str| {
            let (local, remote) = line.split_once('|').unwrap_or((line, line));
            let own = if whose == Whose::Local { local } else { remote };
            own.replace("{End}", word)
        };
        Selector {
            name: self.name.replace("{END}", upper).replace("{E}", letter),
            header: self.header.map(line),
            unit: self.unit,
            format: self.format,
            need: self.need,
            meaning: self.meaning.replace("{end}", program),
            value: self.value,
            whose,
        }
    }
}

/// The selectors of a table. A group of rows of both ends has all selectors of netperf's end
/// in front of those of netserver's end.
fn selectors(table: &[&[SelectorRow]]) -> Vec<Selector> {
    let mut selectors = Vec::new();
    for group in table {
        selectors.extend(group.iter().map(|row| row.selector(Whose::Local)));
        let of_both = |row: &&SelectorRow| matches!(row.value, SelectorValue::End(_));
        let of_both = group.iter().filter(of_both);
        selectors.extend(of_both.map(|row| row.selector(Whose::Remote)));
    }
    selectors
}

/// Needs of a selector beyond the measurements of every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Times of single operations.
    Latency,
    /// The congestion control in force.
    Congestion,
    /// Facts about the hosts.
    Hosts,
}

/// The filler column.
pub const OUTPUT_NONE: &str = "OUTPUT_NONE";
/// The name that ends a block.
pub const OUTPUT_END: &str = "OUTPUT_END";

impl Selector {
    /// The header lines that are not empty, joined by single blanks.
    #[must_use]
    pub fn heading(&self) -> String {
        let lines = self.header.iter().filter(|line| !line.is_empty());
        lines.cloned().collect::<Vec<_>>().join(" ")
    }

    /// The value of this selector as printed; `None` when it is to be left out.
    #[must_use]
    pub fn print(&self, view: &View<'_>) -> Option<String> {
        let value = match self.value {
            SelectorValue::Run(value) => value(view),
            SelectorValue::End(value) => value(view, view.end(self.whose)),
        };
        value.print(self.format)
    }
}

/// The blocks of `all`.
pub static BLOCKS: LazyLock<[Vec<Selector>; 4]> =
    LazyLock::new(|| [result::ROWS, cpu::ROWS, ends::ROWS, hosts::ROWS].map(selectors));

/// Names in place of values: the filler column, and the end of a block.
#[rustfmt::skip]
static FIRST_AND_LAST: LazyLock<Vec<Selector>> = LazyLock::new(|| selectors(&[&[
    row(OUTPUT_NONE, [" ", "", "", ""], "", "%s", Need::Nothing,
        SelectorValue::Run(|_| Value::Text(" ".to_owned())),
        "filler column holding one blank"),
    row(OUTPUT_END, ["This", "Is", "The", "End"], "", "%s", Need::Nothing,
        SelectorValue::Run(|_| Value::Text(String::new())),
        "ends the block it appears in; listed but never printed"),
]]));

/// Selectors that the original does not have: neither `all` nor `?` shows them.
pub(crate) static FURTHER: LazyLock<[Vec<Selector>; 7]> =
    LazyLock::new(|| [PATHS, OVER_TIME, ONE_WAY, RATE, QUALITY, UNTIL, FLOWS].map(selectors));

/// Every selector of the original, in the order in which `?` lists them.
pub fn original() -> impl Iterator<Item = &'static Selector> {
    let blocks = BLOCKS.iter().flatten();
    let (filler, end) = FIRST_AND_LAST.split_at(1);
    filler.iter().chain(blocks).chain(end)
}

/// Every selector, those beyond the original's last.
pub(crate) fn all() -> impl Iterator<Item = &'static Selector> {
    original().chain(FURTHER.iter().flatten())
}

/// True if `name` is a selector, in any case: one of the table, or one of the family of
/// latencies.
#[must_use]
pub fn is_selector(name: &str) -> bool {
    by_name(name).is_some() || LatencyColumn::named(name).is_some()
}

/// The names of the table, in order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    original().map(|row| row.name.as_str()).collect()
}

/// The selector called `name`, in any case, of the original's table or beyond it.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Selector> {
    all().find(|row| row.name.eq_ignore_ascii_case(name))
}

/// A row, column by column.
pub(crate) const fn row(
    name: &'static str,
    header: [&'static str; 4],
    unit: &'static str,
    format: &'static str,
    need: Need,
    value: SelectorValue,
    meaning: &'static str,
) -> SelectorRow {
    SelectorRow {
        name,
        header,
        unit,
        format,
        need,
        value,
        meaning,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmt::{Piece, pieces};

    #[test]
    fn names_are_upper_case_and_each_is_found_in_any_case() {
        for row in original() {
            assert_eq!(row.name, row.name.to_uppercase());
            let found = by_name(&row.name.to_lowercase()).expect("the selector");
            assert!(std::ptr::eq(found, row), "{} twice", row.name);
        }
    }

    #[test]
    fn the_filler_comes_first_and_the_end_last() {
        assert_eq!(original().count(), 175);
        assert_eq!(
            original().next().map(|row| row.name.as_str()),
            Some(OUTPUT_NONE)
        );
        assert_eq!(
            original().last().map(|row| row.name.as_str()),
            Some(OUTPUT_END)
        );
    }

    #[test]
    fn every_format_has_exactly_one_conversion() {
        for row in original() {
            let fields = pieces(row.format);
            let fields = fields
                .iter()
                .filter(|piece| matches!(piece, Piece::Field(_)));
            assert_eq!(fields.count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn header_lines_have_no_gaps() {
        for row in original() {
            let used = row.header.iter().position(|line| line.is_empty());
            let rest = &row.header[used.unwrap_or(4)..];
            assert!(rest.iter().all(|line| line.is_empty()), "{}", row.name);
            assert!(!row.meaning.is_empty(), "{}", row.name);
        }
    }
}
