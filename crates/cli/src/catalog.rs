//! Options and subcommands as data, for what makes man pages, completions and the manual of them.

pub use crate::compare::DASHED_VS;
pub use crate::entry::{OptionEntry, Twice, by_group, global, server, twice};
pub use crate::foreign::aliases_of;
pub use crate::getopt::Argument;
pub use crate::group::Group;
pub use crate::help::layout::wrapped;
pub use crate::help::sentence as test_description;
pub use crate::kind::ValueKind;
pub use crate::subcommand::ABOUT;

use crate::campaign::verbs::CampaignVerbRow;
use crate::entry;
use crate::history::{HISTORY, VERBS, Verb};
use crate::options::SUITES;
use crate::subcommand::SubcommandSpec;
use crate::{campaign, check, compare, report, sweep};

/// The options of a suite, behind `--`.
#[derive(Clone, Debug)]
pub struct SuiteEntry {
    /// Its tests, as they are called in a sentence.
    pub tests: &'static str,
    /// Its options.
    pub entries: Vec<OptionEntry>,
}

/// A subcommand, or a verb of one.
#[derive(Clone, Debug)]
pub struct CommandEntry {
    /// Its word.
    pub word: &'static str,
    /// Short description.
    pub about: &'static str,
    /// Help in front of the options; empty for verbs without help of their own.
    pub usage: &'static str,
    /// Its options.
    pub entries: Vec<OptionEntry>,
    /// True for a verb that takes files.
    pub files: bool,
    /// Its verbs.
    pub verbs: Vec<Self>,
}

impl CommandEntry {
    fn new<A>(spec: &SubcommandSpec<A>, verbs: Vec<Self>) -> Self {
        Self {
            word: spec.word,
            about: spec.about,
            usage: spec.usage,
            entries: entry::of(spec.table),
            files: false,
            verbs,
        }
    }
}

/// Every suite that has options, the one that most tests belong to first.
#[must_use]
pub fn suites() -> Vec<SuiteEntry> {
    let suites = SUITES.iter().map(|suite| SuiteEntry {
        tests: suite.tests,
        entries: entry::suite(suite),
    });
    suites.collect()
}

/// Every subcommand, in the order of the manual.
#[must_use]
pub fn commands() -> Vec<CommandEntry> {
    vec![
        CommandEntry::new(&check::CHECK, Vec::new()),
        CommandEntry::new(&report::REPORT, Vec::new()),
        CommandEntry::new(&compare::COMPARE, Vec::new()),
        CommandEntry::new(&compare::RUN, Vec::new()),
        CommandEntry::new(&sweep::SWEEP, Vec::new()),
        CommandEntry::new(&campaign::CAMPAIGN, campaign_verbs()),
        CommandEntry::new(&HISTORY, history_verbs()),
    ]
}

/// Verbs of `netperf campaign`, with their options.
fn campaign_verbs() -> Vec<CommandEntry> {
    let verb = |verb: &CampaignVerbRow| CommandEntry {
        word: verb.word,
        about: verb.about,
        usage: verb.usage,
        entries: verb.entries(),
        files: verb.files,
        verbs: Vec::new(),
    };
    campaign::verbs::VERBS.iter().map(verb).collect()
}

/// Verbs of `netperf history`, with their options.
fn history_verbs() -> Vec<CommandEntry> {
    let all = entry::of(HISTORY.table);
    let verb = |verb: &Verb| CommandEntry {
        word: verb.word,
        about: verb.about,
        usage: "",
        entries: all
            .iter()
            .filter(|entry| ["db", "help"].contains(&entry.long) || verb.has(entry.long))
            .copied()
            .collect(),
        files: verb.files,
        verbs: Vec::new(),
    };
    VERBS.iter().map(verb).collect()
}
