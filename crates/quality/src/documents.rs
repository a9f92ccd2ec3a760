//! Documents of the runs of a check: the times of probes, and loads over time.

use netperf_report::document::{DatagramTime, DatagramTimes};
use netperf_report::document::{
    Document, IntervalResult, IterationDocument, LatencySummary, MeasuredEnd,
};
use netperf_stats::moments;
use netperf_stats::precision;
use serde::Serialize;

use crate::distribution::{TimeDistribution, rank};
use crate::load::LoadTruth;
use crate::probes::{PathProbe, ProbeSet, SentAt};
use crate::profile::ServiceClass;
use crate::summary::CheckWay;

/// Confidence level of the interval of a rate.
const LEVEL: f64 = 0.95;

/// The shortest interval with a rate, seconds: what is left at the end of a run has none.
const SHORTEST: f64 = 0.02;

/// The only iteration of a run, whole or cut short.
pub(crate) fn iteration(document: &Document) -> Option<&IterationDocument> {
    document.iterations.first().or(document.partial.as_ref())
}

/// The probes of a run, if netserver stamped them.
pub(crate) fn probes(document: &Document) -> Option<ProbeSet> {
    let times: &DatagramTimes = iteration(document)?.datagram_times.as_ref()?;
    let each = times.each.iter().map(|row: &DatagramTime| {
        let DatagramTime(number, sent, departed, arrived, answered, left, returned, up, down) =
            *row;
        let response = answered.map(|at| SentAt { at, departed: left });
        PathProbe {
            number,
            request: SentAt { at: sent, departed },
            arrived,
            response,
            returned,
            tos_up: up,
            tos_down: down,
        }
    });
    let asked = document.rate.as_ref()?.asked_per_second;
    Some(ProbeSet {
        began: times.started_unix_seconds,
        interval: 1.0 / asked,
        each: each.collect(),
        duplicates: usize::try_from(times.duplicate_requests).ok(),
    })
}

/// Nanoseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "a time of up to hours")]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The middles of the ranges of a histogram, each as often as it counts.
fn middles(summary: &LatencySummary) -> impl Iterator<Item = f64> + '_ {
    summary.buckets.iter().flat_map(|bucket| {
        let middle = f64::midpoint(seconds(bucket.from), seconds(bucket.to));
        (0..bucket.count).map(move |_| middle)
    })
}

/// The distribution of the latency of a run that has no single times.
pub(crate) fn histogram(document: &Document) -> Option<TimeDistribution> {
    TimeDistribution::of(middles(document.latency.as_ref()?))
}

/// Times of new connections with one request each.
pub(crate) fn exchanges(document: &Document) -> Vec<f64> {
    document
        .latency
        .as_ref()
        .map(|latency| middles(latency).collect())
        .unwrap_or_default()
}

/// A load of one class in one direction over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadRun {
    pub(crate) class: ServiceClass,
    pub(crate) way: CheckWay,
    /// End of each interval since 1970, its length, and its bits per second.
    pub(crate) rates: Vec<(f64, f64, f64)>,
    pub(crate) retransmitted: Option<u32>,
    /// Jain's index of its flows.
    pub(crate) fairness: Option<f64>,
    /// Round trips of the senders' connections: seconds since 1970, and seconds.
    pub(crate) round_trips: Vec<(f64, f64)>,
    pub(crate) truth: LoadTruth,
}

impl LoadRun {
    /// The load of a document.
    pub(crate) fn of(document: &Document, class: ServiceClass, way: CheckWay) -> Option<Self> {
        let run = iteration(document)?;
        let sender: &MeasuredEnd = match way {
            CheckWay::Up => &run.local,
            CheckWay::Down => run.remote.as_ref()?,
        };
        let rate = |interval: &IntervalResult| {
            let bits = match way {
                CheckWay::Up => interval
                    .arrived_bits_per_second
                    .0
                    .or(interval.rates.sent_bits_per_second.0),
                CheckWay::Down => interval.rates.received_bits_per_second.0,
            };
            let (ended, elapsed) = (interval.ended.as_secs_f64(), interval.elapsed_seconds.0?);
            (elapsed >= SHORTEST).then_some((ended, elapsed, bits?))
        };
        Some(Self {
            class,
            way,
            rates: document.intervals.iter().filter_map(rate).collect(),
            retransmitted: sender.retransmitted_segments,
            fairness: run.flows.as_ref().and_then(|flows| flows.fairness.0),
            round_trips: round_trips(sender),
            truth: LoadTruth {
                asked_share: asked_share(document),
                ..truth(sender)
            },
        })
    }

    /// When data began to move, seconds since 1970.
    pub(crate) fn began(&self) -> Option<f64> {
        self.rates
            .first()
            .map(|(ended, elapsed, _)| ended - elapsed)
    }

