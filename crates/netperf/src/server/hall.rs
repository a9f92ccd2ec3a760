//! Where clients arrive: accepts control connections, keeps those that have said nothing
//! yet, and has a process started for each that has.
//!
//! One thread that never waits for a client. What strangers can use up is bounded: waiting
//! connections, processes, and the time that either lasts.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::time::Duration;

use netperf_cli::{LogLevel, SandboxArg, ServerArgs, ServerCommand};
use netperf_measure::clock::{self, Moment};
use netperf_model::{Crowd, Denied, OnePort, Require};
use netperf_os::signals::{self, Signal, Signals};
use netperf_os::wait::all_ready;
use netperf_os::{Socket, process};
use netperf_session::server::PASSPHRASE;

use super::account::{Account, End};
use super::desk::Desk;
use super::door::{self, Door};
use super::log::{Log, Value};
use super::metrics::{Metrics, Now};
use super::one_port::{self, Arrivals, Astray};
use super::running::Running;
use super::sandbox::Means;
use super::session;
use super::supervisor::Supervisor;

/// How long to leave accept(2) alone when it fails for want of descriptors or memory.
const BREATHER: Duration = Duration::from_millis(100);
/// poll(2) returns at least this often; nothing depends on it.
const LOOK: Duration = Duration::from_secs(3600);
/// Connections accepted in one round, so that a flood does not starve the rest.
const AT_ONCE: usize = 64;
/// The most sessions at once; further clients wait for a place.
const MOST_SESSIONS: usize = 1000;
/// The most connections that have said nothing yet.
const MOST_WAITING: usize = 4096;
/// Descriptors that are not for those who wait: listeners, pipes, standard streams.
const DESCRIPTORS_KEPT: u64 = 2 * MOST_SESSIONS as u64 / 8;

/// A connection whose client has said nothing yet.
#[derive(Debug)]
struct Waiting {
    control: Socket,
    peer: String,
    until: Moment,
}

/// Everything the listener has in its hands.
#[derive(Debug)]
pub(super) struct Hall {
    /// As they were typed, to read the file of settings again.
    argv: Vec<OsString>,
    args: ServerArgs,
    listeners: Vec<Socket>,
    signals: Signals,
    /// In the order of their arrival, and so of their ends.
    waiting: VecDeque<Waiting>,
    most_waiting: usize,
    sessions: Vec<Running>,
    door: Door,
    log: Log,
    metrics: Metrics,
    desk: Option<Desk>,
    arrivals: Arrivals,
    /// accept(2) is left alone until then.
    paused: Option<Moment>,
    /// Set when it was told to end: until then sessions may go on.
    draining: Option<Moment>,
}

/// What poll(2) found.
#[derive(Debug, Default)]
struct Found {
    listeners: Vec<usize>,
    waiting: Vec<usize>,
    sessions: Vec<usize>,
    desk: bool,
}

impl Hall {
    /// Opens the doors.
    ///
    /// # Errors
    /// When signals cannot be watched or a listener cannot be made non-blocking.
    pub(super) fn open(
        argv: &[OsString],
        args: &ServerArgs,
        listeners: Vec<Socket>,
        (log, desk): (Log, Option<Desk>),
    ) -> io::Result<Self> {
        for listener in &listeners {
            // A connection that goes away between poll and accept must not block the rest.
            listener.set_nonblocking(true)?;
        }
        // A session in this very process cannot be left to itself: a termination ends
        // both at once, as ever.
        let watched: &[Signal] = if args.no_fork {
            &[Signal::HangUp]
        } else {
            &[Signal::Terminate, Signal::HangUp, Signal::Child]
        };
        let signals = signals::watch(watched)?;
        let arrivals = Arrivals::open(&listeners, args.one_port());
        let descriptors = process::raise_open_files().unwrap_or(1024);
        let room = usize::try_from(descriptors.saturating_sub(DESCRIPTORS_KEPT) / 2);
        Ok(Self {
            argv: argv.to_vec(),
            args: args.clone(),
            listeners,
            signals,
            waiting: VecDeque::new(),
            most_waiting: room.unwrap_or(MOST_WAITING).clamp(1, MOST_WAITING),
            sessions: Vec::new(),
            door: Door::new(args.policy()),
            log,
            metrics: Metrics::default(),
            desk,
            arrivals,
            paused: None,
            draining: None,
        })
    }

