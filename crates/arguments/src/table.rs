//! The shape of an option table, and the loop that applies one to a command line.

use std::borrow::Cow;

use netperf_model::Setting;

use crate::command::{CliError, Notice};
use crate::foreign;
use crate::garbled::{is_no_length, lacks_a_word, remark};
use crate::getopt::{Argument, Getopt, GetoptStep};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::long::{OptionProblem, OtherTables, misuse};

/// One option. Parser, help, man page, completions and manual all read this row.
#[derive(Debug)]
pub struct OptionSpec<A: 'static> {
    /// The letter; `None` for an option that has only a name.
    pub letter: Option<char>,
    /// The name, without its dashes.
    pub long: &'static str,
    /// Name of its argument in help; empty without one.
    pub value: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Further description for the manual.
    pub more: &'static str,
    /// Heading in help.
    pub group: Group,
    /// Values that the long form accepts. The short form accepts any word.
    pub kind: ValueKind,
    /// Values that the letter accepts, if they are others, or mean something else.
    pub letter_kind: Option<ValueKind>,
    /// Value of the long form without one; empty if it needs one or takes none.
    pub implied: &'static str,
    /// Argument, and the way of recording it.
    pub action: Action<A>,
    /// True if nothing reads it: it is accepted for old command lines.
    pub is_idle: bool,
}

impl<A> Clone for OptionSpec<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for OptionSpec<A> {}

/// Way of recording an option.
#[derive(Debug)]
pub enum Action<A: 'static> {
    /// Takes nothing.
    Flag(fn(&mut A)),
    /// Takes a word; any word will do.
    Value(fn(&mut A, &str)),
    /// Takes a word for a socket option of the model's table.
    Setting(fn(&mut A, Setting, &str), Setting),
    /// Takes a word, which has more to say in the long form: first the letter's
    /// way to read it, then the name's.
    LetterAndName(fn(&mut A, &str, &mut Vec<Notice>), fn(&mut A, &str)),
    /// Takes a word, and may print a notice about it.
    Noted(fn(&mut A, &str, &mut Vec<Notice>)),
    /// Takes a word, and rejects some.
    Checked(fn(&mut A, &str) -> Result<(), CliError>),
    /// Takes the next word if it begins with a digit.
    NextIfNumber(fn(&mut A, Option<&str>)),
    /// Takes the next word unless it begins with a dash.
    NextUnlessDash(fn(&mut A, Option<&str>) -> Option<Halt>),
    /// Prints help and ends the parsing.
    Help,
    /// Prints the version and ends the parsing.
    Version,
}

impl<A> Clone for Action<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Action<A> {}

/// Why parsing ended before the last word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// `-h`.
    Help,
    /// `--help` with its topic, empty without one.
    Explain(String),
    /// `-V`.
    Version,
    /// `--version`.
    FullVersion,
    /// `?` as a selection.
    ListSelectors {
        /// One per line.
        one_per_line: bool,
    },
}

/// Result of reading one table.
#[derive(Debug)]
pub enum TableEnd<'a> {
    /// All words read; these follow a `--`.
    Done(&'a [String]),
    /// At an option that ends everything.
    Halted(Halt),
    /// At a letter that `getopt` complains about, with the complaint.
    Complaint(String),
}

/// Reaction to an unknown letter or a missing argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnComplaint {
    /// Stop.
    Stop,
    /// Say so and go on, as the OMNI and sockets suites always have.
    GoOn,
}

/// Reads words with one table.
#[derive(Debug)]
pub struct OptionReader<'r, A: 'static, E> {
    /// The options.
    pub table: &'static [OptionSpec<A>],
    /// argv\[0\].
    pub program: &'r str,
    /// About letters; a long option that is wrong always stops.
    pub on_complaint: OnComplaint,
    /// True if the value of a letter has to make sense, as that of a long option. netperf 2.7 has
    /// no such letters.
    pub strict: bool,
    /// Takes the long options that are not in the table.
    pub elsewhere: E,
    /// Lines about values of letters that are not used as they were typed.
    pub garbled: Vec<String>,
}

