//! Percentiles of times, with the bounds of their error, and increases over an idle path.

use netperf_model::percentile_rank;
use netperf_stats::moments;
use serde::{Deserialize, Serialize};

/// Half the width of the 95 % interval of a normal distribution, in standard deviations.
pub(crate) const DEVIATIONS: f64 = 1.959_964;

/// A distribution of times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeDistribution {
    /// Number of values.
    pub count: usize,
    /// The least.
    pub min_seconds: f64,
    /// The mean.
    pub mean_seconds: f64,
    /// The median.
    pub p50_seconds: f64,
    /// The 95th percentile.
    pub p95_seconds: f64,
    /// The 99th percentile.
    pub p99_seconds: f64,
    /// The greatest.
    pub max_seconds: f64,
    /// The 95 % confidence interval of the median, from the order of the values and as if they were
    /// independent. Null with fewer than six values.
    pub p50_interval_seconds: Option<[f64; 2]>,
    /// Interval of the 99th percentile. Null if it would reach beyond the values.
    pub p99_interval_seconds: Option<[f64; 2]>,
}

/// Index of a percentile in so many sorted values: the least value that has at least this share of
/// all at or below it.
#[must_use]
pub fn rank(count: usize, percent: f64) -> usize {
    let rank = percentile_rank(percent / 100.0, count as u64);
    usize::try_from(rank).unwrap_or(usize::MAX) - 1
}

/// The interval of a percentile between two of the sorted values; `None` if it reaches beyond them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks of values, which are not below 1"
)]
fn interval(sorted: &[f64], percent: f64) -> Option<[f64; 2]> {
    let (count, share) = (moments::count(sorted.len()), percent / 100.0);
    let half = DEVIATIONS * (count * share * (1.0 - share)).sqrt();
    let (low, high) = (
        (count * share - half).floor(),
        (count * share + half).ceil() + 1.0,
    );
    if low < 1.0 || high > count {
        return None;
    }
    Some([
        *sorted.get(low as usize - 1)?,
        *sorted.get(high as usize - 1)?,
    ])
}

impl TimeDistribution {
    /// The distribution of these values; `None` if there are none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite())
            .collect();
        sorted.sort_by(f64::total_cmp);
        let at = |percent| sorted.get(rank(sorted.len(), percent)).copied();
        Some(Self {
            count: sorted.len(),
            min_seconds: *sorted.first()?,
            mean_seconds: moments::mean(&sorted)?,
            p50_seconds: at(50.0)?,
            p95_seconds: at(95.0)?,
            p99_seconds: at(99.0)?,
            max_seconds: *sorted.last()?,
            p50_interval_seconds: interval(&sorted, 50.0),
            p99_interval_seconds: interval(&sorted, 99.0),
        })
    }
}

/// Increase of times over those of the idle path, in seconds. Not clamped: a path that is faster
/// under load has negative ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Increase {
    /// Of the least time.
    pub min_seconds: f64,
    /// Of the mean.
    pub mean_seconds: f64,
    /// Of the median.
    pub p50_seconds: f64,
    /// Of the 95th percentile.
    pub p95_seconds: f64,
    /// Of the 99th percentile.
    pub p99_seconds: f64,
    /// Of the greatest time.
    pub max_seconds: f64,
    /// The time on the idle path that the increases count from: its median.
    pub idle_seconds: f64,
    /// No increase is further from the truth than this: half the interval of the idle median, and
    /// what two clocks may drift apart meanwhile.
    pub error_seconds: f64,
}

/// Largest drift between two clocks, as a share of the time: quartz, without a step.
const DRIFT: f64 = 30e-6;

impl Increase {
    /// The increase of `loaded` over `idle`, which was measured so many seconds before; `clocks` is
    /// the number of clocks that the times are of.
    #[must_use]
    pub fn over(
        idle: &TimeDistribution,
        loaded: &TimeDistribution,
        seconds: f64,
        clocks: u8,
    ) -> Self {
        let base = idle.p50_seconds;
        let half = idle.p50_interval_seconds.map_or_else(
            || (idle.max_seconds - idle.min_seconds) / 2.0,
            |[low, high]| (high - low) / 2.0,
        );
        let drift = if clocks > 1 {
            DRIFT * seconds.abs()
        } else {
            0.0
        };
        Self {
            min_seconds: loaded.min_seconds - base,
            mean_seconds: loaded.mean_seconds - base,
            p50_seconds: loaded.p50_seconds - base,
            p95_seconds: loaded.p95_seconds - base,
            p99_seconds: loaded.p99_seconds - base,
            max_seconds: loaded.max_seconds - base,
            idle_seconds: base,
            error_seconds: half + drift,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_at_their_ranks() {
        let hundred = TimeDistribution::of((1..=100).rev().map(f64::from)).unwrap();
        let TimeDistribution {
            count,
            min_seconds,
            mean_seconds,
            p50_seconds,
            p95_seconds,
            p99_seconds,
            max_seconds,
            ..
        } = hundred;
        assert_eq!((count, min_seconds, max_seconds), (100, 1.0, 100.0));
        assert_eq!((p50_seconds, p95_seconds, p99_seconds), (50.0, 95.0, 99.0));
        assert_eq!(mean_seconds, 50.5);
        assert_eq!(TimeDistribution::of([]), None);
        assert_eq!(TimeDistribution::of([f64::NAN]), None);
    }

    #[test]
    fn the_interval_of_a_percentile_is_of_values_around_it_or_unknown() {
        let hundred = TimeDistribution::of((1..=100).map(f64::from)).unwrap();
        assert_eq!(hundred.p50_interval_seconds, Some([40.0, 61.0]));
        assert_eq!(hundred.p99_interval_seconds, None);
        let many = TimeDistribution::of((1..=2000).map(f64::from)).unwrap();
        let [low, high] = many.p99_interval_seconds.unwrap();
        assert!(low < many.p99_seconds && many.p99_seconds < high);
        assert_eq!(
            TimeDistribution::of([1.0; 3]).unwrap().p50_interval_seconds,
            None
        );
    }

    #[test]
    fn an_increase_counts_from_the_idle_median_and_may_be_negative() {
        let idle = TimeDistribution::of((0..100).map(|ms| 0.010 + f64::from(ms) * 1e-5)).unwrap();
        let loaded = TimeDistribution::of([0.070, 0.080, 0.090]).unwrap();
        let increase = Increase::over(&idle, &loaded, 10.0, 2);
        assert!((increase.p50_seconds - (0.080 - idle.p50_seconds)).abs() < 1e-12);
        // Half of the interval of the idle median, and 30 parts per million of ten seconds.
        assert!((increase.error_seconds - (105e-6 + 300e-6)).abs() < 1e-9);
        let faster = Increase::over(&loaded, &idle, 0.0, 1);
        assert!(faster.max_seconds < 0.0);
    }
}
