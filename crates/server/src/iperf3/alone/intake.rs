//! The listener of a server of one test at a time: clients, and the streams of their tests.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::Sender;
use std::time::Duration;

use netperf_iperf3::messages::{COOKIE, Cookie};
use netperf_measure::clock::{self, Moment};
use netperf_model::Limits;
use netperf_os::io::recv_now;
use netperf_os::wait::{all_ready, sleep};
use netperf_os::{Socket, pass, sockopt};

use crate::admission::address_of;
use crate::iperf3::message::{self, StreamMessage};
use crate::iperf3::port::{ArrivingCookie, Expects, MOST_WORDS, refuse, word};
use crate::pending::{
    PREFIX_WITHIN, PendingConnection, PendingConnections, PendingStage, WaitLimits,
    reset_wake_threshold,
};
use crate::served_protocol::ServedProtocol;

/// Largest number of connections whose cookie is incomplete, or that wait for the end of a test.
const MOST: usize = 256;
/// Largest number of clients that wait for the end of a test.
const MOST_WAITING: usize = 16;
/// Time for which a client waits for the end of a test, whose own client may be gone already.
const ENDS_WITHIN: Duration = Duration::from_millis(500);
/// Longest wait for an event, and pause after an error.
const TURN: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);
/// Pause before the next look at a part of a cookie, where the kernel reports it at once.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// Datagrams and messages per turn.
const AT_ONCE: usize = 64;

/// A client that begins a test.
#[derive(Debug)]
pub(super) struct NewClient {
    /// The control connection.
    pub(super) control: Socket,
    /// Its cookie, which has been read.
    pub(super) cookie: Cookie,
    /// Socket that hands over its streams.
    pub(super) handoff: Socket,
}

/// The test that runs.
#[derive(Debug)]
struct RunningTest {
    handoff: Socket,
    cookie: Cookie,
    address: Option<IpAddr>,
    expects: Expects,
    /// Connect words that it has been passed.
    words: u32,
    /// Its streams have ended.
    is_over: bool,
}

/// The listener.
#[derive(Debug)]
pub(super) struct TestIntake {
    listener: Socket,
    datagrams: Socket,
    pending: PendingConnections,
    limits: Limits,
    test: Option<RunningTest>,
    clients: Sender<NewClient>,
    /// A part of a cookie is there whose rest no event reports.
    looks_again: bool,
}

impl TestIntake {
    pub(super) fn new(listener: Socket, datagrams: Socket, clients: Sender<NewClient>) -> Self {
        Self {
            listener,
            datagrams,
            pending: PendingConnections::default(),
            limits: Limits::default(),
            test: None,
            clients,
            looks_again: false,
        }
    }

    /// Serves events until the receiver of clients is gone.
    pub(super) fn run(mut self) {
        while self.turn().is_ok() {}
    }

