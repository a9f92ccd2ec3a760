//! The values of a run as they come, and what they have said so far.

use std::time::Duration;

use netperf_model::latency::Bucket;
use netperf_model::{Course, Known, KnownPercentile, Until, UntilEnd, UntilPlan};
use netperf_stats::moments::{batches, count, lag_one, mean};
use netperf_stats::precision::Estimate;
use netperf_stats::shape::{self, Shape};
use netperf_stats::until::{FEWEST_VALUES, Look, Wanted, look, next_look};

use super::sections::LatencySections;

/// Operations that a value must have before its level means anything.
const OPERATIONS: f64 = 30.0;

/// Ratio of the half width to the requested one above which the request was not met: the run
/// ends before its figure is known.
pub(super) const TOLERANCE: f64 = 1.25;

/// The values of a run.
pub(super) struct Feed<'a> {
    wanted: &'a UntilPlan,
    every: Duration,
    /// The work of one operation.
    operation: f64,
    /// Work per second, interval by interval.
    values: Vec<f64>,
    /// Work and time since the last value.
    pending: (f64, Duration),
    /// Intervals that the values are short of the time, or beyond it.
    carried: f64,
    sections: LatencySections,
    next: usize,
    /// Result of the check that was satisfied.
    enough: Option<Until>,
}

impl<'a> Feed<'a> {
    pub(super) fn new(wanted: &'a UntilPlan, every: Duration, operation: f64) -> Self {
        Self {
            wanted,
            every,
            operation,
            values: Vec::new(),
            pending: (0.0, Duration::ZERO),
            carried: 0.0,
            sections: LatencySections::default(),
            next: next_look(0),
            enough: None,
        }
    }

