//! What `--series` wrote down at both ends.

use serde_json::Value;

use super::super::field::{list, number, whole};
use crate::record::{Record, Sample, Track};
use crate::unit::Unit;

/// The ends, and what their lines are called.
const ENDS: [(&str, &str); 2] = [("local", "netperf's end"), ("remote", "netserver's end")];
/// The most connections of an end that are drawn.
const MOST: usize = 18;

/// What one connection of one end did.
#[derive(Default)]
struct Lines {
    name: String,
    windows: Vec<Sample>,
    trips: Vec<Sample>,
    resent: Vec<Sample>,
}

/// Takes series in place of what the intervals say of TCP, where there are some. `begin` is
/// the beginning of the picture by the clock of netperf's host, if intervals have one.
pub(super) fn add(document: &Value, begin: Option<f64>, record: &mut Record) {
    let mut all: Vec<Lines> = Vec::new();
    let mut begin = begin;
    for iteration in list(document, "iterations") {
        // Both ends begin with the connection: their clocks need not agree on when that was.
        let started = ENDS
            .iter()
            .find_map(|(end, _)| number(iteration, &format!("{end}.series.started_unix_seconds")));
        let Some(started) = started else { continue };
        let offset = started - *begin.get_or_insert(started);
        for (end, called) in ENDS {
            let flows = list(iteration, &format!("{end}.series.flows"));
            for flow in flows.iter().take(MOST) {
                let name = match whole(flow, "flow").filter(|_| flows.len() > 1) {
                    Some(number) => format!("{called}, flow {number}"),
                    None => called.to_owned(),
                };
                take(flow, offset, lines(&mut all, name));
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
        let name = lines.name;
        let track = |unit, samples: Vec<Sample>| {
            let name = name.clone();
            (!samples.is_empty()).then_some(Track {
                name,
                unit,
                samples,
            })
        };
        record.windows.extend(track(Unit::Bytes, lines.windows));
        record.round_trips.extend(track(Unit::Seconds, lines.trips));
        record
            .retransmissions
            .extend(track(Unit::Count("segments"), lines.resent));
    }
}

/// The lines of this name: an iteration goes on with those of the one before.
fn lines(all: &mut Vec<Lines>, name: String) -> &mut Lines {
    let at = all.iter().position(|lines| lines.name == name);
    let at = at.unwrap_or_else(|| {
        all.push(Lines {
            name,
            ..Lines::default()
        });
        all.len() - 1
    });
    &mut all[at]
}

fn take(flow: &Value, offset: f64, lines: &mut Lines) {
    let mut resent_before = 0.0;
    for (index, seen) in list(flow, "samples").iter().enumerate() {
        let Some(at) = number(seen, "at_seconds") else {
            continue;
        };
        let sample = |value| Sample {
            at: offset + at,
            span: 0.0,
            value,
            joined: index > 0,
        };
        let window = number(seen, "congestion_window_bytes");
        lines.windows.extend(window.map(sample));
        let trip = number(seen, "round_trip_microseconds");
        lines.trips.extend(trip.map(|trip| sample(trip * 1e-6)));
        if let Some(resent) = number(seen, "retransmitted_segments") {
            lines.resent.push(sample(resent - resent_before));
            resent_before = resent;
        }
    }
}
