//! The SCTP tests, and those XTI tests that print like them (output.md 6): no brand.

use super::connect::buffers;
use super::stream::{Bytes, headings, segment, sent, stream_columns};
use super::{Layout, Titles, cpu_columns, demand, line, nothing, rows, rr, titles};
use crate::fmt::Arg;
use crate::view::View;

/// SCTP_STREAM, SCTP_STREAM_MANY and XTI_TCP_STREAM.
pub(super) static STREAM: Layout = Layout {
    titles: Titles::Behind(|view| headings(view, titles::STREAM_CPU)),
    rows_up_to: 2,
    rows: stream_row,
    figure,
    extra: |view| {
        let calls = line(rows::S2G, &sent(view, Bytes::Short));
        titles::STREAM_CALLS.to_owned() + &calls + &segment(view)
    },
    histogram: Some(titles::SEND_TIMES),
};

/// SCTP_RR, SCTP_RR_MANY and XTI_TCP_RR.
pub(super) static RR: Layout = Layout {
    titles: Titles::Behind(rr::transactions_only),
    rows_up_to: 2,
    rows: rr_rows,
    figure,
    extra: detail,
    histogram: Some(titles::TRANSACTION_TIMES),
};

/// XTI_UDP_RR.
pub(super) static DATAGRAM_RR: Layout = Layout {
    titles: Titles::Behind(rr::transactions_only),
    rows_up_to: 2,
    rows: rr_rows,
    figure,
    extra: nothing,
    histogram: Some(titles::DATAGRAM_TRANSACTION_TIMES),
};

fn stream_row(view: &View<'_>) -> String {
    let ([recv, send], size) = stream_columns(view);
    let elapsed = Arg::Float(view.mean.elapsed);
    let rate = Arg::Float(view.mean.throughput);
    let size = Arg::Int(size);
    if !view.shows_cpu() {
        let args = [recv, send, size, elapsed, rate, Arg::Text("")];
        return line(rows::S1, &args);
    }
    let [c1, c2, d1, d2] = cpu_columns(view);
    let args = [recv, send, size, elapsed, rate, c1, c2, d1, d2];
    line(rows::S1CN, &args)
}

fn rr_rows(view: &View<'_>) -> String {
    let [send, recv, request, response] = rr::sizes(view);
    let elapsed = Arg::Float(view.mean.elapsed);
    let rate = Arg::Float(view.mean.throughput);
    let first = if view.shows_cpu() {
        let [c1, c2, d1, d2] = cpu_columns(view);
        let args = [send, recv, request, response, elapsed, rate, c1, c2, d1, d2];
        line(rows::R1CN, &args)
    } else {
        let args = [send, recv, request, response, elapsed, rate, Arg::Text("")];
        line(rows::R1, &args)
    };
    first + &rr::peer_row(view)
}

fn figure(view: &View<'_>) -> String {
    if view.shows_cpu() {
        let (demand, letter) = demand(view);
        line(rows::V0CL, &[Arg::Float(demand), Arg::Char(letter)])
    } else {
        line(rows::V0, &[Arg::Float(view.mean.throughput)])
    }
}

/// The second figure is an offset below "Alignment": a slip that stays.
pub(super) fn detail(view: &View<'_>) -> String {
    let offset = view.remote().setting(|plan| plan.recv.offset);
    titles::ALIGNMENT.to_owned() + &buffers(view, offset)
}
