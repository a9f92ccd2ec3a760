//! Threads that read counts beside the loops.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// The stack of the thread, bytes.
const STACK: usize = 128 * 1024;

/// Starts a thread beside the loops, which leaves signals to the main thread.
///
/// # Errors
/// When the kernel refuses another thread.
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let thread = Builder::new().name(name.to_owned()).stack_size(STACK);
    thread.spawn_scoped(scope, || {
        // Without this a signal may be late, and is not lost.
        let _best_effort = netperf_os::process::block_signals();
        work()
    })
}
