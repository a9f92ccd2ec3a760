//! Operational options of netserver.

use std::path::PathBuf;
use std::time::Duration;

netperf_model::words! {
    /// Format of log lines.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LogFormat {
        /// Words, for people.
        #[default]
        Text = "text",
        /// An object of JSON in each line.
        Json = "json",
    }
}

netperf_model::words! {
    /// Log level; each level includes those above it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum LogLevel {
        /// Nothing.
        None = "none",
        /// Failures that affect service.
        Error = "error",
        /// Unusual events.
        Warn = "warn",
        /// Each session.
        Info = "info",
        /// Each connection.
        Debug = "debug",
    }
}

netperf_model::words! {
    /// Sandboxing of sessions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum SandboxArg {
        /// With the mechanisms that the kernel has.
        #[default]
        Auto = "auto",
        /// With all mechanisms; netserver does not start if one is missing.
        Require = "require",
        /// None.
        Off = "off",
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
