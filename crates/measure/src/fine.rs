//! A low-overhead clock for timing single operations.
//!
//! If the kernel's clock source is a processor counter (x86-64: `tsc`, 64-bit Arm:
//! `arch_sys_counter`), this clock reads the counter directly. It calibrates the rate once,
//! before a run, against `CLOCK_MONOTONIC`, to better than 100 parts per million. Otherwise
//! every reading uses `CLOCK_MONOTONIC`. Times are in nanoseconds. A tick is shorter than one
//! nanosecond on x86-64 and up to about 40 on Arm, as for the system clock. At the end of a run
//! [`FineClock::error`] reports the difference between both clocks over the whole run.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use netperf_model::figures::count as figure;
use netperf_os::ticks;

/// Calibration time; the longer one is used if the first result is not accurate enough.
const WATCHED: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];
/// Two readings, one inside the other, are taken this often for the closest pair.
const TRIES: usize = 16;
/// Required accuracy of both ends of a calibration: 1 in this many.
const EXACTLY: u64 = 10_000;
/// Binary places behind the point of nanoseconds per tick.
const PLACES: u32 = 32;

/// A reading: only the clock that it is of can say how far from another it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading(u64);

/// The clock, and what it showed when it was taken.
#[derive(Clone, Copy, Debug)]
pub struct FineClock {
    rate: TickRate,
    origin: ClockPair,
}

/// Method of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TickRate {
    /// The processor's counter, or else `CLOCK_MONOTONIC`.
    counter: bool,
    /// Nanoseconds per tick, with [`PLACES`].
    scale: u64,
}

/// The system's own clock: a tick is a nanosecond.
const SYSTEM: TickRate = TickRate {
    counter: false,
    scale: 1 << PLACES,
};

/// Readings of both clocks at the same moment.
#[derive(Clone, Copy, Debug)]
struct ClockPair {
    ticks: u64,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    nanos: u64,
    /// Ticks during which it was read.
    width: u64,
}

impl FineClock {
    /// Finds out the rate of the counter of this process, which takes some milliseconds the
    /// first time: before a run, so that nothing that is timed has to wait for it.
    pub fn prepare() {
        rate();
    }

    /// The clock of this process, from now on.
    #[must_use]
    pub fn start() -> Self {
        let rate = rate();
        Self {
            rate,
            origin: ClockPair::taken(rate),
        }
    }

    /// Now.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Reading {
        Reading(self.rate.ticks())
    }

    /// The time from one reading to another, nanoseconds; 0 when the other is not later.
    #[inline]
    #[must_use]
    pub fn nanos(&self, from: Reading, to: Reading) -> u64 {
        self.rate.nanos(to.0.saturating_sub(from.0))
    }

    /// By how much this clock and `CLOCK_MONOTONIC` differ since the start, beyond what
    /// comes of not being read at the very same moment; a share of the time since then.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.error_at(ClockPair::taken(self.rate))
    }

    fn error_at(&self, now: ClockPair) -> f64 {
        let time = now.nanos.saturating_sub(self.origin.nanos);
        let ours = self.rate.nanos(now.ticks.saturating_sub(self.origin.ticks));
        let unsure = self.rate.nanos(now.width + self.origin.width);
        let beyond = ours.abs_diff(time).saturating_sub(unsure);
        figure(beyond) / figure(time.max(1))
    }
}

/// The rate in this process, found out once.
fn rate() -> TickRate {
    static RATE: OnceLock<TickRate> = OnceLock::new();
    *RATE.get_or_init(|| WATCHED.into_iter().find_map(watched).unwrap_or(SYSTEM))
}

impl TickRate {
    #[inline]
    fn ticks(self) -> u64 {
        if self.counter {
            ticks::count()
        } else {
            ticks::monotonic()
        }
    }

