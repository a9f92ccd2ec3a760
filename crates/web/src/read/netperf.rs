//! Documents and logs of netperf (docs/schema/netperf-1.schema.json).

mod datagrams;
mod doubts;
mod ends;
mod over_time;
mod series;
mod times;

use netperf_model::Part;
use netperf_model::fields::{AsSeconds, MeasuredFigure};
use netperf_report::document::{
    AskedTest, Document, FlowResult, IterationDocument, MeanResult, OneWayResult, SCHEMA,
    ThroughputFigures,
};
use serde::Deserialize;
use serde_json::Value;

use crate::number;
use crate::record::{self, Record};
use crate::unit::{Quantity, Unit};
use crate::words::{BOTH_WAYS, RECEIVED, RECEIVED_BACK, RETRANSMITTED, SENT};

/// Why the summary of a check is no result.
const IS_CHECK: &str = "the summary of a check: its runs are in the history, where netperf history \
                        list --label 'check: send' lists those of one step and netperf history show \
                        ID > FILE writes one";
/// The document of `--json`.
pub(super) fn document(value: &Value) -> Result<Record, String> {
    let schema = value["schema"].as_str().unwrap_or_default();
    if schema != SCHEMA {
        if schema == "netperf-check-1" {
            return Err(IS_CHECK.to_owned());
        }
        let schema = crate::escape::line(schema);
        return Err(format!(
            "a document of the schema \"{schema}\", not {SCHEMA}"
        ));
    }
    if value["test"]["name"].is_null() {
        return Err("a list of tests, not a result".to_owned());
    }
    let document = Document::deserialize(value).map_err(|error| {
        let error = crate::escape::line(&error.to_string());
        format!("a damaged document of netperf ({error})")
    })?;
    Ok(record(&document, "netperf --json"))
}

/// The events of `--json-stream`; `broken` marks an unreadable last line. `None` if no run
/// begins.
pub(super) fn stream(events: &[Value], broken: bool) -> Option<Record> {
    let mut document = Document::default();
    let mut is_complete = false;
    for event in events {
        // Later versions may have other events.
        if let Ok(is_last) = take(event, &mut document) {
            is_complete |= is_last;
        }
    }
    if document.header.schema != SCHEMA {
        return None;
    }
    let mut record = record(&document, "netperf --json-stream");
    if !is_complete {
        let half = if broken {
            ", in the middle of a line"
        } else {
            ""
        };
        record.error = Some(format!(
            "The log ends before the run did{half}: there is no result."
        ));
    }
    Some(record)
}

/// Takes an event of `--json-stream` into the document so far; returns true for the last event.
/// Fails if it cannot be read.
fn take(event: &Value, document: &mut Document) -> serde_json::Result<bool> {
    match event["event"].as_str() {
        Some("start") => {
            let command_line = part(event, "command_line")?;
            let started = AsSeconds::deserialize(&event["time_unix_seconds"])?;
            let test = part(event, "test")?;
            document.header = Deserialize::deserialize(event)?;
            (document.command_line, document.test) = (command_line, test);
            document.span.started = started;
        }
        Some("interim") => document.intervals.push(part(event, "interval")?),
        Some("iteration") => document.iterations.push(part(event, "iteration")?),
        Some("result") => {
            *document = part(event, "document")?;
            return Ok(true);
        }
        Some("error") => {
            document.error = Some(part(event, "error")?);
            return Ok(true);
        }
        Some(_) | None => {}
    }
    Ok(false)
}

/// A field of an event.
fn part<'e, T: Deserialize<'e> + Default>(event: &'e Value, name: &str) -> serde_json::Result<T> {
    event
        .get(name)
        .map_or_else(|| Ok(T::default()), T::deserialize)
}

