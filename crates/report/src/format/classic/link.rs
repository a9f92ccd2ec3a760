//! The tests below the network layer (output.md 6): those of the dlpi suite show windows
//! in frames, those of the fore and hippi suites socket buffers.

use super::connect::buffers;
use super::layout::{Layout, Titles};
use super::{titles, unix};
use crate::view::View;

/// DLCO_STREAM.
pub(super) const STREAM: Layout = Layout {
    titles: Titles::InFront(|ahead| titles::windows(&unix::stream_titles(ahead))),
    ..unix::STREAM
};

/// DLCO_RR: a blank in front of every line; the extra part takes the place of the rows.
pub(super) const STREAM_RR: Layout = Layout {
    titles: Titles::InFront(|ahead| indented(&titles::windows(&unix::rr_titles(ahead)))),
    rows: |view| indented(&(unix::STREAM_RR.rows)(view)),
    figure: |view| indented(&(unix::STREAM_RR.figure)(view)),
    extra: detail,
    ..unix::STREAM_RR
};

/// DLCL_STREAM. From verbosity 2 on there is nothing below the titles.
pub(super) const DATAGRAM_STREAM: Layout = Layout {
    titles: Titles::InFront(|ahead| titles::windows(&unix::datagram_titles(ahead))),
    ..unix::DATAGRAM_STREAM
};

/// DLCL_RR.
pub(super) const DATAGRAM_RR: Layout = Layout {
    titles: Titles::InFront(|ahead| titles::windows(&unix::rr_titles(ahead))),
    ..unix::DATAGRAM_RR
};

/// FORE_STREAM and HIPPI_STREAM, which no version 2.7 has: as DLCL_STREAM, with their
/// socket buffers, and with rows at verbosity 2.
pub(super) const FRAME_STREAM: Layout = Layout {
    rows_up_to: 2,
    ..unix::DATAGRAM_STREAM
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
