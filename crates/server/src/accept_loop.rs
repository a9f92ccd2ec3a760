//! Accept loop. Holds a connection until its first message is complete, then starts a session
//! process.
//!
//! A single thread that never blocks on a client. Pending connections, processes and their
//! lifetimes are all bounded, so that unauthenticated clients cannot exhaust resources.

mod campaign;
mod grants;
mod incoming;
mod input;
mod iperf2;
mod reload;
mod unproven;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use netperf_cli::{LogLevel, SandboxArg, ServerArgs};
use netperf_daemon::file_helper::FileHelper;
use netperf_daemon::log::ServerLog;
use netperf_daemon::metrics::{Gauges, Metrics};
use netperf_daemon::metrics_server::MetricsServer;
use netperf_daemon::poller::{PollEvent, PollToken, ServerPoller};
use netperf_daemon::sandbox::Means;
use netperf_daemon::session_log::{ProcessEnd, SessionLog};
use netperf_daemon::supervisor::Supervisor;
use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, Require};
use netperf_os::Socket;
use netperf_os::process;
use netperf_os::signals::{self, Signal, Signals};
use netperf_program::output::{FAILED, Failure};
use netperf_session::server::PASSPHRASE;
use netperf_transport::registry;

use super::admission::Admission;
use super::agent::AgentProcess;
use super::host_limits::HostLimits;
use super::iperf2::{DatagramWorker, Iperf2Sockets};
use super::iperf3::{Iperf3Port, Iperf3Sockets};
use super::one_port::DataArrivals;
use super::pending::{self, PendingConnection, PendingConnections, WaitLimits};
use super::proofs::{PROOF_TIME, ProofPool};
use super::served_protocol::ServedProtocol;
use super::session;
use super::session_process::SessionProcess;
use super::session_starter::SessionStarter;
use super::start_rates::StartRates;

/// Pause after accept(2) fails for lack of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Longest wait of epoll_wait(2); nothing depends on it.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// State of the listener.
#[derive(Debug)]
pub(super) struct AcceptLoop {
    /// Original command line, for reading the configuration file again.
    argv: Vec<OsString>,
    pub(super) args: ServerArgs,
    listeners: Vec<Socket>,
    /// The protocol of each.
    protocols: Vec<ServedProtocol>,
    /// Processes that serve datagrams of iperf 2.
    datagram_workers: Vec<DatagramWorker>,
    signals: Signals,
    pub(super) poller: ServerPoller,
    pending: PendingConnections,
    most_waiting: usize,
    pub(super) host: HostLimits,
    pub(super) sessions: Vec<SessionProcess>,
    starter: SessionStarter,
    proofs: ProofPool,
    starts: StartRates,
    /// Number of sessions started.
    pub(super) started: u64,
    pub(super) admission: Admission,
    pub(super) log: ServerLog,
    metrics: Metrics,
    metrics_server: Option<MetricsServer>,
    data_arrivals: DataArrivals,
    pub(super) iperf3: Iperf3Port,
    /// Reads the key file and the file of settings again.
    files: Option<FileHelper>,
    /// Number of times that settings were read again.
    pub(super) reloads: u64,
    /// The agent of campaigns.
    agent: Option<AgentProcess>,
    /// accept(2) is suspended until then.
    paused: Option<Moment>,
    /// Deadline for running sessions after a termination signal.
    draining: Option<Moment>,
    /// Why netserver ends without being told to.
    failed: Option<String>,
    /// Standard input has ended, and netserver ends with it.
    input_ended: bool,
}

