//! Data that comes to the port of the control connection: which session's it is, and how
//! it gets there (docs/decisions/0020-one-port.md).

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{OnePort, Token};
use netperf_os::io::{Source, peek_at, recv_with_destination};
use netperf_os::pass::Wait;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{Domain, Protocol, Socket, Type};
use netperf_transport::one_port::{
    self, Heard, Kind, Knock, PREAMBLE, Preamble, Word, begins_preamble,
};

use super::running::Running;

/// How long a preamble may take, and a session to take what has one.
const WITHIN: Duration = Duration::from_secs(5);
/// Connections whose preamble is not complete, or that no session has taken yet.
const MOST: usize = 1024;
/// How soon a session that had no room is asked again.
const AGAIN: Duration = Duration::from_millis(2);
/// Datagrams looked at in one round, so that a flood does not starve the rest.
const AT_ONCE: usize = 64;

/// A connection on its way to a session.
#[derive(Debug)]
struct Arriving {
    data: Socket,
    peer: String,
    until: Moment,
    /// Once the preamble has been read.
    token: Option<Token>,
}

/// What arrives besides control connections.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// In the order of their ends.
    arriving: VecDeque<Arriving>,
    /// Where datagrams come to; none where none are taken.
    knocked_at: Vec<Socket>,
}

/// What did not get to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Astray {
    /// A connection of this peer with a token that no session has.
    Unknown(String),
    /// One that ended or said no more before its preamble was complete, and which of both.
    Unspoken(String, &'static str),
    /// A datagram with such a token. Where it comes from nobody knows.
    Datagram,
}

/// What has become of one on its way.
enum Way {
    On,
    There,
    Lost(Astray),
}

impl Arrivals {
    /// With sockets for datagrams where the listeners are. Where one is not to be had, none
    /// are taken.
    pub(super) fn open(listeners: &[Socket], mode: OnePort) -> Self {
        let beside = listeners.iter().map(beside);
        let knocked_at: io::Result<Vec<Socket>> = match mode {
            OnePort::On => beside.collect(),
            OnePort::Off | OnePort::Tcp => Ok(Vec::new()),
        };
        Self {
            arriving: VecDeque::new(),
            knocked_at: knocked_at.unwrap_or_default(),
        }
    }

    /// What of this can be.
    pub(super) fn possible(&self, mode: OnePort) -> OnePort {
        match mode {
            OnePort::On if self.knocked_at.is_empty() => OnePort::Tcp,
            OnePort::Off | OnePort::Tcp | OnePort::On => mode,
        }
    }

    /// No more come, where no more control connections do.
    pub(super) fn close(&mut self) {
        self.knocked_at.clear();
        self.arriving.clear();
    }

    /// What to wait for.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // What only waits for a session would be ready all the time.
        let speaking = self.arriving.iter().filter(|one| one.token.is_none());
        let speaking = speaking.map(|one| one.data.as_fd());
        self.knocked_at.iter().map(AsFd::as_fd).chain(speaking)
    }

    /// When there is something to do by itself.
    pub(super) fn next(&self) -> Option<Moment> {
        let ends = self.arriving.front().map(|one| one.until);
        let waits = self.arriving.iter().any(|one| one.token.is_some());
        let again = waits.then(|| clock::now().plus(AGAIN));
        [ends, again].into_iter().flatten().min()
    }

    /// Takes a connection that begins with a preamble.
    pub(super) fn take(&mut self, data: Socket, peer: String) {
        // What comes in pieces is looked at when it is whole.
        let whole = i32::try_from(PREAMBLE).unwrap_or(i32::MAX);
        let _woken_more_often = sockopt::set(data.as_fd(), IntOption::RecvLowAt, whole);
        while self.arriving.len() >= MOST {
            self.arriving.pop_front();
        }
        self.arriving.push_back(Arriving {
            data,
            peer,
            until: clock::now().plus(WITHIN),
            token: None,
        });
    }

    /// Sends on what can be sent on; gives what cannot.
    pub(super) fn look(
        &mut self,
        sessions: &mut [Running],
        admits: impl Fn(IpAddr) -> bool,
    ) -> Vec<Astray> {
        let mut astray = Vec::new();
        self.arriving.retain_mut(|one| match one.go_on(sessions) {
            Way::On => true,
            Way::There => false,
            Way::Lost(how) => {
                astray.push(how);
                false
            }
        });
        for socket in &self.knocked_at {
            for _ in 0..AT_ONCE {
                match knock(socket) {
                    Ok(Some(knock)) if admits(knock.from.ip()) => {
                        if !announce(knock, sessions) {
                            astray.push(Astray::Datagram);
                        }
                    }
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
        }
        astray
    }
}

impl Arriving {
    fn go_on(&mut self, sessions: &mut [Running]) -> Way {
        let lost = |one: &Self, why| Way::Lost(Astray::Unspoken(one.peer.clone(), why));
        if self.token.is_none() {
            let mut bytes = [0; PREAMBLE];
            match peek_at(self.data.as_fd(), &mut bytes) {
                Ok(0) => return lost(self, "finished"),
                Ok(PREAMBLE) => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return lost(self, "cut");
                }
                Ok(_) | Err(_) if self.until.left().is_zero() => return lost(self, "silent"),
                Ok(_) | Err(_) => return Way::On,
            }
            let read = Preamble::read(&bytes).filter(|read| read.kind == Kind::Connection);
            let known = read.filter(|read| owner(&read.token, sessions).is_some());
            let Some(known) = known else {
                return Way::Lost(Astray::Unknown(self.peer.clone()));
            };
            let all = netperf_os::io::recv(self.data.as_fd(), &mut bytes);
            if !matches!(all, Ok(PREAMBLE)) {
                return lost(self, "cut");
            }
            let _as_before = sockopt::set(self.data.as_fd(), IntOption::RecvLowAt, 1);
            self.token = Some(known.token);
        }
        let hatch = self.token.and_then(|token| {
            let hatch = owner(&token, sessions)?;
            Some((token, hatch))
        });
        let Some((token, hatch)) = hatch else {
            // The test was over first.
            return Way::Lost(Astray::Unknown(self.peer.clone()));
        };
        match one_port::hand_over(&hatch.socket, &token, self.data.as_fd()) {
            Ok(()) => Way::There,
            Err(_) if self.until.left().is_zero() => lost(self, "crowded"),
            Err(_) => Way::On,
        }
    }
}

