//! Recording how long operations take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netperf_model::latency::{Bucket, Latency};

/// Upper limit of the histogram: a day, in nanoseconds.
const LONGEST: u64 = 86_400_000_000_000;
/// Each power of two has 2 to the power of this many buckets of one width: a bucket is
/// less than a thousandth of its values wide.
const BITS: u32 = 10;
/// Buckets for times up to [`LONGEST`].
const BUCKETS: usize = bucket(LONGEST) + 1;

/// A log-linear histogram with exact extremes and moments. Recording allocates nothing.
///
/// The counts can be read by another thread meanwhile; only the recording one writes them,
/// so that no write has to be atomic as a whole.
#[derive(Debug)]
pub struct Recording {
    counts: Arc<[AtomicU64]>,
    min: u64,
    max: u64,
    sum: u64,
    sum_of_squares: u128,
}

/// The bucket of a time. Times below 2 to the power of [`BITS`] + 1 have one each.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "an index of some ten thousands"
)]
const fn bucket(nanos: u64) -> usize {
    let shift = u64::BITS - 1 - BITS - (nanos | 1 << BITS).leading_zeros();
    ((shift as usize) << BITS) + (nanos >> shift) as usize
}

/// The shortest and the longest time of a bucket.
const fn bounds(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    let shift = (bucket >> BITS).saturating_sub(1);
    let from = (bucket - (shift << BITS)) << shift;
    (from, from + (1 << shift) - 1)
}

impl Clone for Recording {
    /// A clone is independent of the original.
    fn clone(&self) -> Self {
        let copy = |count: &AtomicU64| AtomicU64::new(count.load(Ordering::Relaxed));
        Self {
            counts: self.counts.iter().map(copy).collect(),
            ..*self
        }
    }
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// Nothing recorded yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_of_squares: 0,
        }
    }

    /// Records a time in nanoseconds; one beyond a day counts as a day.
    #[inline]
    pub fn record_nanos(&mut self, nanos: u64) {
        let nanos = nanos.min(LONGEST);
        // New extremes are rare: a branch not taken costs less than a store.
        if nanos < self.min {
            self.min = nanos;
        }
        if nanos > self.max {
            self.max = nanos;
        }
        // Centuries of nanoseconds, of all operations together.
        self.sum = self.sum.wrapping_add(nanos);
        self.sum_of_squares += u128::from(nanos) * u128::from(nanos);
        if let Some(count) = self.counts.get(bucket(nanos)) {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Lets another thread look at what is recorded.
    #[must_use]
    pub fn watched(&self) -> HistogramView {
        HistogramView(Arc::clone(&self.counts))
    }

    /// The recorded values, as plain data.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "figures of statistics, of which no more than 15 digits are read"
    )]
    pub fn latency(&self) -> Latency {
        let buckets = filled(&self.counts);
        let count = buckets.iter().map(|bucket| bucket.count).sum();
        Latency {
            buckets,
            count,
            min: if count == 0 { 0 } else { self.min },
            max: self.max,
            sum: self.sum as f64,
            sum_of_squares: self.sum_of_squares as f64,
            clock_error: 0.0,
        }
    }
}

/// The buckets that hold anything.
fn filled(counts: &[AtomicU64]) -> Vec<Bucket> {
    let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
    let filled = counts.enumerate().filter(|(_, count)| *count > 0);
    let bucket = |(index, count)| {
        let (from, to) = bounds(index);
        Bucket { from, to, count }
    };
    filled.map(bucket).collect()
}

/// A look at what another thread records.
#[derive(Clone, Debug)]
pub struct HistogramView(Arc<[AtomicU64]>);

impl HistogramView {
    /// Recorded values so far, in ascending order. May or may not include operations that end
    /// during the call.
    #[must_use]
    pub fn buckets(&self) -> Vec<Bucket> {
        filled(&self.0)
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
    fn another_thread_sees_what_was_recorded() {
        let mut recording = Recording::new();
        let watch = recording.watched();
        assert_eq!(watch.buckets(), []);
        recording.record_nanos(100);
        recording.record_nanos(100);
        recording.record_nanos(7_000_000);
        assert_eq!(watch.buckets(), recording.latency().buckets);
        let counts: Vec<u64> = watch.buckets().iter().map(|bucket| bucket.count).collect();
        assert_eq!(counts, [2, 1]);
    }

    #[test]
    fn extremes_and_sums_are_exact() {
        let latency = recorded(&[5_000_001, 3, 4, 7_000_003]);
        assert_eq!((latency.min, latency.max), (3, 7_000_003));
        assert_eq!(latency.sum, 12_000_011.0);
        let squares = [5_000_001_u64, 3, 4, 7_000_003].map(|time| time * time);
        assert_eq!(latency.sum_of_squares, squares.iter().sum::<u64>() as f64);
    }

    #[test]
    fn a_clone_has_what_was_recorded_and_nothing_of_later() {
        let mut recording = Recording::new();
        recording.record_nanos(100);
        let clone = recording.clone();
        recording.record_nanos(50);
        assert_eq!(clone.latency(), recorded(&[100]));
        assert_eq!(recording.latency(), recorded(&[100, 50]));
    }

    #[test]
    fn histogram_without_records_is_empty() {
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

    #[test]
    fn every_time_lies_in_its_bucket_and_buckets_follow_each_other() {
        for bucket_before in 0..BUCKETS - 1 {
            assert_eq!(bounds(bucket_before).1 + 1, bounds(bucket_before + 1).0);
        }
        for time in (0..47).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]) {
            let (from, to) = bounds(bucket(time));
            assert!((from..=to).contains(&time), "{time}");
            assert!((to - from) * 1000 < from.max(1), "{from}..{to}");
        }
    }
}
