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

/// Cells in columns as [`aligned`], with cells that continue on further lines where a line would
/// be wider than this. Words are not broken.
#[must_use]
pub fn aligned_within(rows: &[Vec<String>], right: &[usize], width: Option<usize>) -> String {
    let Some(width) = width else {
        return aligned(rows, right);
    };
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of_column = |at: usize, measure: fn(&str) -> usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| measure(cell)).max().unwrap_or(0)
    };
    let longest_word = |text: &str| text.split(' ').map(letters).max().unwrap_or(0);
    let least: Vec<usize> = (0..columns).map(|at| of_column(at, longest_word)).collect();
    let mut widths: Vec<usize> = (0..columns).map(|at| of_column(at, letters)).collect();
    let gaps = 2 * columns.saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let wide = (0..columns).filter(|at| widths[*at] > least[*at]);
        let Some(widest) = wide.max_by_key(|at| widths[*at]) else {
            break;
        };
        widths[widest] -= 1;
    }
    let mut lines = Vec::new();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let cells: Vec<Vec<String>> = cells.map(|(cell, width)| wrapped(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| -> Vec<String> {
            let part = |cell: &Vec<String>| cell.get(at).cloned().unwrap_or_default();
            cells.iter().map(part).collect()
        };
        lines.extend((0..height).map(line));
    }
    aligned(&lines, right)
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// The text in lines of at most this width, or of one word.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || letters(line) + 1 + letters(word) <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
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
            cells.map(|cell| letters(cell)).max().unwrap_or(0).max(3)
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
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_continue_on_further_lines_where_a_line_would_be_too_wide() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["CPU time per KiB", "1.5 to 2.5", "inconclusive (needs 40)"]),
            row(["p50", "1", "better"]),
        ];
        let text = aligned_within(&rows, &[1], Some(40));
        let expected = "CPU time per  1.5 to 2.5  inconclusive\n\
                        KiB                       (needs 40)\n\
                        p50                    1  better\n";
        assert_eq!(text, expected);
        assert_eq!(aligned_within(&rows, &[1], None), aligned(&rows, &[1]));
    }

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
