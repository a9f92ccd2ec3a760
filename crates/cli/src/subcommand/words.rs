//! Words of the subcommands.

/// The words of the subcommands.
pub(crate) const WORDS: [&str; 7] = [
    "check", "report", "compare", "run", "sweep", "history", "campaign",
];
