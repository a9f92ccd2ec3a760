//! What can go wrong with a history.

use thiserror::Error;

/// Why something cannot be kept, found or forgotten. Each is one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// There is no history there.
    #[error("there is no history at {0}: netperf history add makes one")]
    Absent(String),
    /// What is there is not a history.
    #[error("{0} is not a history of netperf")]
    Foreign(String),
    /// A newer version of this program wrote it.
    #[error(
        "{place} was written by a newer netperf (its tables have version {found}, this one \
         knows {known}): use that one"
    )]
    Newer {
        /// Where.
        place: String,
        /// The version of its tables.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// A place that cannot be understood.
    #[error("{0}")]
    Place(String),
    /// A document that cannot be kept.
    #[error("{0}")]
    Document(String),
    /// There is no such result.
    #[error("there is no result {0}")]
    Unknown(String),
    /// Several results begin so.
    #[error("several results begin with {0}: give more of it")]
    Ambiguous(String),
    /// The store said no, or nothing.
    #[error("{place}: {why}")]
    Store {
        /// Which one.
        place: String,
        /// What it said.
        why: String,
    },
}

/// The system's text for an error, without the number that Rust appends.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
