//! Routing of data that arrives at the control port to the session that issued its token
//! (docs/decisions/0020-one-port.md).

mod awaiting;
mod handoffs;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{OnePort, Token};
use netperf_os::io::{Source, peek_at, recv_with_destination};
use netperf_os::sockopt;
use netperf_os::{Domain, Protocol, SockAddr, Socket, Type, rights, without};
use netperf_transport::one_port::{self, HandoffMessage, PREAMBLE, Preamble, PreambleKind, Probe};

use self::awaiting::AwaitingPreambles;
use self::handoffs::Handoffs;

use super::peer::described;
use super::pending::PendingConnection;
use super::poller::{PollToken, ServerPoller};

/// Time limit for a preamble, and for a session to accept the connection.
const WITHIN: Duration = Duration::from_secs(5);
/// Largest number of connections that await a preamble or their session.
const MOST: usize = 1024;
/// Interval of retries when a session's hand-off queue is full.
const AGAIN: Duration = Duration::from_millis(2);
/// Datagrams per round, so that a flood does not starve other clients.
const AT_ONCE: usize = 64;

/// A data connection that no session has yet.
#[derive(Debug)]
struct ArrivingData {
    data: Socket,
    peer: SockAddr,
    until: Moment,
}

/// Data connections and probes that arrive at the control port.
#[derive(Debug)]
pub(super) struct DataArrivals {
    next: u64,
    awaiting_preamble: AwaitingPreambles,
    /// Connections whose session has a full hand-off queue, in order of expiry.
    awaiting_session: VecDeque<(ArrivingData, Token)>,
    /// Sockets that receive probes; empty if datagrams are not accepted.
    probe_sockets: Vec<Socket>,
    handoffs: Handoffs,
}

/// Data that belongs to no session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unclaimed {
    /// A connection from this peer with an unknown token.
    Unknown(String),
    /// A connection that ended or timed out before its preamble was complete: peer and reason.
    Unspoken(String, &'static str),
    /// A datagram with an unknown token. Its source address may be forged.
    Datagram,
}

/// State of a data connection.
enum ArrivalState {
    /// The preamble is incomplete.
    AwaitsPreamble(ArrivingData),
    /// The session's hand-off queue is full.
    AwaitsSession(ArrivingData, Token),
    Delivered,
    Failed(Unclaimed),
}

impl DataArrivals {
    /// Opens a probe socket for each listener. If one cannot be opened, no datagrams are
    /// accepted.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` when there are too many open files.
    pub(super) fn open(
        listeners: &[Socket],
        mode: OnePort,
        poller: &ServerPoller,
    ) -> io::Result<Self> {
        let beside = |listener: &Socket| {
            let socket = beside(listener)?;
            poller.watch(socket.as_fd(), PollToken::Probes)?;
            Ok(socket)
        };
        let probe_sockets: io::Result<Vec<Socket>> = match mode {
            OnePort::On => listeners.iter().map(beside).collect(),
            OnePort::Off | OnePort::Tcp => Ok(Vec::new()),
        };
        Ok(Self {
            next: 0,
            awaiting_preamble: AwaitingPreambles::default(),
            awaiting_session: VecDeque::new(),
            probe_sockets: probe_sockets.unwrap_or_default(),
            handoffs: Handoffs::new(poller)?,
        })
    }

