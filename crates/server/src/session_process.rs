//! A session process, as the listener sees it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::record::{Grant, SessionQuestion, SessionRecord};
use netperf_daemon::session_log::{ProcessEnd, SessionLog};
use netperf_daemon::supervisor;
use netperf_measure::clock::Moment;
use netperf_model::{EndNeeds, OnePort};
use netperf_os::process::{self, ChildProcess};
use netperf_os::{Socket, pass, rights};
use netperf_program::key;
use netperf_program::session_settings::{DESCRIPTOR, SessionSettings};

use super::admission;
use super::agent::SESSION_DOOR;
use super::proofs::ProofSource;
use super::served_protocol::ServedProtocol;

/// Set for a session process, which writes records to its standard output.
pub(super) const RECORDS: &str = "NETSERVER_RECORDS";
/// Variable with the transports and features that the listener found on its host.
pub(super) const FOUND: &str = "NETSERVER_FOUND";
/// Descriptor number of the session's hand-off socket for data from the listener's port.
pub(super) const HANDOFF: &str = "NETSERVER_HANDOFF";
/// Descriptor number of the socket for calls that take a right of root.
pub(super) const RIGHTS: &str = "NETSERVER_RIGHTS";
/// What the session serves: a word of [`ServedProtocol`].
pub(super) const PROTOCOL: &str = "NETSERVER_PROTOCOL";
/// Limit of a record's length, bytes.
const LONGEST: usize = 512;
/// Reads per round, so that a session that floods does not block the other clients.
const AT_ONCE: usize = 64;
/// Time without a record after which a session without a test is idle.
const IDLE: Duration = Duration::from_secs(10);
/// Rounds of reads after the end of a session: enough for a full pipe.
const LAST_ROUNDS: usize = 64;

/// A running session.
#[derive(Debug)]
pub(super) struct SessionProcess {
    /// Unique number.
    pub(super) number: u64,
    child: ChildProcess,
    /// `None` once the session closed it.
    records: Option<File>,
    text: Vec<u8>,
    /// Source of the client and time limit of its proof, until it has proven the key.
    pub(super) unproven: Option<(ProofSource, Moment)>,
    /// A question that has no answer yet.
    asked: Option<(u32, SessionQuestion)>,
    /// Number of reloads before its start: it has the settings from then.
    pub(super) reloads: u64,
    /// What the current test needs.
    pub(super) needs: EndNeeds,
    /// Summary for the log.
    pub(super) session_log: SessionLog,
    /// Client address; `None` if it is not an IP address.
    pub(super) address: Option<IpAddr>,
}

impl SessionProcess {
    /// Starts this program again with the connection as standard input, as inetd would. Returns
    /// the listener's end of the hand-off socket, too, if data may use the listener's port.
    ///
    /// # Errors
    /// When there are too many processes or open files.
    pub(super) fn start(
        number: u64,
        (control, peer): (Socket, String),
        args: &ServerArgs,
        (one_port, door): (OnePort, Option<BorrowedFd<'_>>),
        protocol: ServedProtocol,
    ) -> io::Result<(Self, Option<Socket>)> {
        let address = admission::peer_of(&control);
        let handoff = match one_port {
            OnePort::Off => None,
            OnePort::Tcp | OnePort::On => Some(pass::pair()?),
        };
        if let Some((_, inside)) = &handoff {
            // No other process is started before this descriptor is closed.
            pass::keep_on_exec(inside.as_fd())?;
        }
        let handoff_number = handoff
            .as_ref()
            .map(|(_, inside)| inside.as_raw_fd().to_string());
        // The listener answers on the same socket.
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        if let Some(door) = door {
            pass::keep_on_exec(door)?;
        }
        let here = admission::is_local(&control);
        let rights = inherited_rights(here)?;
        let (kept_control, kept_writer) = (OwnedFd::from(control), OwnedFd::from(writer));
        let start_itself = || {
            // A limit of file sizes may leave no room for the settings.
            let settings = settings(args, one_port).to_file()?;
            pass::keep_on_exec(settings.as_fd())?;
            let found = args.access.found.as_ref();
            let mut command = Command::new(process::own_file());
            command
                .env_clear()
                .envs(inherited_variables())
                .env(RECORDS, "1")
                .env(PROTOCOL, protocol.label())
                .env(DESCRIPTOR, settings.as_raw_fd().to_string())
                .envs(found.map(|found| (FOUND, found.to_string())))
                .envs(handoff_number.map(|number| (HANDOFF, number)))
                .envs(rights)
                .envs(door.map(|door| (SESSION_DOOR, door.as_raw_fd().to_string())))
                .stdin(Stdio::from(kept_control.try_clone()?))
                .stdout(Stdio::from(kept_writer.try_clone()?))
                .stderr(Stdio::null());
            process::start_itself(process::own_name(), &mut command)
        };
        let started = start_itself();
        let forked = ForkedSession(args, one_port, protocol);
        let child = match started {
            Ok(child) => ChildProcess::Started(child),
            // The program may be gone, or not executable for this user.
            Err(_) => forked.start(
                (&kept_control, &kept_writer),
                handoff.as_ref().map(|(_, inside)| inside),
                door,
            )?,
        };
        let session = Self {
            number,
            child,
            records: Some(File::from(OwnedFd::from(reader))),
            text: Vec::new(),
            unproven: None,
            asked: None,
            reloads: 0,
            needs: EndNeeds::default(),
            session_log: SessionLog::new(peer, args.access.keys.clone()),
            address,
        };
        Ok((session, handoff.map(|(outside, _)| outside)))
    }

    /// Descriptor of the records, while open.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.records.as_ref().map(AsFd::as_fd)
    }

