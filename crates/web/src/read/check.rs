//! Reader of the summaries of checks: rates and latency over time, and the figures of each phase.

use serde_json::Value;

use super::field::{list, number, text};
use super::{ONE_HOST, flent};
use crate::record::{
    Distribution, Range, Record, RecordEnd, Sample, TimedOperation, Track, is_loopback,
};
use crate::unit::{Quantity, Unit};

/// The schema that is understood.
pub(super) const SCHEMA: &str = "netperf-check-2";

/// A document.
pub(super) fn document(document: &Value) -> Record {
    let end = |role: &'static str, name: &str| RecordEnd {
        role,
        address: text(&document[name], "address"),
        name: text(&document[name], "machine"),
        ..RecordEnd::default()
    };
    let mut record = Record {
        origin: "netperf",
        program: text(document, "version").map(|version| format!("netperf {version}")),
        title: text(document, "answer"),
        started: number(document, "started_unix_seconds"),
        test: text(&document["settings"], "profile").map(|profile| format!("check {profile}")),
        local: end("client", "local"),
        remote: RecordEnd {
            name: text(document, "host"),
            ..end("server", "remote")
        },
        error: text(&document["error"], "message"),
        ..Record::default()
    };
    for phase in list(document, "phases") {
        figures(&mut record, phase);
    }
    for series in list(document, "series") {
        over_time(&mut record, series);
    }
    let rates = record.figures.iter();
    let mut rates = rates.filter(|(_, figure)| figure.unit == Unit::BitsPerSecond);
    record.headline = rates.next().map(|(_, rate)| rate.clone());
    record.facts.extend(facts(document));
    let warnings = list(document, "warnings").iter();
    record
        .doubts
        .extend(warnings.filter_map(|warning| text(warning, "message")));
    record.doubts.extend(text(document, "degraded_reason"));
    if is_loopback(record.remote.address.as_deref()) {
        record.doubts.push(ONE_HOST.to_owned());
    }
    record
}

/// The grade, and why there is none.
fn facts(document: &Value) -> Vec<(String, String)> {
    let grade = &document["verdict"]["grade"];
    let letter = text(grade, "letter").zip(text(grade, "table"));
    let letter = letter.map(|(letter, table)| ("grade".to_owned(), format!("{letter} ({table})")));
    let phases = list(document, "phases").iter();
    let limits = phases.filter_map(|phase| {
        let (name, reason) = (text(phase, "phase")?, text(phase, "not_filled")?);
        Some((format!("{name} did not fill the link"), reason))
    });
    letter.into_iter().chain(limits).collect()
}

/// Rates and latencies of a phase.
fn figures(record: &mut Record, phase: &Value) {
    let name = text(phase, "phase").unwrap_or_default();
    for way in ["down", "up"] {
        let title = if way == name {
            name.clone()
        } else {
            format!("{name} {way}")
        };
        let rate = number(&phase[way], "bits_per_second");
        let rate = rate.map(|bits| (title, Quantity::new(bits, Unit::BitsPerSecond)));
        record.figures.extend(rate);
    }
    for latency in list(phase, "latency") {
        let class = text(latency, "class").unwrap_or_default();
        for (title, value) in [
            ("P50", &latency["round_trip"]["p50_seconds"]),
            ("P99", &latency["round_trip"]["p99_seconds"]),
            ("added delay", &latency["path_increase"]["mean_seconds"]),
        ] {
            let figure = value.as_f64().map(|seconds| {
                let name = format!("{name} {class} {title}");
                (name, Quantity::new(seconds, Unit::Seconds))
            });
            record.figures.extend(figure);
        }
    }
}

/// A series: a rate, or the round trips of a class in a phase.
fn over_time(record: &mut Record, series: &Value) {
    let (phase, class) = (text(series, "phase"), text(series, "class"));
    let (phase, class) = (phase.unwrap_or_default(), class.unwrap_or_default());
    let point = |point: &Value| Some((point.get(0)?.as_f64()?, point.get(1)?.as_f64()?));
    let points: Vec<(f64, f64)> = list(series, "points").iter().filter_map(point).collect();
    let samples = points
        .iter()
        .enumerate()
        .map(|(index, (at, value))| Sample {
            at: *at,
            span: 0.0,
            value: *value,
            joined: index > 0,
        });
    let samples = samples.collect();
    match text(series, "of").as_deref() {
        Some("round trip") => {
            let name = format!("{phase} {class}");
            record
                .round_trips
                .extend(Track::new(&name, Unit::Seconds, samples));
            record.spreads.extend(spread(name, &points));
        }
        Some(way) => {
            let name = format!("{phase} {way} {class}");
            record
                .rates
                .extend(Track::new(&name, Unit::BitsPerSecond, samples));
        }
        None => {}
    }
}

fn spread(name: String, points: &[(f64, f64)]) -> Option<Distribution> {
    let mut values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let sum: f64 = values.iter().sum();
    Some(Distribution {
        operation: TimedOperation::RoundTrip,
        name,
        mean: Some(sum / crate::number::of(values.len())),
        shortest: Some(*values.first()?),
        longest: values.last().copied(),
        ranges: values
            .into_iter()
            .map(flent::instant)
            .collect::<Vec<Range>>(),
        ..Distribution::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_check_has_the_figures_of_its_phases_and_its_series() {
        let check = json!({
            "schema": SCHEMA, "version": "0.1.0", "host": "server", "answer": "Uploads add 87 ms.",
            "started_unix_seconds": 1000.5, "settings": {"profile": "quick"},
            "verdict": {"grade": {"letter": "C", "table": "dslreports"}},
            "phases": [
                {"phase": "up", "up": {"bits_per_second": 19e6}, "not_filled": null,
                 "latency": [{"class": "be", "round_trip": {"p50_seconds": 0.09},
                              "path_increase": {"mean_seconds": 0.087}}]},
                {"phase": "both", "down": {"bits_per_second": 1e6}, "not_filled": "a reason"}],
            "series": [
                {"phase": "up", "class": "be", "of": "up", "points": [[1.0, 19e6], [1.1, 18e6]]},
                {"phase": "up", "class": "be", "of": "round trip", "points": [[1.0, 0.08], [1.01, 0.1]]}],
        });
        let record = document(&check);
        let figure = |name: &str| {
            let found = record.figures.iter().find(|(known, _)| known == name);
            found.map(|(_, figure)| figure.value)
        };
        assert_eq!(figure("up"), Some(19e6));
        assert_eq!(figure("both down"), Some(1e6));
        assert_eq!(figure("up be added delay"), Some(0.087));
        assert_eq!((record.rates.len(), record.round_trips.len()), (1, 1));
        assert_eq!(record.spreads[0].longest, Some(0.1));
        assert_eq!(record.facts[0].1, "C (dslreports)");
        assert_eq!(record.facts[1].1, "a reason");
        assert_eq!(record.test.as_deref(), Some("check quick"));
    }
}
