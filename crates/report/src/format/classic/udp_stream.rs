//! UDP_STREAM.

use super::{Layout, cpu_columns, demand, letters, line, nothing, rows, titles, unit};
use crate::fmt::{Arg, printf};
use crate::view::View;

/// UDP_STREAM.
pub(super) static UDP_STREAM: Layout = Layout {
    titles: headings,
    rows: both_rows,
    figure,
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

/// What netperf sent, what netserver received, and an empty line.
fn both_rows(view: &View<'_>) -> String {
    let (local, remote) = (view.local(), view.remote());
    let (sent, _) = view.directional(local);
    let (_, received) = view.directional(remote);
    let size = local.setup.and_then(|setup| setup.send_size).unwrap_or(0);
    let elapsed = Arg::Float(view.mean.elapsed);
    let mut first = vec![
        Arg::Int(local.send_buffer()),
        Arg::Int(i64::from(size)),
        elapsed,
        Arg::Uint(local.count(|end| end.tally.send_calls)),
        Arg::Uint(local.count(|end| end.tally.failed_sends)),
        Arg::Float(sent),
    ];
    let mut second = vec![
        Arg::Int(remote.recv_buffer()),
        elapsed,
        Arg::Uint(remote.count(|end| end.tally.recv_calls)),
        Arg::Float(received),
    ];
    let (mut u1, mut u2) = (rows::U1, rows::U2);
    if view.shows_cpu() {
        let [c1, c2, d1, d2] = cpu_columns(view);
        first.extend([c1, d1]);
        second.extend([c2, d2]);
        (u1, u2) = (rows::U1C, rows::U2C);
    }
    line(u1, &first) + &line(u2, &second) + "\n"
}

/// With CPU the letter is always netperf's, whoever's demand it is: a slip
/// that stays.
fn figure(view: &View<'_>) -> String {
    if view.shows_cpu() {
        let letter = view.local().cpu_letter();
        let args = [Arg::Float(demand(view).0), Arg::Char(letter)];
        return line(rows::V0U, &args);
    }
    let (sent, _) = view.directional(view.local());
    line(rows::V0, &[Arg::Float(sent)])
}
