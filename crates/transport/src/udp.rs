//! UDP and UDP-Lite: datagrams to a fixed peer, or back to whoever asked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use netperf_os::io::{self as calls, Source};
use netperf_os::sockopt::{self, IntOption};
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

/// What an answering socket does about the first datagram that comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct First {
    /// Connect to its source (test-specific `-N`).
    pub connect: bool,
    /// From then on use the address that it was sent to (test-specific `-B`).
    pub answer_from_there: bool,
}

/// A socket that answers the source of the last datagram.
#[derive(Debug)]
pub struct Answering {
    socket: Socket,
    source: Source,
    first: First,
}

impl Answering {
    /// Answers whoever asks; what `first` says is done once.
    ///
    /// # Errors
    /// When the kernel cannot tell where datagrams were sent to.
    pub fn new(socket: Socket, first: First) -> io::Result<Self> {
        if first.answer_from_there {
            let v6 = socket.local_addr()?.is_ipv6();
            let option = if v6 {
                IntOption::PacketInfoV6
            } else {
                IntOption::PacketInfoV4
            };
            sockopt::set(socket.as_fd(), option, 1)?;
        }
        Ok(Self {
            socket,
            source: Source::unknown(),
            first,
        })
    }

    /// Receives the first datagram and does what is to be done about it.
    #[cold]
    fn recv_first(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let fd = self.socket.as_fd();
        let (got, sent_to) = match calls::recv_with_destination(fd, buf, &mut self.source) {
            Ok((count, sent_to)) => (received(Ok(count))?, sent_to),
            Err(error) => (received(Err(error))?, None),
        };
        if !matches!(got, Received::Bytes(_)) {
            return Ok(got);
        }
        if let Some(address) = sent_to.filter(|_| self.first.answer_from_there) {
            self.move_to(address)?;
        }
        if self.first.connect {
            calls::connect_back(self.socket.as_fd(), &self.source)?;
        }
        self.first = First::default();
        Ok(got)
    }

    /// Goes on with a socket bound to this address and the same port: the kernel
    /// prefers it over the wildcard, and answers then come from that address.
    fn move_to(&mut self, address: IpAddr) -> io::Result<()> {
        let local = self.socket.local_addr()?;
        let port = local.as_socket().map_or(0, |local| local.port());
        let bound = Socket::new(
            local.domain(),
            self.socket.r#type()?,
            self.socket.protocol()?,
        )?;
        bound.set_reuse_address(true)?;
        bound.set_recv_buffer_size(self.socket.recv_buffer_size()? / 2)?;
        bound.set_send_buffer_size(self.socket.send_buffer_size()? / 2)?;
        bound.bind(&SocketAddr::new(address, port).into())?;
        self.socket = bound;
        Ok(())
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
        if self.first != First::default() {
            return self.recv_first(buf);
        }
        let fd = self.socket.as_fd();
        received(calls::recv_from(fd, buf, &mut self.source))
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
        let first = First {
            connect: true,
            answer_from_there: false,
        };
        let mut server = Answering::new(server.into(), first).unwrap();
        let mut buf = [0; 8];
        assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
        assert_eq!(server.send(b"defg").unwrap(), Sent::Bytes(4));
        assert_eq!(client.recv(&mut buf).unwrap(), Received::Bytes(4));
        client.send(b"").unwrap();
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
            let mut server = Answering::new(server, first).unwrap();
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