    #[inline]
    fn nanos(self, ticks: u64) -> u64 {
        let nanos = (u128::from(ticks) * u128::from(self.scale)) >> PLACES;
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

impl ClockPair {
    /// The closest of several: one that was interrupted in between says little.
    fn taken(rate: TickRate) -> Self {
        let once = || {
            let before = rate.ticks();
            let nanos = ticks::monotonic();
            Self::between(before, nanos, rate.ticks())
        };
        Self::closest(once(), (1..TRIES).map(|_| once()))
    }

    /// A reading of the system's clock between two of the other one.
    const fn between(before: u64, nanos: u64, after: u64) -> Self {
        let width = after.saturating_sub(before);
        Self {
            ticks: before + width / 2,
            nanos,
            width,
        }
    }

    fn closest(first: Self, others: impl Iterator<Item = Self>) -> Self {
        others.fold(
            first,
            |best, next| {
                if next.width < best.width { next } else { best }
            },
        )
    }
}

/// The rate of the processor's counter; `None` where there is none that can be trusted, or
/// the machine let no exact look at it.
fn watched(length: Duration) -> Option<TickRate> {
    const COUNTER: TickRate = TickRate {
        counter: true,
        scale: 0,
    };
    if !ticks::is_sound() {
        return None;
    }
    let first = ClockPair::taken(COUNTER);
    thread::sleep(length);
    calibrated(first, ClockPair::taken(COUNTER))
}

fn calibrated(first: ClockPair, last: ClockPair) -> Option<TickRate> {
    let ticks = last.ticks.checked_sub(first.ticks)?;
    let nanos = last.nanos.checked_sub(first.nanos)?;
    let exact = (first.width + last.width).checked_mul(EXACTLY)? < ticks;
    let scale = (u128::from(nanos) << PLACES).checked_div(u128::from(ticks))?;
    let scale = u64::try_from(scale).ok().filter(|scale| *scale > 0)?;
    exact.then_some(TickRate {
        counter: true,
        scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_as_long_by_this_clock_as_by_the_systems() {
        let clock = FineClock::start();
        let (from, start) = (clock.now(), ticks::monotonic());
        thread::sleep(Duration::from_millis(20));
        let (to, end) = (clock.now(), ticks::monotonic());
        let (ours, theirs) = (clock.nanos(from, to), end - start);
        // Within what the two reads of each lie apart, however busy the machine is.
        assert!(ours >= 19_990_000, "{ours}");
        assert!(ours <= theirs + theirs / 1000, "{ours} {theirs}");
        assert!(clock.error() < 0.001, "{}", clock.error());
    }

    #[test]
    fn a_counter_that_runs_at_another_rate_than_was_thought_is_found_out() {
        let mut clock = FineClock::start();
        clock.rate.scale += clock.rate.scale / 100;
        thread::sleep(Duration::from_millis(20));
        // The origin was a reading, so only the time since then runs fast.
        let error = clock.error();
        assert!((0.005..0.02).contains(&error), "{error}");
    }

    #[test]
    fn the_systems_clock_is_read_where_no_counter_can_be_trusted() {
        let origin = ClockPair::taken(SYSTEM);
        let clock = FineClock {
            rate: SYSTEM,
            origin,
        };
        let from = clock.now();
        assert_eq!(clock.nanos(from, Reading(from.0 + 1500)), 1500);
        assert_eq!(clock.nanos(Reading(from.0 + 1), from), 0);
        assert!(clock.error() < 0.001);
    }

    #[test]
    fn a_difference_counts_beyond_what_both_readings_leave_open() {
        let clock = FineClock {
            rate: SYSTEM,
            origin: ClockPair::between(1000, 500, 1100),
        };
        assert_eq!(clock.origin.ticks, 1050);
        // 1500 ns by this clock, 1000 by the system's, of which 100 and 200 are open.
        let error = clock.error_at(ClockPair::between(2450, 1500, 2650));
        assert!((error - 0.2).abs() < 1e-9, "{error}");
    }

    #[test]
    fn a_reading_with_the_least_time_around_it_is_taken() {
        let wide = |width: u64| ClockPair::between(1000, 500, 1000 + width);
        let best = ClockPair::closest(wide(30), [wide(20), wide(40)].into_iter());
        assert_eq!(best.width, 20);
        assert_eq!(best.ticks, 1010);
    }

    #[test]
    fn a_rate_is_known_only_from_exact_readings() {
        let pair = |ticks, nanos, width| ClockPair {
            ticks,
            nanos,
            width,
        };
        let first = pair(1000, 5000, 1);
        // Three ticks per nanosecond.
        let rate = calibrated(first, pair(91_000, 35_000, 1)).unwrap();
        assert!(rate.counter);
        assert_eq!(rate.scale, (1 << PLACES) / 3);
        assert_eq!(rate.nanos(3000), 999);
        let exact =
            |ticks: u64, width| calibrated(first, pair(1000 + ticks, 35_000, width)).is_some();
        assert!(exact(20_001, 1) && !exact(20_000, 1));
        assert!(exact(40_001, 3) && !exact(40_000, 3));
        assert!(calibrated(first, pair(91_000, 5000, 1)).is_none());
        assert!(calibrated(first, pair(91_000, 4999, 1)).is_none());
    }
}