    /// When it ended.
    pub(crate) fn ended(&self) -> Option<f64> {
        self.rates.last().map(|(ended, _, _)| *ended)
    }

    /// The mean rate between two times, by the parts of the intervals there.
    pub(crate) fn mean(&self, (from, to): (f64, f64)) -> Option<f64> {
        let parts = self.rates.iter().map(|(ended, elapsed, bits)| {
            let part = (ended.min(to) - (ended - elapsed).max(from)).max(0.0);
            (part, bits * part)
        });
        let (time, bits) = parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        (time > 0.0).then(|| bits / time)
    }
}

/// Half the width of the confidence interval of the sum of loads between two times.
pub(crate) fn half_width(loads: &[&LoadRun], (from, to): (f64, f64)) -> Option<f64> {
    let first = loads.first()?;
    let within = first
        .rates
        .iter()
        .filter(|(ended, elapsed, _)| ended - elapsed >= from && *ended <= to);
    let sums: Vec<f64> = within
        .map(|(ended, elapsed, _)| {
            let times = (ended - elapsed, *ended);
            loads.iter().filter_map(|load| load.mean(times)).sum()
        })
        .collect();
    precision::of_mean(&sums, LEVEL).map(|estimate| estimate.half_width)
}

/// The smoothed round trips of the connections of a sender.
fn round_trips(sender: &MeasuredEnd) -> Vec<(f64, f64)> {
    let Some(series) = &sender.series else {
        return Vec::new();
    };
    let started = series.started.as_secs_f64();
    let samples = series.flows.iter().flat_map(|flow| &flow.samples);
    samples
        .filter_map(|sample| {
            let at = started + seconds(sample.at_micros * 1000);
            Some((at, f64::from(sample.round_trip_micros?) / 1e6))
        })
        .collect()
}

/// Share of the datagrams at a rate that arrived.
fn asked_share(document: &Document) -> Option<f64> {
    let rate = document.rate.as_ref().filter(|rate| rate.unit == "bits")?;
    let ends = iteration(document)?;
    let receiver = if document.test.sends {
        ends.remote.as_ref()?
    } else {
        &ends.local
    };
    Some(receiver.rates.received_bits_per_second.0? / rate.asked_per_second)
}

/// Times of the connections of a sender, and CPU utilisation of its host.
fn truth(sender: &MeasuredEnd) -> LoadTruth {
    let flows = sender.series.iter().flat_map(|series| &series.flows);
    let (mut time, mut busy, mut window) = (0.0, 0.0, 0.0);
    for flow in flows {
        let (Some(first), Some(last)) = (flow.samples.first(), flow.samples.last()) else {
            continue;
        };
        let micros = |value: Option<u64>| value.map(|value| seconds(value * 1000));
        let known = (micros(last.busy_micros), micros(last.window_limited_micros));
        if let (Some(was_busy), Some(limited)) = known {
            time += seconds((last.at_micros - first.at_micros) * 1000);
            busy += was_busy - micros(first.busy_micros).unwrap_or(0.0);
            window += limited - micros(first.window_limited_micros).unwrap_or(0.0);
        }
    }
    let share = |part: f64| (time > 0.0).then(|| (part / time).clamp(0.0, 1.0));
    LoadTruth {
        busy_share: share(busy),
        window_limited_share: share(window),
        busiest_cpu_share: busiest(sender),
        asked_share: None,
    }
}

/// Utilisation of the busiest CPU of an end.
pub(crate) fn busiest(end: &MeasuredEnd) -> Option<f64> {
    let busy = end.cpu.as_ref()?.peak_busy;
    (busy >= 0.0).then_some(busy / 100.0)
}

/// Values at regular times, thinned to so many: the medians of groups of neighbours.
pub(crate) fn thinned(values: &[(f64, f64)], most: usize) -> Vec<[f64; 2]> {
    let each = values.len().div_ceil(most.max(1)).max(1);
    let groups = values.chunks(each).filter_map(|group| {
        let mut sorted: Vec<f64> = group.iter().map(|(_, value)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        let middle = *sorted.get(rank(sorted.len(), 50.0))?;
        let at = group.iter().map(|(at, _)| at).sum::<f64>() / moments::count(group.len());
        Some([at, middle])
    });
    groups.collect()
}

/// A series of a page or an export.
#[derive(Clone, Debug, Default, PartialEq, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckSeries {
    /// Its phase.
    pub phase: String,
    /// The class of service.
    pub class: String,
    /// Its kind: "down", "up" (bits per second) or "round trip" (seconds).
    pub of: String,
    /// Seconds since the check began, and the value. A lost probe has none.
    pub points: Vec<[f64; 2]>,
}
