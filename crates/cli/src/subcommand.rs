//! Subcommands such as `netperf report`: a word, and then files and options in any order.
//!
//! A subcommand is a row of [`ROWS`], a variant of [`Subcommand`], and a file here with its options
//! and help. Parser, help, man pages, completions and manual read the row.

mod campaign;
mod check;
mod compare;
mod counters;
mod history;
mod plain;
mod report;
mod spec;
mod sweep;

use std::ffi::OsString;

use netperf_arguments::command::{CliError, Usage};

pub use self::campaign::{CampaignArgs, CampaignVerb};
pub use self::check::CheckArgs;
pub use self::compare::CompareArgs;
pub use self::counters::CountersArgs;
pub use self::history::{HistoryArgs, HistoryVerb};
pub(crate) use self::plain::PlainWords;
pub use self::report::ReportArgs;
use self::spec::SubcommandSpec;
#[cfg(feature = "files")]
pub use self::sweep::sweep_file;
pub use self::sweep::{SweepArgs, SweepWords};

use crate::entry::CommandEntry;

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
    /// `netperf counters`.
    Counters(Box<CountersArgs>),
    /// `netperf sweep`.
    Sweep(Box<SweepArgs>),
    /// `netperf campaign`.
    Campaign(CampaignVerb, Box<CampaignArgs>),
    /// `netperf history`.
    History(HistoryVerb, Box<HistoryArgs>),
    /// Print help.
    Usage(Usage),
    /// `netperf help`.
    Help(Usage),
}

/// Every subcommand, in the order of help and manual.
static ROWS: [&dyn SubcommandRow; 8] = [
    &Row {
        spec: &check::CHECK,
        made: |args| Subcommand::Check(Box::new(args)),
    },
    &Row {
        spec: &report::REPORT,
        made: |args| Subcommand::Report(Box::new(args)),
    },
    &Row {
        spec: &compare::COMPARE,
        made: |args| Subcommand::Compare(Box::new(args)),
    },
    &Row {
        spec: &compare::RUN,
        made: |args| Subcommand::Run(Box::new(args)),
    },
    &Row {
        spec: &counters::COUNTERS,
        made: |args| Subcommand::Counters(Box::new(args)),
    },
    &Row {
        spec: &sweep::SWEEP,
        made: |args| Subcommand::Sweep(Box::new(args)),
    },
    &Row {
        spec: &campaign::CAMPAIGN,
        made: |(verb, args)| Subcommand::Campaign(verb, Box::new(args)),
    },
    &Row {
        spec: &history::HISTORY,
        made: |(verb, args)| Subcommand::History(verb, Box::new(args)),
    },
];

/// A subcommand, and the variant of its parsed command line.
struct Row<A: 'static, C: 'static> {
    spec: &'static SubcommandSpec<A, C>,
    made: fn(C) -> Subcommand,
}

/// A row, independent of the type of its options.
trait SubcommandRow: Sync {
    /// The word.
    fn word(&self) -> &'static str;
    /// Short description.
    fn about(&self) -> &'static str;
    /// Reads a command line, argv\[0\] and the word included.
    fn read(&self, argv: &[OsString]) -> Result<Subcommand, CliError>;
    /// Help for a verb, or for all of it.
    fn help(&self, verb: Option<&str>) -> String;
    /// Everything about it, for the documentation.
    fn entry(&self) -> CommandEntry;
}

impl<A: Default, C> SubcommandRow for Row<A, C> {
    fn word(&self) -> &'static str {
        self.spec.word
    }

    fn about(&self) -> &'static str {
        self.spec.about
    }

    fn read(&self, argv: &[OsString]) -> Result<Subcommand, CliError> {
        let read = self.spec.read(argv)?;
        Ok(read.map_or_else(Subcommand::Usage, self.made))
    }

    fn help(&self, verb: Option<&str>) -> String {
        self.spec.help(verb)
    }

    fn entry(&self) -> CommandEntry {
        self.spec.entry()
    }
}

/// Reads a command line, argv\[0\] and the word included; `None` if the word is no subcommand.
pub(crate) fn read(word: &str, argv: &[OsString]) -> Option<Result<Subcommand, CliError>> {
    row(word).map(|row| row.read(argv))
}

/// The row of a word.
fn row(word: &str) -> Option<&'static dyn SubcommandRow> {
    ROWS.into_iter().find(|row| row.word() == word)
}

/// The words.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    ROWS.into_iter().map(|row| row.word())
}

/// The words and their short descriptions.
pub fn about() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.into_iter().map(|row| (row.word(), row.about()))
}

/// Help for a word and one of its verbs.
pub(crate) fn help(word: &str, verb: Option<&str>) -> String {
    row(word).map_or_else(String::new, |row| row.help(verb))
}

/// Every subcommand, in the order of the manual.
#[must_use]
pub fn commands() -> Vec<CommandEntry> {
    ROWS.into_iter().map(SubcommandRow::entry).collect()
}

#[cfg(test)]
mod testing {
    use std::ffi::OsString;

    use super::Subcommand;
    use crate::programs::subcommand;

    pub(super) fn argv(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    /// A command line that is right.
    pub(super) fn read(line: &str) -> Subcommand {
        subcommand(&argv(line)).unwrap().unwrap()
    }
}
