//! A result in words, and its figures in a row.

use crate::record::{ReachedPrecision, Record, RecordEnd, known};
use crate::table::Table;
use crate::unit::{Quantity, Unit, figure, whole};

/// Sentences that say what was measured, between whom, and what came of it.
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

/// The requested precision of a run with `--until`, and the effort, each with its name.
pub(crate) fn until_facts(until: &ReachedPrecision) -> Vec<(String, String)> {
    let seconds = |value: f64| Quantity::new(value, Unit::Seconds).to_string();
    let asked = until.wanted.map(|wanted| {
        let confidence = until.confidence.map_or_else(String::new, |confidence| {
            let confidence = Quantity::new(confidence, Unit::Percent);
            format!(" with {} confidence", confidence.brief())
        });
        format!(
            "±{}{confidence}",
            Quantity::new(wanted, Unit::Percent).brief()
        )
    });
    let values = until.values.zip(until.every);
    let took = until.seconds.map(|time| match values {
        Some((values, every)) => {
            format!("{}: {values} values of {}", seconds(time), seconds(every))
        }
        None => seconds(time),
    });
    let warm_up = until.warm_up.map(|time| {
        if time > 0.0 {
            format!("the first {}", seconds(time))
        } else {
            "nothing".to_owned()
        }
    });
    known([
        ("asked for", asked),
        ("judged", took),
        ("left out as warm-up", warm_up),
        ("course", until.course.clone()),
        ("correlation of neighbours", until.correlation.map(figure)),
        ("would take", until.would_take.map(long)),
    ])
}

/// A time of which only the size matters.
fn long(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")];
    let fits = |(unit, _): &&(f64, &str)| seconds >= 3.0 * unit;
    let (unit, name) = UNITS.iter().find(fits).unwrap_or(&(1.0, "s"));
    format!("about {}\u{a0}{name}", whole((seconds / unit).ceil()))
}

/// The figures of a run with `--until`, and their precision.
pub(crate) fn until_table(label: &str, until: &ReachedPrecision) -> Table {
    let caption = format!("How well {label} is known");
    let mut table = Table::new(&caption, 1, &["figure", "value", "±", "± in %"]);
    for known in &until.figures {
        table.rows.push(vec![
            known.name.clone(),
            shown(known.value.as_ref()),
            shown(known.half_width.as_ref()),
            shown(known.percent.map(figure)),
        ]);
    }
    table
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
