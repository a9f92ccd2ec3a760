//! Comparisons as people read them.

use netperf_stats::compare::Design;
use netperf_web::escape::markdown as escaped;
use netperf_web::table::aligned;
use netperf_web::unit::Quantity;

use crate::compare::{ChangeOutcome, ComparedFigure, Comparison};

impl Comparison {
    /// A table and a verdict in words.
    #[must_use]
    pub fn text(&self) -> String {
        let (one, other) = self.rows.first().map_or((0, 0), |row| row.change.runs);
        let runs = match self.wish.design {
            Design::Paired if one == 1 => "1 pair of runs".to_owned(),
            Design::Paired => format!("{one} pairs of runs"),
            Design::Apart => format!("{one} and {other} runs"),
        };
        let (a, b) = &self.names;
        let test = netperf_web::escape::line(&self.test);
        let mut text = format!("{test}: {a} (A) and {b} (B), {runs}\n\n");
        let level = 100.0 * (1.0 - self.wish.judgement.chance);
        let head = [
            "",
            "A",
            "B",
            "change",
            &format!("{level} % interval"),
            "p",
            "",
        ];
        let head = head.map(str::to_owned).to_vec();
        let rows = std::iter::once(head).chain(self.rows.iter().map(|row| row.cells().to_vec()));
        let rows: Vec<Vec<String>> = rows.collect();
        text.push_str(&aligned(&rows, &[1, 2, 3, 4, 5]));
        text.push('\n');
        text.push_str(&self.verdict());
        text.push('\n');
        text
    }

    /// The same as a table of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "| {} | {} | {} | change | interval | p | |\n|---|--:|--:|--:|--:|--:|---|\n",
            escaped(&self.test),
            escaped(&self.names.0),
            escaped(&self.names.1)
        );
        for row in &self.rows {
            let cells = row.cells().map(|cell| escaped(&cell));
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text.push('\n');
        text.push_str(&self.verdict());
        text.push('\n');
        text
    }

    /// The result, in sentences.
    #[must_use]
    pub fn verdict(&self) -> String {
        let named = |outcome: ChangeOutcome| -> Vec<String> {
            let of = self.rows.iter().filter(|row| row.outcome == outcome);
            of.map(|row| format!("{} {}", row.name, percent(row.change.ratio)))
                .collect()
        };
        let (better, worse) = (named(ChangeOutcome::Better), named(ChangeOutcome::Worse));
        let chance = 100.0 * self.wish.judgement.chance;
        match self.outcome() {
            ChangeOutcome::Unknown => {
                let rows = self.rows.len();
                let figures = if rows == 1 { "figure" } else { "figures" };
                format!(
                    "Too few runs: with {rows} {figures} to look at, no difference could be told from chance at {chance} %. Add runs."
                )
            }
            ChangeOutcome::Same => {
                let limit = 100.0 * self.wish.judgement.threshold;
                format!("No difference of {limit} % or more that chance does not explain.")
            }
            ChangeOutcome::Better if worse.is_empty() => {
                format!("B is better: {}.", better.join(", "))
            }
            ChangeOutcome::Better | ChangeOutcome::Worse if better.is_empty() => {
                format!("B is worse: {}.", worse.join(", "))
            }
            ChangeOutcome::Better | ChangeOutcome::Worse => format!(
                "B is worse: {}; but better: {}.",
                worse.join(", "),
                better.join(", ")
            ),
        }
    }
}

impl ComparedFigure {
    fn cells(&self) -> [String; 7] {
        let change = &self.change;
        let value = |value: f64| Quantity::new(value, self.unit.clone()).to_string();
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
            self.outcome.word().to_owned(),
        ]
    }
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
