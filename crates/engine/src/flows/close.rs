//! Bringing many connections to their end at netperf, all at the same time.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::Tally;
use netperf_os::events::Watch;
use netperf_os::{Socket, io as calls, tcp};

use super::poller::{Poller, Waits};
use super::shared::SharedRun;
use crate::finish::{self, Drained, EndLimit, SILENCE};
use crate::stop::Lost;

/// Interval between looks at the send queues.
const LOOK: Duration = Duration::from_millis(50);
/// Longest wait for netserver between looks around.
const NAP: Duration = Duration::from_millis(20);

/// Closes our direction of every flow and waits until netserver has closed its own: then
/// everything has been read there. Goes on as long as something moves. The end, and when
/// something moved last.
pub(super) fn close(sockets: &[Socket], shared: &SharedRun) -> io::Result<(Drained, Moment)> {
    for socket in sockets {
        // A connection that is gone already needs no half-close.
        let _gone = socket.shutdown(Shutdown::Write);
    }
    let fds = sockets.iter().map(AsFd::as_fd);
    let mut poller = Poller::new(Waits::Sleeping, fds, Watch::Read, &shared.wakeup)?;
    let mut left = sockets.len();
    let start = clock::now();
    let (mut moved, mut looked) = (start, start);
    let mut queued = unacknowledged(sockets);
    let mut scrap = [0; 16_384];
    let mut limit = EndLimit::new();
    while left > 0 && !limit.is_over(start.elapsed(), moved.elapsed()) && !shared.is_lost() {
        for index in 0..poller.wait(Some(NAP), &Tally::default())? {
            let Some(socket) = sockets.get(poller.token(index)) else {
                continue;
            };
            moved = clock::now();
            match calls::recv(socket.as_fd(), &mut scrap) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(count) if count > 0 => {}
                // A reset is an end, too: netserver counts what it read before.
                Ok(_) | Err(_) => {
                    poller.remove(socket.as_fd())?;
                    left -= 1;
                }
            }
        }
        if moved.elapsed() >= LOOK && looked.elapsed() >= LOOK {
            looked = clock::now();
            let now_queued = unacknowledged(sockets);
            if now_queued != queued {
                queued = now_queued;
                moved = looked;
            }
        }
        let unmoved = moved
            .elapsed()
            .max(finish::unheard_of(sockets.iter().map(AsFd::as_fd)));
        if unmoved < finish::impatient(SILENCE, finish::AFTER_SIGNAL) {
            continue;
        }
        // Segments of a slow link wait for seconds: the control connection tells of a loss.
        let fds = || sockets.iter().map(AsFd::as_fd);
        if fds().any(|fd| finish::is_heard(fd, SILENCE)) {
            shared.hears();
        } else {
            let round_trip = fds().map(finish::round_trip).max();
            shared.demand_signs_of_life(round_trip.unwrap_or_default());
        }
        let rest = fds().map(finish::longest_rest).max().unwrap_or_default();
        if unmoved >= finish::longest_outage(rest, shared.has_control()) {
            return Ok((Drained::Lost(lost(queued)), moved));
        }
    }
    let drained = if left == 0 {
        Drained::Closed
    } else {
        Drained::StillMoving
    };
    Ok((drained, moved))
}

fn lost(queued: u64) -> Lost {
    if queued > 0 {
        Lost::NotAcknowledged {
            bytes: u32::try_from(queued).unwrap_or(u32::MAX),
        }
    } else {
        Lost::NotClosed
    }
}

fn unacknowledged(sockets: &[Socket]) -> u64 {
    let queued = |socket: &Socket| tcp::unacknowledged(socket.as_fd()).unwrap_or(0);
    sockets.iter().map(|socket| u64::from(queued(socket))).sum()
}
