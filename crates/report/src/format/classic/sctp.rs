//! The SCTP tests, and those XTI tests that print like them (output.md 6): no brand.

use super::connect::buffers;
use super::layout::{Layout, merit, nothing, result_row};
use super::stream::{SENDFILE, stream_columns};
use super::{rows, rr, titles};
use crate::view::View;

/// SCTP_STREAM, SCTP_STREAM_MANY and XTI_TCP_STREAM.
pub(super) const STREAM: Layout = Layout {
    rows: |view| {
        let columns = stream_columns(view);
        result_row(view, [rows::S1, rows::S1CN], view.shows_cpu(), &columns, "")
    },
    figure,
    ..SENDFILE
};

/// SCTP_RR, SCTP_RR_MANY and XTI_TCP_RR.
pub(super) const RR: Layout = Layout {
    rows: |view| rr::both_rows(view, rows::R1CN, view.shows_cpu(), ""),
    figure,
    ..rr::SDP
};

/// XTI_UDP_RR.
pub(super) const DATAGRAM_RR: Layout = Layout {
    extra: nothing,
    histogram: Some(titles::DATAGRAM_TRANSACTION_TIMES),
    ..RR
};

fn figure(view: &View<'_>) -> String {
    merit(view, [rows::V0, rows::V0CL], view.shows_cpu())
}

/// The second figure is an offset below "Alignment", as in the original.
pub(super) fn detail(view: &View<'_>) -> String {
    let offset = view.remote().setting(|plan| plan.recv.offset);
    titles::ALIGNMENT.to_owned() + &buffers(view, offset)
}
