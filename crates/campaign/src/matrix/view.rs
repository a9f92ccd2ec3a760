//! A matrix on a terminal.

use std::fmt::Write as _;

use netperf_comparison::Letters;
use netperf_stats::polish::Outlier;
use netperf_web::chart::{MapCell, MatrixMap, ValueClasses};
use netperf_web::escape::line;
use netperf_web::unit::figure;

use super::Matrix;
use crate::progress::plural;

/// Letters of a class, from the lowest to the highest value.
const BLOCKS: [char; 6] = ['▁', '▂', '▃', '▅', '▆', '█'];
const ASCII: [char; 6] = ['.', ':', '~', '=', '+', '#'];
/// Colours of the classes among the 256 of terminals, from blue to yellow.
const COLOURS: [u8; 6] = [24, 31, 37, 71, 142, 220];
/// Longest name of a member.
const LONGEST_NAME: usize = 20;
/// Least and most width of a column with values.
const VALUE_WIDTHS: (usize, usize) = (6, 9);
/// Most members whose values are written.
const MOST_VALUES: usize = 20;

/// Most reasons of missing cells that are written.
const MOST_REASONS: usize = 10;

/// View of a matrix on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixView {
    /// Width of the terminal in letters.
    pub width: usize,
    /// The letters that the terminal has.
    pub letters: Letters,
    /// True if classes have colours as well. The caller obeys `NO_COLOR`.
    pub colour: bool,
}

impl Default for MatrixView {
    fn default() -> Self {
        Self {
            width: 80,
            letters: Letters::Unicode,
            colour: false,
        }
    }
}

/// The signs of a view.
struct Signs {
    classes: [char; 6],
    missing: char,
    empty: char,
}

impl MatrixView {
    const fn signs(self) -> Signs {
        match self.letters {
            Letters::Unicode => Signs {
                classes: BLOCKS,
                missing: '×',
                empty: '·',
            },
            Letters::Ascii => Signs {
                classes: ASCII,
                missing: 'x',
                empty: '-',
            },
        }
    }
}

impl Matrix {
    /// The matrix in lines of at most `view.width` letters. Up to twenty members have their
    /// values, as far as there is space; more have a letter for the class of a value, and where
    /// even these do not fit, several members share a row and a column. `!` is an outlier; a
    /// list of outliers follows.
    #[must_use]
    pub fn text(&self, outliers: &[Outlier], view: MatrixView) -> String {
        self.text_with(outliers, &[], view)
    }

    /// The same; `notes` has a text beside each outlier, such as its second value.
    #[must_use]
    pub fn text_with(&self, outliers: &[Outlier], notes: &[String], view: MatrixView) -> String {
        let map = self.map(outliers);
        let title = line(&self.figure.name);
        let Some(classes) = ValueClasses::of(map.values()) else {
            return format!("{title}: no value\n");
        };
        let (longest, margin) = margin(&map, view);
        let room = view.width.saturating_sub(margin).max(8);
        let each = room / map.names.len().max(1);
        let (least, most) = VALUE_WIDTHS;
        let mut text = String::new();
        if map.names.len() <= MOST_VALUES && each >= least {
            let (_, sign) = classes.labels(&map.unit);
            _ = writeln!(text, "{title}, {sign}; rows send, columns receive");
            rows(&mut text, &map, view, (longest, each.min(most)), &classes);
        } else {
            _ = writeln!(text, "{title}; rows send, columns receive");
            let width = if each >= 2 && map.names.len() <= MOST_VALUES {
                2
            } else {
                1
            };
            let shown = map.grouped(room / width);
            rows(&mut text, &shown, view, (longest, width), &classes);
            let shared = map.names.len().div_ceil((room / width).max(1));
            if shared > 1 {
                _ = writeln!(
                    text,
                    "Each letter is the median of {shared} x {shared} paths."
                );
            }
            key(&mut text, &map, view, &classes);
        }
        let missing = self.missing();
        let hidden = missing.len().saturating_sub(MOST_REASONS);
        for (reason, count) in missing.into_iter().take(MOST_REASONS) {
            let cells = plural(count, "cell");
            _ = writeln!(text, "Missing   {cells}: {}", line(reason));
        }
        if hidden > 0 {
            let more = plural(hidden, "more reason");
            _ = writeln!(text, "Missing   cells for {more}");
        }
        for (at, outlier) in outliers.iter().enumerate() {
            let said = format!("Outlier   {}", self.describe(outlier));
            let Some(note) = notes.get(at) else {
                _ = writeln!(text, "{said}");
                continue;
            };
            let has_room = said.chars().count() + note.chars().count() + 2 <= view.width;
            let between = if has_room { "; " } else { "\n          " };
            _ = writeln!(text, "{said}{between}{note}");
        }
        match view.letters {
            Letters::Unicode => text,
            Letters::Ascii => text.replace(['\u{a0}', '\u{202f}'], " ").replace('…', ".."),
        }
    }
}

