//! Subcommands such as `netperf report`: a word, and then files and options in any order.

use std::ffi::OsString;

use crate::args::{CampaignArgs, CheckArgs, CompareArgs, HistoryArgs, ReportArgs, SweepArgs};
use crate::campaign::verbs::CampaignVerbRow;
use crate::campaign::{self, CampaignVerb};
use crate::command::{CliError, Usage};
use crate::history::HistoryVerb;
use crate::kind::ValueKind;
use crate::long::{OptionProblem, OtherTables, misuse};
use crate::table::{OnComplaint, OptionReader, OptionSpec, TableEnd};
use crate::topic::{self, HelpTopic};
use crate::{check, compare, entry, help, history, report, sweep};

/// Parsed command line of a subcommand.
#[derive(Clone, Debug, PartialEq)]
pub enum Subcommand {
    /// `netperf check`.
    Check(Box<CheckArgs>),
    /// `netperf report`.
    Report(Box<ReportArgs>),
    /// `netperf compare`.
    Compare(Box<CompareArgs>),
    /// `netperf run`.
    Run(Box<CompareArgs>),
    /// `netperf sweep`.
    Sweep(Box<SweepArgs>),
    /// `netperf history`.
    History(HistoryVerb, Box<HistoryArgs>),
    /// `netperf campaign`.
    Campaign(CampaignVerb, Box<CampaignArgs>),
    /// Print help.
    Usage(Usage),
    /// `netperf help`.
    Help(Usage),
}

/// The words of the subcommands.
pub(crate) const WORDS: [&str; 7] = [
    "check", "report", "compare", "run", "sweep", "history", "campaign",
];

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
pub(crate) const ABOUT: [(&str, &str); 7] = [
    ("check", check::CHECK.about),
    ("report", report::REPORT.about),
    ("compare", compare::COMPARE.about),
    ("run", compare::RUN.about),
    ("sweep", sweep::SWEEP.about),
    ("history", history::HISTORY.about),
    ("campaign", campaign::CAMPAIGN.about),
];

/// A subcommand and its options.
#[derive(Debug)]
pub(crate) struct SubcommandSpec<A: 'static> {
    /// Its word, which is not the name of a test.
    pub(crate) word: &'static str,
    /// Short description.
    pub(crate) about: &'static str,
    /// Name in messages.
    pub(crate) program: &'static str,
    /// Its options.
    pub(crate) table: &'static [OptionSpec<A>],
    /// Help in front of the options.
    pub(crate) usage: &'static str,
    /// Its verbs, if each has help of its own.
    pub(crate) verbs: &'static [CampaignVerbRow],
    /// Makes the command from the options and the other words, or gives the line for an error.
    pub(crate) command: fn(A, Vec<String>) -> Result<Subcommand, String>,
}

impl<A: Default> SubcommandSpec<A> {
    /// Reads a command line, argv\[0\] and the word included. Words behind `--` are no
    /// options.
    fn read(&self, argv: &[OsString]) -> Result<Subcommand, CliError> {
        let words = crate::words(argv, self.program)?;
        let words = words.get(2..).unwrap_or_default();
        let mut args = A::default();
        let mut reader = OptionReader {
            table: self.table,
            program: self.program,
            on_complaint: OnComplaint::Stop,
            elsewhere: PlainWords::default(),
            garbled: Vec::new(),
        };
        let command = match reader.read(words, &mut args, &mut Vec::new())? {
            TableEnd::Done(behind) => {
                let mut plain = reader.elsewhere.0;
                plain.extend_from_slice(behind);
                let verb = self.verb(plain.first().map(String::as_str));
                (self.command)(args, plain).map_err(|line| self.wrong(&line, verb))
            }
            TableEnd::Halted(_) => {
                let verb = self.verb(words.first().map(String::as_str));
                Ok(Subcommand::Usage(Usage::help(self.help(verb))))
            }
            TableEnd::Complaint(line) => Err(self.wrong(&line, None)),
        };
        Ok(command.unwrap_or_else(Subcommand::Usage))
    }

    /// The verb with this word.
    fn verb(&self, word: Option<&str>) -> Option<&'static CampaignVerbRow> {
        self.verbs.iter().find(|row| Some(row.word) == word)
    }

    /// Help for a verb, or for all of it.
    fn help(&self, verb: Option<&CampaignVerbRow>) -> String {
        let (usage, entries) = match verb {
            Some(row) => (row.usage, row.entries()),
            None if self.verbs.is_empty() => (self.usage, entry::of(self.table)),
            None => (self.usage, Vec::new()),
        };
        let mut text = usage.to_owned();
        help::groups(&mut text, &entries);
        text
    }

    /// An error and a hint to the help.
    fn wrong(&self, line: &str, verb: Option<&CampaignVerbRow>) -> Usage {
        let program = match verb {
            Some(row) => format!("{} {}", self.program, row.word),
            None => self.program.to_owned(),
        };
        Usage::error(
            format!("{line}\n`{program} --help` shows the options.\n"),
            2,
        )
    }
}

/// Keeps the words that are not options.
#[derive(Debug, Default)]
pub(crate) struct PlainWords(pub(crate) Vec<String>);

impl OtherTables for PlainWords {
    fn plain(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|&word| word.to_owned()));
    }
}
