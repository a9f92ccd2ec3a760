//! The one place that reads a clock.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use netperf_os::{alarm, ticks, wait};

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

/// The time during which a clock was read, the moment before, and the reading.
type Attempt = (Duration, Moment, u64);

/// A moment and the reading of `CLOCK_MONOTONIC` at it, from the attempt with the least time
/// between the two.
fn moment_and_reading() -> (Moment, u64) {
    let attempt = || {
        let before = now();
        let reading = monotonic();
        (now().since(before), before, reading)
    };
    closest(attempt(), (1..PAIRS).map(|_| attempt()))
}

fn closest(first: Attempt, others: impl Iterator<Item = Attempt>) -> (Moment, u64) {
    let (between, before, reading) = others.fold(
        first,
        |best, next| if next.0 < best.0 { next } else { best },
    );
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

    /// The first moment after `passed` that lies a whole number of intervals after this one, and at
    /// least one. A program that did not run for a while skips the ends of intervals that it missed.
    #[must_use]
    pub fn next_whole(self, interval: Duration, passed: Self) -> Self {
        let length = interval.as_nanos().max(1);
        let missed = passed.since(self).as_nanos() / length;
        let ahead = u64::try_from((missed + 1).saturating_mul(length));
        self.plus(Duration::from_nanos(ahead.unwrap_or(u64::MAX)))
    }

    /// The time left until this moment; zero when it has passed.
    #[must_use]
    pub fn left(self) -> Duration {
        self.since(now())
    }
}

/// Longest sleep between two looks whether the user stops the program.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Sleeps until a moment. Returns false if the user stops the program before.
pub fn sleep_until(moment: Moment) -> bool {
    loop {
        if alarm::stopped_by_user() {
            return false;
        }
        let left = moment.left();
        if left.is_zero() {
            return true;
        }
        // A signal just before the sleep does not end it.
        wait::sleep(left.min(LONGEST_SLEEP));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_whole_interval_is_the_first_that_has_not_passed() {
        let start = now();
        let at = |millis| start.plus(Duration::from_millis(millis));
        let next = |passed| start.next_whole(Duration::from_millis(10), at(passed));
        assert_eq!(next(0), at(10));
        assert_eq!(next(9), at(10));
        assert_eq!(next(10), at(20));
        assert_eq!(next(35), at(40));
        let before = start.next_whole(
            Duration::from_millis(10),
            start.minus(Duration::from_secs(1)),
        );
        assert_eq!(before, at(10));
    }

    #[test]
    fn a_deadline_that_passed_has_no_time_left() {
        let start = now();
        assert_eq!(start.left(), Duration::ZERO);
        assert!(start.plus(Duration::from_secs(5)).left() > Duration::from_secs(4));
    }

    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn both_clocks_are_those_of_the_system() {
        let unix = UNIX_EPOCH.elapsed().unwrap();
        assert!(since_epoch().abs_diff(unix) < HOUR, "{unix:?}");
        let before = ticks::monotonic();
        let now = monotonic();
        assert!((before..=ticks::monotonic()).contains(&now), "{now}");
    }

    #[test]
    fn a_moment_moves_by_as_much_as_is_said_and_never_out_of_range() {
        let start = now();
        assert_eq!(start.plus(HOUR).since(start), HOUR);
        assert_eq!(start.plus(HOUR).nanos_since(start), 3_600_000_000_000);
        assert_eq!(start.plus(HOUR).minus(HOUR), start);
        assert_eq!(start.minus(Duration::MAX), start);
        assert!(start.plus(Duration::MAX).since(start) > 10_000 * HOUR);
        assert!(start.minus(SECOND).elapsed() >= SECOND);
    }

    #[test]
    fn nanoseconds_of_this_process_advance_with_time() {
        let (origin, start) = (now().nanos(), now());
        assert!(start.nanos() >= origin);
        assert_eq!(start.plus(SECOND).nanos(), start.nanos() + 1_000_000_000);
    }

    #[test]
    fn a_reading_leads_back_to_its_moment() {
        let reading = monotonic();
        for nanos in [reading / 2, reading, reading + 3_600_000_000_000] {
            let found = at_monotonic(nanos).monotonic();
            assert!(found.abs_diff(nanos) < 1_000_000_000, "{found} {nanos}");
        }
    }

    #[test]
    fn a_reading_is_of_the_middle_of_the_shortest_attempt() {
        let start = now();
        let micros = Duration::from_micros;
        let attempt = |between, reading| (micros(between), start, reading);
        let others = [attempt(20, 2), attempt(40, 3), attempt(20, 4)];
        let (moment, reading) = closest(attempt(30, 1), others.into_iter());
        assert_eq!((moment.since(start), reading), (micros(10), 2));
    }
}
