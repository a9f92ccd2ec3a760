//! The shape of an option table, and the loop that applies one to a command line.

use crate::command::{CliError, Notice};
use crate::getopt::{Argument, Getopt, Step};

/// One option. Parser, help and, later, manual all read this row.
#[derive(Debug)]
pub(crate) struct Row<A: 'static> {
    /// The letter.
    pub(crate) letter: char,
    /// What its argument is called in help; empty without one.
    pub(crate) value: &'static str,
    /// What it does, in one line.
    pub(crate) help: &'static str,
    /// Whether its feature exists.
    pub(crate) status: Status,
    /// What it takes and how that is recorded.
    pub(crate) action: Action<A>,
}

/// Whether an option's feature exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It works.
    Ready,
    /// It will: until then the option is refused, never silently accepted.
    Later(&'static str),
}

/// How an option is recorded.
#[derive(Debug)]
pub(crate) enum Action<A: 'static> {
    /// Takes nothing.
    Flag(fn(&mut A)),
    /// Takes a word; any word will do.
    Value(fn(&mut A, &str)),
    /// Takes a word, and may have something to say about it.
    Checked(fn(&mut A, &str, &mut Vec<Notice>) -> Result<(), CliError>),
    /// Takes the next word if it begins with a digit.
    NextIfNumber(fn(&mut A, Option<&str>)),
    /// Takes the next word unless it begins with a dash.
    NextUnlessDash(fn(&mut A, Option<&str>) -> Option<Halt>),
    /// Ends the parsing.
    Halt(Halt),
}

/// Why parsing ended before the last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// `-h`.
    Help,
    /// `-V`.
    Version,
    /// `?` as a selection.
    ListSelectors {
        /// One per line.
        one_per_line: bool,
    },
}

/// How the reading of one table ended.
#[derive(Debug)]
pub(crate) enum Ending<'a> {
    /// All words read; these follow a `--`.
    Done(&'a [String]),
    /// At an option that ends everything.
    Halted(Halt),
    /// At a letter that `getopt` complains about, with the complaint.
    Complaint(String),
    /// At a word that cannot be accepted.
    Failed(CliError),
}

/// What to do about a letter that is not known or lacks its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnComplaint {
    /// Stop.
    Stop,
    /// Say so and go on, as the OMNI and sockets suites always have.
    GoOn,
}

/// Applies `table` to `words`, recording in `args` and `notices`.
pub(crate) fn read<'a, A>(
    table: &[Row<A>],
    program: &str,
    words: &'a [String],
    on_complaint: OnComplaint,
    args: &mut A,
    notices: &mut Vec<Notice>,
) -> Ending<'a> {
    let mut getopt = Getopt::new(words);
    let find = |letter| table.iter().find(|row| row.letter == letter);
    while let Some(step) = getopt.step(|letter| find(letter).map(|row| row.action.argument())) {
        if let Some(complaint) = step.complaint(program) {
            match on_complaint {
                OnComplaint::Stop => return Ending::Complaint(complaint),
                OnComplaint::GoOn => notices.push(Notice::stderr(&complaint)),
            }
        }
        let Step::Option(letter, word) = step else {
            continue;
        };
        let Some(row) = find(letter) else { continue };
        if let Status::Later(feature) = row.status {
            let program = program.to_owned();
            return Ending::Failed(CliError::NotYet {
                program,
                letter,
                feature,
            });
        }
        match row.action.apply(args, word, notices) {
            Ok(None) => {}
            Ok(Some(halt)) => return Ending::Halted(halt),
            Err(error) => return Ending::Failed(error),
        }
    }
    Ending::Done(getopt.rest())
}

impl<A> Action<A> {
    /// What `getopt` must look for.
    pub(crate) const fn argument(&self) -> Argument {
        match self {
            Self::Flag(_) | Self::Halt(_) => Argument::Nothing,
            Self::Value(_) | Self::Checked(_) => Argument::Required,
            Self::NextIfNumber(_) => Argument::NextIfNumber,
            Self::NextUnlessDash(_) => Argument::NextUnlessDash,
        }
    }

    fn apply(
        &self,
        args: &mut A,
        word: Option<&str>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        // `getopt` never leaves out an argument that is required.
        let required = word.unwrap_or_default();
        match self {
            Self::Flag(record) => record(args),
            Self::Value(record) => record(args, required),
            Self::Checked(record) => record(args, required, notices)?,
            Self::NextIfNumber(record) => record(args, word),
            Self::NextUnlessDash(record) => return Ok(record(args, word)),
            Self::Halt(halt) => return Ok(Some(*halt)),
        }
        Ok(None)
    }
}