    /// Reads records, up to a limit. Returns true if there may be more.
    pub(super) fn read(&mut self) -> bool {
        let mut chunk = [0; LONGEST];
        for _ in 0..AT_ONCE {
            let Some(records) = &mut self.records else {
                return false;
            };
            match records.read(&mut chunk) {
                Ok(0) => self.records = None,
                Ok(count) => self.take(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => self.records = None,
            }
        }
        true
    }

    /// Reads the remaining records after the end.
    pub(super) fn read_the_rest(&mut self) {
        // Another process may hold the pipe open, so the number of rounds is limited.
        let _all = (0..LAST_ROUNDS).all(|_| self.read());
    }

    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.text);
                let line = String::from_utf8(line).ok();
                if let Some(record) = line.as_deref().and_then(SessionRecord::parse) {
                    if let SessionRecord::Asks(number, question) = record {
                        self.asked = Some((number, question));
                    }
                    self.session_log.enter(record);
                }
            } else if self.text.len() < LONGEST {
                self.text.push(byte);
            }
        }
    }

    /// Returns true if it has proven what it must, and neither runs nor prepares a test.
    pub(super) fn is_idle(&self) -> bool {
        let quiet = self.session_log.quiet() >= IDLE;
        quiet && self.unproven.is_none() && self.needs == EndNeeds::default()
    }

    /// A question that has no answer yet.
    pub(super) fn asks(&mut self) -> Option<(u32, SessionQuestion)> {
        self.asked.take()
    }

    /// Answers the question with this number.
    pub(super) fn answer(&mut self, number: u32, grant: Grant) {
        if let Some(records) = &mut self.records {
            // A session that is gone needs no answer.
            let _gone = records.write(&grant.bytes(number));
        }
    }

    /// End of the process, if it has ended.
    pub(super) fn ended(&mut self) -> Option<ProcessEnd> {
        match self.child.try_wait() {
            Ok(status) => status.map(|status| self.cleared(end_of(status))),
            // No other code waits for these children.
            Err(_) => Some(ProcessEnd::Exit(-1)),
        }
    }

    /// Kills the process and returns its end.
    pub(super) fn kill(&mut self) -> ProcessEnd {
        if let Some(end) = self.ended() {
            return end;
        }
        self.child.end();
        self.cleared(ProcessEnd::Drained)
    }

    /// Removes the files of a session that could not do it.
    fn cleared(&self, end: ProcessEnd) -> ProcessEnd {
        if end != ProcessEnd::Exit(0) {
            netperf_transport::place::remove_socket_files(self.child.id());
        }
        end
    }
}

/// Lets the next process inherit the socket for calls that take a right of root; returns the
/// variable with its number. `here` if it serves a client on this host.
pub(super) fn inherited_rights(here: bool) -> io::Result<Option<(&'static str, String)>> {
    let Some(door) = rights::door(here) else {
        return Ok(None);
    };
    pass::keep_on_exec(door)?;
    Ok(Some((RIGHTS, door.as_raw_fd().to_string())))
}

/// Serves a session in a process that was forked, from its control connection, its hand-off socket
/// and the door of the agent.
type ServeForked =
    fn(OwnedFd, &ServerArgs, (Option<Socket>, Option<OwnedFd>), ServedProtocol) -> ExitCode;

