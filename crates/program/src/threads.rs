//! Threads whose start may fail.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use netperf_os::without;

use crate::output::system_text;

/// Starts a thread of a scope. `Scope::spawn` panics where this fails.
///
/// # Errors
/// A line that names the limits.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let work = || {
        without::join_patience();
        work()
    };
    let started = Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| not_started(&error))
}

/// Starts a thread that nothing waits for.
///
/// # Errors
/// As [`spawn`].
pub fn spawn_detached(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let started = Builder::new().spawn(work);
    started.map(drop).map_err(|error| not_started(&error))
}

fn not_started(error: &io::Error) -> io::Error {
    let text = system_text(error);
    let line = format!(
        "no thread can be started ({text}): use fewer, or raise the limits of processes and memory \
         (ulimit -u, ulimit -v, TasksMax=, MemoryMax=)"
    );
    io::Error::new(error.kind(), line)
}

/// Result of a thread.
///
/// # Errors
/// The error that it returned, or that it panicked.
pub fn join<T>(thread: ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    let lost = |_| Err(io::Error::other("a thread failed"));
    thread.join().unwrap_or_else(lost)
}
