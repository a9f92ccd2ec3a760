//! A client of iperf3.

mod claims;
mod connect;
mod observer;
mod output;
mod plan;
mod tested;
mod user;

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use netperf_iperf3::defaults::DATAGRAM;
use netperf_iperf3::doubt::without_impossible_cpu;
use netperf_iperf3::figures::{StreamInfo, StreamInterval, Totals, without_omitted};
use netperf_iperf3::json::document;
use netperf_iperf3::messages::{
    Cookie, Parameters, Protocol, Results, ServerError, State, TokenPadding,
};
use netperf_iperf3::options::Iperf3Client;
use netperf_iperf3::states::client::{
    ClientError, ClientTest, ClientTestEffect, ClientTestInput, ClientTestState,
};
use netperf_measure::clock::{self, Moment};
use netperf_measure::overtime;
use netperf_os::wait::{Interest, all_ready, ready};
use netperf_os::{Socket, alarm, io as calls, process, tcp};
use netperf_program::iperf3::lines::LineWriter;
use netperf_program::iperf3::run::{Run, data_file};
use netperf_program::iperf3::socket::send_all;
use netperf_program::output::{err, system_text};
use netperf_session::ForeignProgram;

pub use self::observer::TestObserver;
pub use self::output::Output;
pub use self::plan::{INTERVAL, Iperf3Form, Iperf3Plan};
pub use self::tested::Tested;
pub use self::user::Iperf3User;

/// Time limit for each message of the server before a test runs, and time by which each stream to
/// open extends it.
const BEGIN: Duration = Duration::from_secs(10);
/// Time limit for all of them.
const WHOLE_BEGIN: Duration = Duration::from_secs(30);
const EACH_STREAM: Duration = Duration::from_secs(1);
/// Time limit for the end of a test of an amount while its data moves.
const QUEUED: Duration = Duration::from_secs(90);
/// Interval of looks at the streams, with a time and with an amount.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_AT_AMOUNT: Duration = Duration::from_millis(1);
/// Time without data after which a test of an amount fails.
const STALLED: Duration = Duration::from_secs(60);

/// Default time without data after which a receiver fails (`--rcv-timeout`).
const RECEIVES: Duration = Duration::from_secs(120);

/// Time for the end of the server after a signal in which nothing moves, and the longest one.
const AFTER_SIGNAL: Duration = Duration::from_millis(700);
const WHILE_DATA_MOVES: Duration = Duration::from_secs(3);

/// Status of a failure.
const FAILED: u8 = 1;

fn fail(text: &str) -> ExitCode {
    err(&format!("iperf3: {text}\n"));
    ExitCode::from(FAILED)
}

