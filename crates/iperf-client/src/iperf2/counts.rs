//! Counts of what a client sends, and the state of its connections.

use std::os::fd::AsFd as _;

use netperf_iperf2::rows::enhanced::SenderState;
use netperf_model::iperf2::MovedCounts;
use netperf_program::iperf2::sender_state;

use crate::iperf2::session::Iperf2Stream;

/// The counts of what a stream sends.
pub(super) fn sent(stream: &Iperf2Stream) -> MovedCounts {
    let state = sender_state(stream.socket.as_fd());
    MovedCounts {
        retransmits: state.map_or(0, |(_, retransmits)| retransmits),
        ..stream.sent.moved.moved()
    }
}

/// The state of the connection of a stream.
pub(super) fn state(stream: &Iperf2Stream) -> Option<SenderState> {
    sender_state(stream.socket.as_fd()).map(|(state, _)| state)
}
