//! Clocks of two hosts: how far one is ahead of the other, with hard bounds (RFC 5905, section 8).

use serde::{Deserialize, Serialize};

/// Largest difference of the speeds of two clocks that is assumed, parts per million: quartz
/// deviates by 50 at most.
const DRIFT_PPM: f64 = 100.0;
/// Share of a window by which it may be cut wrong without a warning.
const CUT_SHARE: f64 = 0.001;
/// Step of a system clock that is reported, seconds.
const STEP: f64 = 0.01;

/// A question about a clock: when it was sent and answered by the own clock, and when it came and
/// was answered by the other one; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// When the question was sent, by the own clock.
    pub asked: u64,
    /// When it came, by the other clock.
    pub received: u64,
    /// When the answer was sent, by the other clock.
    pub sent: u64,
    /// When the answer came, by the own clock.
    pub answered: u64,
}

/// The other clock minus the own one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffsetInterval {
    /// Own time of the readings, nanoseconds.
    pub at: u64,
    /// Estimate: the centre of the interval, nanoseconds.
    pub offset: f64,
    /// Half of the interval in which the offset lies for sure, nanoseconds.
    pub bound: f64,
    /// Shortest time from question to answer, nanoseconds.
    pub round_trip: f64,
}

#[expect(clippy::cast_precision_loss, reason = "differences are below 2^53 ns")]
fn difference(later: u64, earlier: u64) -> f64 {
    if later >= earlier {
        (later - earlier) as f64
    } else {
        -((earlier - later) as f64)
    }
}

impl OffsetInterval {
    /// The offset from readings; `None` without any. The offset lies in the interval of each
    /// reading, so it lies in the intersection.
    #[must_use]
    pub fn of(readings: &[ClockReading]) -> Option<Self> {
        let last = readings.iter().map(|one| one.answered).max()?;
        // Differences to a reference keep all digits.
        let base = readings.first()?;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut round_trip = f64::INFINITY;
        for one in readings {
            let age = difference(last, one.answered) * DRIFT_PPM * 1e-6;
            let there = |at| difference(at, base.received);
            let here = |at| difference(at, base.asked);
            // It was received after it was asked, and answered after it was sent.
            high = high.min(there(one.received) - here(one.asked) + age);
            low = low.max(there(one.sent) - here(one.answered) - age);
            let own = difference(one.answered, one.asked);
            round_trip = round_trip.min(own - difference(one.sent, one.received));
        }
        let offset = f64::midpoint(low, high);
        let reference = difference(base.received, base.asked);
        Some(Self {
            at: last,
            offset: offset + reference,
            bound: ((high - low) / 2.0).abs(),
            round_trip: round_trip.max(0.0),
        })
    }

    /// The other clock's reading at an own time.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an offset of clocks is below 2^63 ns"
    )]
    pub fn there(&self, own: u64) -> u64 {
        own.saturating_add_signed(self.offset.round() as i64)
    }
}

/// Offsets before and after the load, and those between by interpolation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockCourse {
    /// Offset before the load.
    pub before: OffsetInterval,
    /// Offset after it.
    pub after: Option<OffsetInterval>,
}

impl ClockCourse {
    /// The speed of the other clock beyond that of the own one, parts per million; `None` where
    /// the bounds of the offsets leave open which is faster.
    #[must_use]
    pub fn drift_ppm(&self) -> Option<f64> {
        let after = self.after?;
        let (time, moved) = (
            difference(after.at, self.before.at),
            after.offset - self.before.offset,
        );
        let known = moved.abs() > after.bound + self.before.bound;
        (time > 0.0 && known).then(|| moved / time * 1e6)
    }

    /// The own time at which the other clock read this, and how wrong that may be, nanoseconds.
    #[must_use]
    pub fn here(&self, there: u64) -> (f64, f64) {
        let offset = self.before.offset;
        let at = |offset: f64| difference(there, 0) - offset;
        let Some(after) = self.after else {
            let age = (at(offset) - difference(self.before.at, 0)).abs();
            return (at(offset), self.before.bound + age * DRIFT_PPM * 1e-6);
        };
        let length = difference(after.at, self.before.at).max(1.0);
        let share = (at(offset) - difference(self.before.at, 0)) / length;
        let share = share.clamp(0.0, 1.0);
        let between = offset + (after.offset - offset) * share;
        (at(between), self.before.bound.max(after.bound))
    }
}

/// Uncertainty of a clock whose offset is known to within `bound`, for windows of this length;
/// all in seconds.
#[must_use]
pub fn doubt(bound: f64, window: f64) -> Option<String> {
    let share = bound / window;
    (share > CUT_SHARE).then(|| {
        format!(
            "its clock is known to within {:.1} ms only, {:.2} % of the window: the path to it is long \
             or has a queue in one direction",
            bound * 1e3,
            share * 100.0
        )
    })
}

