//! The histogram of operation times at verbosity 2 (output.md 13).

use super::classic::{line, rows};
use crate::fmt::Arg;
use crate::view::View;

/// Names of the rows. The blanks are part of them.
const LABELS: [&str; 8] = [
    "UNIT_USEC     ",
    "TEN_USEC      ",
    "HUNDRED_USEC  ",
    "UNIT_MSEC     ",
    "TEN_MSEC      ",
    "HUNDRED_MSEC  ",
    "UNIT_SEC      ",
    "TEN_SEC       ",
];

/// The heading, with the empty lines in front of it, and the rows; nothing when
/// the times of operations were not kept.
pub(super) fn print(view: &View<'_>, heading: &str) -> String {
    let Some(latency) = &view.outcome.latency else {
        return String::new();
    };
    let decades = latency.decades();
    let mut out = format!("{heading}\n");
    for (label, row) in LABELS.iter().zip(&decades.rows) {
        out.push_str(label);
        out.push_str(&line(rows::H, &row.map(Arg::Uint)));
    }
    out + &line(rows::H9, &[Arg::Uint(decades.beyond)])
        + &line(rows::HT, &[Arg::Uint(latency.count)])
}
