//! Counts of what a client sends, and the columns that `-e` shows of them.

use std::os::fd::AsFd as _;
use std::time::Duration;

use netperf_iperf2::rows::MovedCounts;
use netperf_iperf2::rows::enhanced;
use netperf_program::iperf2::{moved, sender_state};

use crate::iperf2::session::Iperf2Stream;

/// The counts of what a stream sends.
pub(super) fn sent(stream: &Iperf2Stream) -> MovedCounts {
    let state = sender_state(stream.socket.as_fd());
    MovedCounts {
        retransmits: state.map_or(0, |(_, retransmits)| retransmits),
        ..moved(&stream.sent.moved)
    }
}

/// The columns of what a stream sends.
pub(super) fn sent_columns(
    counts: &MovedCounts,
    stream: &Iperf2Stream,
    time: Duration,
    udp: bool,
) -> String {
    if udp {
        return enhanced::sent_datagrams(counts.calls, counts.calls, time);
    }
    let state = sender_state(stream.socket.as_fd()).map(|(state, _)| state);
    enhanced::sent(
        counts.calls,
        counts.retransmits,
        state,
        (counts.bytes, time),
    )
}
