//! Where clients arrive: accepts control connections, keeps those that have not said all of
//! their first message yet, and has a process started for each that has.
//!
//! One thread that never waits for a client. What strangers can use up is bounded: waiting
//! connections, processes, and the time that either lasts.

mod entrance;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use netperf_cli::{LogLevel, SandboxArg, ServerArgs, ServerCommand};
use netperf_measure::clock::{self, Moment};
use netperf_model::Require;
use netperf_os::signals::{self, Signal, Signals};
use netperf_os::{Socket, process};
use netperf_session::server::PASSPHRASE;

use super::account::{Account, End};
use super::desk::Desk;
use super::door::Door;
use super::guests::{self, Guests, Patience};
use super::log::{Log, Value};
use super::metrics::{Metrics, Now};
use super::one_port::Arrivals;
use super::porter::{Porter, Stir, Who};
use super::running::Running;
use super::sandbox::Means;
use super::session;
use super::supervisor::Supervisor;

/// How long to leave accept(2) alone when it fails for want of descriptors or memory.
const BREATHER: Duration = Duration::from_millis(100);
/// epoll_wait(2) returns at least this often; nothing depends on it.
const LOOK: Duration = Duration::from_secs(3600);
/// The most sessions at once; further clients wait for a place.
const MOST_SESSIONS: usize = 1000;
/// The most connections that are not served yet.
const MOST_WAITING: usize = 4096;
/// Descriptors that are not for those who wait: listeners, pipes, standard streams.
const DESCRIPTORS_KEPT: u64 = 2 * MOST_SESSIONS as u64 / 8;

/// Everything the listener has in its hands.
#[derive(Debug)]
pub(super) struct Hall {
    /// As they were typed, to read the file of settings again.
    argv: Vec<OsString>,
    args: ServerArgs,
    listeners: Vec<Socket>,
    signals: Signals,
    porter: Porter,
    guests: Guests,
    most_waiting: usize,
    sessions: Vec<Running>,
    /// How many sessions there have been.
    begun: u64,
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
        let porter = Porter::new()?;
        for (number, listener) in (0..).zip(&listeners) {
            // A connection that goes away before it is accepted must not block the rest.
            listener.set_nonblocking(true)?;
            guests::expect_words(listener);
            porter.watch(listener.as_fd(), Who::Listener(number))?;
        }
        // A session in this very process cannot be left to itself: a termination ends
        // both at once, as ever.
        let watched: &[Signal] = if args.no_fork {
            &[Signal::HangUp]
        } else {
            &[Signal::Terminate, Signal::HangUp, Signal::Child]
        };
        let signals = signals::watch(watched)?;
        porter.watch(signals.as_fd(), Who::Signals)?;
        if let Some(desk) = &desk {
            desk.be_heard(&porter)?;
        }
        let arrivals = Arrivals::open(&listeners, args.one_port(), &porter);
        let descriptors = process::raise_open_files().unwrap_or(1024);
        let room = usize::try_from(descriptors.saturating_sub(DESCRIPTORS_KEPT) / 2);
        Ok(Self {
            argv: argv.to_vec(),
            args: args.clone(),
            listeners,
            signals,
            porter,
            guests: Guests::default(),
            most_waiting: room.unwrap_or(MOST_WAITING).clamp(1, MOST_WAITING),
            sessions: Vec::new(),
            begun: 0,
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
            ("port", Value::Text(self.ports())),
            ("sandbox", Value::Text(walls)),
            ("one_port", Value::from(self.one_port().word())),
        ];
        self.log.say(LogLevel::Info, "listening", &fields);
        loop {
            match self.porter.wait(self.patience()) {
                Ok(stirs) => self.act(&stirs, supervisor),
                // Without memory to wait: later, perhaps.
                Err(error) => {
                    self.complain("poll", &error);
                    std::thread::sleep(BREATHER);
                }
            }
            self.expire();
            if self.is_over() {
                let lost = [("lines_lost", Value::Count(self.log.lost()))];
                self.log.say(LogLevel::Info, "stopped", &lost);
                signals::end_of(Signal::Terminate);
                return ExitCode::SUCCESS;
            }
        }
    }

    /// Where it really listens, which a supervisor may have decided.
    fn ports(&self) -> String {
        let at = |listener: &Socket| listener.local_addr().ok()?.as_socket();
        let ports = self.listeners.iter().filter_map(at);
        let ports: BTreeSet<u16> = ports.map(|at| at.port()).collect();
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        ports.join(",")
    }

    /// How long nothing needs to happen by itself.
    fn patience(&self) -> Duration {
        let moments = [
            self.paused,
            self.draining,
            self.guests.next(self.waits()),
            self.desk.as_ref().and_then(Desk::until),
            self.door.next(),
            self.arrivals.next(),
        ];
        let next = moments.into_iter().flatten().min();
        next.map_or(LOOK, Moment::left)
    }

