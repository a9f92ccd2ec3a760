//! The door of the listener: who may come in, and those who are told why not.

use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, Policy};
use netperf_os::{SockAddr, Socket, io};
use netperf_session::access;
use netperf_wire::RequestKind;

use super::poller::{PollToken, ServerPoller};

/// How long a client that was turned away has to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// How many of them there may be at the same time: more have to read faster.
const MOST_REFUSED: usize = 64;

/// The door.
#[derive(Debug)]
pub(super) struct Admission {
    policy: Policy,
    /// In the order of their ends.
    refused: VecDeque<(Socket, Moment)>,
}

/// Where a connection comes from; `None` where that is no IP address.
pub(super) fn peer_of(control: &Socket) -> Option<IpAddr> {
    address_of(&control.peer_addr().ok()?)
}

/// Whether whoever is at the other end is on this host: a connection has one address for both
/// ends then, or comes over loopback.
pub(super) fn is_local(control: &Socket) -> bool {
    let own = control.local_addr().ok();
    let own = own.and_then(|own| address_of(&own));
    peer_of(control).is_some_and(|peer| peer.is_loopback() || Some(peer) == own)
}

/// The IP address of a peer.
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

    /// Who may come in, and for what.
    pub(super) const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// From now on this is the policy.
    pub(super) fn change(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Tells a client of whom nobody hears why it cannot come in.
    pub(super) fn refuse(&mut self, control: Socket, denied: &Denied, poller: &ServerPoller) {
        if !send_refusal(&control, denied)
            || poller.watch(control.as_fd(), PollToken::Refused).is_err()
        {
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

    /// When the next of them has had time enough.
    pub(super) fn next(&self) -> Option<Moment> {
        self.refused.front().map(|(_, until)| *until)
    }

    /// Sees who has left.
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

/// Says why. The answer is there before the question: whatever the client asks first, it
/// finds this.
pub(super) fn send_refusal(control: &Socket, denied: &Denied) -> bool {
    let frame = access::refuse(RequestKind::CpuCalibrate, denied);
    // It is the first that is sent over this connection: there is room.
    let said = control.set_nonblocking(true).is_ok()
        && io::send(control.as_fd(), frame.as_bytes()).is_ok();
    said && control.shutdown(Shutdown::Write).is_ok()
}

/// Whether a client that was turned away still has to read: what it says meanwhile is taken
/// and forgotten, or it would not get the answer (RFC 9293 section 3.10.7.1, a reset).
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
    fn who_is_turned_away_reads_why_whatever_it_says_first() {
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
