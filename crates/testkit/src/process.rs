//! Processes that cannot outlive or hang a test.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use netperf_os::wait::{Interest, ready};
use serde_json::Value;

pub use crate::start::{output, signal, succeeds};

use crate::schema::Schema;
use crate::start::start;
use crate::{Place, Stopwatch, Values, account, eventually, procfs, watchdog};

/// Time limit of a process without an explicit one.
pub const PATIENCE: Duration = Duration::from_secs(100);

/// Longest wait of a reader for output.
const TURN: Duration = Duration::from_secs(60);

/// A program about to be started: hermetic unless told otherwise.
#[derive(Debug)]
pub struct Invocation {
    program: PathBuf,
    words: Vec<OsString>,
    env: Vec<(String, OsString)>,
    place: Place,
    folder: Option<PathBuf>,
    stdin: Stdio,
    patience: Duration,
}

impl Invocation {
    /// Runs `program` here, with no input and nothing of our environment but the path.
    pub fn new(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            words: Vec::new(),
            env: Vec::new(),
            place: Place::Here,
            folder: None,
            stdin: Stdio::null(),
            patience: PATIENCE,
        }
    }

    /// Adds one word.
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// Adds words.
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.words
            .extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets variables.
    pub fn envs(mut self, pairs: &[(String, OsString)]) -> Self {
        self.env.extend_from_slice(pairs);
        self
    }

    /// Runs it in another network.
    pub fn within(mut self, place: &Place) -> Self {
        self.place = place.clone();
        self
    }

    /// Runs it in another folder.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Gives it a standard input.
    pub fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Sets its time limit, from start to end.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts it.
    pub fn spawn(self) -> Running {
        let shown = self.shown();
        let mut command = self.place.command(self.program.as_os_str());
        // A resolver that does not answer fails a lookup soon (resolv.conf(5)); netperf
        // repeats it several times.
        command.env("RES_OPTIONS", "timeout:1 attempts:1");
        command.args(&self.words).envs(self.env);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(self.stdin);
        Running::start(command, shown, self.patience)
    }

    /// Starts it and waits for its end.
    pub fn run(self) -> Finished {
        self.spawn().finish()
    }

    fn shown(&self) -> String {
        let mut words = vec![self.program.to_string_lossy().into_owned()];
        words.extend(
            self.words
                .iter()
                .map(|word| word.to_string_lossy().into_owned()),
        );
        match &self.place {
            Place::Here => words.join(" "),
            Place::Namespace(name) => format!("[{name}] {}", words.join(" ")),
        }
    }
}

/// One captured stream, filled by a thread. The text is shared, not
/// returned by the thread: a stray grandchild that keeps the pipe open must not
/// keep the test waiting.
#[derive(Debug)]
struct Captured {
    text: Arc<Mutex<Vec<u8>>>,
    pipe: OwnedFd,
    reader: JoinHandle<()>,
}

impl Captured {
    fn of(mut pipe: impl Read + AsFd + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&text);
        let watched = pipe.as_fd().try_clone_to_owned().expect("a descriptor");
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            loop {
                // The text is complete if the pipe is empty under the lock.
                if !ready(pipe.as_fd(), Interest::Read, TURN).unwrap_or(true) {
                    continue;
                }
                let mut text = shared.lock().expect("no reader panics");
                match pipe.read(&mut chunk) {
                    Ok(length @ 1..) => {
                        text.extend_from_slice(chunk.get(..length).unwrap_or_default());
                    }
                    Ok(_) | Err(_) => break,
                }
            }
        });
        Self {
            text,
            pipe: watched,
            reader,
        }
    }

    fn so_far(&self) -> String {
        let text = self.text.lock().expect("no reader panics");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The text of a process that has ended. Its reader may get no processor for a while.
    fn complete(&self) -> String {
        if !eventually(Duration::from_secs(2), || self.reader.is_finished()) {
            eventually(Duration::from_secs(60), || {
                let _text = self.text.lock().expect("no reader panics");
                let unread = ready(self.pipe.as_fd(), Interest::Read, Duration::ZERO);
                self.reader.is_finished() || !unread.unwrap_or(false)
            });
        }
        self.so_far()
    }
}

/// A process of ours; killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Captured,
    stderr: Captured,
    shown: String,
    patience: Duration,
    since: Stopwatch,
}

impl Running {
    fn start(mut command: Command, shown: String, patience: Duration) -> Self {
        watchdog::watch();
        let since = Stopwatch::start();
        let child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut child = child.unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        let stdout = Captured::of(child.stdout.take().expect("piped"));
        let stderr = Captured::of(child.stderr.take().expect("piped"));
        account::add(&shown, &stderr.text);
        Self {
            child,
            stdout,
            stderr,
            shown,
            patience,
            since,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.so_far()
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.so_far()
    }

    /// Time since it was started.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// True if it has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().expect("our child").is_some()
    }

