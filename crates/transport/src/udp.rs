//! UDP and UDP-Lite: datagrams to a fixed peer, or back to whoever asked.

use std::io;
use std::os::fd::AsFd;

use netperf_os::io::{self as calls, Source};
use netperf_os::{SockAddr, Socket};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};

/// A socket that sends every datagram to one address, without connecting.
#[derive(Debug)]
pub struct Towards {
    /// The socket.
    pub socket: Socket,
    /// Where datagrams go.
    pub to: SockAddr,
}

impl Endpoint for Towards {
    const KEEPS_BOUNDARIES: bool = true;

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
pub struct Connected(pub Socket);

impl Endpoint for Connected {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        datagram_sent(calls::send(self.0.as_fd(), buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.0.as_fd(), buf))
    }
}

/// A socket that answers the source of the last datagram.
#[derive(Debug)]
pub struct Answering {
    socket: Socket,
    source: Source,
    /// Connect to the first source (test-specific `-N`).
    connect_first: bool,
}

impl Answering {
    /// Answers whoever asks; with `connect_first` only whoever asks first.
    #[must_use]
    pub fn new(socket: Socket, connect_first: bool) -> Self {
        Self {
            socket,
            source: Source::unknown(),
            connect_first,
        }
    }

    /// Tells whoever asked last that there will be no more answers.
    pub fn send_end_mark(&mut self) {
        if self.source.is_known() {
            // A peer that is gone needs no telling.
            let _gone = calls::send_back(self.socket.as_fd(), &[], &self.source);
        }
    }
}

impl Endpoint for Answering {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        datagram_sent(calls::send_back(self.socket.as_fd(), buf, &self.source))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = received(calls::recv_from(self.socket.as_fd(), buf, &mut self.source))?;
        if self.connect_first && matches!(got, Received::Bytes(_)) {
            calls::connect_back(self.socket.as_fd(), &self.source)?;
            self.connect_first = false;
        }
        Ok(got)
    }
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
        let mut client = Towards { socket, to };
        let mut server = Answering::new(server.into(), true);
        let mut buf = [0; 8];
        assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
        assert_eq!(server.send(b"defg").unwrap(), Sent::Bytes(4));
        assert_eq!(client.recv(&mut buf).unwrap(), Received::Bytes(4));
        client.send(b"").unwrap();
        assert_eq!(server.recv(&mut buf).unwrap(), Received::End);
    }
}
