//! Times of operations.

use netperf_model::figures::count;
use netperf_model::latency::Bucket;
use netperf_report::document::{Document, LatencySummary};

use super::over_time::begin;
use crate::record::{Distribution, Heat, Range, Record};

/// Adds times over all iterations, and over time if intervals have them.
pub(super) fn add(document: &Document, record: &mut Record) {
    let latency = document.latency.as_ref();
    record.spreads.extend(latency.and_then(spread));
    let Some(begin) = begin(document) else {
        return;
    };
    let columns = document.intervals.iter().filter_map(|interval| {
        let end = interval.ended.as_secs_f64() - begin;
        let ranges = ranges(&interval.latency.as_ref()?.buckets);
        Some((end - interval.elapsed_seconds.0?, end, ranges))
    });
    let columns: Vec<_> = columns.collect();
    if columns.iter().any(|(_, _, ranges)| !ranges.is_empty()) {
        record.heat.push(Heat {
            name: String::new(),
            columns,
        });
    }
}

fn seconds(nanoseconds: f64) -> f64 {
    nanoseconds * 1e-9
}

fn spread(latency: &LatencySummary) -> Option<Distribution> {
    let ranges = ranges(&latency.buckets);
    let percentiles = latency
        .percentiles
        .iter()
        .filter_map(|row| Some((row.percent, seconds(row.nanoseconds.0?))));
    let percentiles: Vec<_> = percentiles.collect();
    if ranges.is_empty() && percentiles.is_empty() {
        return None;
    }
    Some(Distribution {
        name: String::new(),
        ranges,
        mean: latency.mean_nanoseconds.0.map(seconds),
        deviation: latency.standard_deviation_nanoseconds.0.map(seconds),
        shortest: latency.min_nanoseconds.map(count).map(seconds),
        longest: latency.max_nanoseconds.map(count).map(seconds),
        percentiles,
    })
}

/// The valid ranges of a histogram, shortest first.
fn ranges(buckets: &[Bucket]) -> Vec<Range> {
    let valid = buckets
        .iter()
        .filter(|bucket| bucket.to >= bucket.from && bucket.count > 0);
    let mut ranges: Vec<Range> = valid
        .map(|bucket| Range {
            from: seconds(count(bucket.from)),
            to: seconds(count(bucket.to)),
            count: count(bucket.count),
        })
        .collect();
    ranges.sort_by(|one, other| one.from.total_cmp(&other.from));
    ranges
}
