//! A subcommand: its options, and how its command line is read.

use std::ffi::OsString;

use super::plain::PlainWords;
use crate::args::{CampaignArgs, CheckArgs, CompareArgs, HistoryArgs, ReportArgs, SweepArgs};
use crate::campaign::CampaignVerb;
use crate::campaign::verbs::CampaignVerbRow;
use crate::command::{CliError, Usage};
use crate::entry;
use crate::help::layout::groups;
use crate::history::HistoryVerb;
use crate::kind::is_empty_list;
use crate::table::{OnComplaint, OptionReader, OptionSpec, TableEnd};

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
    pub(super) fn read(&self, argv: &[OsString]) -> Result<Subcommand, CliError> {
        let words = crate::environment::words(argv, self.program)?;
        let words = words.get(2..).unwrap_or_default();
        let mut args = A::default();
        let mut reader = OptionReader {
            table: self.table,
            program: self.program,
            on_complaint: OnComplaint::Stop,
            strict: true,
            elsewhere: PlainWords::default(),
            garbled: Vec::new(),
        };
        let command = match reader.read(words, &mut args, &mut Vec::new())? {
            TableEnd::Done(behind) => {
                let mut plain = reader.elsewhere.0;
                if plain.iter().any(|word| is_empty_list(word)) {
                    let line = format!(
                        "{}: '' is empty: a host, a file or a name is expected",
                        self.program
                    );
                    return Ok(Subcommand::Usage(self.wrong(&line, None)));
                }
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
    pub(super) fn verb(&self, word: Option<&str>) -> Option<&'static CampaignVerbRow> {
        self.verbs.iter().find(|row| Some(row.word) == word)
    }

    /// Help for a verb, or for all of it.
    pub(super) fn help(&self, verb: Option<&CampaignVerbRow>) -> String {
        let (usage, entries) = match verb {
            Some(row) => (row.usage, row.entries()),
            None if self.verbs.is_empty() => (self.usage, entry::of(self.table)),
            None => (self.usage, Vec::new()),
        };
        let mut text = usage.to_owned();
        groups(&mut text, &entries);
        text
    }

    /// An error and a hint to the help.
    pub(super) fn wrong(&self, line: &str, verb: Option<&CampaignVerbRow>) -> Usage {
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
