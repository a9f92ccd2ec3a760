//! The ports of iperf3, as the listener sees them.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::AsFd;

use netperf_daemon::poller::{PollToken, ServerPoller};
use netperf_iperf3::messages::{CONNECT_WORD, COOKIE, ConnectWord, Cookie, State};
use netperf_model::{Denied, OnePort};
use netperf_os::Socket;
use netperf_os::io::{Source, is_no_progress, peek_at, recv, recv_with_destination, send};

use super::message::{self, StreamMessage};
use crate::accept_loop::AcceptLoop;
use crate::admission::address_of;
use crate::one_port::{canonical, of_the_same_link};
use crate::peer::described;
use crate::pending::{self, PendingConnection, PendingStage};
use crate::served_protocol::ServedProtocol;
use crate::session_process::SessionProcess;

/// Most connect words for a test: some may be forged.
pub(super) const MOST_WORDS: u32 = 1024;
/// Datagrams and messages per round.
const AT_ONCE: usize = 64;

/// Next connection that a session expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expects {
    Nothing,
    Connections,
    /// Connect words; another session of the address comes first.
    Turn,
    /// Connect words.
    Words,
}

/// A session.
#[derive(Debug)]
struct Seat {
    handoff: Socket,
    cookie: Cookie,
    address: Option<IpAddr>,
    expects: Expects,
    /// Connect words that it has been passed.
    words: u32,
}

/// Sockets at the port of iperf3.
#[derive(Debug, Default)]
pub(crate) struct Iperf3Sockets {
    /// TCP listeners.
    pub(crate) listeners: Vec<Socket>,
    /// A datagram socket at the address of each listener.
    pub(crate) datagrams: Vec<Socket>,
}

/// Datagrams and sessions of iperf3.
#[derive(Debug, Default)]
pub(crate) struct Iperf3Port {
    datagrams: Vec<Socket>,
    /// Sessions by number.
    seats: BTreeMap<u64, Seat>,
    cookies: HashMap<Cookie, u64>,
    /// The session of each address that has the turn.
    turns: HashMap<Option<IpAddr>, u64>,
}

impl Iperf3Port {
    /// Watches the sockets for datagrams.
    ///
    /// # Errors
    /// When a socket cannot be watched.
    pub(crate) fn watch(datagrams: Vec<Socket>, poller: &ServerPoller) -> io::Result<Self> {
        for socket in &datagrams {
            poller.watch(socket.as_fd(), PollToken::Iperf3Datagrams)?;
        }
        Ok(Self {
            datagrams,
            ..Self::default()
        })
    }

    /// Removes a session that has ended.
    pub(crate) fn remove_session(&mut self, number: u64, poller: &ServerPoller) {
        if let Some(seat) = self.seats.remove(&number) {
            poller.remove(seat.handoff.as_fd());
            self.cookies.remove(&seat.cookie);
            self.give_turns();
        }
    }

    /// Reads the messages of a session.
    pub(crate) fn hear_session(&mut self, number: u64, poller: &ServerPoller) {
        for _ in 0..AT_ONCE {
            let Some(seat) = self.seats.get_mut(&number) else {
                return;
            };
            match message::receive(&seat.handoff) {
                Some(StreamMessage::ExpectsConnections) => seat.expects = Expects::Connections,
                Some(StreamMessage::ExpectsDatagrams) => {
                    seat.expects = Expects::Turn;
                    self.give_turns();
                }
                Some(StreamMessage::ExpectsNothing) => {
                    seat.expects = Expects::Nothing;
                    self.give_turns();
                }
                Some(StreamMessage::Word(from, own)) => self.announce(from, own),
                // Further clients do not wait for the end of this session. It sends nothing else.
                Some(
                    StreamMessage::Over
                    | StreamMessage::Granted
                    | StreamMessage::Connection(..)
                    | StreamMessage::Unknown,
                ) => {}
                Some(StreamMessage::End) => return self.remove_session(number, poller),
                None => return,
            }
        }
    }

    /// Gives each address the turn of its oldest session that waits for one.
    fn give_turns(&mut self) {
        let seats = &self.seats;
        self.turns.retain(|_, number| {
            let seat = seats.get(number);
            seat.is_some_and(|seat| seat.expects == Expects::Words)
        });
        for (number, seat) in &mut self.seats {
            if seat.expects == Expects::Turn && !self.turns.contains_key(&seat.address) {
                seat.expects = Expects::Words;
                seat.words = 0;
                self.turns.insert(seat.address, *number);
                // A session that is gone ends soon.
                let _gone = message::send(&seat.handoff, &StreamMessage::Granted);
            }
        }
    }

    /// Passes a connect word to the session that has the turn of its address.
    fn announce(&mut self, from: SocketAddr, own: SocketAddr) {
        let number = self.turns.get(&Some(from.ip()));
        let seat = number.and_then(|number| self.seats.get_mut(number));
        if let Some(seat) = seat.filter(|seat| seat.words < MOST_WORDS) {
            seat.words += 1;
            // A client without an answer gives up.
            let _lost = message::send(&seat.handoff, &StreamMessage::Word(from, own));
        }
    }

    /// Passes connect words to their sessions, up to a limit per round. No other datagram is
    /// answered, and none costs more where there are many sessions.
    pub(crate) fn read_words(&mut self) {
        let mut words = Vec::new();
        for socket in &self.datagrams {
            let read = (0..AT_ONCE).map_while(|_| word(socket).ok());
            words.extend(read.flatten());
        }
        for (from, own) in words {
            self.announce(from, own);
        }
    }
}

