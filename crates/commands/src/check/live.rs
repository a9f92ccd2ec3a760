//! A check on the terminal while it goes on: a line, or the full screen of `--live`.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use netperf_client::FullScreen;
use netperf_measure::clock::{self, Moment};
use netperf_program::output;
use netperf_quality::{CheckPhase, CheckProgress, CheckRole, CheckWay};
use netperf_text::look::TextLook;
use serde_json::Value;

/// What is shown, and where.
struct ShownCheck {
    progress: CheckProgress,
    /// The beginning of the current phase.
    began: Moment,
    /// The full screen; a line without one.
    screen: Option<FullScreen>,
}

/// The display of a check.
pub(super) struct LiveCheck(Mutex<Option<ShownCheck>>);

impl LiveCheck {
    /// The display of a check of a host: the full screen if it is wanted, else the line, if standard
    /// error is a terminal.
    ///
    /// # Errors
    /// One line, where there is no terminal for a screen.
    pub(super) fn open(
        is_screen: bool,
        host: &str,
        phases: Vec<(CheckPhase, f64)>,
    ) -> Result<Option<Arc<Self>>, String> {
        let screen = is_screen.then(FullScreen::open).transpose()?;
        if screen.is_none() && !std::io::stderr().is_terminal() {
            return Ok(None);
        }
        let shown = ShownCheck {
            progress: CheckProgress::new(host, phases),
            began: clock::now(),
            screen,
        };
        let live = Self(Mutex::new(Some(shown)));
        live.change(|_| ());
        Ok(Some(Arc::new(live)))
    }

    /// Begins the next phase.
    pub(super) fn begin(&self) {
        self.change(|shown| {
            shown.progress.begin();
            shown.began = clock::now();
        });
    }

    /// Takes in an event of a run.
    pub(super) fn show(&self, role: CheckRole, event: &Value) {
        let interval = &event["interval"];
        let median = || interval["latency"]["percentiles"][0]["nanoseconds"].as_f64();
        let value = match role {
            CheckRole::Load(CheckWay::Down, _) => interval["received_bits_per_second"].as_f64(),
            CheckRole::Load(CheckWay::Up, _) => interval["arrived_bits_per_second"].as_f64(),
            CheckRole::Datagrams => interval["sent_bits_per_second"].as_f64(),
            CheckRole::Probe(_) => median().map(|nanoseconds| nanoseconds / 1e9),
            CheckRole::Exchanges => None,
        };
        self.change(|shown| {
            if let Some(value) = value {
                shown.progress.take(role, value);
            }
        });
    }

    /// Removes the line, or leaves the screen.
    pub(super) fn clear(&self) {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if shown.is_some_and(|shown| shown.screen.is_none()) {
            output::progress("");
        }
    }

    /// Changes what is shown, and shows it.
    fn change(&self, change: impl FnOnce(&mut ShownCheck)) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = &mut *shown {
            change(shown);
            shown.draw();
        }
    }
}

impl ShownCheck {
    fn draw(&mut self) {
        let elapsed = self.began.elapsed().as_secs_f64();
        let mut look = TextLook {
            unicode: output::has_unicode(),
            ..TextLook::default()
        };
        let Some(screen) = &mut self.screen else {
            if let Some(line) = self.progress.line(elapsed, look) {
                output::progress(&line);
            }
            return;
        };
        screen.read_keys(Duration::ZERO);
        let size = screen.size();
        look.columns = usize::from(size.columns);
        screen.draw(&self.progress.screen(elapsed, look, usize::from(size.rows)));
    }
}
