//! Data of iperf 2: blocks over a connection, and numbered datagrams.
//!
//! The loops call the kernel, read a clock and add to counters. They allocate nothing and take no
//! lock. Each call waits at most [`PATIENCE`], so that a stop, the end of the time or a peer that
//! vanished is noticed soon.

mod bounce;
mod credit;
mod datagrams;
mod stream;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::Tally;
use netperf_os::io::is_no_progress;

pub use bounce::return_messages;
pub use credit::Credit;
pub use datagrams::{Arrived, DatagramOrder, receive_datagrams, send_datagrams};
pub use netperf_measure::counters::TransferCounts;
pub use netperf_measure::reads::{READ_CLASSES, ReadSizes};
pub use stream::{StreamOrder, receive_stream, receive_stream_to, send_stream, send_stream_by};

use crate::stop::{Ended, Phase, Stop, is_cut};

/// Longest wait of a system call.
pub const PATIENCE: Duration = Duration::from_millis(100);
/// Time without progress after which a connection is given up.
pub const STALLED: Duration = Duration::from_secs(10);

/// Ends a transfer when its owner says so.
struct OwnerStop<'a>(&'a AtomicBool);

impl Stop for OwnerStop<'_> {
    #[inline]
    fn phase(&self) -> Phase {
        if self.0.load(Ordering::Relaxed) {
            Phase::Finish
        } else {
            Phase::Running
        }
    }

    #[inline]
    fn progress(&self, _: &Tally) {}

    fn interrupted(&mut self, _: &Tally) -> Option<Ended> {
        (self.phase() != Phase::Running).then_some(Ended::TimeOver)
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
    /// The peer sent on for longer than it may.
    Overrun,
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

impl Transfer {
    /// A transfer that begins, of which so many bytes were moved before.
    const fn begun(bytes: u64) -> Self {
        Self {
            bytes,
            calls: 0,
            elapsed: Duration::ZERO,
            end: TransferEnd::Complete,
        }
    }

    /// Counts a call that moved so many bytes.
    #[inline]
    fn count(&mut self, bytes: u64, counts: &TransferCounts) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.calls += 1;
        counts.add(bytes);
    }
}

/// The end of a transfer by the error of a call, the last progress being so old; `None` while it
/// may still be given up after `longest`.
fn ended_by(
    error: io::Error,
    quiet: Duration,
    longest: Duration,
) -> io::Result<Option<TransferEnd>> {
    if is_no_progress(&error) {
        Ok((quiet >= longest).then_some(TransferEnd::Stalled))
    } else if is_cut(&error) {
        Ok(Some(TransferEnd::Closed))
    } else {
        Err(error)
    }
}

/// Microseconds since 1970.
#[must_use]
pub fn epoch_micros() -> u64 {
    u64::try_from(clock::since_epoch().as_micros()).unwrap_or(u64::MAX)
}
