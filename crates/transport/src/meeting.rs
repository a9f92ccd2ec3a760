//! Connection set-up: over a connection, by address, or on a circuit.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_model::Sources;
use netperf_os::wait::{Interest, ready};
use netperf_os::{SockAddr, Socket, without};

use crate::endpoint::Endpoint;
use crate::one_port::Passed;
use crate::socket::SocketFacts;

/// An endpoint that has a socket.
pub trait OnSocket: Sized {
    /// The socket.
    fn fd(&self) -> BorrowedFd<'_>;
    /// Returns the socket.
    fn into_socket(self) -> Socket;

    /// TLS version and cipher suite; `None` if the data is not encrypted.
    fn cipher(&self) -> Option<String> {
        None
    }
}

/// Implements [`OnSocket`] for endpoints with the socket in this field.
macro_rules! on_socket {
    ($($endpoint:ty: $field:tt),+ $(,)?) => {$(
        impl $crate::meeting::OnSocket for $endpoint {
            fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
                std::os::fd::AsFd::as_fd(&self.$field)
            }

            fn into_socket(self) -> netperf_os::Socket {
                self.$field
            }
        }
    )+};
}
pub(crate) use on_socket;

/// Result of waiting for a connection.
#[derive(Debug)]
pub enum Met<T> {
    /// The connection is established.
    Connected(T),
    /// The caller gave up.
    GivenUp,
}

impl<T> Met<T> {
    /// Converts the connection with `make`.
    ///
    /// # Errors
    /// Whatever `make` reports.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> io::Result<Met<U>>) -> io::Result<Met<U>> {
        match self {
            Self::Connected(connection) => make(connection),
            Self::GivenUp => Ok(Met::GivenUp),
        }
    }
}

/// Called whenever a signal interrupts a wait; returns true to give up.
pub type GiveUp<'a> = &'a mut dyn FnMut() -> bool;

/// Method by which an end signals that it has nothing more to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// It closes its own direction; the peer answers by closing the other.
    HalfClose,
    /// A shutdown ends both directions: data sent before it arrives, but the peer cannot answer
    /// (SCTP, RFC 9260 section 9.2).
    Shutdown,
    /// It closes the socket; the peer gets no other signal.
    Close,
    /// It sends empty messages until it hears from the peer, because a lost close is repeated
    /// only after seconds (DCCP).
    EmptyMessages,
    /// It sends an end record within the data; the peer answers by closing (LLC type 2).
    EndRecord,
}

/// A connection-oriented transport: netserver listens, netperf connects.
pub trait Connects {
    /// Endpoint of a connection.
    type Endpoint: Endpoint + OnSocket + Send;

    /// Method of ending a connection.
    const PARTING: Parting = Parting::HalfClose;

    /// Makes an endpoint of a connected socket, for transports that need no further set-up.
    /// Many connections can then be opened concurrently.
    const OF_SOCKET: Option<fn(Socket) -> Self::Endpoint> = None;

    /// Connects an opened socket (netperf's side).
    ///
    /// # Errors
    /// Whatever connect(2) reports, immediately or later.
    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Self::Endpoint>>;