/// The next datagram, if it is a connect word: its source and its destination.
pub(super) fn word(socket: &Socket) -> io::Result<Option<(SocketAddr, SocketAddr)>> {
    let mut bytes = [0; CONNECT_WORD + 1];
    let mut source = Source::unknown();
    let (count, to) = recv_with_destination(socket.as_fd(), &mut bytes, &mut source)?;
    let read = bytes.get(..count).and_then(ConnectWord::from_client);
    let port = socket.local_addr()?.as_socket().map(|at| at.port());
    let (Some(_), Some(from), Some(to), Some(port)) = (read, source.address(), to, port) else {
        return Ok(None);
    };
    let own = SocketAddr::new(to.to_canonical(), port);
    Ok(Some((canonical(from), of_the_same_link(own, from))))
}

/// The cookie of a client, which stays in the socket buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArrivingCookie {
    /// It is there.
    Whole(Cookie),
    /// A part of it, or nothing.
    Partial,
    /// Data that is no cookie.
    Other,
    /// Closed without data.
    Closed,
    /// The connection broke.
    Broken,
}

impl ArrivingCookie {
    pub(super) fn of(connection: &Socket) -> Self {
        let mut bytes = [0; COOKIE];
        let count = match peek_at(connection.as_fd(), &mut bytes) {
            Ok(0) => return Self::Closed,
            Ok(count) => count,
            Err(error) if is_no_progress(&error) => 0,
            Err(_) => return Self::Broken,
        };
        let bytes = bytes.get(..count).unwrap_or_default();
        match Cookie::read(bytes) {
            Some(cookie) => Self::Whole(cookie),
            None if count < COOKIE && Cookie::may_begin(bytes) => Self::Partial,
            None => Self::Other,
        }
    }
}

/// Refuses a connection whose cookie has been read, as a server that is busy.
pub(super) fn refuse(socket: &Socket) {
    let busy = [State::AccessDenied.byte()];
    // The first data on this connection, so there is space for it.
    if socket.set_nonblocking(true).is_ok() && send(socket.as_fd(), &busy).is_ok() {
        let _gone = socket.shutdown(Shutdown::Write);
    }
}

impl AcceptLoop {
    /// Examines the cookie of a connection.
    pub(crate) fn hear_cookie(&mut self, one: PendingConnection, ended: bool) {
        match ArrivingCookie::of(&one.control) {
            ArrivingCookie::Whole(cookie) => self.route_iperf3(one, cookie),
            ArrivingCookie::Partial if !ended => self.keep(one, PendingStage::Cookie),
            ArrivingCookie::Partial | ArrivingCookie::Broken => {
                self.drop_silent(&one.peer, "cut");
            }
            ArrivingCookie::Other => self.drop_silent(&one.peer, "nonsense"),
            ArrivingCookie::Closed => self.drop_silent(&one.peer, "finished"),
        }
    }

    /// A stream of a session, or a new session. Streams of a session are used in the order of
    /// accept(2), as the original does; their cookies may arrive in another.
    fn route_iperf3(&mut self, one: PendingConnection, cookie: Cookie) {
        let socket = &one.control;
        self.poller.remove(socket.as_fd());
        pending::reset_wake_threshold(socket);
        let Some(number) = self.iperf3.cookies.get(&cookie).copied() else {
            return self.begin_iperf3(one, cookie);
        };
        // A session tells that it expects streams before its client opens them.
        self.iperf3.hear_session(number, &self.poller);
        if recv(socket.as_fd(), &mut [0; COOKIE]).is_err() {
            return self.drop_silent(&one.peer, "cut");
        }
        let seat = self.iperf3.seats.get(&number);
        let seat = seat.filter(|seat| {
            seat.expects == Expects::Connections && seat.address == address_of(&one.peer)
        });
        let passed = seat.is_some_and(|seat| {
            message::send_connection(&seat.handoff, socket.as_fd(), one.place).is_ok()
        });
        if !passed {
            refuse(socket);
            self.note_denied(described(&one.peer), &Denied::Token);
        }
    }

    /// Starts the session of a client.
    fn begin_iperf3(&mut self, one: PendingConnection, cookie: Cookie) {
        let address = address_of(&one.peer);
        let admitted = self
            .find_seat(address)
            .and_then(|()| self.count_start(address));
        if let Err(denied) = admitted {
            if recv(one.control.as_fd(), &mut [0; COOKIE]).is_ok() {
                refuse(&one.control);
            }
            return self.note_denied(described(&one.peer), &denied);
        }
        self.started += 1;
        let (number, peer) = (self.started, described(&one.peer));
        let started = SessionProcess::start(
            number,
            (one.control, peer),
            &self.args,
            (OnePort::Tcp, None),
            ServedProtocol::Iperf3,
            None,
        );
        match started {
            Ok((session, Some(handoff))) => {
                let token = PollToken::Iperf3Session(number);
                if let Err(error) = self.poller.watch_edge(handoff.as_fd(), token) {
                    self.complain("session", &error);
                }
                if let Some(fd) = session.fd() {
                    // On failure the records are read at the end of the session.
                    let _late = self.poller.watch_edge(fd, PollToken::Session(number));
                }
                self.sessions.push(session);
                let seat = Seat {
                    handoff,
                    cookie,
                    address,
                    expects: Expects::Nothing,
                    words: 0,
                };
                self.iperf3.cookies.insert(cookie, number);
                self.iperf3.seats.insert(number, seat);
            }
            // A session of this kind has a hand-off socket.
            Ok((_, None)) => {}
            Err(error) => self.complain("session", &error),
        }
    }
}
