//! Starts of processes.

use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock};

/// Between fork(2) and execve(2) a new process has copies of all sockets of this one, and a port that
/// this one gives back is still in use. Each start of a process shares it.
static STARTS: RwLock<()> = RwLock::new(());

/// Starts a process.
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    let _shared = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// Runs a process to its end.
///
/// # Errors
/// When it cannot be started.
pub fn output(command: &mut Command) -> io::Result<Output> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    start(command)?.wait_with_output()
}

/// True if a process can be started and ends well.
pub fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok_and(|output| output.status.success())
}

/// Does something with sockets while no process starts.
pub(crate) fn without_starts<T>(action: impl FnOnce() -> T) -> T {
    let _alone = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    action()
}

/// Sends a signal to one process by its id; one that is gone is no error.
pub fn signal(pid: u32, name: &str) {
    output(Command::new("sh").args(["-c", &format!("kill -s {name} {pid} 2>/dev/null")]))
        .expect("sh");
}
