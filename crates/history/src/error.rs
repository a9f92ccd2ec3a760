//! Errors of a history.

use thiserror::Error;

/// An error of a history. Its text is one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    /// There is no history at this location.
    #[error("there is no history at {0}: netperf history add makes one")]
    Absent(String),
    /// The file or database is not a history.
    #[error("{0} is not a history of netperf, or is damaged: give another file")]
    Foreign(String),
    /// The place is a folder.
    #[error("{0} is a folder: give a file in it, such as {0}/history.sqlite")]
    Folder(String),
    /// The file is damaged, with the reason.
    #[error(
        "{place} is damaged ({why}): `sqlite3 {place} .recover` saves what is left, and another file \
         can be given to --db"
    )]
    Damaged {
        /// The file.
        place: String,
        /// Message of SQLite.
        why: String,
    },
    /// A newer version of this program wrote it.
    #[error(
        "{place} was written by a newer netperf (its tables have version {found}, this one \
         knows {known}): use that one"
    )]
    Newer {
        /// The location.
        place: String,
        /// The version of its tables.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// An invalid location.
    #[error("{0}")]
    Place(String),
    /// A document that cannot be stored.
    #[error("{0}")]
    Document(String),
    /// There is no such result.
    #[error("there is no result {0}")]
    Unknown(String),
    /// Several results have this prefix.
    #[error("several results begin with {0}: give more of it")]
    Ambiguous(String),
    /// The store failed.
    #[error("{place}: {why}")]
    Store {
        /// The location of the store.
        place: String,
        /// Its error.
        why: String,
    },
}
