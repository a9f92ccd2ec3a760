//! The one place that reads a clock.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use netperf_os::ticks;

/// A moment of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(std::time::Instant);

/// Now.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> Moment {
    Moment(std::time::Instant::now())
}

/// Origin of [`Moment::nanos`]: the first time that it was asked for.
static ORIGIN: OnceLock<Moment> = OnceLock::new();

/// The time since 1970 by the system clock, for identifiers and time stamps.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
}

/// Now by `CLOCK_MONOTONIC` of this host (clock_gettime(2)), nanoseconds.
#[must_use]
pub fn monotonic() -> u64 {
    ticks::monotonic()
}

/// Attempts to read two clocks without an interruption between them.
const PAIRS: u32 = 8;

/// A moment and the reading of `CLOCK_MONOTONIC` at it, from the attempt with the least time
/// between the two.
fn moment_and_reading() -> (Moment, u64) {
    let pair = || {
        let before = now();
        let reading = monotonic();
        (now().since(before), before, reading)
    };
    let mut best = pair();
    for _ in 1..PAIRS {
        let next = pair();
        if next.0 < best.0 {
            best = next;
        }
    }
    let (between, before, reading) = best;
    (before.plus(between / 2), reading)
}

/// The moment at which `CLOCK_MONOTONIC` reads this many nanoseconds.
#[must_use]
pub fn at_monotonic(nanos: u64) -> Moment {
    let (moment, reading) = moment_and_reading();
    match nanos.checked_sub(reading) {
        Some(ahead) => moment.plus(Duration::from_nanos(ahead)),
        None => moment.minus(Duration::from_nanos(reading - nanos)),
    }
}

impl Moment {
    /// The time from `earlier` to this moment; zero when it is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The time from `earlier` to this moment in nanoseconds.
    #[inline]
    #[must_use]
    pub fn nanos_since(self, earlier: Self) -> u64 {
        u64::try_from(self.since(earlier).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Nanoseconds from a moment that is the same in all of this process; 0 before it.
    #[must_use]
    pub fn nanos(self) -> u64 {
        self.nanos_since(*ORIGIN.get_or_init(now))
    }

    /// The reading of `CLOCK_MONOTONIC` at this moment, nanoseconds.
    #[must_use]
    pub fn monotonic(self) -> u64 {
        let (moment, reading) = moment_and_reading();
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let age = moment.since(self);
        if age.is_zero() {
            reading.saturating_add(nanos(self.since(moment)))
        } else {
            reading.saturating_sub(nanos(age))
        }
    }

    /// The time since this moment.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        now().since(self)
    }

    /// This moment and `later` more; far in the future when that cannot be said.
    #[must_use]
    pub fn plus(self, later: Duration) -> Self {
        Self(
            self.0
                .checked_add(later)
                .unwrap_or(self.0 + Duration::from_secs(1 << 30)),
        )
    }

    /// The moment so much earlier; this one where there is none.
    #[must_use]
    pub fn minus(self, earlier: Duration) -> Self {
        Self(self.0.checked_sub(earlier).unwrap_or(self.0))
    }

    /// The time left until this moment; zero when it has passed.
    #[must_use]
    pub fn left(self) -> Duration {
        self.since(now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_passed_has_no_time_left() {
        let start = now();
        assert_eq!(start.left(), Duration::ZERO);
        assert!(start.plus(Duration::from_secs(5)).left() > Duration::from_secs(4));
    }
}
