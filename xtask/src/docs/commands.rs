//! Commands such as `netperf report`, for the completions of all shells.

use netperf_cli::catalog::{self, CommandEntry, Operands, OptionEntry};

/// A command, or a verb of one.
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
    fn new(command: CommandEntry) -> Self {
        let takes = match command.operands {
            Operands::Nothing => Takes::Nothing,
            Operands::Files => Takes::Files,
            Operands::Line(again) => Takes::Line { again },
            Operands::Verb => Takes::Commands(command.verbs.into_iter().map(Self::new).collect()),
        };
        Self {
            word: command.word,
            about: command.about,
            entries: command.entries,
            takes,
        }
    }
}

/// All of them, in the order of the manual.
pub(super) fn commands() -> Vec<DocumentedCommand> {
    let commands = catalog::commands().into_iter();
    commands.map(DocumentedCommand::new).collect()
}
