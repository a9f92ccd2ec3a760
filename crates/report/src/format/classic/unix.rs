//! The Unix-domain tests (output.md 5): titles in front of the run, no brand, no letters
//! of CPU methods, no histogram.

use netperf_model::figures;

use super::connect::{merit, pair};
use super::stream::{Bytes, sent, stream_columns};
use super::{
    Ahead, Layout, Titles, asks_for_cpu, cpu_columns, demand, line, nothing, rows, titles,
    udp_stream,
};
use crate::fmt::{Arg, printf};
use crate::view::View;

/// STREAM_STREAM.
pub(super) static STREAM: Layout = Layout {
    titles: Titles::InFront(stream_titles),
    rows_up_to: 2,
    rows: stream_row,
    figure,
    extra: stream_calls,
    histogram: None,
};

/// STREAM_RR. Its extra part takes the place of the rows, and shows no figures.
pub(super) static STREAM_RR: Layout = Layout {
    titles: Titles::InFront(rr_titles),
    rows_up_to: 1,
    rows: rr_rows,
    figure,
    extra: |_| [titles::ALIGNMENT, titles::ALIGNMENT_UNPRINTED].concat(),
    histogram: None,
};

/// DG_STREAM. From verbosity 2 on there is nothing below the titles.
pub(super) static DATAGRAM_STREAM: Layout = Layout {
    titles: Titles::InFront(datagram_titles),
    rows_up_to: 1,
    rows: datagram_rows,
    figure: datagram_figure,
    extra: nothing,
    histogram: None,
};

/// DG_RR.
pub(super) static DATAGRAM_RR: Layout = Layout {
    titles: Titles::InFront(rr_titles),
    rows_up_to: 2,
    rows: rr_rows,
    figure,
    extra: response_time,
    histogram: None,
};

pub(super) fn stream_titles(ahead: Ahead) -> String {
    let titles = if ahead.cpu {
        titles::UNIX_STREAM_CPU
    } else {
        titles::STREAM
    };
    printf(titles, &[Arg::Text(ahead.unit)])
}

/// The titles promise transactions per second whatever `-f` says.
pub(super) fn rr_titles(ahead: Ahead) -> String {
    let titles = if ahead.cpu {
        titles::CONNECT_CPU
    } else {
        titles::RR
    };
    printf(titles, &[])
}

pub(super) fn datagram_titles(ahead: Ahead) -> String {
    let titles = if ahead.cpu {
        titles::DATAGRAM_STREAM_CPU
    } else {
        titles::UDP_STREAM
    };
    printf(titles, &[Arg::Text(ahead.unit)])
}

pub(super) fn stream_row(view: &View<'_>) -> String {
    let ([recv, send], size) = stream_columns(view);
    let elapsed = Arg::Float(view.mean.elapsed);
    let rate = Arg::Float(view.mean.throughput);
    let size = Arg::Int(size);
    if !asks_for_cpu(view.plan()) {
        return line(rows::X1, &[recv, send, size, elapsed, rate]);
    }
    let [c1, c2, d1, d2] = cpu_columns(view);
    let args = [recv, send, size, elapsed, rate, c1, c2, d1, d2];
    line(rows::X1C, &args)
}

pub(super) fn stream_calls(view: &View<'_>) -> String {
    titles::STREAM_CALLS.to_owned() + &line(rows::X2, &sent(view, Bytes::Short))
}

pub(super) fn rr_rows(view: &View<'_>) -> String {
    pair(view, asks_for_cpu(view.plan()))
}

pub(super) fn figure(view: &View<'_>) -> String {
    merit(view, asks_for_cpu(view.plan()))
}

pub(super) fn datagram_rows(view: &View<'_>) -> String {
    if asks_for_cpu(view.plan()) {
        udp_stream::pair(view, [rows::D1C, rows::D2C], true)
    } else {
        udp_stream::pair(view, [rows::D1, rows::D2], false)
    }
}

pub(super) fn datagram_figure(view: &View<'_>) -> String {
    if asks_for_cpu(view.plan()) {
        return line(rows::V0X, &[Arg::Float(demand(view).0)]);
    }
    let (sent, _) = view.directional(view.local());
    line(rows::V0, &[Arg::Float(sent)])
}

/// The mean time of a transaction, in whole microseconds.
pub(super) fn response_time(view: &View<'_>) -> String {
    let time = figures::round_trip(view.plan(), view.last);
    let whole = time.and_then(|time| format!("{:.0}", time.trunc()).parse().ok());
    line(rows::UA, &[Arg::Int(whole.unwrap_or(-1))])
}
