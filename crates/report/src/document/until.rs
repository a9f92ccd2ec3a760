//! The precision that a run with `--until` reached.

use netperf_model::fields::{AsSeconds, MeasuredFigure};
use netperf_model::figures::document_unit;
use netperf_model::{Course, Known};
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::finite;
use crate::view::View;

/// The precision that a run with `--until` reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "until")]
pub struct UntilResult {
    /// The end of the run: the precision was reached, or the reason that it was not.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["reached", "too noisy", "too short"])))]
    pub end: String,
    /// The requested precision: half the width of an interval, in percent of its value.
    pub wanted_percent: MeasuredFigure,
    /// The confidence of the intervals.
    pub confidence_percent: MeasuredFigure,
    /// The time that was judged, including the warm-up.
    #[serde(rename = "seconds", with = "AsSeconds")]
    pub judged: Duration,
    /// The time from one value of the throughput to the next.
    #[serde(rename = "interval_seconds", with = "AsSeconds")]
    pub interval: Duration,
    /// Values, including those of the warm-up.
    pub values: usize,
    /// Values at the beginning that were omitted.
    pub warm_up_values: usize,
    /// The time of these values.
    #[serde(rename = "warm_up_seconds", with = "AsSeconds")]
    pub warm_up: Duration,
    /// The correlation of each value with the next.
    pub correlation: Option<f64>,
    /// The course of the values.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["stable", "drifting", "bimodal", "unknown"])))]
    pub course: String,
    /// The change of the level from the beginning to the end, in percent of the mean. Null
    /// unless it drifts.
    pub drift_percent: Option<f64>,
    /// The lower level, in throughput_unit. Null unless there are two levels.
    pub low_throughput: MeasuredFigure,
    /// The higher level, in throughput_unit. Null unless there are two levels.
    pub high_throughput: MeasuredFigure,
    /// The share of the time at the higher level. Null unless there are two levels.
    pub high_share_percent: MeasuredFigure,
    /// The throughput of the result, in throughput_unit. The interval is that of the mean without
    /// the warm-up, plus the distance of that mean from the result. Null if there were too few
    /// values.
    pub throughput: Option<KnownInterval>,
    /// The unit of the throughput, as in the result.
    pub throughput_unit: String,
    /// The percentiles that were asked for.
    pub percentiles: Vec<KnownTime>,
    /// The estimated time to reach the precision. Null if it was reached, and if no time is
    /// sufficient.
    pub would_take_seconds: MeasuredFigure,
}

/// A value with its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "known")]
pub struct KnownInterval {
    /// The value.
    pub value: Option<f64>,
    /// Half the width of the interval around it, in its unit.
    pub half_width: MeasuredFigure,
    /// The same, in percent of the value. Null around 0.
    pub half_width_percent: MeasuredFigure,
    /// Values in a batch; batches are not correlated.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub batch_values: usize,
    /// The number of batches.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub batches: usize,
}

/// A percentile of the times of operations that `--until` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "until_percentile")]
pub struct KnownTime {
    /// The share of all operations.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub percent: f64,
    /// The time. Null if there were too few operations.
    pub seconds: Option<KnownInterval>,
}

impl KnownInterval {
    /// A figure with its interval; without it if nothing is judged.
    fn of(known: Known, is_judged: bool, scale: impl Fn(f64) -> f64) -> Self {
        let judged = |value: Option<f64>| MeasuredFigure::of(value.filter(|_| is_judged));
        Self {
            value: finite(scale(known.value)),
            half_width: judged(Some(scale(known.half_width))),
            half_width_percent: judged(known.relative().map(|share| share * 100.0)),
            batch_values: known.batch,
            batches: known.batches,
        }
    }
}

impl UntilResult {
    pub(super) fn of(view: &View<'_>) -> Option<Self> {
        let until = view.outcome.until.as_ref()?;
        let plan = view.plan().until.as_ref()?;
        let (mut drift, mut modes) = (None, None);
        match until.course {
            Course::Drifting(share) => drift = Some(share * 100.0),
            Course::Bimodal {
                low,
                high,
                share_high,
            } => modes = Some((low, high, share_high)),
            Course::Unknown | Course::Stable => {}
        }
        let unit = document_unit(view.plan());
        let scale = |work: f64| unit.rate(work, 1.0);
        let is_judged = until.is_judged();
        let known = |known: Known| KnownInterval::of(known, is_judged, scale);
        let percentiles = until.percentiles.iter().map(|one| KnownTime {
            // Rounded as typed, without the error of the division by a hundred.
            percent: (one.percentile * 1e11).round() / 1e9,
            seconds: one
                .known
                .map(|known| KnownInterval::of(known, is_judged, |nanos| nanos / 1e9)),
        });
        Some(Self {
            end: until.end.label().to_owned(),
            wanted_percent: MeasuredFigure::of(plan.precision * 100.0),
            confidence_percent: MeasuredFigure::of(plan.level * 100.0),
            judged: until.looked_at(),
            interval: until.every,
            values: until.values,
            warm_up_values: until.warm_up,
            warm_up: until.warmed_up_for(),
            correlation: finite(until.correlation),
            course: until.course.label().to_owned(),
            drift_percent: finite(drift),
            low_throughput: MeasuredFigure::of(modes.map(|(low, ..)| scale(low))),
            high_throughput: MeasuredFigure::of(modes.map(|(_, high, _)| scale(high))),
            high_share_percent: MeasuredFigure::of(modes.map(|(.., share)| share * 100.0)),
            throughput: until.throughput.map(known),
            throughput_unit: unit.rate_label(),
            percentiles: percentiles.collect(),
            would_take_seconds: MeasuredFigure::of(until.would_take.map(|time| time.as_secs_f64())),
        })
    }
}
