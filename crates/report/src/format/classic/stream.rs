//! TCP_STREAM, TCP_MAERTS and TCP_SENDFILE.

use netperf_model::figures::{count, per_call};

use super::{
    Layout, Titles, branded_figure, cpu_columns, letters, line, recv_room, rows, send_room, titles,
    unit,
};
use crate::fmt::{Arg, printf};
use crate::view::{View, or_minus_one};

/// TCP_STREAM.
pub(super) static STREAM: Layout = Layout {
    titles: Titles::Behind(|view| headings(view, titles::STREAM_CPU)),
    rows_up_to: 2,
    rows: stream_rows,
    figure: branded_figure,
    extra: |view| {
        let calls = line(rows::S2, &sent(view, Bytes::Whole));
        titles::STREAM_CALLS.to_owned() + &calls + &segment(view)
    },
    histogram: Some(titles::SEND_TIMES),
};

/// TCP_SENDFILE: as TCP_STREAM, with the bytes in short form.
pub(super) static SENDFILE: Layout = Layout {
    titles: Titles::Behind(|view| headings(view, titles::STREAM_CPU)),
    rows_up_to: 2,
    rows: stream_rows,
    figure: branded_figure,
    extra: |view| {
        let calls = line(rows::S2G, &sent(view, Bytes::Short));
        titles::STREAM_CALLS.to_owned() + &calls + &segment(view)
    },
    histogram: Some(titles::SEND_TIMES),
};

/// TCP_MAERTS.
pub(super) static MAERTS: Layout = Layout {
    titles: Titles::Behind(|view| headings(view, titles::MAERTS_CPU)),
    rows_up_to: 2,
    rows: maerts_rows,
    figure: branded_figure,
    extra: |view| {
        let calls = line(rows::S2, &received(view));
        titles::MAERTS_CALLS.to_owned() + &calls + &segment(view)
    },
    histogram: Some(titles::RECV_TIMES),
};

/// SDP_MAERTS: its row without CPU ends in front of the brand, which stands on a line
/// of its own without a newline; a slip that stays.
pub(super) static SDP_MAERTS: Layout = Layout {
    titles: Titles::Behind(|view| headings(view, titles::MAERTS_CPU)),
    rows_up_to: 2,
    rows: |view| {
        if view.shows_cpu() {
            return maerts_rows(view);
        }
        let (buffers, size) = maerts_columns(view);
        let row = row(view, buffers, size, Arg::Text(""));
        format!("{row} {}", view.brand())
    },
    figure: branded_figure,
    extra: |view| {
        let calls = line(rows::S2, &received(view));
        titles::MAERTS_CALLS.to_owned() + &calls + &segment(view)
    },
    histogram: Some(titles::RECV_TIMES),
};

pub(super) fn headings(view: &View<'_>, with_cpu: &str) -> String {
    if view.shows_cpu() {
        let [local, remote] = letters(view);
        printf(with_cpu, &[unit(view), local, remote])
    } else {
        printf(titles::STREAM, &[unit(view)])
    }
}

fn stream_rows(view: &View<'_>) -> String {
    let (buffers, size) = stream_columns(view);
    row(view, buffers, size, Arg::Text(view.brand()))
}

/// netserver's space for receiving, netperf's for sending, and the size of its sends.
pub(super) fn stream_columns<'a>(view: &View<'_>) -> ([Arg<'a>; 2], i64) {
    let (local, remote) = (view.local(), view.remote());
    let size = local.setup.and_then(|setup| setup.send_size).unwrap_or(0);
    let rooms = [recv_room(view, remote), send_room(view, local)];
    (rooms, i64::from(size))
}

fn maerts_rows(view: &View<'_>) -> String {
    let (buffers, size) = maerts_columns(view);
    row(view, buffers, size, Arg::Text(view.brand()))
}

/// With CPU the original shows the buffers of the directions not in use; a
/// slip that stays, because it is where scripts look.
fn maerts_columns<'a>(view: &View<'_>) -> ([Arg<'a>; 2], i64) {
    let (local, remote) = (view.local(), view.remote());
    let size = or_minus_one(remote.setup.and_then(|setup| setup.send_size));
    let buffers = if view.shows_cpu() {
        [
            Arg::Int(remote.recv_buffer()),
            Arg::Int(local.send_buffer()),
        ]
    } else {
        [
            Arg::Int(local.recv_buffer()),
            Arg::Int(remote.send_buffer()),
        ]
    };
    (buffers, size)
}

fn row(view: &View<'_>, [recv, send]: [Arg<'_>; 2], size: i64, brand: Arg<'_>) -> String {
    let elapsed = Arg::Float(view.mean.elapsed);
    let rate = Arg::Float(view.mean.throughput);
    if !view.shows_cpu() {
        return line(
            rows::S1,
            &[recv, send, Arg::Int(size), elapsed, rate, brand],
        );
    }
    let [c1, c2, d1, d2] = cpu_columns(view);
    let args = [
        recv,
        send,
        Arg::Int(size),
        elapsed,
        rate,
        c1,
        c2,
        d1,
        d2,
        brand,
    ];
    line(rows::S1C, &args)
}

/// Format of the number of bytes.
#[derive(Clone, Copy)]
pub(super) enum Bytes {
    Whole,
    Short,
}

pub(super) fn sent<'a>(view: &View<'_>, bytes: Bytes) -> [Arg<'a>; 9] {
    let (local, remote) = (view.local(), view.remote());
    let sent = local.count(|end| end.tally.bytes_sent);
    let sends = local.count(|end| end.tally.send_calls);
    let recvs = remote.count(|end| end.tally.recv_calls);
    [
        Arg::Int(local.setting(|plan| plan.send.align)),
        Arg::Int(remote.setting(|plan| plan.recv.align)),
        Arg::Int(local.setting(|plan| plan.send.offset)),
        Arg::Int(remote.setting(|plan| plan.recv.offset)),
        match bytes {
            Bytes::Whole => Arg::Uint(sent),
            Bytes::Short => Arg::Float(count(sent)),
        },
        Arg::Float(per_call(sent, sends)),
        Arg::Uint(sends),
        Arg::Float(per_call(sent, recvs)),
        Arg::Uint(recvs),
    ]
}

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
