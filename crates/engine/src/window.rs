//! How many requests netperf keeps in flight.

use netperf_model::EndJob;

/// Requests that may be in flight on one connection or socket: at first one, one more with each
/// response, up to all of a burst. A window of congestion that is smaller than the burst would
/// otherwise pack requests into fewer segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestWindow {
    first: u32,
    open: u32,
    most: u32,
}

impl RequestWindow {
    /// Where nothing is asked, or only when it is due.
    pub const NONE: Self = Self::fixed(0);
    /// For transactions one after the other.
    pub const ONE: Self = Self::fixed(1);

    /// The window that netperf's end of a job keeps.
    #[must_use]
    pub const fn of(job: &EndJob) -> Self {
        let most = job.burst.saturating_add(1);
        if job.burst_at_once {
            Self::fixed(most)
        } else {
            Self::growing(most)
        }
    }

    /// So many from the beginning.
    #[must_use]
    pub const fn fixed(most: u32) -> Self {
        Self {
            first: most,
            open: most,
            most,
        }
    }

    /// From one to so many.
    #[must_use]
    pub const fn growing(most: u32) -> Self {
        Self {
            first: 1,
            open: 1,
            most,
        }
    }

    /// Requests that may be in flight now.
    #[inline]
    #[must_use]
    pub const fn open(self) -> usize {
        self.open as usize
    }

    /// Requests that may be in flight at the end.
    #[must_use]
    pub const fn most(self) -> usize {
        self.most as usize
    }

    /// A response has come.
    #[inline]
    pub fn grow(&mut self) {
        self.open = self.most.min(self.open + 1);
    }

    /// The requests in flight are given up.
    pub fn restart(&mut self) {
        self.open = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_grows_with_each_response_and_begins_again_after_a_loss() {
        let mut window = RequestWindow::growing(3);
        let mut seen = vec![window.open()];
        for _ in 0..3 {
            window.grow();
            seen.push(window.open());
        }
        assert_eq!((seen, window.most()), (vec![1, 2, 3, 3], 3));
        window.restart();
        assert_eq!(window.open(), 1);
    }

    #[test]
    fn window_that_is_fixed_is_open_from_the_beginning() {
        let mut window = RequestWindow::fixed(9);
        window.grow();
        window.restart();
        assert_eq!((window.open(), window.most()), (9, 9));
    }
}
