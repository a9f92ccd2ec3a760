//! Errors of long options, each with a message of one line.
//!
//! Letters are read leniently because scripts rely on it. Names are new, so a wrong one is
//! rejected, with the nearest valid spelling.

use crate::command::{CliError, Notice};
use crate::garbled;
use crate::kind::ValueKind;
pub use crate::misuse::{Misuse, OptionProblem};
use crate::nearest::near_names;
pub use crate::nearest::{nearest, shown};
use crate::table::{Halt, ValueShape};

/// Long options of other tables; the default has none.
pub trait OtherTables {
    /// Argument of the option `name`; `None` if it does not exist.
    fn shape(&self, _name: &str) -> Option<ValueShape> {
        None
    }

    /// Takes the option.
    fn take(
        &mut self,
        _program: &str,
        _name: &str,
        _word: Option<&str>,
        _notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        Ok(None)
    }

    /// Takes the words that are neither options nor arguments of one.
    fn plain(&mut self, _words: &[&str]) {}

    /// Error for an unknown name; `own` are the names of the table.
    fn unknown(&self, program: &str, name: &str, own: Vec<&'static str>) -> CliError {
        misuse(program, name, OptionProblem::unknown(name, own, "--help"))
    }
}

impl OptionProblem {
    /// A value that is not of the right kind.
    pub fn value(value: &str, kind: ValueKind) -> Self {
        Self::Value {
            value: value.to_owned(),
            expected: kind.expected(),
            near: kind.nearest(value),
        }
    }

    /// The same of a letter.
    pub fn letter_value(value: &str, kind: ValueKind) -> Self {
        Self::Value {
            value: value.to_owned(),
            expected: garbled::expected(kind),
            near: None,
        }
    }

    /// A name that is none of `names`, which `list` lists.
    pub fn unknown(name: &str, names: Vec<&'static str>, list: &'static str) -> Self {
        Self::Unknown {
            near: near_names(name, names),
            list,
        }
    }
}

/// The error of an option called `name`.
pub fn misuse(program: &str, name: &str, problem: OptionProblem) -> CliError {
    CliError::LongOption(Box::new(Misuse {
        program: program.to_owned(),
        name: name.to_owned(),
        problem,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 7] = [
        "time",
        "test",
        "remote-cpu",
        "remote-align",
        "host",
        "no-delay",
        "send-size",
    ];

    #[test]
    fn a_wrong_name_suggests_what_it_begins_or_resembles() {
        for (wrong, near) in [
            ("tset", "test"),
            ("Time", "time"),
            ("no_delay", "no-delay"),
            ("nodelay", "no-delay"),
            ("duration", "time"),
            ("length", "time send-size"),
            ("lenght", "time send-size"),
            ("clint", "client"),
            ("ho", "host"),
            ("remote", "remote-align remote-cpu"),
            ("xyzzy", ""),
            ("most", "host"),
            ("x", ""),
            ("crime", ""),
            ("", ""),
        ] {
            assert_eq!(near_names(wrong, NAMES.to_vec()).join(" "), near, "{wrong}");
        }
    }

    #[test]
    fn whatever_was_typed_the_message_is_one_line() {
        let value = "a\nb\u{7}".repeat(100);
        let error = misuse(
            "netperf",
            &value,
            OptionProblem::value(&value, ValueKind::Size),
        );
        let text = error.to_string();
        assert!(
            text.len() < 1000 && !text.contains(char::is_control),
            "{text}"
        );
    }
}
