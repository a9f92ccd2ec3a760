//! The session of an iperf3 client: carries out what the state machine asks for.

mod permit;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use netperf_daemon::record::{Ran, Records, SessionEnd, SessionQuestion, SessionRecord};
use netperf_iperf3::json::document;
use netperf_iperf3::messages::{
    Cookie, Parameters, Protocol, Results, ServerError, StreamDirection, StreamOption,
};
use netperf_iperf3::options::Iperf3RateLimit;
use netperf_iperf3::states::server::{
    BrokenBy, ServerEnd, ServerTest, ServerTestEffect, ServerTestInput, ServerTestState,
};
use netperf_iperf3::text::bits;
use netperf_measure::clock::{self, Moment};
use netperf_model::figures::count;
use netperf_model::{EndNeeds, Flow, Policy, Tally, TransportId};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, all_ready, ready, sleep};
use netperf_os::{Socket, alarm, io as calls, process};
use netperf_program::iperf3::run::Run;
use netperf_program::iperf3::socket::send_all;

use self::permit::said;
use super::authority::Authority;
use super::message::{self, StreamMessage};
use super::opening::StreamChoice;
use crate::admission;
use crate::iperf3::report::Iperf3Report;

/// Time limit for each message of a client.
pub(super) const ANSWER: Duration = Duration::from_secs(30);
/// Time for which a session waits until others of the same address have opened their streams.
const TURN: Duration = Duration::from_secs(60);
/// Time that a client may take longer than its test.
const LATE: Duration = Duration::from_secs(30);
/// Time for which data may arrive after that. The message that ends the test waits in the same
/// queues.
const QUEUED: Duration = Duration::from_secs(60);
/// Time without data after which a test of an amount is over.
const STALLED: Duration = Duration::from_secs(30);
/// Longest time in which the rest of an amount arrives after the end of a test.
const UNDERWAY: Duration = Duration::from_secs(2);
/// Interval of looks at the streams.
const LOOK: Duration = Duration::from_millis(100);
/// Seconds after which an idle control connection is probed, and number of probes, one a second.
const PROBE_AFTER: i32 = 3;
const PROBES: i32 = 4;
/// Text of iperf3 about a rate above the limit.
const TOO_FAST: &str = "error - total required bandwidth is larger than server limit";
/// `EINVAL`.
const INVALID: i32 = 22;
/// `EOPNOTSUPP`.
const UNSUPPORTED: i32 = 95;

/// Facts that a session is started with.
pub(crate) struct SessionStart {
    /// The control connection.
    pub(crate) control: Socket,
    /// Bytes of it that have been read.
    pub(crate) read: Vec<u8>,
    /// Streams come by this socket.
    pub(crate) handoff: Socket,
    pub(crate) policy: Policy,
    /// Limit of the rate of all streams.
    pub(crate) rate_limit: Option<Iperf3RateLimit>,
    /// The users to whom the server is restricted. Without them a token of a client is not read.
    pub(crate) authority: Option<Arc<Authority>>,
    pub(crate) timeouts: StreamTimeouts,
    pub(crate) report: Iperf3Report,
}

/// Time limits of streams, where they are not the default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamTimeouts {
    /// Without data.
    pub(crate) receive: Option<Duration>,
    /// Without acknowledgement.
    pub(crate) send: Option<Duration>,
}

/// A session.
pub(super) struct Iperf3Session<'a> {
    pub(super) control: Socket,
    pub(super) handoff: Socket,
    records: &'a mut dyn Records,
    policy: Policy,
    rate_limit: Option<Iperf3RateLimit>,
    authority: Option<Arc<Authority>>,
    pub(super) timeouts: StreamTimeouts,
    pub(super) parameters: Parameters,
    /// Streams so far, or candidates.
    pub(super) sockets: Vec<Socket>,
    /// Places of TCP streams in the order of accept(2).
    pub(super) places: Vec<u64>,
    pub(super) choice: StreamChoice,
    pub(super) run: Option<Run>,
    /// Deadline of the present state.
    pub(super) until: Moment,
    /// The latest deadline of a test whose data still arrives.
    latest: Moment,
    /// End of the part that does not count, if it is still to come.
    omitted_until: Option<Moment>,
    /// End of the next interval, if output is wanted.
    interval_at: Option<Moment>,
    /// Bytes at the last look, and when they last changed.
    progress: (u64, Moment),
    /// Bytes at the start of the time over which the rate is averaged.
    averaged: (u64, Moment),
    pub(super) report: Iperf3Report,
    /// The client's results.
    peer: Option<Box<Results>>,
    /// Why this end stopped the test.
    failure: Option<String>,
    end: Option<ServerEnd>,
}