    /// Sends it a signal by name (`INT`, `ALRM`, `KILL`).
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits until its output holds `text`; says whether it came.
    pub fn prints(&mut self, text: &str, patience: Duration) -> bool {
        // The last output of an ended process may not have been read yet.
        eventually(patience, || self.stdout().contains(text) || self.ended())
            && (self.stdout().contains(text)
                || self.ended() && self.stdout.complete().contains(text))
    }

    /// Waits until it has used 20 ms of processor time from now on, which a client does only
    /// while its test moves data. Says whether it has.
    pub fn works(&mut self, patience: Duration) -> bool {
        let enough = procfs::processor_time(self.pid()) + Duration::from_millis(20);
        eventually(patience, || {
            procfs::processor_time(self.pid()) >= enough || self.ended()
        }) && !self.ended()
    }

    /// Waits for its end, no longer than its patience.
    pub fn finish(mut self) -> Finished {
        let left = self.patience.saturating_sub(self.since.elapsed());
        if !eventually(left, || self.ended()) {
            self.child.kill().ok();
            let (patience, shown) = (self.patience, &self.shown);
            panic!(
                "still running after {patience:?}: {shown}\n--- stdout\n{}--- stderr\n{}",
                self.stdout(),
                self.stderr()
            );
        }
        Finished {
            status: self.child.wait().expect("our child"),
            took: self.since.elapsed(),
            stdout: self.stdout.complete(),
            stderr: self.stderr.complete(),
            shown: self.shown.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A process that has ended, and what it left.
#[derive(Debug)]
pub struct Finished {
    /// Exit status.
    pub status: ExitStatus,
    /// Time from start to end.
    pub took: Duration,
    /// All it printed.
    pub stdout: String,
    /// All it complained about.
    pub stderr: String,
    /// The command, for messages.
    pub shown: String,
}

impl Finished {
    /// Everything about it, for a failing test.
    pub fn account(&self) -> String {
        let Self {
            status,
            took,
            stdout,
            stderr,
            shown,
        } = self;
        format!("$ {shown}\n{status} after {took:?}\n--- stdout\n{stdout}--- stderr\n{stderr}---")
    }

    /// The document that `--json` printed, which follows its schema.
    ///
    /// # Panics
    /// When it is none, or does not.
    #[track_caller]
    pub fn document(&self) -> Value {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
            Schema::parse(include_str!("../../../docs/schema/netperf-1.schema.json"))
        });
        let document: Value = serde_json::from_str(&self.stdout).expect("a document");
        assert_eq!(SCHEMA.faults(&document), [""; 0]);
        document
    }

    /// Standard error without true warnings about the host of a test: netserver did not run for a
    /// while, a CPU was busy, and both ends are here.
    pub fn stderr_beyond_hosts(&self) -> String {
        let warnings = [
            "nothing arrived at netserver for ",
            "client and server are on one host",
            " % busy: it, not the network, may have been the limit",
        ];
        let is_of_hosts = |line: &str| warnings.iter().any(|warning| line.contains(warning));
        let lines = self.stderr.split_inclusive('\n');
        lines.filter(|line| !is_of_hosts(line)).collect()
    }

    /// Exit status 0 and nothing on standard error but warnings about the host, or an account of why
    /// not.
    pub fn clean(&self) -> Result<(), String> {
        if self.status.success() && self.stderr_beyond_hosts().is_empty() {
            Ok(())
        } else {
            Err(format!("not a clean success:\n{}", self.account()))
        }
    }

    /// Panics unless it ended cleanly.
    #[track_caller]
    pub fn expect_clean(self) -> Self {
        if let Err(account) = self.clean() {
            panic!("{account}");
        }
        self
    }

    /// Panics unless it ended cleanly, except for the remark that the kernel copied the data of
    /// `--zerocopy`, as it does over loopback.
    #[track_caller]
    pub fn expect_clean_or_copied(mut self) -> Self {
        let copied = |line: &&str| line.contains("--zerocopy at ");
        let others = self.stderr.lines().filter(|line| !copied(line));
        self.stderr = others.collect::<Vec<_>>().join("\n");
        self.expect_clean()
    }

    /// Panics unless it ended with this status.
    #[track_caller]
    pub fn expect_exit(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}", self.account());
        self
    }

    /// Its `KEY=value` lines.
    pub fn values(&self) -> Values {
        Values::parse(&self.stdout)
    }
}
