//! Times of operations.

use netperf_model::figures::count;
use netperf_model::latency::Bucket;
use netperf_report::document::{AskedTest, Document, LatencySummary};

use super::over_time::begin;
use crate::record::{Distribution, Heat, Range, Record, TimedOperation};

/// Adds times over all iterations, and over time if intervals have them.
pub(super) fn add(document: &Document, record: &mut Record) {
    let operation = operation(&document.test);
    let latency = document.latency.as_ref();
    let spread = latency.and_then(|latency| spread(operation, latency));
    record.spreads.extend(spread);
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
            operation,
            name: String::new(),
            columns,
        });
    }
}

fn seconds(nanoseconds: f64) -> f64 {
    nanoseconds * 1e-9
}

/// The operation whose times a test takes.
fn operation(test: &AskedTest) -> TimedOperation {
    match (test.connects, test.sends, test.receives) {
        _ if test.bidirectional.is_some() => TimedOperation::Send,
        (true, false, false) => TimedOperation::Connection,
        (true, _, _) => TimedOperation::ConnectedRoundTrip,
        (false, true, false) => TimedOperation::Send,
        (false, false, true) => TimedOperation::Receive,
        (false, _, _) => TimedOperation::RoundTrip,
    }
}

fn spread(operation: TimedOperation, latency: &LatencySummary) -> Option<Distribution> {
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
        operation,
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
