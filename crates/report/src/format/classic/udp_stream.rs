//! UDP_STREAM.

use netperf_model::figures;

use super::layout::{
    Layout, Titles, cpu_columns, demand, letters, line, nothing, recv_room, send_room, unit,
};
use super::rows::ClassicRow;
use super::{rows, titles};

use crate::fmt::{Arg, printf};
use crate::view::View;

/// UDP_STREAM.
pub(super) const UDP_STREAM: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: |view| {
        pair(
            view,
            [rows::U1, rows::U2],
            [rows::U1C, rows::U2C],
            view.shows_cpu(),
        )
    },
    figure: |view| sent_figure(view, rows::V0U, view.shows_cpu()),
    extra: nothing,
    histogram: Some(titles::DATAGRAM_TIMES),
};

fn headings(view: &View<'_>) -> String {
    if view.shows_cpu() {
        let [local, remote] = letters(view);
        printf(titles::UDP_STREAM_CPU, &[unit(view), local, remote])
    } else {
        printf(titles::UDP_STREAM, &[unit(view)])
    }
}

/// netperf's sends, netserver's receives, and an empty line.
pub(super) fn pair(
    view: &View<'_>,
    plain: [ClassicRow; 2],
    with_cpu: [ClassicRow; 2],
    cpu: bool,
) -> String {
    let (local, remote) = (view.local(), view.remote());
    let [sent, _] = view.directional(local);
    let [_, received] = view.directional(remote);
    let counted = view.last.counted();
    let size = local.setup.and_then(|setup| setup.send_size).unwrap_or(0);
    let elapsed = Arg::Float(view.mean.elapsed);
    let mut first = vec![
        send_room(view, local),
        Arg::Int(i64::from(size)),
        elapsed,
        Arg::Uint(counted.send_calls),
        Arg::Uint(counted.failed_sends),
        Arg::Float(sent.unwrap_or_default()),
    ];
    let mut second = vec![
        recv_room(view, remote),
        elapsed,
        receives(view),
        Arg::Float(received.unwrap_or(figures::UNKNOWN)),
    ];
    if cpu {
        let [c1, c2, d1, d2] = cpu_columns(view);
        first.extend([c1, d1]);
        second.extend([c2, d2]);
    }
    let [sent_row, received_row] = if cpu { with_cpu } else { plain };
    line(sent_row, &first) + &line(received_row, &second) + "\n"
}

/// netserver's receives in the part of the run that counts, by their mean size in the whole
/// run; -1 if unknown.
fn receives<'a>(view: &View<'_>) -> Arg<'a> {
    let end = view.remote();
    let calls = end.count(|end| end.tally.recv_calls);
    let Some(window) = view.last.window().filter(|_| calls > 0) else {
        return Arg::Uint(calls);
    };
    let size = end.count(|end| end.tally.bytes_received) / calls;
    let calls = window.arrived.map(|arrived| arrived.bytes / size.max(1));
    calls.map_or(Arg::Int(-1), Arg::Uint)
}

/// Verbosity 0: the rate of sending, or the service demand if `cpu`. The letter is always
/// netperf's, also for netserver's demand, as in the original.
pub(super) fn sent_figure(view: &View<'_>, with_cpu: ClassicRow, cpu: bool) -> String {
    if cpu {
        let letter = Arg::Char(view.local().cpu_letter());
        return line(with_cpu, &[Arg::Float(demand(view).0), letter]);
    }
    let [sent, _] = view.directional(view.local());
    line(rows::V0, &[Arg::Float(sent.unwrap_or_default())])
}
