//! A signal every millisecond to the calling thread.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netperf_os::alarm::{Alarm, Outside, Schedule};

static BEATING: Mutex<()> = Mutex::new(());

/// An alarm that interrupts calls until it is dropped.
pub(crate) struct Heartbeat {
    _alarm: Alarm,
    _alone: MutexGuard<'static, ()>,
}

impl Heartbeat {
    /// Waits until no other test has one, because the state of the alarm belongs to the process.
    pub(crate) fn start() -> Self {
        let alone = BEATING.lock().unwrap_or_else(PoisonError::into_inner);
        let alarm = Alarm::new(Outside::Ignored).unwrap();
        alarm
            .start(Schedule {
                finish_after: None,
                grace: Duration::ZERO,
                heartbeat: Duration::from_millis(1),
            })
            .unwrap();
        Self {
            _alarm: alarm,
            _alone: alone,
        }
    }
}
