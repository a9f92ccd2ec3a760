//! A process that starts sessions while there are many. It has read the settings and waits for
//! connections: a session is a fork of it, which need not be loaded and linked again.
//!
//! It reads nothing of a client, so sessions begin with clean memory; but they share its layout. A
//! session that crashes ends the process, and the next one has another layout.

use std::ffi::CStr;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::process::{Child, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::sandbox;
use netperf_measure::clock::{self, Moment};
use netperf_model::{KeyRing, OnePort};
use netperf_os::process::{self, ChildProcess, Forked};
use netperf_os::wait::{Deadline, Interest, ready};
use netperf_os::{Socket, pass};
use netperf_program::key;

use super::own_process::{OwnProcess, RECORDS};
use super::session_process::{FOUND, settings};

/// Descriptor number of the channel to the listener.
pub(super) const STARTER: &str = "NETSERVER_STARTER";
/// Name of the process.
const NAME: &CStr = c"netserver-start";
/// Time limit for the number of a session.
const ANSWER: Duration = Duration::from_secs(1);
/// Time after a failure in which sessions are started without such a process.
const PAUSE: Duration = Duration::from_secs(10);
/// Sessions that run, or begin within [`WINDOW`], that are few: each is this program, started again.
const FEW: usize = 16;
/// Time in which starts are counted.
const WINDOW: Duration = Duration::from_secs(1);
/// Time without a start after which the process ends.
const IDLE: Duration = Duration::from_secs(2);
/// Flag of a message: there is a hand-off socket.
const HANDOFF: u8 = 1;
/// Flag of a message: there is a door to the agent.
const DOOR: u8 = 2;
/// Flag of a message: there is a door to the helper for rights.
const RIGHTS: u8 = 4;

/// What a session is given.
#[derive(Debug, Default)]
pub(super) struct Given<D> {
    /// The hand-off socket for data from the listener's port.
    pub(super) handoff: Option<D>,
    /// At which a session passes the connection of a coordinator.
    pub(super) door: Option<D>,
    /// At which a session asks for calls that take a right of root.
    pub(super) rights: Option<D>,
}

/// The process, as the listener sees it.
#[derive(Debug, Default)]
pub(super) struct SessionStarter {
    running: Option<RunningStarter>,
    /// When it last failed.
    failed: Option<Moment>,
    /// Sessions that run.
    sessions: usize,
    /// Begin of the current window, and starts in it.
    window: Option<(Moment, usize)>,
}

#[derive(Debug)]
struct RunningStarter {
    child: Child,
    channel: Socket,
    one_port: OnePort,
    keys: Option<Arc<KeyRing>>,
    used: Moment,
    /// It has read the settings.
    is_ready: bool,
}

impl SessionStarter {
    /// Starts a session over a connection, which writes its records to another descriptor. Returns
    /// its number.
    ///
    /// # Errors
    /// `Unsupported` while there are few sessions; when there are too many processes or open files, or
    /// the process that starts sessions does not answer.
    pub(super) fn start(
        &mut self,
        (args, one_port): (&ServerArgs, OnePort),
        (control, records): (BorrowedFd<'_>, BorrowedFd<'_>),
        given: &Given<BorrowedFd<'_>>,
    ) -> io::Result<i32> {
        let is_recent = |failed: Moment| failed.elapsed() < PAUSE;
        let has_few = self.count() <= FEW && self.running.is_none();
        if has_few || self.failed.is_some_and(is_recent) || key::variable("LD_PRELOAD").is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let is_other = |one: &RunningStarter| !one.is_for(args, one_port);
        if self.running.as_ref().is_some_and(is_other) {
            self.end();
        }
        if self.running.is_none() {
            self.running = Some(RunningStarter::open(args, one_port)?);
        }
        if !self.is_ready() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let started = self.ask((control, records), given);
        if started.is_err() {
            self.failed = Some(clock::now());
            self.end();
        }
        started
    }

    /// Returns whether the process has begun to wait for connections.
    fn is_ready(&mut self) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        running.used = clock::now();
        if !running.is_ready {
            let channel = running.channel.as_fd();
            let has_come = matches!(ready(channel, Interest::Read, Duration::ZERO), Ok(true));
            running.is_ready = has_come && netperf_os::io::recv(channel, &mut [0]).is_ok();
        }
        running.is_ready
    }

    /// Counts a start: starts in this window, or sessions with this one, whichever are more.
    fn count(&mut self) -> usize {
        let current = self.window.filter(|(since, _)| since.elapsed() < WINDOW);
        let (since, starts) = current.unwrap_or_else(|| (clock::now(), 0));
        self.window = Some((since, starts + 1));
        self.sessions.max(starts) + 1
    }

    /// So many sessions run.
    pub(super) const fn note_sessions(&mut self, sessions: usize) {
        self.sessions = sessions;
    }

    fn ask(
        &mut self,
        (control, records): (BorrowedFd<'_>, BorrowedFd<'_>),
        given: &Given<BorrowedFd<'_>>,
    ) -> io::Result<i32> {
        let running = self.running.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let channel = running.channel.as_fd();
        let parts = [
            (HANDOFF, given.handoff),
            (DOOR, given.door),
            (RIGHTS, given.rights),
        ];
        let flags = parts.iter().filter(|(_, fd)| fd.is_some());
        let flags = flags.fold(0, |flags, (flag, _)| flags | flag);
        // A message always has five: the connection stands for one that is missing.
        let [handoff, door, rights] = parts.map(|(_, fd)| fd.unwrap_or(control));
        let all = [control, records, handoff, door, rights];
        pass::send_five(channel, &[flags], all)?;
        // Sessions that end meanwhile interrupt the wait.
        if !Deadline::after(ANSWER).ready(channel, Interest::Read)? {
            // A session that has not answered by now cannot, and does not serve.
            running.channel.shutdown(Shutdown::Read)?;
        }
        let mut answer = [0; size_of::<i32>()];
        if netperf_os::io::recv(channel, &mut answer)? < answer.len() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let number = i32::from_ne_bytes(answer);
        match number {
            0 => Err(io::ErrorKind::Other.into()),
            1.. => Ok(number),
            ..0 => Err(io::Error::from_raw_os_error(-number)),
        }
    }

    /// When the process ends if it starts no further session.
    pub(super) fn until(&self) -> Option<Moment> {
        Some(self.running.as_ref()?.used.plus(IDLE))
    }

    /// Waits for a child of the listener that has ended and is no session: this process, or one of its
    /// sessions that began too late and did not serve. Returns whether it was one of these.
    pub(super) fn reap(&mut self, child: u32) -> bool {
        if self
            .running
            .as_ref()
            .is_some_and(|one| one.child.id() == child)
        {
            self.end();
            return true;
        }
        let name = std::fs::read_to_string(format!("/proc/{child}/comm"));
        let is_late = name.is_ok_and(|name| name.trim_end().as_bytes() == NAME.to_bytes());
        let number = i32::try_from(child).ok().filter(|_| is_late);
        number.is_some_and(|number| {
            ChildProcess::Forked(number).end();
            true
        })
    }

    /// Ends the process: the next sessions have another one.
    pub(super) fn end(&mut self) {
        if let Some(RunningStarter { mut child, .. }) = self.running.take() {
            // An error means that it has already ended.
            let _gone = child.kill();
            let _status = child.wait();
        }
    }
}

