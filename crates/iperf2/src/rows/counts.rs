//! What moved, as rows and sums show it.

use netperf_model::iperf2::READ_CLASSES;

/// What a direction of one or several streams moved, until a moment or in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct MovedCounts {
    /// Bytes.
    pub bytes: u64,
    /// Calls, or datagrams that were moved.
    pub calls: u64,
    /// Datagrams, as the rows tell them.
    pub datagrams: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Datagrams that came out of order.
    pub late: u64,
    /// Segments that were sent again.
    pub retransmits: u64,
    /// Reads by their size, if they are counted.
    pub reads: [u64; READ_CLASSES],
}

impl MovedCounts {
    /// Counts since others.
    pub fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Counts of both.
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |one, more| one + more)
    }

    fn with(self, other: Self, both: fn(u64, u64) -> u64) -> Self {
        let mut reads = self.reads;
        for (one, more) in reads.iter_mut().zip(other.reads) {
            *one = both(*one, more);
        }
        Self {
            bytes: both(self.bytes, other.bytes),
            calls: both(self.calls, other.calls),
            datagrams: both(self.datagrams, other.datagrams),
            lost: both(self.lost, other.lost),
            late: both(self.late, other.late),
            retransmits: both(self.retransmits, other.retransmits),
            reads,
        }
    }
}