    /// So much was done in this time.
    ///
    /// A look that came late, as on a busy machine, counts for as many as it should have
    /// been: otherwise the slow parts of a run had fewer values than they lasted for.
    pub(super) fn add(&mut self, work: f64, time: Duration) {
        // Until the first operation the connection is only being made.
        if self.values.is_empty() && work <= 0.0 {
            return;
        }
        self.pending = (self.pending.0 + work, self.pending.1 + time);
        let (work, time) = self.pending;
        let lasted = time.as_secs_f64() / self.every.as_secs_f64() + self.carried;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number of intervals"
        )]
        let number = lasted.round().clamp(0.0, 1e6) as usize;
        if number == 0 || time.is_zero() {
            return;
        }
        let value = work / time.as_secs_f64();
        self.values.extend(std::iter::repeat_n(value, number));
        self.carried = lasted - count(number);
        self.pending = (0.0, Duration::ZERO);
    }

    /// Returns true if latencies are needed now.
    pub(super) fn wants_times(&self) -> bool {
        !self.wanted.percentiles.is_empty() && self.sections.is_due(self.values.len())
    }

    /// The times of operations until now, loop by loop.
    pub(super) fn times(&mut self, loops: &[Vec<Bucket>]) {
        self.sections.add(self.values.len(), loops);
    }

    /// Returns true once the requested accuracy is reached. Checks at intervals only: checks at
    /// every value would stop at a chance agreement.
    pub(super) fn is_enough(&mut self) -> bool {
        if self.enough.is_none() && self.values.len() >= self.next {
            self.next = next_look(self.values.len());
            self.enough = Some(self.judged()).filter(|found| found.end == UntilEnd::Reached);
        }
        self.enough.is_some()
    }

    /// Result of the run.
    pub(super) fn found(mut self) -> Until {
        if let Some(enough) = self.enough.take() {
            return enough;
        }
        // The loop was over, and the connection only being closed.
        while self.values.last().is_some_and(|value| *value <= 0.0) {
            self.values.pop();
        }
        self.judged()
    }

    /// Result of a run of which this is the complete series, and `rate` the result. It was not
    /// looked at while it grew, so the rules against an accidental agreement do not apply. `None`
    /// if it is too short for an interval.
    pub(super) fn complete(
        mut self,
        values: Vec<f64>,
        rate: f64,
        percentiles: &[KnownPercentile],
    ) -> Option<Until> {
        self.values = values;
        let look = look(&self.values, self.wanted());
        let steady = self.values.get(look.warm_up..).unwrap_or_default();
        let mut found = Until {
            every: self.every,
            values: self.values.len(),
            warm_up: look.warm_up,
            throughput: Some(known_of(look.estimate?).around(rate)),
            percentiles: percentiles.to_vec(),
            correlation: lag_one(steady),
            course: self.course(steady),
            end: UntilEnd::Reached,
            would_take: None,
        };
        let enough = self.wanted.precision * TOLERANCE;
        if found.worst().is_none_or(|worst| worst > enough) {
            found.end = UntilEnd::TooNoisy;
            found.would_take = self.would_take(&found, look);
        }
        Some(found)
    }

    fn judged(&self) -> Until {
        let look = look(&self.values, self.wanted());
        let steady = self.values.get(look.warm_up..).unwrap_or_default();
        let percentiles = self.percentiles(look.warm_up);
        let known = self.is_known(look) && percentiles.iter().all(|(_, enough)| *enough);
        let end = if known {
            UntilEnd::Reached
        } else if steady.len() < FEWEST_VALUES {
            UntilEnd::TooShort
        } else {
            UntilEnd::TooNoisy
        };
        let mut found = Until {
            every: self.every,
            values: self.values.len(),
            warm_up: look.warm_up,
            throughput: look.estimate.map(known_of),
            percentiles: percentiles.into_iter().map(|(known, _)| known).collect(),
            correlation: lag_one(steady),
            // A short series is not classified.
            course: match end {
                UntilEnd::TooShort => Course::Unknown,
                UntilEnd::Reached | UntilEnd::TooNoisy => self.course(steady),
            },
            end,
            would_take: None,
        };
        found.would_take = self.would_take(&found, look);
        found
    }

    /// True if the mean of the whole run, with its warm-up, is known as precisely as requested.
    fn is_known(&self, look: Look) -> bool {
        let all = mean(&self.values);
        let distant = |estimate: Estimate| {
            let distance = all.map_or(0.0, |all| (all - estimate.mean).abs());
            estimate.half_width + distance > self.wanted.precision * estimate.mean.abs()
        };
        look.enough && !look.estimate.is_some_and(distant)
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            precision: self.wanted.precision,
            level: self.wanted.level,
        }
    }

    /// The percentiles, each with whether it is known well enough.
    fn percentiles(&self, warm_up: usize) -> Vec<(KnownPercentile, bool)> {
        let one = |percentile: &f64| {
            let (known, enough) = self.sections.look(*percentile, warm_up, self.wanted());
            let found = KnownPercentile {
                percentile: *percentile,
                known,
            };
            (found, enough)
        };
        self.wanted.percentiles.iter().map(one).collect()
    }

    /// Classifies the series. Values are grouped so that each has enough operations: a
    /// difference of one operation per interval is not a second level.
    fn course(&self, steady: &[f64]) -> Course {
        let each = mean(steady).unwrap_or(0.0) * self.every.as_secs_f64() / self.operation;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 1 to a million"
        )]
        let together = (OPERATIONS / each.max(1e-9)).ceil().clamp(1.0, 1e6) as usize;
        match shape::of(&batches(steady, together)) {
            Shape::Stable => Course::Stable,
            Shape::Drifting(share) => Course::Drifting(share),
            Shape::Bimodal(modes) => Course::Bimodal {
                low: modes.low,
                high: modes.high,
                share_high: modes.share_high,
            },
        }
    }

    /// About how long it would take: the width falls with the square root of the time, or with the
    /// time itself where deviations compensate each other. No time is enough for a level that
    /// changes.
    fn would_take(&self, found: &Until, look: Look) -> Option<Duration> {
        let drifts = matches!(found.course, Course::Drifting(_));
        if found.end != UntilEnd::TooNoisy || drifts {
            return None;
        }
        let compensated = look.estimate.is_some_and(|estimate| estimate.compensated);
        let power = if compensated && found.percentiles.is_empty() {
            1
        } else {
            2
        };
        let short = found.worst()? / self.wanted.precision;
        let times = short.powi(power).max(1.25);
        let steady = count(self.values.len() - look.warm_up);
        let seconds = self.every.as_secs_f64() * (steady * times + count(look.warm_up));
        Duration::try_from_secs_f64(seconds).ok()
    }
}

pub(super) fn known_of(estimate: Estimate) -> Known {
    Known {
        value: estimate.mean,
        half_width: estimate.half_width,
        batch: estimate.batch,
        batches: estimate.batches,
    }
}

#[cfg(test)]
mod tests;
