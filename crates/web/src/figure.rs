//! The figures of the page: charts, their tables, and notes on missing data.

mod cpu;
mod flows;
mod latency;
mod tcp;
mod throughput;

pub(crate) use latency::{PERCENTILES, leave_out_heat};

use crate::chart::{Body, Chart, Line, LineNotes, Lines, Point, Thin, X};
use crate::number;
use crate::record::{Record, Sample, Track};
use crate::table::Table;
use crate::unit::{Quantity, Unit};

/// Rows of a table for one line at most.
const ROWS: usize = 40;

/// A part of the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its heading, which is the title of its only chart.
    pub heading: String,
    /// Its explanation.
    pub about: String,
    /// Its charts, each with a table of the same.
    pub charts: Vec<(Chart, Table)>,
    /// Missing data, and the reasons.
    pub missing: Vec<String>,
}

/// All figures of some records.
#[must_use]
pub fn figures(records: &[Record]) -> Vec<Figure> {
    let figures = [
        throughput::figure(records),
        latency::spectrum(records),
        latency::heat(records),
        flows::figure(records),
        cpu::figure(records),
        tcp::figure(records),
    ];
    figures.map(Figure::headed).to_vec()
}

impl Figure {
    /// With the title of its chart as its heading if it has one chart.
    fn headed(mut self) -> Self {
        if let [(chart, _)] = &self.charts[..] {
            self.heading.clone_from(&chart.title);
        }
        self
    }
}

/// The name of a record's line among the lines of all records.
fn name(records: &[Record], record: &Record, own: &str) -> String {
    match (records.len(), own) {
        (1, own) => own.to_owned(),
        (_, "") => record.label.clone(),
        (_, own) => format!("{}: {own}", record.label),
    }
}

/// Colour and dashes of a line: several records are told apart by colour, and what one
/// of them has several of by dashes; a single record has the colours for that.
fn look(records: &[Record], record: usize, own: usize) -> (usize, usize) {
    if records.len() == 1 {
        (own % 6, own / 6)
    } else {
        (record % 6, own + record / 6)
    }
}

/// The units, each once.
fn distinct<'u>(all: impl Iterator<Item = &'u Unit>) -> Vec<&'u Unit> {
    let mut units = Vec::new();
    for unit in all {
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    units
}

/// A line for each of the tracks that `pick` gives, with the name and the points of `own`.
fn lines<'r, T: 'r, P: IntoIterator<Item = &'r T>>(
    records: &'r [Record],
    pick: impl Fn(&'r Record) -> P,
    own: impl Fn(&'r T) -> (&'r str, Vec<Point>),
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, record) in records.iter().enumerate() {
        for (index, track) in pick(record).into_iter().enumerate() {
            let (colour, dash) = look(records, number, index);
            let (own, points) = own(track);
            lines.push(Line {
                name: name(records, record, own),
                colour,
                dash,
                points,
                spreads: Vec::new(),
                notes: LineNotes::default(),
            });
        }
    }
    lines
}

/// The name of a line, or `result` for one without a name.
pub(crate) fn or_result(name: &str) -> String {
    let name = if name.is_empty() { "result" } else { name };
    name.to_owned()
}

/// One chart for each unit among the tracks that `pick` gives.
fn over_time(
    records: &[Record],
    id: &str,
    title: &str,
    y_name: &str,
    pick: fn(&Record) -> &[Track],
) -> Vec<(Chart, Table)> {
    let units = distinct(records.iter().flat_map(pick).map(|track| &track.unit));
    let charts = units.into_iter().enumerate().map(|(number, unit)| {
        let own = |record| pick(record).iter().filter(|track| track.unit == *unit);
        let lines = lines(records, own, |track: &Track| {
            let points = settled(&track.samples).iter().map(point).collect();
            (track.name.as_str(), points)
        });
        let y_name = if y_name.is_empty() {
            unit.quantity()
        } else {
            y_name
        };
        let lines = Lines {
            x: X::Seconds,
            x_name: "time".to_owned(),
            unit: unit.clone(),
            y_name: y_name.to_owned(),
            log: false,
            lines,
            thin: Thin::Mean,
            phases: Vec::new(),
        };
        chart((id, number), title, lines)
    });
    charts.collect()
}

