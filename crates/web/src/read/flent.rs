//! Reader of flent's files: series of values over a common time axis, and metadata.

use netperf_model::figures::count;
use serde_json::{Map, Value};

use super::ONE_HOST;
use super::field::{at, facts, list, number, text};
use crate::number;
use crate::record::{
    Distribution, Heat, Range, Record, RecordEnd, Sample, TimedOperation, Track, is_loopback,
};
use crate::unit::{Quantity, Unit};
use netperf_text::date::days;

/// The version of the format that is understood.
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=4;
/// Columns of a heat map made of single pings.
const COLUMNS: f64 = 60.0;

/// A document.
pub(super) fn document(document: &Value) -> Result<Record, String> {
    let version = document.get("version").and_then(Value::as_u64).unwrap_or(1);
    if !VERSIONS.contains(&version) {
        return Err(format!(
            "a file of flent in version {version} of its format, which is not known here"
        ));
    }
    let meta = at(document, "metadata").unwrap_or(&Value::Null);
    let mut record = Record {
        origin: "flent",
        title: text(meta, "TITLE"),
        program: text(meta, "FLENT_VERSION").map(|version| format!("flent {version}")),
        started: text(meta, "TIME").as_deref().and_then(unix_time),
        test: text(meta, "NAME"),
        limit: number(meta, "LENGTH")
            .map(|length| format!("for {}", Quantity::new(length, Unit::Seconds).brief())),
        length: number(meta, "TOTAL_LENGTH"),
        local: RecordEnd {
            role: "flent's host",
            name: text(meta, "LOCAL_HOST"),
            facts: local_facts(meta),
            ..RecordEnd::default()
        },
        remote: RecordEnd {
            role: "the other host",
            name: text(meta, "HOST"),
            ..RecordEnd::default()
        },
        facts: facts(
            meta,
            &[
                ("NOTE", "note"),
                ("STEP_SIZE", "values every, seconds"),
                ("IP_VERSION", "IP version"),
            ],
        ),
        ..Record::default()
    };
    for series in series(document) {
        add(&mut record, &series);
    }
    totals(&mut record);
    doubts(meta, &mut record);
    Ok(record)
}

fn local_facts(meta: &Value) -> Vec<(String, String)> {
    let mut found = facts(
        meta,
        &[
            ("KERNEL_NAME", "system"),
            ("KERNEL_RELEASE", "kernel"),
            ("EGRESS_INFO.iface", "interface"),
            ("EGRESS_INFO.driver", "driver"),
            ("EGRESS_INFO.link_params.qlen", "queue length"),
        ],
    );
    if let Some(qdisc) = list(meta, "EGRESS_INFO.qdiscs").first() {
        found.extend(facts(qdisc, &[("name", "queueing discipline")]));
    }
    let none = Map::new();
    let sysctls = meta
        .get("SYSCTLS")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let known = sysctls.iter().filter_map(|(name, value)| {
        let value = super::field::shown(value)?;
        Some((name.clone(), value.replace('\t', " ")))
    });
    found.extend(known);
    found
}

/// One series, with what is known of it.
struct FlentSeries<'d> {
    name: &'d str,
    unit: String,
    runner: String,
    mean: Option<f64>,
    meta: &'d Value,
    /// Seconds and values; `None` where nothing was measured.
    values: Vec<(f64, Option<f64>)>,
    /// Seconds and values of single measurements.
    raw: Vec<(f64, f64)>,
}

