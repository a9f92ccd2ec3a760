//! The end of a run before its time where netserver alone sends (decision 0022).
//!
//! netperf, which has leave to do so, ends its own direction of the data connection.
//! netserver looks for that between rings of the bell, so its loop knows nothing of it; what
//! it sent before is still read by netperf to the end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netperf_os::wait;

/// How often netserver looks. What it sends meanwhile counts at both ends.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// netserver's data connection, to hear by that netperf has had enough.
#[derive(Debug)]
pub(crate) struct Ear(OwnedFd);

impl Ear {
    /// On this connection.
    ///
    /// # Errors
    /// `EMFILE` when there are too many open files.
    pub(crate) fn on(data: BorrowedFd<'_>) -> io::Result<Self> {
        data.try_clone_to_owned().map(Self)
    }

    /// Whether netperf has said so. One that is gone has not.
    pub(crate) fn hears_the_end(&self) -> bool {
        wait::is_half_closed(self.0.as_fd()).unwrap_or(false)
    }
}

/// The same for many flows: netperf ends its direction of all of them, and one stands for all.
#[derive(Debug, Default)]
pub(crate) struct Ears(Mutex<Option<Ear>>);

impl Ears {
    /// Listens from now on.
    pub(crate) fn listen(&self, ear: Ear) {
        *self.ear() = Some(ear);
    }

    /// Whether netperf has said that it has had enough.
    pub(crate) fn hear_the_end(&self) -> bool {
        self.ear().as_ref().is_some_and(Ear::hears_the_end)
    }

    /// Listens no more, and lets go of the connection.
    pub(crate) fn close(&self) {
        *self.ear() = None;
    }

    fn ear(&self) -> MutexGuard<'_, Option<Ear>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
