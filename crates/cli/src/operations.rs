//! Operational options of netserver.

use std::path::PathBuf;
use std::time::Duration;

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Words, for people.
    #[default]
    Text,
    /// An object of JSON in each line.
    Json,
}

/// Log level; each level includes those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing.
    None,
    /// Failures that affect service.
    Error,
    /// Unusual events.
    Warn,
    /// Each session.
    Info,
    /// Each connection.
    Debug,
}

impl LogFormat {
    /// Their words.
    pub(crate) const WORDS: &'static [&'static str] = &["text", "json"];

    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

impl LogLevel {
    /// Their words.
    pub(crate) const WORDS: &'static [&'static str] = &["none", "error", "warn", "info", "debug"];
    const ALL: [Self; 5] = [Self::None, Self::Error, Self::Warn, Self::Info, Self::Debug];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// Sandboxing of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxArg {
    /// By what the kernel has.
    #[default]
    Auto,
    /// By all of it, or netserver does not start.
    Require,
    /// Not at all.
    Off,
}

impl SandboxArg {
    /// Their words.
    pub(crate) const WORDS: &'static [&'static str] = &["auto", "require", "off"];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Require => "require",
            Self::Off => "off",
        }
    }

    pub(crate) fn named(word: &str) -> Option<Self> {
        [Self::Auto, Self::Require, Self::Off]
            .into_iter()
            .find(|one| one.word() == word)
    }
}

/// Operational settings of netserver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// `--log`: the format; a log of what is usual, too, is wanted.
    pub log: Option<LogFormat>,
    /// `--log-file`: where the log goes, standard error unless given.
    pub log_file: Option<PathBuf>,
    /// `--log-level`.
    pub log_level: Option<LogLevel>,
    /// `--sandbox`.
    pub sandbox: SandboxArg,
    /// `--files`: the folder that fill files may come from.
    pub files: Option<PathBuf>,
    /// `--user`: whom to become once it listens.
    pub user: Option<String>,
    /// `--metrics`: where netserver can be asked how it is.
    pub metrics: Option<String>,
    /// `--health`: which netserver to ask.
    pub health: Option<String>,
    /// `--drain`.
    pub drain: Option<Duration>,
}

impl Operations {
    /// Time limit for running sessions after a termination signal.
    #[must_use]
    pub fn drain(&self) -> Duration {
        self.drain.unwrap_or(Duration::from_secs(30))
    }
}
