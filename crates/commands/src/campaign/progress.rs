//! Progress of a campaign on a terminal.

use std::io::IsTerminal as _;

use netperf_campaign::matrix::CellsHead;
use netperf_campaign::outcome::CellFigures;
use netperf_campaign::pattern::Cell;
use netperf_campaign::progress::{self, HostState};
use netperf_program::output::{err, progress};

use super::live::LiveScreen;

/// The line on standard error. Where that is no terminal, each state has a separate line.
pub(super) struct Progress {
    shown: bool,
    terminal: bool,
    /// States are told where there is no terminal.
    pub(super) tells_states: bool,
    /// The full screen.
    pub(super) live: Option<LiveScreen>,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            shown: false,
            terminal: std::io::stderr().is_terminal(),
            tells_states: false,
            live: None,
        }
    }
}

impl Progress {
    /// Replaces the line.
    pub(super) fn say(&mut self, text: &str) {
        if let Some(live) = &mut self.live {
            live.state(text);
        } else if self.terminal {
            self.shown = true;
            progress(&format!("campaign: {text}"));
        }
    }

    /// Shows what is measured, and who takes part.
    pub(super) fn begin(&mut self, head: &CellsHead) {
        if let Some(live) = &mut self.live {
            live.title = format!("Campaign {}: {}", head.campaign, head.title);
            live.members.clone_from(&head.members);
        }
    }

    /// Tells a new state of the campaign.
    pub(super) fn state(&mut self, text: &str) {
        if self.terminal || self.live.is_some() {
            self.say(text);
        } else if self.tells_states {
            self.line(text);
        }
    }

    /// Shows the value of a cell.
    pub(super) fn cell(&mut self, cell: Cell, figures: &CellFigures) {
        if let Some(live) = &mut self.live {
            live.cell(cell, figures);
        }
    }

    /// Shows the states of hosts, the rounds that are over and all, and the seconds left.
    pub(super) fn hosts(&mut self, states: &[HostState], rounds: (usize, usize), left: u64) {
        if let Some(live) = &mut self.live {
            live.hosts(
                progress::hosts(states),
                rounds,
                &netperf_text::duration::of_seconds(left),
            );
        } else if self.terminal {
            self.say(&progress::line(states, rounds, left));
        }
    }

    /// Writes a line that stays.
    pub(super) fn line(&mut self, text: &str) {
        self.end();
        if let Some(live) = &mut self.live {
            live.event(text);
        }
        err(&format!("netperf campaign: {text}\n"));
    }

    /// Removes the line.
    pub(super) fn end(&mut self) {
        if self.shown {
            self.shown = false;
            progress("");
        }
    }
}
