//! Commands such as `netperf report`: a word, and then files and options in any order.

use std::ffi::OsString;

use crate::command::{CliError, Notice, OutputStream, Usage};
use crate::long::{OptionProblem, OtherTables, misuse};
use crate::table::{Halt, OnComplaint, OptionReader, OptionSpec, TableEnd, ValueShape};

/// A command and its options.
#[derive(Debug)]
pub(crate) struct Subcommand<A: 'static> {
    /// The word that names it, which is no test and which the original has no use for.
    pub(crate) word: &'static str,
    /// Short description.
    pub(crate) about: &'static str,
    /// Name in messages.
    pub(crate) program: &'static str,
    /// Its options.
    pub(crate) table: &'static [OptionSpec<A>],
    /// Its help.
    pub(crate) help: fn() -> String,
}

/// Result of parsing a subcommand.
#[derive(Debug)]
pub(crate) enum Words<A> {
    /// Options, and the words that are none.
    Read(A, Vec<String>),
    /// Print help.
    Usage(Usage),
}

impl<A: Default> Subcommand<A> {
    /// Returns true if argv asks for it.
    pub(crate) fn is_asked(&self, argv: &[OsString]) -> bool {
        argv.get(1).is_some_and(|word| word == self.word)
    }

    /// Reads a command line, argv\[0\] and the word included. Words behind `--` are no
    /// options.
    pub(crate) fn read(&self, argv: &[OsString]) -> Result<Words<A>, CliError> {
        let words = crate::words(argv, self.program)?;
        let words = words.get(2..).unwrap_or_default();
        let mut args = A::default();
        let mut reader = OptionReader {
            table: self.table,
            program: self.program,
            on_complaint: OnComplaint::Stop,
            elsewhere: PlainWords::default(),
        };
        match reader.read(words, &mut args, &mut Vec::new()) {
            TableEnd::Done(behind) => {
                let mut plain = reader.elsewhere.0;
                plain.extend_from_slice(behind);
                Ok(Words::Read(args, plain))
            }
            TableEnd::Halted(_) => Ok(Words::Usage(Usage {
                stream: OutputStream::Stdout,
                text: (self.help)(),
                exit: 0,
            })),
            TableEnd::Complaint(line) => Ok(Words::Usage(self.wrong(&line))),
            TableEnd::Failed(error) => Err(error),
        }
    }

    /// A command line that cannot be followed, and where to look.
    pub(crate) fn wrong(&self, line: &str) -> Usage {
        let program = self.program;
        Usage {
            stream: OutputStream::Stderr,
            text: format!(
                "{line}\n\
             `{program} --help` shows the options.\n"
            ),
            exit: 2,
        }
    }
}

/// There are no other options; words that are none are kept.
#[derive(Debug, Default)]
struct PlainWords(Vec<String>);

impl OtherTables for PlainWords {
    fn shape(&self, _name: &str) -> Option<ValueShape> {
        None
    }

    fn take(
        &mut self,
        _program: &str,
        _name: &str,
        _word: Option<&str>,
        _notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        Ok(None)
    }

    fn plain(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|&word| word.to_owned()));
    }

    fn unknown(&self, program: &str, name: &str, own: Vec<&'static str>) -> CliError {
        misuse(program, name, OptionProblem::unknown(name, own))
    }
}
