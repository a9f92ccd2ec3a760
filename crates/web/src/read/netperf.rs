//! netperf's own documents and logs (docs/schema/netperf-1.schema.json).

mod doubts;
mod ends;
mod series;
mod times;
mod until;

use serde_json::{Map, Value, json};

use super::field::{at, list, number, text, truth, whole};
use crate::number;
use crate::record::{Record, Sample, Track};
use crate::unit::{Quantity, Unit};

/// The document of `--json`.
pub(super) fn document(document: &Value) -> Result<Record, String> {
    let schema = document
        .get("schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if schema != "netperf-1" {
        let schema = crate::escape::line(schema);
        return Err(format!(
            "a document of the schema \"{schema}\", not netperf-1"
        ));
    }
    if at(document, "test.name").is_none() {
        return Err("a list of tests, not a result".to_owned());
    }
    let mut record = made(document);
    record.origin = "netperf --json";
    Ok(record)
}

/// The events of `--json-stream`; `broken` says that the last line could not be read.
/// `None` when no run begins.
pub(super) fn stream(events: &[Value], broken: bool) -> Option<Record> {
    let named = |name: &str| {
        let name = name.to_owned();
        events
            .iter()
            .filter(move |event| event["event"] == name.as_str())
    };
    let start = named("start").next()?;
    if start["schema"] != "netperf-1" {
        return None;
    }
    let mut record = if let Some(result) = named("result").next() {
        made(&result["document"])
    } else {
        let picked = |name: &'static str, part: &'static str| -> Vec<Value> {
            named(name).map(|event| event[part].clone()).collect()
        };
        let mut partial = start.as_object().cloned().unwrap_or_else(Map::new);
        partial.insert(
            "started_unix_seconds".into(),
            start["time_unix_seconds"].clone(),
        );
        partial.insert(
            "intervals".into(),
            Value::Array(picked("interim", "interval")),
        );
        partial.insert(
            "iterations".into(),
            Value::Array(picked("iteration", "iteration")),
        );
        let error = named("error").next().map(|event| event["error"].clone());
        let ended = error.is_some();
        partial.insert("error".into(), error.unwrap_or(json!(null)));
        let mut record = made(&Value::Object(partial));
        if !ended {
            let half = if broken {
                ", in the middle of a line"
            } else {
                ""
            };
            let text = format!("The log ends before the run did{half}: there is no result.");
            record.error.get_or_insert(text);
        }
        record
    };
    record.origin = "netperf --json-stream";
    Some(record)
}

fn made(document: &Value) -> Record {
    let result = at(document, "result").unwrap_or(&Value::Null);
    let mut record = Record {
        title: text(document, "brand"),
        program: text(document, "program.version").map(|version| format!("netperf {version}")),
        started: number(document, "started_unix_seconds"),
        test: text(document, "test.name"),
        protocol: text(document, "test.protocol"),
        direction: direction(document),
        limit: limit(document),
        length: number(result, "elapsed_seconds"),
        headline: rate(result),
        figures: figures(document, result),
        local: ends::end(document, "local", "netperf's end"),
        remote: ends::end(document, "remote", "netserver's end"),
        error: text(document, "error.message"),
        facts: facts(document),
        until: until::read(document),
        ..Record::default()
    };
    let iterations = list(document, "iterations").len();
    record.iterations = (iterations > 0).then_some(iterations);
    if let Some(line) = text(document, "command_line") {
        record.commands.push((String::new(), line));
    }
    over_time(document, &mut record);
    series::add(document, begin(list(document, "intervals")), &mut record);
    times::add(document, &mut record);
    flows(document, &mut record);
    doubts::add(document, &mut record);
    record
}

fn direction(document: &Value) -> Option<String> {
    let sends = truth(document, "test.sends")?;
    let receives = truth(document, "test.receives")?;
    let connects = truth(document, "test.connects")?;
    let words = match (connects, sends, receives) {
        (true, true, true) => "each request over a connection of its own",
        (true, _, _) => "connections opened and closed",
        (false, true, true) => "requests and responses",
        (false, true, false) => "from netperf to netserver",
        (false, false, true) => "from netserver to netperf",
        (false, false, false) => return None,
    };
    Some(words.to_owned())
}

fn limit(document: &Value) -> Option<String> {
    let limit = at(document, "test.limit")?;
    let kind = text(limit, "kind")?;
    match kind.as_str() {
        "time" => {
            let seconds = Quantity::new(number(limit, "seconds")?, Unit::Seconds);
            Some(format!("for {}", seconds.brief()))
        }
        "signal" => Some("until a signal".to_owned()),
        _ => {
            let count = crate::unit::whole(number(limit, &kind)?);
            Some(format!("for {count} {}", crate::escape::line(&kind)))
        }
    }
}

