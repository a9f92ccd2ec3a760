//! How long operations took.

use serde_json::Value;

use super::super::field::{at, list, number};
use super::{begin, seconds};
use crate::record::{Heat, Range, Record, Spread};

/// Adds what is known over all iterations, and over time where intervals have it.
pub(super) fn add(document: &Value, record: &mut Record) {
    if let Some(latency) = at(document, "latency") {
        record.spreads.extend(spread(latency));
    }
    let intervals = list(document, "intervals");
    let Some(begin) = begin(intervals) else {
        return;
    };
    let columns = intervals.iter().filter_map(|interval| {
        let end = number(interval, "ended_unix_seconds")? - begin;
        let span = number(interval, "elapsed_seconds")?;
        let ranges = ranges(at(interval, "latency")?);
        Some((end - span, end, ranges))
    });
    let columns: Vec<_> = columns.collect();
    if columns.iter().any(|(_, _, ranges)| !ranges.is_empty()) {
        record.heat.push(Heat {
            name: String::new(),
            columns,
        });
    }
}

fn spread(latency: &Value) -> Option<Spread> {
    let ranges = ranges(latency);
    let percentiles = list(latency, "percentiles").iter().filter_map(|row| {
        let percent = number(row, "percent")?;
        Some((percent, seconds(row, "nanoseconds")?))
    });
    let percentiles: Vec<_> = percentiles.collect();
    if ranges.is_empty() && percentiles.is_empty() {
        return None;
    }
    Some(Spread {
        name: String::new(),
        ranges,
        mean: seconds(latency, "mean_nanoseconds"),
        deviation: seconds(latency, "standard_deviation_nanoseconds"),
        shortest: seconds(latency, "min_nanoseconds"),
        longest: seconds(latency, "max_nanoseconds"),
        percentiles,
    })
}

/// The ranges of a histogram, those that make sense, shortest first.
fn ranges(latency: &Value) -> Vec<Range> {
    let ranges = list(latency, "buckets").iter().filter_map(|bucket| {
        let range = Range {
            from: seconds(bucket, "from_nanoseconds")?,
            to: seconds(bucket, "to_nanoseconds")?,
            count: number(bucket, "count")?,
        };
        (range.from >= 0.0 && range.to >= range.from && range.count > 0.0).then_some(range)
    });
    let mut ranges: Vec<Range> = ranges.collect();
    ranges.sort_by(|one, other| one.from.total_cmp(&other.from));
    ranges
}
