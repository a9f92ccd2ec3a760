//! The same as a page, as Markdown and as CSV.

use std::fmt::Write as _;

use netperf_text::csv::{number, text as cell};

use crate::chart::Body;
use crate::escape::markdown as escaped;
use crate::record::{Record, RecordEnd, Track, known};
use crate::table::Table;
use crate::verdicts::Verdicts;
use crate::words::KeyFigure;
use crate::{figures, until, words};

/// The content of the page, as Markdown.
#[must_use]
pub fn markdown(records: &[Record]) -> String {
    markdown_with(records, &Verdicts::default())
}

/// The content of the page with verdicts on sets of the results, as Markdown.
#[must_use]
pub fn markdown_with(records: &[Record], verdicts: &Verdicts) -> String {
    let mut text = "# Results\n".to_owned();
    for record in records {
        _ = write!(text, "\n## {}\n\n", escaped(&record.label));
        for line in words::summary(record) {
            _ = writeln!(text, "{}", escaped(&line));
        }
        for (head, lines) in [
            ("Failed", record.error.as_slice()),
            ("Warning", &record.doubts[..]),
        ] {
            for line in lines {
                _ = write!(text, "\n**{head}:** {}\n", escaped(line));
            }
        }
    }
    text.push_str("\n## Results\n\n");
    if let Some(line) = about_changes(records, verdicts) {
        _ = write!(text, "{}\n\n", escaped(&line));
    }
    text.push_str(&key_table(records, verdicts).markdown());
    text.push_str(&verdicts.markdown());
    if records.iter().any(|record| record.until.is_some()) {
        text.push_str("\n## Until the result is known\n");
    }
    for record in records {
        let Some(result) = &record.until else {
            continue;
        };
        let label = escaped(&record.label);
        _ = write!(text, "\n### {label}\n\n{}\n", escaped(&result.end));
        for (name, value) in until::facts(result) {
            _ = writeln!(text, "- {name}: {}", escaped(&value));
        }
        _ = write!(text, "\n{}", until::table(&record.label, result).markdown());
    }
    for figure in figures(records) {
        _ = write!(text, "\n## {}\n", escaped(&figure.heading));
        for (chart, table) in &figure.charts {
            if chart.title != figure.heading {
                _ = write!(text, "\n### {}\n", escaped(&chart.title));
            }
            _ = write!(text, "\n{}", table.markdown());
        }
        for missing in &figure.missing {
            _ = write!(text, "\n{}\n", escaped(missing));
        }
    }
    text.push_str("\n## Hosts and commands\n");
    for record in records {
        _ = write!(
            text,
            "\n### {}\n\n{}",
            escaped(&record.label),
            facts_table(record).markdown()
        );
    }
    text
}

/// Figures of all records side by side.
pub(crate) fn key_table(records: &[Record], verdicts: &Verdicts) -> Table {
    let mut head = vec!["metric"];
    head.extend(records.iter().map(|record| record.label.as_str()));
    let mut table = Table::new("Results", 1, &head);
    let figures = words::key_figures(records);
    let has_change = |index: &usize| figures.iter().any(|row| row.change(*index).is_some());
    let others = compared(records, verdicts);
    let changed: Vec<usize> = others.into_iter().filter(has_change).collect();
    for index in &changed {
        table.head.push(change_of(records, *index));
    }
    for figure in figures {
        let values = figure
            .values
            .iter()
            .map(|value| words::shown(value.as_ref()));
        let changes = changed.iter().map(|index| {
            let change = figure.change(*index);
            words::shown(change.as_ref().map(words::signed))
        });
        let row = std::iter::once(figure.name.clone())
            .chain(values)
            .chain(changes);
        table.rows.push(row.collect());
    }
    table
}

/// The records whose changes from the first are shown.
fn compared(records: &[Record], verdicts: &Verdicts) -> Vec<usize> {
    let others = records.iter().enumerate().skip(1);
    let same = others.filter(|(_, other)| words::comparable(&records[0], other));
    let same = same.filter(|_| !verdicts.has_repetitions);
    same.map(|(index, _)| index).collect()
}

/// The heading of the changes from the first record to another.
fn change_of(records: &[Record], index: usize) -> String {
    match records.len() {
        2 => "change".to_owned(),
        _ => format!("change, {}", records[index].label),
    }
}

/// Changes of [`key_table`] in the words of verdicts; `None` if it has none.
pub(crate) fn about_changes(records: &[Record], verdicts: &Verdicts) -> Option<String> {
    let first = records.first()?;
    (!compared(records, verdicts).is_empty()).then(|| {
        format!(
            "Changes are from {}. A single run of each leaves them inconclusive, as they may be chance: \
             netperf compare, with several runs of each, can show better, worse or equivalent.",
            first.label
        )
    })
}

