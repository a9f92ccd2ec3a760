//! Recording how long operations take.

use hdrhistogram::Histogram;
use netperf_model::latency::{Bucket, Latency};

use crate::clock::Moment;

/// The longest time that is told from longer ones: a day, in nanoseconds.
const LONGEST: u64 = 86_400_000_000_000;
/// Three significant digits.
const DIGITS: u8 = 3;

/// A high-dynamic-range histogram with exact extremes and moments. Recording
/// allocates nothing.
#[derive(Clone, Debug)]
pub struct Recording {
    histogram: Histogram<u64>,
    min: u64,
    max: u64,
    sum: f64,
    sum_of_squares: f64,
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// Nothing recorded yet.
    ///
    /// # Panics
    /// Never: the bounds are valid ones.
    #[must_use]
    pub fn new() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the bounds are constants that are valid"
        )]
        let histogram = Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("valid bounds");
        Self {
            histogram,
            min: u64::MAX,
            max: 0,
            sum: 0.0,
            sum_of_squares: 0.0,
        }
    }

    /// Records the time between two moments.
    #[inline]
    pub fn record(&mut self, from: Moment, to: Moment) {
        self.record_nanos(to.nanos_since(from));
    }

    /// Records a time in nanoseconds.
    #[inline]
    #[expect(
        clippy::cast_precision_loss,
        reason = "times are far below 2^53 ns, 104 days"
    )]
    pub fn record_nanos(&mut self, nanos: u64) {
        self.histogram.saturating_record(nanos);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        let figure = nanos as f64;
        self.sum += figure;
        self.sum_of_squares += figure * figure;
    }

    /// What was recorded, as plain data.
    #[must_use]
    pub fn latency(&self) -> Latency {
        let buckets = self
            .histogram
            .iter_recorded()
            .map(|step| Bucket {
                from: self.histogram.lowest_equivalent(step.value_iterated_to()),
                to: step.value_iterated_to(),
                count: step.count_since_last_iteration(),
            })
            .collect();
        let count = self.histogram.len();
        Latency {
            buckets,
            count,
            min: if count == 0 { 0 } else { self.min },
            max: self.max,
            sum: self.sum,
            sum_of_squares: self.sum_of_squares,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(times: &[u64]) -> Latency {
        let mut recording = Recording::new();
        times.iter().for_each(|time| recording.record_nanos(*time));
        recording.latency()
    }

    /// The value of nearest rank, found the slow way.
    fn exact(times: &[u64], p: f64) -> f64 {
        let share = |at: usize| (at + 1) as f64 / times.len() as f64;
        let at = (0..times.len()).find(|at| share(*at) >= p - 1e-12);
        times[at.unwrap_or(times.len() - 1)] as f64
    }

    proptest! {
        #[test]
        fn percentiles_agree_with_an_exact_sort_within_a_thousandth(
            mut times in proptest::collection::vec(1_u64..3_600_000_000_000, 1..500),
            p in 0.0_f64..=1.0,
        ) {
            let found = recorded(&times).quantile(p).unwrap();
            times.sort_unstable();
            let exact = exact(&times, p);
            prop_assert!((found - exact).abs() <= exact / 1000.0, "{found} {exact}");
        }

        #[test]
        fn merging_is_the_same_as_recording_together(
            a in proptest::collection::vec(1_u64..1_000_000_000_000, 0..200),
            b in proptest::collection::vec(1_u64..1_000_000_000_000, 0..200),
        ) {
            let mut merged = recorded(&a);
            merged.merge(&recorded(&b));
            let together = recorded(&[a, b].concat());
            prop_assert_eq!(merged.buckets, together.buckets);
            prop_assert_eq!((merged.count, merged.max), (together.count, together.max));
        }
    }

    #[test]
    fn nothing_recorded_is_nothing() {
        let latency = recorded(&[]);
        assert_eq!(
            (latency.count, latency.min, latency.quantile(0.5)),
            (0, 0, None)
        );
    }

    #[test]
    fn a_time_beyond_a_day_still_counts() {
        let latency = recorded(&[u64::MAX / 2]);
        assert_eq!(latency.count, 1);
        assert_eq!(latency.decades().beyond, 1);
    }
}
