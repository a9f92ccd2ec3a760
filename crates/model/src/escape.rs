//! Text of another end, of a file or of a name, as it is printed.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Control characters, and those without a separate picture that change how others are shown:
/// direction marks, invisible separators and fillers, and what no text contains.
#[must_use]
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with unprintable characters as `\uXXXX`, which JSON reads as the same characters. Ends of
/// lines and tabulators stay.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    let ends_line = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with("\r\n"));
    let is_kept = |at: usize, letter: char| match letter {
        '\n' | '\t' => true,
        '\r' => ends_line(at),
        letter => !is_unprintable(letter),
    };
    escaped_unless(text, is_kept)
}

fn escaped_unless(text: &str, is_kept: impl Fn(usize, char) -> bool) -> Cow<'_, str> {
    if text.char_indices().all(|(at, letter)| is_kept(at, letter)) {
        return Cow::Borrowed(text);
    }
    let mut all = String::with_capacity(text.len() + 16);
    for (at, letter) in text.char_indices() {
        if is_kept(at, letter) {
            all.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _to_string = write!(all, "\\u{unit:04x}");
        }
    }
    Cow::Owned(all)
}

/// The same of text that is one value on one line: ends of lines and tabulators do not stay.
#[must_use]
pub fn escaped_line(text: &str) -> Cow<'_, str> {
    escaped_unless(text, |_, letter| !is_unprintable(letter))
}

/// The same of text with colours, which stay: ECMA-48, SGR.
#[must_use]
pub fn escaped_with_colours(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut pieces = text.split(ESCAPE);
    all.push_str(&escaped(pieces.next().unwrap_or_default()));
    for piece in pieces {
        let colour = colour(piece);
        let (own, rest) = piece.split_at(colour.unwrap_or(0));
        all.push_str(if colour.is_some() {
            "\u{1b}"
        } else {
            "\\u001b"
        });
        all.push_str(own);
        all.push_str(&escaped(rest));
    }
    all
}

/// Begin of what steers a terminal.
const ESCAPE: char = '\u{1b}';

/// Length of the colour that text begins with behind its escape character.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix('[')?;
    let length = numbers.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    numbers
        .get(length..)?
        .starts_with('m')
        .then_some(length + 2)
}

/// The same of text in bytes; a picture stays as it is.
#[must_use]
pub fn escaped_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(bytes).map(escaped) {
        Ok(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        Ok(Cow::Borrowed(_)) | Err(_) => Cow::Borrowed(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_keeps_colours_alone() {
        let styled = "\u{1b}[1;33mbold\u{1b}[0m \u{1b}[2J\u{1b}]0;x\u{7}\u{9b}1m\u{1b}\n\u{1b}[";
        let shown = escaped_with_colours(styled);
        let wanted =
            "\u{1b}[1;33mbold\u{1b}[0m \\u001b[2J\\u001b]0;x\\u0007\\u009b1m\\u001b\n\\u001b[";
        assert_eq!(shown, wanted);
        assert_eq!(escaped_with_colours("plain\n"), "plain\n");
    }

    #[test]
    fn escaped_text_is_what_json_reads_and_no_terminal_obeys() {
        let hostile = "a\u{1b}[2J\u{9b}1m\u{202e}\u{200b}\u{ad}\u{feff}\u{e0041}\rb\tc\r\nd";
        let shown = escaped(hostile);
        let left = |letter: char| is_unprintable(letter) && !"\t\r\n".contains(letter);
        assert!(!shown.contains(left), "{shown:?}");
        assert!(shown.contains("\\u001b[2J") && shown.contains("\\udb40\\udc41\\u000db\tc\r\n"));
        let value = "a\tb\r\nRATE=9 日本";
        assert_eq!(escaped_line(value), "a\\u0009b\\u000d\\u000aRATE=9 日本");
        let plain = "Ünïcode ▁▂ 日本\n";
        assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
    }
}
