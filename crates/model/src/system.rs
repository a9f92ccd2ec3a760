//! Texts of the system for errors.

use std::borrow::Cow;
use std::io;

/// Text before the error number that Rust appends to the system's text.
const NUMBER: &str = " (os error ";

/// The system's text for an error, without the number that Rust appends.
#[must_use]
pub fn system_text(error: &io::Error) -> String {
    without_numbers(&error.to_string()).into_owned()
}

/// The system's text for the error of this number.
#[must_use]
pub fn text_of_errno(errno: i32) -> String {
    system_text(&io::Error::from_raw_os_error(errno))
}

/// A text without the numbers that Rust appends to those of the system.
#[must_use]
pub fn without_numbers(text: &str) -> Cow<'_, str> {
    let mut parts = text.split(NUMBER);
    let mut plain = Cow::Borrowed(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.find(|letter: char| !letter.is_ascii_digit());
        let rest = digits.and_then(|end| part[end..].strip_prefix(')').filter(|_| end > 0));
        match rest {
            Some(rest) => plain.to_mut().push_str(rest),
            // Something else in brackets.
            None => plain.to_mut().extend([NUMBER, part]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_go_and_other_brackets_stay() {
        for (text, plain) in [
            (
                "No such file or directory (os error 2)",
                "No such file or directory",
            ),
            ("a (os error 2): b (os error 13); c", "a: b; c"),
            ("nothing (as error 2)", "nothing (as error 2)"),
            ("what (os error x) is", "what (os error x) is"),
            ("end (os error ", "end (os error "),
            ("end (os error )", "end (os error )"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(text), plain);
        }
        assert_eq!(text_of_errno(2), "No such file or directory");
    }
}
