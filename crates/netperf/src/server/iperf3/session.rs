//! The session of an iperf3 client: carries out what the state machine asks for.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_engine::streams::Streams;
use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, EndNeeds, Flow, Policy, Tally, TransportId};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, all_ready, ready};
use netperf_os::{Socket, io as calls, process};
use netperf_session::iperf3::server::{
    BrokenBy, ServerEnd, ServerTest, ServerTestEffect, ServerTestInput, ServerTestState,
};
use netperf_wire::iperf3::{Parameters, Protocol, ServerError, ServerOutput, StreamDirection};

use super::message::{self, StreamMessage};
use super::opening::StreamChoice;
use crate::iperf3::run::{Run, plan};
use crate::iperf3::socket::{addresses, send_all};
use crate::iperf3::text::TextView;
use crate::server::admission;
use crate::server::record::{Ran, Records, SessionEnd, SessionRecord};

/// Time limit for each message of a client.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Time for which a session waits until others of the same address have opened their streams.
const TURN: Duration = Duration::from_secs(60);
/// Time that a client may take longer than its test.
const LATE: Duration = Duration::from_secs(10);
/// Time without data after which a test of an amount is over.
const STALLED: Duration = Duration::from_secs(30);
/// Interval of looks at the streams.
const LOOK: Duration = Duration::from_millis(100);
/// Length of the output for the client from which no more intervals are added.
const MOST_TEXT: usize = 32_768;
/// Interval of rows in the output.
const INTERVAL: Duration = Duration::from_secs(1);
/// Seconds after which an idle control connection is probed, and number of probes, one a second.
const PROBE_AFTER: i32 = 3;
const PROBES: i32 = 4;
/// `EINVAL`.
const INVALID: i32 = 22;
/// `EOPNOTSUPP`.
const UNSUPPORTED: i32 = 95;

/// A session.
pub(super) struct Iperf3Session<'a> {
    pub(super) control: Socket,
    pub(super) handoff: Socket,
    records: &'a mut dyn Records,
    policy: Policy,
    pub(super) parameters: Parameters,
    /// Streams so far, or candidates.
    pub(super) sockets: Vec<Socket>,
    /// Places of TCP streams in the order of accept(2).
    pub(super) places: Vec<u64>,
    pub(super) choice: StreamChoice,
    pub(super) run: Option<Run>,
    /// Deadline of the present state.
    pub(super) until: Moment,
    /// End of the part that does not count, if it is still to come.
    omitted_until: Option<Moment>,
    /// End of the next interval, if the client wants output.
    interval_at: Option<Moment>,
    /// Bytes at the last look, and when they last changed.
    progress: (u64, Moment),
    text: String,
    intervals: u32,
    pub(super) view: Option<TextView>,
    end: Option<ServerEnd>,
}

/// Serves the client of a control connection whose cookie has not been read. Streams come by
/// `handoff`.
pub(in crate::server) fn serve(
    control: Socket,
    args: &ServerArgs,
    handoff: Socket,
    records: &mut dyn Records,
) {
    let now = clock::now();
    let mut session = Iperf3Session {
        control,
        handoff,
        records,
        policy: args.policy(),
        parameters: Parameters::default(),
        sockets: Vec::new(),
        places: Vec::new(),
        choice: StreamChoice::default(),
        run: None,
        until: now.plus(ANSWER),
        omitted_until: None,
        interval_at: None,
        progress: (0, now),
        text: String::new(),
        intervals: 0,
        view: None,
        end: None,
    };
    session.watch_peer();
    let mut machine = ServerTest::default();
    while session.end.is_none() {
        session.turn(&mut machine);
    }
    let ending = session.leave();
    session.records.tell(SessionRecord::Ended(ending));
}

