//! TCP_RR and UDP_RR.

use netperf_model::Unit;
use netperf_model::figures::{self, count};

use super::{
    ClassicRow, Layout, Titles, branded_figure, cpu_columns, letters, line, nothing, recv_room,
    rows, sctp, send_room, titles, unit,
};
use crate::fmt::{Arg, printf};
use crate::view::View;

/// TCP_RR.
pub(super) static TCP: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: |view| both_rows(view, rows::R1C),
    figure: branded_figure,
    extra: detail,
    histogram: Some(titles::TRANSACTION_TIMES),
};

/// UDP_RR.
pub(super) static UDP: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: |view| both_rows(view, rows::R1CU),
    figure: branded_figure,
    extra: nothing,
    histogram: Some(titles::DATAGRAM_TRANSACTION_TIMES),
};

/// SDP_RR: always in transactions, its extra part that of the SCTP tests.
pub(super) static SDP: Layout = Layout {
    titles: Titles::Behind(transactions_only),
    rows_up_to: 2,
    rows: |view| both_rows(view, rows::R1C),
    figure: branded_figure,
    extra: sctp::detail,
    histogram: Some(titles::TRANSACTION_TIMES),
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

fn both_rows(view: &View<'_>, with_cpu: ClassicRow) -> String {
    let [send, recv, request, response] = sizes(view);
    let brand = Arg::Text(view.brand());
    let elapsed = Arg::Float(view.mean.elapsed);
    let rate = Arg::Float(view.mean.throughput);
    let first = if view.shows_cpu() {
        let [c1, c2, d1, d2] = cpu_columns(view);
        let args = [
            send, recv, request, response, elapsed, rate, c1, c2, d1, d2, brand,
        ];
        line(with_cpu, &args)
    } else {
        let args = [send, recv, request, response, elapsed, rate, brand];
        line(rows::R1, &args)
    };
    first + &peer_row(view)
}

/// netperf's buffers, then the request and response sizes.
pub(super) fn sizes<'a>(view: &View<'_>) -> [Arg<'a>; 4] {
    let size = |size: Option<u32>| Arg::Int(i64::from(size.unwrap_or(1)));
    let local = view.local();
    [
        send_room(view, local),
        recv_room(view, local),
        size(view.plan().request),
        size(view.plan().response),
    ]
}

/// netserver's buffers.
pub(super) fn peer_row(view: &View<'_>) -> String {
    let remote = view.remote();
    line(
        rows::R2,
        &[send_room(view, remote), recv_room(view, remote)],
    )
}

/// The remote column under "Alignment" shows an offset: a slip that stays.
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
    if let Unit::Unknown(letter) = view.unit {
        // Once for each of the two directional rates.
        let warning = printf(titles::UNKNOWN_UNIT, &[Arg::Char(letter)]);
        out.push_str(&warning.repeat(2));
    }
    out.push_str(&printf(titles::RR_DETAIL, &[Arg::Text(unit.label())]));
    out.push_str(&line(rows::R3, &args));
    out
}
