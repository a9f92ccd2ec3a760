//! Subcommands such as `netperf report`: a word, and then files and options in any order.

mod plain;
mod spec;
mod words;

use std::ffi::OsString;

pub(crate) use self::plain::PlainWords;
pub use self::spec::Subcommand;
pub(crate) use self::spec::SubcommandSpec;
pub(crate) use self::words::WORDS;
use crate::campaign;
use crate::command::{CliError, Usage};
use crate::kind::ValueKind;
use crate::long::{OptionProblem, misuse};
use crate::topic::{self, HelpTopic};
use crate::{check, compare, history, report, sweep};

/// Reads a command line, argv\[0\] included; `None` if it is not that of a subcommand.
///
/// # Errors
///
/// When a word is no text, or an option's name or value is wrong.
#[must_use]
pub fn subcommand(argv: &[OsString]) -> Option<Result<Subcommand, CliError>> {
    Some(match argv.get(1)?.to_str()? {
        "check" => check::CHECK.read(argv),
        "report" => report::REPORT.read(argv),
        "compare" => compare::COMPARE.read(argv),
        "run" => compare::RUN.read(argv),
        "sweep" => sweep::SWEEP.read(argv),
        "history" => history::HISTORY.read(argv),
        "campaign" => campaign::CAMPAIGN.read(argv),
        "help" => explained(argv)?,
        _ => return None,
    })
}

/// Help on the topic behind `help`, as of `--help`; `None` if an option follows.
fn explained(argv: &[OsString]) -> Option<Result<Subcommand, CliError>> {
    let topic = match argv.get(2) {
        None => HelpTopic::Start,
        Some(word) => {
            let word = word.to_str().filter(|word| !word.starts_with('-'))?;
            let same = |known: &&str| known.eq_ignore_ascii_case(word);
            match topic::words().find(same) {
                Some(known) if known == campaign::CAMPAIGN.word => {
                    let verb = argv.get(3).and_then(|word| word.to_str());
                    let verb = campaign::CAMPAIGN.verb(verb);
                    let text = campaign::CAMPAIGN.help(verb);
                    return Some(Ok(Subcommand::Help(Usage::help(text))));
                }
                Some(known) => HelpTopic::of(known),
                None => return Some(Err(no_topic(argv, word))),
            }
        }
    };
    Some(Ok(Subcommand::Help(Usage::help(topic.text()))))
}

/// The error of a word that is no topic.
fn no_topic(argv: &[OsString], word: &str) -> CliError {
    let program = argv.first().map_or_else(String::new, |program| {
        program.to_string_lossy().into_owned()
    });
    misuse(
        &program,
        "help",
        OptionProblem::value(word, ValueKind::Topic),
    )
}

/// Help for the subcommand of a word.
pub(crate) fn help(word: &str) -> String {
    match word {
        "check" => check::CHECK.help(None),
        "report" => report::REPORT.help(None),
        "compare" => compare::COMPARE.help(None),
        "run" => compare::RUN.help(None),
        "sweep" => sweep::SWEEP.help(None),
        "history" => history::HISTORY.help(None),
        "campaign" => campaign::CAMPAIGN.help(None),
        _ => String::new(),
    }
}

/// Words and short descriptions of the subcommands.
pub const ABOUT: [(&str, &str); 7] = [
    ("check", check::CHECK.about),
    ("report", report::REPORT.about),
    ("compare", compare::COMPARE.about),
    ("run", compare::RUN.about),
    ("sweep", sweep::SWEEP.about),
    ("history", history::HISTORY.about),
    ("campaign", campaign::CAMPAIGN.about),
];
