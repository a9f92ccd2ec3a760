//! A check as a file of flent (version 4 of its format), which plots it as its test rrul.

use netperf_stats::moments;
use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use crate::documents::CheckSeries;
use crate::profile::ServiceClass;
use crate::summary::CheckSummary;

/// Seconds from one value to the next.
const STEP: f64 = 0.2;

/// Values of a series of flent's: seconds since the beginning, and the value in its unit.
type Values = Vec<(f64, f64)>;

/// The name of a series of flent's, and the factor to its unit.
fn named(series: &CheckSeries) -> Option<(String, f64)> {
    let class = ServiceClass::list(&series.class).ok()?.first()?.label();
    Some(match series.of.as_str() {
        "down" => (format!("TCP download {class}"), 1e-6),
        "up" => (format!("TCP upload {class}"), 1e-6),
        _ => (format!("Ping (ms) UDP {class}"), 1e3),
    })
}

/// The mean of values in the step that ends at a time; null without any.
fn at_step(values: &Values, end: f64) -> Value {
    let within = values
        .iter()
        .filter(|(at, _)| *at > end - STEP && *at <= end);
    let within: Vec<f64> = within.map(|(_, value)| *value).collect();
    json!(moments::mean(&within))
}

/// The sum or the mean of some series at each step, of those that have a value there.
fn combined(results: &Map<String, Value>, begin: &str, steps: usize, mean: bool) -> Value {
    let series: Vec<&Vec<Value>> = results
        .iter()
        .filter(|(name, _)| name.starts_with(begin))
        .filter_map(|(_, values)| values.as_array())
        .collect();
    let at = |step: usize| {
        let known = series
            .iter()
            .filter_map(|values| values.get(step)?.as_f64());
        let known: Vec<f64> = known.collect();
        let sum: f64 = known.iter().sum();
        match known.len() {
            0 => Value::Null,
            count if mean => json!(sum / moments::count(count)),
            _ => json!(sum),
        }
    };
    Value::Array((0..steps).map(at).collect())
}

/// The time as flent writes it.
fn time_of(unix: f64) -> String {
    let date = netperf_text::date::date(unix).unwrap_or_default();
    let date = date.trim_end_matches(" UTC").replace(' ', "T");
    format!("{date}.000000Z")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "steps of a check"
)]
fn steps_of(length: f64) -> usize {
    (length / STEP).ceil().max(1.0) as usize
}

/// The sum of both directions at each step.
fn totals(results: &Map<String, Value>, steps: usize) -> Value {
    let ways = ["TCP download sum", "TCP upload sum"].map(|name| results.get(name));
    let total = |step: usize| {
        let of = |way: &Option<&Value>| way.and_then(|way| way.get(step)?.as_f64());
        let known: Vec<f64> = ways.iter().filter_map(of).collect();
        if known.is_empty() {
            Value::Null
        } else {
            json!(known.iter().sum::<f64>())
        }
    };
    Value::Array((0..steps).map(total).collect())
}

/// Each value with its time.
fn raw_values(all: &BTreeMap<String, Values>, began: f64) -> Map<String, Value> {
    let one = |(name, values): (&String, &Values)| {
        let each = values
            .iter()
            .map(|(at, value)| json!({"t": began + at, "val": value}));
        (name.clone(), Value::Array(each.collect()))
    };
    all.iter().map(one).collect()
}

/// Mean and unit of each series.
fn series_meta(results: &Map<String, Value>) -> Map<String, Value> {
    let one = |(name, values): (&String, &Value)| {
        let values = values.as_array().into_iter().flatten();
        let known: Vec<f64> = values.filter_map(Value::as_f64).collect();
        let mean = moments::mean(&known);
        let unit = if name.starts_with("Ping") {
            "ms"
        } else {
            "Mbits/s"
        };
        (name.clone(), json!({"MEAN_VALUE": mean, "UNITS": unit}))
    };
    results.iter().map(one).collect()
}

/// The document of a check.
#[must_use]
pub fn document(summary: &CheckSummary) -> Value {
    let began = summary.started_unix_seconds.unwrap_or(0.0);
    let mut all: BTreeMap<String, Values> = BTreeMap::new();
    for series in &summary.series {
        let Some((name, factor)) = named(series) else {
            continue;
        };
        let values = series
            .points
            .iter()
            .map(|[at, value]| (*at, value * factor));
        all.entry(name).or_default().extend(values);
    }
    let last = all
        .values()
        .flatten()
        .map(|(at, _)| *at)
        .fold(0.0, f64::max);
    let steps = steps_of(last);
    let end = |step: usize| moments::count(step + 1) * STEP;
    let mut results = Map::new();
    for (name, values) in &all {
        let values = (0..steps).map(|step| at_step(values, end(step))).collect();
        results.insert(name.clone(), Value::Array(values));
    }
    for kind in ["TCP download", "TCP upload"] {
        let sum = combined(&results, kind, steps, false);
        let mean = combined(&results, kind, steps, true);
        results.insert(format!("{kind} sum"), sum);
        results.insert(format!("{kind} avg"), mean);
    }
    let ping = combined(&results, "Ping (ms) UDP", steps, true);
    results.insert("Ping (ms) avg".to_owned(), ping);
    let totals = totals(&results, steps);
    results.insert("TCP totals".to_owned(), totals);
    let length = moments::count(steps) * STEP;
    let ip = match summary
        .remote
        .as_ref()
        .and_then(|end| end.address.as_deref())
    {
        Some(address) if address.contains(':') => 6,
        _ => 4,
    };
    json!({
        "version": 4,
        "metadata": {
            "NAME": "rrul",
            "TITLE": format!("netperf check {}", summary.host),
            "NOTE": summary.answer,
            "TIME": time_of(began),
            "LENGTH": length,
            "TOTAL_LENGTH": length,
            "STEP_SIZE": STEP,
            "HOST": summary.host,
            "HOSTS": [summary.host],
            "LOCAL_HOST": "localhost",
            "IP_VERSION": ip,
            "FLENT_VERSION": "2.1.1",
            "DATA_FILENAME": "netperf-check.flent.gz",
            "TEST_PARAMETERS": {},
            "SERIES_META": series_meta(&results),
        },
        "x_values": (0..steps).map(end).collect::<Vec<_>>(),
        "results": &results,
        "raw_values": raw_values(&all, began),
    })
}

/// The file, compressed.
#[must_use]
pub fn file(summary: &CheckSummary) -> Vec<u8> {
    let text = document(summary).to_string();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    drop(encoder.write_all(text.as_bytes()));
    encoder.finish().unwrap_or_default()
}
