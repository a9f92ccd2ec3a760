//! Distribution of the times of operations, as plain data.

use serde::{Deserialize, Serialize};

use crate::figures::count as figure;

/// Operations with a time in one range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "bucket")]
pub struct Bucket {
    /// The shortest time of the range, nanoseconds.
    #[serde(rename = "from_nanoseconds")]
    pub from: u64,
    /// The longest time of the range, nanoseconds.
    #[serde(rename = "to_nanoseconds")]
    pub to: u64,
    /// Operations in it, at least one.
    pub count: u64,
}

/// The distribution of the time that operations took.
///
/// Three significant digits: each range is less than a thousandth of its value
/// wide. The extremes and the moments are exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// The ranges that hold anything, shortest first.
    pub buckets: Vec<Bucket>,
    /// Operations.
    pub count: u64,
    /// The shortest time, nanoseconds.
    pub min: u64,
    /// The longest time, nanoseconds.
    pub max: u64,
    /// The sum of all times, nanoseconds.
    pub sum: f64,
    /// The sum of their squares, nanoseconds squared.
    pub sum_of_squares: f64,
    /// By how much the clock that these times are of went wrong against the system's
    /// monotonic clock, as a share; what cannot be told from nothing is 0.
    pub clock_error: f64,
}

/// The decade rows of the old histogram: operations of `c` to `c + 1` times 10^`r`
/// microseconds in column `c` of row `r`, and those of 100 s and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decades {
    /// Eight rows from microseconds to tens of seconds, ten columns each.
    pub rows: [[u64; 10]; 8],
    /// 100 s and more.
    pub beyond: u64,
}

const NANOS_PER_MICRO: u64 = 1000;
/// A clock that is wrong by less than a range is wide shows nowhere.
const CLOCK_TOLERANCE: f64 = 0.001;

/// The same in fewer ranges, each at most a thirty-second of its beginning wide, or a little
/// more where one lies across two of these.
#[must_use]
pub fn coarse(buckets: &[Bucket]) -> Vec<Bucket> {
    let part =
        |bucket: &Bucket| bucket.from >> bucket.from.checked_ilog2().unwrap_or(0).saturating_sub(5);
    let octave = |bucket: &Bucket| bucket.from.checked_ilog2();
    let neighbours =
        buckets.chunk_by(|one, next| (octave(one), part(one)) == (octave(next), part(next)));
    let joined = neighbours.filter_map(|ranges| {
        let (first, last) = (ranges.first()?, ranges.last()?);
        Some(Bucket {
            from: first.from,
            to: last.to,
            count: ranges.iter().map(|range| range.count).sum(),
        })
    });
    joined.collect()
}

/// The nearest rank of a percentile among so many values, from 1: the lowest rank that the share of
/// all values does not exceed. The share is a multiple of 10^-9, so that 0.999 of 1000 values are 999,
/// whatever the binary fraction next to 0.999 is.
#[must_use]
pub fn percentile_rank(share: f64, count: u64) -> u64 {
    const PARTS: u32 = 1_000_000_000;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to PARTS"
    )]
    let parts = (share.clamp(0.0, 1.0) * f64::from(PARTS)).round() as u128;
    let rank = (parts * u128::from(count)).div_ceil(PARTS.into());
    u64::try_from(rank).unwrap_or(count).max(1)
}

impl Latency {
    /// A distribution of which only the ranges are known, shortest first: the extremes are
    /// those of the ranges, and there are no moments.
    #[must_use]
    pub fn of_ranges(buckets: Vec<Bucket>) -> Self {
        Self {
            count: buckets.iter().map(|bucket| bucket.count).sum(),
            min: buckets.first().map_or(0, |bucket| bucket.from),
            max: buckets.last().map_or(0, |bucket| bucket.to),
            buckets,
            ..Self::default()
        }
    }

    /// The distribution over several loops, each as its ranges; `None` if no loop keeps one.
    #[must_use]
    pub fn of_loops(loops: impl IntoIterator<Item = Vec<Bucket>>) -> Option<Self> {
        let each = loops.into_iter().map(Self::of_ranges);
        each.reduce(|mut all, one| {
            all.merge(&one);
            all
        })
    }

    /// The operations since an earlier distribution, without moments: counts never fall.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let more = self.buckets.iter().map(|bucket| {
            let known = before
                .buckets
                .binary_search_by_key(&bucket.from, |old| old.from);
            let old = known.ok().and_then(|at| before.buckets.get(at));
            Bucket {
                count: bucket.count.saturating_sub(old.map_or(0, |old| old.count)),
                ..*bucket
            }
        });
        Self::of_ranges(more.filter(|bucket| bucket.count > 0).collect())
    }

    /// The time that a share `p` (0 to 1) of all operations does not exceed,
    /// nanoseconds; `None` without operations. Nearest rank.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = percentile_rank(p, self.count);
        let mut seen = 0;
        for bucket in &self.buckets {
            seen += bucket.count;
            if seen >= rank {
                let middle = f64::midpoint(figure(bucket.from), figure(bucket.to));
                return Some(middle.clamp(figure(self.min), figure(self.max)));
            }
        }
        Some(figure(self.max))
    }

    /// The mean, nanoseconds; `None` without operations.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / figure(self.count))
    }

    /// The standard deviation of the population, nanoseconds; `None` without operations.
    #[must_use]
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let variance = self.sum_of_squares / figure(self.count) - mean * mean;
        Some(variance.max(0.0).sqrt())
    }

    /// True if the error of the clock shows in the times.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.clock_error > CLOCK_TOLERANCE
    }

    /// Takes in another distribution, such as that of another iteration or flow.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.clock_error = self.clock_error.max(other.clock_error);
        for bucket in &other.buckets {
            match self
                .buckets
                .binary_search_by_key(&bucket.from, |own| own.from)
            {
                Ok(at) => self.buckets[at].count += bucket.count,
                Err(at) => self.buckets.insert(at, *bucket),
            }
        }
    }

    /// The old histogram's rows. Times count in whole microseconds, rounded down.
    #[must_use]
    pub fn decades(&self) -> Decades {
        let mut decades = Decades::default();
        for bucket in &self.buckets {
            let micros = bucket.from / NANOS_PER_MICRO;
            match place(micros) {
                Some((row, column)) => decades.rows[row][column] += bucket.count,
                None => decades.beyond += bucket.count,
            }
        }
        decades
    }
}

