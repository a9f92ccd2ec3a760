//! TCP_CRR and TCP_CC.

use super::layout::{Layout, Titles, line, merit};
use super::rr::both_rows;
use super::{rows, titles};
use crate::fmt::{Arg, printf};
use crate::view::View;

/// TCP_CRR.
pub(super) const CRR: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: |view| both_rows(view, rows::C1C, view.shows_cpu(), ""),
    figure: |view| merit(view, [rows::V0, rows::V0C], view.shows_cpu()),
    extra: |view| detail(view, view.remote().setting(|plan| plan.recv.align)),
    histogram: Some(titles::TRANSACTION_TIMES),
};

/// TCP_CC. Where TCP_CRR shows the remote alignment it shows an offset, as in the original.
pub(super) const CC: Layout = Layout {
    extra: |view| detail(view, view.remote().setting(|plan| plan.recv.offset)),
    ..CRR
};

/// The titles promise transactions per second whatever `-f` says.
fn headings(view: &View<'_>) -> String {
    if view.shows_cpu() {
        printf(titles::CONNECT_CPU, &[])
    } else {
        printf(titles::RR, &[])
    }
}

fn detail(view: &View<'_>, second: i64) -> String {
    titles::CONNECT_DETAIL.to_owned() + &buffers(view, second)
}

/// Alignments and offsets, `second` in the place of netserver's alignment.
pub(super) fn buffers(view: &View<'_>, second: i64) -> String {
    let (local, remote) = (view.local(), view.remote());
    let args = [
        Arg::Int(local.setting(|plan| plan.send.align)),
        Arg::Int(second),
        Arg::Int(local.setting(|plan| plan.send.offset)),
        Arg::Int(remote.setting(|plan| plan.recv.offset)),
    ];
    line(rows::C3, &args)
}
