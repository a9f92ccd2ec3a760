//! Verdicts on sets of results: tables and sentences that a comparison made.

use std::fmt::Write as _;

use crate::chart::{Body, Chart, Strip, Strips};
use crate::escape::{capital, markdown as escaped, markup};
use crate::table::Table;
use crate::unit::{Quantity, Unit};

/// Verdicts on several sets of results; empty for a single set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// True if a set has several runs: changes between single runs are not shown then.
    pub has_repetitions: bool,
    /// One for each set that is compared, or that cannot be compared.
    pub all: Vec<ReportedVerdict>,
    /// The values behind the verdicts, a figure after the other.
    pub values: Vec<ComparedValues>,
}

/// A verdict on a set, or the reason why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedVerdict {
    /// The sets that are compared.
    pub title: String,
    /// The figures of both sets with the verdict on each; `None` without a comparison.
    pub figures: Option<Table>,
    /// The verdict, or the reason why there is none.
    pub sentences: Vec<String>,
}

/// A figure of several sets of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedValues {
    /// The name of the figure.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The value of each run with the name of the run, by set.
    pub sets: Vec<(String, Vec<(String, f64)>)>,
}

/// Heading of the verdicts.
const HEADING: &str = "Verdicts";

impl Verdicts {
    /// True if sets of several runs are compared, of which the verdict is the summary.
    pub(crate) fn are_of_sets(&self) -> bool {
        self.has_repetitions && self.all.iter().any(|verdict| verdict.figures.is_some())
    }

    /// Writes what each verdict says, as HTML.
    pub(crate) fn sentences(&self, text: &mut String) {
        for verdict in &self.all {
            _ = write!(text, "<h3>{}</h3>", markup(&verdict.title));
            for (at, sentence) in verdict.sentences.iter().enumerate() {
                let class = if at == 0 { "verdict" } else { "about" };
                _ = writeln!(text, "<p class=\"{class}\">{}</p>", markup(sentence));
            }
        }
    }

    /// Writes the figures of each verdict as a table, as HTML.
    pub(crate) fn tables(&self, text: &mut String) {
        let tables = self
            .all
            .iter()
            .filter_map(|verdict| verdict.figures.as_ref());
        text.extend(tables.map(Table::html));
    }

    /// A chart of the values of all runs for each figure, with the table of the same.
    #[must_use]
    pub fn charts(&self) -> Vec<(Chart, Table)> {
        let all = self.values.iter().enumerate();
        all.map(|(number, values)| values.chart(number)).collect()
    }

    /// As Markdown; empty without verdicts.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        if !self.all.is_empty() {
            _ = write!(text, "\n## {HEADING}\n");
        }
        for verdict in &self.all {
            _ = write!(text, "\n### {}\n", escaped(&verdict.title));
            for sentence in &verdict.sentences {
                _ = write!(text, "\n{}\n", escaped(sentence));
            }
            if let Some(table) = &verdict.figures {
                _ = write!(text, "\n{}", table.markdown());
            }
        }
        text
    }
}

impl ComparedValues {
    fn chart(&self, number: usize) -> (Chart, Table) {
        let title = capital(&self.name);
        let mut table = Table::new(&title, 2, &["set", "run", "value"]);
        for (set, runs) in &self.sets {
            table.rows.extend(runs.iter().map(|(run, value)| {
                let value = Quantity::new(*value, self.unit.clone());
                vec![set.clone(), run.clone(), value.to_string()]
            }));
        }
        let strips = self.sets.iter().enumerate();
        let strips = strips.map(|(at, (name, values))| Strip {
            name: name.clone(),
            colour: at % 6,
            values: values.clone(),
        });
        let strips = Strips {
            unit: self.unit.clone(),
            x_name: self.name.clone(),
            strips: strips.collect(),
        };
        let chart = Chart::new("compared", number, title, Body::Strips(strips));
        (chart, table)
    }
}
