//! UDP, UDP-Lite and Unix-domain datagrams, to a fixed peer or back to the sender.

use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::Sources;
use netperf_os::flow_label::flow_info;
use netperf_os::io::{self as calls, Source};
use netperf_os::{Domain, SockAddr, Socket, Type, error_queue, rights, sockopt, without};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};
use crate::io::OnRing;
use crate::meeting::{Addresses, EndMark, OnSocket, Parted, Parts, on_socket};

/// An unconnected socket that sends every datagram to one address.
#[derive(Debug)]
pub struct ToPeer {
    /// The socket.
    pub socket: Socket,
    /// Destination of datagrams.
    pub to: SockAddr,
}

impl Endpoint for ToPeer {
    const KEEPS_BOUNDARIES: bool = true;
    const OWN_LOOPS: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        datagram_sent(calls::send_to(self.socket.as_fd(), buf, &self.to))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.socket.as_fd(), buf))
    }
}

/// A socket connected to its peer (test-specific `-n`).
#[derive(Debug)]
pub struct ConnectedUdp(pub Socket);

impl Endpoint for ConnectedUdp {
    const KEEPS_BOUNDARIES: bool = true;
    const OWN_LOOPS: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        datagram_sent(calls::send(self.0.as_fd(), buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.0.as_fd(), buf))
    }
}

impl From<Socket> for ConnectedUdp {
    fn from(socket: Socket) -> Self {
        Self(socket)
    }
}

/// Number of empty datagrams that mark the end of data; each may be lost.
pub const END_MARKS: usize = 3;

/// Sends an empty datagram three times, and again on each repetition of the mark.
pub(crate) fn mark_the_end(mut send: impl FnMut() + Send + 'static) -> Parted {
    (0..END_MARKS).for_each(|_| send());
    Parted::Repeat(EndMark::new(send))
}

/// Sends an empty datagram to an address, or to the connected peer.
pub(crate) fn send_mark(fd: BorrowedFd<'_>, to: Option<&SockAddr>) {
    // An error here and below means that the peer is gone and needs no mark.
    let _gone = match to {
        Some(to) => calls::send_to(fd, &[], to),
        None => calls::send(fd, &[]),
    };
}

/// Sends an empty datagram to the source of the last datagram, if there was one.
pub(crate) fn send_mark_back(fd: BorrowedFd<'_>, source: &Source) {
    if source.is_known() {
        let _gone = calls::send_back(fd, &[], source);
    }
}

impl Parts for ToPeer {
    fn overflowed(&self) -> Option<u32> {
        sockopt::receive_drops(self.socket.as_fd()).ok()
    }

    fn part(self) -> Parted {
        mark_the_end(move || send_mark(self.socket.as_fd(), Some(&self.to)))
    }
}

impl Parts for ConnectedUdp {
    fn overflowed(&self) -> Option<u32> {
        sockopt::receive_drops(self.0.as_fd()).ok()
    }

    fn part(self) -> Parted {
        mark_the_end(move || send_mark(self.0.as_fd(), None))
    }
}

impl Parts for UdpResponder {
    fn overflowed(&self) -> Option<u32> {
        sockopt::receive_drops(self.socket.as_fd()).ok()
    }

    fn take_only_from(&mut self, sources: &Sources) {
        self.sources = (!sources.is_anybody()).then(|| sources.clone());
    }

    fn part(self) -> Parted {
        mark_the_end(move || send_mark_back(self.socket.as_fd(), &self.source))
    }
}

/// A datagram socket with a destination.
pub trait Aimed: Parts + OnSocket + OnRing + Send + Sync {
    /// Sets the destination of a socket.
    ///
    /// # Errors
    /// Whatever connect(2) reports, if the type connects the socket.
    fn aim(socket: Socket, to: SockAddr) -> io::Result<Self>;

    /// The socket, and the destination to pass to each send if it is not connected.
    fn into_parts(self) -> (Socket, Option<SockAddr>);
}

impl Aimed for ToPeer {
    fn aim(socket: Socket, to: SockAddr) -> io::Result<Self> {
        Ok(Self { socket, to })
    }

    fn into_parts(self) -> (Socket, Option<SockAddr>) {
        (self.socket, Some(self.to))
    }
}

impl Aimed for ConnectedUdp {
    fn aim(socket: Socket, to: SockAddr) -> io::Result<Self> {
        socket.connect(&to)?;
        Ok(Self(socket))
    }