/// Whether a connection begins like one of data. Its first bytes are there.
pub(super) fn is_data(connection: &Socket) -> bool {
    let mut bytes = [0; PREAMBLE];
    let there = peek_at(connection.as_fd(), &mut bytes).unwrap_or(0);
    begins_preamble(bytes.get(..there).unwrap_or_default())
}

/// The listener's side of a hatch.
#[derive(Debug)]
pub(super) struct Hatch {
    socket: Socket,
    /// The one that the session gave out last.
    token: Option<Token>,
}

impl Hatch {
    pub(super) const fn new(socket: Socket) -> Self {
        Self {
            socket,
            token: None,
        }
    }

    /// Listens to what the session has said.
    pub(super) fn listen(&mut self) {
        loop {
            match one_port::hear(&self.socket, Wait::Never) {
                Ok(Heard::Word(Word::Open(token))) => self.token = Some(token),
                Ok(Heard::Word(Word::Shut)) => self.token = None,
                // Nothing else is for a session to say.
                Ok(Heard::Word(_) | Heard::Nonsense) => {}
                Ok(Heard::End) => {
                    self.token = None;
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// The hatch of the session that has a token. A session has said that it has one before its
/// client could know it.
fn owner<'s>(token: &Token, sessions: &'s mut [Running]) -> Option<&'s mut Hatch> {
    let mut found = None;
    // All are looked at, so that the time does not tell which has it.
    for hatch in sessions.iter_mut().filter_map(|one| one.hatch.as_mut()) {
        hatch.listen();
        if hatch.token.as_ref() == Some(token) {
            found = Some(hatch);
        }
    }
    found
}

/// Tells a session of a knock; whether there is one that it is for. One that has no room now
/// will be knocked for again.
fn announce(knock: Knock, sessions: &mut [Running]) -> bool {
    let Some(hatch) = owner(&knock.token, sessions) else {
        return false;
    };
    let _repeated = one_port::say(&hatch.socket, &Word::Knock(knock));
    true
}

/// A socket for datagrams where a listener is.
fn beside(listener: &Socket) -> io::Result<Socket> {
    let unusable = || io::Error::from(io::ErrorKind::Unsupported);
    let at = listener.local_addr()?;
    let inet = at.as_socket().ok_or_else(unusable)?;
    let socket = Socket::new(Domain::for_address(inet), Type::DGRAM, Some(Protocol::UDP))?;
    if inet.is_ipv6() {
        socket.set_only_v6(listener.only_v6()?)?;
    }
    // Those of sessions are at the same port.
    socket.set_reuse_address(true)?;
    socket.bind(&at)?;
    socket.set_nonblocking(true)?;
    let option = if inet.is_ipv6() {
        IntOption::PacketInfoV6
    } else {
        IntOption::PacketInfoV4
    };
    sockopt::set(socket.as_fd(), option, 1)?;
    Ok(socket)
}

/// The next datagram, where it is a knock.
fn knock(socket: &Socket) -> io::Result<Option<Knock>> {
    let mut bytes = [0; PREAMBLE + 1];
    let mut source = Source::unknown();
    let (count, to) = recv_with_destination(socket.as_fd(), &mut bytes, &mut source)?;
    let read = bytes.get(..count).and_then(Preamble::read);
    let Some(read) = read.filter(|read| read.kind == Kind::Knock) else {
        return Ok(None);
    };
    let port = socket.local_addr()?.as_socket().map(|at| at.port());
    let (Some(from), Some(to), Some(port)) = (source.address(), to, port) else {
        return Ok(None);
    };
    Ok(Some(Knock {
        token: read.token,
        number: read.number,
        from: canonical(from),
        to: of_the_same_link(SocketAddr::new(to.to_canonical(), port), from),
    }))
}

/// An address of IPv4 as one, however it came.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// An address of ours that is one of a link is one of the link that the other is of.
fn of_the_same_link(mut own: SocketAddr, other: SocketAddr) -> SocketAddr {
    if let (SocketAddr::V6(own), SocketAddr::V6(other)) = (&mut own, other) {
        if own.ip().is_unicast_link_local() {
            own.set_scope_id(other.scope_id());
        }
    }
    own
}
