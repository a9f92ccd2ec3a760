//! Bytes that arrived at netserver, by time.

use crate::figures::count;

/// netserver's counts of received bytes at instants of its clock, in order. The first sample
/// precedes all data, the last one follows all data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The counts.
    pub samples: Vec<ArrivalSample>,
}

/// The count at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalSample {
    /// The instant, nanoseconds of `CLOCK_MONOTONIC` of netserver's host: several sessions may have
    /// received the data.
    pub nanos: u64,
    /// Bytes received until then.
    pub bytes: u64,
}

/// An amount that arrived within a part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArrivedAmount {
    /// The amount, bytes.
    pub bytes: u64,
    /// Bound of its error, bytes; `None` if unknown.
    pub error: Option<u64>,
}

impl ArrivedAmount {
    /// The amount of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let errors = self.error.zip(other.error);
        Self {
            bytes: self.bytes + other.bytes,
            error: errors.map(|(one, another)| one + another),
        }
    }
}

/// Offset of netserver's monotonic clock from netperf's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonotonicOffset {
    /// netserver's clock minus netperf's, nanoseconds.
    pub nanos: i128,
    /// Bound of its error, nanoseconds.
    pub error: u64,
}

impl MonotonicOffset {
    /// The offset from readings of netserver's clock, each between two of netperf's: the centre
    /// of the intersection of the intervals that they leave. `None` without a reading, and if
    /// the intervals do not intersect.
    #[must_use]
    pub fn of(readings: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<Self> {
        let mut bounds: Option<(i128, i128)> = None;
        for (before, there, after) in readings {
            let least = i128::from(there) - i128::from(after);
            let most = i128::from(there) - i128::from(before);
            let (low, high) = bounds.unwrap_or((least, most));
            bounds = Some((low.max(least), high.min(most)));
        }
        let (low, high) = bounds.filter(|(low, high)| low <= high)?;
        Some(Self {
            nanos: low + (high - low) / 2,
            error: u64::try_from((high - low + 1) / 2).unwrap_or(u64::MAX),
        })
    }
}

/// An amount with its lower and upper bound.
#[derive(Clone, Copy)]
struct Bounded {
    amount: f64,
    low: f64,
    high: f64,
}

impl Arrivals {
    /// The bytes that arrived from `begin` on for `length`, both in nanoseconds by netperf's
    /// clock. `None` without samples, and if samples are farther apart than `farthest`, nanoseconds.
    #[must_use]
    pub fn within(
        &self,
        begin: u64,
        length: u64,
        farthest: u64,
        clock: MonotonicOffset,
    ) -> Option<ArrivedAmount> {
        let begin = i128::from(begin) + clock.nanos;
        let from = self.until(begin, farthest, clock.error)?;
        let to = self.until(begin + i128::from(length), farthest, clock.error)?;
        let amount = (to.amount - from.amount).max(0.0);
        let (low, high) = (to.low - from.high, to.high - from.low);
        let error = (high - amount).max(amount - low).max(0.0);
        Some(ArrivedAmount {
            bytes: rounded(amount),
            error: Some(rounded(error.ceil())),
        })
    }

    /// Bytes until an instant of netserver's clock that is known with this error. Between two
    /// samples the count is interpolated, if they are not farther apart than `farthest` or nothing
    /// arrived between them.
    fn until(&self, at: i128, farthest: u64, error: u64) -> Option<Bounded> {
        let nanos = |sample: &ArrivalSample| i128::from(sample.nanos);
        let neighbours = |at: i128| {
            let until = self.samples.partition_point(|sample| nanos(sample) <= at);
            let from = self.samples.partition_point(|sample| nanos(sample) < at);
            let (first, last) = (self.samples.first()?, self.samples.last()?);
            let before = until.checked_sub(1).and_then(|at| self.samples.get(at));
            Some((
                before.unwrap_or(first),
                self.samples.get(from).unwrap_or(last),
            ))
        };
        let (before, after) = neighbours(at)?;
        let gap = after.nanos.saturating_sub(before.nanos);
        let arrived = after.bytes.saturating_sub(before.bytes);
        if arrived > 0 && gap > farthest {
            return None;
        }
        let past = u64::try_from(at - nanos(before)).unwrap_or(0).min(gap);
        let share = count(past) / count(gap.max(1));
        let error = i128::from(error);
        Some(Bounded {
            amount: count(before.bytes) + count(arrived) * share,
            low: count(neighbours(at - error)?.0.bytes),
            high: count(neighbours(at + error)?.1.bytes),
        })
    }