impl Iperf3Session<'_> {
    /// Has the kernel find out within seconds that the client's host is gone.
    fn watch_peer(&self) {
        let options = [
            (IntOption::KeepAlive, 1),
            (IntOption::KeepIdle, PROBE_AFTER),
            (IntOption::KeepInterval, 1),
            (IntOption::KeepCount, PROBES),
            (IntOption::NoDelay, 1),
        ];
        for (option, value) in options {
            let _best_effort = sockopt::set(self.control.as_fd(), option, value);
        }
    }

    /// Waits for the next event and handles it.
    fn turn(&mut self, machine: &mut ServerTest) {
        let choice = self.choice.next();
        let at = [
            Some(self.until),
            self.omitted_until,
            self.interval_at,
            choice,
        ];
        let next = at.into_iter().flatten().map(Moment::left).min();
        let runs = machine.at() == ServerTestState::Runs;
        let most = if runs { LOOK } else { ANSWER };
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        let wait = next.unwrap_or(most).min(most) + Duration::from_millis(1);
        let fds = [self.control.as_fd(), self.handoff.as_fd()];
        let events = all_ready(&fds, wait).unwrap_or_default();
        if events.first() == Some(&true) {
            self.read_control(machine);
        }
        if events.get(1) == Some(&true) && self.end.is_none() {
            self.read_handoff(machine);
        }
        if self.end.is_none() {
            self.tick(machine);
        }
    }

    fn read_control(&mut self, machine: &mut ServerTest) {
        let mut bytes = [0; 16 * 1024];
        let input = match calls::recv_now(self.control.as_fd(), &mut bytes) {
            Ok(0) => ServerTestInput::Closed,
            Ok(count) => ServerTestInput::Bytes(bytes.get(..count).unwrap_or_default()),
            Err(error) if calls::is_no_progress(&error) => return,
            Err(_) => ServerTestInput::Closed,
        };
        self.step(machine, input);
    }

    fn read_handoff(&mut self, machine: &mut ServerTest) {
        while let Some(message) = message::receive(&self.handoff) {
            match message {
                StreamMessage::Granted => self.step(machine, ServerTestInput::Prepared),
                StreamMessage::Connection(fd, place) => {
                    self.add_connection(machine, place, fd.into());
                }
                StreamMessage::Word(from, own) => self.add_datagrams(machine, (from, own)),
                // The listener sends nothing else.
                StreamMessage::ExpectsConnections
                | StreamMessage::ExpectsDatagrams
                | StreamMessage::ExpectsNothing
                | StreamMessage::Unknown => {}
                StreamMessage::End => return self.step(machine, ServerTestInput::Terminated),
            }
            if self.end.is_some() {
                return;
            }
        }
    }

    /// A stream could not be opened, or failed.
    pub(super) fn fail(&mut self, machine: &mut ServerTest, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(UNSUPPORTED);
        self.records.tell(SessionRecord::Failed(errno));
        self.step(
            machine,
            ServerTestInput::Refused(ServerError::stream(errno)),
        );
    }

    pub(super) fn step(&mut self, machine: &mut ServerTest, input: ServerTestInput<'_>) {
        let before = machine.at();
        let mut effects = std::collections::VecDeque::from(machine.step(input));
        while let Some(effect) = effects.pop_front() {
            if effect == ServerTestEffect::Finish && self.choice.is_open() {
                self.choose(machine);
            }
            let next = self.carry_out(effect);
            if let Some(next) = next {
                effects.extend(machine.step(next));
            }
        }
        if machine.at() != before {
            self.set_deadline(machine.at());
        }
    }

    fn set_deadline(&mut self, at: ServerTestState) {
        let time = match at {
            ServerTestState::Prepares => TURN,
            ServerTestState::Runs => self.longest(),
            ServerTestState::AwaitsCookie
            | ServerTestState::AwaitsParameters
            | ServerTestState::AwaitsStreams
            | ServerTestState::Finishes
            | ServerTestState::AwaitsResults
            | ServerTestState::AwaitsDone
            | ServerTestState::Ended => ANSWER,
        };
        self.until = clock::now().plus(time);
    }

    /// The time after which a client should have ended its test.
    fn longest(&self) -> Duration {
        let limit = self.policy.limits.test_time;
        if self.by_amount() {
            return limit.unwrap_or(Duration::from_secs(24 * 3600)) + LATE;
        }
        if self.parameters.time == 0.0 {
            // Without an end.
            return Duration::from_secs(u32::MAX.into());
        }
        self.time() + LATE
    }

    fn by_amount(&self) -> bool {
        self.parameters.num > 0 || self.parameters.blockcount > 0
    }

    /// Length of the test.
    fn time(&self) -> Duration {
        let time = Duration::try_from_secs_f64(self.parameters.time).unwrap_or_default();
        time + Duration::from_secs(self.parameters.omit.into())
    }

    fn carry_out(&mut self, effect: ServerTestEffect) -> Option<ServerTestInput<'static>> {
        match effect {
            ServerTestEffect::Send(bytes) => {
                let sent = send_all(&self.control, &bytes);
                return sent.err().map(|_| ServerTestInput::Closed);
            }
            ServerTestEffect::Prepare(parameters) => return self.examine(*parameters),
            ServerTestEffect::Start => self.start(),
            ServerTestEffect::Finish => return self.finish(),
            ServerTestEffect::Report(_) => {}
            ServerTestEffect::End(end) => {
                if let ServerEnd::Broken(BrokenBy::Parameters(_)) = &end {
                    self.records.tell(SessionRecord::Refused(INVALID));
                }
                self.end = Some(end);
            }
        }
        None
    }

    /// Checks the parameters, and tells the listener what to expect.
    fn examine(&mut self, parameters: Parameters) -> Option<ServerTestInput<'static>> {
        self.parameters = parameters;
        if let Err(error) = self.permit() {
            return Some(ServerTestInput::Refused(error));
        }
        let bound = self.parameters.server_affinity.map(process::bind_to_cpu);
        if let Some(Err(error)) = bound {
            return Some(ServerTestInput::Refused(ServerError {
                errno: error.raw_os_error().unwrap_or(0),
                ..ServerError::PARAMETERS
            }));
        }
        if self.parameters.protocol == Protocol::Udp {
            // The listener grants.
            let sent = message::send(&self.handoff, &StreamMessage::ExpectsDatagrams);
            return sent.err().map(|_| ServerTestInput::Closed);
        }
        match message::send(&self.handoff, &StreamMessage::ExpectsConnections) {
            Ok(()) => Some(ServerTestInput::Prepared),
            Err(_) => Some(ServerTestInput::Closed),
        }
    }

    fn permit(&mut self) -> Result<(), ServerError> {
        let parameters = &self.parameters;
        if parameters.protocol == Protocol::Sctp {
            self.records.tell(SessionRecord::Refused(UNSUPPORTED));
            return Err(ServerError {
                errno: UNSUPPORTED,
                ..ServerError::PARAMETERS
            });
        }
        if parameters.authtoken.is_some() {
            self.records.tell(SessionRecord::Refused(UNSUPPORTED));
            return Err(ServerError::AUTHORIZATION);
        }
        let denied = self.denied().err().or_else(|| {
            let memory = Streams::memory(&plan(parameters), parameters.streams());
            let needs = EndNeeds { memory, ports: 0 };
            let limits = &self.policy.limits;
            limits.bear(needs).err().or_else(|| {
                let asked = SessionRecord::Needs(needs);
                self.records.ask(asked, limits).err()
            })
        });
        let Some(denied) = denied else {
            return Ok(());
        };
        self.records.tell(SessionRecord::denied(&denied));
        if matches!(denied, Denied::TestTime(_) | Denied::TestWithoutTime(_)) {
            return Err(ServerError::DURATION);
        }
        Err(ServerError {
            errno: denied.errno(),
            ..ServerError::PARAMETERS
        })
    }

    /// Compares the test with the policy.
    fn denied(&self) -> Result<(), Denied> {
        let (parameters, limits) = (&self.parameters, &self.policy.limits);
        self.policy.permit_transport(transport(parameters))?;
        if parameters.streams() > limits.flows {
            return Err(Denied::Flows(limits.flows));
        }
        if parameters.streams() > limits.threads {
            return Err(Denied::Threads(limits.threads));
        }
        let has_time = !self.by_amount() && parameters.time > 0.0;
        limits.permit_time(has_time.then(|| self.time()))?;
        if let Some(most) = limits.send_rate {
            let sends = parameters.direction != StreamDirection::Forward;
            let all = parameters
                .bandwidth
                .saturating_mul(u64::from(parameters.parallel));
            // Blocks of a burst are sent at once.
            let burst = u64::from(parameters.burst)
                .saturating_mul(plan(parameters).size as u64)
                .saturating_mul(8 * u64::from(parameters.parallel));
            let is_burst = parameters.burst > 1 && burst > most;
            if sends && (parameters.bandwidth == 0 || all > most || is_burst) {
                return Err(Denied::SendRate(most));
            }
        }
        Ok(())
    }

    pub(super) fn start(&mut self) {
        let Some(run) = &mut self.run else {
            return;
        };
        run.start();
        let now = clock::now();
        self.progress = (0, now);
        let omit = Duration::from_secs(self.parameters.omit.into());
        self.omitted_until = (!omit.is_zero()).then(|| now.plus(omit));
        if self.parameters.get_server_output {
            self.interval_at = Some(now.plus(INTERVAL));
            if let Some(peer) = addresses(&self.control).1 {
                self.text = format!(
                    "Accepted connection from {}, port {}\n",
                    peer.ip(),
                    peer.port()
                );
            }
            let view = self.view.as_ref();
            self.text
                .push_str(&view.map(TextView::connected).unwrap_or_default());
        }
        if !self.by_amount() {
            let time = self.time().as_secs_f64();
            self.records.tell(SessionRecord::Runs(time));
        }
    }

    /// Does what is due.
    fn tick(&mut self, machine: &mut ServerTest) {
        // One reading: what is due at the same moment is done together.
        let now = clock::now();
        let over = |moment: Option<Moment>| moment.is_some_and(|at| at <= now);
        if over(self.omitted_until) {
            self.omitted_until = None;
            self.row(true);
            if let Some(run) = &mut self.run {
                run.counts_from_now();
            }
            self.interval_at = self.interval_at.map(|_| clock::now().plus(INTERVAL));
        }
        if over(self.interval_at) {
            self.row(self.omitted_until.is_some());
            self.interval_at = self.interval_at.map(|at| at.plus(INTERVAL));
        }
        self.look_at_candidates(machine);
        if machine.at() == ServerTestState::Runs {
            self.look(machine);
        }
        if self.end.is_none() && self.until.left().is_zero() {
            self.step(machine, ServerTestInput::Silent);
        }
    }

    /// Adds the rows of an interval to the output.
    fn row(&mut self, omitted: bool) {
        if self.interval_at.is_none() {
            return;
        }
        if let (Some(run), Some(view)) = (&mut self.run, &self.view) {
            let interval = run.interval(omitted);
            let first = self.intervals == 0;
            // Clients read so much at most.
            if self.text.len() < MOST_TEXT {
                self.text.push_str(&view.interval(&interval, first));
                if self.text.len() >= MOST_TEXT {
                    self.text.push_str("[further intervals are left out]\n");
                }
            }
            self.intervals += 1;
        }
    }

    /// Looks whether a stream has failed or nothing moves.
    fn look(&mut self, machine: &mut ServerTest) {
        let Some(run) = &self.run else {
            return;
        };
        if let Some(errno) = run.failed() {
            // A client that ends its test may close its streams before it says so.
            let told = ready(self.control.as_fd(), Interest::Read, LOOK);
            if !matches!(told, Ok(true)) {
                self.fail(machine, &io::Error::from_raw_os_error(errno));
            }
            return;
        }
        let (bytes, now) = (run.bytes(), clock::now());
        if bytes != self.progress.0 {
            self.progress = (bytes, now);
        } else if self.by_amount() && now.since(self.progress.1) > STALLED {
            self.step(machine, ServerTestInput::Silent);
        }
    }

    fn finish(&mut self) -> Option<ServerTestInput<'static>> {
        let run = self.run.as_mut()?;
        let (last, totals) = run.finish(self.intervals > 0);
        run.close();
        let udp = self.parameters.protocol == Protocol::Udp;
        let mut results = totals.results(&run.infos, udp);
        if let (true, Some(view)) = (self.parameters.get_server_output, &self.view) {
            let moved = totals.streams.iter().any(|one| one.bytes > 0);
            if let Some(last) = last.filter(|_| moved) {
                self.text
                    .push_str(&view.interval(&last, self.intervals == 0));
            }
            self.text.push_str(&view.last(&totals, None));
            results.output = Some(ServerOutput::Text(std::mem::take(&mut self.text)));
        }
        let bytes = |sends| {
            let all = run.infos.iter().zip(&totals.streams);
            let all = all.filter(|(info, _)| info.sends == sends);
            all.map(|(_, figures)| figures.bytes).sum()
        };
        let tally = Tally {
            bytes_sent: bytes(true),
            bytes_received: bytes(false),
            ..Tally::default()
        };
        self.records.tell(SessionRecord::Ran(Ran {
            transport: transport(&self.parameters),
            flow: flow(self.parameters.direction),
            tally,
            elapsed: totals.seconds,
        }));
        self.run = None;
        // An answer is of no interest: nothing is needed any more.
        let none = SessionRecord::Needs(EndNeeds::default());
        let _released = self.records.ask(none, &self.policy.limits);
        Some(ServerTestInput::Finished(Box::new(results)))
    }

    /// Ends the session.
    fn leave(&mut self) -> SessionEnd {
        let was_running = self.run.take().is_some();
        match &self.end {
            Some(ServerEnd::Complete) => SessionEnd::Finished,
            Some(ServerEnd::ByClient | ServerEnd::Gone) if was_running => SessionEnd::Abandoned,
            Some(ServerEnd::ByClient) => SessionEnd::Finished,
            Some(ServerEnd::Gone) => SessionEnd::Cut,
            Some(ServerEnd::Silent) => SessionEnd::Silent,
            Some(ServerEnd::Broken(_) | ServerEnd::Refused(_) | ServerEnd::Stopped) | None => {
                self.await_close();
                SessionEnd::Broken
            }
        }
    }

    /// Lets the client read the last message: to close a connection with unread data resets it.
    fn await_close(&self) {
        const CLOSE: Duration = Duration::from_secs(1);
        let until = clock::now().plus(CLOSE);
        if self.control.set_nonblocking(true).is_err()
            || self.control.shutdown(std::net::Shutdown::Write).is_err()
        {
            return;
        }
        while !until.left().is_zero() && admission::is_open(&self.control) {
            let wait = until.left() + Duration::from_millis(1);
            let _ready = ready(self.control.as_fd(), Interest::Read, wait);
        }
    }
}

const fn transport(parameters: &Parameters) -> TransportId {
    match parameters.protocol {
        Protocol::Tcp => TransportId::Tcp,
        Protocol::Udp => TransportId::Udp,
        Protocol::Sctp => TransportId::Sctp,
    }
}

/// The direction, as seen by the client.
const fn flow(direction: StreamDirection) -> Flow {
    match direction {
        StreamDirection::Forward => Flow::SEND,
        StreamDirection::Reverse => Flow::RECEIVE,
        StreamDirection::Both => Flow::both_ways(netperf_model::Duplex::Same),
    }
}