/// The result as transactions where there are any, as bits otherwise, and in the unit of
/// the file where it is neither.
fn rate(result: &Value) -> Option<Quantity> {
    if let Some(rate) = number(result, "transactions_per_second") {
        return Some(Quantity::new(rate, Unit::TransactionsPerSecond));
    }
    if let Some(rate) = number(result, "throughput_bits_per_second") {
        return Some(Quantity::new(rate, Unit::BitsPerSecond));
    }
    let unit = text(result, "throughput_unit")?;
    Some(Quantity::new(
        number(result, "throughput")?,
        Unit::Other(unit),
    ))
}

fn figures(document: &Value, result: &Value) -> Vec<(String, Quantity)> {
    const MICRO: f64 = 1e-6;
    let round_trip = "mean round trip, from the rate";
    let rows = [
        (
            "transactions_per_second",
            "throughput_bits_per_second",
            "payload, both directions",
            Unit::BitsPerSecond,
            1.0,
        ),
        (
            "",
            "mean_round_trip_seconds",
            round_trip,
            Unit::Seconds,
            1.0,
        ),
        (
            "",
            "local_cpu_percent",
            "CPU of netperf's host",
            Unit::Percent,
            1.0,
        ),
        (
            "",
            "remote_cpu_percent",
            "CPU of netserver's host",
            Unit::Percent,
            1.0,
        ),
        (
            "",
            "local_demand_microseconds_per_transaction",
            "CPU time per transaction, netperf's host",
            Unit::Seconds,
            MICRO,
        ),
        (
            "",
            "remote_demand_microseconds_per_transaction",
            "CPU time per transaction, netserver's host",
            Unit::Seconds,
            MICRO,
        ),
    ];
    let mut figures = Vec::new();
    for (needs, field, name, unit, factor) in rows {
        let wanted = needs.is_empty() || number(result, needs).is_some();
        if let Some(value) = number(result, field).filter(|_| wanted) {
            figures.push((name.to_owned(), Quantity::new(value * factor, unit)));
        }
    }
    if number(result, "transactions_per_second").is_none() {
        for (field, name) in [
            (
                "local_demand_microseconds_per_kibibyte",
                "CPU time per KiB, netperf's host",
            ),
            (
                "remote_demand_microseconds_per_kibibyte",
                "CPU time per KiB, netserver's host",
            ),
        ] {
            if let Some(value) = number(result, field) {
                figures.push((name.to_owned(), Quantity::new(value * MICRO, Unit::Seconds)));
            }
        }
    }
    if let Some(segments) = resent(document) {
        let name = "segments sent again".to_owned();
        figures.push((name, Quantity::new(segments, Unit::Count("segments"))));
    }
    figures
}

