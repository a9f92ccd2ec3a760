//! How the two ends of a test come together: over a connection, by address, or on a circuit.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_model::Sources;
use netperf_os::wait::{Interest, ready};
use netperf_os::{SockAddr, Socket};

use crate::endpoint::Endpoint;
use crate::one_port::Passed;
use crate::socket::SocketFacts;

/// An endpoint with a socket to look at or to half-close when the run is over.
pub trait OnSocket: Sized {
    /// The socket.
    fn fd(&self) -> BorrowedFd<'_>;
    /// Gives the socket back.
    fn into_socket(self) -> Socket;

    /// What encrypts the data: version and cipher suite; `None` where nothing does.
    fn cipher(&self) -> Option<String> {
        None
    }
}

/// What waiting for a connection came to.
#[derive(Debug)]
pub enum Met<T> {
    /// The connection stands.
    Connected(T),
    /// The caller gave up waiting for it.
    GivenUp,
}

impl<T> Met<T> {
    /// The same with something else made of the connection.
    ///
    /// # Errors
    /// What `make` reports.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> io::Result<Met<U>>) -> io::Result<Met<U>> {
        match self {
            Self::Connected(connection) => make(connection),
            Self::GivenUp => Ok(Met::GivenUp),
        }
    }
}

/// Asked whenever a signal interrupts a wait: whether to give up.
pub type GiveUp<'a> = &'a mut dyn FnMut() -> bool;

/// How an end that has nothing more to send tells the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// It ends its own direction; the other end answers by ending the other.
    HalfClose,
    /// What ends one direction ends both: what was sent arrives before, and nobody
    /// answers any more (SCTP, RFC 9260 section 9.2).
    Shutdown,
    /// It closes the socket; nothing else tells the other end.
    Close,
    /// It sends empty messages until the other end is heard of: whatever tells of a close
    /// may be lost, and is sent again only after seconds (DCCP).
    EmptyMessages,
    /// It says so among the data; the other end answers by closing (LLC type 2).
    EndRecord,
}

/// A transport with connections: netserver listens, netperf connects.
pub trait Connects {
    /// What moves the bytes of a connection.
    type Endpoint: Endpoint + OnSocket + Send;

    /// How a connection is brought to its end.
    const PARTING: Parting = Parting::HalfClose;

    /// Makes an endpoint of a connected socket, where it takes no more than that: many can
    /// then be connected at the same time.
    const OF_SOCKET: Option<fn(Socket) -> Self::Endpoint> = None;

    /// netperf's side: connects an opened socket.
    ///
    /// # Errors
    /// Whatever connect(2) reports, at once or in the end.
    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Self::Endpoint>>;

    /// netserver's side: accepts one connection. `ConnectionAborted` is an error of that
    /// connection alone: the next may be better.
    ///
    /// # Errors
    /// Whatever accept(2) reports.
    fn accept(
        &self,
        gate: AcceptFilter<'_>,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Self::Endpoint>>;
}

/// A transport whose connected sockets are endpoints as they are.
#[derive(Clone, Copy, Debug)]
pub struct Plain<E>(PhantomData<E>);

impl<E> Plain<E> {
    /// The transport.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<E> Default for Plain<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Endpoint + OnSocket + From<Socket> + Send> Connects for Plain<E> {
    type Endpoint = E;

    const OF_SOCKET: Option<fn(Socket) -> E> = Some(E::from);

    fn connect(&self, socket: Socket, to: &SockAddr, give_up: GiveUp<'_>) -> io::Result<Met<E>> {
        connect(&socket, to, give_up)?.and_then(|()| Ok(Met::Connected(E::from(socket))))
    }

