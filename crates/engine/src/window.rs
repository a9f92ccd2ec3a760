//! How many requests netperf keeps in flight.

use netperf_model::EndJob;

/// Requests that may be in flight on one connection or socket: one, and those of a burst, which
/// netperf 2.7 sends all at once. A window that grows with each response would cost a tenth of the
/// instructions of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestWindow(u32);

impl RequestWindow {
    /// Where nothing is asked, or only when it is due.
    pub const NONE: Self = Self(0);
    /// For transactions one after the other.
    pub const ONE: Self = Self(1);

    /// The window that netperf's end of a job keeps.
    #[must_use]
    pub const fn of(job: &EndJob) -> Self {
        Self(job.burst.saturating_add(1))
    }

    /// So many.
    #[must_use]
    pub const fn fixed(most: u32) -> Self {
        Self(most)
    }

    /// Requests that may be in flight.
    #[inline]
    #[must_use]
    pub const fn most(self) -> usize {
        self.0 as usize
    }
}