    /// Adds the hand-off socket of the session with this number.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub(super) fn add_session(&mut self, number: u64, handoff: Socket) -> io::Result<()> {
        self.handoffs.add(number, handoff)
    }

    /// Removes the hand-off socket of a session that has ended.
    pub(super) fn remove_session(&mut self, number: u64) {
        self.handoffs.remove(number);
    }

    /// Reads the messages of the sessions.
    pub(super) fn read_handoffs(&mut self) {
        self.handoffs.look();
    }

    /// Reduces the mode to what is available.
    pub(super) fn possible(&self, mode: OnePort) -> OnePort {
        match mode {
            OnePort::On if self.probe_sockets.is_empty() => OnePort::Tcp,
            OnePort::Off | OnePort::Tcp | OnePort::On => mode,
        }
    }

    /// Stops accepting data.
    pub(super) fn close(&mut self) {
        self.probe_sockets.clear();
        self.awaiting_preamble.clear();
        self.awaiting_session.clear();
    }

    /// Time of the next scheduled action.
    pub(super) fn next(&self) -> Option<Moment> {
        let ends = self.awaiting_preamble.first().map(|one| one.until);
        let again = (!self.awaiting_session.is_empty()).then(|| clock::now().plus(AGAIN));
        [ends, again].into_iter().flatten().min()
    }

    /// Takes over a connection that begins with a preamble.
    pub(super) fn take(
        &mut self,
        one: PendingConnection,
        ended: bool,
        poller: &ServerPoller,
    ) -> Option<Unclaimed> {
        // The next event comes when the preamble is complete.
        sockopt::set_wake_threshold(one.control.as_fd(), PREAMBLE);
        let heard_of = one.at().is_some();
        let one = ArrivingData {
            data: one.control,
            peer: one.peer,
            until: clock::now().plus(WITHIN),
        };
        self.next += 1;
        let number = self.next;
        let state = one.look(ended, &mut self.handoffs, poller);
        if let ArrivalState::AwaitsPreamble(one) = &state {
            let (fd, token) = (one.data.as_fd(), PollToken::ArrivingData(number));
            let heard = if heard_of {
                poller.change_token(fd, token)
            } else {
                poller.watch_edge(fd, token)
            };
            if heard.is_err() {
                return Some(one.unspoken("crowded"));
            }
        }
        self.go_on(number, state)
    }

    /// Handles an event of a connection that awaits its preamble.
    pub(super) fn hear(
        &mut self,
        number: u64,
        ended: bool,
        poller: &ServerPoller,
    ) -> Option<Unclaimed> {
        let one = self.awaiting_preamble.remove(number)?;
        let state = one.look(ended, &mut self.handoffs, poller);
        self.go_on(number, state)
    }

    /// Stores a connection according to its state. Returns it if no session claims it.
    fn go_on(&mut self, number: u64, state: ArrivalState) -> Option<Unclaimed> {
        match state {
            ArrivalState::AwaitsPreamble(one) => {
                self.drop_oldest();
                let dropped = self.awaiting_preamble.insert(number, one);
                return dropped.map(|one| one.unspoken("crowded"));
            }
            ArrivalState::AwaitsSession(one, token) => {
                self.drop_oldest();
                self.awaiting_session.push_back((one, token));
            }
            ArrivalState::Delivered => {}
            ArrivalState::Failed(unclaimed) => return Some(unclaimed),
        }
        None
    }

    /// Drops the oldest connection if the limit is reached.
    fn drop_oldest(&mut self) {
        if self.awaiting_preamble.len() + self.awaiting_session.len() >= MOST
            && self.awaiting_preamble.remove_first().is_none()
        {
            self.awaiting_session.pop_front();
        }
    }

    /// Retries connections whose session was busy and ends expired ones. Returns the unclaimed
    /// ones.
    pub(super) fn look(&mut self) -> Vec<Unclaimed> {
        let mut unclaimed = Vec::new();
        let overdue = |one: &ArrivingData| one.until.left().is_zero();
        while self.awaiting_preamble.first().is_some_and(overdue) {
            let one = self.awaiting_preamble.remove_first();
            unclaimed.extend(one.map(|one| one.unspoken("silent")));
        }
        for (one, token) in std::mem::take(&mut self.awaiting_session) {
            match one.enter(token, &mut self.handoffs) {
                ArrivalState::AwaitsSession(one, token) => {
                    self.awaiting_session.push_back((one, token))
                }
                ArrivalState::Failed(lost) => unclaimed.push(lost),
                ArrivalState::AwaitsPreamble(_) | ArrivalState::Delivered => {}
            }
        }
        unclaimed
    }

    /// Forwards probes to their sessions. Returns the unclaimed ones.
    pub(super) fn answer_probes(&mut self, admits: impl Fn(IpAddr) -> bool) -> Vec<Unclaimed> {
        let mut unclaimed = Vec::new();
        for socket in &self.probe_sockets {
            for _ in 0..AT_ONCE {
                match probe(socket) {
                    Ok(Some(probe)) if admits(probe.from.ip()) => {
                        if !announce(probe, &mut self.handoffs) {
                            unclaimed.push(Unclaimed::Datagram);
                        }
                    }
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
        }
        unclaimed
    }
}

impl ArrivingData {
    fn unspoken(&self, why: &'static str) -> Unclaimed {
        Unclaimed::Unspoken(described(&self.peer), why)
    }

    /// Reads the preamble and hands the connection over.
    fn look(self, ended: bool, handoffs: &mut Handoffs, poller: &ServerPoller) -> ArrivalState {
        let mut bytes = [0; PREAMBLE];
        match peek_at(self.data.as_fd(), &mut bytes) {
            Ok(PREAMBLE) => {}
            Ok(0) => return ArrivalState::Failed(self.unspoken("finished")),
            Ok(_) if ended => return ArrivalState::Failed(self.unspoken("cut")),
            Ok(_) => return ArrivalState::AwaitsPreamble(self),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return ArrivalState::AwaitsPreamble(self);
            }
            Err(_) => return ArrivalState::Failed(self.unspoken("cut")),
        }
        let read = Preamble::read(&bytes).filter(|read| read.kind == PreambleKind::Connection);
        let awaiting_session = read.filter(|read| handoffs.owner(&read.token).is_some());
        let Some(awaiting_session) = awaiting_session else {
            return ArrivalState::Failed(Unclaimed::Unknown(described(&self.peer)));
        };
        let all = netperf_os::io::recv(self.data.as_fd(), &mut bytes);
        if !matches!(all, Ok(PREAMBLE)) {
            return ArrivalState::Failed(self.unspoken("cut"));
        }
        sockopt::set_wake_threshold(self.data.as_fd(), 1);
        // The session holds the same socket from here on.
        poller.remove(self.data.as_fd());
        self.enter(awaiting_session.token, handoffs)
    }

    /// Hands the connection over to the session with the token.
    fn enter(self, token: Token, handoffs: &mut Handoffs) -> ArrivalState {
        let Some(handoff) = handoffs.owner(&token) else {
            // The test has already ended.
            return ArrivalState::Failed(Unclaimed::Unknown(described(&self.peer)));
        };
        match one_port::send_connection(handoff, &token, self.data.as_fd()) {
            Ok(()) => ArrivalState::Delivered,
            Err(_) if self.until.left().is_zero() => ArrivalState::Failed(self.unspoken("crowded")),
            Err(_) => ArrivalState::AwaitsSession(self, token),
        }
    }
}

