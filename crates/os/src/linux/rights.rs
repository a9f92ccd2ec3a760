//! Calls that take a right of root, made by another process for one that has no rights.
//!
//! The process that has the rights ([`serve`]) checks each call against a short list and makes it
//! on the caller's socket, or opens a socket for it (unix(7), `SCM_RIGHTS`). Every call comes with
//! a separate socket for its answer, so that no caller can take the answer of another, or delay
//! one.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::io::peek;
use super::link::LLC;
use super::pass::{self, PassWait};
use super::sockopt::{self, IntOption};
use super::wait::{Deadline, Interest, all_ready};

/// Time for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest wait for a call; nothing depends on it.
const LOOK: Duration = Duration::from_secs(3600);
/// Longest call, bytes.
const LONGEST: usize = 128;
/// First port that takes no right.
const FREE_PORTS: u16 = 1024;

/// Calls that a process with rights makes for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantedCalls {
    /// Ports below 1024 that sockets may be bound to: first and last.
    pub ports: Option<(u16, u16)>,
    /// `SO_MARK`.
    pub mark: bool,
    /// `SO_PRIORITY` above 6.
    pub priority: bool,
    /// `SO_BINDTODEVICE`.
    pub device: bool,
    /// `TCP_CONGESTION`, of algorithms that users may not choose.
    pub congestion: bool,
    /// Sockets of link level (packet(7), LLC).
    pub link: bool,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RightsCall {
    Bind(SocketAddr),
    Mark(i32),
    Priority(i32),
    Device(Vec<u8>),
    Congestion(Vec<u8>),
    /// Opens a socket of this domain, kind and protocol.
    Open([i32; 3]),
}

impl RightsCall {
    fn to_bytes(&self) -> Vec<u8> {
        let text = |kind: u8, text: &[u8]| [&[kind], text].concat();
        match self {
            Self::Bind(at) => text(b'b', at.to_string().as_bytes()),
            Self::Mark(value) => text(b'm', &value.to_ne_bytes()),
            Self::Priority(value) => text(b'p', &value.to_ne_bytes()),
            Self::Device(name) => text(b'd', name),
            Self::Congestion(name) => text(b'c', name),
            Self::Open(numbers) => text(b'o', &numbers.map(i32::to_ne_bytes).concat()),
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let number = |at: usize| {
            let bytes = rest.get(4 * at..4 * at + 4)?.first_chunk()?;
            Some(i32::from_ne_bytes(*bytes))
        };
        match kind {
            b'b' => Some(Self::Bind(std::str::from_utf8(rest).ok()?.parse().ok()?)),
            b'm' => Some(Self::Mark(number(0)?)),
            b'p' => Some(Self::Priority(number(0)?)),
            b'd' => Some(Self::Device(rest.to_vec())),
            b'c' => Some(Self::Congestion(rest.to_vec())),
            b'o' => Some(Self::Open([number(0)?, number(1)?, number(2)?])),
            _ => None,
        }
    }

    /// Makes the call if it is granted.
    fn make(&self, granted: &GrantedCalls, on: Option<&OwnedFd>) -> io::Result<Option<Socket>> {
        let refused = || io::Error::from_raw_os_error(libc::EPERM);
        if let Self::Open([domain, kind, protocol]) = *self {
            let is_link = domain == libc::AF_PACKET || domain == LLC;
            if !(granted.link && is_link) {
                return Err(refused());
            }
            let protocol = Some(protocol).filter(|number| *number != 0);
            let protocol = protocol.map(Protocol::from);
            return Socket::new(Domain::from(domain), Type::from(kind), protocol).map(Some);
        }
        let fd = on.ok_or_else(refused)?.as_fd();
        match self {
            Self::Bind(at) if granted.has_port(at.port()) => {
                SockRef::from(&fd).bind(&(*at).into())?;
            }
            Self::Mark(value) if granted.mark => sockopt::set(fd, IntOption::Mark, *value)?,
            Self::Priority(value) if granted.priority => {
                sockopt::set(fd, IntOption::Priority, *value)?;
            }
            Self::Device(name) if granted.device => {
                SockRef::from(&fd).bind_device(Some(name))?;
            }
            Self::Congestion(name) if granted.congestion => {
                SockRef::from(&fd).set_tcp_congestion(name)?;
            }
            Self::Bind(_)
            | Self::Mark(_)
            | Self::Priority(_)
            | Self::Device(_)
            | Self::Congestion(_)
            | Self::Open(_) => return Err(refused()),
        }
        Ok(None)
    }
}

impl GrantedCalls {
    fn has_port(&self, port: u16) -> bool {
        let within = |(first, last): (u16, u16)| (first..=last).contains(&port);
        (1..FREE_PORTS).contains(&port) && self.ports.is_some_and(within)
    }
}

/// The socket by which this process asks.
static DOOR: OnceLock<Socket> = OnceLock::new();

/// The socket of processes that serve clients of this host.
static DOOR_HERE: OnceLock<Socket> = OnceLock::new();

/// Has this process ask at this socket from now on.
pub fn set_door(door: Socket) {
    // There is one door for the life of a process.
    let _set_before = DOOR.set(door);
}

/// Keeps a socket at which other calls are granted, for processes that serve clients of this host.
pub fn set_door_here(door: Socket) {
    let _set_before = DOOR_HERE.set(door);
}

/// The socket by which a process that serves a client asks; `here` if the client is on this host.
#[must_use]
pub fn door(here: bool) -> Option<BorrowedFd<'static>> {
    let door = DOOR_HERE.get().filter(|_| here).or(DOOR.get());
    door.map(AsFd::as_fd)
}

