//! The rate of a transfer.

use std::time::Duration;

use netperf_measure::clock::{self, Moment};

use crate::due::pacing::{due_at_rate, not_made_up};
use crate::stop::{Ended, Phase, Stop};

/// When the bytes or datagrams of a transfer are due.
#[derive(Debug)]
pub(super) struct TransferPace {
    per_second: f64,
    /// Units that are released together.
    burst: u64,
    /// Units that are released.
    released: u64,
    began: Option<Moment>,
    /// Time that is not made up for, nanoseconds.
    given_up: u64,
}

impl TransferPace {
    /// Releases so many units together. It begins with the first.
    pub(super) fn new(per_second: f64, burst: u64) -> Self {
        Self {
            per_second,
            burst: burst.max(1),
            released: 0,
            began: None,
            given_up: 0,
        }
    }

    /// Began at this moment.
    pub(super) fn begun(per_second: f64, at: Moment) -> Self {
        Self {
            began: Some(at),
            ..Self::new(per_second, 1)
        }
    }

    /// When the unit is due that follows so many.
    pub(super) fn due(&mut self, sent: u64) -> Moment {
        let began = *self.began.get_or_insert_with(clock::now);
        let after = due_at_rate(sent, self.per_second).saturating_add(self.given_up);
        began.plus(Duration::from_nanos(after))
    }

    /// Waits until the next units are due, and looks at the stop at least every `step`. `sent` were
    /// before, which may end within a block.
    pub(super) fn wait<S: Stop>(&mut self, sent: u64, step: Duration, stop: &S) -> Option<Ended> {
        if sent < self.released {
            return None;
        }
        self.released = sent + self.burst;
        let due = self.due(sent);
        self.given_up += not_made_up(clock::now().nanos_since(due));
        (!wait_until(due, step, stop)).then_some(Ended::TimeOver)
    }
}

/// Waits until a moment, and looks at the stop at least every `step`. Returns false if it ends the
/// wait.
pub(super) fn wait_until<S: Stop>(due: Moment, step: Duration, stop: &S) -> bool {
    loop {
        if stop.phase() != Phase::Running {
            return false;
        }
        let left = due.left();
        if left.is_zero() {
            return true;
        }
        netperf_os::wait::sleep(left.min(step));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workload::message::testing::Manual;

    proptest! {
        /// Exact arithmetic, for up to a day.
        #[test]
        fn pace_is_exact_to_the_nanosecond(
            rate in 1_u64..1_000_000_000_000,
            nanos in 0_u64..86_400_000_000_000,
        ) {
            let bits = u128::from(nanos) * u128::from(rate) / 1_000_000_000;
            let exact = u64::try_from(bits * 1_000_000_000 / u128::from(rate)).unwrap();
            let due = due_at_rate(u64::try_from(bits).unwrap(), rate as f64);
            prop_assert!(due.abs_diff(exact) <= 1, "{} {}", due, exact);
        }
    }

    #[test]
    fn a_rate_is_kept_behind_a_call_that_sent_a_part_of_a_block() {
        // A byte is due every 10 microseconds.
        let mut pace = TransferPace::new(1e5, 1000);
        let (stop, step) = (Manual::patient(), Duration::from_millis(4));
        let begin = clock::now();
        // The call of the first block sent 300 bytes, and the others whole blocks.
        for sent in [0, 300, 1300, 2300] {
            assert!(pace.wait(sent, step, &stop).is_none());
        }
        assert!(begin.elapsed() >= Duration::from_millis(23));
        // Nothing is released before what was released is sent.
        assert!(pace.wait(3299, step, &stop).is_none());
        assert_eq!(pace.released, 3300);
    }
}
