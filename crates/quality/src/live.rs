//! A check while it goes on: its line, and its full screen.

use std::collections::BTreeMap;

use netperf_stats::moments;
use netperf_text::bars;
use netperf_text::columns::{aligned, cut};
use netperf_text::escape;
use netperf_text::look::TextLook;

use crate::profile::{CheckPhase, ServiceClass};
use crate::screen::{NONE, rate, time};
use crate::summary::{CheckRole, CheckWay};

/// Columns of the bars of a value over time.
const BARS: usize = 16;
/// Columns of the bar of the whole time.
const GAUGE: usize = 30;

/// A value over the intervals of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
struct ValueTrail(Vec<f64>);

impl ValueTrail {
    fn now(&self) -> Option<f64> {
        self.0.last().copied()
    }

    /// The value of the last interval, or the median of those of a phase that is over.
    fn value(&self, is_over: bool) -> Option<f64> {
        if is_over {
            moments::median(&self.0)
        } else {
            self.now()
        }
    }

    fn bars(&self, unicode: bool) -> String {
        bars::means(&self.0, BARS, unicode)
    }
}

/// Rates in one direction: those of each class now, and their sums.
#[derive(Clone, Debug, Default, PartialEq)]
struct RateTrail {
    classes: BTreeMap<ServiceClass, f64>,
    sums: ValueTrail,
}

impl RateTrail {
    /// Takes the rate of a class in an interval. The first class ends an interval of all.
    fn take(&mut self, class: ServiceClass, bits: f64) {
        self.classes.insert(class, bits);
        let sum = self.classes.values().sum();
        if self.classes.keys().next() == Some(&class) {
            self.sums.0.push(sum);
        } else if let Some(last) = self.sums.0.last_mut() {
            *last = sum;
        }
    }
}

/// What the runs of a phase have reported so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct PhaseTrail {
    down: RateTrail,
    up: RateTrail,
    /// Datagrams that were sent, bits per second.
    datagrams: ValueTrail,
    /// The median round trip of an interval by class, seconds.
    p50: BTreeMap<ServiceClass, ValueTrail>,
}

impl PhaseTrail {
    /// Names and rates of the rows of a phase.
    fn rows(&self, phase: CheckPhase) -> Vec<(&'static str, Option<&ValueTrail>)> {
        let (down, up) = (Some(&self.down.sums), Some(&self.up.sums));
        match phase {
            CheckPhase::Idle => vec![("idle", None)],
            CheckPhase::Down => vec![("down", down)],
            CheckPhase::Up => vec![("up", up)],
            CheckPhase::Both => vec![("both down", down), ("both up", up)],
            CheckPhase::Udp => vec![("UDP sent", Some(&self.datagrams))],
        }
    }

    /// The round trips of the first class.
    fn round_trips(&self) -> Option<&ValueTrail> {
        self.p50.values().next()
    }
}

/// What a check has reported so far.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckProgress {
    host: String,
    /// All phases and their lengths in seconds.
    phases: Vec<(CheckPhase, f64)>,
    /// The phases that have begun.
    trails: Vec<PhaseTrail>,
}

impl CheckProgress {
    /// A check of a host before its first phase.
    #[must_use]
    pub fn new(host: &str, phases: Vec<(CheckPhase, f64)>) -> Self {
        Self {
            host: host.to_owned(),
            phases,
            trails: Vec::new(),
        }
    }

    /// The next phase begins.
    pub fn begin(&mut self) {
        self.trails.push(PhaseTrail::default());
    }

    /// A run of the current phase reports the rate of an interval in bits per second, or the
    /// median of its round trips in seconds.
    pub fn take(&mut self, role: CheckRole, value: f64) {
        let Some(trail) = self.trails.last_mut() else {
            return;
        };
        match role {
            CheckRole::Load(CheckWay::Down, class) => trail.down.take(class, value),
            CheckRole::Load(CheckWay::Up, class) => trail.up.take(class, value),
            CheckRole::Datagrams => trail.datagrams.0.push(value),
            CheckRole::Probe(class) => trail.p50.entry(class).or_default().0.push(value),
            CheckRole::Exchanges => {}
        }
    }

    /// The line about the current phase, which began so many seconds ago; `None` before the first.
    #[must_use]
    pub fn line(&self, elapsed: f64, look: TextLook) -> Option<String> {
        let trail = self.trails.last()?;
        let (phase, length) = self.phases.get(self.trails.len() - 1)?;
        let left = (length - elapsed).max(0.0);
        let parts = [
            Some(format!("{}: {left:.0} s left", phase.word())),
            trail
                .down
                .sums
                .now()
                .map(|bits| format!("down {}", rate(bits))),
            trail.up.sums.now().map(|bits| format!("up {}", rate(bits))),
            trail
                .round_trips()
                .and_then(ValueTrail::now)
                .map(|seconds| format!("P50 {}", time(seconds))),
        ];
        let line = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Some(look.letters(&line))
    }

