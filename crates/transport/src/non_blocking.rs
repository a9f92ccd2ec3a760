//! Calls that return at once and are made again (`O_NONBLOCK`, sctp suite `-B`).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_model::Sources;
use netperf_os::{SockAddr, Socket};

use crate::endpoint::{Endpoint, Received, Sent};
use crate::meeting::{
    AcceptFilter, Addresses, Connects, GiveUp, Met, OnSocket, Parted, Parting, Parts,
};
use crate::socket::SocketFacts;

/// Number of immediate retries before the loop checks whether to stop.
const AGAIN: usize = 64;

/// An endpoint with a non-blocking socket.
///
/// A call that would block is retried at once. After a number of retries the endpoint reports
/// an interruption, so that the loop checks whether to stop.
#[derive(Debug)]
pub struct NonBlocking<E>(E);

impl<E: Endpoint> NonBlocking<E> {
    #[cold]
    fn send_again(&mut self, buf: &[u8]) -> io::Result<Sent> {
        for _ in 1..AGAIN {
            match self.0.send(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(sent) => return Ok(sent),
                Err(error) => return Err(error),
            }
        }
        Ok(Sent::Interrupted)
    }

    #[cold]
    fn recv_again(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        for _ in 1..AGAIN {
            match self.0.recv(buf)? {
                Received::TimedOut => {}
                got @ (Received::Bytes(_) | Received::End | Received::Interrupted) => {
                    return Ok(got);
                }
            }
        }
        Ok(Received::Interrupted)
    }
}

impl<E: Endpoint> Endpoint for NonBlocking<E> {
    const KEEPS_BOUNDARIES: bool = E::KEEPS_BOUNDARIES;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        match self.0.send(buf) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.send_again(buf),
            other => other,
        }
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        // The inner endpoint reports `EWOULDBLOCK` as a time-out.
        match self.0.recv(buf)? {
            Received::TimedOut => self.recv_again(buf),
            got @ (Received::Bytes(_) | Received::End | Received::Interrupted) => Ok(got),
        }
    }
}

impl<E: OnSocket> OnSocket for NonBlocking<E> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    fn into_socket(self) -> Socket {
        self.0.into_socket()
    }
}

impl<E: Parts> Parts for NonBlocking<E> {
    fn take_only_from(&mut self, sources: &Sources) {
        self.0.take_only_from(sources);
    }

    fn part(self) -> Parted {
        self.0.part()
    }

    fn facts(&self) -> Option<SocketFacts> {
        self.0.facts()
    }

    fn overflowed(&self) -> Option<u32> {
        self.0.overflowed()
    }

    fn waited_in_vain(&self) -> Duration {
        self.0.waited_in_vain()
    }
}

/// Switches sockets to non-blocking mode.
pub trait Unblock {
    /// Sets `O_NONBLOCK` on every socket of this value.
    ///
    /// # Errors
    /// Whatever fcntl(2) reports.
    fn unblock(&self) -> io::Result<()>;
}

/// A transport whose data calls do not block; connect and accept do.
#[derive(Clone, Debug)]
pub struct NonBlockingly<T>(pub T);

impl<C: Connects<Endpoint: Unblock>> Connects for NonBlockingly<C> {
    type Endpoint = NonBlocking<C::Endpoint>;

    const PARTING: Parting = C::PARTING;

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Self::Endpoint>> {
        self.0.connect(socket, to, give_up)?.and_then(unblocked)
    }

    fn accept(
        &self,
        gate: AcceptFilter<'_>,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Self::Endpoint>> {
        self.0.accept(gate, give_up)?.and_then(unblocked)
    }
}

fn unblocked<E: Unblock>(endpoint: E) -> io::Result<Met<NonBlocking<E>>> {
    endpoint.unblock()?;
    Ok(Met::Connected(NonBlocking(endpoint)))
}

impl<A: Addresses<Asking: Unblock, Answering: Unblock>> Addresses for NonBlockingly<A> {
    type Asking = NonBlocking<A::Asking>;
    type Answering = NonBlocking<A::Answering>;

    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<Self::Asking> {
        let asking = self.0.asking(socket, to)?;
        asking.unblock()?;
        Ok(NonBlocking(asking))
    }

    fn answering(&self, socket: Socket) -> io::Result<Self::Answering> {
        let answering = self.0.answering(socket)?;
        answering.unblock()?;
        Ok(NonBlocking(answering))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Tcp;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_call_that_would_wait_is_made_again_and_then_looks_around() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = Tcp(listener.accept().unwrap().0.into());
        server.unblock().unwrap();
        let mut server = NonBlocking(server);
        let mut buf = [0; 65_536];
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Interrupted);
        Tcp(client.into()).send(b"abc").unwrap();
        // Loopback delivers before send returns, and the close of the sender as well.
        assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
        assert_eq!(server.recv(&mut buf).unwrap(), Received::End);
    }

    #[test]
    fn a_send_without_room_never_waits() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_server, _) = listener.accept().unwrap();
        let client = Tcp(client.into());
        client.unblock().unwrap();
        let mut client = NonBlocking(client);
        let buf = [0; 65_536];
        let full = (0..10_000).any(|_| client.send(&buf).unwrap() == Sent::Interrupted);
        assert!(full);
    }
}
