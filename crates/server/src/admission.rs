//! Admission of clients: the access policy, and connections that are being refused.

use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_daemon::poller::{PollToken, ServerPoller};
use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, Policy};
use netperf_os::{SockAddr, Socket, io};
use netperf_session::access;
use netperf_wire::RequestKind;

/// Time that a refused client has to read the reason.
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// Largest number of refused connections; the oldest is dropped first.
const MOST_REFUSED: usize = 64;

/// Access policy and refused connections.
#[derive(Debug)]
pub(super) struct Admission {
    policy: Policy,
    /// In order of expiry.
    refused: VecDeque<(Socket, Moment)>,
}

/// IP address of the peer; `None` for other address families.
pub(super) fn peer_of(control: &Socket) -> Option<IpAddr> {
    address_of(&control.peer_addr().ok()?)
}

/// Returns true if the peer is on this host: both ends have the same address, or the connection
/// uses loopback.
pub(super) fn is_local(control: &Socket) -> bool {
    let own = control.local_addr().ok();
    let own = own.and_then(|own| address_of(&own));
    peer_of(control).is_some_and(|peer| peer.is_loopback() || Some(peer) == own)
}

/// IP address of a peer.
pub(super) fn address_of(peer: &SockAddr) -> Option<IpAddr> {
    Some(peer.as_socket()?.ip().to_canonical())
}

impl Admission {
    pub(super) const fn new(policy: Policy) -> Self {
        Self {
            policy,
            refused: VecDeque::new(),
        }
    }

    /// The access policy.
    pub(super) const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Replaces the policy.
    pub(super) fn change(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Sends the reason to a refused client and keeps the connection until the client has read
    /// it.
    pub(super) fn refuse(&mut self, control: Socket, denied: &Denied, poller: &ServerPoller) {
        if send_refusal(&control, denied) {
            self.dismiss(control, poller);
        }
    }

    /// Closes a connection without a word, once the client has closed it.
    pub(super) fn close(&mut self, control: Socket, poller: &ServerPoller) {
        let ended = control.set_nonblocking(true).is_ok() && is_open(&control);
        if ended && control.shutdown(Shutdown::Write).is_ok() {
            self.dismiss(control, poller);
        }
    }

    fn dismiss(&mut self, control: Socket, poller: &ServerPoller) {
        if poller.watch(control.as_fd(), PollToken::Refused).is_err() {
            return;
        }
        while self.refused.len() >= MOST_REFUSED {
            if let Some((first, _)) = self.refused.pop_front() {
                poller.remove(first.as_fd());
            }
        }
        self.refused
            .push_back((control, clock::now().plus(REFUSAL_TIME)));
    }

    /// Expiry of the oldest refused connection.
    pub(super) fn next(&self) -> Option<Moment> {
        self.refused.front().map(|(_, until)| *until)
    }

    /// Removes refused connections that have closed or expired.
    pub(super) fn look(&mut self, poller: &ServerPoller) {
        self.refused.retain(|(socket, until)| {
            let stays = !until.left().is_zero() && is_open(socket);
            if !stays {
                poller.remove(socket.as_fd());
            }
            stays
        });
    }
}

/// Sends the reason of a refusal. The frame answers any request that the client sends first.
pub(super) fn send_refusal(control: &Socket, denied: &Denied) -> bool {
    let frame = access::refuse(RequestKind::CpuCalibrate, denied);
    // The first data on this connection, so there is space for it.
    let said = control.set_nonblocking(true).is_ok()
        && io::send(control.as_fd(), frame.as_bytes()).is_ok();
    said && control.shutdown(Shutdown::Write).is_ok()
}

/// Returns true if a refused client is still connected. Discards its input, because closing
/// with unread input would reset the connection before the client reads the reason (RFC 9293
/// section 3.10.7.1).
pub(super) fn is_open(control: &Socket) -> bool {
    let mut forgotten = [0; 2048];
    match io::recv(control.as_fd(), &mut forgotten) {
        Ok(0) => false,
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, Socket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0.into())
    }

    #[test]
    fn refused_clients_read_the_reason_whatever_they_sent_first() {
        let (mut admission, poller) = (
            Admission::new(Policy::default()),
            ServerPoller::new().unwrap(),
        );
        let (mut client, served) = pair();
        assert!(is_local(&served), "its client is this test");
        admission.refuse(served, &Denied::Network, &poller);
        client.write_all(&[7; 5000]).unwrap();
        admission.look(&poller);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer.len(), netperf_wire::FRAME_LEN);
        drop(client);
        let gone = netperf_testkit::eventually(Duration::from_secs(5), || {
            admission.look(&poller);
            admission.refused.is_empty()
        });
        assert!(gone && admission.next().is_none());
    }

    #[test]
    fn no_more_of_them_are_kept_than_there_is_room_for() {
        let (mut admission, poller) = (
            Admission::new(Policy::default()),
            ServerPoller::new().unwrap(),
        );
        let clients: Vec<TcpStream> = (0..MOST_REFUSED + 9)
            .map(|_| {
                let (client, served) = pair();
                admission.refuse(served, &Denied::Network, &poller);
                client
            })
            .collect();
        assert_eq!(admission.refused.len(), MOST_REFUSED);
        drop(clients);
    }
}