/// A text that is not empty, without blanks around it.
fn text(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn record(document: &Document, origin: &'static str) -> Record {
    let test = &document.test;
    let result = document.result.as_ref();
    let started = document.span.started.as_secs_f64();
    let version = text(&document.header.program.version);
    let iterations = document.iterations.len();
    let mut record = Record {
        origin,
        title: document.brand.as_deref().and_then(text),
        program: version.map(|version| format!("netperf {version}")),
        started: (started > 0.0).then_some(started),
        test: text(&test.name),
        protocol: text(&test.protocol),
        direction: direction(document),
        limit: limit(test),
        length: result.and_then(|result| result.elapsed_seconds.0),
        iterations: (iterations > 0).then_some(iterations),
        headline: result.and_then(|result| headline(&result.throughput)),
        figures: figures(document),
        local: ends::end(document, ends::DocumentSide::Local),
        remote: ends::end(document, ends::DocumentSide::Remote),
        error: document
            .error
            .as_ref()
            .and_then(|error| text(&error.message))
            .or_else(|| {
                result
                    .is_none()
                    .then(|| "the file has no result".to_owned())
            }),
        facts: facts(document),
        until: document.until.clone().filter(|until| !until.end.is_empty()),
        flows: flows(document),
        ..Record::default()
    };
    record.half_width = half_width(document, &record);
    if let Some(line) = text(&document.command_line) {
        record.commands.push((String::new(), line));
    }
    over_time::add(document, &mut record);
    series::add(document, over_time::begin(document), &mut record);
    times::add(document, &mut record);
    doubts::add(document, &mut record);
    record
}

fn direction(document: &Document) -> Option<String> {
    let test = &document.test;
    let words = match (test.connects, test.sends, test.receives) {
        _ if test.bidirectional.is_some() => BOTH_WAYS,
        (true, true, true) => "each request over a connection of its own",
        (true, _, _) => "connections opened and closed",
        (false, true, true) => "requests and responses",
        (false, true, false) => "from client to server",
        (false, false, true) => "from server to client",
        (false, false, false) => return None,
    };
    Some(words.to_owned())
}

fn limit(test: &AskedTest) -> Option<String> {
    let limit = &test.limit;
    let count = match limit.kind.as_str() {
        "time" => {
            let seconds = Quantity::new(limit.seconds.0?, Unit::Seconds);
            return Some(format!("for {}", seconds.brief()));
        }
        "signal" => return Some("until a signal".to_owned()),
        "bytes" => limit.bytes?,
        "transactions" => limit.transactions?,
        "messages" => limit.messages?,
        _ => return None,
    };
    let count = crate::unit::whole(netperf_model::figures::count(count));
    Some(format!("for {count} {}", limit.kind))
}

/// The rate of transactions if there are any, or of bits, or in the unit in force.
fn headline(result: &ThroughputFigures) -> Option<Quantity> {
    let (value, unit) = if let Some(rate) = result.transactions_per_second.0 {
        (rate, Unit::TransactionsPerSecond)
    } else if let Some(rate) = result.throughput_bits_per_second.0 {
        (rate, Unit::BitsPerSecond)
    } else {
        let unit = text(&result.throughput_unit)?;
        (result.throughput.0?, Unit::Other(unit))
    };
    Some(Quantity::new(value, unit))
}

fn figures(document: &Document) -> Vec<(String, Quantity)> {
    let mut figures = document.result.as_ref().map_or_else(Vec::new, of_result);
    figures.extend(sent(document));
    if let Some(segments) = retransmitted(document) {
        let name = RETRANSMITTED.to_owned();
        figures.push((name, Quantity::new(segments, Unit::Count("segments"))));
    }
    figures.extend(datagrams::figures(document));
    let last = document.iterations.last();
    if let Some(run) = last.filter(|_| document.test.bidirectional.is_some()) {
        let there = run.remote.as_ref();
        let ways = [
            (
                RECEIVED,
                there.and_then(|end| end.rates.received_bits_per_second.0),
            ),
            (RECEIVED_BACK, run.local.rates.received_bits_per_second.0),
        ];
        let known = ways
            .into_iter()
            .filter_map(|(name, rate)| Some((name, rate?)));
        figures.extend(
            known.map(|(name, rate)| (name.to_owned(), Quantity::new(rate, Unit::BitsPerSecond))),
        );
    }
    let parts = last.and_then(|run| run.one_way.as_ref());
    figures.extend(parts.into_iter().flat_map(parts_of_transactions));
    figures
}

/// The medians of the parts of transactions (`--timestamps`), of the last iteration.
fn parts_of_transactions(all: &OneWayResult) -> impl Iterator<Item = (String, Quantity)> {
    let times = [
        (Part::ClientTurn, all.local_turnaround),
        (Part::ClientSend, all.local_send),
        (Part::WireThere, all.wire_there),
        (Part::ServerReceive, all.remote_recv),
        (Part::ServerTurn, all.remote_turnaround),
        (Part::ServerSend, all.remote_send),
        (Part::WireBack, all.wire_back),
        (Part::ClientReceive, all.local_recv),
    ];
    times.into_iter().map(|(part, times)| {
        let median = Quantity::new(times.median / 1e9, Unit::Seconds);
        (format!("{}, median", part.label()), median)
    })
}

/// The mean rate at which the sending end of one-way data sent.
fn sent(document: &Document) -> Option<(String, Quantity)> {
    let test = &document.test;
    if test.sends == test.receives || test.connects {
        return None;
    }
    let rates = document.iterations.iter().map(|run| {
        let sender = if test.sends {
            Some(&run.local)
        } else {
            run.remote.as_ref()
        };
        sender?.rates.sent_bits_per_second.0
    });
    let rates: Option<Vec<f64>> = rates.collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let mean = rates.iter().sum::<f64>() / number::of(rates.len());
    Some((SENT.to_owned(), Quantity::new(mean, Unit::BitsPerSecond)))
}

fn of_result(result: &MeanResult) -> Vec<(String, Quantity)> {
    let (throughput, demand) = (&result.throughput, &result.demand);
    let in_transactions = throughput.transactions_per_second.0.is_some();
    let bits = throughput.throughput_bits_per_second.0;
    let seconds = |micros: MeasuredFigure| micros.0.map(|micros| micros * 1e-6);
    let per_kibibyte = |micros| seconds(micros).filter(|_| !in_transactions);
    let (here, there) = ("client", "server");
    let cpu = |end| format!("{end} CPU");
    let of_transaction = |end| format!("{end} CPU time per transaction");
    let of_kibibyte = |end| format!("{end} CPU time per KiB");
    let rows = [
        (
            "payload, both directions".to_owned(),
            bits.filter(|_| in_transactions),
            Unit::BitsPerSecond,
        ),
        (
            "mean round trip, from the rate".to_owned(),
            result.mean_round_trip_seconds.0,
            Unit::Seconds,
        ),
        (cpu(here), result.local_cpu_percent.0, Unit::Percent),
        (cpu(there), result.remote_cpu_percent.0, Unit::Percent),
        (
            of_transaction(here),
            seconds(demand.local_demand_microseconds_per_transaction),
            Unit::Seconds,
        ),
        (
            of_transaction(there),
            seconds(demand.remote_demand_microseconds_per_transaction),
            Unit::Seconds,
        ),
        (
            of_kibibyte(here),
            per_kibibyte(demand.local_demand_microseconds_per_kibibyte),
            Unit::Seconds,
        ),
        (
            of_kibibyte(there),
            per_kibibyte(demand.remote_demand_microseconds_per_kibibyte),
            Unit::Seconds,
        ),
    ];
    let known = rows
        .into_iter()
        .filter_map(|(name, value, unit)| Some((name, Quantity::new(value?, unit))));
    known.collect()
}

/// Segments retransmitted by both ends in all iterations, as far as known.
fn retransmitted(document: &Document) -> Option<f64> {
    let ends = document
        .iterations
        .iter()
        .flat_map(|run| std::iter::once(&run.local).chain(&run.remote));
    let known = ends.filter_map(|end| end.retransmitted_segments);
    known.map(f64::from).reduce(|sum, segments| sum + segments)
}

fn facts(document: &Document) -> Vec<(String, String)> {
    let test = &document.test;
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let known = [
        ("identifier", document.uuid.as_deref().and_then(text)),
        ("socket", text(&test.socket_type)),
        ("request, bytes", number(test.request_bytes)),
        ("response, bytes", number(test.response_bytes)),
        (
            "further requests in flight",
            number(Some(test.burst_requests)),
        ),
        (
            "interim results every, seconds",
            test.interim_interval_seconds
                .0
                .map(|seconds| Value::from(seconds).to_string()),
        ),
        ("program at the other end", peer(document)),
        ("confidence interval", confidence(document)),
        (
            "encryption of the data",
            document
                .iterations
                .last()
                .and_then(|run| run.cipher.clone()),
        ),
    ];
    record::known(known)
}

/// The program at the other end, if it is not netserver, and its version.
fn peer(document: &Document) -> Option<String> {
    let peer = document.peer.as_ref()?;
    let version = peer.version.as_deref().unwrap_or_default();
    text(&format!("{} {version}", peer.program))
}

/// Half the width of the confidence interval of the result.
fn half_width(document: &Document, record: &Record) -> Option<f64> {
    let until = || {
        record
            .until
            .as_ref()?
            .throughput
            .as_ref()?
            .half_width_percent
            .0
    };
    let wide = document
        .confidence
        .and_then(|reached| MeasuredFigure::of(reached.result).0);
    let percent = wide.map(|wide| wide / 2.0).or_else(until)?;
    Some(record.headline.as_ref()?.value * percent / 100.0)
}

fn confidence(document: &Document) -> Option<String> {
    let width = MeasuredFigure::of(document.confidence?.result).0?;
    let level = document.test.confidence?.level;
    let width = crate::unit::figure(width);
    Some(format!(
        "{width} % of the mean wide at a level of {level} %"
    ))
}

/// More flows than this are represented by some of them.
const EACH_FLOW: usize = 32;

/// The rate of each of many flows, as a mean over the iterations.
fn flows(document: &Document) -> Vec<(String, Quantity)> {
    let mut sums: Vec<(f64, Unit)> = Vec::new();
    let mut number = 0;
    let runs = document.iterations.iter();
    for flows in runs.filter_map(|run| run.flows.as_ref()) {
        let rate = |flow: &FlowResult| {
            let arrived = flow.arrived_bits_per_second;
            let sent = arrived.0.map_or(flow.sent_bits_per_second, |_| arrived);
            let bits = [sent, flow.received_bits_per_second];
            over_time::rate(flow.transactions_per_second, bits)
        };
        let rates: Vec<(f64, Unit)> = flows.each.iter().filter_map(rate).collect();
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
    named_flows(sums.into_iter().map(mean).collect())
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

/// The mean over all iterations that have a figure.
fn mean(document: &Document, pick: impl Fn(&IterationDocument) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = document.iterations.iter().filter_map(pick).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / number::of(values.len()))
}
