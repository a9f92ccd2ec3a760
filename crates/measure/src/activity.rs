//! For how long nothing has moved, and whether that is the end of a run.

use std::time::Duration;

use netperf_model::Tally;

use crate::clock::{self, Moment};

/// Watches a tally for signs of life.
#[derive(Debug)]
pub struct ActivityWatch {
    seen: Tally,
    since: Moment,
}

impl ActivityWatch {
    /// Nothing has moved since then.
    #[must_use]
    pub fn since(since: Moment) -> Self {
        Self {
            seen: Tally::default(),
            since,
        }
    }

    /// Looks at the tally: whether anything has moved since the last look. Failed sends move nothing.
    pub fn look(&mut self, tally: &Tally) -> bool {
        let failed_sends = self.seen.failed_sends;
        let moved = Tally {
            failed_sends,
            ..*tally
        } != self.seen;
        if moved {
            self.seen = *tally;
            self.since = clock::now();
        }
        moved
    }

    /// Time since the tally changed, as far as it was looked at.
    #[must_use]
    pub fn lasted(&self) -> Duration {
        self.since.elapsed()
    }

    /// Returns whether nothing has moved for this long after the time was over. Where nothing has
    /// moved at all the other end may only be late: the packet that opens a connection is sent
    /// again after a second where it was lost (RFC 6298).
    #[must_use]
    pub fn is_end(&self, overtime: Duration, silence: Duration) -> bool {
        self.seen != Tally::default() && self.lasted().min(overtime) >= silence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_the_end_once_something_has_moved_and_the_time_is_over() {
        let (short, long) = (Duration::from_millis(2), Duration::from_secs(9));
        let mut quiet = ActivityWatch::since(clock::now().minus(2 * long));
        let (none, some) = (
            Tally::default(),
            Tally {
                transactions: 1,
                ..Tally::default()
            },
        );
        let mut is_end = |tally, overtime, silence| {
            quiet.look(tally);
            quiet.is_end(overtime, silence)
        };
        assert!(!is_end(&none, long, long), "nothing has begun");
        assert!(!is_end(&some, long, long), "something has just moved");
        std::thread::sleep(short);
        assert!(!is_end(&some, Duration::ZERO, short), "it is not over");
        assert!(is_end(&some, long, short));
        assert!(!is_end(&some, long, long), "not for long enough");
    }
}
