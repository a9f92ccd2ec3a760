//! Receiving a byte stream without copying it: the kernel counts and frees the bytes.

use std::io;
use std::os::fd::AsFd;

use netperf_os::io as calls;
use netperf_os::{Socket, sockopt};

use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::on_socket;

/// A TCP connection whose received bytes are never copied (`MSG_TRUNC`, tcp(7)).
#[derive(Debug)]
pub struct Discarding(pub Socket);

/// Low-water mark of the receive buffer, bytes. Discarding is so fast that the receiver would
/// otherwise wake up for every segment, at the expense of the sender (decision 0010).
const GATHERED: usize = 256 << 10;

impl Discarding {
    /// Discards received data in large portions. The sender must end the connection, because
    /// the kernel does not report the last bytes before that.
    #[must_use]
    pub fn gathering(socket: Socket) -> Self {
        sockopt::set_wake_threshold(socket.as_fd(), GATHERED);
        Self(socket)
    }
}

impl Endpoint for Discarding {
    const KEEPS_BOUNDARIES: bool = false;
    const ONE_WAY: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        stream_sent(calls::send(self.0.as_fd(), buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::discard(self.0.as_fd(), buf))
    }
}

on_socket!(Discarding: 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Tcp;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn discarded_bytes_are_counted_by_the_end_at_the_latest() {
        netperf_testkit::watchdog::watch_unit();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = Discarding::gathering(listener.accept().unwrap().0.into());
        let writer = std::thread::spawn(move || {
            let mut client = Tcp(client.into());
            for _ in 0..10 {
                client.send(&[7; 100_000]).unwrap();
            }
        });
        let (mut buf, mut total) = (vec![0; 1 << 17], 0);
        while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
            total += count;
        }
        assert_eq!(total, 1_000_000);
        writer.join().unwrap();
    }

    #[test]
    fn discarded_bytes_are_counted_and_never_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = Discarding(listener.accept().unwrap().0.into());
        Tcp(client.into()).send(&[7; 1000]).unwrap();
        let mut buf = [1; 600];
        let mut total = 0;
        while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
            total += count;
        }
        assert_eq!(total, 1000);
        assert_eq!(buf, [1; 600]);
    }
}