    fn accept(&self, gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<E>> {
        accept(gate, give_up)?.and_then(|socket| Ok(Met::Connected(E::from(socket))))
    }
}

/// connect(2); asks `give_up` whenever a signal interrupts the wait.
///
/// # Errors
/// Whatever connect(2) reports, at once or in the end; `Interrupted` where a signal undid
/// it, as in vsock(7): another socket may do better.
pub fn connect(socket: &Socket, to: &SockAddr, give_up: GiveUp<'_>) -> io::Result<Met<()>> {
    const LOOK_AROUND: Duration = Duration::from_millis(100);
    match socket.connect(to) {
        Ok(()) => return Ok(Met::Connected(())),
        // By whoever had something to say first ([`crate::one_port`]).
        Err(error) if netperf_os::io::is_connected_already(&error) => {
            return Ok(Met::Connected(()));
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    // An interrupted connect goes on by itself (connect(2), EINTR), or is undone.
    loop {
        if give_up() {
            return Ok(Met::GivenUp);
        }
        if ready(socket.as_fd(), Interest::Write, LOOK_AROUND)? {
            return match socket.take_error()? {
                None if is_undone(socket) => Err(io::ErrorKind::Interrupted.into()),
                None => Ok(Met::Connected(())),
                Some(error) => Err(error),
            };
        }
    }
}

fn is_undone(socket: &Socket) -> bool {
    let peer = socket.peer_addr();
    peer.is_err_and(|error| error.kind() == io::ErrorKind::NotConnected)
}

/// Where connections arrive, and who may come in.
#[derive(Clone, Copy, Debug)]
pub struct AcceptFilter<'a> {
    /// The socket that listens.
    pub listener: &'a Socket,
    /// Who may come in; `None` is anybody.
    pub sources: Option<&'a Sources>,
    /// Connections that come through a hatch instead, which is what listens then.
    pub passed: Option<Passed<'a>>,
}

impl<'a> AcceptFilter<'a> {
    /// For anybody.
    #[must_use]
    pub const fn open(listener: &'a Socket) -> Self {
        Self {
            listener,
            sources: None,
            passed: None,
        }
    }

    /// accept(2), or whatever is in its place.
    ///
    /// # Errors
    /// Whatever accept(2) reports.
    pub fn accept(&self) -> io::Result<(Socket, SockAddr)> {
        match &self.passed {
            None => self.listener.accept(),
            Some(passed) => passed.take(self.listener),
        }
    }

    /// Whether who connects from `address` may come in.
    #[must_use]
    pub fn admits(&self, address: &SockAddr) -> bool {
        let address = || address.as_socket().map(|address| address.ip());
        self.sources
            .is_none_or(|sources| address().is_none_or(|address| sources.allow(address)))
    }
}

/// accept(2); asks `give_up` whenever a signal interrupts the wait. Whoever may not come in
/// is closed at once, and the next may be better.
///
/// # Errors
/// Whatever accept(2) reports.
pub fn accept(gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<Socket>> {
    loop {
        match gate.accept() {
            Ok((data, from)) if gate.admits(&from) => return Ok(Met::Connected(data)),
            Ok(_stranger) => {
                if give_up() {
                    return Ok(Met::GivenUp);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if give_up() {
                    return Ok(Met::GivenUp);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// What was left to do for an end of a transport without connections.
#[derive(Debug)]
pub enum Parted {
    /// The other end knows, or never will.
    Done,
    /// The end mark may be lost: whoever waits for the other end repeats it.
    Repeat(EndMark),
}

impl Parted {
    /// What is to be repeated, if anything is.
    #[must_use]
    pub fn mark(self) -> Option<EndMark> {
        match self {
            Self::Done => None,
            Self::Repeat(mark) => Some(mark),
        }
    }
}

/// Repeats what tells the other end that there is no more.
pub struct EndMark(Box<dyn FnMut() + Send>);

impl EndMark {
    /// An end mark that `send` sends.
    pub fn new(send: impl FnMut() + Send + 'static) -> Self {
        Self(Box::new(send))
    }

    /// Sends it once more; whether it arrives is seen by the other end's results.
    pub fn send(&mut self) {
        (self.0)();
    }
}

impl std::fmt::Debug for EndMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EndMark")
    }
}

/// An end of a transport without connections.
pub trait Parts: Endpoint {
    /// Tells the other end that there is no more, within a deadline of its own.
    fn part(self) -> Parted;

    /// What is known of the path, before it is given up; `None` where nothing is.
    fn facts(&self) -> Option<SocketFacts> {
        None
    }

    /// From now on a message of anybody else is none, for an end that answers whoever sends:
    /// without a connection nobody has proven to be where the message says it comes from.
    fn take_only_from(&mut self, _sources: &Sources) {}

    /// The time before the end in which it only waited for more.
    fn waited_in_vain(&self) -> Duration {
        Duration::ZERO
    }
}

/// A transport without connections: messages go to an address, or over a circuit.
pub trait Addresses {
    /// netperf's end of a test, and netserver's where it only sends.
    type Asking: Parts;
    /// netserver's end where it receives: answers whoever asks.
    type Answering: Parts;

    /// An end that sends to this address.
    ///
    /// # Errors
    /// Whatever the kernel says to the last options.
    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<Self::Asking>;

    /// An end that answers.
    ///
    /// # Errors
    /// Whatever the kernel says to the last options.
    fn answering(&self, socket: Socket) -> io::Result<Self::Answering>;
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use netperf_model::{DataPeers, Policy};

    use super::*;

    fn accepted(peers: &str) -> (bool, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let policy = Policy {
            data_peers: peers.parse::<DataPeers>().unwrap(),
            ..Policy::default()
        };
        let sources = policy.sources(Some("192.0.2.1".parse().unwrap()));
        let listener = Socket::from(listener);
        let gate = AcceptFilter {
            listener: &listener,
            sources: Some(&sources),
            passed: None,
        };
        let met = accept(gate, &mut || true).unwrap();
        (matches!(met, Met::Connected(_)), client)
    }

    #[test]
    fn a_stranger_is_closed_and_whoever_may_come_in_is_not() {
        for (peers, admitted) in [("same", false), ("127.0.0.0/8", true), ("any", true)] {
            let (connected, mut client) = accepted(peers);
            assert_eq!(connected, admitted, "{peers}");
            assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "{peers}");
        }
    }
}