/// Two sockets: the first is a door, the other is served.
///
/// # Errors
/// `EMFILE` or `ENFILE` when there are too many open files.
pub fn pair() -> io::Result<(Socket, Socket)> {
    pass::pair()
}

/// Makes the calls that are granted at each of two sockets, until the doors of the first are
/// closed.
///
/// # Errors
/// Whatever poll(2) or recvmsg(2) report.
pub fn serve(asked: [(&Socket, &GrantedCalls); 2]) -> io::Result<()> {
    let fds = asked.map(|(socket, _)| socket.as_fd());
    loop {
        let events = all_ready(&fds, LOOK)?;
        for ((socket, granted), is_ready) in asked.iter().zip(events) {
            let mut knock = [0; 1];
            if !is_ready {
                continue;
            }
            match pass::receive(socket.as_fd(), &mut knock, PassWait::Never)? {
                (0, _) => return Ok(()),
                (_, Some(caller)) => answer(&caller.into(), granted),
                (_, None) => {}
            }
        }
    }
}

/// Answers the call that waits in this socket.
fn answer(caller: &Socket, granted: &GrantedCalls) {
    let mut bytes = [0; LONGEST];
    let Ok((count, on)) = pass::receive(caller.as_fd(), &mut bytes, PassWait::Never) else {
        return;
    };
    // A caller whose time is over goes on as if the call had not been made.
    if matches!(peek(caller.as_fd()), Ok(0)) {
        return;
    }
    let call = bytes.get(..count).and_then(RightsCall::read);
    let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
    let made = call.map_or_else(|| Err(invalid()), |call| call.make(granted, on.as_ref()));
    let errno = made
        .as_ref()
        .err()
        .map_or(0, |error| error.raw_os_error().unwrap_or(libc::EINVAL));
    let opened = made.as_ref().ok().and_then(Option::as_ref);
    let opened = opened.map(AsFd::as_fd);
    // A caller that is gone needs no answer.
    let _gone = pass::send(caller.as_fd(), &errno.to_ne_bytes(), opened);
}

/// Asks for a call; on a socket, unless it opens one.
fn ask(call: &RightsCall, on: Option<BorrowedFd<'_>>) -> io::Result<Option<Socket>> {
    let door = DOOR.get().ok_or(io::ErrorKind::PermissionDenied)?;
    let (own, given) = pass::pair()?;
    pass::send(own.as_fd(), &call.to_bytes(), on)?;
    pass::send(door.as_fd(), b"?", Some(given.as_fd()))?;
    drop(given);
    if !Deadline::after(PATIENCE).ready(own.as_fd(), Interest::Read)? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut errno = [0; 4];
    match pass::receive(own.as_fd(), &mut errno, PassWait::Never)? {
        (4, socket) => match i32::from_ne_bytes(errno) {
            0 => Ok(socket.map(Socket::from)),
            number => Err(io::Error::from_raw_os_error(number)),
        },
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// The result of a call, or of the same call by the process that has the rights. The error is that
/// of the first.
fn or_ask<T>(made: io::Result<T>, asked: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match made {
        Err(error) if is_denied(&error) && DOOR.get().is_some() => asked().or(Err(error)),
        made => made,
    }
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// bind(2), also to a port below 1024.
///
/// # Errors
/// Whatever bind(2) reports, here or there.
pub fn bind(socket: &Socket, at: SocketAddr) -> io::Result<()> {
    let made = socket.bind(&at.into());
    match made {
        Err(error) if is_denied(&error) && DOOR.get().is_some() => {
            // The port may also be in use.
            ask(&RightsCall::Bind(at), Some(socket.as_fd())).map(drop)
        }
        made => made,
    }
}

/// setsockopt(2) with an `int`, also `SO_MARK` and `SO_PRIORITY`.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn set(fd: BorrowedFd<'_>, option: IntOption, value: i32) -> io::Result<()> {
    let call = if option == IntOption::Mark {
        RightsCall::Mark(value)
    } else {
        RightsCall::Priority(value)
    };
    if !matches!(option, IntOption::Mark | IntOption::Priority) {
        return sockopt::set(fd, option, value);
    }
    or_ask(sockopt::set(fd, option, value), || {
        ask(&call, Some(fd)).map(drop)
    })
}

/// `SO_BINDTODEVICE`.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn bind_device(socket: &Socket, name: &[u8]) -> io::Result<()> {
    or_ask(socket.bind_device(Some(name)), || {
        let call = RightsCall::Device(name.to_vec());
        ask(&call, Some(socket.as_fd())).map(drop)
    })
}

/// `TCP_CONGESTION`.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn set_congestion(socket: &Socket, name: &[u8]) -> io::Result<()> {
    or_ask(socket.set_tcp_congestion(name), || {
        let call = RightsCall::Congestion(name.to_vec());
        ask(&call, Some(socket.as_fd())).map(drop)
    })
}