/// Segments sent again by both ends in all iterations, as far as they say.
fn resent(document: &Value) -> Option<f64> {
    let counts = list(document, "iterations").iter().flat_map(|iteration| {
        ["local", "remote"].map(|end| number(iteration, &format!("{end}.retransmitted_segments")))
    });
    let known: Vec<f64> = counts.flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

fn facts(document: &Value) -> Vec<(String, String)> {
    let mut facts = super::field::facts(
        document,
        &[
            ("uuid", "identifier"),
            ("test.socket_type", "socket"),
            ("test.request_bytes", "request, bytes"),
            ("test.response_bytes", "response, bytes"),
            ("test.burst_requests", "further requests in flight"),
            (
                "test.interim_interval_seconds",
                "interim results every, seconds",
            ),
        ],
    );
    if let Some(confidence) = at(document, "confidence") {
        let reached = number(confidence, "result_width_percent");
        let level = whole(document, "test.confidence.level_percent");
        if let (Some(width), Some(level)) = (reached, level) {
            let width = crate::unit::figure(width);
            let text = format!("{width} % of the mean wide at a level of {level} %");
            facts.push(("confidence interval".to_owned(), text));
        }
    }
    facts
}

/// What the intervals say, over time.
fn over_time(document: &Value, record: &mut Record) {
    let intervals = list(document, "intervals");
    let Some(begin) = begin(intervals) else {
        return;
    };
    let mut before = None;
    let mut rates = Vec::new();
    let mut tcp: [Vec<Sample>; 3] = Default::default();
    let mut resent_before = 0.0;
    let mut unit = Unit::BitsPerSecond;
    for interval in intervals {
        let iteration = whole(interval, "iteration");
        let joined = before.is_some() && before == iteration;
        before = iteration;
        if !joined {
            resent_before = 0.0;
        }
        let Some(at_time) = number(interval, "ended_unix_seconds") else {
            continue;
        };
        let span = number(interval, "elapsed_seconds").unwrap_or(0.0);
        let sample = |value| Sample {
            at: at_time - begin,
            span,
            value,
            joined,
        };
        if let Some((value, of)) = interval_rate(interval) {
            unit = of;
            rates.push(sample(value));
        }
        let Some(info) = at(interval, "tcp") else {
            continue;
        };
        let window = number(info, "congestion_window_segments");
        let segment = number(info, "send_segment_bytes");
        // What TCP says is so at the end of an interval, not in all of it.
        let instant = |value| Sample {
            span: 0.0,
            ..sample(value)
        };
        let window = window.zip(segment);
        tcp[0].extend(window.map(|(window, size)| instant(window * size)));
        let trip = number(info, "round_trip_microseconds");
        tcp[1].extend(trip.map(|trip| instant(trip * 1e-6)));
        if let Some(resent) = number(info, "retransmitted_segments") {
            // A counter that went back belongs to another connection.
            let since = if resent >= resent_before {
                resent_before
            } else {
                0.0
            };
            tcp[2].push(sample(resent - since));
            resent_before = resent;
        }
    }
    let [windows, trips, resent] = tcp;
    let mut rates = track(unit, rates);
    // The result is what arrived: intervals of this end know nothing of that.
    if let Some(track) = rates.as_mut().filter(|_| may_be_lost(document)) {
        "sent".clone_into(&mut track.name);
    }
    record.rates.extend(rates);
    record.windows.extend(track(Unit::Bytes, windows));
    record.round_trips.extend(track(Unit::Seconds, trips));
    record
        .retransmissions
        .extend(track(Unit::Count("segments"), resent));
}

/// Whether what netperf sends may not arrive, and nothing comes back.
fn may_be_lost(document: &Value) -> bool {
    let datagrams = text(document, "test.socket_type").is_some_and(|kind| kind == "Datagram");
    let is = |what: &str| truth(document, &format!("test.{what}"));
    datagrams && is("sends") == Some(true) && is("receives") == Some(false)
}

fn track(unit: Unit, samples: Vec<Sample>) -> Option<Track> {
    let name = String::new();
    (!samples.is_empty()).then_some(Track {
        name,
        unit,
        samples,
    })
}

/// When the first interval began.
fn begin(intervals: &[Value]) -> Option<f64> {
    let first = intervals.first()?;
    let ended = number(first, "ended_unix_seconds")?;
    Some(ended - number(first, "elapsed_seconds").unwrap_or(0.0))
}

fn interval_rate(interval: &Value) -> Option<(f64, Unit)> {
    if let Some(rate) = number(interval, "transactions_per_second") {
        return Some((rate, Unit::TransactionsPerSecond));
    }
    let ways = ["sent_bits_per_second", "received_bits_per_second"];
    let rates: Vec<f64> = ways
        .iter()
        .filter_map(|way| number(interval, way))
        .collect();
    if !rates.is_empty() {
        return Some((rates.iter().sum(), Unit::BitsPerSecond));
    }
    let unit = Unit::Other(text(interval, "throughput_unit")?);
    Some((number(interval, "throughput")?, unit))
}

/// More flows than this are drawn by those that stand for the others.
const EACH_FLOW: usize = 32;

/// What each of many flows came to, as a mean over the iterations.
fn flows(document: &Value, record: &mut Record) {
    let mut sums: Vec<(f64, Unit)> = Vec::new();
    let mut number = 0;
    for iteration in list(document, "iterations") {
        let rates: Vec<_> = list(iteration, "flows.each")
            .iter()
            .filter_map(interval_rate)
            .collect();
        // Iterations that failed have none.
        if rates.is_empty() || (number > 0 && rates.len() != sums.len()) {
            continue;
        }
        number += 1;
        if number == 1 {
            sums = rates;
        } else {
            for (sum, (rate, _)) in sums.iter_mut().zip(rates) {
                sum.0 += rate;
            }
        }
    }
    let mean = |(sum, unit): (f64, Unit)| Quantity::new(sum / number::of(number), unit);
    let rates: Vec<Quantity> = sums.into_iter().map(mean).collect();
    record.flows = named_flows(rates);
}

/// All flows in their order, or some of them in the order of their rates.
fn named_flows(mut rates: Vec<Quantity>) -> Vec<(String, Quantity)> {
    if rates.len() <= EACH_FLOW {
        let named = |(index, rate)| (format!("flow {}", index + 1), rate);
        return rates.into_iter().enumerate().map(named).collect();
    }
    rates.sort_by(|one, other| one.value.total_cmp(&other.value));
    let last = rates.len() - 1;
    let places = [
        ("slowest flow", 0),
        ("a quarter is slower", last / 4),
        ("median flow", last / 2),
        ("a quarter is faster", last - last / 4),
        ("fastest flow", last),
    ];
    let named =
        |(name, place): (&str, usize)| rates.get(place).map(|rate| (name.to_owned(), rate.clone()));
    places.into_iter().filter_map(named).collect()
}

/// Seconds of a number of nanoseconds.
fn seconds(value: &Value, path: &str) -> Option<f64> {
    number(value, path).map(|nanoseconds| nanoseconds * 1e-9)
}

/// The mean of a field over all iterations that have it.
fn mean(document: &Value, path: &str) -> Option<f64> {
    let iterations = list(document, "iterations").iter();
    let values: Vec<f64> = iterations
        .filter_map(|iteration| number(iteration, path))
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / number::of(values.len()))
}
