//! Comparisons as people read them.

use netperf_stats::compare::{Design, fewest};
use netperf_web::escape::markdown as escaped;
use netperf_web::table::{aligned_within, wrapped};
use netperf_web::unit::{NO_BREAK, Quantity};

use crate::compare::{ChangeOutcome, ComparedFigure, Comparison};

impl Comparison {
    /// A table and a verdict in words, in lines of at most this width.
    #[must_use]
    pub fn text(&self, width: Option<usize>) -> String {
        let (one, other) = self.rows.first().map_or((0, 0), |row| row.change.runs);
        let runs = match self.wish.design {
            Design::Paired if one == 1 => "1 pair of runs".to_owned(),
            Design::Paired => format!("{one} pairs of runs"),
            Design::Apart => format!("{one} and {other} runs"),
        };
        let (a, b) = &self.names;
        let test = netperf_web::escape::line(&self.test);
        let sets = format!("{test}: {a} (A) and {b} (B), {runs}");
        let verdict = self.verdict();
        let mut text = String::new();
        for sentence in verdict.lines().chain(["", &sets]) {
            let lines = wrapped(sentence, width.unwrap_or(usize::MAX));
            text.push_str(&lines.join("\n"));
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.table(width));
        text
    }

    /// The table, without columns for which there is no space.
    fn table(&self, width: Option<usize>) -> String {
        /// The last columns, the interval and p, which the verdict needs and readers can do without.
        const SPARE: [usize; 2] = [5, 4];
        let head = ["", "A", "B", "change", &self.interval_name(), "p", ""];
        let head = head.map(str::to_owned).to_vec();
        let rows = self
            .rows
            .iter()
            .map(|row| row.cells().map(|cell| joined(&cell)).to_vec());
        let rows = std::iter::once(head).chain(rows);
        let rows: Vec<Vec<String>> = rows.collect();
        let without = |left_out: &[usize]| {
            let kept: Vec<usize> = (0..7).filter(|column| !left_out.contains(column)).collect();
            let of_row = |row: &Vec<String>| -> Vec<String> {
                kept.iter()
                    .filter_map(|column| row.get(*column).cloned())
                    .collect()
            };
            let rows: Vec<Vec<String>> = rows.iter().map(of_row).collect();
            let numbers: Vec<usize> = (1..kept.len().saturating_sub(1)).collect();
            aligned_within(&rows, &numbers, width).replace(NO_BREAK, " ")
        };
        let fits = |table: &str| {
            let widest = table.lines().map(netperf_text::columns::width).max();
            width.is_none_or(|width| widest <= Some(width))
        };
        let mut table = without(&[]);
        for count in 1..=SPARE.len() {
            if fits(&table) {
                break;
            }
            table = without(SPARE.get(..count).unwrap_or_default());
        }
        table
    }

    /// The same as a table of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "{}\n\n| {} | {} | {} | change | interval | p | |\n|---|--:|--:|--:|--:|--:|---|\n",
            self.verdict(),
            escaped(&self.test),
            escaped(&self.names.0),
            escaped(&self.names.1)
        );
        for row in &self.rows {
            let cells = row.cells().map(|cell| escaped(&cell));
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }

    /// Name of the intervals of changes, with their level.
    pub(crate) fn interval_name(&self) -> String {
        let level = (1e4 * (1.0 - self.wish.judgement.chance)).round() / 100.0;
        format!("{level} % interval")
    }

    /// The result, in sentences about B.
    #[must_use]
    pub fn verdict(&self) -> String {
        self.verdict_on("B")
    }

    /// The result, in sentences that call the second set by this name.
    pub(crate) fn verdict_on(&self, second: &str) -> String {
        let named = |outcome: ChangeOutcome| -> Vec<String> {
            let of = self.rows.iter().filter(|row| row.outcome == outcome);
            of.map(|row| format!("{} {}", row.name, percent(row.change.ratio)))
                .collect()
        };
        let (better, worse) = (named(ChangeOutcome::Better), named(ChangeOutcome::Worse));
        let margin = 100.0 * self.wish.judgement.margin;
        let mut text = match (better.is_empty(), worse.is_empty()) {
            (true, true) if self.outcome() == ChangeOutcome::Equivalent => {
                format!("Equivalent: every interval is within {margin} % of no change.")
            }
            (true, true) => String::new(),
            (false, true) => format!("{second} is better: {}.", better.join(", ")),
            (true, false) => format!("{second} is worse: {}.", worse.join(", ")),
            (false, false) => format!(
                "{second} is worse: {}; but better: {}.",
                worse.join(", "),
                better.join(", ")
            ),
        };
        let open = |row: &&ComparedFigure| row.outcome == ChangeOutcome::Inconclusive;
        let open: Vec<&str> = self
            .rows
            .iter()
            .filter(open)
            .map(|row| row.name.as_str())
            .collect();
        if !open.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!(
                "{gap}Inconclusive: {}; {}.",
                open.join(", "),
                self.advice()
            ));
        }
        if !self.left_out.is_empty() {
            let line = format!(
                "\nNot compared, because only some runs have it: {}.",
                self.left_out.join(", ")
            );
            text.push_str(&line);
        }
        text
    }

    /// The number of runs that is still needed, in words.
    fn advice(&self) -> String {
        let things = match self.wish.design {
            Design::Paired => "pairs",
            Design::Apart => "runs of each",
        };
        if let Some(needed) = self.needed() {
            return format!("about {needed} {things} would decide");
        }
        match self.rows.first().map(|row| row.change.runs) {
            Some((1, 1)) => format!(
                "{} shows no deviation, at least {} {things} are needed",
                match self.wish.design {
                    Design::Paired => "one pair",
                    Design::Apart => "one run of each",
                },
                fewest(
                    self.wish.design,
                    self.rows.len(),
                    self.wish.judgement.chance
                )
            ),
            _ => format!("the number of {things} that would decide cannot be estimated"),
        }
    }
}

