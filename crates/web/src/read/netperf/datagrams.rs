//! Counts of numbered datagrams (`--sequence`).

use netperf_model::figures::count;
use netperf_report::document::{DatagramCounts, Document, IterationDocument};

use crate::unit::{Quantity, Unit};
use crate::words::{
    DATAGRAMS_LOST, DATAGRAMS_LOST_SHARE, DATAGRAMS_RECEIVED, DATAGRAMS_REORDERED, DATAGRAMS_SENT,
    JITTER,
};

/// Figures of each direction over all iterations: counts are sums, the jitter and the mean
/// variation are means, the largest extent and variation are those of all iterations.
pub(super) fn figures(document: &Document) -> Vec<(String, Quantity)> {
    let test = &document.test;
    let mut figures = Vec::new();
    if test.sends {
        let way = |run: &IterationDocument| {
            let remote = run.remote.as_ref().and_then(|end| end.datagrams);
            Some((run.local.datagrams?, remote?))
        };
        figures.extend(of_way(document, way, ""));
    }
    if test.receives {
        let suffix = if test.sends { ", other way" } else { "" };
        let way = |run: &IterationDocument| {
            let remote = run.remote.as_ref().and_then(|end| end.datagrams);
            Some((remote?, run.local.datagrams?))
        };
        figures.extend(of_way(document, way, suffix));
    }
    figures
}

/// The figures of one direction: `way` gives the counts of the sender and of the receiver.
fn of_way(
    document: &Document,
    way: impl Fn(&IterationDocument) -> Option<(DatagramCounts, DatagramCounts)>,
    suffix: &str,
) -> Vec<(String, Quantity)> {
    let runs: Vec<_> = document.iterations.iter().filter_map(way).collect();
    let sum = |pick: fn(&DatagramCounts) -> Option<u64>| {
        let each = runs.iter().map(|(_, receiver)| pick(receiver));
        each.reduce(|sum, more| Some(sum?.saturating_add(more?)))?
    };
    let times = |pick: fn(&DatagramCounts) -> Option<f64>| -> Vec<f64> {
        let times = runs.iter().filter_map(|(_, receiver)| pick(receiver));
        times.map(|micros| micros / 1e6).collect()
    };
    let mean = |times: &[f64]| {
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / crate::number::of(times.len()))
    };
    let largest = |values: &[f64]| values.iter().copied().max_by(f64::total_cmp);
    let sent: u64 = runs.iter().map(|(sender, _)| sender.sent).sum();
    let (received, lost) = (sum(|end| Some(end.received)), sum(|end| end.lost));
    let due = lost
        .zip(received)
        .map(|(lost, received)| count(lost) + count(received));
    let share = lost.zip(due.filter(|due| *due > 0.0));
    let extent = runs
        .iter()
        .filter_map(|(_, receiver)| receiver.reordering_extent)
        .max();
    let datagrams = Unit::Count("datagrams");
    let counts = [
        (DATAGRAMS_SENT, (!runs.is_empty()).then_some(sent)),
        (DATAGRAMS_RECEIVED, received),
        (DATAGRAMS_LOST, lost),
        ("datagrams duplicated", sum(|end| end.duplicated)),
        (DATAGRAMS_REORDERED, sum(|end| end.reordered)),
        ("largest extent of reordering", extent),
        ("datagrams too late to tell", sum(|end| end.too_late)),
    ];
    let counts = counts.map(|(name, value)| (name, value.map(count), datagrams.clone()));
    let variation = times(|end| end.max_delay_variation_microseconds.0);
    let measured = [
        (
            DATAGRAMS_LOST_SHARE,
            share.map(|(lost, due)| count(lost) / due * 100.0),
            Unit::Percent,
        ),
        (
            JITTER,
            mean(&times(|end| end.jitter_microseconds.0)),
            Unit::Seconds,
        ),
        (
            "delay variation, mean",
            mean(&times(|end| end.mean_delay_variation_microseconds.0)),
            Unit::Seconds,
        ),
        (
            "delay variation, largest",
            largest(&variation),
            Unit::Seconds,
        ),
    ];
    let known = counts
        .into_iter()
        .chain(measured)
        .filter_map(|(name, value, unit)| {
            Some((format!("{name}{suffix}"), Quantity::new(value?, unit)))
        });
    known.collect()
}