impl AcceptLoop {
    /// Prepares the listeners.
    ///
    /// # Errors
    /// When signals cannot be watched or a listener cannot be made non-blocking.
    pub(super) fn open(
        argv: &[OsString],
        args: &ServerArgs,
        (mut listeners, of_iperf3, iperf2): (Vec<Socket>, Iperf3Sockets, Iperf2Sockets),
        (log, metrics_server): (ServerLog, Option<MetricsServer>),
        (files, agent): (Option<FileHelper>, Option<AgentProcess>),
    ) -> io::Result<Self> {
        let poller = ServerPoller::new()?;
        let host = HostLimits::find();
        let handed = (args.one_port(), host.handed());
        let data_arrivals = DataArrivals::open(&listeners, handed, &poller)?;
        let mut protocols = vec![ServedProtocol::Netperf; listeners.len()];
        for (more, protocol) in [
            (iperf2.listeners, ServedProtocol::Iperf2),
            (of_iperf3.listeners, ServedProtocol::Iperf3),
        ] {
            listeners.extend(more);
            protocols.resize(listeners.len(), protocol);
        }
        for (number, listener) in (0..).zip(&listeners) {
            // A connection that is closed before accept(2) must not block the loop.
            listener.set_nonblocking(true)?;
            pending::wake_on_first_word(listener);
            poller.watch(listener.as_fd(), PollToken::Listener(number))?;
        }
        // With `-f` the session runs in this process, so a termination signal ends both at
        // once.
        let watched: &[Signal] = if args.no_fork {
            &[Signal::HangUp]
        } else {
            &[Signal::Terminate, Signal::HangUp, Signal::Child]
        };
        let signals = signals::watch(watched)?;
        poller.watch(signals.as_fd(), PollToken::Signals)?;
        if let Some(metrics_server) = &metrics_server {
            metrics_server.register(&poller)?;
        }
        let iperf3 = Iperf3Port::watch(of_iperf3.datagrams, &poller)?;
        if let Some(files) = &files {
            poller.watch(files.fd(), PollToken::Files)?;
        }
        if let Some(agent) = &agent {
            poller.watch(agent.fd(), PollToken::Agent)?;
        }
        if args.agent.exit_on_eof {
            input::watch(&poller)?;
        }
        Ok(Self {
            argv: argv.to_vec(),
            args: args.clone(),
            listeners,
            protocols,
            datagram_workers: iperf2
                .datagrams
                .into_iter()
                .map(DatagramWorker::new)
                .collect(),
            signals,
            poller,
            pending: PendingConnections::default(),
            most_waiting: host.waiting(),
            host,
            sessions: Vec::new(),
            starter: SessionStarter::default(),
            proofs: ProofPool::default(),
            starts: StartRates::default(),
            started: 0,
            admission: Admission::new(args.policy()),
            log,
            metrics: Metrics::default(),
            metrics_server,
            data_arrivals,
            iperf3,
            files,
            reloads: 0,
            agent,
            paused: None,
            draining: None,
            failed: None,
            input_ended: false,
        })
    }

    /// Serves until a signal ends it.
    pub(super) fn serve(mut self, supervisor: &Supervisor) -> ExitCode {
        self.look_at_host();
        let sandbox = match self.args.operations.sandbox {
            _ if self.args.no_fork => "off: all sessions are in this process".to_owned(),
            SandboxArg::Off => "off".to_owned(),
            SandboxArg::Auto | SandboxArg::Require => Means::find().described(),
        };
        let fields = [
            ("port", self.ports().into()),
            ("sandbox", sandbox.into()),
            ("one_port", self.one_port().label().into()),
        ];
        self.log.say(LogLevel::Info, "listening", &fields);
        self.host.log(&self.args, &mut self.log);
        if let Some(port) = self.ports_of(ServedProtocol::Iperf3).first() {
            let fields = [("port", port.to_string().into())];
            self.log
                .say(LogLevel::Info, "listening for iperf3", &fields);
        }
        loop {
            match self.poller.wait(self.next_timeout()) {
                Ok(events) => self.act(&events, supervisor),
                // The kernel has no memory: try again later.
                Err(error) => {
                    self.complain("poll", &error);
                    std::thread::sleep(ACCEPT_PAUSE);
                }
            }
            self.expire();
            if self.is_over() {
                let lost = [("lines_lost", self.log.lost().into())];
                self.log.say(LogLevel::Info, "stopped", &lost);
                if let Some(line) = &self.failed {
                    return Failure::netserver(FAILED, line).report();
                }
                if !self.input_ended {
                    signals::end_of(Signal::Terminate);
                }
                return ExitCode::SUCCESS;
            }
        }
    }

