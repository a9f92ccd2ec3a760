//! A subcommand: its options, and how its command line is read.

use std::ffi::OsString;

use netperf_arguments::command::{CliError, Usage};
use netperf_arguments::kind::is_empty_list;
use netperf_arguments::table::{OnComplaint, OptionReader, OptionSpec, TableEnd};

use super::plain::PlainWords;

use crate::entry::{self, CommandEntry, Operands, OptionEntry};
use crate::help::layout::groups;

/// A subcommand and its options. `A` collects the options, `C` is the checked command.
#[derive(Debug)]
pub(crate) struct SubcommandSpec<A: 'static, C> {
    /// Its word, which is not the name of a test.
    pub(crate) word: &'static str,
    /// Short description.
    pub(crate) about: &'static str,
    /// Its options.
    pub(crate) table: &'static [OptionSpec<A>],
    /// Help in front of the options.
    pub(crate) usage: &'static str,
    /// Its verbs.
    pub(crate) verbs: fn() -> Vec<&'static VerbRow>,
    /// Its positional arguments.
    pub(crate) operands: Operands,
    /// Makes the command from the options and the other words, or gives the line for an error.
    pub(crate) command: fn(A, Vec<String>) -> Result<C, String>,
}

/// A verb of a subcommand, and the options that it takes besides `--help`.
#[derive(Debug)]
pub(crate) struct VerbRow {
    /// Its word.
    pub(crate) word: &'static str,
    /// Short description.
    pub(crate) about: &'static str,
    /// Help in front of its options: usage, description and examples, with empty lines between.
    /// Empty for a verb that the help of the subcommand explains.
    pub(crate) usage: &'static str,
    /// Its options, in groups.
    pub(crate) takes: &'static [&'static [&'static str]],
    /// True if it takes files.
    pub(crate) files: bool,
}

impl VerbRow {
    /// Returns true if it has this option, besides `--help`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.takes.iter().any(|group| group.contains(&name))
    }

    /// Its options, with `--help`.
    fn entries<A>(&self, table: &[OptionSpec<A>]) -> Vec<OptionEntry> {
        let all = entry::of(table).into_iter();
        all.filter(|entry| entry.long == "help" || self.has(entry.long))
            .collect()
    }
}

impl<A: Default, C> SubcommandSpec<A, C> {
    /// The subcommand as man pages, completions and the manual describe it.
    pub(super) fn entry(&self) -> CommandEntry {
        let verb = |verb: &VerbRow| CommandEntry {
            word: verb.word,
            about: verb.about,
            usage: verb.usage,
            entries: verb.entries(self.table),
            operands: if verb.files {
                Operands::Files
            } else {
                Operands::Nothing
            },
            verbs: Vec::new(),
        };
        CommandEntry {
            word: self.word,
            about: self.about,
            usage: self.usage,
            entries: entry::of(self.table),
            operands: self.operands,
            verbs: (self.verbs)().into_iter().map(verb).collect(),
        }
    }

    /// Name in messages.
    fn program(&self) -> String {
        format!("netperf {}", self.word)
    }

    /// Reads a command line, argv\[0\] and the word included. Words after `--` are no options.
    pub(super) fn read(&self, argv: &[OsString]) -> Result<Result<C, Usage>, CliError> {
        let program = self.program();
        let words = netperf_arguments::environment::words(argv, &program)?;
        let words = words.get(2..).unwrap_or_default();
        let mut args = A::default();
        let mut reader = OptionReader {
            table: self.table,
            program: &program,
            on_complaint: OnComplaint::Stop,
            strict: true,
            elsewhere: PlainWords::default(),
            garbled: Vec::new(),
        };
        match reader.read(words, &mut args, &mut Vec::new())? {
            TableEnd::Done(behind) => {
                let mut plain = reader.elsewhere.0;
                if plain.iter().any(|word| is_empty_list(word)) {
                    let line =
                        format!("{program}: '' is empty: a host, a file or a name is expected");
                    return Ok(Err(self.wrong(&line, None)));
                }
                plain.extend_from_slice(behind);
                let verb = self.verb(plain.first().map(String::as_str));
                Ok((self.command)(args, plain).map_err(|line| self.wrong(&line, verb)))
            }
            TableEnd::Halted(_) => {
                let verb = words.first().map(String::as_str);
                Ok(Err(Usage::help(self.help(verb))))
            }
            TableEnd::Complaint(line) => Ok(Err(self.wrong(&line, None))),
        }
    }

    /// The verb with this word, if it has its own help.
    fn verb(&self, word: Option<&str>) -> Option<&'static VerbRow> {
        let verbs = (self.verbs)().into_iter();
        let mut explained = verbs.filter(|row| !row.usage.is_empty());
        explained.find(|row| Some(row.word) == word)
    }

    /// Help for a verb, or for all of it.
    pub(super) fn help(&self, verb: Option<&str>) -> String {
        let explained = (self.verbs)().iter().any(|row| !row.usage.is_empty());
        let (usage, entries) = match self.verb(verb) {
            Some(row) => (row.usage, row.entries(self.table)),
            None if explained => (self.usage, Vec::new()),
            None => (self.usage, entry::of(self.table)),
        };
        let mut text = usage.to_owned();
        groups(&mut text, &entries);
        text
    }

    /// An error and a hint to the help.
    fn wrong(&self, line: &str, verb: Option<&VerbRow>) -> Usage {
        let program = match verb {
            Some(row) => format!("{} {}", self.program(), row.word),
            None => self.program(),
        };
        let behind = match self.operands {
            Operands::Line(_) => "; those of netperf go after --",
            Operands::Nothing | Operands::Files | Operands::Verb => "",
        };
        Usage::error(
            format!("{line}\n`{program} --help` shows the options{behind}.\n"),
            2,
        )
    }
}

/// The names of the options that were given.
pub(super) fn names_given<const N: usize>(all: [(&'static str, bool); N]) -> Vec<&'static str> {
    let given = all.into_iter().filter(|(_, given)| *given);
    given.map(|(name, _)| name).collect()
}
