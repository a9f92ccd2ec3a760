//! Times of operations.

use netperf_model::Latency;
use netperf_model::fields::MeasuredFigure;
use netperf_model::latency::{Bucket, coarse};
use serde::{Deserialize, Serialize};

/// The percentiles of every distribution.
const PERCENTILES: [f64; 7] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// Times of the operations of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "interval_latency")]
pub struct IntervalLatency {
    /// Operations.
    pub count: u64,
    /// Percentiles: 50, 90, 95, 99, 99.9, 99.99 and 99.999.
    pub percentiles: Vec<PercentileTime>,
    /// The histogram: every range of times with an operation in it. A range is about a
    /// thirty-second of its beginning wide.
    pub buckets: Vec<Bucket>,
}

/// Times of operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "latency")]
pub struct LatencySummary {
    /// Operations.
    pub count: u64,
    /// The shortest time. This and all other times are null without an operation.
    pub min_nanoseconds: Option<u64>,
    /// The longest time.
    pub max_nanoseconds: Option<u64>,
    /// The mean.
    pub mean_nanoseconds: MeasuredFigure,
    /// The standard deviation.
    pub standard_deviation_nanoseconds: MeasuredFigure,
    /// Percentiles: 50, 90, 95, 99, 99.9, 99.99 and 99.999.
    pub percentiles: Vec<PercentileTime>,
    /// The histogram: every range of times with an operation in it.
    pub buckets: Vec<Bucket>,
}

/// A percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "percentile")]
pub struct PercentileTime {
    /// The share of all operations.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub percent: f64,
    /// The time that this share does not exceed, to three digits.
    pub nanoseconds: MeasuredFigure,
}

/// The percentiles of a distribution.
pub(super) fn percentiles(quantile: impl Fn(f64) -> Option<f64>) -> Vec<PercentileTime> {
    let percentile = |percent: f64| PercentileTime {
        percent,
        nanoseconds: MeasuredFigure::of(quantile(percent / 100.0)),
    };
    PERCENTILES.into_iter().map(percentile).collect()
}

impl IntervalLatency {
    pub(super) fn of(times: &Latency) -> Self {
        Self {
            count: times.count,
            percentiles: percentiles(|share| times.quantile(share)),
            buckets: coarse(&times.buckets),
        }
    }
}

impl LatencySummary {
    pub(super) fn of(times: &Latency) -> Self {
        let any = times.count > 0;
        Self {
            count: times.count,
            min_nanoseconds: any.then_some(times.min),
            max_nanoseconds: any.then_some(times.max),
            mean_nanoseconds: MeasuredFigure::of(times.mean()),
            standard_deviation_nanoseconds: MeasuredFigure::of(times.standard_deviation()),
            percentiles: percentiles(|share| times.quantile(share)),
            buckets: times.buckets.clone(),
        }
    }
}