impl Drop for SessionStarter {
    fn drop(&mut self) {
        self.end();
    }
}

impl RunningStarter {
    /// Returns whether it has these settings as far as they change without a reload: those of agents
    /// change keys.
    fn is_for(&self, args: &ServerArgs, one_port: OnePort) -> bool {
        let has_keys = match (&self.keys, &args.access.keys) {
            (Some(own), Some(current)) => Arc::ptr_eq(own, current),
            (own, current) => own.is_none() && current.is_none(),
        };
        has_keys && self.one_port == one_port
    }

    fn open(args: &ServerArgs, one_port: OnePort) -> io::Result<Self> {
        let (channel, inside) = pass::pair()?;
        let mut process = OwnProcess::new(process::own_file(), &settings(args, one_port))?;
        process.set(RECORDS, "1");
        if let Some(found) = &args.access.found {
            process.set(FOUND, found.to_string());
        }
        process.give(STARTER, inside.as_fd())?;
        let command = process.command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self {
            child: process.start_itself()?,
            channel,
            one_port,
            keys: args.access.keys.clone(),
            used: clock::now(),
            is_ready: false,
        })
    }
}

/// Starts sessions until the listener closes the channel. `session` serves the connection in a
/// process of its own.
pub(super) fn serve(
    channel: &OwnedFd,
    session: impl Fn(OwnedFd, Given<OwnedFd>) -> ExitCode,
) -> ExitCode {
    process::set_name(NAME);
    // One byte says that it is ready.
    if sandbox::shield().is_err() || netperf_os::io::send(channel.as_fd(), &[0]).is_err() {
        return ExitCode::FAILURE;
    }
    let mut flags = [0];
    loop {
        match pass::receive_five(channel.as_fd(), &mut flags) {
            Ok((0, _)) => return ExitCode::SUCCESS,
            Ok((_, fds)) => {
                let begun = begin((channel, flags[0]), fds, &session);
                let failure = begun.map_err(|error| -error.raw_os_error().unwrap_or(0));
                if failure.is_err_and(|number| !answer(channel, number)) {
                    return ExitCode::FAILURE;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return ExitCode::FAILURE,
        }
    }
}

/// Sends the number of a session, or the negative number of an error. Returns whether the listener
/// waits for it.
fn answer(channel: &OwnedFd, number: i32) -> bool {
    netperf_os::io::send(channel.as_fd(), &number.to_ne_bytes()).is_ok()
}

/// Forks a session, which is a child of the listener. It answers the listener itself, and serves only
/// if that still waits.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "the new process returns to nothing of the one that started it"
)]
fn begin(
    (channel, flags): (&OwnedFd, u8),
    fds: Vec<OwnedFd>,
    session: &impl Fn(OwnedFd, Given<OwnedFd>) -> ExitCode,
) -> io::Result<()> {
    let five: Result<[OwnedFd; 5], _> = fds.try_into();
    let Ok([control, records, handoff, door, rights]) = five else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if let Forked::Parent(_) = process::fork_for_parent()? {
        return Ok(());
    }
    let own_number = i32::try_from(std::process::id()).unwrap_or_default();
    if !answer(channel, own_number) {
        std::process::exit(1);
    }
    let has = |flag: u8| flags & flag != 0;
    let given = Given {
        handoff: Some(handoff).filter(|_| has(HANDOFF)),
        door: Some(door).filter(|_| has(DOOR)),
        rights: Some(rights).filter(|_| has(RIGHTS)),
    };
    let kept = [
        given.handoff.as_ref(),
        given.door.as_ref(),
        given.rights.as_ref(),
    ];
    let kept: Vec<_> = kept
        .into_iter()
        .flatten()
        .map(|fd| fd.as_raw_fd())
        .collect();
    process::set_name(process::own_name());
    if process::begin_anew(&control, &records, &kept).is_err() {
        std::process::exit(1);
    }
    if let Some(control) = process::take_standard_input() {
        let _status = session(control, given);
    }
    std::process::exit(0);
}
