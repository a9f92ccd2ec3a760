//! The end of a run before its time where netserver alone sends (decision 0022).
//!
//! netperf, which has leave to do so, ends its own direction of the data connection, or sends
//! empty datagrams. netserver looks for that between rings of the bell, so its loop knows
//! nothing of it; what it sent before is still read by netperf to the end.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netperf_model::Address;
use netperf_os::io::{self as calls, Source};
use netperf_os::{SockAddr, wait};
use netperf_transport::udp::END_MARKS;

/// Interval between netserver's looks. Data sent meanwhile counts at both ends.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Datagrams that are taken in at a look at most: a flood of them must not hold up the run.
const AT_ONCE: usize = 64;

/// netserver's data socket, to hear by that netperf has had enough.
#[derive(Debug)]
pub(crate) enum StopReceiver {
    /// A connection, of which netperf ends its own direction.
    Connection(OwnedFd),
    /// A socket to which netperf, which is there, sends an empty datagram.
    Datagrams(OwnedFd, Option<SocketAddr>),
}

impl StopReceiver {
    /// On this connection.
    ///
    /// # Errors
    /// `EMFILE` when there are too many open files.
    pub(crate) fn on(data: BorrowedFd<'_>) -> io::Result<Self> {
        data.try_clone_to_owned().map(Self::Connection)
    }

    /// On this socket, whose datagrams go to `peer`.
    ///
    /// # Errors
    /// `EMFILE` when there are too many open files.
    pub(crate) fn at(data: BorrowedFd<'_>, peer: Option<&Address>) -> io::Result<Self> {
        let peer = peer.and_then(Address::inet);
        Ok(Self::Datagrams(data.try_clone_to_owned()?, peer))
    }

    /// Returns whether netperf has sent the stop. A peer that is gone has not.
    pub(crate) fn has_stopped(&self) -> bool {
        match self {
            Self::Connection(data) => wait::is_half_closed(data.as_fd()).unwrap_or(false),
            Self::Datagrams(data, peer) => (0..AT_ONCE)
                .map_while(|_| datagram(data.as_fd(), *peer))
                .any(|is_end| is_end),
        }
    }
}

/// Takes in a datagram, where there is one: whether it is the end that `peer` sent.
fn datagram(data: BorrowedFd<'_>, peer: Option<SocketAddr>) -> Option<bool> {
    let mut source = Source::unknown();
    // Other errors are reported by the next send.
    let length = calls::recv_from_now(data, &mut [0], &mut source).ok()?;
    let same = |peer: SocketAddr| {
        let ip = source.ip().map(|ip| ip.to_canonical());
        ip == Some(peer.ip().to_canonical()) && source.port() == peer.port()
    };
    Some(length == 0 && peer.is_none_or(same))
}

/// Sends netserver the stop.
#[derive(Debug)]
pub(crate) struct StopSender {
    data: OwnedFd,
    /// Address of netserver's socket, without a connection.
    to: Option<SockAddr>,
}

impl StopSender {
    /// On a data socket, and where that is not connected to one at `to`.
    ///
    /// # Errors
    /// `EMFILE` when there are too many open files.
    pub(crate) fn on(data: BorrowedFd<'_>, to: Option<SockAddr>) -> io::Result<Self> {
        let data = data.try_clone_to_owned()?;
        Ok(Self { data, to })
    }

    /// Says so.
    pub(crate) fn send_stop(&self) {
        let Some(to) = &self.to else {
            // A connection that is gone already needs no end.
            let _gone = calls::half_close(self.data.as_fd());
            return;
        };
        for _ in 0..END_MARKS {
            // A peer that is gone needs no telling.
            let _gone = calls::send_to(self.data.as_fd(), &[], to);
        }
    }
}

/// The same for many flows: netperf ends its direction of all of them, and one stands for all.
#[derive(Debug, Default)]
pub(crate) struct StopReceiverSlot(Mutex<Option<StopReceiver>>);

impl StopReceiverSlot {
    /// Listens from now on.
    pub(crate) fn listen(&self, stop_receiver: StopReceiver) {
        *self.stop_receiver() = Some(stop_receiver);
    }

    /// Returns whether netperf has sent the stop.
    pub(crate) fn hear_the_end(&self) -> bool {
        self.stop_receiver()
            .as_ref()
            .is_some_and(StopReceiver::has_stopped)
    }

    /// Listens no more, and lets go of the connection.
    pub(crate) fn close(&self) {
        *self.stop_receiver() = None;
    }

    fn stop_receiver(&self) -> MutexGuard<'_, Option<StopReceiver>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    fn bound() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn an_empty_datagram_of_the_peer_is_the_end_and_nothing_else_is() {
        let (data, netperf, stranger) = (bound(), bound(), bound());
        let to = data.local_addr().unwrap();
        let peer = Address::Inet(netperf.local_addr().unwrap());
        let stop_receiver = StopReceiver::at(data.as_fd(), Some(&peer)).unwrap();
        assert!(!stop_receiver.has_stopped());
        stranger.send_to(&[], to).unwrap();
        netperf.send_to(&[1; 32], to).unwrap();
        assert!(!stop_receiver.has_stopped());
        netperf.send_to(&[2; 32], to).unwrap();
        let stop_sender = StopSender::on(netperf.as_fd(), Some(to.into())).unwrap();
        stop_sender.send_stop();
        assert!(stop_receiver.has_stopped());
    }
}
