//! Data that comes to the port of the control connection: which session's it is, and how
//! it gets there (docs/decisions/0020-one-port.md).

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{OnePort, Token};
use netperf_os::io::{Source, peek_at, recv_with_destination};
use netperf_os::pass::Wait;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{Domain, Protocol, SockAddr, Socket, Type};
use netperf_transport::one_port::{self, Heard, Kind, Knock, PREAMBLE, Preamble, Word};

use super::guests::Waiting;
use super::hall::described;
use super::porter::{Porter, Who};
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
    peer: SockAddr,
    until: Moment,
}

/// What arrives besides control connections.
#[derive(Debug)]
pub(super) struct Arrivals {
    next: u64,
    /// Those whose preamble is not complete, in the order of their ends.
    speaking: BTreeMap<u64, Arriving>,
    /// Those that are known, and whose session has no room, in that order, too.
    known: VecDeque<(Arriving, Token)>,
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
    /// More of its preamble is awaited.
    Speaking(Arriving),
    /// Its session has no room.
    Known(Arriving, Token),
    There,
    Lost(Astray),
}

impl Arrivals {
    /// With sockets for datagrams where the listeners are. Where one is not to be had, none
    /// are taken.
    pub(super) fn open(listeners: &[Socket], mode: OnePort, porter: &Porter) -> Self {
        let beside = |listener: &Socket| {
            let socket = beside(listener)?;
            porter.watch(socket.as_fd(), Who::Knocks)?;
            Ok(socket)
        };
        let knocked_at: io::Result<Vec<Socket>> = match mode {
            OnePort::On => listeners.iter().map(beside).collect(),
            OnePort::Off | OnePort::Tcp => Ok(Vec::new()),
        };
        Self {
            next: 0,
            speaking: BTreeMap::new(),
            known: VecDeque::new(),
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
        self.speaking.clear();
        self.known.clear();
    }

    /// When there is something to do by itself.
    pub(super) fn next(&self) -> Option<Moment> {
        let ends = self.speaking.first_key_value().map(|(_, one)| one.until);
        let again = (!self.known.is_empty()).then(|| clock::now().plus(AGAIN));
        [ends, again].into_iter().flatten().min()
    }

    /// Takes a connection that begins with a preamble.
    pub(super) fn take(
        &mut self,
        one: Waiting,
        ended: bool,
        sessions: &mut [Running],
        porter: &Porter,
    ) -> Option<Astray> {
        // What comes in pieces is told of when it is whole.
        let whole = i32::try_from(PREAMBLE).unwrap_or(i32::MAX);
        let _told_more_often = sockopt::set(one.control.as_fd(), IntOption::RecvLowAt, whole);
        let heard_of = one.at().is_some();
        let one = Arriving {
            data: one.control,
            peer: one.peer,
            until: clock::now().plus(WITHIN),
        };
        self.next += 1;
        let number = self.next;
        let way = one.look(ended, sessions, porter);
        if let Way::Speaking(one) = &way {
            let (fd, who) = (one.data.as_fd(), Who::Arriving(number));
            let heard = if heard_of {
                porter.rename(fd, who)
            } else {
                porter.listen_to(fd, who)
            };
            if heard.is_err() {
                return Some(one.unspoken("crowded"));
            }
        }
        self.go_on(number, way)
    }

    /// One of those whose preamble is awaited has stirred.
    pub(super) fn hear(
        &mut self,
        number: u64,
        ended: bool,
        sessions: &mut [Running],
        porter: &Porter,
    ) -> Option<Astray> {
        let one = self.speaking.remove(&number)?;
        let way = one.look(ended, sessions, porter);
        self.go_on(number, way)
    }

    /// Puts one where it belongs; gives what belongs nowhere.
    fn go_on(&mut self, number: u64, way: Way) -> Option<Astray> {
        match way {
            Way::Speaking(one) => {
                self.make_room();
                self.speaking.insert(number, one);
            }
            Way::Known(one, token) => {
                self.make_room();
                self.known.push_back((one, token));
            }
            Way::There => {}
            Way::Lost(astray) => return Some(astray),
        }
        None
    }

    /// Whoever speaks for longest goes first.
    fn make_room(&mut self) {
        if self.speaking.len() + self.known.len() >= MOST && self.speaking.pop_first().is_none() {
            self.known.pop_front();
        }
    }

    /// Tries again what a session had no room for, and ends what has taken too long; gives
    /// what did not get to a session.
    pub(super) fn look(&mut self, sessions: &mut [Running]) -> Vec<Astray> {
        let mut astray = Vec::new();
        let overdue = |one: &Arriving| one.until.left().is_zero();
        while let Some(first) = self.speaking.first_entry() {
            if !overdue(first.get()) {
                break;
            }
            astray.push(first.remove().unspoken("silent"));
        }
        for (one, token) in std::mem::take(&mut self.known) {
            match one.enter(token, sessions) {
                Way::Known(one, token) => self.known.push_back((one, token)),
                Way::Lost(lost) => astray.push(lost),
                Way::Speaking(_) | Way::There => {}
            }
        }
        astray
    }

    /// Somebody knocked: tells the sessions; gives what is for none of them.
    pub(super) fn answer_knocks(
        &self,
        sessions: &mut [Running],
        admits: impl Fn(IpAddr) -> bool,
    ) -> Vec<Astray> {
        let mut astray = Vec::new();
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
    fn unspoken(&self, why: &'static str) -> Astray {
        Astray::Unspoken(described(&self.peer), why)
    }

    /// Looks at what it has said.
    fn look(self, ended: bool, sessions: &mut [Running], porter: &Porter) -> Way {
        let mut bytes = [0; PREAMBLE];
        match peek_at(self.data.as_fd(), &mut bytes) {
            Ok(PREAMBLE) => {}
            Ok(0) => return Way::Lost(self.unspoken("finished")),
            Ok(_) if ended => return Way::Lost(self.unspoken("cut")),
            Ok(_) => return Way::Speaking(self),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Way::Speaking(self),
            Err(_) => return Way::Lost(self.unspoken("cut")),
        }
        let read = Preamble::read(&bytes).filter(|read| read.kind == Kind::Connection);
        let known = read.filter(|read| owner(&read.token, sessions).is_some());
        let Some(known) = known else {
            return Way::Lost(Astray::Unknown(described(&self.peer)));
        };
        let all = netperf_os::io::recv(self.data.as_fd(), &mut bytes);
        if !matches!(all, Ok(PREAMBLE)) {
            return Way::Lost(self.unspoken("cut"));
        }
        let _as_before = sockopt::set(self.data.as_fd(), IntOption::RecvLowAt, 1);
        // From here on the session has it, too.
        porter.forget(self.data.as_fd());
        self.enter(known.token, sessions)
    }

    /// Goes to the session that has the token.
    fn enter(self, token: Token, sessions: &mut [Running]) -> Way {
        let Some(hatch) = owner(&token, sessions) else {
            // The test was over first.
            return Way::Lost(Astray::Unknown(described(&self.peer)));
        };
        match one_port::hand_over(&hatch.socket, &token, self.data.as_fd()) {
            Ok(()) => Way::There,
            Err(_) if self.until.left().is_zero() => Way::Lost(self.unspoken("crowded")),
            Err(_) => Way::Known(self, token),
        }
    }
}

/// Words of a session that are heard in one round: it says two for each test, and one that
/// never stops must not keep the listener from everybody else.
const WORDS_AT_ONCE: usize = 64;

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
        for _ in 0..WORDS_AT_ONCE {
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
///
/// # Errors
/// Where datagrams have no ports, the port is somebody else's, or takes rights to bind.
pub(super) fn beside(listener: &Socket) -> io::Result<Socket> {
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
