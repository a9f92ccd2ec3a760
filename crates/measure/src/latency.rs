//! Recording how long operations take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netperf_model::latency::{Bucket, Latency};

/// The longest time that is told from longer ones: a day, in nanoseconds.
const LONGEST: u64 = 86_400_000_000_000;
/// Each power of two has 2 to the power of this many buckets of one width: a bucket is
/// less than a thousandth of its values wide.
const BITS: u32 = 10;
/// Buckets for times up to [`LONGEST`].
const BUCKETS: usize = bucket(LONGEST) + 1;

/// A log-linear histogram with exact extremes and moments. Recording allocates nothing.
///
/// One thread records. Others may look at the counts meanwhile ([`Recording::times`]):
/// they are loaded and stored whole, which takes no more instructions than plain ones.
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
            // Nobody else stores, so nothing is lost between the two.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// The counts, for another thread to look at while this one goes on.
    #[must_use]
    pub fn times(&self) -> Times {
        Times(Arc::clone(&self.counts))
    }

    /// What was recorded, as plain data.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "figures of statistics, of which no more than 15 digits are read"
    )]
    pub fn latency(&self) -> Latency {
        let counts = self.counts.iter();
        let buckets = filled(counts.map(|count| count.load(Ordering::Relaxed)));
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
fn filled(counts: impl Iterator<Item = u64>) -> Vec<Bucket> {
    let filled = counts.enumerate().filter(|(_, count)| *count > 0);
    let bucket = |(index, count)| {
        let (from, to) = bounds(index);
        Bucket { from, to, count }
    };
    filled.map(bucket).collect()
}

/// The counts of a [`Recording`] that goes on.
#[derive(Clone, Debug)]
pub struct Times(Arc<[AtomicU64]>);

/// How often each time was recorded until a moment, by one or several threads. Each count
/// is right; together they may be a few operations apart.
#[derive(Clone, Debug, Default)]
pub struct Snapshot(Vec<u64>);

impl Snapshot {
    /// Adds what was recorded until now.
    pub fn add(&mut self, times: &Times) {
        self.0.resize(times.0.len(), 0);
        for (sum, count) in self.0.iter_mut().zip(times.0.iter()) {
            *sum += count.load(Ordering::Relaxed);
        }
    }

    /// What was recorded since an earlier one; since the beginning, if that is empty.
    /// Extremes are those of the buckets, and there are no moments.
    #[must_use]
    pub fn since(&self, before: &Self) -> Latency {
        let mut earlier = before.0.iter().copied();
        let counts = self.0.iter();
        let more = counts.map(|count| count.saturating_sub(earlier.next().unwrap_or(0)));
        let buckets = filled(more);
        Latency {
            count: buckets.iter().map(|bucket| bucket.count).sum(),
            min: buckets.first().map_or(0, |bucket| bucket.from),
            max: buckets.last().map_or(0, |bucket| bucket.to),
            buckets,
            ..Latency::default()
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
    fn another_thread_sees_what_was_recorded_since_it_looked_last() {
        let mut recording = Recording::new();
        let times = recording.times();
        let look = || {
            let mut now = Snapshot::default();
            now.add(&times);
            now
        };
        recording.record_nanos(50);
        recording.record_nanos(2_000_000);
        let first = look();
        recording.record_nanos(70);
        let second = look();
        let all = second.since(&Snapshot::default());
        assert_eq!(all.buckets, recording.latency().buckets);
        assert_eq!((all.count, all.min), (3, 50));
        let since = second.since(&first);
        assert_eq!((since.count, since.min, since.max), (1, 70, 70));
        assert_eq!(second.since(&second).quantile(0.5), None);
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