    /// How long those in the crowd may wait.
    fn waits(&self) -> Patience {
        let idle_time = self.door.policy().limits.idle_time;
        let silent = if self.args.require() == Require::None {
            idle_time
        } else {
            PASSPHRASE
        };
        Patience {
            silent,
            place: idle_time,
        }
    }

    /// Does what those who stirred want.
    fn act(&mut self, stirs: &[Stir], supervisor: &Supervisor) {
        let stirred = |one: Who| stirs.iter().any(|stir| stir.who == one);
        for Stir { who, ended } in stirs {
            match *who {
                Who::Session(number) => self.read(number),
                Who::Waiting(number) => {
                    if let Some(one) = self.guests.take(number) {
                        self.hear(one, *ended);
                    }
                }
                Who::Arriving(number) => {
                    let Self { arrivals, .. } = self;
                    let astray = arrivals.hear(number, *ended, &mut self.sessions, &self.porter);
                    self.lose(astray);
                }
                Who::Listener(number) => self.welcome(number),
                Who::Signals | Who::Desk | Who::Leaving | Who::Knocks => {}
            }
        }
        if stirred(Who::Knocks) {
            self.answer_knocks();
        }
        if stirred(Who::Desk) {
            self.answer();
        }
        if stirred(Who::Leaving) {
            self.door.look(&self.porter);
        }
        if stirred(Who::Signals) {
            while let Some(signal) = self.signals.next() {
                self.obey(signal);
                if self.draining.is_some() {
                    supervisor.tell("STOPPING=1\nSTATUS=sessions may finish");
                }
            }
        }
    }

    /// Reads what a session has written, some of it.
    fn read(&mut self, number: u64) {
        let mut sessions = self.sessions.iter_mut();
        let Some(session) = sessions.find(|one| one.number == number) else {
            return;
        };
        let more = session.read();
        if let Some(fd) = session.fd().filter(|_| more) {
            // What there is is told again; or it is read when the session is over.
            let _late = self.porter.rename(fd, Who::Session(number));
        }
    }

    /// Answers those who ask how things are.
    fn answer(&mut self) {
        let now = Now {
            sessions: self.sessions.len(),
            waiting: self.guests.len(),
            draining: self.draining.is_some(),
            lines_lost: self.log.lost(),
        };
        let Self {
            desk,
            metrics,
            porter,
            ..
        } = self;
        let Some(desk) = desk else { return };
        desk.serve(porter, |path| match path {
            "/metrics" => ("200 OK", metrics.text(now)),
            "/health" if now.draining => ("503 Service Unavailable", "draining\n".to_owned()),
            "/health" => ("200 OK", "serving\n".to_owned()),
            _ => ("404 Not Found", "/metrics or /health\n".to_owned()),
        });
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
            self.pause(Some(clock::now().plus(BREATHER)));
            // It may be descriptors that are wanting.
            if let Some(one) = self.guests.take_stalest() {
                self.unspoken(&one.peer, "crowded");
            }
        }
    }

    /// Leaves the listeners alone until then, or no longer.
    fn pause(&mut self, until: Option<Moment>) {
        self.paused = until;
        for (number, listener) in (0..).zip(&self.listeners) {
            let (fd, who) = (listener.as_fd(), Who::Listener(number));
            // One that is not left alone is complained of again.
            let _in_vain = self.porter.pause(fd, who, until.is_some());
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
        let read = |path: &std::path::Path| {
            // A pipe that nobody writes to would keep everybody waiting.
            if !std::fs::metadata(path)?.is_file() {
                return Err(io::Error::other("it is no file that can be read again"));
            }
            std::fs::read_to_string(path)
        };
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
        for listener in self.listeners.drain(..) {
            // A supervisor has it, too.
            self.porter.forget(listener.as_fd());
        }
        self.guests.clear();
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
        while self.sessions.len() < MOST_SESSIONS {
            let Some(next) = self.guests.take_whole() else {
                return;
            };
            self.begin(next);
        }
    }

    fn close(&mut self, index: usize, end: End) {
        let mut session = self.sessions.swap_remove(index);
        session.read_the_rest();
        session.account.write(end, &mut self.log);
        self.metrics.enter(&session.account, end);
    }

    /// Ends what has lasted long enough.
    fn expire(&mut self) {
        let over = |moment: Moment| moment.left().is_zero();
        if self.paused.is_some_and(over) {
            self.pause(None);
        }
        let (waits, now) = (self.waits(), clock::now());
        while let Some((one, why)) = self.guests.take_overdue(waits, now) {
            self.unspoken(&one.peer, why);
        }
        if self.door.next().is_some_and(over) {
            self.door.look(&self.porter);
        }
        if self.arrivals.next().is_some() {
            let astray = self.arrivals.look(&mut self.sessions);
            self.lose(astray);
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
        self.log.fail(what, error);
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
