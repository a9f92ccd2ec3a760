//! The door of the listener: who comes in, who is told why not, and who is inside.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Shutdown};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{Crowd, Denied, Policy};
use netperf_os::{Socket, io, process};
use netperf_session::access;
use netperf_wire::RequestKind;

use super::note::note;

/// How long a client that was turned away has to read why.
const READS: Duration = Duration::from_secs(5);
/// How many of them there may be at the same time: more have to read faster.
const READERS: usize = 64;
/// How often is looked who has left.
const LOOK: Duration = Duration::from_secs(1);

/// The door.
#[derive(Debug, Default)]
pub(super) struct Door {
    policy: Policy,
    /// Sessions by their process, and whose they are.
    inside: HashMap<u32, Option<IpAddr>>,
    turned_away: VecDeque<(Socket, Moment)>,
}

/// Where a connection comes from; `None` where that is no IP address.
pub(super) fn peer_of(control: &Socket) -> Option<IpAddr> {
    let peer = control.peer_addr().ok()?.as_socket()?;
    Some(peer.ip().to_canonical())
}

/// A client for a line.
pub(super) fn named(peer: Option<IpAddr>) -> String {
    peer.map_or_else(
        || "a client without an IP address".to_owned(),
        |peer| peer.to_string(),
    )
}

impl Door {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }

    /// Lets a client in, or tells it why not.
    pub(super) fn knock(&mut self, control: Socket) -> Option<Socket> {
        self.look();
        let peer = peer_of(&control);
        let crowd = Crowd {
            all: count(self.inside.len()),
            of_peer: count(
                self.inside
                    .values()
                    .filter(|inside| **inside == peer)
                    .count(),
            ),
        };
        match self.policy.admit(peer, crowd) {
            Ok(()) => Some(control),
            Err(denied) => {
                self.turn_away(control, peer, &denied);
                None
            }
        }
    }

    /// A session has begun.
    pub(super) fn enters(&mut self, process: u32, peer: Option<IpAddr>) {
        self.inside.insert(process, peer);
    }

    fn turn_away(&mut self, control: Socket, peer: Option<IpAddr>, denied: &Denied) {
        note(&format!("refused {}: {denied}", named(peer)));
        if !tell(&control, denied) {
            return;
        }
        while self.turned_away.len() >= READERS {
            self.turned_away.pop_front();
        }
        self.turned_away
            .push_back((control, clock::now().plus(READS)));
    }

    /// How long there is nothing to look at, as far as time goes.
    pub(super) fn patience(&self, otherwise: Duration) -> Duration {
        if self.inside.is_empty() && self.turned_away.is_empty() {
            otherwise
        } else {
            LOOK
        }
    }

    /// Those who are on their way out, to be waited for.
    pub(super) fn leaving(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.turned_away.iter().map(|(socket, _)| socket.as_fd())
    }

    /// Sees who has left.
    pub(super) fn look(&mut self) {
        while let Some(process) = process::reap() {
            self.inside.remove(&process);
        }
        self.turned_away
            .retain(|(socket, until)| !until.left().is_zero() && still_there(socket));
    }
}

/// Says why. The answer is there before the question: whatever the client asks first, it
/// finds this.
pub(super) fn tell(control: &Socket, denied: &Denied) -> bool {
    let frame = access::refuse(RequestKind::CpuCalibrate, denied);
    // It is the first that is sent over this connection: there is room.
    let said = control.set_nonblocking(true).is_ok()
        && io::send(control.as_fd(), frame.as_bytes()).is_ok();
    said && control.shutdown(Shutdown::Write).is_ok()
}

/// Whether a client that was turned away still has to read: what it says meanwhile is taken
/// and forgotten, or it would not get the answer (RFC 9293 section 3.10.7.1, a reset).
fn still_there(control: &Socket) -> bool {
    let mut forgotten = [0; 2048];
    match io::recv(control.as_fd(), &mut forgotten) {
        Ok(0) => false,
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
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

    fn closed() -> Door {
        let mut policy = Policy::default();
        policy.limits.sessions = Some(0);
        Door::new(policy)
    }

    #[test]
    fn who_is_turned_away_reads_why_whatever_it_says_first() {
        let mut door = closed();
        let (mut client, served) = pair();
        assert!(door.knock(served).is_none());
        client.write_all(&[7; 5000]).unwrap();
        door.look();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer.len(), netperf_wire::FRAME_LEN);
        drop(client);
        let gone = netperf_testkit::eventually(Duration::from_secs(5), || {
            door.look();
            door.leaving().count() == 0
        });
        assert!(gone);
    }

    #[test]
    fn no_more_of_them_are_kept_than_there_is_room_for() {
        let mut door = closed();
        let clients: Vec<TcpStream> = (0..READERS + 9)
            .map(|_| {
                let (client, served) = pair();
                assert!(door.knock(served).is_none());
                client
            })
            .collect();
        assert_eq!(door.leaving().count(), READERS);
        drop(clients);
    }

    #[test]
    fn a_session_takes_a_place_until_its_process_ends() {
        let mut policy = Policy::default();
        policy.limits.peer_sessions = Some(1);
        let mut door = Door::new(policy);
        let (_one, served) = pair();
        let served = door.knock(served).unwrap();
        // No process of ours has this number, so nobody takes it out.
        door.enters(u32::MAX, peer_of(&served));
        let (_two, served) = pair();
        assert!(door.knock(served).is_none());
        assert_eq!(named(None), "a client without an IP address");
    }
}
