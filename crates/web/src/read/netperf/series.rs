//! Samples of TCP connections at both ends (`--series`).

use netperf_model::FlowSeries;
use netperf_report::document::Document;

use crate::record::{Record, Sample, Track};
use crate::unit::Unit;
use netperf_model::figures::count;

/// The most connections of an end that are drawn.
const MOST: usize = 18;

/// The lines of one connection at one end.
#[derive(Default)]
struct ConnectionLines {
    name: String,
    windows: Vec<Sample>,
    trips: Vec<Sample>,
    resent: Vec<Sample>,
}

/// Replaces the TCP state of intervals by series, if there are any. `begin` is the begin of
/// the chart by the clock of netperf's host, if intervals have one.
pub(super) fn add(document: &Document, begin: Option<f64>, record: &mut Record) {
    let mut all: Vec<ConnectionLines> = Vec::new();
    let mut begin = begin;
    for iteration in &document.iterations {
        let remote = iteration.remote.as_ref();
        let ends = [
            ("client", iteration.local.series.as_ref()),
            ("server", remote.and_then(|end| end.series.as_ref())),
        ];
        // Both ends begin with the connection: their clocks may differ.
        let Some(first) = ends.iter().find_map(|(_, series)| *series) else {
            continue;
        };
        let started = first.started.as_secs_f64();
        let offset = started - *begin.get_or_insert(started);
        for (end, series) in ends {
            let flows = series.map(|series| &series.flows[..]).unwrap_or_default();
            for flow in flows.iter().take(MOST) {
                let name = match flow.flow.filter(|_| flows.len() > 1) {
                    Some(number) => format!("{end}, flow {number}"),
                    None => end.to_owned(),
                };
                add_samples(flow, offset, lines(&mut all, name));
            }
        }
    }
    if all.is_empty() {
        return;
    }
    record.windows.clear();
    record.round_trips.clear();
    record.retransmissions.clear();
    for lines in all {
        let track = |unit, samples| Track::new(&lines.name, unit, samples);
        record.windows.extend(track(Unit::Bytes, lines.windows));
        record.round_trips.extend(track(Unit::Seconds, lines.trips));
        record
            .retransmissions
            .extend(track(Unit::Count("segments"), lines.resent));
    }
}

/// The lines of this name: an iteration continues those of the one before.
fn lines(all: &mut Vec<ConnectionLines>, name: String) -> &mut ConnectionLines {
    let at = all.iter().position(|lines| lines.name == name);
    let at = at.unwrap_or_else(|| {
        all.push(ConnectionLines {
            name,
            ..ConnectionLines::default()
        });
        all.len() - 1
    });
    &mut all[at]
}

fn add_samples(flow: &FlowSeries, offset: f64, lines: &mut ConnectionLines) {
    let mut resent_before = 0.0;
    for (index, taken) in flow.samples.iter().enumerate() {
        let at = std::time::Duration::from_micros(taken.at_micros);
        let sample = |value| Sample {
            at: offset + at.as_secs_f64(),
            span: 0.0,
            value,
            joined: index > 0,
        };
        let window = taken.congestion_window_bytes().map(count);
        lines.windows.extend(window.map(sample));
        let trip = taken.round_trip_micros.map(f64::from);
        lines.trips.extend(trip.map(|trip| sample(trip * 1e-6)));
        if let Some(resent) = taken.retransmitted_segments.map(f64::from) {
            lines.resent.push(sample(resent - resent_before));
            resent_before = resent;
        }
    }
}
