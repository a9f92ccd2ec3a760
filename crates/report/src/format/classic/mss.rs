//! TCP_MSS.

use super::layout::{Layout, Titles, line, nothing};
use super::{rows, titles};
use crate::fmt::Arg;
use crate::view::{View, or_minus_one};

/// TCP_MSS.
pub(super) const MSS: Layout = Layout {
    titles: Titles::Behind(|_| titles::MSS.to_owned()),
    rows_up_to: 2,
    rows: row,
    figure: row,
    extra: nothing,
    histogram: None,
};

fn row(view: &View<'_>) -> String {
    let size = or_minus_one(view.last.segment_size);
    line(rows::MSSB, &[Arg::Int(size), Arg::Text(view.brand())])
}
