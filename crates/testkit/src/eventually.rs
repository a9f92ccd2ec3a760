//! Waits for a condition.

use std::time::Duration;

use crate::{Stopwatch, watchdog};

/// Asks `done` every few milliseconds until it says yes or `patience` is over.
/// Says whether it ever said yes.
pub fn eventually(patience: Duration, mut done: impl FnMut() -> bool) -> bool {
    watchdog::watch();
    let waiting = Stopwatch::start();
    loop {
        if done() {
            return true;
        }
        if waiting.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
