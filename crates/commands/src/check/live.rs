//! The line on the terminal while a check goes on: its phase, rates and latency.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};

use netperf_measure::clock::{self, Moment};
use netperf_program::output;
use netperf_quality::{CheckPhase, CheckRole, CheckWay, ServiceClass, progress};
use serde_json::Value;

/// Messages of the runs of a phase so far.
#[derive(Debug)]
struct ShownPhase {
    phase: CheckPhase,
    length: f64,
    began: Moment,
    down: BTreeMap<ServiceClass, f64>,
    up: BTreeMap<ServiceClass, f64>,
    /// The median round trip of the first class, seconds.
    p50: Option<f64>,
}

/// The line.
#[derive(Debug)]
pub(super) struct LiveLine(Mutex<Option<ShownPhase>>);

impl LiveLine {
    /// The line, if standard error is a terminal.
    pub(super) fn on_terminal() -> Option<Arc<Self>> {
        let is_terminal = std::io::stderr().is_terminal();
        is_terminal.then(|| Arc::new(Self(Mutex::default())))
    }

    /// Begins a phase.
    pub(super) fn begin(&self, phase: CheckPhase, length: f64) {
        self.change(|shown| {
            *shown = Some(ShownPhase {
                phase,
                length,
                began: clock::now(),
                down: BTreeMap::new(),
                up: BTreeMap::new(),
                p50: None,
            });
        });
    }

    /// Takes in an event of a run.
    pub(super) fn show(&self, role: CheckRole, event: &Value) {
        let interval = &event["interval"];
        self.change(|shown| {
            let Some(shown) = shown else {
                return;
            };
            match role {
                CheckRole::Load(CheckWay::Down, class) => {
                    let bits = interval["received_bits_per_second"].as_f64();
                    shown.down.extend(bits.map(|bits| (class, bits)));
                }
                CheckRole::Load(CheckWay::Up, class) => {
                    let bits = interval["arrived_bits_per_second"].as_f64();
                    shown.up.extend(bits.map(|bits| (class, bits)));
                }
                CheckRole::Probe(_) => {
                    let p50 = interval["latency"]["percentiles"][0]["nanoseconds"].as_f64();
                    shown.p50 = p50.map(|nanoseconds| nanoseconds / 1e9).or(shown.p50);
                }
                CheckRole::Exchanges | CheckRole::Datagrams => {}
            }
        });
    }

    /// Removes the line.
    pub(super) fn clear(&self) {
        self.change(|shown| *shown = None);
        output::progress("");
    }

    /// Changes what is shown, and shows it.
    fn change(&self, change: impl FnOnce(&mut Option<ShownPhase>)) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut shown);
        if let Some(shown) = &*shown {
            let sum = |rates: &BTreeMap<ServiceClass, f64>| {
                (!rates.is_empty()).then(|| rates.values().sum::<f64>())
            };
            let left = (shown.length - shown.began.elapsed().as_secs_f64()).max(0.0);
            let line = progress(
                shown.phase,
                left,
                [sum(&shown.down), sum(&shown.up)],
                shown.p50,
            );
            output::progress(&line);
        }
    }
}
