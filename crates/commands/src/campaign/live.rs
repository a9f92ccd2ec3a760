//! `--live`: a campaign on a full screen.

use std::time::Duration;

use netperf_campaign::matrix::{CampaignScreen, Matrix, MatrixMember, MatrixView};
use netperf_campaign::outcome::{CellFigures, FIGURES};
use netperf_campaign::pattern::Cell;
use netperf_comparison::Letters;
use netperf_program::output;

use netperf_client::FullScreen;

/// The screen and what it shows.
pub(super) struct LiveScreen {
    screen: FullScreen,
    pub(super) title: String,
    pub(super) members: Vec<MatrixMember>,
    matrix: Option<Matrix>,
    events: Vec<String>,
    state: String,
}

impl LiveScreen {
    /// Begins to draw.
    ///
    /// # Errors
    /// One line, where nothing can be drawn.
    pub(super) fn open() -> Result<Self, String> {
        Ok(Self {
            screen: FullScreen::open()?,
            title: "netperf campaign".to_owned(),
            members: Vec::new(),
            matrix: None,
            events: Vec::new(),
            state: String::new(),
        })
    }

    /// Takes the value of a cell.
    pub(super) fn cell(&mut self, cell: Cell, figures: &CellFigures) {
        let Some(figure) = FIGURES.iter().find(|one| (one.value)(figures).is_some()) else {
            return;
        };
        let Some(value) = (figure.value)(figures) else {
            return;
        };
        let new = || Matrix::new(figure.of_matrix(), self.members.clone());
        self.matrix.get_or_insert_with(new).join(cell, Ok(value));
    }

    /// Adds a line about something that happened.
    pub(super) fn event(&mut self, text: &str) {
        self.events.push(text.to_owned());
        self.draw((0, 0), "");
    }

    /// Shows a state before or after the loads.
    pub(super) fn state(&mut self, text: &str) {
        text.clone_into(&mut self.state);
        self.draw((0, 0), "");
    }

    /// Shows hosts by state, rounds and time left.
    pub(super) fn hosts(&mut self, hosts: String, rounds: (usize, usize), left: &str) {
        self.state = hosts;
        self.draw(rounds, left);
    }

    fn draw(&mut self, rounds: (usize, usize), left: &str) {
        self.screen.read_keys(Duration::ZERO);
        let size = self.screen.size();
        let screen = CampaignScreen {
            title: &self.title,
            hosts: &self.state,
            rounds,
            left,
            events: &self.events,
            matrix: self.matrix.as_ref(),
        };
        let view = MatrixView {
            width: usize::from(size.columns),
            letters: if output::has_unicode() {
                Letters::Unicode
            } else {
                Letters::Ascii
            },
            colour: self.screen.has_colours(),
        };
        self.screen
            .draw(&screen.lines(usize::from(size.rows), view));
    }
}