    /// The lines of a full screen, when the current phase began so many seconds ago.
    #[must_use]
    pub fn screen(&self, elapsed: f64, look: TextLook, rows: usize) -> Vec<String> {
        let done = self.trails.len().saturating_sub(1);
        let lengths = self.phases.iter().map(|(_, length)| length);
        let whole: f64 = lengths.clone().sum();
        let current = self.phases.get(done).map_or(0.0, |(_, length)| *length);
        let before: f64 = lengths.take(done).sum();
        let past = before + elapsed.clamp(0.0, current);
        let share = if whole > 0.0 { past / whole } else { 0.0 };
        let gauge = bars::gauge(share, GAUGE, look.unicode);
        let mut lines = vec![
            format!("netperf check {}", escape::line(&self.host)),
            String::new(),
            format!("Time  {past:.0} s of {whole:.0} s  {gauge}"),
            String::new(),
        ];
        lines.extend(self.table(look).lines().map(str::to_owned));
        lines.push(String::new());
        lines.push("q or Ctrl-C ends the check now, with what it has measured".to_owned());
        let within = |line: &String| cut(&look.letters(line), look.columns).to_owned();
        lines.iter().map(within).take(rows).collect()
    }

    /// A row for each direction of each phase.
    fn table(&self, look: TextLook) -> String {
        let head = ["", "rate", "over time", "P50", "over time"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let none = PhaseTrail::default();
        for (at, (phase, _)) in self.phases.iter().enumerate() {
            let trail = self.trails.get(at).unwrap_or(&none);
            let is_current = at + 1 == self.trails.len();
            let mark = if is_current { "> " } else { "  " };
            let mut round_trips = trail.round_trips();
            for (name, rates) in trail.rows(*phase) {
                let over = |trail: Option<&ValueTrail>| {
                    trail.map_or_else(String::new, |trail| trail.bars(look.unicode))
                };
                let value = |trail: Option<&ValueTrail>| trail?.value(!is_current);
                let p50 = round_trips.take();
                rows.push(vec![
                    format!("{mark}{name}"),
                    value(rates).map_or_else(none_cell, rate),
                    over(rates),
                    value(p50).map_or_else(none_cell, time),
                    over(p50),
                ]);
            }
        }
        aligned(&rows, &[1, 3])
    }
}

fn none_cell() -> String {
    NONE.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> CheckProgress {
        let phases = vec![(CheckPhase::Idle, 1.0), (CheckPhase::Both, 3.0)];
        let mut progress = CheckProgress::new("server", phases);
        assert_eq!(progress.line(0.0, TextLook::default()), None);
        progress.begin();
        progress.take(CheckRole::Probe(ServiceClass::Be), 75e-6);
        progress.begin();
        for bits in [10e6, 20e6] {
            progress.take(CheckRole::Load(CheckWay::Down, ServiceClass::Be), bits);
            progress.take(CheckRole::Load(CheckWay::Down, ServiceClass::Cs1), 1e6);
        }
        progress.take(CheckRole::Load(CheckWay::Up, ServiceClass::Be), 5e6);
        progress.take(CheckRole::Probe(ServiceClass::Be), 0.018);
        progress
    }

    #[test]
    fn a_phase_that_goes_on_is_one_line_of_what_is_known() {
        let line = both().line(1.2, TextLook::default());
        let expected = "both: 2 s left, down 21 Mbit/s, up 5.0 Mbit/s, P50 18 ms";
        assert_eq!(line.as_deref(), Some(expected));
        let mut idle = CheckProgress::new("server", vec![(CheckPhase::Idle, 2.0)]);
        idle.begin();
        assert_eq!(
            idle.line(0.0, TextLook::default()).as_deref(),
            Some("idle: 2 s left")
        );
    }

    #[test]
    fn the_screen_has_a_row_for_each_direction_and_fits_its_terminal() {
        let look = TextLook {
            columns: 60,
            ..TextLook::default()
        };
        let screen = both().screen(1.0, look, 24);
        let table = [
            "netperf check server",
            "",
            "Time  2 s of 4 s  ###############...............",
            "",
            "                   rate  over time    P50  over time",
            "  idle                -             75 us  #",
        ];
        assert_eq!(screen[..table.len()], table);
        assert!(
            screen[6].starts_with("> both down   21 Mbit/s  -#  "),
            "{screen:?}"
        );
        assert!(
            screen[7].starts_with("> both up    5.0 Mbit/s  #  "),
            "{screen:?}"
        );
        assert!(screen.iter().all(|line| line.len() <= 60));
        assert_eq!(both().screen(1.0, look, 3).len(), 3);
    }
}