/// The report of a step of the system clock, if there was one.
#[must_use]
pub fn step(seconds: f64) -> Option<String> {
    (seconds.abs() >= STEP).then(|| {
        format!(
            "its system clock was set by {seconds:+.3} s meanwhile; windows do not use that clock"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(asked: u64, ahead: u64, there: u64, back: u64) -> ClockReading {
        let received = asked + ahead + there;
        ClockReading {
            asked,
            received,
            sent: received + 500,
            answered: asked + there + 500 + back,
        }
    }

    #[test]
    fn the_offset_lies_within_its_bound_whatever_the_path_does() {
        let ahead = 1_000_000_000_000;
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for case in 0..1000 {
            // A queue in one direction makes the centre wrong, and the bound large.
            let queue = if case % 2 == 0 { 20_000_000 } else { 1 };
            let readings: Vec<_> = (0..16)
                .map(|step| {
                    let out = 1_000 + random(50_000) + queue;
                    reading(
                        5_000_000_000 + step * 1_000_000,
                        ahead,
                        out,
                        1_000 + random(50_000),
                    )
                })
                .collect();
            let found = OffsetInterval::of(&readings).unwrap();
            let error = (found.offset - 1e12).abs();
            assert!(error <= found.bound + 1.0, "{error} {found:?}");
        }
        assert_eq!(OffsetInterval::of(&[]), None);
    }

    #[test]
    fn drift_is_interpolated() {
        let ahead = 3_000_000_000;
        let second = 1_000_000_000;
        // 100 parts per million faster for 20 s.
        let moved = 2_000_000;
        let of = |asked, ahead| OffsetInterval::of(&[reading(asked, ahead, 2_000, 2_000)]).unwrap();
        let course = ClockCourse {
            before: of(10 * second, ahead),
            after: Some(of(30 * second, ahead + moved)),
        };
        let drift = course.drift_ppm().unwrap();
        assert!((drift - 100.0).abs() < 0.1, "{drift}");
        let (here, error) = course.here(20 * second + ahead + moved / 2);
        assert!((here - 20e9).abs() < 5e3, "{here}");
        assert!(error <= 2_000.0 + 1.0, "{error}");
        let steady = ClockCourse {
            after: Some(of(30 * second, ahead + 100)),
            ..course
        };
        assert_eq!(steady.drift_ppm(), None);
    }

    #[test]
    fn a_clock_that_is_faster_by_100_ppm_is_followed_to_50_us() {
        // Truth: the other clock at own time t, and a path of 40 us with random delays.
        let other = |own: u64| 7_000_000_000 + own + own / 10_000;
        let mut seed = 3_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut sync = |begin: u64| {
            let readings = (0..16).map(|step| {
                let asked = begin + step * 200_000;
                let came = asked + 20_000 + random(60_000);
                let left = came + 2_000;
                ClockReading {
                    asked,
                    received: other(came),
                    sent: other(left),
                    answered: left + 20_000 + random(60_000),
                }
            });
            OffsetInterval::of(&readings.collect::<Vec<_>>()).unwrap()
        };
        let second = 1_000_000_000;
        let course = ClockCourse {
            before: sync(100 * second),
            after: Some(sync(120 * second)),
        };
        let drift = course.drift_ppm().unwrap();
        assert!((drift - 100.0).abs() <= 5.0, "{drift}");
        for own in (100..=120).map(|seconds| seconds * second) {
            let (here, bound) = course.here(other(own));
            let error = (here - difference(own, 0)).abs();
            assert!(
                error <= 50_000.0 && error <= bound + 1.0,
                "{own}: {error} {bound}"
            );
        }
        // Without a second synchronisation the bound grows with the time.
        let alone = ClockCourse {
            after: None,
            ..course
        };
        let (here, bound) = alone.here(other(120 * second));
        let error = (here - difference(120 * second, 0)).abs();
        assert!(error > 1e6 && error <= bound, "{error} {bound}");
    }

    #[test]
    fn a_bound_that_matters_for_the_window_is_doubtful() {
        assert_eq!(doubt(1e-5, 5.0), None);
        assert_eq!(doubt(0.004, 5.0), None);
        let line = doubt(0.0102, 5.0).unwrap();
        assert!(
            line.contains("10.2 ms") && line.contains("0.20 %"),
            "{line}"
        );
        assert_eq!(step(0.009), None);
        assert!(step(-1.0).unwrap().contains("-1.000 s"));
    }
}