/// Serves the client of a control connection. Returns the end of its test.
pub(crate) fn serve(start: SessionStart, records: &mut dyn Records) -> ServerEnd {
    let now = clock::now();
    let mut session = Iperf3Session {
        control: start.control,
        handoff: start.handoff,
        records,
        policy: start.policy,
        rate_limit: start.rate_limit,
        authority: start.authority,
        timeouts: start.timeouts,
        parameters: Parameters::default(),
        sockets: Vec::new(),
        places: Vec::new(),
        choice: StreamChoice::default(),
        run: None,
        until: now.plus(ANSWER),
        latest: now.plus(ANSWER),
        omitted_until: None,
        interval_at: None,
        progress: (0, now),
        averaged: (0, now),
        report: start.report,
        peer: None,
        failure: None,
        end: None,
    };
    session.watch_peer();
    let mut machine = ServerTest::default();
    if !start.read.is_empty() {
        session.step(&mut machine, ServerTestInput::Bytes(&start.read));
    }
    while session.end.is_none() {
        session.turn(&mut machine);
    }
    let ending = session.leave();
    session.records.tell(SessionRecord::Ended(ending));
    session.end.unwrap_or(ServerEnd::Gone)
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
        // The user may stop a server that prints at any time.
        let most = if runs || self.report.is_printed() {
            LOOK
        } else {
            ANSWER
        };
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
        if self.report.is_printed() && alarm::stopped_by_user() && self.end.is_none() {
            self.step(machine, ServerTestInput::Terminated);
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
                | StreamMessage::Over
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
        self.fail_with(machine, ServerError::stream(errno));
    }

    /// As [`Self::fail`], with the error that the client is sent.
    pub(super) fn fail_with(&mut self, machine: &mut ServerTest, error: ServerError) {
        self.records.tell(SessionRecord::Failed(error.errno));
        self.step(machine, ServerTestInput::Refused(error));
    }

    pub(super) fn step(&mut self, machine: &mut ServerTest, input: ServerTestInput<'_>) {
        let before = machine.at();
        let mut effects = std::collections::VecDeque::from(machine.step(input));
        while let Some(effect) = effects.pop_front() {
            if effect == ServerTestEffect::Finish && self.choice.is_open() {
                self.choose(machine);
            }
            let next = self.carry_out(effect, machine.cookie());
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
        let is_limited = self.policy.limits.test_time.is_some();
        let queued = if is_limited { Duration::ZERO } else { QUEUED };
        self.latest = self.until.plus(queued);
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

    fn carry_out(
        &mut self,
        effect: ServerTestEffect,
        cookie: Option<Cookie>,
    ) -> Option<ServerTestInput<'static>> {
        match effect {
            ServerTestEffect::Send(bytes) => {
                let sent = send_all(&self.control, &bytes);
                return sent.err().map(|_| ServerTestInput::Closed);
            }
            ServerTestEffect::Prepare(parameters) => {
                if let Err(error) = self.authorize(&parameters) {
                    return Some(ServerTestInput::Refused(error));
                }
                if let Some(cookie) = cookie {
                    self.report.accepts(&self.control, cookie, &parameters);
                }
                return self.examine(*parameters);
            }
            ServerTestEffect::Start => self.start(),
            ServerTestEffect::Finish => return self.finish(),
            ServerTestEffect::Report(results) => {
                self.report.message("get_results", || document(&results));
                self.peer = Some(self.report.counted(results));
            }
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
        if self.wants_too_much() {
            // The original closes the connection, too.
            self.failure = Some(TOO_FAST.to_owned());
            return Some(ServerTestInput::Closed);
        }
        if let Err(error) = self.permit() {
            return Some(ServerTestInput::Refused(error));
        }
        let bound = self.parameters.server_affinity.map(process::bind_to_cpu);
        if let Some(Err(error)) = bound {
            let errno = error.raw_os_error().unwrap_or(0);
            let error = ServerError::option(StreamOption::Affinity, errno);
            return Some(ServerTestInput::Refused(error));
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

    pub(super) fn start(&mut self) {
        let Some(run) = &mut self.run else {
            return;
        };
        run.start(None);
        let now = clock::now();
        self.progress = (0, now);
        let omit = Duration::from_secs(self.parameters.omit.into());
        self.omitted_until = (!omit.is_zero()).then(|| now.plus(omit));
        self.averaged = (0, now);
        let interval = self.report.interval_time();
        self.interval_at = interval.map(|interval| now.plus(interval));
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
            let interval = self.report.interval_time();
            self.interval_at = interval.map(|interval| clock::now().plus(interval));
            self.averaged = (0, clock::now());
        }
        if over(self.interval_at) {
            self.row(self.omitted_until.is_some());
            let interval = self.report.interval_time();
            let last = self.interval_at.zip(interval);
            self.interval_at = last.map(|(last, interval)| last.next_whole(interval, now));
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
        if let Some(run) = &mut self.run {
            let interval = run.interval(omitted);
            self.report.interval(interval);
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
        let receives_only = run.receives_only();
        if self.is_too_fast(bytes, now) {
            self.failure = Some(TOO_FAST.to_owned());
            self.run = None;
            return self.step(machine, ServerTestInput::Closed);
        }
        if bytes != self.progress.0 {
            self.progress = (bytes, now);
            self.until = self.until.max(now.plus(LATE).min(self.latest));
            return;
        }
        let without = now.since(self.progress.1);
        let is_idle = self.timeouts.receive.is_some_and(|most| without > most);
        if is_idle && receives_only {
            self.step(machine, ServerTestInput::Refused(ServerError::IDLE));
        } else if self.by_amount() && without > STALLED {
            self.step(machine, ServerTestInput::Silent);
        }
    }

    /// Compares the mean rate with the limit, once per time over which it is averaged.
    fn is_too_fast(&mut self, bytes: u64, now: Moment) -> bool {
        let (before, since) = self.averaged;
        let time = now.since(since);
        let Some(limit) = self.rate_limit.filter(|limit| time >= limit.over) else {
            return false;
        };
        self.averaged = (bytes, now);
        bits(bytes.saturating_sub(before), time.as_secs_f64()) > count(limit.bits)
    }

    fn finish(&mut self) -> Option<ServerTestInput<'static>> {
        let run = self.run.as_mut()?;
        let until = clock::now().plus(UNDERWAY);
        while run.lacks(&self.parameters) && !until.left().is_zero() {
            sleep(Duration::from_millis(1));
        }
        let (last, totals) = run.finish(self.report.rows() > 0);
        run.close();
        // No more streams are opened: the next client may begin.
        let _gone = message::send(&self.handoff, &StreamMessage::Over);
        let udp = self.parameters.protocol == Protocol::Udp;
        let mut results = totals.results(&run.infos, udp);
        let moved = totals.streams.iter().any(|one| one.bytes > 0);
        if let Some(last) = last.filter(|_| moved) {
            self.report.interval(last);
        }
        results.output = self.report.measured(&totals);
        self.report.message("send_results", || document(&results));
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
        let none = SessionQuestion::Needs(EndNeeds::default());
        let _released = self.records.ask(none, &self.policy.limits);
        Some(ServerTestInput::Finished(Box::new(results)))
    }

    /// Ends the session.
    fn leave(&mut self) -> SessionEnd {
        let was_running = self.run.is_some();
        self.show_end();
        self.run = None;
        match &self.end {
            Some(ServerEnd::Complete) => SessionEnd::Finished,
            Some(ServerEnd::ByClient | ServerEnd::GaveUp | ServerEnd::Gone) if was_running => {
                SessionEnd::Abandoned
            }
            Some(ServerEnd::ByClient | ServerEnd::GaveUp) => SessionEnd::Finished,
            Some(ServerEnd::Gone) => SessionEnd::Cut,
            Some(ServerEnd::Silent) => SessionEnd::Silent,
            Some(ServerEnd::Broken(_) | ServerEnd::Refused(_) | ServerEnd::Stopped) | None => {
                self.await_close();
                SessionEnd::Broken
            }
        }
    }

    /// Shows what a test that did not end well has moved, and why it ended.
    fn show_end(&mut self) {
        if !self.report.is_printed() {
            return;
        }
        if let Some(run) = self.run.as_mut().filter(|run| run.has_begun()) {
            let (last, totals) = run.finish(self.report.rows() > 0);
            if let Some(last) = last {
                self.report.interval(last);
            }
            let _not_sent = self.report.measured(&totals);
        }
        let error = match (&self.failure, &self.end) {
            (Some(failure), _) => Some(failure.clone()),
            (None, Some(end)) => said(end),
            (None, None) => None,
        };
        self.report.ended(self.peer.as_deref(), error.as_deref());
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