    /// Ports of the listeners, which a supervisor may have chosen.
    fn ports(&self) -> String {
        let ports = [ServedProtocol::Netperf, ServedProtocol::Iperf2].map(|one| self.ports_of(one));
        let ports: BTreeSet<u16> = ports.into_iter().flatten().collect();
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        ports.join(",")
    }

    fn ports_of(&self, protocol: ServedProtocol) -> Vec<u16> {
        let all = self.listeners.iter().zip(&self.protocols);
        let own = all.filter(|(_, one)| **one == protocol);
        let at = own.filter_map(|(listener, _)| listener.local_addr().ok()?.as_socket());
        at.map(|at| at.port()).collect()
    }

    /// Time until the next scheduled action.
    fn next_timeout(&self) -> Duration {
        let moments = [
            self.paused,
            self.draining,
            self.pending.next(self.wait_limits()),
            self.metrics_server.as_ref().and_then(MetricsServer::until),
            self.admission.next(),
            self.data_arrivals.next(),
            self.next_proof(),
            self.next_worker(),
            self.starter.until(),
            self.files.as_ref().and_then(FileHelper::until),
        ];
        let next = moments.into_iter().flatten().min();
        next.map_or(LONGEST_WAIT, Moment::left)
    }

    /// Time limits of pending connections.
    fn wait_limits(&self) -> WaitLimits {
        let idle_time = self.admission.policy().limits.idle_time;
        let silent = if self.args.require() == Require::None {
            idle_time
        } else {
            PASSPHRASE
        };
        WaitLimits {
            silent,
            place: if self.args.require() == Require::Key {
                PROOF_TIME
            } else {
                idle_time
            },
        }
    }

    /// Handles the events of one round.
    fn act(&mut self, events: &[PollEvent], supervisor: &Supervisor) {
        let is_ready = |wanted: PollToken| events.iter().any(|event| event.token == wanted);
        // A client that its order names may have connected meanwhile.
        if is_ready(PollToken::Agent) {
            self.hear_agent();
        }
        for PollEvent { token, ended } in events {
            match *token {
                PollToken::Session(number) => self.read(number),
                PollToken::PendingConnection(number) => {
                    if let Some(one) = self.pending.take(number) {
                        self.hear(one, *ended);
                    }
                }
                PollToken::Listener(number) => self.accept_from(number),
                PollToken::Iperf3Session(number) => self.iperf3.hear_session(number, &self.poller),
                PollToken::Iperf3Datagrams => self.iperf3.read_words(),
                PollToken::Iperf2Datagrams(number) => self.read_worker(number),
                PollToken::Signals
                | PollToken::MetricsServer
                | PollToken::Refused
                | PollToken::Handoffs
                | PollToken::Agent
                | PollToken::Input
                | PollToken::Files
                | PollToken::Probes => {}
            }
        }
        if is_ready(PollToken::Handoffs) {
            self.data_arrivals.read_handoffs();
        }
        if is_ready(PollToken::Input) {
            self.hear_input();
        }
        if is_ready(PollToken::Files) {
            self.hear_files();
        }
        if is_ready(PollToken::Probes) {
            self.answer_probes();
        }
        if is_ready(PollToken::MetricsServer) {
            self.answer();
        }
        if is_ready(PollToken::Refused) {
            self.admission.look(&self.poller);
        }
        if is_ready(PollToken::Signals) {
            while let Some(signal) = self.signals.next() {
                self.obey(signal);
                if self.draining.is_some() {
                    supervisor.tell("STOPPING=1\nSTATUS=sessions may finish");
                }
            }
        }
    }

