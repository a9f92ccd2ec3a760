//! How long operations took, as JSON.

use netperf_model::Latency as Times;
use netperf_model::latency::{Bucket as Range, coarse};

use super::finite;

/// The percentiles of every distribution.
const PERCENTILES: [f64; 7] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// How long the operations of an interval took.
#[derive(Debug)]
pub(super) struct IntervalLatency {
    count: u64,
    percentiles: Vec<Percentile>,
    buckets: Vec<Bucket>,
}

object!(IntervalLatency {
    count,
    percentiles,
    buckets,
});

/// How long operations took.
#[derive(Debug)]
pub(super) struct Latency {
    count: u64,
    min_nanoseconds: Option<u64>,
    max_nanoseconds: Option<u64>,
    mean_nanoseconds: Option<f64>,
    standard_deviation_nanoseconds: Option<f64>,
    percentiles: Vec<Percentile>,
    buckets: Vec<Bucket>,
}

object!(Latency {
    count,
    min_nanoseconds,
    max_nanoseconds,
    mean_nanoseconds,
    standard_deviation_nanoseconds,
    percentiles,
    buckets,
});

#[derive(Debug)]
struct Percentile {
    percent: f64,
    nanoseconds: Option<f64>,
}

object!(Percentile {
    percent,
    nanoseconds,
});

#[derive(Debug)]
struct Bucket {
    from_nanoseconds: u64,
    to_nanoseconds: u64,
    count: u64,
}

object!(Bucket {
    from_nanoseconds,
    to_nanoseconds,
    count,
});

impl IntervalLatency {
    pub(super) fn of(times: &Times) -> Self {
        let ranges = coarse(&times.buckets);
        Self {
            count: times.count,
            percentiles: percentiles(|share| times.quantile(share)),
            buckets: ranges.iter().map(Bucket::of).collect(),
        }
    }
}

fn percentiles(quantile: impl Fn(f64) -> Option<f64>) -> Vec<Percentile> {
    let percentile = |percent: f64| Percentile {
        percent,
        nanoseconds: quantile(percent / 100.0),
    };
    PERCENTILES.into_iter().map(percentile).collect()
}

impl Bucket {
    const fn of(bucket: &Range) -> Self {
        Self {
            from_nanoseconds: bucket.from,
            to_nanoseconds: bucket.to,
            count: bucket.count,
        }
    }
}

impl Latency {
    pub(super) fn of(times: &Times) -> Self {
        let any = times.count > 0;
        Self {
            count: times.count,
            min_nanoseconds: any.then_some(times.min),
            max_nanoseconds: any.then_some(times.max),
            mean_nanoseconds: times.mean().and_then(finite),
            standard_deviation_nanoseconds: times.standard_deviation().and_then(finite),
            percentiles: percentiles(|share| times.quantile(share)),
            buckets: times.buckets.iter().map(Bucket::of).collect(),
        }
    }
}

impl Latency {
    /// Of times of which only a few are known: no range can be told.
    pub(super) fn of_points(
        count: u64,
        max: Option<u64>,
        mean: Option<f64>,
        quantile: impl Fn(f64) -> Option<f64>,
    ) -> Self {
        Self {
            count,
            min_nanoseconds: None,
            max_nanoseconds: max,
            mean_nanoseconds: mean,
            standard_deviation_nanoseconds: None,
            percentiles: percentiles(quantile),
            buckets: Vec::new(),
        }
    }
}