impl ComparedFigure {
    pub(crate) fn cells(&self) -> [String; 7] {
        let change = &self.change;
        let value = |value: f64| {
            let text = Quantity::new(value, self.unit.clone()).to_string();
            // The name of the row says what is counted.
            match text.strip_suffix("transactions/s") {
                Some(number) => format!("{}/s", number.trim_end()),
                None => text,
            }
        };
        let interval = change.interval.map_or_else(
            || "not known".to_owned(),
            |(low, high)| format!("{} to {}", percent(low), percent(high)),
        );
        [
            self.name.clone(),
            value(change.medians.0),
            value(change.medians.1),
            percent(change.ratio),
            interval,
            probability(self.probability),
            match self.needed {
                Some(needed) => format!("{} (needs {needed})", self.outcome.word()),
                None => self.outcome.word().to_owned(),
            },
        ]
    }
}

/// The cell of a table in which a number and its unit stay on one line.
fn joined(cell: &str) -> String {
    let of_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let mut words = cell.split(' ');
    let mut text = words.next().unwrap_or_default().to_owned();
    let mut before = text.clone();
    for word in words {
        let together = word == "%" || before == "(needs" || of_number(&before);
        text.push_str(if together { NO_BREAK } else { " " });
        text.push_str(word);
        word.clone_into(&mut before);
    }
    text
}

/// A ratio as a change in percent; empty if there is none.
#[must_use]
pub fn percent(ratio: f64) -> String {
    if ratio.is_finite() {
        format!("{:+.2} %", 100.0 * (ratio - 1.0))
    } else if ratio.is_infinite() {
        "+∞ %".to_owned()
    } else {
        String::new()
    }
}

fn probability(value: f64) -> String {
    if value < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{value:.4}")
    }
}

/// Characters that the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// Unicode.
    Unicode,
    /// ASCII alone.
    Ascii,
}

#[cfg(test)]
mod tests {
    use netperf_stats::compare::Judgement;
    use netperf_text::columns::width;

    use super::*;
    use crate::compare::{Set, Wish, compare};

    #[test]
    fn a_narrow_table_has_fewer_columns() {
        let sample = include_bytes!("../../web/tests/samples/tcp_rr.json");
        let run = |started| netperf_web::Record {
            started: Some(started),
            ..netperf_web::read("run.json", sample).unwrap()
        };
        let set = |name: &str, starts: [f64; 4]| Set {
            name: name.to_owned(),
            runs: starts.map(run).to_vec(),
        };
        let judgement = Judgement {
            chance: Wish::CHANCE,
            margin: Wish::MARGIN,
        };
        let design = Design::Paired;
        let (a, b) = (
            set("a", [1.0, 2.0, 3.0, 4.0]),
            set("b", [5.0, 6.0, 7.0, 8.0]),
        );
        let compared = compare(&a, &b, Wish { design, judgement }).unwrap();
        let head = |columns| {
            let table = compared.table(columns);
            let widest = table.lines().map(width).max();
            assert!(
                columns.is_none_or(|columns| widest <= Some(columns)),
                "{table}"
            );
            table.lines().next().unwrap_or_default().trim().to_owned()
        };
        let rows: Vec<&str> = compared.rows.iter().map(|row| row.name.as_str()).collect();
        let cpu = ["client CPU", "server CPU"];
        let demands = cpu.map(|end| format!("{end} time per transaction"));
        assert_eq!(
            rows[rows.len() - 4..],
            [cpu[0], cpu[1], &demands[0], &demands[1]]
        );
        assert!(
            compared.table(None).contains("176k/s"),
            "{}",
            compared.table(None)
        );
        assert!(head(None).ends_with(" p"));
        assert_eq!(head(Some(60)), "A        B   change");
        assert_eq!(head(Some(200)), head(None));
        assert!(head(Some(66)).starts_with("A ") && !head(Some(66)).ends_with(" p"));
    }
}