/// Intervals, of which one that the end of the run cut short is taken together with the
/// one before: what was done in a tenth of a millisecond is no rate.
pub(crate) fn settled(samples: &[Sample]) -> Vec<Sample> {
    let mut settled: Vec<Sample> = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let last = samples.get(index + 1).is_none_or(|next| !next.joined);
        match settled.last_mut() {
            Some(before) if last && sample.joined && sample.span < before.span / 2.0 => {
                let span = before.span + sample.span;
                let sum = before.value * before.span + sample.value * sample.span;
                before.value = sum / span;
                before.span = span;
                before.at = sample.at;
            }
            Some(_) | None => settled.push(*sample),
        }
    }
    settled
}

/// A mean over an interval is drawn in its middle.
fn point(sample: &Sample) -> Point {
    Point {
        x: sample.at - sample.span / 2.0,
        y: sample.value,
        joined: sample.joined,
    }
}

fn chart((id, number): (&str, usize), title: &str, lines: Lines) -> (Chart, Table) {
    let table = table(title, &lines);
    (Chart::new(id, number, title, Body::Lines(lines)), table)
}

/// The points of all lines, thinned where there are many.
fn table(title: &str, lines: &Lines) -> Table {
    let longest = lines
        .lines
        .iter()
        .map(|line| line.points.len())
        .max()
        .unwrap_or(0);
    let every = longest.div_ceil(ROWS).max(1);
    let caption = if every == 1 {
        title.to_owned()
    } else {
        format!("{title}: one value of {every}")
    };
    let mut table = Table::new(&caption, 1, &["of", "time", &lines.y_name]);
    for line in &lines.lines {
        for point in line.points.iter().step_by(every) {
            let value = Quantity::new(point.y, lines.unit.clone());
            let row = [
                or_result(&line.name),
                lines.x_text(point.x),
                value.to_string(),
            ];
            table.rows.push(row.to_vec());
        }
    }
    table
}

/// A note on values too large for a chart.
fn undrawable(charts: &[(Chart, Table)]) -> Option<String> {
    let lines = charts.iter().filter_map(|(chart, _)| match &chart.body {
        Body::Lines(lines) => Some(lines.undrawable()),
        Body::Bars(_) | Body::Heat(_) | Body::Matrix(_) | Body::Strips(_) => None,
    });
    let count: usize = lines.sum();
    let whole = crate::unit::whole(number::of(count));
    (count > 0).then(|| format!("{whole} values are too large to be drawn; the tables have them."))
}

/// Notes on records without some data: their names, and the option of each program that
/// provides it. `advice` is for netperf's documents.
fn missing(
    records: &[Record],
    lacks: impl Fn(&Record) -> bool,
    what: &str,
    advice: &str,
) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for record in records
        .iter()
        .filter(|record| record.error.is_none() && lacks(record))
    {
        let reason = match record.origin {
            origin if origin.starts_with("netperf") => advice.to_owned(),
            origin => format!("this file of {origin} does not tell"),
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, labels)) => labels.push(&record.label),
            None => reasons.push((reason, vec![&record.label])),
        }
    }
    let said = reasons
        .into_iter()
        .map(|(reason, labels)| match labels.len() {
            all if all == records.len() => format!("No {what}: {reason}."),
            _ => format!("No {what} in {}: {reason}.", labels.join(", ")),
        });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_cut_short_is_part_of_the_one_before() {
        let sample = |at, span, value, joined| Sample {
            at,
            span,
            value,
            joined,
        };
        let samples = [
            sample(1.0, 1.0, 10.0, false),
            sample(2.0, 1.0, 20.0, true),
            sample(2.25, 0.25, 100.0, true),
            sample(5.0, 1.0, 7.0, false),
        ];
        let wanted = [
            sample(1.0, 1.0, 10.0, false),
            sample(2.25, 1.25, 36.0, true),
            sample(5.0, 1.0, 7.0, false),
        ];
        assert_eq!(settled(&samples), wanted);
        assert_eq!(settled(&samples[2..]), samples[2..]);
    }
}
