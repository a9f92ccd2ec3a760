//! Bringing many connections to their end at netperf, all at the same time.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock;
use netperf_os::events::Watch;
use netperf_os::{io as calls, tcp};

use super::flow::Flow;
use super::poller::{Poller, Together};
use super::shared::Shared;
use crate::finish::{AT_MOST, Drained, NO_PROGRESS};
use crate::stop::Lost;

/// How often the send queues are looked at while nothing else moves.
const LOOK: Duration = Duration::from_millis(50);

/// Ends our direction of every flow and waits until netserver has closed its own: then
/// everything has been read there. Goes on as long as something moves.
pub(super) fn close<M>(flows: &mut [Flow<M>], shared: &Shared) -> io::Result<Drained> {
    for flow in &*flows {
        // A connection that is gone already needs no half-close.
        let _gone = flow.socket.shutdown(Shutdown::Write);
    }
    let mut poller = Together::new(flows.iter().map(|flow| &flow.socket), Watch::Read)?;
    let mut left = flows.len();
    let start = clock::now();
    let (mut moved, mut looked) = (start, start);
    let mut queued = unacknowledged(flows);
    let mut scrap = [0; 16_384];
    while left > 0 && start.elapsed() < AT_MOST && !shared.is_lost() {
        for index in 0..poller.wait()? {
            let Some(flow) = flows.get(poller.token(index)) else {
                continue;
            };
            moved = clock::now();
            match calls::recv(flow.socket.as_fd(), &mut scrap) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(count) if count > 0 => {}
                // A reset is an end, too: netserver counts what it read before.
                Ok(_) | Err(_) => {
                    poller.remove(flow.socket.as_fd())?;
                    left -= 1;
                }
            }
        }
        if moved.elapsed() >= LOOK && looked.elapsed() >= LOOK {
            looked = clock::now();
            let now_queued = unacknowledged(flows);
            if now_queued != queued {
                queued = now_queued;
                moved = looked;
            }
        }
        if moved.elapsed() >= NO_PROGRESS {
            return Ok(Drained::Lost(lost(queued)));
        }
    }
    Ok(if left == 0 {
        Drained::Closed
    } else {
        Drained::StillMoving
    })
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

fn unacknowledged<M>(flows: &[Flow<M>]) -> u64 {
    let queued = |flow: &Flow<M>| tcp::unacknowledged(flow.socket.as_fd()).unwrap_or(0);
    flows.iter().map(|flow| u64::from(queued(flow))).sum()
}