static SERVE_FORKED: OnceLock<ServeForked> = OnceLock::new();

/// Has sessions that are forked served so.
pub(super) fn serve_forked_by(serve: ServeForked) {
    let _set_before = SERVE_FORKED.set(serve);
}

/// A session in a process that the listener forks, with the listener's settings.
struct ForkedSession<'a>(&'a ServerArgs, OnePort, ServedProtocol);

impl ForkedSession<'_> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the new process returns to nothing of the listener"
    )]
    fn start(
        &self,
        (control, writer): (&OwnedFd, &OwnedFd),
        handoff: Option<&Socket>,
        door: Option<BorrowedFd<'_>>,
    ) -> io::Result<ChildProcess> {
        let Self(args, one_port, protocol) = *self;
        let serve = *SERVE_FORKED.get().ok_or(io::ErrorKind::Unsupported)?;
        let handoff = handoff.map(Socket::try_clone).transpose()?;
        let door = door.map(|door| door.try_clone_to_owned()).transpose()?;
        let control = control.try_clone()?;
        if let process::Forked::Parent(number) = process::fork()? {
            return Ok(ChildProcess::Forked(number));
        }
        let mut args = args.clone();
        args.access.one_port = Some(one_port);
        let kept = [
            Some(control.as_raw_fd()),
            handoff.as_ref().map(AsRawFd::as_raw_fd),
            door.as_ref().map(AsRawFd::as_raw_fd),
            rights::door(false).map(|door| door.as_raw_fd()),
        ];
        let kept: Vec<_> = kept.into_iter().flatten().collect();
        process::set_name(process::own_name());
        if process::begin_anew(&control, writer, &kept).is_err() {
            std::process::exit(1);
        }
        let _status = serve(control, &args, (handoff, door), protocol);
        std::process::exit(0);
    }
}

/// Settings of a session.
pub(super) fn settings(args: &ServerArgs, one_port: OnePort) -> SessionSettings {
    let operations = &args.operations;
    let mut words: Vec<OsString> = args.session_words().into_iter().map(Into::into).collect();
    words.push(format!("--sandbox={}", operations.sandbox.label()).into());
    words.push(format!("--one-port={}", one_port.label()).into());
    if let Some(files) = &operations.files {
        words.extend(["--files".into(), files.into()]);
    }
    SessionSettings {
        words,
        passphrase: args.passphrase.clone(),
        keys: args.access.keys.clone(),
    }
}

/// Variables that a session inherits. A preloaded library may need any, so only those of the key
/// and of the supervisor are left out then.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment of another process"
)]
pub(super) fn inherited_variables() -> impl Iterator<Item = (OsString, OsString)> {
    let preloaded = std::env::var_os("LD_PRELOAD").is_some();
    std::env::vars_os().filter(move |(name, _)| {
        let is_one_of = |names: &[&str]| names.iter().any(|one| name == *one);
        if preloaded {
            !is_one_of(&[key::FILE, key::KEY, HANDOFF, RIGHTS])
                && !is_one_of(&supervisor::VARIABLES)
        } else {
            is_one_of(&["LD_LIBRARY_PATH", "TMPDIR"])
        }
    })
}

fn end_of(status: ExitStatus) -> ProcessEnd {
    match status.signal() {
        Some(signal) => ProcessEnd::Signal(signal),
        None => ProcessEnd::Exit(status.code().unwrap_or(-1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_never_stops_writing_is_read_a_piece_at_a_time() {
        let (reader, writer) = process::pipe().unwrap();
        netperf_os::io::set_nonblocking(reader.as_fd(), true).unwrap();
        let talker = Command::new("yes")
            .arg("ran tcp rr 1 2 3 1.0")
            .stdout(Stdio::from(writer))
            .spawn();
        let mut session = SessionProcess {
            number: 1,
            child: ChildProcess::Started(talker.unwrap()),
            records: Some(File::from(reader)),
            text: Vec::new(),
            unproven: None,
            asked: None,
            reloads: 0,
            needs: EndNeeds::default(),
            session_log: SessionLog::new("192.0.2.1:7".to_owned(), None),
            address: None,
        };
        // The scheduler determines which read finds the pipe full.
        let more =
            netperf_testkit::eventually(std::time::Duration::from_secs(20), || session.read());
        assert!(more && session.session_log.ran > 0);
        assert_eq!(session.kill(), ProcessEnd::Drained);
        session.read_the_rest();
        assert!(!session.read(), "all has been read");
    }
}
