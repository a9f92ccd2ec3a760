//! What going on until figures are known came to.

use netperf_model::{Course, Known, KnownPercentile};

use super::finite;
use crate::until::rate;
use crate::view::View;

/// How well figures are known.
#[derive(Debug)]
pub(super) struct Until {
    end: &'static str,
    wanted_percent: Option<f64>,
    confidence_percent: Option<f64>,
    seconds: f64,
    interval_seconds: f64,
    values: usize,
    warm_up_values: usize,
    warm_up_seconds: f64,
    correlation: Option<f64>,
    course: &'static str,
    drift_percent: Option<f64>,
    low_throughput: Option<f64>,
    high_throughput: Option<f64>,
    high_share_percent: Option<f64>,
    throughput: Option<Interval>,
    throughput_unit: &'static str,
    percentiles: Vec<Percentile>,
    would_take_seconds: Option<f64>,
}

object!(Until {
    end,
    wanted_percent,
    confidence_percent,
    seconds,
    interval_seconds,
    values,
    warm_up_values,
    warm_up_seconds,
    correlation,
    course,
    drift_percent,
    low_throughput,
    high_throughput,
    high_share_percent,
    throughput,
    throughput_unit,
    percentiles,
    would_take_seconds,
});

#[derive(Debug)]
struct Interval {
    value: Option<f64>,
    half_width: Option<f64>,
    half_width_percent: Option<f64>,
    batch_values: usize,
    batches: usize,
}

object!(Interval {
    value,
    half_width,
    half_width_percent,
    batch_values,
    batches,
});

impl Interval {
    /// A figure with its interval; without it where nothing is judged.
    fn of(known: Known, is_judged: bool, scale: impl Fn(f64) -> f64) -> Self {
        let relative = known.relative().filter(|_| is_judged);
        Self {
            value: finite(scale(known.value)),
            half_width: finite(scale(known.half_width)).filter(|_| is_judged),
            half_width_percent: relative.map(|share| share * 100.0),
            batch_values: known.batch,
            batches: known.batches,
        }
    }
}

#[derive(Debug)]
struct Percentile {
    percent: f64,
    seconds: Option<Interval>,
}

object!(Percentile { percent, seconds });

impl Percentile {
    fn of(one: &KnownPercentile, is_judged: bool) -> Self {
        Self {
            // As it was typed, without what the division by a hundred left behind.
            percent: (one.percentile * 1e11).round() / 1e9,
            seconds: one
                .known
                .map(|known| Interval::of(known, is_judged, |nanos| nanos / 1e9)),
        }
    }
}

impl Until {
    pub(super) fn of(view: &View<'_>) -> Option<Self> {
        let until = view.outcome.until.as_ref()?;
        let plan = view.plan().until.as_ref()?;
        let drift = match until.course {
            Course::Drifting(share) => Some(share * 100.0),
            Course::Unknown | Course::Stable | Course::Bimodal { .. } => None,
        };
        let modes = match until.course {
            Course::Bimodal {
                low,
                high,
                share_high,
            } => Some((low, high, share_high)),
            Course::Unknown | Course::Stable | Course::Drifting(_) => None,
        };
        let scale = |work: f64| rate(view, work);
        let is_judged = until.is_judged();
        let percentiles = until.percentiles.iter();
        Some(Self {
            end: until.end.label(),
            wanted_percent: finite(plan.precision * 100.0),
            confidence_percent: finite(plan.level * 100.0),
            seconds: until.looked_at().as_secs_f64(),
            interval_seconds: until.every.as_secs_f64(),
            values: until.values,
            warm_up_values: until.warm_up,
            warm_up_seconds: until.warmed_up_for().as_secs_f64(),
            correlation: finite(until.correlation),
            course: until.course.label(),
            drift_percent: drift.and_then(finite),
            low_throughput: modes.and_then(|(low, ..)| finite(scale(low))),
            high_throughput: modes.and_then(|(_, high, _)| finite(scale(high))),
            high_share_percent: modes.and_then(|(.., share)| finite(share * 100.0)),
            throughput: until
                .throughput
                .map(|known| Interval::of(known, is_judged, scale)),
            throughput_unit: view.unit.label(),
            percentiles: percentiles
                .map(|one| Percentile::of(one, is_judged))
                .collect(),
            would_take_seconds: until.would_take.map(|time| time.as_secs_f64()),
        })
    }
}
