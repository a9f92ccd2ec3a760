//! Log entry of a session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use netperf_cli::LogLevel;
use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, KeyRing, Limits, NamedKey};

use super::histogram::ResultHistogram;
use super::log::{LogField, ServerLog};
use super::record::{Ran, Records, ResultUnit, SessionEnd, SessionQuestion, SessionRecord};

/// Longest time that is evaluated.
const LONGEST: Duration = Duration::from_secs(1_000_000);

/// Summary of a session for the log.
#[derive(Debug)]
pub struct SessionLog {
    peer: String,
    /// Names of the keys of netserver.
    keys: Option<Arc<KeyRing>>,
    /// Index of the key that the client has proven.
    key: Option<usize>,
    since: Moment,
    /// Time of the last record.
    heard: Moment,
    /// Completed tests.
    pub ran: u64,
    /// Tests that could not be prepared.
    pub refused: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Bytes sent and received by netserver.
    pub bytes: (u64, u64),
    last: Option<Ran>,
    /// Planned end of the running test.
    until: Option<Moment>,
    errno: Option<i32>,
    denied: Option<&'static str>,
    /// Refusals by the policy, by reason.
    pub refusals: BTreeMap<&'static str, u64>,
    /// Results of completed tests, by kind and unit.
    pub results: BTreeMap<(String, ResultUnit), ResultHistogram>,
    ending: Option<SessionEnd>,
}

/// End of a session process, as the listener sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// Exit with this status.
    Exit(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Killed by the listener at the end of draining.
    Drained,
    /// Killed by the listener because its key is no longer valid.
    Revoked,
    /// Killed by the listener while it was idle, for a client of a source with fewer sessions.
    Displaced,
}

impl Records for SessionLog {
    fn tell(&mut self, record: SessionRecord) {
        self.enter(record);
    }

    fn ask(&mut self, _: SessionQuestion, _: &Limits) -> Result<(), Denied> {
        Ok(())
    }
}

impl SessionLog {
    /// A session that starts now.
    pub fn new(peer: String, keys: Option<Arc<KeyRing>>) -> Self {
        Self {
            peer,
            keys,
            key: None,
            since: clock::now(),
            heard: clock::now(),
            ran: 0,
            refused: 0,
            failed: 0,
            bytes: (0, 0),
            last: None,
            until: None,
            errno: None,
            denied: None,
            refusals: BTreeMap::new(),
            results: BTreeMap::new(),
            ending: None,
        }
    }

    /// The session, of which nothing was told before, has lasted so long already.
    pub fn lasted(&mut self, time: Duration) {
        self.since = clock::now().minus(time);
    }

    /// Returns true if the client has proven a key that is not among these.
    pub fn lacks_key(&self, now: Option<&KeyRing>) -> bool {
        let own = self.keys.as_ref().zip(self.key);
        let own = own.and_then(|(keys, index)| keys.keys().get(index));
        let has = |own: &NamedKey| {
            now.is_some_and(|now| now.keys().iter().any(|one| one.secret == own.secret))
        };
        own.is_some_and(|own| !has(own))
    }

    /// Time since the last record.
    pub fn quiet(&self) -> Duration {
        clock::now().since(self.heard)
    }

    /// Adds a record of the session.
    pub fn enter(&mut self, record: SessionRecord) {
        self.until = None;
        self.heard = clock::now();
        match record {
            SessionRecord::Runs(seconds) => {
                let time = Duration::try_from_secs_f64(seconds).ok();
                self.until = time.map(|time| clock::now().plus(time.min(LONGEST)));
            }
            SessionRecord::Ran(ran) => {
                self.ran = self.ran.saturating_add(1);
                self.bytes.0 = self.bytes.0.saturating_add(ran.tally.bytes_sent);
                self.bytes.1 = self.bytes.1.saturating_add(ran.tally.bytes_received);
                if let Some((result, unit)) = ran.result() {
                    let histogram = self.results.entry((ran.name(), unit)).or_default();
                    histogram.add(unit.bounds(), result * unit.factor());
                }
                self.last = Some(ran);
            }
            SessionRecord::Refused(errno) => {
                self.refused = self.refused.saturating_add(1);
                self.errno = Some(errno);
            }
            SessionRecord::Denied(errno, word) => {
                self.refused = self.refused.saturating_add(1);
                self.errno = Some(errno);
                self.denied = Some(word);
                let refusals = self.refusals.entry(word).or_default();
                *refusals = refusals.saturating_add(1);
            }
            SessionRecord::Failed(errno) => {
                self.failed = self.failed.saturating_add(1);
                self.errno = Some(errno);
            }
            SessionRecord::Asks(..) => {}
            SessionRecord::Key(index) => self.key = Some(index),
            // The record of an abandoned test precedes that of the closed connection.
            SessionRecord::Ended(ending) => {
                self.ending.get_or_insert(ending);
            }
        }
    }

