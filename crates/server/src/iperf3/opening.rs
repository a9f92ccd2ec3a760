//! Opening the streams of a test.
//!
//! Any host can forge the word by which a client asks for a stream of datagrams. Each word of the
//! client's address therefore opens a candidate, and there may be more of them than streams. A
//! candidate is no stream if the client's host reports its port closed, or if others send data
//! and it does not.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::time::Duration;

use netperf_iperf3::messages::{CONNECT_WORD, Protocol};
use netperf_iperf3::states::server::{ServerTest, ServerTestInput, ServerTestState};
use netperf_measure::clock::{self, Moment};
use netperf_os::io::{is_no_progress, peek_at};
use netperf_os::{Socket, tcp};
use netperf_program::iperf3::run::Run;
use netperf_program::iperf3::socket::{equip, limit_unacknowledged};

use super::message::{self, StreamMessage};
use super::session::{ANSWER, Iperf3Session};
use super::streams::open_datagrams;

/// Most candidates beside the streams.
const SPARE: usize = 64;
/// Shortest time without another word after which the client has all its streams.
const SETTLED: Duration = Duration::from_millis(10);
/// The same among more candidates than streams, some of which are forged: their ports are reported
/// closed meanwhile.
const SETTLED_AMONG_MORE: Duration = Duration::from_millis(200);
/// Longest time until then.
const MOST_SETTLED: Duration = Duration::from_secs(2);
/// Time for the client to send data on its streams, if there are more candidates.
const CHOICE: Duration = Duration::from_secs(2);

/// State of a candidate, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateState {
    /// Nothing.
    Silent,
    /// Data has arrived.
    Sends,
    /// The port is closed.
    Closed,
}

/// When candidates become streams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamChoice {
    /// There are enough since.
    full: Option<Moment>,
    /// The client has all its streams then, if no other word comes.
    settled: Option<Moment>,
    /// Data decides until then. The client has been told to send.
    until: Option<Moment>,
}

impl StreamChoice {
    /// True while data decides.
    pub(super) const fn is_open(&self) -> bool {
        self.until.is_some()
    }

    /// When the next step is due.
    pub(super) fn next(&self) -> Option<Moment> {
        let look = self
            .until
            .map(|_| clock::now().plus(Duration::from_millis(1)));
        self.settled.into_iter().chain(look).min()
    }
}

