//! Topics of `--help`.

use std::iter::once;

use netperf_model::TestId;
use netperf_model::catalog::tests::TESTS;

use crate::help;
use crate::subcommand::{self, WORDS};

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
}

/// The word of [`HelpTopic::All`].
const ALL: &str = "all";

/// All words behind `--help`.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    let tests = TESTS.iter().map(|row| row.name);
    once(ALL).chain(WORDS).chain(tests)
}

impl HelpTopic {
    /// The topic of a word, one of [`words`].
    pub(crate) fn of(word: &str) -> Self {
        let subcommand = WORDS.into_iter().find(|known| *known == word);
        match (subcommand, TestId::from_name(word)) {
            _ if word == ALL => Self::All,
            (Some(subcommand), _) => Self::Subcommand(subcommand),
            (None, Some(test)) => Self::Test(test),
            (None, None) => Self::Start,
        }
    }

    /// The help text.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Start => help::start(),
            Self::All => help::all(),
            Self::Test(test) => help::test(test),
            Self::Subcommand(word) => subcommand::help(word),
        }
    }
}