impl<A, E: OtherTables> OptionReader<'_, A, E> {
    /// Applies the table to `words`, recording in `args` and `notices`.
    ///
    /// # Errors
    /// At a word that cannot be accepted.
    pub fn read<'a>(
        &mut self,
        words: &'a [String],
        args: &mut A,
        notices: &mut Vec<Notice>,
    ) -> Result<TableEnd<'a>, CliError> {
        let mut getopt = Getopt::new(words);
        let argument = |row: &'static OptionSpec<A>| row.action.argument();
        let table = self.table;
        while let Some(step) = getopt.step(|letter| by_letter(table, letter).map(argument)) {
            if let Some(complaint) = step.complaint(self.program) {
                match self.on_complaint {
                    OnComplaint::Stop => return Ok(TableEnd::Complaint(complaint)),
                    OnComplaint::GoOn => notices.push(Notice::stderr(&complaint)),
                }
            }
            let halt = match step {
                GetoptStep::Option(letter, word) => match by_letter(table, letter) {
                    Some(row) => {
                        if row.is_idle {
                            let line = format!(
                                "-{letter}: not in force, because this test has no use for it"
                            );
                            self.garbled.push(line);
                        }
                        let kind = row.letter_kind.unwrap_or(row.kind);
                        let refused =
                            |word: &&str| is_no_length(kind, word) || lacks_a_word(kind, word);
                        if let Some(word) = word.filter(refused) {
                            let problem = OptionProblem::letter_value(word, kind);
                            return Err(misuse(self.program, &letter.to_string(), problem));
                        }
                        if self.strict {
                            row.apply_word(self.program, &letter.to_string(), args, word, notices)?
                        } else {
                            let garbled = word.and_then(|word| remark(letter, kind, word));
                            self.garbled.extend(garbled);
                            row.action.apply(args, word, notices)?
                        }
                    }
                    None => None,
                },
                GetoptStep::Long(text) => self.long(text, &mut getopt, args, notices)?,
                GetoptStep::Unknown(_) | GetoptStep::MissingArgument(_) => None,
            };
            if let Some(halt) = halt {
                return Ok(TableEnd::Halted(halt));
            }
        }
        self.elsewhere.plain(getopt.skipped());
        Ok(TableEnd::Done(getopt.rest()))
    }

    /// `text` is a name, or a name and a value with `=` between them.
    fn long<'a>(
        &mut self,
        text: &'a str,
        getopt: &mut Getopt<'a>,
        args: &mut A,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let known =
            |name| by_name(self.table, name).is_some() || self.elsewhere.shape(name).is_some();
        let alias = foreign::alias(name).filter(|ours| !known(name) && known(ours));
        let name = alias.unwrap_or(name);
        let own = by_name(self.table, name);
        let shape = match own {
            Some(row) => Some(row.shape()),
            None => self.elsewhere.shape(name),
        };
        let Some(shape) = shape else {
            let own = self.table.iter().map(|row| row.long);
            return Err(self.elsewhere.unknown(self.program, name, own.collect()));
        };
        let word = shape.word(self.program, name, attached, getopt)?;
        match own {
            Some(row) => row.apply_long(self.program, args, word, notices),
            None => self.elsewhere.take(self.program, name, word, notices),
        }
    }
}

/// The row of a letter.
pub fn by_letter<A>(table: &[OptionSpec<A>], letter: char) -> Option<&OptionSpec<A>> {
    table.iter().find(|row| row.letter == Some(letter))
}

/// The row of a name.
pub fn by_name<'t, A>(table: &'t [OptionSpec<A>], name: &str) -> Option<&'t OptionSpec<A>> {
    table.iter().find(|row| row.long == name)
}

/// Properties of a long option that determine its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueShape {
    argument: Argument,
    kind: ValueKind,
    implied: &'static str,
}

