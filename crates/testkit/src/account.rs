//! Report of a failed test: its programs with their last complaints, the load
//! of the machine, the time that it took and the seed of property tests.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::panic;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::environment;

/// Programs of a test that are kept.
const PROGRAMS: usize = 4;
/// Last lines of the standard error of each.
const LINES: usize = 6;

/// The last programs of each test.
static STARTED: Mutex<BTreeMap<String, VecDeque<Started>>> = Mutex::new(BTreeMap::new());

/// A program that a test started.
struct Started {
    shown: String,
    stderr: Arc<Mutex<Vec<u8>>>,
}

fn started<T>(with: impl FnOnce(&mut BTreeMap<String, VecDeque<Started>>) -> T) -> T {
    with(&mut STARTED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The test of this thread. Threads that a test starts without a name share one account.
fn test() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Adds a program to the account of the calling test.
pub(crate) fn add(shown: &str, stderr: &Arc<Mutex<Vec<u8>>>) {
    let program = Started {
        shown: shown.to_owned(),
        stderr: Arc::clone(stderr),
    };
    started(|tests| {
        let programs = tests.entry(test()).or_default();
        programs.push_back(program);
        if programs.len() > PROGRAMS {
            programs.pop_front();
        }
    });
}

/// The account of a test that has run for so long.
pub(crate) fn of(test: &str, took: Option<Duration>) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let processors = thread::available_parallelism().map_or(0, usize::from);
    let mut text = format!(
        "account: load of {processors} processors: {}",
        load.join(", ")
    );
    if let Some(took) = took {
        write!(text, "; {:.1} s since the start", took.as_secs_f64()).ok();
    }
    if let Some(seed) = environment("PROPTEST_RNG_SEED") {
        write!(text, "; PROPTEST_RNG_SEED={seed}").ok();
    }
    text.push('\n');
    started(|tests| {
        for program in tests.get(test).into_iter().flatten() {
            writeln!(text, "account: $ {}", program.shown).ok();
            let bytes = program
                .stderr
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let complaints = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = complaints.lines().collect();
            for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
                writeln!(text, "account:   {line}").ok();
            }
        }
    });
    text
}

/// From now on, prints the account behind the message of each panic, `since` giving the age of the
/// calling test.
#[expect(
    clippy::print_stderr,
    reason = "the runner captures it, as it does the message"
)]
pub(crate) fn print_after_panics(since: fn() -> Option<Duration>) {
    static PRINTING: Once = Once::new();
    if thread::panicking() {
        return;
    }
    PRINTING.call_once(|| {
        let message = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            message(panic);
            eprint!("{}", of(&test(), since()));
        }));
    });
}

/// A line of a test's own account, shown when the test fails.
#[expect(clippy::print_stdout, reason = "the runner captures it")]
pub fn note(text: &str) {
    println!("{text}");
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Invocation;

    use super::*;

    #[test]
    fn account_names_the_last_programs_and_their_complaints() {
        for number in 0..=PROGRAMS {
            let complain = format!("seq 9 >&2; echo last {number} >&2");
            Invocation::new(Path::new("sh"))
                .args(["-c", &complain])
                .run();
        }
        let text = of(&test(), Some(Duration::from_millis(1500)));
        assert!(text.contains("; 1.5 s since the start"), "{text}");
        assert_eq!(text.matches("account: $ sh -c ").count(), PROGRAMS);
        assert!(!text.contains("last 0") && text.contains("account:   last 4\n"));
        assert!(!text.contains("account:   4\n") && text.contains("account:   5\n"));
    }
}