    /// When the last of the data arrived, nanoseconds of netperf's clock: between two samples at the
    /// rate at which it came before. `None` with fewer than two samples.
    #[must_use]
    pub fn last_arrival(&self, clock: MonotonicOffset) -> Option<u64> {
        let last = self.samples.last()?.bytes;
        let all = self.samples.iter().position(|one| one.bytes == last)?;
        let (before, with) = (
            self.samples.get(all.checked_sub(1)?)?,
            self.samples.get(all)?,
        );
        let first = self.samples.iter().find(|one| one.bytes > 0)?;
        let gap = count(with.nanos.saturating_sub(before.nanos));
        let came = before.bytes.saturating_sub(first.bytes);
        let per_byte = count(before.nanos.saturating_sub(first.nanos)) / count(came.max(1));
        let rest = count(last.saturating_sub(before.bytes)) * per_byte;
        let after = if came > 0 { rest.min(gap) } else { gap };
        let there = i128::from(before.nanos) + i128::from(rounded(after));
        u64::try_from(there - clock.nanos).ok()
    }

    /// The time in which all of the data arrived, seconds, and the bound of its error. It is the
    /// time from the first sample with data to the last arrival, extended by the share of the
    /// data that the first sample has already. `None` with fewer than two such samples, and if
    /// the first one has more than half of the data.
    #[must_use]
    pub fn span(&self) -> Option<(f64, f64)> {
        let last = self.samples.last()?.bytes;
        let begin = self.samples.iter().position(|sample| sample.bytes > 0)?;
        let end = self
            .samples
            .iter()
            .position(|sample| sample.bytes == last)?;
        let at = |index: usize| self.samples.get(index);
        let seconds = |from: &ArrivalSample, to: &ArrivalSample| {
            count(to.nanos.saturating_sub(from.nanos)) / 1e9
        };
        let (from, to) = (at(begin)?, at(end)?);
        let blur = |index: usize| Some(seconds(at(index.checked_sub(1)?)?, at(index)?));
        let blur = blur(begin)?.max(blur(end)?);
        let is_most = |later: &u64| *later > 0 && *later >= from.bytes;
        let later = last.checked_sub(from.bytes).filter(is_most)?;
        let share = count(last) / count(later);
        Some((seconds(from, to) * share, blur * share))
    }

    /// Largest part of all data by which data that arrives evenly is early or late.
    pub const UNEVEN: f64 = 0.02;

