//! The listener of a server of one test at a time: clients, and the streams of their tests.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::Sender;
use std::time::Duration;

use netperf_iperf3::messages::{COOKIE, Cookie};
use netperf_measure::clock::{self, Moment};
use netperf_os::io::recv_now;
use netperf_os::wait::{all_ready, sleep};
use netperf_os::{Socket, pass};

use crate::admission::address_of;
use crate::iperf3::message::{self, StreamMessage};
use crate::iperf3::port::{Expects, MOST_WORDS, refuse, word};
use crate::pending::PREFIX_WITHIN;

/// Largest number of connections whose cookie is incomplete; the oldest is dropped first.
const MOST: usize = 64;
/// Largest number of clients that wait for the end of a test.
const MOST_WAITING: usize = 16;
/// Time for which a client waits for the end of a test, whose own client may be gone already.
const ENDS_WITHIN: Duration = Duration::from_millis(500);
/// Longest wait for an event, and pause after an error.
const TURN: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);
/// Datagrams and messages per turn.
const AT_ONCE: usize = 64;

/// A client that begins a test.
#[derive(Debug)]
pub(super) struct NewClient {
    /// The control connection.
    pub(super) control: Socket,
    /// Its cookie, which has been read.
    pub(super) cookie: Cookie,
    /// Where its streams come from.
    pub(super) handoff: Socket,
}

/// A connection whose cookie is incomplete.
#[derive(Debug)]
struct ArrivingClient {
    socket: Socket,
    /// Place in the order of accept(2).
    place: u64,
    address: Option<IpAddr>,
    bytes: Vec<u8>,
    until: Moment,
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
    accepted: u64,
    arriving: VecDeque<ArrivingClient>,
    waiting: VecDeque<(ArrivingClient, Cookie)>,
    test: Option<RunningTest>,
    clients: Sender<NewClient>,
}

impl TestIntake {
    pub(super) fn new(listener: Socket, datagrams: Socket, clients: Sender<NewClient>) -> Self {
        Self {
            listener,
            datagrams,
            accepted: 0,
            arriving: VecDeque::new(),
            waiting: VecDeque::new(),
            test: None,
            clients,
        }
    }

    /// Serves events until the receiver of clients is gone.
    pub(super) fn run(mut self) {
        while self.turn().is_ok() {}
    }

    /// Waits for events and handles them.
    fn turn(&mut self) -> Result<(), Gone> {
        let handoff = self.test.as_ref().map(|test| &test.handoff);
        let sockets = [&self.listener, &self.datagrams];
        let sockets = sockets.into_iter().chain(handoff);
        let sockets = sockets.chain(self.arriving.iter().map(|one| &one.socket));
        let fds: Vec<BorrowedFd<'_>> = sockets.map(AsFd::as_fd).collect();
        let until = self.arriving.front().map(|one| one.until);
        let until = until.into_iter().chain(self.refuses_at()).min();
        let wait = until.map_or(TURN, Moment::left).min(TURN) + Duration::from_millis(1);
        let Ok(events) = all_ready(&fds, wait) else {
            sleep(PAUSE);
            return Ok(());
        };
        let mut events = events.into_iter();
        let mut next = || events.next().unwrap_or(false);
        let (new, datagrams) = (next(), next());
        let messages = self.test.is_some() && next();
        let heard: Vec<bool> = self.arriving.iter().map(|_| next()).collect();
        if messages {
            self.read_messages()?;
        }
        if datagrams {
            self.read_words()?;
        }
        self.read_cookies(&heard)?;
        self.refuse_late();
        if new {
            self.accept();
        }
        Ok(())
    }

    /// When the first client that waits is refused: its test has not ended.
    fn refuses_at(&self) -> Option<Moment> {
        let first = self.waiting.front()?;
        let runs = self.test.as_ref().is_some_and(|test| !test.is_over);
        runs.then_some(first.0.until)
    }

    /// Refuses clients that have waited in vain for the end of a test.
    fn refuse_late(&mut self) {
        while self.refuses_at().is_some_and(|at| at.left().is_zero()) {
            let first = self.waiting.pop_front();
            first.inspect(|(client, _)| refuse(&client.socket));
        }
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((socket, peer)) => {
                if self.arriving.len() >= MOST {
                    self.arriving.pop_front();
                }
                self.accepted += 1;
                self.arriving.push_back(ArrivingClient {
                    socket,
                    place: self.accepted,
                    address: address_of(&peer),
                    bytes: Vec::new(),
                    until: clock::now().plus(PREFIX_WITHIN),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Too many open files, for example.
            Err(_) => sleep(PAUSE),
        }
    }

    /// Reads from the connections that have sent something, and drops those that are too slow.
    fn read_cookies(&mut self, heard: &[bool]) -> Result<(), Gone> {
        let all = std::mem::take(&mut self.arriving);
        for (mut one, heard) in all.into_iter().zip(heard) {
            if !heard {
                if !one.until.left().is_zero() {
                    self.arriving.push_back(one);
                }
                continue;
            }
            let mut bytes = [0; COOKIE];
            let missing = COOKIE.saturating_sub(one.bytes.len());
            let place = bytes.get_mut(..missing).unwrap_or_default();
            match recv_now(one.socket.as_fd(), place) {
                Ok(0) => continue,
                Ok(count) => one.bytes.extend(bytes.iter().take(count)),
                Err(error) if netperf_os::io::is_no_progress(&error) => {}
                Err(_) => continue,
            }
            match Cookie::read(&one.bytes) {
                Some(cookie) => self.route(one, cookie)?,
                None if one.bytes.len() < COOKIE && Cookie::may_begin(&one.bytes) => {
                    self.arriving.push_back(one);
                }
                // No client of iperf3.
                None => {}
            }
        }
        Ok(())
    }

    /// A stream of the running test, or a client.
    fn route(&mut self, one: ArrivingClient, cookie: Cookie) -> Result<(), Gone> {
        // A session tells what it expects before its client can know.
        self.read_messages()?;
        let Some(test) = &self.test else {
            return self.begin(one, cookie);
        };
        if test.cookie == cookie {
            let expected = test.expects == Expects::Connections && test.address == one.address;
            let stream = one.socket.as_fd();
            let passed =
                expected && message::send_connection(&test.handoff, stream, one.place).is_ok();
            if !passed {
                refuse(&one.socket);
            }
        } else if self.waiting.len() < MOST_WAITING {
            let until = clock::now().plus(ENDS_WITHIN);
            self.waiting
                .push_back((ArrivingClient { until, ..one }, cookie));
        } else {
            refuse(&one.socket);
        }
        Ok(())
    }

    fn begin(&mut self, one: ArrivingClient, cookie: Cookie) -> Result<(), Gone> {
        let Ok((near, far)) = pass::pair() else {
            refuse(&one.socket);
            return Ok(());
        };
        self.test = Some(RunningTest {
            handoff: near,
            cookie,
            address: one.address,
            expects: Expects::Nothing,
            words: 0,
            is_over: false,
        });
        let client = NewClient {
            control: one.socket,
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
                    if let Some((one, cookie)) = self.waiting.pop_front() {
                        self.begin(one, cookie)?;
                    }
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

/// The receiver of clients is gone.
struct Gone;
