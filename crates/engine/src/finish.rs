//! Bringing a data connection to its end at netperf (control-protocol.md 3.4).

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock;
use netperf_os::wait::{Interest, ready};
use netperf_os::{Socket, tcp};

use crate::stop::Lost;

/// How long an unchanged send queue may mean no more than a slow peer.
const NO_PROGRESS: Duration = Duration::from_millis(2000);
/// How long netserver goes on by itself after the time is over, and a little more.
const AT_MOST: Duration = Duration::from_secs(6);
/// How often the send queue is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// How a connection came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// netserver closed it.
    Closed,
    /// Data still moves, but past the point where netserver stops by itself.
    StillMoving,
    /// Nothing moves any more.
    Lost(Lost),
}

/// Ends our direction and waits for netserver to close its own.
///
/// For a sender this is when everything has been read at the other end. The wait
/// goes on as long as something moves: data arriving, or our own data being
/// acknowledged.
pub(crate) fn half_close_and_drain(socket: &Socket) -> Drained {
    // A connection that is gone already needs no half-close.
    let _gone = socket.shutdown(Shutdown::Write);
    let start = clock::now();
    let mut last_progress = start;
    let mut queued = unacknowledged(socket);
    let mut scrap = [0; 65_536];
    while start.elapsed() < AT_MOST {
        match ready(socket.as_fd(), Interest::Read, LOOK) {
            Ok(true) => match netperf_os::io::recv(socket.as_fd(), &mut scrap) {
                Ok(0) => return Drained::Closed,
                Ok(_) => last_progress = clock::now(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A reset is an end, too: netserver counts what it read before.
                Err(_) => return Drained::Closed,
            },
            Ok(false) => {}
            Err(_) => return Drained::Closed,
        }
        let now_queued = unacknowledged(socket);
        if now_queued != queued {
            queued = now_queued;
            last_progress = clock::now();
        }
        if last_progress.elapsed() >= NO_PROGRESS {
            return Drained::Lost(lost(queued));
        }
    }
    Drained::StillMoving
}

fn lost(queued: u32) -> Lost {
    if queued > 0 {
        Lost::NotAcknowledged { bytes: queued }
    } else {
        Lost::NotClosed
    }
}

fn unacknowledged(socket: &Socket) -> u32 {
    tcp::unacknowledged(socket.as_fd()).unwrap_or(0)
}
