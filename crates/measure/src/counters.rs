//! Counters that loops write and other threads read.

use std::sync::atomic::{AtomicU64, Ordering};

use netperf_model::iperf2::MovedCounts;
use netperf_model::{ArrivalOrder, Tally};

use crate::reads::ReadSizes;

/// Counts that a loop publishes with relaxed stores, on a separate cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    transactions: AtomicU64,
}

impl Counts {
    /// Publishes the counts of the loop.
    #[inline]
    pub fn publish(&self, tally: &Tally) {
        self.sent.store(tally.bytes_sent, Ordering::Relaxed);
        self.received.store(tally.bytes_received, Ordering::Relaxed);
        self.transactions
            .store(tally.transactions, Ordering::Relaxed);
    }

    /// Adds them to a tally.
    pub fn add_to(&self, tally: &mut Tally) {
        tally.bytes_sent += self.sent.load(Ordering::Relaxed);
        tally.bytes_received += self.received.load(Ordering::Relaxed);
        tally.transactions += self.transactions.load(Ordering::Relaxed);
    }
}

/// Sum of the counts of several loops.
#[must_use]
pub fn total(counts: &[Counts]) -> Tally {
    let mut tally = Tally::default();
    counts.iter().for_each(|counts| counts.add_to(&mut tally));
    tally
}

/// Counters of one direction.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct TransferCounts {
    /// Bytes.
    pub bytes: AtomicU64,
    /// Calls, or datagrams.
    pub calls: AtomicU64,
    /// Datagrams that arrived.
    pub datagrams: DatagramCounters,
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
    #[inline]
    pub fn set(&self, bytes: u64, calls: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.calls.store(calls, Ordering::Relaxed);
    }

    /// Adds a datagram of this length.
    #[inline]
    pub fn count(&self, length: usize) {
        self.add(u64::try_from(length).unwrap_or_default());
    }

    /// Adds a call that moved so many bytes.
    #[inline]
    pub fn add(&self, bytes: u64) {
        // Only one thread writes.
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.set(
            load(&self.bytes).wrapping_add(bytes),
            load(&self.calls).wrapping_add(1),
        );
    }
}

impl TransferCounts {
    /// Counts so far, as the rows of iperf 2 show them.
    #[must_use]
    pub fn moved(&self) -> MovedCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let calls = load(&self.calls);
        MovedCounts {
            bytes: load(&self.bytes),
            calls,
            datagrams: calls,
            reads: self
                .reads
                .as_ref()
                .map(ReadSizes::counts)
                .unwrap_or_default(),
            ..MovedCounts::default()
        }
    }
}

/// Loss, order and jitter of datagrams that arrived.
#[derive(Debug, Default)]
pub struct DatagramCounters {
    highest: AtomicU64,
    lost: AtomicU64,
    out_of_order: AtomicU64,
    /// Bits of a float.
    jitter: AtomicU64,
}

/// Counts of datagrams that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatagramTally {
    /// Loss and order.
    pub order: ArrivalOrder,
    /// Jitter, in the unit in which it was published.
    pub jitter: f64,
}

impl DatagramCounters {
    /// Publishes the account of the receiver.
    #[inline]
    pub fn publish(&self, order: &ArrivalOrder, jitter: f64) {
        self.highest.store(order.highest, Ordering::Relaxed);
        self.lost.store(order.lost, Ordering::Relaxed);
        self.out_of_order
            .store(order.out_of_order, Ordering::Relaxed);
        self.jitter.store(jitter.to_bits(), Ordering::Relaxed);
    }

    /// The account as it is now, of so many datagrams.
    #[must_use]
    pub fn read(&self, arrived: u64) -> DatagramTally {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DatagramTally {
            order: ArrivalOrder {
                highest: load(&self.highest),
                arrived,
                lost: load(&self.lost),
                out_of_order: load(&self.out_of_order),
            },
            jitter: f64::from_bits(load(&self.jitter)),
        }
    }
}