/// Letters of the longest name that is shown, and of all in front of the cells: a number, a
/// name, the sign of an outlying row, and blanks between them.
pub(super) fn margin(map: &MatrixMap, view: MatrixView) -> (usize, usize) {
    let digits = map.names.len().to_string().len();
    let lengths = map.names.iter().map(|name| line(name).chars().count());
    let longest = lengths.max().unwrap_or(0);
    let longest = longest.min(LONGEST_NAME).min(view.width / 4);
    (longest, digits + longest + 4)
}

/// The class letters with their values.
fn key(text: &mut String, map: &MatrixMap, view: MatrixView, classes: &ValueClasses) {
    let (labels, sign) = classes.labels(&map.unit);
    let signs = view.signs();
    let mut entries: Vec<String> = labels
        .iter()
        .enumerate()
        .map(|(class, label)| format!("{} {label}", painted(signs.classes[class], class, view)))
        .collect();
    entries.push(format!("{} missing", signs.missing));
    entries.push("! outlier".to_owned());
    for three in entries.chunks(3) {
        _ = writeln!(text, "  {}", three.join("   "));
    }
    _ = writeln!(text, "  in {sign}");
}

/// A letter in the colour of its class.
fn painted(letter: impl std::fmt::Display, class: usize, view: MatrixView) -> String {
    if view.colour {
        format!("\u{1b}[38;5;{}m{letter}\u{1b}[0m", COLOURS[class.min(5)])
    } else {
        letter.to_string()
    }
}

pub(super) fn rows(
    text: &mut String,
    map: &MatrixMap,
    view: MatrixView,
    (longest, width): (usize, usize),
    classes: &ValueClasses,
) {
    let digits = map.names.len().to_string().len();
    let margin = digits + longest + 4;
    for head in heads(map, width) {
        _ = writeln!(text, "{}{}", " ".repeat(margin), head.trim_end());
    }
    let (factor, _) = map.unit.scaled(classes.ends.last().copied().unwrap_or(0.0));
    let signs = view.signs();
    for (row, (name, cells)) in map.names.iter().zip(&map.cells).enumerate() {
        let name: String = line(name).chars().take(longest).collect();
        let blanks = " ".repeat(longest - name.chars().count());
        let flag = if map.row_flags.contains(&row) {
            '!'
        } else {
            ' '
        };
        _ = write!(text, "{:>digits$} {name}{blanks} {flag} ", row + 1);
        let mut shown = String::new();
        for cell in cells {
            let (plain, class) = match *cell {
                MapCell::Empty => (signs.empty.to_string(), None),
                MapCell::Missing => (signs.missing.to_string(), None),
                MapCell::Value { value, is_flagged } => {
                    let class = classes.class(value);
                    let sign = if is_flagged { "!" } else { "" };
                    let letters = if width >= VALUE_WIDTHS.0 {
                        format!("{}{sign}", short(value / factor, width - 2))
                    } else if is_flagged {
                        "!".to_owned()
                    } else {
                        signs.classes[class].to_string()
                    };
                    (letters, Some(class))
                }
            };
            let before = " ".repeat(width.saturating_sub(plain.chars().count()));
            shown.push_str(&before);
            match class {
                Some(class) => shown.push_str(&painted(plain, class, view)),
                None => shown.push_str(&plain),
            }
        }
        _ = writeln!(text, "{}", shown.trim_end());
    }
}

/// A number of at most so many letters.
fn short(value: f64, width: usize) -> String {
    let mut text = figure(value);
    if text.chars().count() > width && text.contains('.') {
        text = text.chars().take(width).collect();
        return text.trim_end_matches('.').to_owned();
    }
    text
}

/// Numbers of columns, and signs of outlying ones below. Numbers that do not fit stand only
/// over each tenth column.
fn heads(map: &MatrixMap, width: usize) -> Vec<String> {
    let count = map.names.len();
    let widest = count.to_string().len();
    let mut numbers = vec![' '; count * width + widest];
    for column in 0..count {
        let text = (column + 1).to_string();
        if widest >= width && (column + 1) % 10 != 0 && column != 0 {
            continue;
        }
        // The last digit stands over the column.
        let end = (column + 1) * width;
        let begin = end.saturating_sub(text.len());
        for (at, letter) in text.chars().enumerate() {
            numbers[begin + at] = letter;
        }
    }
    let mut heads = vec![numbers.into_iter().collect()];
    if !map.column_flags.is_empty() {
        let mut flags = vec![' '; count * width];
        for column in &map.column_flags {
            flags[(column + 1) * width - 1] = '!';
        }
        heads.push(flags.into_iter().collect());
    }
    heads
}
