//! Letters, width and colours that a terminal or a file can show.

use crate::unit::NO_BREAK;

/// Width of a text that no terminal limits.
const WIDTH: usize = 80;
/// Widths between which a text follows the terminal.
const WIDTHS: (usize, usize) = (60, 120);

/// Letters, width and colours of a terminal or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLook {
    /// Letters beyond ASCII.
    pub unicode: bool,
    /// Bold text and colours, as escape sequences.
    pub colour: bool,
    /// Columns of a line.
    pub columns: usize,
}

impl Default for TextLook {
    fn default() -> Self {
        Self {
            unicode: false,
            colour: false,
            columns: WIDTH,
        }
    }
}

impl TextLook {
    /// The width for a terminal of so many columns; of 80 columns elsewhere.
    #[must_use]
    pub fn within(self, terminal: Option<usize>) -> Self {
        let columns = terminal.map_or(WIDTH, |columns| columns.clamp(WIDTHS.0, WIDTHS.1));
        Self { columns, ..self }
    }

    /// The text in bold.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.styled(text, "1")
    }

    /// The text in yellow, for warnings.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.styled(text, "33")
    }

    /// The text in red, for failures.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.styled(text, "31")
    }

    fn styled(self, text: &str, code: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// The text with blanks of one kind, and with ASCII letters alone where there are no others.
    #[must_use]
    pub fn letters(self, text: &str) -> String {
        let text = text.replace([NO_BREAK_LETTER, NARROW], " ");
        if self.unicode {
            return text;
        }
        let text = text.replace('µ', "u").replace('±', "+-");
        let text = text.replace('×', "x").replace('…', "...").replace('–', "-");
        let ascii = |letter: char| if letter.is_ascii() { letter } else { '?' };
        text.chars().map(ascii).collect()
    }
}

/// [`NO_BREAK`] as a letter.
const NO_BREAK_LETTER: char = '\u{a0}';
/// The blank between groups of digits.
const NARROW: char = '\u{202f}';

const _: () = assert!(NO_BREAK.len() == NO_BREAK_LETTER.len_utf8());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_follows_the_terminal_between_its_limits() {
        let width = |terminal| TextLook::default().within(terminal).columns;
        let widths = [None, Some(20), Some(72), Some(500)].map(width);
        assert_eq!(widths, [80, 60, 72, 120]);
    }

    #[test]
    fn look_has_no_escape_sequence_without_colour() {
        let plain = TextLook::default();
        let coloured = TextLook {
            colour: true,
            ..plain
        };
        assert_eq!(plain.bold("a"), "a");
        assert_eq!(coloured.bold("a"), "\x1b[1ma\x1b[0m");
        assert_eq!(coloured.yellow(""), "");
    }

    #[test]
    fn look_replaces_letters_that_are_missing() {
        let plain = TextLook::default();
        assert_eq!(plain.letters("±\u{a0}12 µs 東"), "+- 12 us ?");
        let unicode = TextLook {
            unicode: true,
            ..plain
        };
        assert_eq!(unicode.letters("±\u{a0}12 µs 東"), "± 12 µs 東");
    }
}
