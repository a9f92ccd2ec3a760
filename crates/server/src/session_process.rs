//! A session process, as the listener sees it.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::sync::OnceLock;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::record::{Grant, SessionQuestion, SessionRecord};
use netperf_daemon::session_log::{ProcessEnd, SessionLog};
use netperf_measure::clock::Moment;
use netperf_model::{EndNeeds, OnePort};
use netperf_os::process::{self, ChildProcess};
use netperf_os::{Socket, pass, rights};
use netperf_program::session_settings::SessionSettings;

use super::admission;
use super::agent::SESSION_DOOR;
use super::own_process::{HANDOFF, OwnProcess, RecordLines};
use super::proofs::ProofSource;
use super::served_protocol::ServedProtocol;
use super::session_starter::{Given, SessionStarter};

/// Variable with the transports and features that the listener found on its host.
pub(super) const FOUND: &str = "NETSERVER_FOUND";
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
    records: RecordLines,
    /// Source of the client and time limit of its proof, until it has proven the key.
    pub(super) unproven: Option<(ProofSource, Moment)>,
    /// A question that has no answer yet.
    asked: Option<(u32, SessionQuestion)>,
    /// Number of reloads before its start: it has the settings from then.
    pub(super) reloads: u64,
    /// Requirements of the current test.
    pub(super) needs: EndNeeds,
    /// Summary for the log.
    pub(super) session_log: SessionLog,
    /// Client address; `None` if it is not an IP address.
    pub(super) address: Option<IpAddr>,
}

impl SessionProcess {
    /// Starts a process with the connection as standard input, as inetd would: by the starter of
    /// sessions, or else as this program again. Returns the listener's end of the hand-off socket,
    /// too, if data may use the listener's port.
    ///
    /// # Errors
    /// When there are too many processes or open files.
    pub(super) fn start(
        number: u64,
        (control, peer): (Socket, String),
        args: &ServerArgs,
        (one_port, door): (OnePort, Option<BorrowedFd<'_>>),
        protocol: ServedProtocol,
        starter: Option<&mut SessionStarter>,
    ) -> io::Result<(Self, Option<Socket>)> {
        let address = admission::peer_of(&control);
        let handoff = match one_port {
            OnePort::Off => None,
            OnePort::Tcp | OnePort::On => Some(pass::pair()?),
        };
        let (records, writer) = RecordLines::pair()?;
        let here = admission::is_local(&control);
        let kept_control = OwnedFd::from(control);
        let start_itself = || {
            let settings = settings(args, one_port);
            let mut process = OwnProcess::itself(&settings, protocol, here)?;
            if let Some(found) = &args.access.found {
                process.set(FOUND, found.to_string());
            }
            let inside = handoff.as_ref().map(|(_, inside)| inside.as_fd());
            for (name, fd) in [(HANDOFF, inside), (SESSION_DOOR, door)] {
                fd.map_or(Ok(()), |fd| process.give(name, fd))?;
            }
            process.streams(kept_control.try_clone()?, writer.try_clone()?);
            process.start_itself()
        };
        let by_starter = starter.and_then(|starter| {
            let given = Given {
                handoff: handoff.as_ref().map(|(_, inside)| inside.as_fd()),
                door,
                rights: rights::door(here),
            };
            let streams = (kept_control.as_fd(), writer.as_fd());
            starter.start((args, one_port), streams, &given).ok()
        });
        let started = match by_starter {
            Some(number) => Ok(ChildProcess::Forked(number)),
            None => start_itself().map(ChildProcess::Started),
        };
        let forked = ForkedSession(args, one_port, protocol);
        let child = match started {
            Ok(child) => child,
            // The program may be gone, or not executable for this user.
            Err(_) => forked.start(
                (&kept_control, &writer),
                handoff.as_ref().map(|(_, inside)| inside),
                door,
            )?,
        };
        let session = Self {
            number,
            child,
            records,
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
        self.records.fd()
    }

    /// Reads records, up to a limit. Returns true if there may be more.
    pub(super) fn read(&mut self) -> bool {
        let (lines, more) = self.records.read();
        for record in lines.iter().filter_map(|line| SessionRecord::parse(line)) {
            if let SessionRecord::Asks(number, question) = record {
                self.asked = Some((number, question));
            }
            self.session_log.enter(record);
        }
        more
    }

    /// Reads the remaining records after the end.
    pub(super) fn read_the_rest(&mut self) {
        // Another process may hold the pipe open, so the number of rounds is limited.
        let _all = (0..LAST_ROUNDS).all(|_| self.read());
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
        self.records.answer(&grant.bytes(number));
    }

    /// Number of the process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
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

/// Serves a session in a process that was forked, from its control connection and what it is given.
type ServeForked = fn(OwnedFd, &ServerArgs, Given<OwnedFd>, ServedProtocol) -> ExitCode;

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
        let given = Given {
            handoff: handoff.map(OwnedFd::from),
            door,
            // That of this process stays.
            rights: None,
        };
        let _status = serve(control, &args, given, protocol);
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

fn end_of(status: ExitStatus) -> ProcessEnd {
    match status.signal() {
        Some(signal) => ProcessEnd::Signal(signal),
        None => ProcessEnd::Exit(status.code().unwrap_or(-1)),
    }
}
