//! Progress of a campaign on a terminal.

use std::io::IsTerminal as _;

use crate::output::err;

/// The line on standard error; nothing where that is no terminal.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    terminal: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            shown: false,
            terminal: std::io::stderr().is_terminal(),
        }
    }
}

impl Progress {
    /// Replaces the line.
    pub(super) fn say(&mut self, text: &str) {
        if self.terminal {
            self.shown = true;
            err(&format!("\r\x1b[Kcampaign: {text}"));
        }
    }

    /// Writes a line that stays.
    pub(super) fn line(&mut self, text: &str) {
        self.end();
        err(&format!("netperf campaign: {text}\n"));
    }

    /// Removes the line.
    pub(super) fn end(&mut self) {
        if self.shown {
            self.shown = false;
            err("\r\x1b[K");
        }
    }
}