impl ValueShape {
    /// The value, attached or the next word. A word with two dashes in front is
    /// never taken: it is the next option, and the value was forgotten.
    pub fn word<'a>(
        self,
        program: &str,
        name: &str,
        attached: Option<&'a str>,
        getopt: &mut Getopt<'a>,
    ) -> Result<Option<&'a str>, CliError> {
        let wrong = |problem| Err(misuse(program, name, problem));
        match (self.argument, attached) {
            (Argument::Nothing, Some(_)) => wrong(OptionProblem::ValueUnwanted),
            (Argument::Nothing, None) => Ok(None),
            (_, Some(_)) => Ok(attached),
            (Argument::Required, None) if !self.implied.is_empty() => {
                let next = getopt.next_if(|word| !word.starts_with('-'));
                Ok(next.or(Some(self.implied)))
            }
            (Argument::Required, None) => match getopt.next_if(|word| !word.starts_with("--")) {
                None => wrong(OptionProblem::ValueMissing {
                    expected: self.kind.expected(),
                }),
                word => Ok(word),
            },
            (Argument::NextIfNumber, None) => {
                Ok(getopt.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit())))
            }
            (Argument::NextUnlessDash, None) => Ok(getopt.next_if(|word| !word.starts_with('-'))),
        }
    }
}

impl<A> OptionSpec<A> {
    /// Returns true if the long form is help, and takes a topic.
    pub fn explains(&self) -> bool {
        matches!(self.action, Action::Help) && self.kind != ValueKind::Nothing
    }

    /// Argument of the long form.
    pub fn shape(&self) -> ValueShape {
        // `--help` may be followed by what to explain.
        let argument = if self.explains() {
            Argument::NextUnlessDash
        } else {
            self.action.argument()
        };
        ValueShape {
            argument,
            kind: self.kind,
            implied: self.implied,
        }
    }

    /// Records the long form; its value must be one that makes sense.
    pub fn apply_long(
        &self,
        program: &str,
        args: &mut A,
        word: Option<&str>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        self.apply_word(program, self.long, args, word, notices)
    }

    /// The same of the long form or the letter, which `name` is.
    fn apply_word(
        &self,
        program: &str,
        name: &str,
        args: &mut A,
        word: Option<&str>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        let word = word
            .map(|word| {
                let read = self.kind.read(word);
                read.ok_or_else(|| misuse(program, name, OptionProblem::value(word, self.kind)))
            })
            .transpose()?;
        if let Action::Help = self.action {
            let topic = word.map_or_else(String::new, Cow::into_owned);
            return Ok(Some(Halt::Explain(topic)));
        }
        if let Action::Version = self.action {
            return Ok(Some(Halt::FullVersion));
        }
        if let Action::LetterAndName(_, record) = self.action {
            record(args, word.as_deref().unwrap_or_default());
            return Ok(None);
        }
        self.action.apply(args, word.as_deref(), notices)
    }
}

impl<A> Action<A> {
    /// Argument in the terms of `getopt`.
    pub const fn argument(&self) -> Argument {
        match self {
            Self::Flag(_) | Self::Help | Self::Version => Argument::Nothing,
            Self::Value(_)
            | Self::Setting(..)
            | Self::LetterAndName(..)
            | Self::Noted(_)
            | Self::Checked(_) => Argument::Required,
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
        // An argument that is required is never left out.
        let required = word.unwrap_or_default();
        match self {
            Self::Flag(record) => record(args),
            Self::Value(record) => record(args, required),
            Self::Setting(record, setting) => record(args, *setting, required),
            Self::LetterAndName(record, _) | Self::Noted(record) => record(args, required, notices),
            Self::Checked(record) => record(args, required)?,
            Self::NextIfNumber(record) => record(args, word),
            Self::NextUnlessDash(record) => return Ok(record(args, word)),
            Self::Help => return Ok(Some(Halt::Help)),
            Self::Version => return Ok(Some(Halt::Version)),
        }
        Ok(None)
    }
}