    /// The time in which all of the data arrived, seconds, at the rate at which it came evenly
    /// between the first sample with data and the last that was taken before all was there.
    /// `None` with fewer than four such samples, and if it came unevenly.
    #[must_use]
    pub fn steady_span(&self) -> Option<f64> {
        let last = self.samples.last()?.bytes;
        let partial = |sample: &&ArrivalSample| sample.bytes > 0 && sample.bytes < last;
        let between: Vec<&ArrivalSample> = self.samples.iter().filter(partial).collect();
        let (first, end) = (between.first()?, between.last()?);
        let bytes = |sample: &ArrivalSample| count(sample.bytes - first.bytes);
        let seconds = |sample: &ArrivalSample| count(sample.nanos - first.nanos) / 1e9;
        let mean = bytes(end) / seconds(end);
        let is_even = |sample: &&ArrivalSample| {
            (bytes(sample) - mean * seconds(sample)).abs() <= count(last) * Self::UNEVEN
        };
        let is_steady = between.len() >= 4 && between.iter().all(is_even);
        (is_steady && mean > 0.0).then(|| count(last) / mean)
    }
}

/// A count that was computed; below 2^53 exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and an amount is not negative"
)]
fn rounded(amount: f64) -> u64 {
    amount.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples at these milliseconds with these bytes.
    fn of(all: &[(u64, u64)]) -> Arrivals {
        let sample = |&(milli, bytes): &(u64, u64)| ArrivalSample {
            nanos: milli * 1_000_000,
            bytes,
        };
        Arrivals {
            samples: all.iter().map(sample).collect(),
        }
    }

    #[test]
    fn the_rate_of_even_arrivals_tells_the_time_between_samples() {
        // 1000 bytes per millisecond from 50 to 950 ms; the last sample is at 1400.
        let even = [
            (0, 0),
            (200, 150_000),
            (400, 350_000),
            (600, 550_000),
            (800, 750_000),
            (1400, 900_000),
        ];
        assert!((of(&even).steady_span().unwrap() - 0.9).abs() < 1e-9);
        assert_eq!(of(&even[..4]).steady_span(), None);
        let mut uneven = even;
        uneven[2].1 += 30_000;
        assert_eq!(of(&uneven).steady_span(), None);
        assert_eq!(Arrivals::default().steady_span(), None);
    }

    #[test]
    fn last_arrival_is_between_samples_by_the_rate_before() {
        let clock = MonotonicOffset {
            nanos: 100_000_000,
            error: 0,
        };
        let at = |all: &[(u64, u64)]| of(all).last_arrival(clock);
        // 1000 bytes per millisecond: the last 50,000 take 50 ms behind the sample at 800 ms.
        let even = [(200, 0), (400, 150_000), (800, 550_000), (1400, 600_000)];
        assert_eq!(at(&even), Some(750_000_000));
        // Not later than the sample that has all of it.
        assert_eq!(at(&[(400, 100), (600, 200), (700, 900)]), Some(600_000_000));
        assert_eq!(at(&[(400, 0), (600, 200), (700, 200)]), Some(500_000_000));
        assert_eq!(at(&[(400, 200)]), None);
        assert_eq!(at(&[]), None);
    }

    /// A byte per microsecond from 1 ms to 11 ms, seen every millisecond.
    fn arrivals() -> Arrivals {
        let sample = |milli: u64| ArrivalSample {
            nanos: milli * 1_000_000,
            bytes: milli.clamp(1, 11) * 1000 - 1000,
        };
        Arrivals {
            samples: (0..=20).map(sample).collect(),
        }
    }

    #[test]
    fn edges_are_interpolated_and_converted_to_the_other_clock() {
        let clock = MonotonicOffset {
            nanos: 2_000_000,
            error: 0,
        };
        let amount = arrivals()
            .within(500_000, 10_000_000, 2_500_000, clock)
            .unwrap();
        assert_eq!(amount.bytes, 8500);
        assert_eq!(amount.error, Some(500));
        let all = arrivals().within(0, 30_000_000, 7_500_000, MonotonicOffset::default());
        assert_eq!(
            all.map(|all| (all.bytes, all.error)),
            Some((10_000, Some(0)))
        );
    }

    #[test]
    fn samples_that_are_far_apart_do_not_tell() {
        let clock = MonotonicOffset::default();
        assert_eq!(
            arrivals().within(2_500_000, 3_000_000, 750_000, clock),
            None
        );
        assert!(
            arrivals()
                .within(2_500_000, 100_000, 9_000_000, clock)
                .is_some()
        );
        // Nothing arrives there.
        assert!(
            arrivals()
                .within(12_500_000, 5_000_000, 1_250_000, clock)
                .is_some()
        );
        assert_eq!(Arrivals::default().within(0, 1, 0, clock), None);
    }

    #[test]
    fn the_error_grows_with_that_of_the_clock() {
        let clock = MonotonicOffset {
            nanos: 0,
            error: 1_000_000,
        };
        let amount = arrivals().within(0, 10_000_000, 2_500_000, clock).unwrap();
        assert_eq!((amount.bytes, amount.error), (9000, Some(1000)));
    }

    #[test]
    fn a_span_goes_from_the_first_arrival_to_the_last() {
        let (span, blur) = arrivals().span().unwrap();
        assert!((span - 0.01).abs() < 1e-9 && (blur - 0.001 / 0.9).abs() < 1e-9);
        assert_eq!(Arrivals::default().span(), None);
        let half = |bytes: u64| {
            let counts = [0, bytes, 1000].into_iter().zip(0..);
            let sample = |(bytes, nanos)| ArrivalSample { nanos, bytes };
            Arrivals {
                samples: counts.map(sample).collect(),
            }
        };
        assert!(half(500).span().is_some());
        assert_eq!(half(501).span(), None);
    }

    #[test]
    fn an_offset_is_bounded_by_all_readings() {
        let of = |readings: &[(u64, u64, u64)]| MonotonicOffset::of(readings.iter().copied());
        let offset = of(&[(0, 1050, 100), (200, 1210, 220)]).unwrap();
        // 950 to 1050, and 990 to 1010.
        assert_eq!((offset.nanos, offset.error), (1000, 10));
        let back = of(&[(1000, 50, 1010)]).unwrap();
        assert_eq!((back.nanos, back.error), (-955, 5));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, 100, 10), (0, 200, 10)]), None);
    }
}
