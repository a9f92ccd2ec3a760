//! Topics of `--help`.

mod text;

use std::iter::once;

use netperf_model::TestId;
use netperf_model::catalog::tests::TESTS;

use crate::subcommand::WORDS;

/// Topic of a help text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelpTopic {
    /// The first page.
    Start,
    /// Every option.
    All,
    /// A test.
    Test(TestId),
    /// A subcommand, by its word.
    Subcommand(&'static str),
    /// netserver, or the program called as iperf3 or iperf.
    Program(&'static str),
}

/// Words of [`HelpTopic::Program`].
const PROGRAMS: [&str; 3] = ["netserver", "iperf3", "iperf"];

/// The word of [`HelpTopic::All`].
const ALL: &str = "all";

/// All words behind `--help`.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    let tests = TESTS.iter().map(|row| row.name);
    once(ALL).chain(WORDS).chain(PROGRAMS).chain(tests)
}

impl HelpTopic {
    /// The topic of a word, one of [`words`].
    pub(crate) fn of(word: &str) -> Self {
        let subcommand = WORDS.into_iter().find(|known| *known == word);
        let program = PROGRAMS.into_iter().find(|known| *known == word);
        if let Some(program) = program {
            return Self::Program(program);
        }
        match (subcommand, TestId::from_name(word)) {
            _ if word == ALL => Self::All,
            (Some(subcommand), _) => Self::Subcommand(subcommand),
            (None, Some(test)) => Self::Test(test),
            (None, None) => Self::Start,
        }
    }
}