/// socket(2), also of link level.
///
/// # Errors
/// Whatever socket(2) reports.
pub fn open(domain: Domain, kind: Type, protocol: Option<Protocol>) -> io::Result<Socket> {
    or_ask(Socket::new(domain, kind, protocol), || {
        let numbers = [domain.into(), kind.into(), protocol.map_or(0, i32::from)];
        let opened = ask(&RightsCall::Open(numbers), None)?;
        opened.ok_or_else(|| io::ErrorKind::PermissionDenied.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_not_used_for_a_caller_that_is_gone() {
        let on = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let granted = GrantedCalls {
            priority: true,
            ..GrantedCalls::default()
        };
        // Any user may choose this priority.
        let call = RightsCall::Priority(3).to_bytes();
        for (stays, priority) in [(false, 0), (true, 3)] {
            let (caller, served) = pass::pair().unwrap();
            pass::send(caller.as_fd(), &call, Some(on.as_fd())).unwrap();
            let _caller = Some(caller).filter(|_| stays);
            answer(&served, &granted);
            let found = sockopt::fetch(on.as_fd(), IntOption::Priority).unwrap();
            assert_eq!(found, priority, "the caller stays: {stays}");
        }
    }

    /// The error number of a call.
    fn made(call: &RightsCall, granted: &GrantedCalls) -> Option<i32> {
        let on = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let (caller, served) = pass::pair().unwrap();
        pass::send(caller.as_fd(), &call.to_bytes(), Some(on.as_fd())).unwrap();
        answer(&served, granted);
        let mut errno = [0; 4];
        let answer = pass::receive(caller.as_fd(), &mut errno, PassWait::Never);
        answer.ok().map(|_| i32::from_ne_bytes(errno))
    }

    #[test]
    fn rights_are_for_the_calls_that_are_granted_alone() {
        let at = |port: u16| RightsCall::Bind(SocketAddr::from(([127, 0, 0, 1], port)));
        let calls = [
            at(801),
            RightsCall::Mark(7),
            RightsCall::Priority(7),
            RightsCall::Device(b"lo".to_vec()),
            RightsCall::Congestion(b"reno".to_vec()),
            RightsCall::Open([libc::AF_PACKET, libc::SOCK_RAW, 0]),
        ];
        for call in &calls {
            assert_eq!(RightsCall::read(&call.to_bytes()).as_ref(), Some(call));
            assert_eq!(made(call, &GrantedCalls::default()), Some(libc::EPERM));
        }
        let granted = GrantedCalls {
            ports: Some((800, 900)),
            link: true,
            ..GrantedCalls::default()
        };
        for refused in [
            at(0),
            at(799),
            at(901),
            at(12865),
            RightsCall::Open([libc::AF_INET, libc::SOCK_RAW, 1]),
            RightsCall::Open([libc::AF_NETLINK, libc::SOCK_RAW, 0]),
        ] {
            assert_eq!(made(&refused, &granted), Some(libc::EPERM), "{refused:?}");
        }
        assert_ne!(made(&at(801), &granted), Some(libc::EPERM));
        assert!(RightsCall::read(b"").is_none() && RightsCall::read(b"x").is_none());
    }

    #[test]
    fn rights_answer_each_caller_on_a_socket_of_its_own() {
        let (door, asked) = pair().unwrap();
        let (door_here, asked_here) = pair().unwrap();
        let serving = std::thread::spawn(move || {
            let none = GrantedCalls::default();
            serve([(&asked, &none), (&asked_here, &none)])
        });
        let (silent, given) = pass::pair().unwrap();
        // A caller that asks for nothing delays no one.
        pass::send(door.as_fd(), b"?", Some(given.as_fd())).unwrap();
        let (own, given) = pass::pair().unwrap();
        pass::send(own.as_fd(), &RightsCall::Mark(1).to_bytes(), None).unwrap();
        pass::send(door.as_fd(), b"?", Some(given.as_fd())).unwrap();
        assert!(
            Deadline::after(Duration::from_secs(20))
                .ready(own.as_fd(), Interest::Read)
                .unwrap()
        );
        drop((silent, door, door_here));
        serving.join().unwrap().unwrap();
    }
}
