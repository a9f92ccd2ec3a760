//! Tables, written as HTML and Markdown.

use std::fmt::Write as _;

use crate::escape::{markdown, markup};

/// Letters of a cell on a terminal at most: what is longer is no name to look for there.
const LONGEST: usize = 80;

/// Cells in columns, for a terminal; numbers are those at `right`.
#[must_use]
pub fn aligned(rows: &[Vec<String>], right: &[usize]) -> String {
    let cut = |cell: &String| -> Vec<char> {
        let letters: Vec<char> = cell.chars().take(LONGEST + 1).collect();
        match letters.get(..LONGEST - 1) {
            Some(kept) if letters.len() > LONGEST => [kept, &['…']].concat(),
            _ => letters,
        }
    };
    let rows: Vec<Vec<Vec<char>>> = rows
        .iter()
        .map(|row| row.iter().map(cut).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(Vec::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| {
            let (cell, blanks) = (cell.iter().collect(), " ".repeat(width - cell.len()));
            let parts: [String; 2] = if right.contains(&at) {
                [blanks, cell]
            } else {
                [cell, blanks]
            };
            parts.concat()
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_to_the_left_numbers_to_the_right_and_nothing_is_too_long() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let long = "n".repeat(100_000);
        let text = aligned(&[row(["a", "1", "x"]), row([&long, "10", ""])], &[1]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("a{}   1  x", " ".repeat(79)));
        assert_eq!(lines[1], format!("{}…  10", "n".repeat(79)));
    }
}
