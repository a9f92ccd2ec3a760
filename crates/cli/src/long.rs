//! Errors of long options, each with a message of one line.
//!
//! Letters are read leniently because scripts rely on it. Names are new, so a wrong one is
//! rejected, with the nearest valid spelling.

use crate::command::{CliError, Notice};
use crate::foreign;
use crate::garbled;
use crate::kind::ValueKind;
use crate::table::{Halt, ValueShape};

/// Characters of a wrong word that are repeated.
const SHOWN: usize = 60;
/// Names suggested at most.
const SUGGESTIONS: usize = 4;

/// Long options of other tables; the default has none.
pub(crate) trait OtherTables {
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

/// An option that cannot be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{program}: option {}{}{problem}", dashes(name), shown(name))]
pub struct Misuse {
    /// argv\[0\].
    pub program: String,
    /// The name or the letter, without dashes.
    pub name: String,
    /// The problem.
    pub problem: OptionProblem,
}

const fn dashes(name: &str) -> &'static str {
    if name.len() == 1 { "-" } else { "--" }
}

/// Problem with a long option: the text after its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionProblem {
    /// There is none of this name.
    #[error(" is unknown; {}", suggestion(near, list))]
    Unknown {
        /// Names that may have been meant.
        near: Vec<String>,
        /// The option that lists all.
        list: &'static str,
    },
    /// It is the name of a subcommand.
    #[error(" is unknown; did you mean the subcommand, as in `netperf {word} --help`?")]
    Subcommand {
        /// The subcommand.
        word: &'static str,
    },
    /// It asks for percentiles, which are selectors of the output.
    #[error(
        " is unknown; --latency keeps the latency, and any P<number>_LATENCY is a selector, as in \
         -- -k P50_LATENCY,P99.9_LATENCY"
    )]
    Percentiles,
    /// The test that runs has no such option.
    #[error(" is not for the test {test}")]
    OtherTest {
        /// The test.
        test: &'static str,
    },
    /// It takes a value, and none is there.
    #[error(" needs a value: {expected}")]
    ValueMissing {
        /// Expected value.
        expected: String,
    },
    /// It takes no value.
    #[error(" takes no value")]
    ValueUnwanted,
    /// The value is none that it takes.
    #[error(": '{}' is not {expected}{}", shown(value), suggested_value(near.as_deref()))]
    Value {
        /// The value.
        value: String,
        /// Expected value.
        expected: String,
        /// The value that may have been meant.
        near: Option<String>,
    },
}

impl OptionProblem {
    /// A value that is not of the right kind.
    pub(crate) fn value(value: &str, kind: ValueKind) -> Self {
        Self::Value {
            value: value.to_owned(),
            expected: kind.expected(),
            near: kind.nearest(value),
        }
    }

    /// The same of a letter.
    pub(crate) fn letter_value(value: &str, kind: ValueKind) -> Self {
        Self::Value {
            value: value.to_owned(),
            expected: garbled::expected(kind),
            near: None,
        }
    }

    /// A name that is none of `names`, which `list` lists.
    pub(crate) fn unknown(name: &str, names: Vec<&'static str>, list: &'static str) -> Self {
        Self::Unknown {
            near: near_names(name, names),
            list,
        }
    }
}

/// The error of an option called `name`.
pub(crate) fn misuse(program: &str, name: &str, problem: OptionProblem) -> CliError {
    CliError::LongOption(Box::new(Misuse {
        program: program.to_owned(),
        name: name.to_owned(),
        problem,
    }))
}

/// A question that suggests other names.
fn suggestion(near: &[String], list: &str) -> String {
    match near.split_last() {
        None => format!("{list} lists the options"),
        Some((only, [])) => format!("did you mean --{only}?"),
        Some((last, others)) => format!("did you mean --{} or --{last}?", others.join(", --")),
    }
}

/// The end of a message that suggests another value.
fn suggested_value(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| {
        format!("; did you mean {}?", shown(near))
    })
}

/// A word as it can stand in one line.
pub(crate) fn shown(word: &str) -> String {
    let mut text: String = word
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if word.chars().nth(SHOWN).is_some() {
        text.push_str("...");
    }
    text
}

/// The names that a wrong one may have been meant to be, best first.
fn near_names(wrong: &str, mut names: Vec<&'static str>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    let wrong = wrong.to_ascii_lowercase().replace('_', "-");
    let foreign = foreign::NAMES.iter().filter(|(theirs, _)| *theirs == wrong);
    let same: Vec<String> = foreign
        .filter(|(_, ours)| names.contains(ours))
        .map(|(_, ours)| (*ours).to_owned())
        .collect();
    if !same.is_empty() {
        return same;
    }
    let longer = names.iter().filter(|name| name.starts_with(&wrong));
    let longer: Vec<String> = longer
        .take(SUGGESTIONS)
        .map(|&name| name.to_owned())
        .collect();
    if !wrong.is_empty() && !longer.is_empty() {
        return longer;
    }
    let aliases: Vec<&str> = names
        .iter()
        .copied()
        .flat_map(foreign::aliases_of)
        .collect();
    names.extend(aliases);
    nearest(&wrong, names).into_iter().collect()
}

/// The one of `words` that takes the fewest changes to get to, if they are few.
pub(crate) fn nearest<'w>(wrong: &str, words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    // The words are short; a long one is not a slip of the fingers, and comparing
    // takes time that grows with it.
    if wrong.len() > SHOWN {
        return None;
    }
    let wrong = wrong.to_ascii_lowercase();
    let distance = |word: &str| strsim::damerau_levenshtein(&wrong, &word.to_ascii_lowercase());
    let begins_alike = |word: &str| {
        let first = |text: &str| {
            text.chars()
                .next()
                .map(|letter| letter.to_ascii_lowercase())
        };
        first(word) == first(&wrong)
    };
    let (changes, word) = words
        .into_iter()
        .map(|word| (distance(word), word))
        .min_by_key(|(changes, word)| (*changes, !begins_alike(word)))?;
    // More changes than letters to keep is another word.
    let few = changes <= 1.max(wrong.len() / 3) && changes < wrong.chars().count();
    let like = few && (changes == 1 || begins_alike(word));
    like.then(|| word.to_owned())
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
