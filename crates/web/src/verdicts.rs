//! Verdicts on sets of results: tables and sentences that a comparison made.

use std::fmt::Write as _;

use crate::escape::{markdown as escaped, markup};
use crate::table::Table;

/// Verdicts on several sets of results; empty for a single set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// True if a set has several runs: changes between single runs are not shown then.
    pub has_repetitions: bool,
    /// One for each set that is compared, or that cannot be compared.
    pub all: Vec<ReportedVerdict>,
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

/// Heading of the verdicts.
pub(crate) const HEADING: &str = "Verdicts";

/// The link to them on the page.
pub(crate) const LINK: &str = "<a href=\"#verdicts\">Verdicts</a>";

impl Verdicts {
    /// The verdict on the first figure of each comparison; `None` without a comparison.
    pub(crate) fn summary(&self) -> Option<Table> {
        let mut table = Table::default();
        for verdict in &self.all {
            let figures = verdict.figures.as_ref();
            let Some((figures, first)) = figures.and_then(|all| Some((all, all.rows.first()?)))
            else {
                continue;
            };
            if table.head.is_empty() {
                let head = ["comparison", "figure", "verdict", "from", "to"];
                table = Table::new("Verdicts on the result", 3, &head);
                // The names of the sets stand between the verdict and the change.
                table.head.extend(figures.head.iter().skip(4).cloned());
            }
            let mut row = vec![verdict.title.clone()];
            row.extend(first.iter().cloned());
            table.rows.push(row);
        }
        (!table.rows.is_empty()).then_some(table)
    }

    /// True unless there are no verdicts.
    pub(crate) fn is_there(&self) -> bool {
        !self.all.is_empty()
    }

    /// As HTML; empty without verdicts.
    pub(crate) fn html(&self) -> String {
        if self.all.is_empty() {
            return String::new();
        }
        let mut text = format!("<section id=\"verdicts\"><h2>{HEADING}</h2>\n");
        for verdict in &self.all {
            _ = write!(text, "<h3>{}</h3>", markup(&verdict.title));
            for sentence in &verdict.sentences {
                _ = write!(text, "<p class=\"about\">{}</p>", markup(sentence));
            }
            text.extend(verdict.figures.iter().map(Table::html));
            text.push('\n');
        }
        text.push_str("</section>\n");
        text
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