    /// The key that the client has proven.
    pub fn key(&self) -> Option<&NamedKey> {
        self.keys.as_ref()?.keys().get(self.key?)
    }

    /// Time until the planned end of the running test.
    pub fn until_end(&self) -> Option<Duration> {
        Some(self.until?.left())
    }

    /// Word for the end of the session.
    pub const fn word(&self, end: ProcessEnd) -> &'static str {
        match (end, self.ending) {
            (ProcessEnd::Drained, _) => "drained",
            (ProcessEnd::Displaced, _) => "displaced",
            (ProcessEnd::Revoked, _) => "revoked",
            (ProcessEnd::Signal(_), _) => "killed",
            (ProcessEnd::Exit(0), Some(ending))
            | (ProcessEnd::Exit(_), Some(ending @ SessionEnd::Unconfined)) => ending.label(),
            (ProcessEnd::Exit(_), _) => "crashed",
        }
    }

    /// End of a flow of a process that serves many: one without a record of its end was ended
    /// with the process.
    pub const fn end_of_flow(&self) -> ProcessEnd {
        match self.ending {
            Some(_) => ProcessEnd::Exit(0),
            None => ProcessEnd::Drained,
        }
    }

    /// Name of the last test, such as `tcp_rr`.
    pub fn kind(&self) -> Option<String> {
        self.last.as_ref().map(Ran::name)
    }

    /// Writes the log line. Sessions without a test appear at level debug only.
    pub fn write(&self, end: ProcessEnd, log: &mut ServerLog) {
        let tests = self.ran + self.refused + self.failed;
        let unusual = matches!(end, ProcessEnd::Signal(_))
            || matches!(self.word(end), "crashed" | "unconfined")
            || [Denied::WrongKey, Denied::DataPorts]
                .map(|denied| Some(denied.word()))
                .contains(&self.denied);
        let level = if unusual {
            LogLevel::Warn
        } else if tests == 0 && matches!(end, ProcessEnd::Exit(_)) {
            LogLevel::Debug
        } else {
            LogLevel::Info
        };
        let fields = self.fields(end);
        if self.ran == 0 && (self.denied.is_some() || self.refused > 0) {
            log.deny(level, "session", &fields);
        } else {
            log.say(level, "session", &fields);
        }
    }

    fn fields(&self, end: ProcessEnd) -> Vec<LogField> {
        let mut fields = vec![
            ("peer", self.peer.clone().into()),
            ("tests", self.ran.into()),
        ];
        if let Some(key) = self.key().filter(|key| !key.name.is_empty()) {
            fields.push(("key", key.name.clone().into()));
        }
        if let Some(last) = &self.last {
            fields.push(("test", last.name().into()));
            if let Some((result, unit)) = last.result() {
                fields.push(("result", result.into()));
                fields.push(("unit", unit.name().into()));
            }
        }
        for (name, count) in [("refused", self.refused), ("failed", self.failed)] {
            if count > 0 {
                fields.push((name, count.into()));
            }
        }
        if let Some(errno) = self.errno {
            let text = netperf_model::text_of_errno(errno);
            fields.push(("error", text.into()));
        }
        if let Some(word) = self.denied {
            fields.push(("denied", word.into()));
        }
        fields.extend([
            ("bytes_sent", self.bytes.0.into()),
            ("bytes_received", self.bytes.1.into()),
            ("seconds", self.since.elapsed().as_secs_f64().into()),
            ("end", self.word(end).into()),
        ]);
        match end {
            ProcessEnd::Signal(number) => fields.push(("signal", number.to_string().into())),
            ProcessEnd::Exit(status) if status != 0 => {
                fields.push(("status", status.to_string().into()));
            }
            ProcessEnd::Exit(_)
            | ProcessEnd::Drained
            | ProcessEnd::Displaced
            | ProcessEnd::Revoked => {}
        }
        fields
    }
}