    /// Serves until a signal ends it.
    pub(super) fn serve(mut self, supervisor: &Supervisor) -> ExitCode {
        let walls = match self.args.operations.sandbox {
            _ if self.args.no_fork => "off: all sessions are in this process".to_owned(),
            SandboxArg::Off => "off".to_owned(),
            SandboxArg::Auto | SandboxArg::Require => Means::find().described(),
        };
        let fields = [
            ("port", Value::from(self.args.port())),
            ("sandbox", Value::Text(walls)),
            ("one_port", Value::from(self.one_port().word())),
        ];
        self.log.say(LogLevel::Info, "listening", &fields);
        loop {
            match self.look() {
                Ok(found) => self.act(&found),
                // Without descriptors or memory to wait: later, perhaps.
                Err(error) => {
                    self.complain("poll", &error);
                    std::thread::sleep(BREATHER);
                }
            }
            while let Some(signal) = self.signals.next() {
                self.obey(signal);
                if self.draining.is_some() {
                    supervisor.tell("STOPPING=1\nSTATUS=sessions may finish");
                }
            }
            self.expire();
            self.door.look();
            self.usher();
            if self.is_over() {
                let lost = [("lines_lost", Value::Count(self.log.lost()))];
                self.log.say(LogLevel::Info, "stopped", &lost);
                signals::end_of(Signal::Terminate);
                return ExitCode::SUCCESS;
            }
        }
    }