/// Runs a client.
pub fn run(args: &Iperf3Client) -> ExitCode {
    let caught = alarm::catch_signals().and_then(|()| alarm::catch_hangup());
    if caught.is_err() {
        return fail("error - unable to catch signals");
    }
    if let Some(cpu) = args.common.affinity.0 {
        if let Err(error) = process::bind_to_cpu(cpu) {
            let why = system_text(&error);
            return fail(&format!("error - unable to set CPU affinity: {why}"));
        }
    }
    let user = match args.login.as_ref().map(Iperf3User::new).transpose() {
        Ok(user) => user,
        Err(text) => return fail(&text),
    };
    let writer = match LineWriter::open(&args.common, args.parameters.title.as_deref()) {
        Ok(writer) => writer,
        Err(text) => return fail(&format!("error - {text}")),
    };
    let plan = Iperf3Plan::new(args, user);
    let mut output = Output::new(Iperf3Form::new(args), &plan.host, writer);
    let tested = test(&plan, &mut output);
    output.last(&tested);
    if tested.error.is_some() {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

/// The text of an error without `error - `, which the output adds.
fn without_kind(text: &str) -> String {
    text.strip_prefix("error - ").unwrap_or(text).to_owned()
}

/// The program that answers a cookie so, if it is no server of iperf3.
fn foreign(answer: &[u8]) -> Option<ForeignProgram> {
    let is_state = |byte: &u8| !matches!(State::of(*byte), State::Other(_));
    let program = ForeignProgram::of_answer(answer)?;
    let is_iperf3 = program == ForeignProgram::Iperf3 || answer.first().is_some_and(is_state);
    (!is_iperf3).then_some(program)
}

fn test(plan: &Iperf3Plan, output: &mut Output) -> Tested {
    match ClientRun::begin(plan, output) {
        Ok(run) => run.finish(),
        Err(error) => Tested::failed(error),
    }
}

/// A test of a client.
pub struct ClientRun<'a> {
    test: Test<'a>,
    machine: ClientTest,
}

impl<'a> ClientRun<'a> {
    /// Connects to the server.
    ///
    /// # Errors
    /// The text of the failure.
    pub fn begin(plan: &'a Iperf3Plan, observer: &'a mut dyn TestObserver) -> Result<Self, String> {
        let mut parameters = plan.parameters.clone();
        let mut random = [0; 36];
        netperf_os::system::random(&mut random)
            .map_err(|error| format!("unable to make a cookie: {error}"))?;
        let cookie = Cookie::of(&random);
        observer.connecting(plan.port.as_deref());
        let control = connect::control(plan)?;
        let mss = connect::segment_size(&control);
        let udp = parameters.protocol == Protocol::Udp;
        if parameters.len == 0 {
            parameters.len = mss.filter(|_| udp).unwrap_or(DATAGRAM).min(65_507);
            observer.found_length(parameters.len);
        }
        if let Some(user) = &plan.user {
            // The server compares its time with its own clock.
            let token = user.token();
            parameters.authtoken = Some(token.map_err(|text| without_kind(&text))?);
        }
        if plan.debug {
            observer.message("send_parameters:", document(&parameters));
        }
        observer.begins(&parameters, cookie, mss);
        let mut test = Test {
            plan,
            observer,
            control,
            cookie,
            run: None,
            totals: None,
            peer: None,
            error: None,
            end: None,
            parameters: parameters.clone(),
            until: clock::now().plus(BEGIN),
            latest: clock::now().plus(WHOLE_BEGIN),
            timing: Timing::default(),
            patience: overtime::OF_PEER,
            intervals: 0,
            interrupted: false,
            hurries: false,
        };
        let mut machine = ClientTest::new(cookie, parameters);
        test.step(&mut machine, ClientTestInput::Connected);
        Ok(Self { test, machine })
    }

    /// Goes on until data moves, or until the test has failed.
    pub fn until_data(&mut self) {
        while self.test.end.is_none() && self.machine.at() != ClientTestState::Runs {
            self.test.turn(&mut self.machine);
        }
    }

    /// Returns true if the server did not take the test because it runs another one, or because it
    /// closed its listener behind one.
    pub const fn is_busy(&self) -> bool {
        match self.test.end {
            Some(Err(ClientError::Busy)) => true,
            Some(Err(ClientError::Closed)) => self.test.run.is_none(),
            _ => false,
        }
    }

    /// Goes on to the end.
    pub fn finish(mut self) -> Tested {
        while self.test.end.is_none() {
            self.test.turn(&mut self.machine);
        }
        self.test.leave()
    }
}

/// Moments of a running test.
#[derive(Debug, Default)]
struct Timing {
    /// Set-up of the streams.
    setup: Duration,
    /// When data came before the message that the test runs.
    first_data: Option<Moment>,
    /// End of the part that does not count.
    omitted_until: Option<Moment>,
    /// End of the next interval.
    interval_at: Option<Moment>,
    /// End of the time.
    over_at: Option<Moment>,
    /// Bytes at the last look, and when they changed.
    progress: (u64, Option<Moment>),
    /// Bytes at the end of the time.
    at_end: u64,
}

struct Test<'a> {
    plan: &'a Iperf3Plan,
    observer: &'a mut dyn TestObserver,
    control: Socket,
    cookie: Cookie,
    parameters: Parameters,
    run: Option<Run>,
    totals: Option<(Totals, Vec<StreamInfo>)>,
    peer: Option<Box<Results>>,
    /// Why this end failed.
    error: Option<String>,
    end: Option<Result<(), ClientError>>,
    /// Deadline of the begin, or of the end.
    until: Moment,
    /// The latest one, of all messages before a test runs, or while data still moves.
    latest: Moment,
    timing: Timing,
    /// Time without progress of the end.
    patience: Duration,
    intervals: u32,
    interrupted: bool,
    /// A signal has shortened the end.
    hurries: bool,
}