/// The first row in which the value is below ten, and its column there.
fn place(micros: u64) -> Option<(usize, usize)> {
    let mut scaled = micros;
    for row in 0..8 {
        if scaled < 10 {
            return usize::try_from(scaled).ok().map(|column| (row, column));
        }
        scaled /= 10;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> Latency {
        let mut all = Latency::default();
        for time in times {
            let figure = figure(*time);
            all.merge(&Latency {
                buckets: vec![Bucket {
                    from: *time,
                    to: *time,
                    count: 1,
                }],
                count: 1,
                min: *time,
                max: *time,
                sum: figure,
                sum_of_squares: figure * figure,
                clock_error: 0.0,
            });
        }
        all
    }

    #[test]
    fn a_percentile_is_an_integer_rank() {
        for (share, count, rank) in [
            (0.999, 1000, 999),
            (99.9 / 100.0, 1000, 999),
            (99.9 / 100.0, 6000, 5994),
            (0.99, 100, 99),
            (0.5, 3, 2),
            (0.0, 7, 1),
            (1.0, 7, 7),
            (0.999_999_99, u64::MAX, 18_446_743_889_242_110_878),
        ] {
            assert_eq!(percentile_rank(share, count), rank, "{share} of {count}");
        }
        // 999 of 1000 operations took 1 us: so did 99.9 %.
        let buckets = [(1000, 999), (9000, 1)].map(|(time, count)| Bucket {
            from: time,
            to: time,
            count,
        });
        let times = Latency::of_ranges(buckets.to_vec());
        assert_eq!(times.quantile(99.9 / 100.0), Some(1000.0));
    }

    #[test]
    fn fewer_ranges_hold_as_many_operations_and_are_narrow_still() {
        let all = of(&(0..5000).collect::<Vec<u64>>());
        let ranges = coarse(&all.buckets);
        assert_eq!(ranges.iter().map(|range| range.count).sum::<u64>(), 5000);
        assert!(ranges.len() < 300, "{}", ranges.len());
        for range in &ranges {
            assert!(range.to - range.from <= range.from / 32, "{range:?}");
        }
    }

    #[test]
    fn latency_since_a_reading_has_only_later_operations() {
        let (before, now) = (of(&[5, 5, 7]), of(&[5, 5, 5, 6, 7]));
        assert_eq!(now.since(&before).buckets, of(&[5, 6]).buckets);
    }

    fn bucket(at: u64, count: u64) -> Bucket {
        Bucket {
            from: at,
            to: at,
            count,
        }
    }

    #[test]
    fn only_what_came_since_the_last_look_counts() {
        let before = Latency::of_ranges(vec![bucket(10, 5), bucket(30, 1)]);
        let now = Latency::of_ranges(vec![bucket(10, 5), bucket(20, 2), bucket(30, 4)]);
        let since = now.since(&before);
        assert_eq!(since.buckets, [bucket(20, 2), bucket(30, 3)]);
        assert_eq!((since.count, since.min, since.max), (5, 20, 30));
    }

    #[test]
    fn loops_that_keep_nothing_have_no_distribution() {
        assert_eq!(Latency::of_loops(Vec::new()), None);
        let both = Latency::of_loops(vec![
            vec![bucket(10, 1)],
            vec![bucket(10, 2), bucket(20, 1)],
        ]);
        let both = both.unwrap();
        assert_eq!((both.count, both.max), (4, 20));
    }

    #[test]
    fn a_quantile_is_the_nearest_rank() {
        let all = of(&[10, 20, 30, 40]);
        assert_eq!(all.quantile(0.5), Some(20.0));
        assert_eq!(all.quantile(0.51), Some(30.0));
        assert_eq!(all.quantile(0.0), Some(10.0));
        assert_eq!(all.quantile(1.0), Some(40.0));
        assert_eq!(Latency::default().quantile(0.5), None);
    }

    #[test]
    fn moments_are_those_of_the_population() {
        let all = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(all.mean(), Some(5.0));
        assert_eq!(all.standard_deviation(), Some(2.0));
    }

    #[test]
    fn a_time_goes_to_the_first_row_where_it_is_below_ten() {
        let all = of(&[9_999, 10_000, 99_000_000, 100_000_000_000]);
        let decades = all.decades();
        assert_eq!(decades.rows[0][9], 1);
        assert_eq!(decades.rows[1][1], 1);
        assert_eq!(decades.rows[4][9], 1);
        assert_eq!(decades.beyond, 1);
    }
}
