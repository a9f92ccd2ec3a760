//! The counts of a run under way, for whoever shows them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use netperf_measure::clock::{self, Moment};
use netperf_model::Tally;

/// Counts that the loop publishes with relaxed stores, on a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Live {
    sent: AtomicU64,
    received: AtomicU64,
    transactions: AtomicU64,
    over: OnceLock<Moment>,
}

impl Live {
    /// Publishes the counts of the loop.
    #[inline]
    pub(crate) fn publish(&self, tally: &Tally) {
        self.sent.store(tally.bytes_sent, Ordering::Relaxed);
        self.received.store(tally.bytes_received, Ordering::Relaxed);
        self.transactions
            .store(tally.transactions, Ordering::Relaxed);
    }

    /// The loop is over; what follows only ends the connection.
    pub(crate) fn end(&self) {
        // A second end would change nothing.
        let _first = self.over.set(clock::now());
    }

    /// When the loop was over; `None` while it runs.
    #[must_use]
    pub fn over(&self) -> Option<Moment> {
        self.over.get().copied()
    }

    /// The counts as they are now. Each is right; together they may be one
    /// operation apart.
    #[must_use]
    pub fn read(&self) -> Tally {
        Tally {
            bytes_sent: self.sent.load(Ordering::Relaxed),
            bytes_received: self.received.load(Ordering::Relaxed),
            transactions: self.transactions.load(Ordering::Relaxed),
            ..Tally::default()
        }
    }
}
