//! Progress of a campaign on a terminal.

use std::io::IsTerminal as _;

use netperf_campaign::pattern::Cell;

use crate::output::err;

/// The line on standard error. Where that is no terminal, each state has a line of its own.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    terminal: bool,
    /// States are told where there is no terminal.
    pub(super) tells_states: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            shown: false,
            terminal: std::io::stderr().is_terminal(),
            tells_states: false,
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

    /// Tells a new state of the campaign.
    pub(super) fn state(&mut self, text: &str) {
        if self.terminal {
            self.say(text);
        } else if self.tells_states {
            self.line(text);
        }
    }

    /// Shows the value of a cell.
    pub(super) const fn cell(&mut self, _cell: Cell, _value: Option<f64>) {}

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
