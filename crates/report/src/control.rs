//! Output of the tests that only ask netserver a question (output.md 7).

use crate::fmt::general;

/// Whose CPU rate is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// LOC_CPU.
    Local,
    /// REM_CPU.
    Remote,
}

impl Whose {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}

/// LOC_CPU and REM_CPU: the calibration rate, no newline below verbosity 2.
#[must_use]
pub fn cpu_rate(whose: Whose, rate: f64, cpus: u32, verbosity: i32) -> String {
    let rate = general(rate, None);
    if verbosity <= 1 {
        return rate;
    }
    let word = whose.word();
    match cpus {
        1 => format!("{rate}\nThere is 1 {word} cpu\n"),
        several => format!("{rate}\nThere are {several} {word} cpus\n"),
    }
}

/// UUID: the identifier, no newline.
#[must_use]
pub fn uuid(identifier: &str) -> String {
    identifier.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_alone_has_no_newline() {
        assert_eq!(cpu_rate(Whose::Local, 100.0, 2, 1), "100");
    }

    #[test]
    fn verbosity_two_counts_the_cpus() {
        assert_eq!(
            cpu_rate(Whose::Local, 100.0, 2, 2),
            "100\nThere are 2 local cpus\n"
        );
        assert_eq!(
            cpu_rate(Whose::Remote, 100.0, 1, 2),
            "100\nThere is 1 remote cpu\n"
        );
    }
}
