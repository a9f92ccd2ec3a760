//! The Unix-domain tests (output.md 5): titles in front of the run, no brand, no letters
//! of CPU methods, no histogram.

use netperf_model::figures;

use super::connect;
use super::layout::{Ahead, Layout, Titles, asks_for_cpu, line, merit, nothing, result_row};
use super::rr::both_rows;
use super::stream::{calls, stream_columns};
use super::udp_stream::{pair, sent_figure};
use super::{rows, titles};
use crate::fmt::{Arg, printf};
use crate::view::View;

/// STREAM_STREAM.
pub(super) const STREAM: Layout = Layout {
    titles: Titles::InFront(stream_titles),
    rows_up_to: 2,
    rows: |view| {
        let (rows, columns) = ([rows::X1, rows::X1C], stream_columns(view));
        result_row(view, rows, asks_for_cpu(view.plan()), &columns, "")
    },
    figure,
    extra: |view| calls(view, rows::X2),
    histogram: None,
};

/// STREAM_RR.
pub(super) const STREAM_RR: Layout = Layout {
    titles: Titles::InFront(rr_titles),
    rows_up_to: 2,
    rows: |view| both_rows(view, rows::C1C, asks_for_cpu(view.plan()), ""),
    extra: |view| titles::ALIGNMENT.to_owned() + &alignments(view),
    ..STREAM
};

/// DG_STREAM. From verbosity 2 on there is nothing below the titles.
pub(super) const DATAGRAM_STREAM: Layout = Layout {
    titles: Titles::InFront(datagram_titles),
    rows_up_to: 1,
    rows: |view| {
        pair(
            view,
            [rows::D1, rows::D2],
            [rows::D1C, rows::D2C],
            asks_for_cpu(view.plan()),
        )
    },
    figure: datagram_figure,
    extra: nothing,
    histogram: None,
};

/// DG_RR.
pub(super) const DATAGRAM_RR: Layout = Layout {
    rows_up_to: 2,
    extra: response_time,
    ..STREAM_RR
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

fn alignments(view: &View<'_>) -> String {
    connect::buffers(view, view.remote().setting(|plan| plan.recv.align))
}

fn figure(view: &View<'_>) -> String {
    merit(view, [rows::V0, rows::V0C], asks_for_cpu(view.plan()))
}

fn datagram_figure(view: &View<'_>) -> String {
    sent_figure(view, rows::V0X, asks_for_cpu(view.plan()))
}

/// The mean time of a transaction, in whole microseconds.
fn response_time(view: &View<'_>) -> String {
    let time = figures::round_trip(view.plan(), view.last);
    let whole = time.and_then(|time| format!("{:.0}", time.trunc()).parse().ok());
    line(rows::UA, &[Arg::Int(whole.unwrap_or(-1))])
}