impl Iperf3Session<'_> {
    fn wanted(&self) -> usize {
        usize::try_from(self.parameters.streams()).unwrap_or(usize::MAX)
    }

    /// Adds a stream in the order of accept(2), as the original has it; cookies may arrive in
    /// another.
    pub(super) fn add_connection(&mut self, machine: &mut ServerTest, place: u64, socket: Socket) {
        let awaits = machine.at() == ServerTestState::AwaitsStreams;
        // Dropped: the test does not expect it.
        if !awaits || self.parameters.protocol == Protocol::Udp {
            return;
        }
        if let Some(time) = self.timeouts.send {
            if let Err(error) = limit_unacknowledged(&socket, time) {
                return self.fail(machine, &error);
            }
        }
        match equip(&socket, &self.parameters) {
            Ok(()) => {
                let index = self.places.partition_point(|other| *other < place);
                self.places.insert(index, place);
                self.sockets.insert(index, socket);
                self.until = clock::now().plus(ANSWER);
                if self.sockets.len() >= self.wanted() {
                    self.all_open(machine);
                }
            }
            Err(error) => self.fail_with(machine, error),
        }
    }

    pub(super) fn add_datagrams(
        &mut self,
        machine: &mut ServerTest,
        (from, own): (SocketAddr, SocketAddr),
    ) {
        // While data decides, a client that lacks streams still asks for them.
        let awaits = machine.at() == ServerTestState::AwaitsStreams || self.choice.is_open();
        let most = self.wanted().saturating_add(SPARE);
        let is_udp = self.parameters.protocol == Protocol::Udp;
        if !awaits || !is_udp || self.sockets.len() >= most {
            return;
        }
        let now = clock::now();
        match open_datagrams((from, own), &self.parameters, &self.handoff) {
            Ok(socket) => self.sockets.push(socket),
            // The port may be closed already, or the word forged.
            Err(_) if self.choice.full.is_some() => return,
            Err(error) => return self.fail_with(machine, error),
        }
        if self.choice.full.is_none() {
            self.until = now.plus(ANSWER);
        }
        if self.sockets.len() >= self.wanted() && !self.choice.is_open() {
            let full = *self.choice.full.get_or_insert(now);
            let settled = now.plus(self.settle_time());
            self.choice.settled = Some(settled.min(full.plus(MOST_SETTLED)));
        }
    }

    /// Time in which a client that lacks streams asks for the next one.
    fn settle_time(&self) -> Duration {
        let info = tcp::info(self.control.as_fd());
        let round_trip = info.map_or(Duration::ZERO, |info| info.longest_round_trip());
        let least = if self.sockets.len() > self.wanted() {
            SETTLED_AMONG_MORE
        } else {
            SETTLED
        };
        (2 * round_trip).clamp(least, MOST_SETTLED)
    }

    /// Does what is due about candidates.
    pub(super) fn look_at_candidates(&mut self, machine: &mut ServerTest) {
        let now = clock::now();
        if self.choice.settled.is_some_and(|settled| settled <= now) {
            self.choice.settled = None;
            self.drop_closed();
            if self.sockets.len() >= self.wanted() {
                self.all_open(machine);
            } else {
                self.choice.full = None;
                self.until = now.plus(ANSWER);
            }
        }
        if let Some(until) = self.choice.until {
            if self.drop_closed() >= self.receiving() || until <= now {
                self.choose(machine);
            }
        }
    }

    /// Drops candidates whose port is closed. Returns the number of those with data.
    fn drop_closed(&mut self) -> usize {
        let mut sending = 0;
        self.sockets.retain(|one| {
            let state = state_of(one);
            sending += usize::from(state == CandidateState::Sends);
            state != CandidateState::Closed
        });
        sending
    }

    /// Number of streams over which the client sends.
    fn receiving(&self) -> usize {
        let positions = 0..self.parameters.streams();
        let sends = positions.filter(|position| self.parameters.client_sends(*position));
        sends.count()
    }

    /// There are as many streams as the test has, or more candidates.
    fn all_open(&mut self, machine: &mut ServerTest) {
        if self.sockets.len() > self.wanted() && self.receiving() > 0 {
            self.choice.until = Some(clock::now().plus(CHOICE));
            return self.step(machine, ServerTestInput::StreamsOpen);
        }
        self.expect_nothing();
        self.sockets.truncate(self.wanted());
        if self.prepare(machine) {
            self.step(machine, ServerTestInput::StreamsOpen);
        }
    }

    /// Tells the listener that no more streams are expected.
    fn expect_nothing(&self) {
        // On failure the listener keeps the turn until the session ends.
        let _late = message::send(&self.handoff, &StreamMessage::ExpectsNothing);
    }

    /// Makes candidates with data the streams over which the client sends, and starts.
    pub(super) fn choose(&mut self, machine: &mut ServerTest) {
        self.choice.until = None;
        self.expect_nothing();
        let all = std::mem::take(&mut self.sockets);
        let all = all.into_iter().map(|one| (state_of(&one), one));
        let (sending, silent): (Vec<_>, Vec<_>) = all
            .filter(|(state, _)| *state != CandidateState::Closed)
            .partition(|(state, _)| *state == CandidateState::Sends);
        let (mut sending, mut silent) = (sending.into_iter(), silent.into_iter());
        for position in 0..self.parameters.streams() {
            let next = if self.parameters.client_sends(position) {
                sending.next().or_else(|| silent.next())
            } else {
                silent.next().or_else(|| sending.next())
            };
            self.sockets.extend(next.map(|(_, socket)| socket));
        }
        if self.sockets.len() < self.wanted() {
            return self.fail(machine, &io::ErrorKind::ConnectionRefused.into());
        }
        if self.prepare(machine) {
            self.start();
        }
    }

    /// Prepares the streams. Returns false if the test has failed.
    fn prepare(&mut self, machine: &mut ServerTest) -> bool {
        let sockets = std::mem::take(&mut self.sockets);
        match Run::prepare(&self.parameters, false, sockets, None) {
            Ok(run) => {
                self.report.connected(&run);
                self.run = Some(run);
                true
            }
            Err(error) => {
                self.fail(machine, &error);
                false
            }
        }
    }
}

fn state_of(candidate: &Socket) -> CandidateState {
    let mut bytes = [0; CONNECT_WORD + 1];
    match peek_at(candidate.as_fd(), &mut bytes) {
        Ok(count) if count > CONNECT_WORD => CandidateState::Sends,
        Ok(_) => CandidateState::Silent,
        Err(error) if is_no_progress(&error) => CandidateState::Silent,
        Err(_) => CandidateState::Closed,
    }
}
