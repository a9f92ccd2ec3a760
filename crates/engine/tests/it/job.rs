//! Jobs of netserver.
//!
//! One run at a time moves data in a process, as its alarm is the process's.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netperf_model::{EndJob, Family, Flow, Limit, TransportId};

static RUNNING: Mutex<()> = Mutex::new(());

/// Waits until no other test of this process has a run.
pub(crate) fn the_only_run() -> MutexGuard<'static, ()> {
    netperf_testkit::watchdog::watch_unit();
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Length of the runs.
pub(crate) const LENGTH: Duration = Duration::from_secs(1);

/// A test of this kind that has a time, and nothing else that was asked for.
pub(crate) fn of_a_second(transport: TransportId, family: Family, flow: Flow) -> EndJob {
    EndJob::new(transport, family, flow, Limit::Time(LENGTH))
}