    /// Accepts one connection (netserver's side). `ConnectionAborted` concerns that connection
    /// only; the caller may accept another.
    ///
    /// # Errors
    /// Whatever accept(2) reports.
    fn accept(
        &self,
        gate: AcceptFilter<'_>,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Self::Endpoint>>;
}

/// A transport that uses connected sockets directly as endpoints.
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

/// connect(2) that calls `give_up` whenever a signal interrupts the wait, or whenever the send
/// time-out of the socket ends it.
///
/// # Errors
/// Whatever connect(2) reports, immediately or later; `Interrupted` if a signal cancelled the
/// connect, as in vsock(7): the caller may try another socket.
pub fn connect(socket: &Socket, to: &SockAddr, give_up: GiveUp<'_>) -> io::Result<Met<()>> {
    const LOOK_AROUND: Duration = Duration::from_millis(100);
    match socket.connect(to) {
        Ok(()) => return Ok(Met::Connected(())),
        // Connected earlier to send a preamble ([`crate::one_port`]).
        Err(error) if netperf_os::io::is_connected_already(&error) => {
            return Ok(Met::Connected(()));
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        // After the send time-out (socket(7), SO_SNDTIMEO).
        Err(error) if netperf_os::io::goes_on(&error) => {}
        Err(error) => return Err(error),
    }
    // An interrupted connect continues in the background (connect(2), EINTR) or is cancelled.
    loop {
        if give_up() {
            return Ok(Met::GivenUp);
        }
        if ready(socket.as_fd(), Interest::Write, LOOK_AROUND)? {
            return match without::connect_error(socket) {
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

/// A listening socket and its permitted sources.
#[derive(Clone, Copy, Debug)]
pub struct AcceptFilter<'a> {
    /// The listening socket, or the hand-off socket if `passed` is set.
    pub listener: &'a Socket,
    /// Permitted sources; `None` permits all.
    pub sources: Option<&'a Sources>,
    /// Set if connections arrive through the hand-off socket.
    pub passed: Option<Passed<'a>>,
    /// Longest wait of a call on an accepted connection; `None` sets none.
    pub patience: Option<Duration>,
}

impl<'a> AcceptFilter<'a> {
    /// Permits all sources.
    #[must_use]
    pub const fn open(listener: &'a Socket) -> Self {
        Self {
            listener,
            sources: None,
            passed: None,
            patience: None,
        }
    }

    /// Accepts a connection by accept(2) or from the hand-off socket.
    ///
    /// # Errors
    /// Whatever accept(2) reports.
    pub fn accept(&self) -> io::Result<(Socket, SockAddr)> {
        let accepted = match &self.passed {
            None => self.listener.accept(),
            Some(passed) => passed.take(self.listener),
        }?;
        if self.patience.is_some() {
            netperf_os::without::set_patience(accepted.0.as_fd(), self.patience)?;
        }
        Ok(accepted)
    }

    /// The same for a connection whose calls return at once.
    ///
    /// # Errors
    /// As [`Self::accept`]; `WouldBlock` when none waits.
    pub fn accept_nonblocking(&self) -> io::Result<(Socket, SockAddr)> {
        let Some(passed) = &self.passed else {
            return netperf_os::io::accept_nonblocking(self.listener.as_fd());
        };
        let accepted = passed.take(self.listener)?;
        accepted.0.set_nonblocking(true)?;
        Ok(accepted)
    }

    /// Returns true if a connection from `address` is permitted.
    #[must_use]
    pub fn admits(&self, address: &SockAddr) -> bool {
        let address = || address.as_socket().map(|address| address.ip());
        self.sources
            .is_none_or(|sources| address().is_none_or(|address| sources.allow(address)))
    }
}

/// accept(2) that calls `give_up` whenever a signal interrupts the wait. Connections from
/// sources that are not permitted are closed at once.
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

/// Remaining work when a connectionless end finishes.
#[derive(Debug)]
pub enum Parted {
    /// The peer has been told, or cannot be told.
    Done,
    /// The end mark may be lost and must be repeated while waiting for the peer.
    Repeat(EndMark),
}

impl Parted {
    /// The end mark to repeat, if any.
    #[must_use]
    pub fn mark(self) -> Option<EndMark> {
        match self {
            Self::Done => None,
            Self::Repeat(mark) => Some(mark),
        }
    }
}

/// Repeats the end mark.
pub struct EndMark(Box<dyn FnMut() + Send>);

impl EndMark {
    /// An end mark sent by `send`.
    pub fn new(send: impl FnMut() + Send + 'static) -> Self {
        Self(Box::new(send))
    }

    /// Sends the mark again. The peer's results show whether it arrived.
    pub fn send(&mut self) {
        (self.0)();
    }
}

impl std::fmt::Debug for EndMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EndMark")
    }
}

/// One end of a connectionless transport.
pub trait Parts: Endpoint {
    /// Signals the end of data to the peer, within a deadline.
    fn part(self) -> Parted;

    /// Sends a mark of the end of data, which may be lost, and goes on receiving.
    fn mark(&mut self) {
        // A peer that is gone needs no mark.
        let _gone = self.send(&[]);
    }

    /// Path information; `None` if unknown.
    fn facts(&self) -> Option<SocketFacts> {
        None
    }

    /// Messages that the kernel dropped because the receive buffer of the socket was full; `None`
    /// if unknown.
    fn overflowed(&self) -> Option<u32> {
        None
    }

    /// Ignores messages from other sources from now on, for an end that answers any sender:
    /// without a connection the source address of a message is not verified.
    fn take_only_from(&mut self, _sources: &Sources) {}

    /// Time at the end of the run during which the endpoint received nothing.
    fn waited_in_vain(&self) -> Duration {
        Duration::ZERO
    }
}

/// A connectionless transport: messages go to an address, or over a circuit.
pub trait Addresses {
    /// netperf's end of a test, and netserver's end if it only sends.
    type Asking: Parts;
    /// netserver's end if it receives; it answers the sender of each message.
    type Answering: Parts;

    /// Creates an end that sends to this address.
    ///
    /// # Errors
    /// Whatever setting the remaining socket options reports.
    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<Self::Asking>;

    /// Creates an end that answers.
    ///
    /// # Errors
    /// Whatever setting the remaining socket options reports.
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
            patience: Some(Duration::from_secs(7)),
            sources: Some(&sources),
            ..AcceptFilter::open(&listener)
        };
        let met = accept(gate, &mut || true).unwrap();
        if let Met::Connected(socket) = &met {
            assert_eq!(socket.read_timeout().unwrap(), gate.patience);
        }
        (matches!(met, Met::Connected(_)), client)
    }

    #[test]
    fn threat_model_a_stranger_is_closed_and_whoever_may_come_in_is_not() {
        for (peers, admitted) in [("same", false), ("127.0.0.0/8", true), ("any", true)] {
            let (connected, mut client) = accepted(peers);
            assert_eq!(connected, admitted, "{peers}");
            assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "{peers}");
        }
    }
}
