//! TCP_CRR and TCP_CC.

use super::rr::{peer_row, sizes};
use super::{Layout, Titles, cpu_columns, demand, line, rows, titles};
use crate::fmt::{Arg, printf};
use crate::view::View;

/// TCP_CRR.
pub(super) static CRR: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: both_rows,
    figure,
    extra: |view| detail(view, view.remote().setting(|plan| plan.recv.align)),
    histogram: Some(titles::TRANSACTION_TIMES),
};

/// TCP_CC. Where TCP_CRR shows the remote alignment it shows an offset: a slip
/// that stays.
pub(super) static CC: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: both_rows,
    figure,
    extra: |view| detail(view, view.remote().setting(|plan| plan.recv.offset)),
    histogram: Some(titles::TRANSACTION_TIMES),
};

/// The titles promise transactions per second whatever `-f` says.
fn headings(view: &View<'_>) -> String {
    if view.shows_cpu() {
        printf(titles::CONNECT_CPU, &[])
    } else {
        printf(titles::RR, &[])
    }
}

fn both_rows(view: &View<'_>) -> String {
    pair(view, view.shows_cpu())
}

/// netperf's row and netserver's, without a brand.
pub(super) fn pair(view: &View<'_>, cpu: bool) -> String {
    let [send, recv, request, response] = sizes(view);
    let elapsed = Arg::Float(view.mean.elapsed);
    let rate = Arg::Float(view.mean.throughput);
    let first = if cpu {
        let [c1, c2, d1, d2] = cpu_columns(view);
        let args = [send, recv, request, response, elapsed, rate, c1, c2, d1, d2];
        line(rows::C1C, &args)
    } else {
        let args = [send, recv, request, response, elapsed, rate, Arg::Text("")];
        line(rows::R1, &args)
    };
    first + &peer_row(view)
}

fn figure(view: &View<'_>) -> String {
    merit(view, view.shows_cpu())
}

/// The figure of merit alone: neither brand nor letter.
pub(super) fn merit(view: &View<'_>, cpu: bool) -> String {
    if cpu {
        line(rows::V0C, &[Arg::Float(demand(view).0)])
    } else {
        line(rows::V0, &[Arg::Float(view.mean.throughput)])
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