    /// Waits for whatever comes next.
    fn look(&self) -> io::Result<Found> {
        let listeners: &[Socket] = match self.paused {
            Some(_) => &[],
            None => &self.listeners,
        };
        let full = self.sessions.len() >= MOST_SESSIONS;
        let waiting = || self.waiting.iter().filter(|_| !full);
        let with_records = || {
            let numbered = self.sessions.iter().enumerate();
            numbered.filter_map(|(index, session)| Some((index, session.fd()?)))
        };
        let mut fds: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd()];
        fds.extend(listeners.iter().map(AsFd::as_fd));
        fds.extend(waiting().map(|one| one.control.as_fd()));
        fds.extend(with_records().map(|(_, fd)| fd));
        fds.extend(self.desk.iter().flat_map(Desk::fds));
        // Last: they are looked at in every round.
        fds.extend(self.door.leaving());
        fds.extend(self.arrivals.fds());
        let ready = all_ready(&fds, self.patience())?;
        let mut ready = ready.into_iter().skip(1);
        let mut hits = |count: usize| -> Vec<usize> {
            let some = ready.by_ref().take(count).enumerate();
            some.filter_map(|(index, hit)| hit.then_some(index))
                .collect()
        };
        let listeners = hits(listeners.len());
        let waiting = hits(waiting().count());
        let sessions: Vec<usize> = with_records().map(|(index, _)| index).collect();
        let hit = hits(sessions.len());
        let sessions = hit.into_iter().filter_map(|at| sessions.get(at).copied());
        let sessions = sessions.collect();
        let desk = self.desk.iter().flat_map(Desk::fds).count();
        let desk = !hits(desk).is_empty();
        Ok(Found {
            listeners,
            waiting,
            sessions,
            desk,
        })
    }

    /// How long nothing needs to happen by itself.
    fn patience(&self) -> Duration {
        let moments = [
            self.paused,
            self.draining,
            self.waiting.front().map(|one| one.until),
            self.desk.as_ref().and_then(Desk::until),
            self.door.next(),
            self.arrivals.next(),
        ];
        let next = moments.into_iter().flatten().min();
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        next.map_or(LOOK, |next| next.left() + Duration::from_millis(1))
    }

    fn act(&mut self, found: &Found) {
        for &index in &found.sessions {
            if let Some(session) = self.sessions.get_mut(index) {
                session.read();
            }
        }
        // From the last, so that the others keep their places.
        for &index in found.waiting.iter().rev() {
            if let Some(one) = self.waiting.remove(index) {
                self.begin(one);
            }
        }
        for &index in &found.listeners {
            self.welcome(index);
        }
        if found.desk {
            self.answer();
        }
    }

    /// Answers those who ask how things are.
    fn answer(&mut self) {
        let now = Now {
            sessions: self.sessions.len(),
            waiting: self.waiting.len(),
            draining: self.draining.is_some(),
            lines_lost: self.log.lost(),
        };
        let Self { desk, metrics, .. } = self;
        let Some(desk) = desk else { return };
        desk.serve(|path| match path {
            "/metrics" => ("200 OK", metrics.text(now)),
            "/health" if now.draining => ("503 Service Unavailable", "draining\n".to_owned()),
            "/health" => ("200 OK", "serving\n".to_owned()),
            _ => ("404 Not Found", "/metrics or /health\n".to_owned()),
        });
    }

    /// Accepts what came to a listener, some of it.
    fn welcome(&mut self, index: usize) {
        for _ in 0..AT_ONCE {
            let Some(listener) = self.listeners.get(index) else {
                return;
            };
            match listener.accept() {
                Ok((control, peer)) => self.seat(control, &peer),
                Err(error) => {
                    self.survive(&error);
                    return;
                }
            }
        }
    }

    fn seat(&mut self, control: Socket, peer: &netperf_os::SockAddr) {
        if control.set_nonblocking(false).is_err() {
            return;
        }
        let policy = self.door.policy();
        if !policy.admits(door::peer_of(&control)) {
            return self.turn_away(control, described(peer), &Denied::Network);
        }
        let idle_time = policy.limits.idle_time;
        if self.waiting.len() >= self.most_waiting {
            self.make_room();
        }
        let silence = if self.args.require() != Require::None {
            PASSPHRASE
        } else {
            idle_time
        };
        self.waiting.push_back(Waiting {
            control,
            peer: described(peer),
            until: clock::now().plus(silence),
        });
    }

    /// Tells a client why it cannot come in, and the log.
    fn turn_away(&mut self, control: Socket, peer: String, denied: &Denied) {
        let fields = [
            ("peer", Value::Text(peer)),
            ("denied", Value::from(denied.word())),
            ("reason", Value::Text(denied.to_string())),
        ];
        self.metrics.denied(denied.word());
        self.log.say(LogLevel::Info, "denied", &fields);
        self.door.turn_away(control, denied);
    }

    /// The sessions that a client at this address meets.
    fn crowd(&self, peer: Option<IpAddr>) -> Crowd {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let own = self.sessions.iter().filter(|one| one.address == peer);
        Crowd {
            all: number(self.sessions.len()),
            of_peer: number(own.count()),
        }
    }

    /// Whoever has been silent longest goes: one that means to be served speaks at once.
    fn make_room(&mut self) {
        let Some(first) = self.waiting.pop_front() else {
            return;
        };
        let spoken = netperf_os::io::peek(first.control.as_fd());
        if spoken.is_ok_and(|count| count > 0) && self.sessions.len() < MOST_SESSIONS {
            self.begin(first);
        } else {
            self.unspoken(first.peer, "crowded");
        }
    }

    /// Lets go of the connection that has waited longest.
    fn show_out(&mut self, why: &str) {
        if let Some(one) = self.waiting.pop_front() {
            self.unspoken(one.peer, why);
        }
    }

    /// A client that said nothing is gone.
    fn unspoken(&mut self, peer: String, why: &str) {
        self.metrics.unspoken(why);
        let fields = [("peer", Value::Text(peer)), ("end", Value::from(why))];
        self.log.say(LogLevel::Debug, "unspoken", &fields);
    }

    /// The first bytes of a client are there, or its end.
    fn begin(&mut self, one: Waiting) {
        let Waiting { control, peer, .. } = one;
        if self.args.no_fork {
            return self.serve_here(control, peer);
        }
        if netperf_os::io::peek(control.as_fd()).ok() == Some(0) {
            return self.unspoken(peer, "finished");
        }
        if one_port::is_data(&control) {
            return self.arrivals.take(control, peer);
        }
        let address = door::peer_of(&control);
        if let Err(denied) = self.door.policy().admit(address, self.crowd(address)) {
            return self.turn_away(control, peer, &denied);
        }
        let one_port = self.one_port();
        match Running::start(control, peer, &self.args, one_port) {
            Ok(session) => self.sessions.push(session),
            Err(error) => self.complain("session", &error),
        }
    }

    /// What data comes in by the port.
    fn one_port(&self) -> OnePort {
        self.arrivals.possible(self.args.one_port())
    }

    /// Brings data that has arrived to the sessions that it is for.
    fn usher(&mut self) {
        let policy = self.door.policy();
        let admits = |address| policy.admits(Some(address));
        for astray in self.arrivals.look(&mut self.sessions, admits) {
            let denied = Denied::Token.word();
            match astray {
                Astray::Unspoken(peer, why) => self.unspoken(peer, why),
                Astray::Datagram => self.metrics.denied(denied),
                Astray::Unknown(peer) => {
                    self.metrics.denied(denied);
                    let fields = [
                        ("peer", Value::Text(peer)),
                        ("denied", Value::from(denied)),
                        ("reason", Value::Text(Denied::Token.to_string())),
                    ];
                    self.log.say(LogLevel::Info, "denied", &fields);
                }
            }
        }
    }

    /// One broken session must not end the server that serves all of them.
    fn serve_here(&mut self, control: Socket, peer: String) {
        let mut account = Account::new(peer);
        let served = std::panic::AssertUnwindSafe(|| {
            session::serve(control, &self.args, None, &mut |record| {
                account.enter(record)
            });
        });
        let end = match std::panic::catch_unwind(served) {
            Ok(()) => End::Exit(0),
            Err(_) => End::Exit(101),
        };
        account.write(end, &mut self.log);
        self.metrics.enter(&account, end);
    }

    /// No failure of accept(2) ends the server.
    fn survive(&mut self, error: &io::Error) {
        let kind = error.kind();
        let passing = kind == io::ErrorKind::WouldBlock
            || kind == io::ErrorKind::Interrupted
            || kind == io::ErrorKind::ConnectionAborted;
        if !passing {
            self.complain("accept", error);
            self.paused = Some(clock::now().plus(BREATHER));
            // It may be descriptors that are wanting.
            self.show_out("crowded");
        }
    }

    fn obey(&mut self, signal: Signal) {
        match signal {
            Signal::Child => self.reap(),
            Signal::HangUp => {
                self.log.reopen();
                self.reload();
            }
            // Who says it twice does not want to wait.
            Signal::Interrupt | Signal::Terminate if self.draining.is_some() => {
                self.draining = Some(clock::now())
            }
            Signal::Interrupt | Signal::Terminate => self.drain(),
        }
    }

    /// Reads the file of settings again: who may use netserver, and for what. Where it is
    /// wrong everything stays as it is. Ports and users stay in any case.
    fn reload(&mut self) {
        let read = |path: &std::path::Path| std::fs::read_to_string(path);
        match netperf_cli::netserver(&self.argv, &read).command {
            Ok(ServerCommand::Serve(read)) => self.take(*read),
            // No other command serves.
            Ok(ServerCommand::Usage(_) | ServerCommand::Version(_)) => {}
            Err(error) => {
                let fields = [("error", Value::Text(error.to_string()))];
                self.log.say(LogLevel::Error, "reload", &fields);
            }
        }
    }

    /// Goes by these settings from now on, as far as they can be changed.
    fn take(&mut self, mut read: ServerArgs) {
        // The key was read with the rights of the beginning.
        read.access.secret = self.args.access.secret.take();
        read.operations = std::mem::take(&mut self.args.operations);
        if read.require() == Require::Key && read.access.secret.is_none() {
            self.args.operations = read.operations;
            let fields = [("error", Value::from("a key is required, and there is none"))];
            return self.log.say(LogLevel::Error, "reload", &fields);
        }
        self.door.change(read.policy());
        self.args = read;
        self.log.say(LogLevel::Info, "reloaded", &[]);
    }

    /// No new clients; who is being served may finish.
    fn drain(&mut self) {
        self.listeners.clear();
        self.waiting.clear();
        self.arrivals.close();
        let patience = self.args.operations.drain();
        self.draining = Some(clock::now().plus(patience));
        let fields = [
            ("sessions", count(self.sessions.len())),
            ("seconds", Value::Number(patience.as_secs_f64())),
        ];
        self.log.say(LogLevel::Info, "draining", &fields);
    }

    /// Writes the accounts of sessions that are over.
    fn reap(&mut self) {
        let mut index = 0;
        while let Some(session) = self.sessions.get_mut(index) {
            if let Some(end) = session.ended() {
                self.close(index, end);
            } else {
                index += 1;
            }
        }
    }

    fn close(&mut self, index: usize, end: End) {
        let mut session = self.sessions.swap_remove(index);
        session.read();
        session.account.write(end, &mut self.log);
        self.metrics.enter(&session.account, end);
    }

    /// Ends what has lasted long enough.
    fn expire(&mut self) {
        let over = |moment: Moment| moment.left().is_zero();
        if self.paused.is_some_and(over) {
            self.paused = None;
        }
        while self.waiting.front().is_some_and(|one| over(one.until)) {
            self.show_out("silent");
        }
        if self.desk.as_ref().and_then(Desk::until).is_some_and(over) {
            self.answer();
        }
        if self.draining.is_some_and(over) {
            while let Some(session) = self.sessions.last_mut() {
                let end = session.kill();
                self.close(self.sessions.len() - 1, end);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.draining.is_some() && self.sessions.is_empty()
    }

    fn complain(&mut self, what: &str, error: &io::Error) {
        self.metrics.failed(what);
        let fields = [("error", Value::Text(error.to_string()))];
        self.log.say(LogLevel::Error, what, &fields);
    }
}

fn count(number: usize) -> Value {
    Value::Count(u64::try_from(number).unwrap_or(u64::MAX))
}

/// An address as a log has it.
pub(super) fn described(peer: &netperf_os::SockAddr) -> String {
    if let Some(address) = peer.as_socket() {
        let canonical = address.ip().to_canonical();
        return std::net::SocketAddr::new(canonical, address.port()).to_string();
    }
    match netperf_os::address::as_vsock(peer) {
        Some((cid, port)) => format!("vsock:{cid}:{port}"),
        None => "unknown".to_owned(),
    }
}
