//! Text of another end, of a file or of a name, as it is printed.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Control characters, and those that have no picture of their own and change how others are shown:
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
    fn escaped_text_is_what_json_reads_and_no_terminal_obeys() {
        let hostile = "a\u{1b}[2J\u{9b}1m\u{202e}\u{200b}\u{ad}\u{feff}\u{e0041}\rb\tc\r\nd";
        let shown = escaped(hostile);
        let left = |letter: char| is_unprintable(letter) && !"\t\r\n".contains(letter);
        assert!(!shown.contains(left), "{shown:?}");
        assert!(shown.contains("\\u001b[2J") && shown.contains("\\udb40\\udc41\\u000db\tc\r\n"));
        let plain = "Ünïcode ▁▂ 日本\n";
        assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
    }
}