/// The origin of a record, and facts about its hosts.
pub(crate) fn facts_table(record: &Record) -> Table {
    let mut table = Table::new("Hosts and commands", 3, &["of", "fact", "value"]);
    let mut push = |of: &str, name: &str, value: &str| {
        table
            .rows
            .push(vec![of.to_owned(), name.to_owned(), value.to_owned()]);
    };
    for (name, value) in run_facts(record) {
        push("run", &name, &value);
    }
    for (of, command) in &record.commands {
        let name = if of.is_empty() {
            "command".to_owned()
        } else {
            format!("command of {of}")
        };
        push("run", &name, command);
    }
    if record.commands.is_empty() {
        push("run", "command", "not in the file");
    }
    for end in [&record.local, &record.remote] {
        for (name, value) in end_facts(end) {
            push(end.role, &name, &value);
        }
    }
    table
}

/// Facts about a run that are neither end's.
pub(crate) fn run_facts(record: &Record) -> Vec<(String, String)> {
    let mut facts = known([
        ("title", record.title.clone()),
        ("written by", Some(record.origin.to_owned())),
        ("program", record.program.clone()),
        ("began", record.started.and_then(netperf_text::date::date)),
    ]);
    facts.extend_from_slice(&record.facts);
    facts
}

/// Facts about an end.
pub(crate) fn end_facts(end: &RecordEnd) -> Vec<(String, String)> {
    let mut facts = known([("host", end.name.clone()), ("address", end.address.clone())]);
    facts.extend_from_slice(&end.facts);
    facts
}

/// Every number of every figure as CSV, in one long table: which result, which figure,
/// which line of it, the place on the axis and the value, each with its unit.
#[must_use]
pub fn csv(records: &[Record]) -> String {
    let mut text = "result,metric,series,x,x_unit,value,unit\n".to_owned();
    let changes = words::key_figures(records);
    for (index, record) in records.iter().enumerate() {
        let mut rows = Rows {
            record,
            text: &mut text,
        };
        rows.figures();
        if index > 0 && words::comparable(&records[0], record) {
            rows.changes(&changes, index);
        }
        rows.until();
        for (figure, tracks) in [
            ("throughput", &record.rates),
            ("congestion window", &record.windows),
            ("round trip of TCP", &record.round_trips),
            ("segments retransmitted", &record.retransmissions),
        ] {
            rows.tracks(figure, tracks);
        }
        rows.spreads();
        rows.flows();
        rows.cpu();
    }
    text
}

struct Rows<'a> {
    record: &'a Record,
    text: &'a mut String,
}

impl Rows<'_> {
    fn row(&mut self, figure: &str, series: &str, x: (&str, &str), value: (f64, &str)) {
        let label = cell(&self.record.label);
        let (series, x_unit, unit) = (cell(series), cell(x.1), cell(value.1));
        let figure = cell(figure);
        _ = writeln!(
            self.text,
            "{label},{figure},{series},{},{x_unit},{},{unit}",
            x.0,
            number(value.0)
        );
    }

    fn figures(&mut self) {
        let record = self.record;
        let headline = record.headline.iter().map(|value| ("result", value));
        let named = record
            .figures
            .iter()
            .map(|(name, value)| (name.as_str(), value));
        for (name, value) in headline.chain(named) {
            self.row("metrics", name, ("", ""), (value.value, value.unit.sign()));
        }
    }

    /// Changes from the first record.
    fn changes(&mut self, figures: &[KeyFigure], index: usize) {
        let changed = figures.iter();
        for (name, change) in changed.filter_map(|row| Some((&row.name, row.change(index)?))) {
            self.row("change", name, ("", ""), (change.value, change.unit.sign()));
        }
    }

    fn until(&mut self) {
        let record = self.record;
        for known in record.until.iter().flat_map(until::figures) {
            let ends = [
                ("known", known.value),
                ("known within, half the width", known.half_width),
            ];
            for (figure, value) in ends {
                if let Some(value) = value {
                    let value = (value.value, value.unit.sign());
                    self.row(figure, &known.name, ("", ""), value);
                }
            }
        }
    }

    fn tracks(&mut self, figure: &str, tracks: &[Track]) {
        for track in tracks {
            for sample in &track.samples {
                let at = number(sample.at);
                self.row(
                    figure,
                    &track.name,
                    (&at, "s"),
                    (sample.value, track.unit.sign()),
                );
            }
        }
    }

    fn spreads(&mut self) {
        let record = self.record;
        for spread in &record.spreads {
            let count = spread.count();
            let mut seen = 0.0;
            for range in &spread.ranges {
                seen += range.count;
                let share = number(seen / count * 100.0);
                self.row(
                    spread.operation.time(),
                    &spread.name,
                    (&share, "%"),
                    (range.middle(), "s"),
                );
            }
        }
    }

    fn flows(&mut self) {
        let record = self.record;
        for (name, rate) in &record.flows {
            self.row("flows", name, ("", ""), (rate.value, rate.unit.sign()));
        }
    }

    fn cpu(&mut self) {
        for figure in figures(std::slice::from_ref(self.record)) {
            for (chart, _) in figure.charts.iter().filter(|_| figure.id == "cpu") {
                let Body::Bars(bars) = &chart.body else {
                    continue;
                };
                for bar in &bars.bars {
                    for (part, value) in &bar.parts {
                        let part = bars.parts.get(*part).map_or("", String::as_str);
                        let series = format!("{}, {part}", bar.name);
                        self.row("cpu", &series, ("", ""), (*value, "%"));
                    }
                }
            }
        }
    }
}
