//! Commands such as `netperf report`, for the completions of all shells.

use crate::campaign::verbs::CampaignVerbRow;
use crate::entry::{self, OptionEntry};
use crate::history::{self, VERBS};
use crate::subcommand::SubcommandSpec;
use crate::{campaign, check, compare, report, sweep};

/// A command, or one of the things that `netperf history` does.
pub(super) struct DocumentedCommand {
    /// Its word.
    pub(super) word: &'static str,
    /// Short description.
    pub(super) about: &'static str,
    /// Its options.
    pub(super) entries: Vec<OptionEntry>,
    /// Kind of positional arguments.
    pub(super) takes: Takes,
}

/// Kind of positional arguments.
pub(super) enum Takes {
    /// Files.
    Files,
    /// Free text, or none.
    Nothing,
    /// One of these comes first.
    Commands(Vec<DocumentedCommand>),
    /// Behind `--`, a command line of netperf.
    Line {
        /// The word that another one comes behind.
        again: Option<&'static str>,
    },
}

impl DocumentedCommand {
    fn new<A>(command: &SubcommandSpec<A>, takes: Takes) -> Self {
        Self {
            word: command.word,
            about: command.about,
            entries: entry::of(command.table),
            takes,
        }
    }
}

/// All of them, in the order of the manual.
pub(super) fn commands() -> Vec<DocumentedCommand> {
    let again = Some(compare::DASHED_VS);
    vec![
        DocumentedCommand::new(&check::CHECK, Takes::Line { again: None }),
        DocumentedCommand::new(&report::REPORT, Takes::Files),
        DocumentedCommand::new(&compare::COMPARE, Takes::Files),
        DocumentedCommand::new(&compare::RUN, Takes::Line { again }),
        DocumentedCommand::new(&sweep::SWEEP, Takes::Line { again: None }),
        DocumentedCommand::new(&campaign::CAMPAIGN, Takes::Commands(campaign_verbs())),
        DocumentedCommand::new(&history::HISTORY, Takes::Commands(verbs())),
    ]
}

/// Subcommands of `netperf campaign`, with their options.
fn campaign_verbs() -> Vec<DocumentedCommand> {
    let verb = |verb: &CampaignVerbRow| DocumentedCommand {
        word: verb.word,
        about: verb.about,
        entries: verb.entries(),
        takes: if verb.files {
            Takes::Files
        } else {
            Takes::Nothing
        },
    };
    campaign::verbs::VERBS.iter().map(verb).collect()
}

/// Subcommands of `netperf history`, with their options.
fn verbs() -> Vec<DocumentedCommand> {
    let all = entry::of(history::HISTORY.table);
    let verb = |verb: &history::Verb| DocumentedCommand {
        word: verb.word,
        about: verb.about,
        entries: all
            .iter()
            .filter(|entry| ["db", "help"].contains(&entry.long) || verb.has(entry.long))
            .copied()
            .collect(),
        takes: if verb.files {
            Takes::Files
        } else {
            Takes::Nothing
        },
    };
    VERBS.iter().map(verb).collect()
}
