//! Lock files for tests that need more of the machine than others.
//!
//! Test programs run several tests at a time, and more than one program may run. A test that
//! starts many programs or keeps processors busy takes one of a few slots; a test that needs
//! the whole machine takes all of them. The kernel frees a slot when its process ends.

use std::cell::Cell;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use netperf_os::lock;

use crate::{eventually, watchdog};

/// Number of tests that may load the machine at a time.
const SLOTS: usize = 3;
/// Longest wait for the slots of other tests.
const PATIENCE: Duration = Duration::from_secs(2_700);

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Slots of this machine, free again when dropped.
#[derive(Debug)]
pub struct Slots {
    files: Vec<File>,
}

/// Waits for one slot. A thread that has one already needs no second.
///
/// # Panics
/// When no slot becomes free for 45 minutes.
pub fn slot() -> Slots {
    if HELD.get() > 0 {
        return Slots { files: Vec::new() };
    }
    let mut found = None;
    let free = eventually_free(|| {
        found = (0..SLOTS).find_map(locked);
        found.is_some()
    });
    assert!(free, "other tests hold all slots of this machine");
    Slots::of(found.into_iter().collect())
}

/// Waits for all slots. Takes them in the same order as everyone, and keeps those it has.
///
/// # Panics
/// When this thread has a slot, or the others do not become free for 45 minutes.
pub fn whole() -> Slots {
    assert_eq!(HELD.get(), 0, "a thread with one slot waits for all");
    let all = (0..SLOTS).map(|number| {
        let mut found = None;
        let free = eventually_free(|| {
            found = locked(number);
            found.is_some()
        });
        assert!(free, "another test holds slot {number} of this machine");
        found.expect("it is free")
    });
    Slots::of(all.collect())
}

/// Waits longer than a test may take otherwise.
fn eventually_free(locked: impl FnMut() -> bool) -> bool {
    watchdog::restart_with(2 * PATIENCE);
    eventually(PATIENCE, locked)
}

impl Slots {
    fn of(files: Vec<File>) -> Self {
        HELD.set(files.len());
        watchdog::restart();
        Self { files }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        HELD.set(HELD.get() - self.files.len());
    }
}

/// The lock file of a slot, unless another test has it locked.
fn locked(number: usize) -> Option<File> {
    let path = std::env::temp_dir().join(format!("netperf-test-slot-{number}"));
    // The file of another user can be locked, but not opened for writing.
    let file = File::open(&path)
        .or_else(|_| -> io::Result<File> {
            let mut create = OpenOptions::new();
            let file = create.create(true).append(true).open(&path)?;
            // For other users as well, whatever the mask of this one is.
            file.set_permissions(Permissions::from_mode(0o644))?;
            Ok(file)
        })
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let locked = lock::try_alone(file.as_fd()).expect("locks of files");
    locked.then_some(file)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn the_whole_machine_is_had_when_no_slot_is_taken() {
        let (say, said) = mpsc::channel();
        let taken = slot();
        let nested = slot();
        let other = thread::spawn(move || {
            let _whole = whole();
            say.send(()).unwrap();
        });
        assert!(said.recv_timeout(Duration::from_millis(100)).is_err());
        drop(nested);
        drop(taken);
        said.recv_timeout(PATIENCE).unwrap();
        other.join().unwrap();
    }
}
