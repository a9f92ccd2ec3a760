//! A time limit for every test that uses this crate, whatever it waits for.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::start::signal;
use crate::{Stopwatch, account, procfs};

/// Time limit of a test that starts programs.
const LIMIT: Duration = Duration::from_secs(300);
/// Time limit of a test of functions: far more than any takes on a busy machine.
const UNIT_LIMIT: Duration = Duration::from_secs(90);

static TESTS: Mutex<BTreeMap<u64, Test>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

struct Test {
    name: String,
    since: Stopwatch,
    limit: Duration,
}

/// The entry of a thread in the list of tests. It goes when the thread ends.
struct Entry(Cell<Option<u64>>);

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(number) = self.0.get() {
            tests(|tests| tests.remove(&number));
        }
    }
}

thread_local! {
    static ENTRY: Entry = const { Entry(Cell::new(None)) };
}

fn tests<T>(with: impl FnOnce(&mut BTreeMap<u64, Test>) -> T) -> T {
    with(&mut TESTS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Limits the time of the calling test, if that has not been done before. The test runner
/// gives each test a thread with the test's name.
pub fn watch() {
    watch_for(LIMIT);
}

/// The same with the limit of a unit test, for tests of loops that might not end.
pub fn watch_unit() {
    watch_for(UNIT_LIMIT);
}

fn watch_for(limit: Duration) {
    ENTRY.with(|entry| {
        if entry.0.get().is_none() {
            enter(entry, limit);
        }
    });
}

/// Gives the calling test all of its time again, after it had to wait for others or before it
/// measures again. A thread that a test starts belongs to it if it has the test's name.
pub fn restart() {
    restart_with(LIMIT);
    let current = thread::current();
    tests(|tests| {
        let own = tests
            .values_mut()
            .filter(|test| current.name() == Some(&test.name));
        own.for_each(|test| test.since = Stopwatch::start());
    });
}

/// The same with another limit, before the test waits for others or for many programs.
pub(crate) fn restart_with(limit: Duration) {
    ENTRY.with(|entry| enter(entry, limit));
}

fn enter(entry: &Entry, limit: Duration) {
    static WATCHING: Once = Once::new();
    let current = thread::current();
    let Some(name) = current.name().filter(|&name| name != "main") else {
        return;
    };
    WATCHING.call_once(|| {
        thread::spawn(keep_watch);
    });
    account::print_after_panics(age);
    let number = match entry.0.get() {
        Some(number) => number,
        None => NEXT.fetch_add(1, Ordering::Relaxed),
    };
    entry.0.set(Some(number));
    let test = Test {
        name: name.to_owned(),
        since: Stopwatch::start(),
        limit,
    };
    tests(|tests| tests.insert(number, test));
}

/// Time since the calling test was given its time.
fn age() -> Option<Duration> {
    let number = ENTRY.try_with(|entry| entry.0.get()).ok()??;
    tests(|tests| tests.get(&number).map(|test| test.since.elapsed()))
}

/// Ends this process, with all that it started, when a test is over its limit.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "a test that hangs cannot be ended in another way"
)]
fn keep_watch() {
    loop {
        thread::sleep(Duration::from_secs(1));
        let late = tests(|tests| {
            let mut late = tests
                .values()
                .filter(|test| test.since.elapsed() > test.limit);
            late.next().map(|test| (test.name.clone(), test.limit))
        });
        let Some((name, limit)) = late else { continue };
        let account = account::of(&name, Some(limit));
        for process in procfs::descendants(std::process::id()) {
            signal(process, "KILL");
        }
        let line = format!("test {name} ... FAILED: not over after {limit:?}\n{account}");
        std::io::stderr().write_all(line.as_bytes()).ok();
        std::process::exit(101);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_the_name_of_a_test_gives_it_its_time_again() {
        watch_unit();
        thread::sleep(Duration::from_millis(50));
        let later = Stopwatch::start();
        let name = thread::current().name().expect("a name").to_owned();
        let of_test = thread::Builder::new().name(name).spawn(restart);
        of_test.expect("a thread").join().expect("its end");
        assert!(age() <= Some(later.elapsed()));
    }
}