fn series(document: &Value) -> Vec<FlentSeries<'_>> {
    let axis: Vec<Option<f64>> = list(document, "x_values")
        .iter()
        .map(Value::as_f64)
        .collect();
    let results = at(document, "results").and_then(Value::as_object);
    let metas = &document["metadata"]["SERIES_META"];
    let raws = &document["raw_values"];
    let begin = first_time(raws);
    let mut all: Vec<FlentSeries<'_>> = results
        .into_iter()
        .flatten()
        .map(|(name, values)| {
            let meta = metas.get(name).unwrap_or(&Value::Null);
            let values = values.as_array().map_or(&[][..], Vec::as_slice);
            let points = axis.iter().zip(values);
            let raw = raws
                .get(name)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice);
            let singles = raw
                .iter()
                .filter_map(|single| Some((number(single, "t")? - begin?, number(single, "val")?)));
            FlentSeries {
                name,
                unit: text(meta, "UNITS").unwrap_or_default(),
                runner: text(meta, "RUNNER").unwrap_or_default(),
                mean: number(meta, "MEAN_VALUE"),
                meta,
                values: points
                    .filter_map(|(x, y)| Some(((*x)?, y.as_f64())))
                    .collect(),
                raw: singles.collect(),
            }
        })
        .collect();
    all.sort_by_key(|series| number(series.meta, "IDX").map_or(usize::MAX, number::index));
    all
}

/// The first time of all single measurements, which is that of the axis.
fn first_time(raws: &Value) -> Option<f64> {
    let all = raws
        .as_object()?
        .values()
        .filter_map(Value::as_array)
        .flatten();
    let times = all.filter_map(|single| number(single, "t"));
    times.min_by(f64::total_cmp)
}

fn add(record: &mut Record, series: &FlentSeries<'_>) {
    if let Some(command) = text(series.meta, "COMMAND") {
        record.commands.push((series.name.to_owned(), command));
    }
    let computed = [
        "AverageRunner",
        "SumRunner",
        "DiffMinRunner",
        "FairnessRunner",
    ]
    .contains(&series.runner.as_str());
    let inner = series.name.rsplit("::").next().unwrap_or_default();
    match (inner, series.unit.as_str()) {
        ("tcp_cwnd", _) => {
            record
                .windows
                .extend(track(series, Unit::Count("packets"), 1.0));
        }
        ("tcp_rtt", _) => record
            .round_trips
            .extend(track(series, Unit::Seconds, 1e-3)),
        (name, _) if name.starts_with("tcp_") => {}
        (_, "Mbits/s") => {
            let mean = series.mean.map(|mean| {
                let mean = Quantity::new(mean * 1e6, Unit::BitsPerSecond);
                (series.name.to_owned(), mean)
            });
            if computed {
                record.figures.extend(mean);
            } else {
                record.flows.extend(mean);
            }
            record.rates.extend(track(series, Unit::BitsPerSecond, 1e6));
        }
        (_, "ms") if !computed => times(record, series),
        _ => {}
    }
}

fn track(series: &FlentSeries<'_>, unit: Unit, factor: f64) -> Option<Track> {
    let mut samples = Vec::new();
    let mut joined = false;
    let mut before = None;
    for (x, value) in &series.values {
        if let Some(value) = value {
            let span = before.map_or(0.0, |before: f64| x - before);
            samples.push(Sample {
                at: *x,
                span,
                value: value * factor,
                joined,
            });
        }
        joined = value.is_some();
        before = Some(*x);
    }
    Track::new(series.name, unit, samples)
}

fn times(record: &mut Record, series: &FlentSeries<'_>) {
    let singles: Vec<(f64, f64)> = series
        .raw
        .iter()
        .map(|(at, ms)| (*at, ms * 1e-3))
        .filter(|(_, seconds)| *seconds >= 0.0)
        .collect();
    if singles.is_empty() {
        return;
    }
    let mut values: Vec<f64> = singles.iter().map(|(_, seconds)| *seconds).collect();
    values.sort_by(f64::total_cmp);
    let count = number::of(values.len());
    let mean = values.iter().sum::<f64>() / count;
    record.spreads.push(Distribution {
        operation: TimedOperation::RoundTrip,
        name: series.name.to_owned(),
        ranges: values.iter().map(|value| instant(*value)).collect(),
        mean: Some(mean),
        deviation: None,
        shortest: values.first().copied(),
        longest: values.last().copied(),
        percentiles: Vec::new(),
    });
    record.heat.extend(heat(series.name, &singles));
}

