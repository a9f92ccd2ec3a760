//! Times in which nothing moves over the connections of a test, seen by a thread beside the loops.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use netperf_cli::RunCommand;
use netperf_engine::live::Live;
use netperf_measure::{clock, sampler};
use netperf_model::Limit;

use super::interim::acknowledging;

/// Time between looks.
const EVERY: Duration = Duration::from_millis(50);
/// Shortest time without progress that is a stall.
const STALL: Duration = Duration::from_millis(500);
/// So many mean times from one progress to the next are a stall.
const PAUSES: u32 = 10;

/// Time of a run whose connections are watched: data in bulk, and no output of netperf 2.7 without
/// interim results, which has no thread beside the loop. Many flows and small amounts end one after
/// the other, and few are left in the end.
fn watched_for(run: &RunCommand) -> Option<Duration> {
    let plan = &run.plan;
    let Limit::Time(time) = plan.limit else {
        return None;
    };
    let flow = plan.flow;
    let bulk = !flow.counts_transactions() && !flow.connects && plan.many.is_none();
    let connected = plan.transport.row().reliable && plan.transport.is_connected();
    let shown = !run.is_classic() || plan.interim.is_some();
    let known = flow.receives || acknowledging(plan).is_some();
    (shown && bulk && connected && known).then_some(time)
}

/// Returns true for a run whose connections are watched.
pub(super) fn is_watched(run: &RunCommand) -> bool {
    watched_for(run).is_some()
}

/// Progress of a test, and its longest pause.
#[derive(Debug, Default)]
struct ProgressWatch {
    /// Looks that found progress.
    moves: u32,
    /// Time since the first progress.
    ran: Duration,
    /// Time since the last progress.
    quiet: Duration,
    longest: Duration,
}

impl ProgressWatch {
    /// A look this long after the last one.
    fn look(&mut self, moved: bool, since: Duration) {
        // A look that comes late tells of a busy host.
        let since = since.min(EVERY * 2);
        if moved {
            self.moves += 1;
            self.quiet = Duration::ZERO;
        }
        if self.moves > 0 {
            self.ran += since;
        }
        if self.moves > 0 && !moved {
            self.quiet += since;
            self.longest = self.longest.max(self.quiet);
        }
    }

    /// The longest pause, if it is a stall.
    fn stall(&self) -> Option<Duration> {
        let moving = self.ran.saturating_sub(self.longest);
        let between = moving.checked_div(self.moves)?;
        let least = STALL.max(between * PAUSES);
        Some(self.longest).filter(|longest| *longest >= least)
    }
}

/// Runs `work` with a thread beside it that looks for progress, if the run is watched; keeps the
/// longest stall.
pub(super) fn beside<T>(
    run: &RunCommand,
    live: &Live,
    kept: &mut Option<Duration>,
    work: impl FnOnce() -> T,
) -> T {
    let Some(limit) = watched_for(run) else {
        return work();
    };
    let (running, ended) = mpsc::channel::<()>();
    // Of what netperf sends, what waits in its buffers is no progress.
    let acknowledges = acknowledging(&run.plan).is_some();
    let moved = move || {
        let there = live.acknowledged(1).filter(|_| acknowledges);
        (there, live.read().bytes_received)
    };
    let watch = move || {
        let mut watch = ProgressWatch::default();
        let (mut before, mut looked) = (moved(), clock::now());
        while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            if live.over().is_some() || watch.ran >= limit {
                break;
            }
            let (now, since) = (moved(), looked.elapsed());
            looked = clock::now();
            watch.look(std::mem::replace(&mut before, now) != now, since);
        }
        watch.stall()
    };
    std::thread::scope(|scope| {
        // Without the thread nothing is known of stalls, but the test runs.
        let watching = sampler::start(scope, "stalls", watch);
        let done = work();
        drop(running);
        let stall = watching.ok().and_then(|thread| thread.join().ok());
        *kept = (*kept).max(stall.flatten());
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stall of a run in which looks find progress where the text has `#`.
    fn stall(looks: &str) -> Option<Duration> {
        let mut watch = ProgressWatch::default();
        for look in looks.chars() {
            watch.look(look == '#', EVERY);
        }
        watch.stall()
    }

    #[test]
    fn pauses_that_are_long_for_the_progress_of_the_run_are_stalls() {
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(stall(""), None);
        // Before the first progress, a connection is opened.
        assert_eq!(stall(&format!("{}##", ".".repeat(100))), None);
        let pause = |looks: usize| stall(&format!("####{}####", ".".repeat(looks)));
        assert_eq!(pause(9), None);
        assert_eq!(pause(18), millis(900));
        let at_the_end = format!("{}{}", "#".repeat(20), ".".repeat(12));
        assert_eq!(stall(&at_the_end), millis(600));
        // One packet in 300 ms is the pace of the path.
        assert_eq!(stall(&"#.....".repeat(10)), None);
        assert_eq!(stall(&format!("{}......", "#.....".repeat(10))), None);
    }

    #[test]
    fn looks_that_come_late_are_no_stall() {
        let mut watch = ProgressWatch::default();
        watch.look(true, EVERY);
        watch.look(false, EVERY * 40);
        watch.look(true, EVERY);
        assert_eq!(watch.stall(), None);
    }
}
