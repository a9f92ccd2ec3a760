//! The rows of all tables in one shape, for everything that describes options.

use std::collections::BTreeMap;

use netperf_arguments::getopt::Argument;
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

use crate::options::{SuiteOptions, global, omni, server};

/// One option as it is described.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionEntry {
    /// The letter, if it has one.
    pub letter: Option<char>,
    /// The name.
    pub long: &'static str,
    /// Name of the value, in brackets if it is optional.
    pub value: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Further description.
    pub more: &'static str,
    /// Its heading.
    pub group: Group,
    /// Kind of value.
    pub kind: ValueKind,
    /// Argument of the letter.
    pub argument: Argument,
    /// Value of the name where none is given; empty if it needs one or takes none.
    pub implied: &'static str,
}

impl OptionEntry {
    fn new<A>(row: &OptionSpec<A>) -> Self {
        Self {
            letter: row.letter,
            long: row.long,
            value: if row.explains() { "[topic]" } else { row.value },
            help: row.help,
            more: row.more,
            group: row.group,
            kind: row.kind,
            argument: row.action.argument(),
            implied: row.implied,
        }
    }

    /// Returns true if the long form has a value that cannot be left out.
    #[must_use]
    pub fn needs_value(&self) -> bool {
        !self.value.is_empty() && !self.value.starts_with('[')
    }

    /// Name of the letter's value, in brackets if it is optional.
    #[must_use]
    pub fn letter_value(&self) -> &'static str {
        match self.argument {
            Argument::Required => self.value.trim_matches(['[', ']']),
            Argument::Nothing | Argument::NextIfNumber | Argument::NextUnlessDash => self.value,
        }
    }

    /// `--name=VALUE` and the like.
    pub(crate) fn long_form(&self) -> String {
        match self.value {
            "" => format!("--{}", self.long),
            value => format!("--{} {value}", self.long),
        }
    }
}

/// Positional arguments of a subcommand or a verb, for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// None, or free text.
    Nothing,
    /// Files.
    Files,
    /// A verb, and then its operands.
    Verb,
    /// After `--`, a command line of netperf, and another one after this word.
    Line(Option<&'static str>),
}

/// A subcommand, or a verb of one.
#[derive(Clone, Debug)]
pub struct CommandEntry {
    /// Its word.
    pub word: &'static str,
    /// Short description.
    pub about: &'static str,
    /// Help in front of the options; empty for verbs without their own help.
    pub usage: &'static str,
    /// Its options.
    pub entries: Vec<OptionEntry>,
    /// Its positional arguments.
    pub operands: Operands,
    /// Its verbs.
    pub verbs: Vec<Self>,
}

/// The options of a table.
pub(crate) fn of<A>(table: &[OptionSpec<A>]) -> Vec<OptionEntry> {
    table.iter().map(OptionEntry::new).collect()
}

/// netperf's options in front of `--`.
#[must_use]
pub fn global() -> Vec<OptionEntry> {
    of(global::table())
}

/// Options of a suite, behind `--`.
pub(crate) fn suite(suite: &SuiteOptions) -> Vec<OptionEntry> {
    of(suite.table)
}

/// netserver's options.
#[must_use]
pub fn server() -> Vec<OptionEntry> {
    of(server::TABLE)
}

/// Entries under their headings, in the order of the headings.
#[must_use]
pub fn by_group(entries: &[OptionEntry]) -> BTreeMap<Group, Vec<OptionEntry>> {
    let mut groups: BTreeMap<Group, Vec<OptionEntry>> = BTreeMap::new();
    for entry in entries {
        groups.entry(entry.group).or_default().push(*entry);
    }
    groups
}

/// A letter that means one thing in front of `--` and another behind it.
#[derive(Clone, Copy, Debug)]
pub struct Twice {
    /// The letter.
    pub letter: char,
    /// In front.
    pub front: OptionEntry,
    /// Behind, for the OMNI suite.
    pub behind: OptionEntry,
}

/// All of those letters, lower case before upper case.
#[must_use]
pub fn twice() -> Vec<Twice> {
    let behind = of(omni::TABLE);
    let mut letters: Vec<Twice> = global()
        .into_iter()
        .filter_map(|front| {
            let letter = front.letter?;
            let behind = behind.iter().find(|entry| entry.letter == Some(letter))?;
            let same = front.long == behind.long;
            (!same).then_some(Twice {
                letter,
                front,
                behind: *behind,
            })
        })
        .collect();
    letters.sort_by_key(|twice| {
        (
            twice.letter.to_ascii_lowercase(),
            twice.letter.is_uppercase(),
        )
    });
    letters
}