impl Test<'_> {
    fn by_amount(&self) -> bool {
        self.parameters.num > 0 || self.parameters.blockcount > 0
    }

    /// Waits for the next event and handles it.
    fn turn(&mut self, machine: &mut ClientTest) {
        let runs = machine.at() == ClientTestState::Runs;
        let timing = &self.timing;
        // Moments of the run are over with it.
        let moments = if runs {
            [timing.omitted_until, timing.interval_at, timing.over_at]
        } else {
            [Some(self.until), None, None]
        };
        let next = moments.into_iter().flatten().map(Moment::left).min();
        let most = match (runs, self.by_amount()) {
            (true, true) => LOOK_AT_AMOUNT,
            (_, _) => LOOK,
        };
        let wait = next.unwrap_or(most).min(most);
        // poll(2) takes whole milliseconds: a shorter wait would be none.
        if self.waits_for_message(wait.max(Duration::from_millis(1))) {
            self.read_control(machine);
        }
        if alarm::stopped_by_user() && self.end.is_none() {
            if !self.observer.takes_signals() || machine.at() < ClientTestState::Runs {
                self.interrupt(machine);
            } else if machine.at() > ClientTestState::Runs {
                self.hurry();
            }
        }
        if self.end.is_none() {
            self.tick(machine);
        }
    }

    /// Ends the test at once, with what was measured.
    fn interrupt(&mut self, machine: &mut ClientTest) {
        self.interrupted = true;
        self.finish();
        self.step(machine, ClientTestInput::Interrupted);
    }

    /// Gives the end of the server the time that a user waits who has ended the test.
    fn hurry(&mut self) {
        if std::mem::replace(&mut self.hurries, true) {
            return;
        }
        let sockets = self.run.as_ref().map(Run::sending).unwrap_or_default();
        let sockets = sockets.into_iter().chain([self.control.as_fd()]);
        let trips = sockets.filter_map(|fd| tcp::info(fd).ok());
        let trip = trips.map(|info| info.longest_round_trip()).max();
        let (now, trip) = (clock::now(), trip.unwrap_or_default());
        self.patience = AFTER_SIGNAL + trip * 2;
        self.until = self.until.min(now.plus(self.patience));
        let longest = WHILE_DATA_MOVES + trip * 10;
        self.latest = self.latest.min(now.plus(longest));
    }

    /// Returns true if the server says something within this time. Notes when the first data comes
    /// before the server says that the test runs, in another connection.
    fn waits_for_message(&mut self, within: Duration) -> bool {
        let mut waited = vec![self.control.as_fd()];
        let run = self.run.as_ref().filter(|run| !run.has_begun());
        if self.timing.first_data.is_none() {
            waited.extend(run.map(Run::receiving).unwrap_or_default());
        }
        let readable = all_ready(&waited, within).unwrap_or_default();
        if readable.iter().skip(1).any(|readable| *readable) {
            self.timing.first_data = Some(clock::now());
        }
        readable.first() == Some(&true)
    }

    fn read_control(&mut self, machine: &mut ClientTest) {
        let mut bytes = [0; 16 * 1024];
        let input = match calls::recv_now(self.control.as_fd(), &mut bytes) {
            Ok(0) => ClientTestInput::Closed,
            Ok(count) => {
                let bytes = bytes.get(..count).unwrap_or_default();
                let is_first = machine.at() == ClientTestState::AwaitsAnswer;
                match foreign(bytes).filter(|_| is_first) {
                    Some(program) => {
                        self.error = Some(format!(
                            "{program} answers, not iperf3; give the port of the iperf3 server \
                             with -p"
                        ));
                        ClientTestInput::Failed
                    }
                    None => ClientTestInput::Bytes(bytes),
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                ) =>
            {
                return;
            }
            Err(_) => ClientTestInput::Closed,
        };
        self.step(machine, input);
    }

    fn step(&mut self, machine: &mut ClientTest, input: ClientTestInput<'_>) {
        let before = machine.at();
        let mut effects = std::collections::VecDeque::from(machine.step(input));
        while let Some(effect) = effects.pop_front() {
            let next = match effect {
                ClientTestEffect::Send(bytes) => send_all(&self.control, &bytes)
                    .err()
                    .map(|_| ClientTestInput::Closed),
                ClientTestEffect::OpenStreams => Some(self.open_streams()),
                ClientTestEffect::Start => {
                    self.start();
                    None
                }
                ClientTestEffect::Finish => Some(self.measure()),
                ClientTestEffect::Report(results) => {
                    if self.plan.debug {
                        self.observer.message("get_results", document(&results));
                    }
                    self.peer = Some(results);
                    None
                }
                ClientTestEffect::End(end) => {
                    self.end = Some(end);
                    None
                }
            };
            if let Some(next) = next {
                effects.extend(machine.step(next));
            }
        }
        if before == ClientTestState::Runs && machine.at() != before {
            self.limit_end();
        } else if before < ClientTestState::Runs && machine.at() != before {
            let next = self.until.max(clock::now().plus(BEGIN));
            self.until = next.min(self.latest);
        }
    }

    /// Sets the deadline of the end, which is one for all its messages.
    fn limit_end(&mut self) {
        let now = clock::now();
        let longest = if self.by_amount() {
            QUEUED
        } else {
            overtime::OF_OWN_DATA
        };
        self.until = now.plus(overtime::OF_PEER);
        self.latest = now.plus(longest);
        self.timing.at_end = self.run.as_ref().map_or(0, Run::bytes);
    }

    fn open_streams(&mut self) -> ClientTestInput<'static> {
        let streams = EACH_STREAM * self.parameters.streams();
        (self.until, self.latest) = (self.until.plus(streams), self.latest.plus(streams));
        let peer = self.control.peer_addr().ok().and_then(|at| at.as_socket());
        let before = clock::now();
        let opened = match peer {
            Some(peer) => self.open_all(peer),
            None => Err("control socket has closed unexpectedly".to_owned()),
        };
        match opened {
            Ok(run) => {
                self.timing.setup = before.elapsed();
                self.observer.connected(&run, &self.parameters);
                self.run = Some(run);
                ClientTestInput::StreamsOpen
            }
            Err(error) => {
                self.error = Some(error);
                ClientTestInput::Failed
            }
        }
    }

    fn open_all(&self, peer: SocketAddr) -> Result<Run, String> {
        let open = |name: &String| {
            let file = data_file(name, self.parameters.client_sends(0));
            let file = file.map_err(|error| {
                let why = system_text(&error);
                format!("unable to open -F file: {why}")
            })?;
            Ok::<_, String>((file, name.clone()))
        };
        let data = self.plan.file.as_ref().map(open).transpose()?;
        let mut sockets = Vec::new();
        for position in 0..self.parameters.streams() {
            if self.until.left().is_zero() {
                return Err(ClientError::Silent.to_string());
            }
            let own_port = self
                .plan
                .own_port
                .map(|port| port.wrapping_add(u16::try_from(position).unwrap_or(0)));
            let own = (self.plan, own_port);
            sockets.push(connect::stream(own, peer, &self.parameters, &self.cookie)?);
        }
        Run::prepare(&self.parameters, true, sockets, data)
            .map_err(|error| format!("unable to create a new stream: {}", connect::said(&error)))
    }

    fn start(&mut self) {
        let Some(run) = &mut self.run else {
            return;
        };
        run.start(self.timing.first_data);
        let started = clock::now();
        let now = self.timing.first_data.unwrap_or(started);
        let omit = Duration::from_secs(self.parameters.omit.into());
        self.timing.omitted_until = (!omit.is_zero()).then(|| now.plus(omit));
        // Data that came earlier has to be read before an interval ends.
        let read = started.plus(self.interval().unwrap_or_default() / 10);
        let first = |interval| now.next_whole(interval, if now < started { read } else { now });
        self.timing.interval_at = self.interval().map(first);
        if !self.by_amount() && self.parameters.time > 0.0 {
            let time = Duration::try_from_secs_f64(self.parameters.time).unwrap_or_default();
            self.timing.over_at = Some(now.plus(omit + time));
        }
        self.timing.progress = (0, Some(now));
    }

    fn interval(&self) -> Option<Duration> {
        let seconds = self.plan.interval;
        let interval = Duration::try_from_secs_f64(seconds).ok();
        interval.filter(|interval| !interval.is_zero())
    }

    /// Does what is due.
    fn tick(&mut self, machine: &mut ClientTest) {
        // One reading: what is due at the same moment is done together.
        let now = clock::now();
        let over = |moment: Option<Moment>| moment.is_some_and(|at| at <= now);
        if machine.at() != ClientTestState::Runs {
            self.wait_for_queued_data(now);
            if self.until.left().is_zero() {
                self.give_up(machine);
            }
            return;
        }
        if over(self.timing.omitted_until) {
            self.timing.omitted_until = None;
            self.row(true);
            if let Some(run) = &mut self.run {
                run.counts_from_now();
            }
            let interval = self.interval();
            self.timing.interval_at = interval.map(|interval| clock::now().plus(interval));
        }
        let is_over = over(self.timing.over_at) || self.observer.is_enough();
        if over(self.timing.interval_at) && !is_over {
            self.row(self.timing.omitted_until.is_some());
            let interval = self.interval().unwrap_or(LOOK);
            let next = |at: Moment| at.next_whole(interval, now);
            self.timing.interval_at = self.timing.interval_at.map(next);
        }
        let failed = self.run.as_ref().and_then(Run::failed);
        if is_over
            || self
                .run
                .as_ref()
                .is_some_and(|run| run.is_over(&self.parameters))
        {
            self.end_test(machine, failed);
        } else {
            self.watch_progress(machine);
        }
    }

    /// Puts off the deadline of the end while own data, or data of an amount, moves.
    fn wait_for_queued_data(&mut self, now: Moment) {
        let Some(run) = &self.run else {
            return;
        };
        let counts_all = self.by_amount() || self.hurries;
        let arrived = if counts_all { run.bytes() } else { 0 };
        let moved = arrived.wrapping_sub(run.unacknowledged());
        if moved != self.timing.progress.0 {
            self.timing.progress = (moved, Some(now));
            self.until = self.until.max(now.plus(self.patience).min(self.latest));
        }
    }

    /// The begin or the end took too long.
    fn give_up(&mut self, machine: &mut ClientTest) {
        if self.hurries {
            return self.interrupt(machine);
        }
        let bytes = self.run.as_ref().map_or(0, Run::bytes);
        let sends_on = machine.at() > ClientTestState::Runs && bytes > self.timing.at_end;
        if !sends_on {
            return self.step(machine, ClientTestInput::Silent);
        }
        let seconds = overtime::OF_PEER.as_secs();
        self.error = Some(format!(
            "the server still sends {seconds} seconds after the end of the test"
        ));
        self.step(machine, ClientTestInput::Failed);
    }

    /// The time or the amount is over, or a stream failed.
    fn end_test(&mut self, machine: &mut ClientTest, failed: Option<i32>) {
        if let Some(errno) = failed {
            // The server may have said why.
            if matches!(ready(self.control.as_fd(), Interest::Read, LOOK), Ok(true)) {
                self.read_control(machine);
            }
            if self.end.is_none() {
                let error = std::io::Error::from_raw_os_error(errno);
                let text = connect::said(&error);
                self.error = Some(format!("unable to write to stream socket: {text}"));
                self.step(machine, ClientTestInput::Failed);
            }
            return;
        }
        self.observer.over();
        if let Some(run) = &mut self.run {
            run.stop_sending();
        }
        self.step(machine, ClientTestInput::Over);
    }

    /// Ends the streams and gives their results.
    fn measure(&mut self) -> ClientTestInput<'static> {
        self.finish();
        let udp = self.parameters.protocol == Protocol::Udp;
        let results = self.totals.as_ref();
        let results = results.map(|(totals, infos)| totals.results(infos, udp));
        let results = results.unwrap_or_default();
        if self.plan.debug {
            self.observer.message("send_results", document(&results));
        }
        ClientTestInput::Finished(Box::new(results))
    }

    fn watch_progress(&mut self, machine: &mut ClientTest) {
        let Some(run) = &self.run else {
            return;
        };
        let (bytes, now) = (run.bytes(), clock::now());
        let (before, since) = self.timing.progress;
        if bytes != before {
            self.timing.progress = (bytes, Some(now));
            return;
        }
        let without = since.map_or(Duration::ZERO, |since| now.since(since));
        if run.receives_only() && without > self.plan.receive_timeout.unwrap_or(RECEIVES) {
            self.error = Some(ServerError::IDLE.to_string());
            self.step(machine, ClientTestInput::Failed);
        } else if self.by_amount() && without > STALLED {
            self.step(machine, ClientTestInput::Silent);
        }
    }

    fn row(&mut self, omitted: bool) {
        if let Some(run) = &mut self.run {
            let interval = run.interval(omitted);
            self.show(interval);
        }
    }

    fn show(&mut self, interval: StreamInterval) {
        self.observer.interval(interval, self.intervals == 0);
        self.intervals += 1;
    }

    /// Ends the streams.
    fn finish(&mut self) {
        let Some(run) = &mut self.run else {
            return;
        };
        if self.totals.is_some() || !run.has_begun() {
            return;
        }
        let (last, totals) = run.finish(self.intervals > 0);
        let infos = run.infos.clone();
        if let Some(last) = last {
            self.show(last);
        }
        self.totals = Some((totals, infos));
    }

    /// The text of an error, and a likely reason.
    fn explained(&self, error: &ClientError) -> String {
        let user = self.plan.user.as_ref().filter(|_| self.run.is_none());
        match (error, user.map(Iperf3User::padding)) {
            (ClientError::Closed, Some(TokenPadding::Pkcs1)) => {
                format!("{error}: iperf3 from 3.17 on refuses a user so; try --use-oaep-padding")
            }
            _ => error.to_string(),
        }
    }

    fn leave(mut self) -> Tested {
        let error = match self.end.take() {
            Some(Ok(())) | None => None,
            // What was measured is the result.
            Some(Err(ClientError::Interrupted)) if self.hurries => None,
            Some(Err(ClientError::Failed)) => self.error.take(),
            Some(Err(error)) => Some(self.explained(&error)),
        };
        if error.is_some() {
            self.finish();
        }
        let error = error.or_else(|| {
            let (totals, infos) = self.totals.as_ref()?;
            let peer = self.peer.as_deref()?;
            let why = claims::contradiction(&self.parameters, infos, totals, peer)?;
            // Impossible results are not shown.
            self.peer = None;
            Some(why)
        });
        let warning = self
            .peer
            .as_mut()
            .and_then(|peer| without_impossible_cpu(peer));
        if let (Some((totals, infos)), Some(peer)) = (&self.totals, &mut self.peer) {
            without_omitted(peer, (infos, totals), &self.parameters);
        }
        let (totals, infos) = self.totals.unzip();
        Tested {
            infos: infos.unwrap_or_default(),
            setup: self.timing.setup,
            totals,
            peer: self.peer,
            warning,
            error,
            interrupted: self.interrupted,
        }
    }
}