    fn into_parts(self) -> (Socket, Option<SockAddr>) {
        (self.0, None)
    }
}

/// Datagram transport, connected or unconnected.
#[derive(Clone, Copy, Debug)]
pub struct Udp<E> {
    first: First,
    flow_info: u32,
    aimed: PhantomData<E>,
}

impl<E> Udp<E> {
    /// Creates the transport; `first` applies to a responder's first datagram.
    #[must_use]
    pub const fn new(first: First) -> Self {
        Self {
            first,
            flow_info: 0,
            aimed: PhantomData,
        }
    }

    /// Sets the flow label of responses.
    #[must_use]
    pub const fn labelled(self, label: Option<u32>) -> Self {
        let flow_info = match label {
            Some(label) => flow_info(label),
            None => 0,
        };
        Self { flow_info, ..self }
    }
}

impl<E: Aimed> Addresses for Udp<E> {
    type Asking = E;
    type Answering = UdpResponder;

    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<E> {
        E::aim(socket, to)
    }

    fn answering(&self, socket: Socket) -> io::Result<UdpResponder> {
        let mut answering = UdpResponder::new(socket, self.first)?;
        answering.flow_info = self.flow_info;
        Ok(answering)
    }
}

/// Actions of a responder on the first datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct First {
    /// Connect to its source (test-specific `-N`).
    pub connect: bool,
    /// Bind to the address that the datagram was sent to (test-specific `-B`).
    pub answer_from_there: bool,
}

/// A socket that answers the source of the last datagram.
#[derive(Debug)]
pub struct UdpResponder {
    pub(crate) socket: Socket,
    source: Source,
    first: First,
    /// The socket is connected, so responses need no address.
    connected: bool,
    /// Source of the first datagram.
    asker: Source,
    sources: Option<Sources>,
    /// Flow information of response addresses, 0 for none.
    flow_info: u32,
    repeat: Option<Box<RepeatedNumber>>,
    plain: bool,
}

/// The number at the beginning of the last request, which responses repeat.
#[derive(Debug)]
struct RepeatedNumber {
    bytes: usize,
    /// The response.
    response: Vec<u8>,
}

impl UdpResponder {
    /// Answers every sender; applies `first` once.
    ///
    /// # Errors
    /// When the kernel cannot report destination addresses or failed sends.
    pub fn new(socket: Socket, first: First) -> io::Result<Self> {
        if first.answer_from_there {
            without::tell_destination(&socket);
        }
        report_drops(&socket);
        Ok(Self {
            socket,
            source: Source::unknown(),
            first,
            connected: false,
            asker: Source::unknown(),
            sources: None,
            flow_info: 0,
            repeat: None,
            plain: first == First::default(),
        })
    }

    /// Begins each response, of this size, with so many bytes of its request.
    pub fn repeat(&mut self, bytes: Option<u8>, size: Option<u32>) {
        let size = size
            .and_then(|size| usize::try_from(size).ok())
            .unwrap_or(0);
        self.repeat = bytes
            .map(usize::from)
            .filter(|bytes| *bytes <= size)
            .map(|bytes| {
                let response = vec![0; size];
                Box::new(RepeatedNumber { bytes, response })
            });
        self.plain = self.is_plain();
    }

    /// Returns true if calls need no more than the address of the last datagram.
    fn is_plain(&self) -> bool {
        !self.is_new() && !self.connected && self.repeat.is_none()
    }

    /// Receives in any mode.
    fn recv_by_mode(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = if self.is_new() {
            self.recv_first(buf)
        } else if self.connected {
            let got = received(calls::recv(self.socket.as_fd(), buf));
            self.unless_reported(got, Received::Interrupted)
        } else {
            self.recv_from_any(buf)
        };
        if let (Some(repeat), Ok(Received::Bytes(count))) = (&mut self.repeat, &got) {
            let bytes = repeat.bytes.min(*count);
            if let Some((head, number)) = repeat.response.get_mut(..bytes).zip(buf.get(..bytes)) {
                head.copy_from_slice(number);
            }
        }
        self.plain = self.is_plain();
        got
    }

    /// Sends in any mode.
    fn send_by_mode(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let repeat = self.repeat.take();
        let response = repeat
            .as_ref()
            .and_then(|repeat| repeat.response.get(..buf.len()));
        let response = response.unwrap_or(buf);
        let sent = if self.connected {
            calls::send(self.socket.as_fd(), response)
        } else {
            let (socket, source) = self.answers_to();
            calls::send_back(socket.as_fd(), response, source)
        };
        self.repeat = repeat;
        self.unless_reported(datagram_sent(sent), Sent::Interrupted)
    }

