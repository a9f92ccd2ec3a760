//! Errors of long options.

use crate::nearest::shown;

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
