//! TCP_RR and UDP_RR.

use netperf_model::ThroughputUnit;
use netperf_model::figures::{self, count};

use super::layout::{
    Layout, Titles, branded_figure, letters, line, nothing, recv_room, result_row, send_room, unit,
};
use super::rows::ClassicRow;
use super::{rows, sctp, titles};
use crate::fmt::{Arg, printf};
use crate::view::View;

/// TCP_RR.
pub(super) const TCP: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: |view| both_rows(view, rows::R1C, view.shows_cpu(), view.brand()),
    figure: branded_figure,
    extra: detail,
    histogram: Some(titles::TRANSACTION_TIMES),
};

/// UDP_RR.
pub(super) const UDP: Layout = Layout {
    rows: |view| both_rows(view, rows::R1CU, view.shows_cpu(), view.brand()),
    extra: nothing,
    histogram: Some(titles::DATAGRAM_TRANSACTION_TIMES),
    ..TCP
};

/// SDP_RR: always in transactions, its extra part that of the SCTP tests.
pub(super) const SDP: Layout = Layout {
    titles: Titles::Behind(transactions_only),
    extra: sctp::detail,
    ..TCP
};

/// The titles promise transactions per second whatever `-f` says.
pub(super) fn transactions_only(view: &View<'_>) -> String {
    if view.shows_cpu() {
        printf(titles::RR_CPU, &letters(view))
    } else {
        printf(titles::RR, &[])
    }
}

fn headings(view: &View<'_>) -> String {
    let [local, remote] = letters(view);
    match (view.shows_cpu(), view.in_transactions()) {
        (false, true) => printf(titles::RR, &[]),
        (false, false) => printf(titles::RR_UNIT, &[unit(view)]),
        (true, true) => printf(titles::RR_CPU, &[local, remote]),
        (true, false) => printf(titles::RR_UNIT_CPU, &[unit(view), local, remote]),
    }
}

/// netperf's row and netserver's.
pub(super) fn both_rows(view: &View<'_>, with_cpu: ClassicRow, cpu: bool, brand: &str) -> String {
    let (local, remote) = (view.local(), view.remote());
    let size = |size: Option<u32>| Arg::Int(i64::from(size.unwrap_or(1)));
    let sizes = [
        send_room(view, local),
        recv_room(view, local),
        size(view.plan().request),
        size(view.plan().response),
    ];
    let peer = [send_room(view, remote), recv_room(view, remote)];
    result_row(view, [rows::R1, with_cpu], cpu, &sizes, brand) + &line(rows::R2, &peer)
}

/// The remote column under "Alignment" shows an offset, as in the original.
fn detail(view: &View<'_>) -> String {
    let (local, remote) = (view.local(), view.remote());
    let plan = view.plan();
    let unit = figures::data_unit(view.unit);
    let moved = |size: Option<u32>| {
        let bytes = count(local.count(|end| end.tally.transactions)) * f64::from(size.unwrap_or(0));
        unit.rate(bytes, view.last.elapsed)
    };
    let args = [
        Arg::Int(local.setting(|plan| plan.send.align)),
        Arg::Int(remote.setting(|plan| plan.recv.offset)),
        Arg::Int(local.setting(|plan| plan.send.offset)),
        Arg::Int(remote.setting(|plan| plan.recv.offset)),
        Arg::Float(figures::round_trip(plan, view.last).unwrap_or(-1.0)),
        Arg::Float(figures::transaction_rate(view.last)),
        Arg::Float(moved(plan.request)),
        Arg::Float(moved(plan.response)),
    ];
    let mut out = String::new();
    if let ThroughputUnit::Unknown(letter) = view.unit {
        // Once for each of the two directional rates.
        let warning = printf(titles::UNKNOWN_UNIT, &[Arg::Char(letter)]);
        out.push_str(&warning.repeat(2));
    }
    out.push_str(&printf(titles::RR_DETAIL, &[Arg::Text(unit.label())]));
    out.push_str(&line(rows::R3, &args));
    out
}