pub(super) fn instant(value: f64) -> Range {
    Range {
        from: value,
        to: value,
        count: 1.0,
    }
}

fn heat(name: &str, singles: &[(f64, f64)]) -> Option<Heat> {
    let last = singles.iter().map(|(at, _)| *at).max_by(f64::total_cmp)?;
    if last <= 0.0 {
        return None;
    }
    let width = last / COLUMNS;
    let columns = (0..60_u32).map(|index| {
        let (from, to) = (width * f64::from(index), width * f64::from(index + 1));
        // The last one has its end in it.
        let own = singles
            .iter()
            .filter(|(at, _)| *at >= from && (*at < to || index == 59));
        (
            from,
            to,
            own.map(|(_, seconds)| instant(*seconds)).collect(),
        )
    });
    let name = name.to_owned();
    Some(Heat {
        operation: TimedOperation::RoundTrip,
        name,
        columns: columns.collect(),
    })
}

/// Sums, where flent made them, stand for their parts.
fn totals(record: &mut Record) {
    let is_sum = |name: &str| name.ends_with(" sum") || name.ends_with(" totals");
    if record.rates.iter().any(|track| is_sum(&track.name)) {
        record.rates.retain(|track| is_sum(&track.name));
    } else {
        record.rates.retain(|track| !track.name.ends_with(" avg"));
    }
    let sums = || record.figures.iter().filter(|(name, _)| is_sum(name));
    let total = sums().find(|(name, _)| name.ends_with(" totals"));
    let only = sums().next().filter(|_| sums().count() == 1);
    record.headline = total.or(only).map(|(_, rate)| rate.clone());
    if record.flows.len() == 1 {
        record.headline = record
            .headline
            .take()
            .or(record.flows.first().map(|flow| flow.1.clone()));
        record.flows.clear();
    }
}

fn doubts(meta: &Value, record: &mut Record) {
    if let Some(failed) = number(meta, "FAILED_RUNNERS").filter(|failed| *failed > 0.0) {
        let failed = crate::unit::whole(failed);
        record.doubts.push(format!(
            "{failed} of the programs that flent started failed."
        ));
    }
    if is_loopback(record.remote.name.as_deref()) {
        record.doubts.push(ONE_HOST.to_owned());
    }
}

/// Seconds since 1970 of `2026-11-21T14:45:03.108543Z`.
fn unix_time(text: &str) -> Option<f64> {
    let (date, time) = text.trim_end_matches('Z').split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse().ok());
    let days = days(date.next()??, date.next()??, date.next()??)?;
    if date.next().is_some() {
        return None;
    }
    let mut time = time.split(':').map(|part| part.parse::<f64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if time.next().is_some() {
        return None;
    }
    let of_day = hour * 3600.0 + minute * 60.0 + second;
    of_day
        .is_finite()
        .then_some(count(days) * 86_400.0 + of_day)
}

#[cfg(test)]
mod tests {
    use super::unix_time;

    #[test]
    fn times_are_read_back_as_they_are_written() {
        for unix in [0.0, 951_782_400.0, 1_795_272_303.0, 4_102_444_799.0] {
            let text = netperf_text::date::date(unix).unwrap();
            let text = text.replacen(' ', "T", 1).replace(" UTC", ".000000Z");
            assert_eq!(unix_time(&text), Some(unix), "{text}");
        }
        assert_eq!(unix_time("yesterday"), None);
        assert_eq!(unix_time("2026-99-01T00:00:00Z"), None);
        assert_eq!(unix_time("2026-01-02-03T10:00:00Z"), None);
        assert_eq!(unix_time("2026-01-02T10:00:00:99Z"), None);
    }
}
