//! Routing of data that arrives at the control port to the session that issued its token
//! (docs/decisions/0020-one-port.md).

mod handoffs;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{OnePort, Token};
use netperf_os::io::{Source, peek_at, recv, recv_with_destination};
use netperf_os::sockopt;
use netperf_os::{Domain, Protocol, SockAddr, Socket, Type, rights, without};
use netperf_transport::one_port::{self, HandoffMessage, PREAMBLE, Preamble, PreambleKind, Probe};

use self::handoffs::Handoffs;

use netperf_daemon::poller::{PollToken, ServerPoller};

use super::peer::described;
use super::pending::{PREFIX_WITHIN, PendingConnection};

/// Largest number of connections that await their session.
pub(super) const MOST_HANDED: usize = 1024;
/// Interval of retries when a session's hand-off queue is full.
const AGAIN: Duration = Duration::from_millis(2);
/// Datagrams per round, so that a flood does not starve other clients.
const AT_ONCE: usize = 64;

/// Data connections and probes that arrive at the control port.
#[derive(Debug)]
pub(super) struct DataArrivals {
    /// Connections whose session has a full hand-off queue, in order of expiry. Strangers have none.
    awaiting_session: VecDeque<HandedData>,
    /// As many may be there.
    most: usize,
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

/// A data connection whose session does not take it yet.
#[derive(Debug)]
struct HandedData {
    data: Socket,
    peer: SockAddr,
    token: Token,
    until: Moment,
}

/// State of a data connection.
pub(super) enum ArrivalState {
    /// The preamble is incomplete.
    AwaitsPreamble(PendingConnection),
    /// A session has it, or will.
    Delivered,
    /// No session has its token.
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
        (mode, most): (OnePort, usize),
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
            awaiting_session: VecDeque::new(),
            most,
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
        self.awaiting_session.clear();
    }

    /// Time of the next scheduled action.
    pub(super) fn next(&self) -> Option<Moment> {
        (!self.awaiting_session.is_empty()).then(|| clock::now().plus(AGAIN))
    }

    /// Hands over a connection that begins with a preamble, once that is complete.
    pub(super) fn take(
        &mut self,
        one: PendingConnection,
        ended: bool,
        poller: &ServerPoller,
    ) -> ArrivalState {
        let failed = |why| ArrivalState::Failed(unspoken(&one.peer, why));
        let mut bytes = [0; PREAMBLE];
        match peek_at(one.control.as_fd(), &mut bytes) {
            Ok(PREAMBLE) => {}
            Ok(0) => return failed("finished"),
            Ok(_) if ended => return failed("cut"),
            Ok(_) => return ArrivalState::AwaitsPreamble(one),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return ArrivalState::AwaitsPreamble(one);
            }
            Err(_) => return failed("cut"),
        }
        let read = Preamble::read(&bytes).filter(|read| read.kind == PreambleKind::Connection);
        let read = read.filter(|read| self.handoffs.owner(&read.token).is_some());
        let Some(Preamble { token, .. }) = read else {
            return ArrivalState::Failed(Unclaimed::Unknown(described(&one.peer)));
        };
        if !matches!(recv(one.control.as_fd(), &mut bytes), Ok(PREAMBLE)) {
            return failed("cut");
        }
        sockopt::set_wake_threshold(one.control.as_fd(), 1);
        // The session holds the same socket from here on.
        poller.remove(one.control.as_fd());
        let handed = HandedData {
            data: one.control,
            peer: one.peer,
            token,
            until: clock::now().plus(PREFIX_WITHIN),
        };
        match self.hand_over(handed) {
            Some(unclaimed) => ArrivalState::Failed(unclaimed),
            None => ArrivalState::Delivered,
        }
    }

    /// Hands a connection over to the session with its token, now or later. Returns it if no
    /// session claims it.
    fn hand_over(&mut self, one: HandedData) -> Option<Unclaimed> {
        let Some(handoff) = self.handoffs.owner(&one.token) else {
            // The test has already ended.
            return Some(Unclaimed::Unknown(described(&one.peer)));
        };
        if one_port::send_connection(handoff, &one.token, one.data.as_fd()).is_ok() {
            return None;
        }
        if one.until.left().is_zero() || self.awaiting_session.len() >= self.most {
            return Some(unspoken(&one.peer, "crowded"));
        }
        self.awaiting_session.push_back(one);
        None
    }

    /// Retries connections whose session was busy. Returns the unclaimed ones.
    pub(super) fn look(&mut self) -> Vec<Unclaimed> {
        let waiting = std::mem::take(&mut self.awaiting_session);
        let handed = waiting.into_iter().map(|one| self.hand_over(one));
        handed.flatten().collect()
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

fn unspoken(peer: &SockAddr, why: &'static str) -> Unclaimed {
    Unclaimed::Unspoken(described(peer), why)
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