    #[inline]
    fn recv_from_any(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = received(calls::recv_from(self.socket.as_fd(), buf, &mut self.source));
        let got = self.unless_reported(got, Received::Interrupted)?;
        Ok(self.unless_strange(got))
    }

    /// Returns true if the actions on the first datagram are still to be done.
    #[inline]
    pub(crate) fn is_new(&self) -> bool {
        self.first != First::default()
    }

    /// The socket, and the buffer for the source address of a datagram.
    #[inline]
    pub(crate) fn asked_by(&mut self) -> (&Socket, &mut Source) {
        (&self.socket, &mut self.source)
    }

    /// The socket, and the destination of a response.
    #[inline]
    pub(crate) fn answers_to(&mut self) -> (&Socket, &Source) {
        if self.flow_info != 0 {
            self.source.set_flow_info(self.flow_info);
        }
        (&self.socket, &self.source)
    }

    /// Ignores an error that another host reported by ICMP: the requester may be gone before the
    /// last response arrives.
    #[inline]
    pub(crate) fn unless_reported<T>(
        &self,
        result: io::Result<T>,
        interrupted: T,
    ) -> io::Result<T> {
        match result {
            Err(_) if error_queue::discard(self.socket.as_fd()) => Ok(interrupted),
            other => other,
        }
    }

    /// Ignores a datagram from a source that is not permitted.
    #[inline]
    pub(crate) fn unless_strange(&mut self, got: Received) -> Received {
        match &self.sources {
            Some(sources) if is_strange(&self.source, sources) => {
                self.source = Source::unknown();
                return Received::Interrupted;
            }
            Some(_) | None => {}
        }
        match got {
            Received::Bytes(_) if !self.asker.is_known() => self.asker = self.source.clone(),
            Received::End if self.is_of_another() => {
                self.source = self.asker.clone();
                return Received::Interrupted;
            }
            Received::Bytes(_) | Received::End | Received::Interrupted | Received::TimedOut => {}
        }
        got
    }

    /// Returns true if the last datagram came from another source than the first. Late
    /// datagrams of an earlier test may arrive at a reused port.
    #[cold]
    fn is_of_another(&self) -> bool {
        let both = self.asker.address().zip(self.source.address());
        both.is_some_and(|(asker, source)| asker != source)
    }

    /// Receives the first datagram and applies the configured actions.
    #[cold]
    fn recv_first(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let fd = self.socket.as_fd();
        let (got, sent_to) = match calls::recv_with_destination(fd, buf, &mut self.source) {
            Ok((count, sent_to)) => (received(Ok(count))?, sent_to),
            Err(error) => (received(Err(error))?, None),
        };
        let got = self.unless_strange(got);
        if !matches!(got, Received::Bytes(_)) {
            return Ok(got);
        }
        if let Some(address) = sent_to.filter(|_| self.first.answer_from_there) {
            self.move_to(address)?;
        }
        if self.first.connect {
            self.source.set_flow_info(self.flow_info);
            calls::connect_back(self.socket.as_fd(), &self.source)?;
            self.connected = true;
        }
        self.first = First::default();
        Ok(got)
    }

    /// Replaces the socket by one bound to this address and the same port. The kernel prefers
    /// it over the wildcard socket, and responses then come from that address.
    fn move_to(&mut self, address: IpAddr) -> io::Result<()> {
        let local = self.socket.local_addr()?;
        let port = local.as_socket().map_or(0, |local| local.port());
        let bound = Socket::new(
            local.domain(),
            Type::DGRAM,
            self.socket.protocol().unwrap_or(None),
        )?;
        without::share_port(&bound, true);
        copy_buffers(&self.socket, &bound);
        rights::bind(&bound, SocketAddr::new(address, port))?;
        report_drops(&bound);
        self.socket = bound;
        Ok(())
    }
}

/// Gives a socket the buffers of another one, as far as they are known.
fn copy_buffers(from: &Socket, to: &Socket) {
    // The kernel doubles what is set.
    if let Ok(bytes) = from.recv_buffer_size() {
        let _default = to.set_recv_buffer_size(bytes / 2);
    }
    if let Ok(bytes) = from.send_buffer_size() {
        let _default = to.set_send_buffer_size(bytes / 2);
    }
}