    /// Reads records of a session, up to a limit per round.
    fn read(&mut self, number: u64) {
        let mut sessions = self.sessions.iter_mut();
        let Some(session) = sessions.find(|one| one.number == number) else {
            return;
        };
        let more = session.read();
        let keys = self.args.access.keys.as_deref();
        if session.session_log.lacks_key(keys) {
            // The client has proven a key that netserver has no more.
            return self.end_without_key();
        }
        let asks = session.asks();
        if let Some(fd) = session.fd().filter(|_| more) {
            // Re-arms the event for the rest. On failure it is read at the end of the session.
            let _late = self.poller.change_token(fd, PollToken::Session(number));
        }
        if let Some(asked) = asks {
            self.grant(number, asked);
        }
    }

    /// Answers HTTP requests.
    fn answer(&mut self) {
        let now = Gauges {
            sessions: self.sessions.len(),
            waiting: self.pending.len(),
            draining: self.draining.is_some(),
            lines_lost: self.log.lost(),
        };
        let Some(metrics_server) = &mut self.metrics_server else {
            return;
        };
        metrics_server.serve(&self.poller, |path| match path {
            "/metrics" => ("200 OK", self.metrics.text(now)),
            "/health" if now.draining => ("503 Service Unavailable", "draining\n".to_owned()),
            "/health" => ("200 OK", "serving\n".to_owned()),
            _ => ("404 Not Found", "/metrics or /health\n".to_owned()),
        });
    }

    /// Serves a session in this process. A panic ends the session, not the server.
    fn serve_here(&mut self, control: Socket, peer: String) {
        let mut session_log = SessionLog::new(peer, None);
        let served = std::panic::AssertUnwindSafe(|| {
            session::serve(control, &self.args, (None, None), &mut session_log);
        });
        let end = match std::panic::catch_unwind(served) {
            Ok(()) => ProcessEnd::Exit(0),
            Err(_) => ProcessEnd::Exit(101),
        };
        session_log.write(end, &mut self.log);
        self.metrics.enter(&session_log, end);
    }

    /// Handles a failure of accept(2), which never ends the server.
    pub(super) fn survive(&mut self, error: &io::Error) {
        let kind = error.kind();
        let passing = kind == io::ErrorKind::WouldBlock
            || kind == io::ErrorKind::Interrupted
            || kind == io::ErrorKind::ConnectionAborted;
        if !passing {
            self.complain("accept", error);
            self.pause(Some(clock::now().plus(ACCEPT_PAUSE)));
            // The cause may be a lack of descriptors.
            if let Some(one) = self.pending.take_stalest() {
                self.drop_silent(&one.peer, "crowded");
            }
        }
    }

    /// Suspends the listeners until then, or resumes them.
    fn pause(&mut self, until: Option<Moment>) {
        self.paused = until;
        for (number, listener) in (0..).zip(&self.listeners) {
            let (fd, token) = (listener.as_fd(), PollToken::Listener(number));
            // If this fails, the next accept(2) fails again and is logged.
            let _in_vain = self.poller.pause(fd, token, until.is_some());
        }
    }

    fn obey(&mut self, signal: Signal) {
        match signal {
            Signal::Child => self.reap(),
            // Not watched.
            Signal::Pipe | Signal::Kill => {}
            // The engine that started an agent ends it so.
            Signal::HangUp if self.args.agent.enabled => {
                self.drain();
                self.draining = Some(clock::now());
            }
            Signal::HangUp => {
                self.reopen_log();
                self.begin_reload();
            }
            // A second signal ends the wait for sessions.
            Signal::Interrupt | Signal::Terminate if self.draining.is_some() => {
                self.draining = Some(clock::now())
            }
            Signal::Interrupt | Signal::Terminate => self.drain(),
        }
    }

    /// Finds out which permitted transports and which features this host has. Sessions do not:
    /// to open a socket may load a kernel module.
    fn look_at_host(&mut self) {
        let permitted = self.admission.policy().transports;
        self.args.access.found = Some(registry::find(permitted));
        // It has the settings of its start.
        self.starter.end();
    }

