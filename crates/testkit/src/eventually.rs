//! Waits for a condition.

use std::time::Duration;

use crate::{Stopwatch, watchdog};

/// Times between two questions: the longer after the longer a wait, of which they are a part.
const OFTEN: Duration = Duration::from_millis(5);
const SELDOM: Duration = Duration::from_millis(25);
const PART: u32 = 20;

/// Asks `done` every few milliseconds until it says yes or `patience` is over.
/// Says whether it ever said yes.
pub fn eventually(patience: Duration, mut done: impl FnMut() -> bool) -> bool {
    watchdog::watch();
    let waiting = Stopwatch::start();
    loop {
        if done() {
            return true;
        }
        let waited = waiting.elapsed();
        if waited > patience {
            return false;
        }
        std::thread::sleep((waited / PART).clamp(OFTEN, SELDOM));
    }
}
