//! TCP_STREAM, TCP_MAERTS and TCP_SENDFILE.

use netperf_model::figures::per_call;

use super::layout::{
    Layout, Titles, branded_figure, letters, line, recv_room, result_row, send_room, unit,
};
use super::rows::ClassicRow;
use super::{rows, titles};
use crate::fmt::{Arg, printf};
use crate::view::{View, or_minus_one};

/// TCP_STREAM.
pub(super) const STREAM: Layout = Layout {
    titles: Titles::Behind(|view| headings(view, titles::STREAM_CPU)),
    rows_up_to: 2,
    rows: |view| row(view, stream_columns(view), view.brand()),
    figure: branded_figure,
    extra: |view| calls(view, rows::S2) + &segment(view),
    histogram: Some(titles::SEND_TIMES),
};

/// TCP_SENDFILE: as TCP_STREAM, with the bytes in short form.
pub(super) const SENDFILE: Layout = Layout {
    extra: |view| calls(view, rows::S2G) + &segment(view),
    ..STREAM
};

/// TCP_MAERTS.
pub(super) const MAERTS: Layout = Layout {
    titles: Titles::Behind(|view| headings(view, titles::MAERTS_CPU)),
    rows: |view| row(view, maerts_columns(view), view.brand()),
    extra: |view| {
        let calls = line(rows::S2, &received(view));
        titles::MAERTS_CALLS.to_owned() + &calls + &segment(view)
    },
    histogram: Some(titles::RECV_TIMES),
    ..STREAM
};

/// SDP_MAERTS: its row without CPU ends in front of the brand, which stands on a separate
/// line without a newline, as in the original.
pub(super) const SDP_MAERTS: Layout = Layout {
    rows: |view| {
        if view.shows_cpu() {
            return (MAERTS.rows)(view);
        }
        let row = row(view, maerts_columns(view), "");
        format!("{row} {}", view.brand())
    },
    ..MAERTS
};

pub(super) fn headings(view: &View<'_>, with_cpu: &str) -> String {
    if view.shows_cpu() {
        let [local, remote] = letters(view);
        printf(with_cpu, &[unit(view), local, remote])
    } else {
        printf(titles::STREAM, &[unit(view)])
    }
}

/// netserver's space for receiving, netperf's for sending, and the size of its sends.
pub(super) fn stream_columns<'a>(view: &View<'_>) -> [Arg<'a>; 3] {
    let (local, remote) = (view.local(), view.remote());
    let size = local.setup.and_then(|setup| setup.send_size).unwrap_or(0);
    [
        recv_room(view, remote),
        send_room(view, local),
        Arg::Int(i64::from(size)),
    ]
}

/// With CPU the buffers are those of the directions not in use, as in the original: scripts
/// look there.
fn maerts_columns<'a>(view: &View<'_>) -> [Arg<'a>; 3] {
    let (local, remote) = (view.local(), view.remote());
    let size = or_minus_one(remote.setup.and_then(|setup| setup.send_size));
    let [first, second] = if view.shows_cpu() {
        [remote.recv_buffer(), local.send_buffer()]
    } else {
        [local.recv_buffer(), remote.send_buffer()]
    };
    [first, second, size].map(Arg::Int)
}

fn row(view: &View<'_>, columns: [Arg<'_>; 3], brand: &str) -> String {
    let rows = [rows::S1, rows::S1C];
    result_row(view, rows, view.shows_cpu(), &columns, brand)
}

/// Alignments, bytes and calls of the data that netperf sent.
pub(super) fn calls(view: &View<'_>, row: ClassicRow) -> String {
    let (local, remote) = (view.local(), view.remote());
    let sent = local.count(|end| end.tally.bytes_sent);
    let sends = local.count(|end| end.tally.send_calls);
    let recvs = remote.count(|end| end.tally.recv_calls);
    let args = [
        Arg::Int(local.setting(|plan| plan.send.align)),
        Arg::Int(remote.setting(|plan| plan.recv.align)),
        Arg::Int(local.setting(|plan| plan.send.offset)),
        Arg::Int(remote.setting(|plan| plan.recv.offset)),
        Arg::Uint(sent),
        Arg::Float(per_call(sent, sends)),
        Arg::Uint(sends),
        Arg::Float(per_call(sent, recvs)),
        Arg::Uint(recvs),
    ];
    titles::STREAM_CALLS.to_owned() + &line(row, &args)
}

/// The same of the data that netserver sent.
fn received<'a>(view: &View<'_>) -> [Arg<'a>; 9] {
    let (local, remote) = (view.local(), view.remote());
    let received = local.count(|end| end.tally.bytes_received);
    let recvs = local.count(|end| end.tally.recv_calls);
    let sent = remote.count(|end| end.tally.bytes_sent);
    let sends = remote.count(|end| end.tally.send_calls);
    [
        Arg::Int(local.setting(|plan| plan.recv.align)),
        Arg::Int(remote.setting(|plan| plan.recv.align)),
        Arg::Int(local.setting(|plan| plan.recv.offset)),
        Arg::Int(remote.setting(|plan| plan.recv.offset)),
        Arg::Uint(received),
        Arg::Float(per_call(received, recvs)),
        Arg::Uint(recvs),
        Arg::Float(per_call(sent, sends)),
        Arg::Uint(sends),
    ]
}

pub(super) fn segment(view: &View<'_>) -> String {
    let size = or_minus_one(view.last.segment_size);
    titles::SEGMENT.to_owned() + &line(rows::MSS, &[Arg::Int(size)])
}
