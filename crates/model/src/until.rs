//! Runs that continue until figures are precise enough, and their outcome.

use std::time::Duration;

use crate::words::words;

/// Precision that ends a run.
#[derive(Clone, Debug, PartialEq)]
pub struct UntilPlan {
    /// Half the width of an interval as a share of its figure: 0.01 for 1 %.
    pub precision: f64,
    /// The level of confidence: 0.95 for 95 %.
    pub level: f64,
    /// Percentiles of the times of operations that must be known as well, as shares.
    pub percentiles: Vec<f64>,
}

impl UntilPlan {
    /// Default level of confidence.
    pub const LEVEL: f64 = 0.95;
    /// Default limit of the time of a run.
    pub const LONGEST: Duration = Duration::from_secs(120);
}

/// A value with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The figure: bytes or transactions per second, or nanoseconds.
    pub value: f64,
    /// Half the width of the interval around it, in its unit.
    pub half_width: f64,
    /// Values taken together, so that they are no longer related.
    pub batch: usize,
    /// Number of such batches.
    pub batches: usize,
}

impl Known {
    /// Half the width as a share of the figure; `None` around 0.
    #[must_use]
    pub fn relative(&self) -> Option<f64> {
        let share = self.half_width / self.value.abs();
        share.is_finite().then_some(share)
    }

    /// The same around another value: the interval includes the distance of the two.
    #[must_use]
    pub fn around(self, value: f64) -> Self {
        Self {
            half_width: self.half_width + (self.value - value).abs(),
            value,
            ..self
        }
    }
}

/// A percentile with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownPercentile {
    /// Which one, as a share: 0.99.
    pub percentile: f64,
    /// The time in nanoseconds; `None` if there are too few values.
    pub known: Option<Known>,
}

/// Shape of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// Too few values to tell.
    Unknown,
    /// It stays around one level.
    Stable,
    /// Its level changes steadily, by this share of the mean from the beginning to the end.
    Drifting(f64),
    /// It alternates between two levels.
    Bimodal {
        /// The lower level.
        low: f64,
        /// The higher level.
        high: f64,
        /// The share of the values around the higher one.
        share_high: f64,
    },
}

impl Course {
    /// Its name in output.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Stable => "stable",
            Self::Drifting(_) => "drifting",
            Self::Bimodal { .. } => "bimodal",
        }
    }
}

words! {
    /// Outcome of waiting for the precision.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UntilEnd {
        /// All figures reached the precision.
        Reached = "reached",
        /// The time limit was reached first: the values vary too much.
        TooNoisy = "too noisy",
        /// The run ended before there were enough values.
        TooShort = "too short",
    }
}

/// Result of a run that continues until figures are precise enough.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    /// The time from one value to the next.
    pub every: Duration,
    /// Values, those of the warm-up included.
    pub values: usize,
    /// Values at the beginning that were left out.
    pub warm_up: usize,
    /// Throughput of netperf's end: bytes, or transactions, per second.
    pub throughput: Option<Known>,
    /// The percentiles that were asked for.
    pub percentiles: Vec<KnownPercentile>,
    /// The correlation of each value with the next.
    pub correlation: f64,
    /// Shape of the values.
    pub course: Course,
    /// Outcome.
    pub end: UntilEnd,
    /// Estimate of the time that would have sufficed; `None` if it sufficed, or is unknown.
    pub would_take: Option<Duration>,
}

impl Until {
    /// True if there are intervals; a run that was too short has none.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.end != UntilEnd::TooShort
    }

    /// The time that the values cover.
    #[must_use]
    pub fn looked_at(&self) -> Duration {
        times(self.every, self.values)
    }

    /// The time that was left out at the beginning.
    #[must_use]
    pub fn warmed_up_for(&self) -> Duration {
        times(self.every, self.warm_up)
    }

    /// The interval that is the widest for its figure, as a share; `None` where one is not
    /// known at all.
    #[must_use]
    pub fn worst(&self) -> Option<f64> {
        let percentiles = self.percentiles.iter().map(|one| one.known);
        let mut all = std::iter::once(self.throughput).chain(percentiles);
        all.try_fold(0.0_f64, |worst, known| Some(worst.max(known?.relative()?)))
    }
}

fn times(every: Duration, number: usize) -> Duration {
    every.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX))
}

/// The usual name of a percentile: p99 of 0.99, p99.9 of 0.999.
#[must_use]
pub fn percentile_name(share: f64) -> String {
    let text = format!("{:.9}", share * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The percentile that a name such as p99.9 means, as a share.
#[must_use]
pub fn percentile_named(name: &str) -> Option<f64> {
    let digits = name.strip_prefix(['p', 'P']).unwrap_or(name);
    let plain = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    let percent: f64 = digits.parse().ok().filter(|_| plain)?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_known_by_its_name() {
        for (name, share) in [("p50", 0.5), ("p99.9", 0.999), ("p99.999999", 0.999_999_99)] {
            let found = percentile_named(name).unwrap();
            assert!((found - share).abs() < 1e-12);
            assert_eq!(percentile_name(found), name);
        }
        assert!((percentile_named("95").unwrap() - 0.95).abs() < 1e-12);
        for bad in ["", "p", "p0", "p100", "p-1", "p1e1", "max"] {
            assert_eq!(percentile_named(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_worst_interval_counts_and_one_that_is_missing_is_worse() {
        let known = |value, half_width| {
            Some(Known {
                value,
                half_width,
                batch: 1,
                batches: 20,
            })
        };
        let percentile = |known| KnownPercentile {
            percentile: 0.5,
            known,
        };
        let mut until = Until {
            every: Duration::from_millis(10),
            values: 700,
            warm_up: 50,
            throughput: known(100.0, 1.0),
            percentiles: vec![percentile(known(10.0, 0.3))],
            correlation: 0.0,
            course: Course::Stable,
            end: UntilEnd::Reached,
            would_take: None,
        };
        assert!((until.worst().unwrap() - 0.03).abs() < 1e-12);
        assert_eq!(until.looked_at(), Duration::from_secs(7));
        assert_eq!(until.warmed_up_for(), Duration::from_millis(500));
        until.percentiles.push(percentile(None));
        assert_eq!(until.worst(), None);
    }
}
