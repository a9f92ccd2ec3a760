//! Tables, written as HTML and Markdown.

use std::fmt::Write as _;

pub use netperf_text::columns::{aligned, aligned_within, wrapped};
use netperf_text::columns::{left, right};

use crate::escape::{markdown, markup};

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its caption.
    pub caption: String,
    /// The names of its columns.
    pub head: Vec<String>,
    /// Its rows. The first column says what a row is of.
    pub rows: Vec<Vec<String>>,
    /// The number of leading columns with text. The others have numbers.
    pub texts: usize,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(caption: &str, texts: usize, head: &[&str]) -> Self {
        Self {
            caption: caption.to_owned(),
            head: head.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
            texts,
        }
    }

    /// As HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let caption = markup(&self.caption);
        let mut text = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table>\
             <caption>{caption}</caption><thead><tr>"
        );
        for (index, name) in self.head.iter().enumerate() {
            let class = self.class(index);
            _ = write!(text, "<th scope=\"col\"{class}>{}</th>", markup(name));
        }
        text.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            text.push_str("<tr>");
            for (index, cell) in row.iter().enumerate() {
                let (class, cell) = (self.class(index), markup(cell));
                _ = match index {
                    0 => write!(text, "<th scope=\"row\">{cell}</th>"),
                    _ => write!(text, "<td{class}>{cell}</td>"),
                };
            }
            text.push_str("</tr>");
        }
        text.push_str("</tbody></table></div>");
        text
    }

    /// As a table of Markdown with columns that are aligned as plain text.
    #[must_use]
    pub fn markdown_aligned(&self) -> String {
        let escaped = |row: &Vec<String>| row.iter().map(|cell| markdown(cell)).collect();
        let mut rows: Vec<Vec<String>> = std::iter::once(&self.head)
            .chain(&self.rows)
            .map(escaped)
            .collect();
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells
                .map(|cell| netperf_text::columns::width(cell))
                .max()
                .unwrap_or(0)
                .max(3)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let rule = widths.iter().enumerate().map(|(at, width)| {
            let end = if at < self.texts { "-" } else { ":" };
            "-".repeat(width - 1) + end
        });
        rows.insert(1, rule.collect());
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (cell, &width))| match at < self.texts {
                true => left(cell, width),
                false => right(cell, width),
            });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        rows.iter().map(line).collect()
    }

    fn class(&self, column: usize) -> &'static str {
        if column < self.texts {
            ""
        } else {
            " class=\"n\""
        }
    }

    /// As a table of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| markdown(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&self.head);
        let columns =
            (0..self.head.len()).map(|index| if index < self.texts { "---|" } else { "--:|" });
        _ = writeln!(text, "|{}", columns.collect::<String>());
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text
    }
}
