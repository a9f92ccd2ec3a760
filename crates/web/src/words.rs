//! A result in words, and its figures in a row.

use crate::record::{Record, RecordEnd};
use crate::unit::{Quantity, Unit, figure, whole};

/// A summary in sentences: test, hosts and results.
pub(crate) fn summary(record: &Record) -> Vec<String> {
    let mut said = vec![measured(record)];
    said.extend(steadiness(record));
    said.extend(times(record));
    said.extend(cpu(record));
    said
}

fn measured(record: &Record) -> String {
    let Some(test) = record.test.as_deref() else {
        return "The file names no test.".to_owned();
    };
    let mut text = test.to_owned();
    if let Some(protocol) = record
        .protocol
        .as_deref()
        .filter(|protocol| !test.contains(*protocol))
    {
        text.push_str(&format!(" over {protocol}"));
    }
    text.push_str(&format!(
        " between {} and {}",
        place(&record.local),
        place(&record.remote)
    ));
    if let Some(direction) = &record.direction {
        text.push_str(&format!(", {direction}"));
    }
    if let Some(limit) = &record.limit {
        text.push_str(&format!(", {limit}"));
    }
    if let Some(count) = record.iterations.filter(|count| *count > 1) {
        text.push_str(&format!(", the mean of {count} iterations"));
    }
    text.push('.');
    text
}

/// `netperf's end (one, 192.0.2.1)`.
fn place(end: &RecordEnd) -> String {
    let role = if end.role.is_empty() {
        "an end"
    } else {
        end.role
    };
    let mut known: Vec<&str> = end.name.as_deref().into_iter().collect();
    known.extend(
        end.address
            .as_deref()
            .filter(|address| !known.contains(address)),
    );
    // The wildcard addresses of an unbound socket.
    known.retain(|address| !["0.0.0.0", "::"].contains(address));
    match known.is_empty() {
        true => role.to_owned(),
        false => format!("{role} ({})", known.join(", ")),
    }
}

fn steadiness(record: &Record) -> Option<String> {
    let track = record.rates.first().filter(|_| record.rates.len() == 1)?;
    let samples = crate::figure::settled(&track.samples);
    let values = || samples.iter().map(|sample| sample.value);
    let (low, high) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let of = |value| Quantity::new(value, track.unit.clone());
    (samples.len() > 1).then(|| {
        let name = match track.name.as_str() {
            "" => String::new(),
            name => format!(", as {name},"),
        };
        format!(
            "Its {} intervals{name} were between {} and {}.",
            samples.len(),
            of(low),
            of(high)
        )
    })
}

fn times(record: &Record) -> Vec<String> {
    let several = record.spreads.len() > 1;
    let said = record.spreads.iter().take(3).filter_map(|spread| {
        let seconds = |value| Quantity::new(value, Unit::Seconds);
        let median = spread.percentile(50.0)?;
        let subject = match (several, spread.name.as_str()) {
            (false, "") | (true, "") => "Operations".to_owned(),
            (_, name) => name.to_owned(),
        };
        let mut text = format!("{subject} took {} in the median", seconds(median));
        if let Some(late) = spread.percentile(99.0) {
            text.push_str(&format!(", one of a hundred more than {}", seconds(late)));
        }
        if let Some(longest) = spread.longest {
            text.push_str(&format!(", the longest {}", seconds(longest)));
        }
        text.push('.');
        Some(text)
    });
    said.collect()
}

fn cpu(record: &Record) -> Option<String> {
    let busy = |end: &RecordEnd| {
        let busy = end.cpu.as_ref()?.busy?;
        Some(format!("{}\u{a0}% at {}", figure(busy), end.role))
    };
    let both: Vec<String> = [&record.local, &record.remote]
        .into_iter()
        .filter_map(busy)
        .collect();
    (!both.is_empty()).then(|| format!("CPU utilisation was {}.", both.join(" and ")))
}

/// The text for a missing value.
const NOTHING: &str = "–";

/// A value, or the text for a missing one.
pub(crate) fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

/// Figures by name, each with one value for every record.
pub(crate) fn key_figures(records: &[Record]) -> Vec<(String, Vec<String>)> {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        // A figure that earlier records lack is inserted after its predecessor.
        let mut next = 0;
        for (name, value) in of_record(record) {
            let row = rows.iter().position(|(known, _)| *known == name);
            let row = row.unwrap_or_else(|| {
                rows.insert(next, (name, vec![NOTHING.to_owned(); records.len()]));
                next
            });
            rows[row].1[index] = value;
            next = row + 1;
        }
    }
    rows
}

fn of_record(record: &Record) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut push = |name: &str, value: Option<Quantity>| {
        rows.extend(value.map(|value| (name.to_owned(), value.to_string())));
    };
    push("result", record.headline.clone());
    push(
        "length",
        record
            .length
            .map(|length| Quantity::new(length, Unit::Seconds)),
    );
    for (name, value) in &record.figures {
        push(name, Some(value.clone()));
    }
    if let [spread] = &record.spreads[..] {
        let seconds = |value: Option<f64>| value.map(|value| Quantity::new(value, Unit::Seconds));
        push("latency, mean", seconds(spread.mean));
        push("latency, standard deviation", seconds(spread.deviation));
        for (percent, name) in crate::figure::PERCENTILES {
            push(
                &format!("latency, {name}"),
                seconds(spread.percentile(percent)),
            );
        }
        push("latency, longest", seconds(spread.longest));
        rows.push(("operations timed".to_owned(), whole(spread.count())));
    }
    rows
}
