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
mod table_row;

use std::sync::LazyLock;

use self::table_row::selectors;
pub use self::table_row::{Need, Selector};
pub(crate) use self::table_row::{SelectorRow, SelectorValue, row};

use crate::flows::FLOWS;
use crate::latency::LatencyColumn;
use crate::one_way::ONE_WAY;
use crate::paths::PATHS;
use crate::quality::QUALITY;
use crate::rate::RATE;
use crate::series::OVER_TIME;
use crate::until::UNTIL;
use crate::values::Value;

/// The filler column.
pub const OUTPUT_NONE: &str = "OUTPUT_NONE";
/// The name that selects nothing.
pub const OUTPUT_END: &str = "OUTPUT_END";

/// The blocks of `all`.
pub static BLOCKS: LazyLock<[Vec<Selector>; 4]> =
    LazyLock::new(|| [result::ROWS, cpu::ROWS, ends::ROWS, hosts::ROWS].map(selectors));

/// Names in place of values: the filler column, and one that selects nothing.
#[rustfmt::skip]
static FIRST_AND_LAST: LazyLock<Vec<Selector>> = LazyLock::new(|| selectors(&[&[
    row(OUTPUT_NONE, [" ", "", "", ""], "", "%s", Need::Nothing,
        SelectorValue::Run(|_| Value::Text(" ".to_owned())),
        "filler column holding one blank"),
    row(OUTPUT_END, ["This", "Is", "The", "End"], "", "%s", Need::Nothing,
        SelectorValue::Run(|_| Value::Text(String::new())),
        "selects nothing; listed but never printed"),
]]));

/// Selectors that the original does not have: neither `all` nor `?` shows them.
pub static FURTHER: LazyLock<[Vec<Selector>; 7]> =
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