impl Endpoint for UdpResponder {
    const KEEPS_BOUNDARIES: bool = true;
    const OWN_LOOPS: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        if !self.plain {
            return self.send_by_mode(buf);
        }
        let (socket, source) = self.answers_to();
        let sent = calls::send_back(socket.as_fd(), buf, source);
        self.unless_reported(datagram_sent(sent), Sent::Interrupted)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        if self.plain {
            self.recv_from_any(buf)
        } else {
            self.recv_by_mode(buf)
        }
    }
}

on_socket!(ToPeer: socket, UdpResponder: socket, ConnectedUdp: 0);

/// Has the kernel report datagrams that a full local queue drops; Unix domain sockets wait
/// instead.
fn report_drops(socket: &Socket) {
    let inet = |domain: Domain| [Domain::IPV4, Domain::IPV6].contains(&domain);
    if without::domain(socket).is_ok_and(inet) {
        let _or_silently = without::report_drops(socket);
    }
}

/// Returns true if the source of a message is not permitted.
#[inline]
pub(crate) fn is_strange(source: &Source, sources: &Sources) -> bool {
    source.ip().is_some_and(|address| !sources.allow(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_question_is_answered_and_an_empty_datagram_is_the_end() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = SockAddr::from(server.local_addr().unwrap());
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap().into();
        let mut client = ToPeer { socket, to };
        let first = First {
            connect: true,
            answer_from_there: false,
        };
        let mut server = UdpResponder::new(server.into(), first).unwrap();
        let mut buf = [0; 8];
        assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
        assert_eq!(server.send(b"defg").unwrap(), Sent::Bytes(4));
        assert_eq!(client.recv(&mut buf).unwrap(), Received::Bytes(4));
        client.send(b"").unwrap();
        assert_eq!(server.recv(&mut buf).unwrap(), Received::End);
    }

    /// Permitted sources if the control connection comes from `peer`.
    fn sources(peer: &str, more: &str) -> Sources {
        use netperf_model::{DataPeers, Policy};
        let policy = Policy {
            data_peers: more.parse::<DataPeers>().unwrap(),
            ..Policy::default()
        };
        policy.sources(Some(peer.parse().unwrap()))
    }

    #[test]
    fn a_stranger_gets_no_answer_and_does_not_end_anything() {
        for (peers, admitted) in [("same", false), ("127.0.0.0/8", true), ("any", true)] {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let at = socket.local_addr().unwrap();
            let mut server = UdpResponder::new(socket.into(), First::default()).unwrap();
            server.take_only_from(&sources("192.0.2.1", peers));
            let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut buf = [0; 8];
            for message in [b"ask".as_slice(), b""] {
                stranger.send_to(message, at).unwrap();
                let got = server.recv(&mut buf).unwrap();
                assert_eq!(got != Received::Interrupted, admitted, "{peers}");
                assert_eq!(server.source.is_known(), admitted, "{peers}");
            }
        }
    }

    #[test]
    fn an_end_counts_from_whoever_began() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        let mut server = UdpResponder::new(socket.into(), First::default()).unwrap();
        let [client, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let mut buf = [0; 8];
        client.send_to(b"ask", at).unwrap();
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
        other.send_to(b"", at).unwrap();
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Interrupted);
        server.send(b"answer").unwrap();
        assert_eq!(client.recv(&mut buf).unwrap(), 6);
        client.send_to(b"", at).unwrap();
        assert_eq!(server.recv(&mut buf).unwrap(), Received::End);
    }

    #[test]
    fn answers_come_from_the_address_that_was_asked() {
        for (wildcard, asked, own) in [
            ("0.0.0.0:0", "127.0.0.9", "127.0.0.1:0"),
            ("[::]:0", "::1", "[::1]:0"),
        ] {
            let server = UdpSocket::bind(wildcard).unwrap();
            let port = server.local_addr().unwrap().port();
            let server = Socket::from(server);
            server.set_reuse_address(true).unwrap();
            let first = First {
                connect: false,
                answer_from_there: true,
            };
            let mut server = UdpResponder::new(server, first).unwrap();
            let client = UdpSocket::bind(own).unwrap();
            let mut buf = [0; 8];
            for _ in 0..2 {
                client.send_to(b"ask", (asked, port)).unwrap();
                assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
                assert_eq!(server.send(b"answer").unwrap(), Sent::Bytes(6));
                let (count, from) = client.recv_from(&mut buf).unwrap();
                assert_eq!((count, from.ip().to_string().as_str()), (6, asked));
            }
        }
    }
}
