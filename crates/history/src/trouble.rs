//! What can go wrong with a history.

use std::fmt;

/// Why something cannot be kept, found or forgotten. Each is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no history there.
    Absent(String),
    /// What is there is not a history.
    Foreign(String),
    /// A newer version of this program wrote it.
    Newer {
        /// Where.
        place: String,
        /// The version of its tables.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// A place that cannot be understood.
    Place(String),
    /// A document that cannot be kept.
    Document(String),
    /// There is no such result.
    Unknown(String),
    /// Several results begin so.
    Ambiguous(String),
    /// The store said no, or nothing.
    Store {
        /// Which one.
        place: String,
        /// What it said.
        why: String,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(place) => write!(
                f,
                "there is no history at {place}: netperf history add makes one"
            ),
            Self::Foreign(place) => write!(f, "{place} is not a history of netperf"),
            Self::Newer {
                place,
                found,
                known,
            } => write!(
                f,
                "{place} was written by a newer netperf (its tables have version {found}, this \
                 one knows {known}): use that one"
            ),
            Self::Place(why) | Self::Document(why) => f.write_str(why),
            Self::Unknown(name) => write!(f, "there is no result {name}"),
            Self::Ambiguous(name) => {
                write!(f, "several results begin with {name}: give more of it")
            }
            Self::Store { place, why } => write!(f, "{place}: {why}"),
        }
    }
}

impl std::error::Error for Trouble {}

/// The system's text for an error, without the number that Rust appends.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
