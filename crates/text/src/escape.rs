//! Escaping of untrusted text in cells and titles: names, errors and values of other hosts and of files.

pub use netperf_model::escape::is_unprintable;

/// One line for a terminal: without characters that steer the terminal, are invisible or change
/// the direction of writing.
#[must_use]
pub fn line(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// The character, or the replacement character if it is unprintable.
#[must_use]
pub fn printable(letter: char) -> char {
    if is_unprintable(letter) {
        '\u{fffd}'
    } else {
        letter
    }
}

/// The text with a capital in front.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_that_an_invisible_character_was_there() {
        let hostile = "a\u{1b}[2Jb\u{202e}c\u{200b}\u{200f}\u{61c}\u{2028}\u{2060}\u{ad}\u{feff}d";
        let shown = line(hostile);
        assert_eq!(
            shown,
            "a\u{fffd}[2Jb\u{fffd}c".to_owned() + &"\u{fffd}".repeat(7) + "d"
        );
        assert_eq!(line("Köln 東京 ñ"), "Köln 東京 ñ");
    }
}
