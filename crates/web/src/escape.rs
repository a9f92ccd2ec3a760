//! Escaping of text from files, which is untrusted: for markup here, for terminals and CSV in `text`.

use netperf_text::escape::printable;
pub use netperf_text::escape::{capital, line};

/// For HTML and SVG, in text and in attributes with double quotes. Control characters,
/// which neither may have, become the replacement character.
#[must_use]
pub fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            _ => escaped.push(printable(letter)),
        }
    }
    escaped
}

/// For a cell of a Markdown table.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(printable(letter)),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_wherever_it_stands() {
        let hostile = "<script>alert('1')</script>\" onload=\"x\" & \u{0}\u{202e}\u{200b}";
        let escaped = markup(hostile);
        assert!(
            !escaped.contains(['<', '>', '"', '\'', '\u{0}', '\u{202e}', '\u{200b}']),
            "{escaped}"
        );
        assert_eq!(markup("a&b"), "a&amp;b");
    }

    #[test]
    fn markdown_cell_stays_a_cell() {
        assert_eq!(markdown("a|b\n<i>`"), "a\\|b &lt;i&gt;\\`");
    }
}
