//! The command lines of `netperf compare` and `netperf run`.

use std::ffi::OsString;

use crate::args::{CompareArgs, VersusArgs};
use crate::command::{CliError, Usage};
use crate::help;
use crate::options::compare::{COMPARE, VERSUS};
use crate::subcommand::{Subcommand, Words};

/// Parsed command line of `netperf compare`.
#[derive(Clone, Debug, PartialEq)]
pub enum CompareCommand {
    /// Compare.
    Compare(Box<CompareArgs>),
    /// Print help.
    Usage(Usage),
}

/// Parsed command line of `netperf run`.
#[derive(Clone, Debug, PartialEq)]
pub enum VersusCommand {
    /// Run and compare.
    Run(Box<VersusArgs>),
    /// Print help.
    Usage(Usage),
}

/// `netperf compare`.
pub(crate) const COMPARE_COMMAND: Subcommand<CompareArgs> = Subcommand {
    word: "compare",
    about: "compare two sets of runs",
    program: "netperf compare",
    table: COMPARE,
    help: help::compare,
};

/// `netperf run`.
pub(crate) const VERSUS_COMMAND: Subcommand<VersusArgs> = Subcommand {
    word: "run",
    about: "run two configurations alternately and compare them",
    program: "netperf run",
    table: VERSUS,
    help: help::versus,
};

/// The word between two sets of files.
const VS: &str = "vs";
/// The word between two command lines.
pub(crate) const DASHED_VS: &str = "--vs";

/// Returns true if argv asks for a comparison.
#[must_use]
pub fn is_compare(argv: &[OsString]) -> bool {
    COMPARE_COMMAND.is_asked(argv)
}

/// Returns true if argv asks to run two configurations in turn.
#[must_use]
pub fn is_versus(argv: &[OsString]) -> bool {
    VERSUS_COMMAND.is_asked(argv)
}

/// Reads the command line of `netperf compare`, argv\[0\] and `compare` included.
///
/// # Errors
///
/// When a word is no text, or an option's name or value is wrong.
pub fn compare(argv: &[OsString]) -> Result<CompareCommand, CliError> {
    let (mut args, words) = match COMPARE_COMMAND.read(argv)? {
        Words::Read(args, words) => (args, words),
        Words::Usage(usage) => return Ok(CompareCommand::Usage(usage)),
    };
    let Some((first, second)) = sets(&words) else {
        let line = "netperf compare: two files or folders are needed, or two sets with vs between";
        return Ok(CompareCommand::Usage(COMPARE_COMMAND.wrong(line)));
    };
    (args.first, args.second) = (first.to_vec(), second.to_vec());
    Ok(CompareCommand::Compare(Box::new(args)))
}

/// Two words, or the words on both sides of `vs`.
fn sets(words: &[String]) -> Option<(&[String], &[String])> {
    let (first, second) = split_at_word(words, VS).or_else(|| {
        let (first, second) = words.split_at_checked(1)?;
        (second.len() == 1).then_some((first, second))
    })?;
    let both = !first.is_empty() && !second.is_empty() && !second.iter().any(|word| word == VS);
    both.then_some((first, second))
}

fn split_at_word<'w>(words: &'w [String], word: &str) -> Option<(&'w [String], &'w [String])> {
    let at = words.iter().position(|other| other == word)?;
    Some((words.get(..at)?, words.get(at + 1..)?))
}

/// Reads the command line of `netperf run`, argv\[0\] and `run` included.
///
/// # Errors
///
/// When a word is no text, or an option's name or value is wrong.
pub fn versus(argv: &[OsString]) -> Result<VersusCommand, CliError> {
    let (mut args, words) = match VERSUS_COMMAND.read(argv)? {
        Words::Read(args, words) => (args, words),
        Words::Usage(usage) => return Ok(VersusCommand::Usage(usage)),
    };
    let Some((first, second)) = split_at_word(&words, DASHED_VS) else {
        let line = "netperf run: two command lines are needed: -- A-options --vs B-options";
        return Ok(VersusCommand::Usage(VERSUS_COMMAND.wrong(line)));
    };
    (args.first, args.second) = (first.to_vec(), second.to_vec());
    Ok(VersusCommand::Run(Box::new(args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn compared(line: &str) -> CompareArgs {
        match compare(&argv(line)).unwrap() {
            CompareCommand::Compare(args) => *args,
            CompareCommand::Usage(usage) => panic!("{}", usage.text),
        }
    }

    #[test]
    fn two_words_are_two_sets_and_vs_stands_between_more() {
        let args = compared("netperf compare a --paired b --threshold 2%");
        assert_eq!(
            (args.first, args.second),
            (vec!["a".into()], vec!["b".into()])
        );
        assert!(args.paired);
        assert_eq!(args.comparison.threshold, Some(0.02));
        let args = compared("netperf compare a b vs c --false-alarms=5");
        assert_eq!(args.first, ["a", "b"]);
        assert_eq!(args.second, ["c"]);
        assert_eq!(args.comparison.chance, Some(0.05));
    }

    #[test]
    fn anything_else_is_answered_with_what_it_takes() {
        for words in ["", " a", " a b c", " a vs", " vs b", " a vs b vs c"] {
            let line = format!("netperf compare{words}");
            let CompareCommand::Usage(usage) = compare(&argv(&line)).unwrap() else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, 2, "{line}");
        }
        let error = compare(&argv("netperf compare a b --threshold 200%")).unwrap_err();
        assert!(error.to_string().contains("from 0 to 100"), "{error}");
    }

    #[test]
    fn two_command_lines_may_have_dashes_of_their_own() {
        let line = "netperf run --pairs 7 -- -t TCP_RR -- -D --vs -t TCP_RR -- -r 2,2";
        let VersusCommand::Run(args) = versus(&argv(line)).unwrap() else {
            panic!("{line}");
        };
        assert_eq!(args.pairs, Some(7));
        assert_eq!(args.first, ["-t", "TCP_RR", "--", "-D"]);
        assert_eq!(args.second, ["-t", "TCP_RR", "--", "-r", "2,2"]);
        let VersusCommand::Usage(usage) = versus(&argv("netperf run -- -l 1")).unwrap() else {
            panic!("there is no second command line");
        };
        assert_eq!(usage.exit, 2);
    }
}
