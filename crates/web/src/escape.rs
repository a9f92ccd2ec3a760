//! Escaping of text from files, which is untrusted.

use netperf_model::escape::is_unprintable;

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
            _ if is_unprintable(letter) => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// For one line of a terminal: no control characters.
#[must_use]
pub fn line(text: &str) -> String {
    let shown = |letter| {
        if is_unprintable(letter) {
            '\u{fffd}'
        } else {
            letter
        }
    };
    text.chars().map(shown).collect()
}

/// The text with a capital in front.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
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
            _ if is_unprintable(letter) => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// For a cell of CSV (RFC 4180), always in quotes; a leading sign that a spreadsheet would
/// take for a formula gets an apostrophe in front.
#[must_use]
pub fn csv(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// The same for a number; empty if it is not finite, since numbers of a file may overflow.
#[must_use]
pub fn csv_number(value: f64) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_wherever_it_stands() {
        let hostile = "<script>alert('1')</script>\" onload=\"x\" & \u{0}\u{202e}";
        let escaped = markup(hostile);
        assert!(
            !escaped.contains(['<', '>', '"', '\'', '\u{0}', '\u{202e}']),
            "{escaped}"
        );
        assert_eq!(markup("a&b"), "a&amp;b");
    }

    #[test]
    fn a_cell_stays_a_cell() {
        assert_eq!(markdown("a|b\n<i>`"), "a\\|b &lt;i&gt;\\`");
        assert_eq!(csv("say \"=1\", twice"), "\"say \"\"=1\"\", twice\"");
        assert_eq!(csv("=cmd()"), "\"'=cmd()\"");
        assert_eq!(
            [0.5, f64::INFINITY, f64::NAN].map(csv_number),
            ["0.5", "", ""]
        );
    }
}
