//! A result in words, and its figures in a row.

use crate::record::{Record, RecordEnd, Track};
use crate::unit::{Quantity, Unit, figure};

/// A summary in sentences: test, hosts and results.
pub(crate) fn summary(record: &Record) -> Vec<String> {
    let mut said = vec![measured(record)];
    said.extend(steadiness(record));
    said.extend(times(record));
    said.extend(datagrams(record));
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

/// `client (one, 192.0.2.1)`.
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
            (_, "") => spread.operation.plural().to_owned(),
            (_, name) => name.to_owned(),
        };
        let mut text = format!("{subject}: median {}", seconds(median));
        if let Some(late) = spread.percentile(99.0) {
            text.push_str(&format!(", P99 {}", seconds(late)));
        }
        if let Some(longest) = spread.longest {
            text.push_str(&format!(", longest {}", seconds(longest)));
        }
        text.push('.');
        Some(text)
    });
    said.collect()
}

/// Loss, order and jitter of datagrams, as far as they are known.
fn datagrams(record: &Record) -> Option<String> {
    let of = |name: &str| {
        let found = record.figures.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.to_string())
    };
    let mut text = format!("{} did not arrive", of(DATAGRAMS_LOST)?);
    if let Some(share) = of(DATAGRAMS_LOST_SHARE) {
        text.push_str(&format!(" ({share})"));
    }
    if let Some(reordered) = of(DATAGRAMS_REORDERED) {
        text.push_str(&format!(", {reordered} arrived out of order"));
    }
    if let Some(jitter) = of(JITTER) {
        text.push_str(&format!("; the jitter was {jitter}"));
    }
    text.push('.');
    Some(text)
}

/// The direction of bulk data both ways.
pub(crate) const BOTH_WAYS: &str = "both ways at once";

/// Names of figures that netperf and iperf3 both have.
pub(crate) const SENT: &str = "sent";
pub(crate) const RETRANSMITTED: &str = "segments retransmitted";
pub(crate) const RECEIVED: &str = "received, one way";
pub(crate) const RECEIVED_BACK: &str = "received, other way";
pub(crate) const DATAGRAMS_SENT: &str = "datagrams sent";
pub(crate) const DATAGRAMS_RECEIVED: &str = "datagrams received";
pub(crate) const DATAGRAMS_LOST: &str = "datagrams lost";
pub(crate) const DATAGRAMS_LOST_SHARE: &str = "datagrams lost, share";
pub(crate) const DATAGRAMS_REORDERED: &str = "datagrams out of order";
pub(crate) const JITTER: &str = "jitter";

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

/// A figure by name, with the value of every record that has it.
pub(crate) struct KeyFigure {
    pub(crate) name: String,
    pub(crate) values: Vec<Option<Quantity>>,
}

impl KeyFigure {
    /// The change from the first record to another: in percent, or in points for shares.
    /// `None` if either lacks the figure, in different units, or from 0.
    pub(crate) fn change(&self, index: usize) -> Option<Quantity> {
        let [first, other] = [0, index].map(|at| self.values.get(at)?.as_ref());
        let (first, other) = (first?, other?);
        if first.unit != other.unit || TAKEN.contains(&self.name.as_str()) {
            return None;
        }
        let difference = other.value - first.value;
        let (value, unit) = if first.unit == Unit::Percent {
            (difference, Unit::Count("points"))
        } else {
            (difference / first.value * 100.0, Unit::Percent)
        };
        // Figures of a file may be 0 or infinite.
        value.is_finite().then(|| Quantity::new(value, unit))
    }
}

/// True if changes between the figures of two records mean something: both are of one test in one
/// direction, and their results are of one kind.
pub(crate) fn comparable(first: &Record, other: &Record) -> bool {
    fn test(record: &Record) -> &str {
        record.test.as_deref().unwrap_or(record.origin)
    }
    fn same<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
        one.zip(other).is_none_or(|(one, other)| one == other)
    }
    let kind = |record: &Record| {
        let result = record.headline.as_ref();
        result.map(|result| result.unit == Unit::TransactionsPerSecond)
    };
    test(first) == test(other)
        && same(first.direction.as_ref(), other.direction.as_ref())
        && same(kind(first), kind(other))
}

/// The names of figures that say how much was measured.
const TAKEN: [&str; 2] = ["length", "operations timed"];

/// A change with its sign.
pub(crate) fn signed(change: &Quantity) -> String {
    let sign = if change.value > 0.0 { "+" } else { "" };
    format!("{sign}{}\u{a0}{}", figure(change.value), change.unit.sign())
}

/// Figures by name, each with one value for every record.
pub(crate) fn key_figures(records: &[Record]) -> Vec<KeyFigure> {
    let mut rows: Vec<KeyFigure> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        // A figure that earlier records lack is inserted after its predecessor.
        let mut next = 0;
        for (name, value) in of_record(record) {
            let row = rows.iter().position(|known| known.name == name);
            let row = row.unwrap_or_else(|| {
                let values = vec![None; records.len()];
                rows.insert(next, KeyFigure { name, values });
                next
            });
            rows[row].values[index] = Some(value);
            next = row + 1;
        }
    }
    rows
}

fn of_record(record: &Record) -> Vec<(String, Quantity)> {
    let mut rows = Vec::new();
    let mut push = |name: &str, value: Option<Quantity>| {
        rows.extend(value.map(|value| (name.to_owned(), value)));
    };
    let seconds = |value: Option<f64>| value.map(|value| Quantity::new(value, Unit::Seconds));
    push("result", record.headline.clone());
    push("length", seconds(record.length));
    for (name, value) in &record.figures {
        push(name, Some(value.clone()));
    }
    push("congestion window, largest", largest(&record.windows));
    push("round trip of TCP, largest", largest(&record.round_trips));
    if let [spread] = &record.spreads[..] {
        let time = spread.operation.time();
        let mut push_time = |name: &str, value| push(&format!("{time}, {name}"), seconds(value));
        push_time("mean", spread.mean);
        push_time("standard deviation", spread.deviation);
        for (percent, name) in crate::figure::PERCENTILES {
            push_time(name, spread.percentile(percent));
        }
        push_time("longest", spread.longest);
        let timed = Quantity::new(spread.count(), Unit::Count("operations"));
        push("operations timed", Some(timed));
    }
    rows
}

/// The largest sample of all tracks, if they have one unit.
fn largest(tracks: &[Track]) -> Option<Quantity> {
    let unit = &tracks.first()?.unit;
    let same = tracks.iter().all(|track| track.unit == *unit);
    let values = tracks.iter().flat_map(|track| &track.samples);
    let largest = values.map(|sample| sample.value).max_by(f64::total_cmp)?;
    same.then(|| Quantity::new(largest, unit.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_from_nothing_or_of_infinite_figures_is_none() {
        let figure = |first: f64, other: f64| KeyFigure {
            name: "rate".to_owned(),
            values: [first, other]
                .map(|value| Some(Quantity::new(value, Unit::Count("transactions/s"))))
                .to_vec(),
        };
        let change = |first, other| figure(first, other).change(1).map(|change| change.value);
        assert_eq!(change(100.0, 150.0), Some(50.0));
        assert_eq!(change(0.0, 150.0), None);
        assert_eq!(change(f64::INFINITY, f64::INFINITY), None);
        assert_eq!(change(1.0, f64::INFINITY), None);
    }
}
