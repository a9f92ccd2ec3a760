//! Data of iperf 2: blocks over a connection, and numbered datagrams.
//!
//! The loops call the kernel, read a clock and add to counters. They allocate nothing and take no
//! lock. Each call waits at most [`PATIENCE`], so that a stop, the end of the time or a peer that
//! vanished is noticed soon.

mod credit;
mod datagrams;
mod reads;
mod stream;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::wait;

pub use credit::Credit;
pub use datagrams::{Arrived, DatagramOrder, receive_datagrams, send_datagrams};
pub use reads::{READ_CLASSES, ReadSizes};
pub use stream::{StreamOrder, receive_stream, receive_stream_to, send_stream, send_stream_by};

/// Longest wait of a system call.
pub const PATIENCE: Duration = Duration::from_millis(100);
/// Time without progress after which a connection is given up.
pub const STALLED: Duration = Duration::from_secs(10);

/// Counters of one direction, which other threads read.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct TransferCounts {
    /// Bytes.
    pub bytes: AtomicU64,
    /// Calls, or datagrams.
    pub calls: AtomicU64,
    /// Reads by their size, if they are sorted.
    pub reads: Option<ReadSizes>,
}

impl TransferCounts {
    /// Counters that sort reads of at most `largest` bytes by their size.
    #[must_use]
    pub fn sorting(largest: usize) -> Self {
        Self {
            reads: Some(ReadSizes::new(largest)),
            ..Self::default()
        }
    }

    /// Sets both.
    pub fn set(&self, bytes: u64, calls: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.calls.store(calls, Ordering::Relaxed);
    }

    /// Adds a datagram of this length.
    #[inline]
    pub fn count(&self, length: usize) {
        self.add(u64::try_from(length).unwrap_or_default());
    }

    #[inline]
    fn add(&self, bytes: u64) {
        // Only one thread writes.
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.bytes
            .store(load(&self.bytes).wrapping_add(bytes), Ordering::Relaxed);
        self.calls
            .store(load(&self.calls).wrapping_add(1), Ordering::Relaxed);
    }
}

/// Reason for the end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferEnd {
    /// Time or bytes are complete, or the sender ended.
    Complete,
    /// The caller stopped it.
    Stopped,
    /// There was no progress for [`STALLED`].
    Stalled,
    /// The peer closed or reset the connection.
    Closed,
}

/// One direction, after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes.
    pub bytes: u64,
    /// Calls, or datagrams.
    pub calls: u64,
    /// Time from the first to the last byte.
    pub elapsed: Duration,
    /// Reason for the end.
    pub end: TransferEnd,
}

/// Time until a moment, waited for in steps, so that a stop is noticed. Returns false if stopped.
fn wait_until(due: Moment, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = due.left();
        if left.is_zero() {
            return true;
        }
        wait::sleep(left.min(PATIENCE));
    }
}

/// Time at which so many bits are due at a rate, from the start.
fn due(start: Moment, bits: u64, rate: u64) -> Moment {
    let nanos = u128::from(bits) * 1_000_000_000 / u128::from(rate.max(1));
    start.plus(Duration::from_nanos(
        u64::try_from(nanos).unwrap_or(u64::MAX),
    ))
}

/// True if the peer ended the connection.
fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

/// Microseconds since 1970.
#[must_use]
pub fn epoch_micros() -> u64 {
    u64::try_from(clock::since_epoch().as_micros()).unwrap_or(u64::MAX)
}