    /// Stops accepting clients; running sessions may finish.
    fn drain(&mut self) {
        for listener in self.listeners.drain(..) {
            // A supervisor holds the same socket, so closing it does not remove it from epoll.
            self.poller.remove(listener.as_fd());
        }
        self.pending.clear();
        self.starter.end();
        self.end_workers();
        self.data_arrivals.close();
        let next_timeout = self.args.operations.drain();
        self.draining = Some(clock::now().plus(next_timeout));
        let fields = [
            ("sessions", self.sessions.len().into()),
            ("seconds", next_timeout.as_secs_f64().into()),
        ];
        self.log.say(LogLevel::Info, "draining", &fields);
    }

    /// Logs finished sessions and starts waiting ones.
    fn reap(&mut self) {
        while let Some(child) = process::ended_child() {
            let mut sessions = self.sessions.iter();
            let Some(index) = sessions.position(|one| one.process() == child) else {
                if self.starter.reap(child) {
                    continue;
                }
                // A child that is waited for elsewhere may be in front of others.
                self.close_all_ended();
                break;
            };
            if !self.close_if_ended(index) {
                break;
            }
        }
        self.begin_waiting();
    }

    fn close_all_ended(&mut self) {
        let mut index = 0;
        while index < self.sessions.len() {
            if !self.close_if_ended(index) {
                index += 1;
            }
        }
    }

    /// Returns true if the session had ended.
    fn close_if_ended(&mut self, index: usize) -> bool {
        let session = self.sessions.get_mut(index);
        let end = session.and_then(SessionProcess::ended);
        if let Some(end) = end {
            self.close(index, end);
        }
        end.is_some()
    }

    /// Starts the sessions of waiting clients for which there is a place.
    fn begin_waiting(&mut self) {
        while self.has_room() {
            let (proofs, startups) = (&self.proofs, self.startups());
            let may_begin = |one: &PendingConnection| {
                one.unproven
                    .is_none_or(|source| proofs.has_place(source, startups))
            };
            let Some(next) = self.pending.take_complete(may_begin) else {
                return;
            };
            self.begin(next);
        }
    }

    fn close(&mut self, index: usize, end: ProcessEnd) {
        let mut session = self.sessions.swap_remove(index);
        self.data_arrivals.remove_session(session.number);
        self.iperf3.remove_session(session.number, &self.poller);
        session.read_the_rest();
        if matches!(end, ProcessEnd::Signal(_)) {
            // The next sessions have other places of things in memory.
            self.starter.end();
        }
        if let Some((source, _)) = session.unproven {
            // A session that netserver ends is no failure of its client.
            let failed = end != ProcessEnd::Drained || self.draining.is_none();
            self.proofs.ends(source, !failed, clock::now());
        }
        session.session_log.write(end, &mut self.log);
        self.metrics.enter(&session.session_log, end);
    }

    /// Ends everything whose time limit has expired.
    fn expire(&mut self) {
        let over = |moment: Moment| moment.left().is_zero();
        if self.paused.is_some_and(over) {
            self.pause(None);
        }
        let (wait_limits, now) = (self.wait_limits(), clock::now());
        while let Some((one, why)) = self.pending.take_overdue(wait_limits, now) {
            if one.unproven.is_some() {
                self.refuse(one, &Denied::Startups);
            } else {
                self.drop_silent(&one.peer, why);
            }
        }
        self.end_proofs(now);
        self.start_workers();
        if self.starter.until().is_some_and(over) {
            self.starter.end();
        }
        self.end_slow_reload();
        if self.admission.next().is_some_and(over) {
            self.admission.look(&self.poller);
        }
        if self.data_arrivals.next().is_some() {
            let unclaimed = self.data_arrivals.look();
            self.log_unclaimed(unclaimed);
        }
        if self
            .metrics_server
            .as_ref()
            .and_then(MetricsServer::until)
            .is_some_and(over)
        {
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
        self.draining.is_some() && self.sessions.is_empty() && !self.has_workers()
    }

    pub(super) fn complain(&mut self, what: &str, error: &io::Error) {
        self.metrics.failed(what);
        self.log.fail(what, error);
    }
}
