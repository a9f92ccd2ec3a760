//! Commands such as `netperf report`, for the completions of all shells.

use netperf_cli::catalog::{self, CommandEntry, DASHED_VS, OptionEntry};

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
    fn new(command: CommandEntry, takes: Takes) -> Self {
        Self {
            word: command.word,
            about: command.about,
            entries: command.entries,
            takes,
        }
    }

    fn verb(verb: CommandEntry) -> Self {
        let takes = if verb.files {
            Takes::Files
        } else {
            Takes::Nothing
        };
        Self::new(verb, takes)
    }
}

/// All of them, in the order of the manual.
pub(super) fn commands() -> Vec<DocumentedCommand> {
    let documented = |mut command: CommandEntry| {
        let verbs = std::mem::take(&mut command.verbs).into_iter();
        let takes = match command.word {
            "run" => Takes::Line {
                again: Some(DASHED_VS),
            },
            "check" | "sweep" => Takes::Line { again: None },
            "report" | "compare" => Takes::Files,
            _ => Takes::Commands(verbs.map(DocumentedCommand::verb).collect()),
        };
        DocumentedCommand::new(command, takes)
    };
    catalog::commands().into_iter().map(documented).collect()
}