/// Forwards a probe. Returns false if no session has the token. If the queue is full, the
/// client repeats the probe.
fn announce(probe: Probe, handoffs: &mut Handoffs) -> bool {
    let Some(handoff) = handoffs.owner(&probe.token) else {
        return false;
    };
    let _repeated = one_port::send_message(handoff, &HandoffMessage::Probe(probe));
    true
}

/// Opens a datagram socket at the address of a listener.
///
/// # Errors
/// When the address family has no UDP ports, or the port is in use or needs privileges.
pub(super) fn beside(listener: &Socket) -> io::Result<Socket> {
    let unusable = || io::Error::from(io::ErrorKind::Unsupported);
    let at = listener.local_addr()?;
    let inet = at.as_socket().ok_or_else(unusable)?;
    let socket = Socket::new(Domain::for_address(inet), Type::DGRAM, Some(Protocol::UDP))?;
    if inet.is_ipv6() {
        socket.set_only_v6(listener.only_v6()?)?;
    }
    // Sockets of sessions share the port.
    without::share_port(&socket, true);
    rights::bind(&socket, inet)?;
    socket.set_nonblocking(true)?;
    without::tell_destination(&socket);
    Ok(socket)
}

/// The next datagram, if it is a probe.
fn probe(socket: &Socket) -> io::Result<Option<Probe>> {
    let mut bytes = [0; PREAMBLE + 1];
    let mut source = Source::unknown();
    let (count, to) = recv_with_destination(socket.as_fd(), &mut bytes, &mut source)?;
    let read = bytes.get(..count).and_then(Preamble::read);
    let Some(read) = read.filter(|read| read.kind == PreambleKind::Probe) else {
        return Ok(None);
    };
    let port = socket.local_addr()?.as_socket().map(|at| at.port());
    let (Some(from), Some(to), Some(port)) = (source.address(), to, port) else {
        return Ok(None);
    };
    Ok(Some(Probe {
        token: read.token,
        number: read.number,
        from: canonical(from),
        to: of_the_same_link(SocketAddr::new(to.to_canonical(), port), from),
    }))
}

/// Converts an IPv4-mapped address to IPv4.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// Copies the scope of a link-local peer address to our address.
pub(super) fn of_the_same_link(mut own: SocketAddr, other: SocketAddr) -> SocketAddr {
    if let (SocketAddr::V6(own), SocketAddr::V6(other)) = (&mut own, other) {
        if own.ip().is_unicast_link_local() {
            own.set_scope_id(other.scope_id());
        }
    }
    own
}
