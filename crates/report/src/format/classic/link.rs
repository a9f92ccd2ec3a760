//! The tests below the network layer (output.md 6): those of the dlpi suite show windows
//! in frames, those of the fore and hippi suites socket buffers.

use super::connect::buffers;
use super::unix::{
    datagram_figure, datagram_rows, datagram_titles, figure, response_time, rr_rows, rr_titles,
    stream_calls, stream_row, stream_titles,
};
use super::{Layout, Titles, nothing, titles};
use crate::view::View;

/// DLCO_STREAM.
pub(super) static STREAM: Layout = Layout {
    titles: Titles::InFront(|ahead| titles::windows(&stream_titles(ahead))),
    rows_up_to: 2,
    rows: stream_row,
    figure,
    extra: stream_calls,
    histogram: None,
};

/// DLCO_RR: a blank in front of every line; the extra part takes the place of the rows.
pub(super) static STREAM_RR: Layout = Layout {
    titles: Titles::InFront(|ahead| indented(&titles::windows(&rr_titles(ahead)))),
    rows_up_to: 1,
    rows: |view| indented(&rr_rows(view)),
    figure: |view| indented(&figure(view)),
    extra: detail,
    histogram: None,
};

/// DLCL_STREAM. From verbosity 2 on there is nothing below the titles.
pub(super) static DATAGRAM_STREAM: Layout = Layout {
    titles: Titles::InFront(|ahead| titles::windows(&datagram_titles(ahead))),
    rows_up_to: 1,
    rows: datagram_rows,
    figure: datagram_figure,
    extra: nothing,
    histogram: None,
};

/// DLCL_RR.
pub(super) static DATAGRAM_RR: Layout = Layout {
    titles: Titles::InFront(|ahead| titles::windows(&rr_titles(ahead))),
    rows_up_to: 2,
    rows: rr_rows,
    figure,
    extra: response_time,
    histogram: None,
};

/// FORE_STREAM and HIPPI_STREAM, which no version 2.7 has: as DLCL_STREAM, with their
/// socket buffers, and with rows at verbosity 2.
pub(super) static FRAME_STREAM: Layout = Layout {
    titles: Titles::InFront(datagram_titles),
    rows_up_to: 2,
    rows: datagram_rows,
    figure: datagram_figure,
    extra: nothing,
    histogram: None,
};

/// FORE_RR and HIPPI_RR.
pub(super) static FRAME_RR: Layout = Layout {
    titles: Titles::InFront(rr_titles),
    rows_up_to: 2,
    rows: rr_rows,
    figure,
    extra: response_time,
    histogram: None,
};

/// A blank in front of every line that is not empty.
fn indented(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let indent = |line: &str| match line {
        "\n" => line.to_owned(),
        line => format!(" {line}"),
    };
    lines.map(indent).collect()
}

/// Alignments and offsets, which the original prints from memory it never wrote to.
fn detail(view: &View<'_>) -> String {
    let align = view.remote().setting(|plan| plan.recv.align);
    indented(&(titles::ALIGNMENT.to_owned() + &buffers(view, align)))
}
