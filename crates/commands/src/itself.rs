//! Runs of this very program, for the commands that make many of them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::process;
use netperf_os::signals::{self, Signal, Signals};
use serde_json::Value;

/// Interval between looks for a signal.
const LOOK: Duration = Duration::from_millis(20);
/// Signals within this time count as one request: a terminal and timeout(1) signal a whole group.
const SAME_REQUEST: Duration = Duration::from_millis(200);

/// Runs of this program, which the first signal ends with what they measured. The second one ends all
/// at once.
#[derive(Debug)]
pub(super) struct OwnRuns {
    signals: Signals,
    /// When the first signal came.
    interrupted: OnceLock<Moment>,
    /// Processes of the runs that go on.
    running: Mutex<Vec<u32>>,
}

impl OwnRuns {
    /// Watches the signals from now on.
    ///
    /// # Errors
    /// Whatever sigaction(2) reports.
    pub(super) fn watch() -> io::Result<Self> {
        Ok(Self {
            signals: signals::watch(&[Signal::Interrupt, Signal::Terminate])?,
            interrupted: OnceLock::new(),
            running: Mutex::default(),
        })
    }

    /// Runs netperf with these words, and `--json` in front of them, to its end.
    ///
    /// # Errors
    /// When it cannot be started, and when a signal came before.
    pub(super) fn run(
        &self,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> io::Result<Output> {
        self.ran(start("--json", words), None, Child::wait_with_output)
    }

    /// The same; a run that takes longer than this is killed.
    ///
    /// # Errors
    /// Also `TimedOut`.
    pub(super) fn run_within(
        &self,
        most: Duration,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> io::Result<Output> {
        self.ran(start("--json", words), Some(most), Child::wait_with_output)
    }

    /// Runs netperf with these words to its end, and shows each of its events while it goes on. The
    /// document of the last one is its output.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(super) fn run_shown(
        &self,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
        show: impl Fn(&Value) + Send + 'static,
    ) -> io::Result<Output> {
        let end = move |child| with_events(child, &show);
        self.ran(start("--json-stream", words), None, end)
    }

    /// Waits for the end of a run.
    fn ran(
        &self,
        child: io::Result<Child>,
        most: Option<Duration>,
        end: impl FnOnce(Child) -> io::Result<Output> + Send + 'static,
    ) -> io::Result<Output> {
        let child = child?;
        let (process, began) = (child.id(), clock::now());
        self.running().push(process);
        if self.interrupted() {
            self.tell(Signal::Interrupt);
        }
        let (tell, told) = mpsc::channel();
        let waiting = std::thread::spawn(move || tell.send(end(child)));
        let mut late = false;
        let output = loop {
            match told.recv_timeout(LOOK) {
                Ok(output) if late => break output.and(Err(io::ErrorKind::TimedOut.into())),
                Ok(output) => break output,
                Err(RecvTimeoutError::Timeout) => {
                    self.look();
                    if !late && most.is_some_and(|most| began.elapsed() > most) {
                        late = true;
                        // One that has just ended needs none.
                        let _gone = signals::send(process, Signal::Kill);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        };
        drop(waiting.join());
        self.running().retain(|other| *other != process);
        output
    }

    /// Returns true if a signal came.
    pub(super) fn interrupted(&self) -> bool {
        self.look();
        self.interrupted.get().is_some()
    }

    /// Does what signals ask for that came since the last look.
    fn look(&self) {
        while let Some(signal) = self.signals.next() {
            let first = *self.interrupted.get_or_init(clock::now);
            if first.elapsed() > SAME_REQUEST {
                self.tell(Signal::Kill);
                signals::end_of(signal);
            }
            self.tell(Signal::Interrupt);
        }
    }

    /// Sends a signal to all runs.
    fn tell(&self, signal: Signal) {
        for process in self.running().iter() {
            // One that has just ended needs none.
            let _gone = signals::send(*process, signal);
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<u32>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the events of a run until its end.
fn with_events(mut child: Child, show: &impl Fn(&Value)) -> io::Result<Output> {
    let events = child.stdout.take();
    let mut document = Vec::new();
    for line in BufReader::new(events.ok_or(io::ErrorKind::BrokenPipe)?).lines() {
        let Ok(event) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        if event["event"] == "result" || event["event"] == "error" {
            document = event["document"].to_string().into_bytes();
        } else {
            show(&event);
        }
    }
    let output = child.wait_with_output()?;
    Ok(Output {
        stdout: document,
        ..output
    })
}

fn start(output: &str, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<Child> {
    let mut command = Command::new(process::own_file());
    command
        .arg(output)
        .args(words)
        .env_clear()
        .envs(std::env::vars_os())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // The name appears in the result, for a later repetition.
    process::start_itself(c"netperf", &mut command)
}

/// The reason why a run that succeeded is no result: a signal ended it before its time.
pub(super) fn cut_short(document: &[u8]) -> Option<&'static str> {
    let document = netperf_web::document(document)?;
    (!document.complete).then_some("a signal ended it before its time")
}

/// Returns true if a run failed because it found no netserver.
pub(super) fn unreached(document: &[u8]) -> bool {
    let error = netperf_web::document(document).and_then(|document| document.error);
    error.is_some_and(|error| error.unreached)
}

/// The beginning of most lines of a run.
const PROGRAM: &str = "netperf: ";

/// Lines that runs print on standard error, each once.
#[derive(Debug, Default)]
pub(super) struct RunRemarks(BTreeSet<String>);

impl RunRemarks {
    /// The lines of a run that no run before it has printed, without the name of the program.
    pub(super) fn new_of(&mut self, stderr: &[u8]) -> Vec<String> {
        let said = String::from_utf8_lossy(stderr);
        let lines = said
            .lines()
            .map(|line| line.strip_prefix(PROGRAM).unwrap_or(line));
        let lines = lines.filter(|line| !line.trim().is_empty());
        lines
            .filter(|line| self.0.insert((*line).to_owned()))
            .map(netperf_web::escape::line)
            .collect()
    }
}

/// The reason of a failed run in one line: its first line, and the lines with cause and remedy.
pub(super) fn reason(said: &str) -> String {
    let mut lines = said.lines().take_while(|line| !line.starts_with('{'));
    let first = lines.next().unwrap_or("no error message");
    let causes = lines.filter_map(|line| line.strip_prefix(PROGRAM));
    let first = first.strip_prefix(PROGRAM).unwrap_or(first);
    let parts: Vec<&str> = std::iter::once(first).chain(causes).collect();
    parts.join("; ")
}

/// Warnings of a result about settings that are not in force as they were asked for.
pub(super) fn warnings(document: &[u8]) -> Vec<String> {
    let document = netperf_web::document(document);
    let all = document.into_iter().flat_map(|document| document.warnings);
    let unmet = all.filter(|warning| warning.code == "not_as_asked");
    unmet
        .map(|warning| netperf_web::escape::line(&warning.message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_of_several_runs_is_told_once() {
        let mut remarks = RunRemarks::default();
        let first = remarks.new_of(b"netperf: -m abc: not a size\n\nnetperf: other\n");
        assert_eq!(first, ["-m abc: not a size", "other"]);
        assert_eq!(remarks.new_of(b"netperf: other\nnew\n"), ["new"]);
    }

    #[test]
    fn a_reason_has_the_cause_behind_the_first_line() {
        let said = "are you sure there is a netserver?\nestablish_control could not\n\
                    netperf: connect to 127.0.0.1 port 1: Connection refused\n{\n  \"a\": 1}\n";
        let reason = reason(said);
        assert_eq!(
            reason,
            "are you sure there is a netserver?; connect to 127.0.0.1 port 1: Connection refused"
        );
        assert_eq!(super::reason(""), "no error message");
        assert_eq!(super::reason("netperf: no such test\n"), "no such test");
    }
}
