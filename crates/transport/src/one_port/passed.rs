//! Connections that the listener has accepted for a test.

use std::io;

use netperf_model::{EndJob, Family, SocketPlan, Token, TransportId};
use netperf_os::pass::PassWait;
use netperf_os::{SockAddr, Socket};

use super::handoff::{HandoffInput, HandoffMessage, recv_message};
use crate::socket;

/// Accepts the connections with this token from the hand-off socket and sets the options that a
/// listener would have passed on.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    token: Token,
    transport: TransportId,
    family: Family,
    options: &'a SocketPlan,
}

impl<'a> Passed<'a> {
    /// Parameters from a job; `None` if the job uses a separate data port.
    #[must_use]
    pub fn of(job: &'a EndJob) -> Option<Self> {
        Some(Self {
            token: job.token?,
            transport: job.transport,
            family: job.family,
            options: &job.end.socket,
        })
    }

    /// The next connection.
    ///
    /// # Errors
    /// Whatever recvmsg(2) reports; `ConnectionAborted` for an unusable connection,
    /// `BrokenPipe` when the listener is gone.
    pub(crate) fn take(&self, handoff: &Socket) -> io::Result<(Socket, SockAddr)> {
        loop {
            match recv_message(handoff, PassWait::AsSet)? {
                HandoffInput::Message(HandoffMessage::Connection(token, fd))
                    if token == self.token =>
                {
                    return self.prepared(fd.into());
                }
                // A connection of an earlier test; dropping it closes it.
                HandoffInput::Message(_) | HandoffInput::Invalid => {}
                HandoffInput::End => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    fn prepared(&self, socket: Socket) -> io::Result<(Socket, SockAddr)> {
        let aborted = |_| io::Error::from(io::ErrorKind::ConnectionAborted);
        let from = socket.peer_addr().map_err(aborted)?;
        socket::equip(&socket, self.transport, self.family, self.options).map_err(aborted)?;
        Ok((socket, from))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use netperf_model::Sources;
    use netperf_os::pass;

    use super::super::handoff::send_message;
    use super::*;
    use crate::meeting::AcceptFilter;

    fn token(byte: u8) -> Token {
        Token::new([byte; Token::BYTES])
    }

    #[test]
    fn a_connection_with_the_token_of_this_test_comes_in_with_its_options() {
        let (listener, session) = pass::pair().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut clients: Vec<TcpStream> = Vec::new();
        for of in [token(1), token(2)] {
            clients.push(TcpStream::connect(port.local_addr().unwrap()).unwrap());
            let served = port.accept().unwrap().0;
            send_message(&listener, &HandoffMessage::Connection(of, served.into())).unwrap();
        }
        let options = SocketPlan {
            nodelay: true,
            recv_buffer: Some(30_000),
            ..SocketPlan::default()
        };
        let sources = Sources::default();
        let gate = AcceptFilter {
            sources: Some(&sources),
            passed: Some(Passed {
                token: token(2),
                transport: TransportId::Tcp,
                family: Family::V4,
                options: &options,
            }),
            ..AcceptFilter::open(&session)
        };
        let (taken, from) = gate.accept().unwrap();
        let [old, new] = clients.as_mut_slice() else {
            panic!("two clients");
        };
        assert_eq!(from.as_socket(), new.local_addr().ok());
        assert!(taken.tcp_nodelay().unwrap());
        assert_eq!(taken.recv_buffer_size().unwrap(), 60_000);
        // The connection of the other test is closed.
        assert_eq!(old.read(&mut [0; 1]).unwrap(), 0);
        new.write_all(b"x").unwrap();
        drop(listener);
        let gone = gate.accept().unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
    }
}
