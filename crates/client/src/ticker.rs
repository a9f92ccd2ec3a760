//! Work beside the test, at intervals.

use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};

/// Runs `work`, and `tick` in another thread at every interval since `begun`, until the work is
/// done or `tick` ends it. A late tick does not change the phase of the next ones. Without
/// another thread there are no ticks.
pub(super) fn beside<T>(
    (begun, every): (Moment, Duration),
    mut tick: impl FnMut() -> ControlFlow<()> + Send,
    work: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let (stop, stopped) = channel::<()>();
        let ticking = Builder::new().spawn_scoped(scope, move || {
            let mut due = begun.plus(every);
            while stopped.recv_timeout(due.left()) == Err(RecvTimeoutError::Timeout) {
                if tick().is_break() {
                    return;
                }
                due = due.plus(every);
                if due.left().is_zero() {
                    due = clock::now().plus(every);
                }
            }
        });
        let done = work();
        drop(stop);
        // A panic has already been reported and does not affect the result.
        drop(ticking.map(ScopedJoinHandle::join));
        done
    })
}
