//! The log: one line per event, as text or JSON, to standard error or a file.
//!
//! Logging never blocks: a line that standard error does not accept immediately is counted and
//! dropped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_cli::{LogFormat, LogLevel, ServerArgs};
use netperf_measure::clock::{self, Moment};
use netperf_model::escape::escaped;
use netperf_model::{system_text, without_numbers};
use netperf_os::wait::{Interest, ready};
use serde_json::Value;

/// Largest atomic write to a pipe (pipe(7), `PIPE_BUF`).
const LONGEST: usize = 4096;

/// Rate limit of lines about refused clients. A refusal costs a client one connection and the
/// operator disk space.
pub const DENIED: (u32, Duration) = (100, Duration::from_secs(10));
/// Rate limit of lines about local failures, which may repeat ten times a second.
const FAILED: (u32, Duration) = (10, Duration::from_secs(60));

/// Folder of debug output, as in netperf 2.7.
const DEBUG_OUTPUT: &str = "/var/log";

/// Name and value of a field.
pub type LogField = (&'static str, Value);

/// Destination and filter of log events.
#[derive(Debug)]
pub struct ServerLog {
    format: LogFormat,
    level: LogLevel,
    path: Option<PathBuf>,
    file: Option<File>,
    /// True if standard error is the journal, which reads levels from a prefix (sd-daemon(3)).
    journal: bool,
    /// True if the file ends in a partial line.
    torn: bool,
    lost: u64,
    /// Rate limiters of refusals, by level.
    denied: BTreeMap<LogLevel, Flood>,
    /// Rate limiters by failed operation.
    failed: BTreeMap<String, Flood>,
}

/// Rate limiter of repeated lines.
#[derive(Debug, Default)]
pub struct Flood {
    /// End of the current interval.
    until: Option<Moment>,
    written: u32,
    left_out: u64,
}

impl Flood {
    /// Number of suppressed lines, once the interval is over.
    pub fn over(&mut self) -> Option<u64> {
        self.until.filter(|until| until.left().is_zero())?;
        let left_out = self.left_out;
        *self = Self::default();
        Some(left_out).filter(|count| *count > 0)
    }

    /// Returns true if another line may be written.
    pub fn admit(&mut self, (most, within): (u32, Duration)) -> bool {
        self.until.get_or_insert_with(|| clock::now().plus(within));
        let space = self.written < most;
        if space {
            self.written += 1;
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
        space
    }
}

impl ServerLog {
    /// Opens the log that the command line describes.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(args: &ServerArgs, journal: bool) -> io::Result<Self> {
        let path = args.operations.log_file.clone();
        let path = path.map(std::path::absolute).transpose()?;
        let file = path.as_deref().map(append).transpose()?;
        let asked = args.operations.log.is_some() || file.is_some();
        // Without log options, only warnings and errors are logged.
        let usual = if asked {
            LogLevel::Info
        } else {
            LogLevel::Warn
        };
        Ok(Self {
            format: args.operations.log.unwrap_or_default(),
            level: args.operations.log_level.unwrap_or(usual),
            path,
            file,
            journal,
            torn: false,
            lost: 0,
            denied: BTreeMap::new(),
            failed: BTreeMap::new(),
        })
    }

    /// Writes every event to a new file of debug output, as `-d` asks for, unless the command
    /// line names a file or a level of the log. Without a writable folder there is no such file.
    pub fn with_debug_output(mut self, args: &ServerArgs) -> Self {
        if args.debug == 0 || self.file.is_some() || args.operations.log_level.is_some() {
            return self;
        }
        let name = format!("netserver.debug_{}", std::process::id());
        let folders = [PathBuf::from(DEBUG_OUTPUT), std::env::temp_dir()];
        self.file = new_file(&folders, &name);
        if self.file.is_some() {
            self.level = LogLevel::Debug;
        }
        self
    }

    /// Disables a log that has no file.
    pub fn only_to_file(mut self) -> Self {
        if self.file.is_none() {
            self.level = LogLevel::None;
        }
        self
    }

    /// The log file, if the options name one.
    pub fn file(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reopens the file after log rotation.
    ///
    /// # Errors
    /// Those of open(2): the log goes on in the file from before.
    pub fn reopen(&mut self) -> io::Result<()> {
        if let Some(path) = &self.path {
            self.file = Some(append(path)?);
        }
        Ok(())
    }

    /// Takes the file that was opened again, or says why there is none.
    pub fn reopened(&mut self, opened: io::Result<File>) {
        match opened {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                let path = self.path.as_deref().unwrap_or(Path::new(""));
                let file = path.display().to_string();
                let text = system_text(&error);
                let error = format!("{text}; the log goes on in the file that was open");
                let fields = [("file", file.into()), ("error", error.into())];
                self.say(LogLevel::Error, "log-file", &fields);
            }
        }
    }

    /// Returns true if events of this level are logged.
    pub fn wants(&self, level: LogLevel) -> bool {
        level <= self.level
    }

    /// Logs a refusal, within the rate limit of its level. The number of suppressed lines is
    /// logged later.
    pub fn deny(&mut self, level: LogLevel, event: &str, fields: &[LogField]) {
        self.tell_left_out();
        if self.wants(level) && self.denied.entry(level).or_default().admit(DENIED) {
            self.put(level, event, fields);
        }
    }

    /// Logs a failure, within the rate limit. The number of suppressed lines is logged later.
    pub fn fail(&mut self, what: &str, error: &io::Error) {
        self.tell_left_out();
        let flood = self.failed.entry(what.to_owned()).or_default();
        if flood.admit(FAILED) && self.wants(LogLevel::Error) {
            let fields = [("error", error.to_string().into())];
            self.put(LogLevel::Error, what, &fields);
        }
    }

    fn tell_left_out(&mut self) {
        let denied = self.denied.iter_mut().filter_map(|(level, flood)| {
            let count = flood.over()?;
            Some((*level, "denied".to_owned(), count))
        });
        let failed = self.failed.iter_mut().filter_map(|(what, flood)| {
            let count = flood.over()?;
            Some((LogLevel::Error, what.clone(), count))
        });
        let left_out: Vec<_> = failed.chain(denied).collect();
        for (level, event, count) in left_out {
            if self.wants(level) {
                self.put(level, &event, &[("left_out", count.into())]);
            }
        }
    }

    /// Writes an event, if its level is enabled.
    pub fn say(&mut self, level: LogLevel, event: &str, fields: &[LogField]) {
        self.tell_left_out();
        if self.wants(level) {
            self.put(level, event, fields);
        }
    }

    fn put(&mut self, level: LogLevel, event: &str, fields: &[LogField]) {
        let mut line = match self.format {
            LogFormat::Text => text(level, event, fields),
            LogFormat::Json => json(level, event, fields),
        };
        line = without_numbers(&line).into_owned();
        line.retain(|letter| letter != '\n');
        if line.len() >= LONGEST {
            // Only text from a client can be this long.
            line = line.chars().take(LONGEST / 8).collect();
        }
        line.push('\n');
        self.write(level, &line);
    }

    fn write(&mut self, level: LogLevel, line: &str) {
        let written = match &mut self.file {
            Some(file) => put_whole(file, &mut self.torn, line),
            None if self.journal && self.format == LogFormat::Text => {
                to_stderr(&format!("<{}>{line}", priority(level)))
            }
            None => to_stderr(line),
        };
        if !written {
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// Number of dropped lines.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

/// Creates a file in the first of these folders that permits it. Only its owner reads it, and one
/// that is there is not opened.
fn new_file(folders: &[PathBuf], name: &str) -> Option<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true).mode(0o600);
    let create = |folder: &PathBuf| options.open(folder.join(name)).ok();
    folders.iter().find_map(create)
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Writes a line to a file and returns true on success. After a partial write, as on a full
/// disk, the next call ends the partial line first.
fn put_whole(file: &mut impl io::Write, torn: &mut bool, line: &str) -> bool {
    let line = if *torn {
        format!("\n{line}")
    } else {
        line.to_owned()
    };
    match file.write(line.as_bytes()) {
        Ok(count) => {
            *torn = count < line.len();
            !*torn
        }
        Err(_) => false,
    }
}

/// Writes a line to standard error; returns true on success.
fn to_stderr(line: &str) -> bool {
    let mut stderr = io::stderr().lock();
    matches!(
        ready(stderr.as_fd(), Interest::Write, Duration::ZERO),
        Ok(true)
    ) && stderr.write_all(line.as_bytes()).is_ok()
}

/// Levels of syslog(3).
const fn priority(level: LogLevel) -> u8 {
    match level {
        LogLevel::None | LogLevel::Error => 3,
        LogLevel::Warn => 4,
        LogLevel::Info => 6,
        LogLevel::Debug => 7,
    }
}

/// Time of day in RFC 3339 format, in milliseconds.
fn time() -> String {
    let now = clock::since_epoch();
    let date = netperf_text::date::date(now.as_secs_f64()).unwrap_or_default();
    let date = date.trim_end_matches(" UTC").replace(' ', "T");
    format!("{date}.{:03}Z", now.subsec_millis())
}

fn text(level: LogLevel, event: &str, fields: &[LogField]) -> String {
    let mut line = format!("{} {} {event}", time(), level.label());
    for (name, value) in fields {
        _ = match (value.as_str(), value.as_f64()) {
            (Some(text), _) if plain(text) => write!(line, " {name}={text}"),
            // Quoted, with special characters escaped.
            (Some(text), _) => write!(line, " {name}={text:?}"),
            (None, Some(number)) if value.is_f64() => write!(line, " {name}={number:.3}"),
            (None, _) => write!(line, " {name}={value}"),
        };
    }
    line
}

/// Returns true if the text needs no quotes.
fn plain(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_graphic() && letter != '"' && letter != '=';
    !text.is_empty() && text.chars().all(plain)
}

fn json(level: LogLevel, event: &str, fields: &[LogField]) -> String {
    let (time, level, event) = (time().into(), level.label().into(), event.into());
    let fixed: [LogField; 3] = [("time", time), ("level", level), ("event", event)];
    let fields = fixed.iter().chain(fields);
    let fields: Vec<String> = fields
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    escaped(&format!("{{{}}}", fields.join(","))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::record::SessionRecord;
    use super::super::session_log::{ProcessEnd, SessionLog};
    use super::*;
    use netperf_testkit::Scratch;
    use std::os::unix::fs::PermissionsExt as _;

    const FIELDS: [(&str, &str); 2] = [("peer", "192.0.2.1:7"), ("error", "a \"b\"\n\u{1b}[31m")];

    fn fields() -> Vec<LogField> {
        FIELDS
            .iter()
            .map(|(name, text)| (*name, Value::from(*text)))
            .collect()
    }

    #[test]
    fn debug_output_goes_to_a_new_file_of_its_owner_in_the_first_folder_that_permits() {
        let scratch = Scratch::new();
        let folder = scratch.path().to_owned();
        let folders = [folder.join("absent"), folder.clone()];
        assert!(new_file(&folders, "netserver.debug_7").is_some());
        let mode = std::fs::metadata(folder.join("netserver.debug_7")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        assert!(new_file(&folders, "netserver.debug_7").is_none());
    }

    #[test]
    fn text_of_a_stranger_stays_in_its_quotes() {
        let line = text(LogLevel::Warn, "accept", &fields());
        assert!(
            line.ends_with(r#" warn accept peer=192.0.2.1:7 error="a \"b\"\n\u{1b}[31m""#),
            "{line}"
        );
    }

    #[test]
    fn threat_model_of_a_flood_of_strangers_so_many_are_written_and_the_rest_counted() {
        let mut denials = Flood::default();
        let written = (0..DENIED.0 + 7).filter(|_| denials.admit(DENIED)).count();
        assert_eq!(written, usize::try_from(DENIED.0).unwrap());
        assert_eq!(denials.over(), None, "their time is not over");
        denials.until = Some(clock::now());
        assert_eq!(denials.over(), Some(7));
        assert_eq!(denials.over(), None, "told once");
        assert!(denials.admit(DENIED));
        denials.until = Some(clock::now());
        assert_eq!(denials.over(), None, "nothing was left out");
    }

    #[test]
    fn refusals_of_each_level_are_limited() {
        use std::io::{Read as _, Seek as _};
        let mut file = netperf_os::process::unnamed_file(&std::env::temp_dir()).unwrap();
        let mut log = to_file(&file, LogLevel::Info);
        let wrong = netperf_model::Denied::WrongKey;
        for _ in 0..DENIED.0 + 7 {
            let mut session = SessionLog::new("192.0.2.1:7".to_owned(), None);
            session.enter(SessionRecord::denied(&wrong));
            session.write(ProcessEnd::Exit(0), &mut log);
        }
        log.deny(LogLevel::Info, "denied", &fields());
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text.matches("denied=wrong-key").count(), 100, "{text}");
        assert_eq!(text.matches(" info denied ").count(), 1, "{text}");
        for flood in log.denied.values_mut() {
            flood.until = Some(clock::now());
        }
        log.say(LogLevel::Info, "stopped", &[]);
        text.clear();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert!(text.contains(" warn denied left_out=7\n"), "{text}");
    }

    /// A log of this level in a file.
    fn to_file(file: &File, level: LogLevel) -> ServerLog {
        ServerLog {
            format: LogFormat::Text,
            level,
            path: None,
            file: Some(file.try_clone().unwrap()),
            journal: false,
            torn: false,
            lost: 0,
            denied: BTreeMap::new(),
            failed: BTreeMap::new(),
        }
    }

    /// A writer with a limited capacity, bytes.
    struct Disk(Vec<u8>, usize);

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let space = self.1.min(bytes.len());
            if space == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.1 -= space;
            self.0.extend(&bytes[..space]);
            Ok(space)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_a_full_disk_cut_spoils_no_other() {
        let (mut disk, mut torn) = (Disk(Vec::new(), 6), false);
        let mut put = |disk: &mut Disk, line| put_whole(disk, &mut torn, line);
        assert!(put(&mut disk, "one\n"));
        assert!(!put(&mut disk, "two\n"));
        assert!(!put(&mut disk, "lost\n"));
        disk.1 = 100;
        assert!(put(&mut disk, "three\n"));
        assert!(put(&mut disk, "four\n"));
        assert_eq!(disk.0, b"one\ntw\nthree\nfour\n");
    }

    #[test]
    fn a_line_of_json_says_the_same() {
        let line = json(LogLevel::Info, "session", &fields());
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["event"], "session");
        assert_eq!(read["error"], "a \"b\"\n\u{1b}[31m");
        let time = read["time"].as_str().unwrap();
        assert_eq!(time.len(), "2026-01-02T03:04:05.678Z".len(), "{time}");
    }

    #[test]
    fn a_failure_that_comes_again_and_again_does_not_fill_the_log() {
        use std::io::{Read as _, Seek as _};
        let file = netperf_os::process::unnamed_file(&std::env::temp_dir()).unwrap();
        let mut log = to_file(&file, LogLevel::Error);
        for _ in 0..FAILED.0 + 5 {
            log.fail("accept", &io::ErrorKind::OutOfMemory.into());
        }
        log.fail("session", &io::ErrorKind::OutOfMemory.into());
        for flood in log.failed.values_mut() {
            flood.until = Some(clock::now());
        }
        log.fail("accept", &io::ErrorKind::OutOfMemory.into());
        let (mut file, mut text) = (file, String::new());
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let count = |what: &str| text.matches(what).count();
        assert_eq!(count("error accept error="), 11, "{text}");
        assert_eq!(count("error session error="), 1, "{text}");
        assert_eq!(count("error accept left_out=5"), 1, "{text}");
    }
}
