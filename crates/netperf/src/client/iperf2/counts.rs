//! Counts of what a client moves, and the columns that `-e` shows of them.

use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use netperf_engine::iperf2::{READ_CLASSES, ReadSizes, TransferCounts};
use netperf_os::tcp;
use netperf_report::iperf2::enhanced;

use crate::iperf2::{Iperf2Stream, sender_state};

/// Counts of a direction at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WayCounts {
    pub(super) bytes: u64,
    pub(super) calls: u64,
    /// Segments that were sent again.
    pub(super) retransmits: u32,
    /// Reads by their size, if they are counted.
    pub(super) reads: [u64; READ_CLASSES],
}

impl WayCounts {
    fn of(counts: &TransferCounts) -> Self {
        let reads = counts.reads.as_ref();
        Self {
            bytes: counts.bytes.load(Ordering::Relaxed),
            calls: counts.calls.load(Ordering::Relaxed),
            retransmits: 0,
            reads: reads.map(ReadSizes::counts).unwrap_or_default(),
        }
    }

    /// The counts of what a stream sends.
    pub(super) fn sent(stream: &Iperf2Stream) -> Self {
        let info = tcp::info(stream.socket.as_fd()).ok();
        Self {
            retransmits: info.map_or(0, |info| info.total_retrans),
            ..Self::of(&stream.sent)
        }
    }

    /// The counts of what a stream receives.
    pub(super) fn received(stream: &Iperf2Stream) -> Self {
        Self::of(&stream.received)
    }

    /// Counts since others.
    pub(super) fn since(self, before: Self) -> Self {
        let mut reads = self.reads;
        for (new, before) in reads.iter_mut().zip(before.reads) {
            *new = new.saturating_sub(before);
        }
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            calls: self.calls.saturating_sub(before.calls),
            retransmits: self.retransmits.saturating_sub(before.retransmits),
            reads,
        }
    }

    /// The columns of what a stream sends.
    pub(super) fn columns(self, stream: &Iperf2Stream, time: Duration, udp: bool) -> String {
        if udp {
            return enhanced::sent_datagrams(self.calls, time);
        }
        let state = sender_state(stream.socket.as_fd()).map(|(state, _)| state);
        enhanced::sent(self.calls, self.retransmits, state, (self.bytes, time))
    }
}

/// Counts of both directions of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MovedCounts {
    pub(super) sent: WayCounts,
    pub(super) received: WayCounts,
}

impl MovedCounts {
    pub(super) fn of(stream: &Iperf2Stream) -> Self {
        Self {
            sent: WayCounts::sent(stream),
            received: WayCounts::received(stream),
        }
    }

    pub(super) const fn way(&self, is_received: bool) -> WayCounts {
        if is_received {
            self.received
        } else {
            self.sent
        }
    }
}
