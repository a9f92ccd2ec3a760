//! Counts of a transfer.

use std::sync::atomic::{AtomicU64, Ordering};

use netperf_engine::iperf2::{ReadSizes, TransferCounts};
use netperf_iperf2::rows::MovedCounts;

/// Counts of a transfer so far.
pub fn moved(counts: &TransferCounts) -> MovedCounts {
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (calls, reads) = (load(&counts.calls), counts.reads.as_ref());
    MovedCounts {
        bytes: load(&counts.bytes),
        calls,
        datagrams: calls,
        reads: reads.map(ReadSizes::counts).unwrap_or_default(),
        ..MovedCounts::default()
    }
}
