//! TCP: one connection, moved by send(2), write(2), sendfile(2) or splice(2).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use netperf_os::Socket;
use netperf_os::io as calls;

use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::on_socket;

/// A connection moved by send(2) and recv(2).
#[derive(Debug)]
pub struct Tcp(pub Socket);

impl Endpoint for Tcp {
    const KEEPS_BOUNDARIES: bool = false;
    const OWN_LOOPS: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        stream_sent(calls::send(self.0.as_fd(), buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.0.as_fd(), buf))
    }
}

/// A connection moved by write(2) and recv(2) (test-specific `-I`).
#[derive(Debug)]
pub struct Written(pub Socket);

impl Endpoint for Written {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        stream_sent(calls::write(self.0.as_fd(), buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.0.as_fd(), buf))
    }
}

/// A connection that sends from a file by sendfile(2) (`TCP_SENDFILE`).
///
/// Ring element `i` starts at `offset + i * size` of the file.
#[derive(Debug)]
pub struct FromFile {
    socket: Socket,
    file: File,
    offset: u64,
    width: u32,
    next: u32,
}

impl FromFile {
    /// Sends from `file`, cycling through `width` elements from `offset` on.
    #[must_use]
    pub fn new(socket: Socket, file: File, offset: u64, width: u32) -> Self {
        Self {
            socket,
            file,
            offset,
            width: width.max(1),
            next: 0,
        }
    }
}

impl Endpoint for FromFile {
    const KEEPS_BOUNDARIES: bool = false;
    const ONE_WAY: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let start = self.offset + u64::from(self.next) * buf.len() as u64;
        self.next = if self.next + 1 == self.width {
            0
        } else {
            self.next + 1
        };
        let start = i64::try_from(start).unwrap_or(0);
        stream_sent(calls::send_file(
            self.socket.as_fd(),
            self.file.as_fd(),
            start,
            buf.len(),
        ))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.socket.as_fd(), buf))
    }
}

/// A connection that splices received bytes into the null device (copy avoidance, test-specific
/// `-V`).
#[derive(Debug)]
pub struct Spliced {
    socket: Socket,
    /// Empty between two receives.
    pipe: Rc<SplicePipe>,
}

/// A pipe, and the null device that it is emptied into.
#[derive(Debug)]
struct SplicePipe {
    out: OwnedFd,
    into: OwnedFd,
    sink: File,
}

impl Spliced {
    /// Discards received data of `socket`.
    ///
    /// # Errors
    /// When the pipe cannot be created or the null device cannot be opened.
    pub fn new(socket: Socket) -> io::Result<Self> {
        let pipe = Rc::new(SplicePipe::new()?);
        Ok(Self { socket, pipe })
    }

    /// Discards received data of several sockets of a thread, through one pipe.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn sharing(sockets: Vec<Socket>) -> io::Result<Vec<Self>> {
        let pipe = Rc::new(SplicePipe::new()?);
        let one = |socket| Self {
            socket,
            pipe: Rc::clone(&pipe),
        };
        Ok(sockets.into_iter().map(one).collect())
    }
}

impl SplicePipe {
    fn new() -> io::Result<Self> {
        let (out, into) = netperf_os::process::pipe()?;
        let sink = File::options().write(true).open("/dev/null")?;
        Ok(Self { out, into, sink })
    }

    /// Discards the `count` bytes in the pipe.
    fn discard(&self, count: usize) -> io::Result<()> {
        let mut left = count;
        while left > 0 {
            match calls::splice(self.out.as_fd(), self.sink.as_fd(), left) {
                Ok(moved) => left -= moved,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Endpoint for Spliced {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        stream_sent(calls::send(self.socket.as_fd(), buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = received(calls::splice(
            self.socket.as_fd(),
            self.pipe.into.as_fd(),
            buf.len(),
        ))?;
        if let Received::Bytes(count) = got {
            self.pipe.discard(count)?;
        }
        Ok(got)
    }
}

impl From<Socket> for Tcp {
    fn from(socket: Socket) -> Self {
        Self(socket)
    }
}

on_socket!(Tcp: 0, Written: 0, FromFile: socket, Spliced: socket);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (Socket, Socket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client.into(), listener.accept().unwrap().0.into())
    }

    #[test]
    fn bytes_cross_a_connection_and_its_end_is_seen() {
        let (client, server) = pair();
        let (mut client, mut server) = (Tcp(client), Written(server));
        let mut buf = [0; 8];
        assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
        assert_eq!(server.send(b"de").unwrap(), Sent::Bytes(2));
        assert_eq!(client.recv(&mut buf).unwrap(), Received::Bytes(2));
        drop(client);
        assert_eq!(server.recv(&mut buf).unwrap(), Received::End);
    }

    #[test]
    fn a_file_is_sent_ring_element_by_ring_element() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, b"xAABB").unwrap();
        let (client, server) = pair();
        let mut client = FromFile::new(client, File::open(&file).unwrap(), 1, 2);
        for _ in 0..3 {
            assert_eq!(client.send(&[0; 2]).unwrap(), Sent::Bytes(2));
        }
        drop(client);
        let mut got = Vec::new();
        std::io::Read::read_to_end(&mut &server, &mut got).unwrap();
        assert_eq!(got, b"AABBAA");
    }

    #[test]
    fn spliced_bytes_are_counted_and_gone() {
        let (client, server) = pair();
        let mut server = Spliced::new(server).unwrap();
        Tcp(client).send(&[7; 1000]).unwrap();
        let mut total = 0;
        let mut buf = [0; 64];
        while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
            total += count;
        }
        assert_eq!(total, 1000);
    }
}
