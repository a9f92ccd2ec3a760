//! Cells in columns, and words in lines. Widths are columns of a terminal: a wide letter takes two,
//! a combining mark none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a cell at most: longer ones are cut.
const LONGEST: usize = 80;

/// The columns of a terminal that a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with blanks behind it up to a width.
#[must_use]
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", blanks(text, columns))
}

/// The text with blanks in front of it up to a width.
#[must_use]
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", blanks(text, columns))
}

fn blanks(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}

/// The leading part of a text that takes at most this width.
#[must_use]
pub fn cut(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// The text, with `…` at its end if it is cut to this width.
#[must_use]
pub fn shortened(text: &str, columns: usize) -> String {
    if cut(text, columns).len() == text.len() {
        text.to_owned()
    } else {
        format!("{}…", cut(text, columns.saturating_sub(1)))
    }
}

/// Cells in columns with two blanks between them and none at the end of a line; the columns at
/// `numbers` are flush right.
#[must_use]
pub fn aligned(rows: &[Vec<String>], numbers: &[usize]) -> String {
    let short = |row: &Vec<String>| row.iter().map(|cell| shortened(cell, LONGEST)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(short).collect();
    let widths = widths(&rows, width);
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| {
            if numbers.contains(&at) {
                right(cell, *width)
            } else {
                left(cell, *width)
            }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The largest measure of each column.
pub(crate) fn widths(rows: &[Vec<String>], measure: fn(&str) -> usize) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of_column = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| measure(cell)).max().unwrap_or(0)
    };
    (0..columns).map(of_column).collect()
}

/// Cells in columns as [`aligned`], with cells that continue on further lines where a line would
/// be wider than this. Words are not broken.
#[must_use]
pub fn aligned_within(rows: &[Vec<String>], numbers: &[usize], limit: Option<usize>) -> String {
    let Some(limit) = limit else {
        return aligned(rows, numbers);
    };
    let longest_word = |text: &str| text.split(' ').map(width).max().unwrap_or(0);
    let least = widths(rows, longest_word);
    let mut widths = widths(rows, width);
    let gaps = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > limit {
        let wide = (0..widths.len()).filter(|at| widths[*at] > least[*at]);
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
    aligned(&lines, numbers)
}

/// The text in lines of at most this width, or of one word; line breaks stay.
#[must_use]
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for part in text.split('\n') {
        let mut line = String::new();
        for word in part.split(' ') {
            if !line.is_empty() && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// A head of `indent` columns and words behind it, which continue below each other up to this
/// width; with a line break at the end.
#[must_use]
pub fn titled(head: &str, indent: usize, words: &str, columns: usize) -> String {
    let lines = wrapped(words, columns.saturating_sub(indent));
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let head = if at == 0 { head } else { "" };
        text.push_str(format!("{}{line}", left(head, indent)).trim_end());
        text.push('\n');
    }
    text
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
    fn columns_have_names_to_the_left_and_numbers_to_the_right() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let long = "n".repeat(100_000);
        let text = aligned(&[row(["a", "1", "x"]), row([&long, "10", ""])], &[1]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("a{}   1  x", " ".repeat(79)));
        assert_eq!(lines[1], format!("{}…  10", "n".repeat(79)));
    }

    #[test]
    fn columns_count_wide_and_combining_letters_as_the_terminal_does() {
        let row = |name: &str| vec![name.to_owned(), "1".to_owned()];
        let text = aligned(&[row("東京"), row("Ko\u{308}ln"), row("abcd")], &[1]);
        assert_eq!(text, "東京  1\nKo\u{308}ln  1\nabcd  1\n");
        assert_eq!(wrapped("東京 東京", 6), ["東京", "東京"]);
        assert_eq!(
            (cut("東京", 3), shortened("東京", 3)),
            ("東", "東…".to_owned())
        );
    }

    #[test]
    fn titled_words_continue_below_each_other() {
        let text = titled("CPU", 5, "client 12 %, server 90 %", 16);
        assert_eq!(text, "CPU  client 12\n     %, server\n     90 %\n");
    }
}