    /// Waits for events and handles them.
    fn turn(&mut self) -> Result<(), Gone> {
        let until = self.pending.next(self.wait_limits());
        let handoff = self.test.as_ref().map(|test| &test.handoff);
        let sockets = [&self.listener, &self.datagrams];
        let sockets = sockets.into_iter().chain(handoff);
        let arriving = self.pending.of_stage(PendingStage::Cookie);
        let sockets = sockets.chain(arriving.values().map(|one| &one.control));
        let fds: Vec<BorrowedFd<'_>> = sockets.map(AsFd::as_fd).collect();
        let numbers: Vec<u64> = arriving.keys().copied().collect();
        let wait = until.map_or(TURN, Moment::left).min(TURN) + Duration::from_millis(1);
        let Ok(events) = all_ready(&fds, wait) else {
            sleep(PAUSE);
            return Ok(());
        };
        let mut events = events.into_iter();
        let mut next = || events.next().unwrap_or(false);
        let (new, datagrams) = (next(), next());
        let messages = self.test.is_some() && next();
        let heard: Vec<u64> = numbers.into_iter().filter(|_| next()).collect();
        if messages {
            self.read_messages()?;
        }
        if datagrams {
            self.read_words()?;
        }
        for number in heard {
            if let Some(one) = self.pending.take(number) {
                self.hear(one)?;
            }
        }
        self.drop_overdue();
        if new {
            self.accept()?;
        }
        if std::mem::take(&mut self.looks_again) {
            sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Time limits of connections. Clients wait for the end of a test whose streams have ended.
    fn wait_limits(&self) -> WaitLimits {
        let runs = self.test.as_ref().is_some_and(|test| !test.is_over);
        WaitLimits {
            silent: PREFIX_WITHIN,
            place: if runs { ENDS_WITHIN } else { Duration::MAX },
        }
    }

    /// Drops connections that are too slow, and refuses clients that have waited in vain for the end
    /// of a test.
    fn drop_overdue(&mut self) {
        let now = clock::now();
        while let Some((one, _)) = self.pending.take_overdue(self.wait_limits(), now) {
            give_up(&one);
        }
    }

    fn accept(&mut self) -> Result<(), Gone> {
        match self.listener.accept() {
            Ok((socket, peer)) => {
                let source = self.limits.source(address_of(&peer));
                let place = self.pending.next_place();
                let peer = (peer, source);
                let one = PendingConnection::new((socket, place), peer, ServedProtocol::Iperf3);
                self.hear(one)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            // Too many open files, for example.
            Err(_) => {
                sleep(PAUSE);
                Ok(())
            }
        }
    }

    /// Examines the cookie of a connection.
    fn hear(&mut self, one: PendingConnection) -> Result<(), Gone> {
        match ArrivingCookie::of(&one.control) {
            ArrivingCookie::Whole(cookie) => self.route(one, cookie),
            ArrivingCookie::Partial => {
                // The next event comes when it is complete, or with the end.
                let control = one.control.as_fd();
                if one.at().is_some() && !sockopt::set_wake_threshold(control, COOKIE) {
                    self.looks_again = true;
                }
                self.keep(one, PendingStage::Cookie);
                Ok(())
            }
            // No client of iperf3.
            ArrivingCookie::Other | ArrivingCookie::Closed | ArrivingCookie::Broken => Ok(()),
        }
    }

    fn keep(&mut self, one: PendingConnection, stage: PendingStage) {
        while let Some(other) = self.pending.take_for(&one, MOST) {
            give_up(&other);
        }
        self.pending.keep(one, stage);
    }

    /// A stream of the running test, or a client.
    fn route(&mut self, one: PendingConnection, cookie: Cookie) -> Result<(), Gone> {
        // A session tells what it expects before its client can know.
        self.read_messages()?;
        let Some(test) = &self.test else {
            return self.begin(one, cookie);
        };
        if test.cookie == cookie {
            let is_expected =
                test.expects == Expects::Connections && test.address == address_of(&one.peer);
            let stream = take_cookie(&one).filter(|_| is_expected);
            let passed = stream.is_some_and(|stream| {
                message::send_connection(&test.handoff, stream.as_fd(), one.place).is_ok()
            });
            if !passed {
                refuse(&one.control);
            }
        } else if self.pending.of_stage(PendingStage::Complete).len() < MOST_WAITING {
            self.keep(one, PendingStage::Complete);
        } else {
            give_up(&one);
        }
        Ok(())
    }

    fn begin(&mut self, one: PendingConnection, cookie: Cookie) -> Result<(), Gone> {
        let pair = take_cookie(&one).and_then(|_| pass::pair().ok());
        let Some((near, far)) = pair else {
            refuse(&one.control);
            return Ok(());
        };
        self.test = Some(RunningTest {
            handoff: near,
            cookie,
            address: address_of(&one.peer),
            expects: Expects::Nothing,
            words: 0,
            is_over: false,
        });
        let client = NewClient {
            control: one.control,
            cookie,
            handoff: far,
        };
        self.clients.send(client).map_err(|_| Gone)
    }

    /// Reads the messages of the session.
    fn read_messages(&mut self) -> Result<(), Gone> {
        for _ in 0..AT_ONCE {
            let Some(test) = &mut self.test else {
                return Ok(());
            };
            match message::receive(&test.handoff) {
                Some(StreamMessage::ExpectsConnections) => test.expects = Expects::Connections,
                Some(StreamMessage::ExpectsDatagrams) => {
                    test.expects = Expects::Words;
                    // A session that is gone ends soon.
                    let _gone = message::send(&test.handoff, &StreamMessage::Granted);
                }
                Some(StreamMessage::ExpectsNothing) => test.expects = Expects::Nothing,
                Some(StreamMessage::Over) => test.is_over = true,
                Some(StreamMessage::End) => {
                    self.test = None;
                    self.begin_waiting()?;
                }
                Some(StreamMessage::Word(from, own)) => self.announce(from, own),
                // A session sends nothing else.
                Some(
                    StreamMessage::Granted | StreamMessage::Connection(..) | StreamMessage::Unknown,
                ) => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Begins the test of the client that has waited longest.
    fn begin_waiting(&mut self) -> Result<(), Gone> {
        while let Some(one) = self.pending.take_complete(|_| self.test.is_none()) {
            // One that has gone meanwhile has no test.
            if let ArrivingCookie::Whole(cookie) = ArrivingCookie::of(&one.control) {
                self.begin(one, cookie)?;
            }
        }
        Ok(())
    }

    /// Passes a connect word to the session, if it is of its client.
    fn announce(&mut self, from: SocketAddr, own: SocketAddr) {
        let test = self.test.as_mut().filter(|test| {
            let is_of_client = test.address == Some(from.ip());
            test.expects == Expects::Words && is_of_client && test.words < MOST_WORDS
        });
        if let Some(test) = test {
            test.words += 1;
            // A client without an answer gives up.
            let _lost = message::send(&test.handoff, &StreamMessage::Word(from, own));
        }
    }

    /// Passes connect words to the session. No other datagram is answered.
    fn read_words(&mut self) -> Result<(), Gone> {
        self.read_messages()?;
        for _ in 0..AT_ONCE {
            match word(&self.datagrams) {
                Ok(Some((from, own))) => self.announce(from, own),
                Ok(None) => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Reads the cookie, which is there. `None` if the connection broke.
fn take_cookie(one: &PendingConnection) -> Option<&Socket> {
    reset_wake_threshold(&one.control);
    let read = recv_now(one.control.as_fd(), &mut [0; COOKIE]);
    read.is_ok_and(|count| count == COOKIE)
        .then_some(&one.control)
}

/// Refuses a client that waits, and drops a connection that is none.
fn give_up(one: &PendingConnection) {
    let is_client = matches!(ArrivingCookie::of(&one.control), ArrivingCookie::Whole(_));
    if is_client && take_cookie(one).is_some() {
        refuse(&one.control);
    }
}

/// The receiver of clients is gone.
struct Gone;
