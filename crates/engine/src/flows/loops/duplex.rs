//! Bulk data both ways at once on every flow, both directions of it in one thread
//! (docs/decisions/0011-flows.md, "Both ways").

use std::io;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::events::Watch;

use super::{By, Moves, Pushed, Step, finish, push_some, received};
use crate::flows::flow::Flow;
use crate::flows::poller::Poller;
use crate::flows::shared::Stage;
use crate::flows::worker::{Desk, Keeps};
use crate::ring::Ring;
use crate::stop::Ended;
use crate::timing::GRACE;

/// Interval between end marks that may be lost.
const AGAIN: Duration = Duration::from_millis(50);

/// End of the flows of an end.
pub(in crate::flows) struct Manner<T> {
    /// It is netperf's end, which ends its direction first.
    pub(in crate::flows) asks: bool,
    /// The other end's end is the end of what is sent, too.
    pub(in crate::flows) ends_both: bool,
    /// Tells the other end that there is no more.
    pub(in crate::flows) tell: T,
}

/// Sends and receives on every flow until both directions of each are over.
pub(in crate::flows) fn exchange<E: Moves, R: Keeps, T: Fn(&mut E)>(
    flows: &mut [Flow<E, R::Mark>],
    by: &mut By<'_>,
    (outward, inward): (&mut Ring, &mut Ring),
    manner: &Manner<T>,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::Complete;
    let mut silent = None;
    for (token, flow) in flows.iter_mut().enumerate() {
        if flow.left > 0 && manner.asks {
            desk.starts();
        }
        active -= usize::from(settle((flow, token), by.poller, manner)?);
    }
    while active > 0 {
        let stage = desk.look(flows);
        if stage == Stage::Abandon {
            return Ok(Ended::Abandoned);
        }
        if !stage.goes_on() && ended != Ended::TimeOver {
            ended = Ended::TimeOver;
            active -= close(flows, by.poller, manner)?;
        }
        while let Some(token) = by.pacing.due(false) {
            if let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) {
                flow.parked = false;
                active -= usize::from(settle((flow, token), by.poller, manner)?);
            }
        }
        // All flows may have ended above.
        if active == 0 {
            break;
        }
        let found = wait(flows, by, manner)?;
        for index in 0..found {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            let (readable, writable) = by.poller.can(index);
            let mut changed = false;
            if readable && !flow.heard {
                changed = pull_some(flow, inward, manner, desk, &mut ended)?;
            }
            if writable && flow.left > 0 && !flow.parked && has_begun(flow, manner) {
                let pushed = push_some((flow, token), by.pacing, outward, desk)?;
                changed |= pushed == Pushed::Parked || flow.left == 0;
                if pushed == Pushed::Cut {
                    ended = Ended::ByPeer;
                }
            }
            if changed {
                active -= usize::from(settle((flow, token), by.poller, manner)?);
            }
        }
        desk.publish();
        if E::KEEPS_BOUNDARIES && found == 0 && are_told(flows, manner) {
            if gives_up(flows, manner, &mut silent, desk) {
                return Ok(Ended::Abandoned);
            }
        } else {
            silent = None;
        }
    }
    Ok(ended)
}

/// Waits until a flow can go on. Who waits for an end that may be lost does not wait for ever.
#[inline]
fn wait<E: Moves, M, T>(
    flows: &[Flow<E, M>],
    by: &mut By<'_>,
    manner: &Manner<T>,
) -> io::Result<usize> {
    if E::KEEPS_BOUNDARIES && are_told(flows, manner) {
        return by.poller.wait(Some(AGAIN));
    }
    by.wait()
}

/// Returns whether netperf only waits for the other end's end.
#[inline]
fn are_told<E, M, T>(flows: &[Flow<E, M>], manner: &Manner<T>) -> bool {
    manner.asks && flows.iter().all(|flow| flow.told)
}

/// Tells the end again; whether nothing has come for too long.
#[cold]
fn gives_up<E, M, R: Keeps, T: Fn(&mut E)>(
    flows: &mut [Flow<E, M>],
    manner: &Manner<T>,
    silent: &mut Option<Moment>,
    desk: &mut Desk<'_, R>,
) -> bool {
    let since = *silent.get_or_insert_with(clock::now);
    for flow in flows.iter_mut().filter(|flow| !flow.over) {
        (manner.tell)(&mut flow.endpoint);
    }
    let gives_up = since.elapsed() >= GRACE;
    if gives_up {
        desk.was_over(since);
    }
    gives_up
}

/// Receives what there is on a flow; whether something else is to be waited for.
#[inline]
fn pull_some<E: Moves, R: Keeps, T>(
    flow: &mut Flow<E, R::Mark>,
    ring: &mut Ring,
    manner: &Manner<T>,
    desk: &mut Desk<'_, R>,
    ended: &mut Ended,
) -> io::Result<bool> {
    match received(flow.endpoint.recv(ring.advance()))? {
        Step::Moved(count) => {
            let first = flow.counts.bytes_received == 0;
            flow.counts.bytes_received += count as u64;
            desk.tally.bytes_received += count as u64;
            desk.tally.recv_calls += flow.endpoint.messages_received();
            // An answer had nowhere to go before.
            Ok(first && E::KEEPS_BOUNDARIES)
        }
        Step::Blocked | Step::Dropped => Ok(false),
        Step::End => {
            flow.heard = true;
            if flow.left > 0 && manner.asks {
                *ended = Ended::ByPeer;
            }
            if manner.asks || manner.ends_both {
                flow.left = 0;
            }
            Ok(true)
        }
    }
}

/// netserver answers datagrams, so that the first one must have come.
#[inline]
fn has_begun<E: Moves, M, T>(flow: &Flow<E, M>, manner: &Manner<T>) -> bool {
    manner.asks || !E::KEEPS_BOUNDARIES || flow.counts.bytes_received > 0
}

/// No more is sent on any flow; how many of them are over by that.
#[cold]
fn close<E: Moves, M, T: Fn(&mut E)>(
    flows: &mut [Flow<E, M>],
    poller: &Poller,
    manner: &Manner<T>,
) -> io::Result<usize> {
    let mut over = 0;
    for (token, flow) in flows.iter_mut().enumerate() {
        if flow.over || flow.left == 0 {
            continue;
        }
        flow.left = 0;
        over += usize::from(settle((flow, token), poller, manner)?);
    }
    Ok(over)
}

/// Tells the other end of the end of what is sent, and has a flow wait for what may come
/// next; whether the flow is over.
///
/// netserver ends its direction when it has read all and sent all, so that its end means what
/// it means in a test that goes one way.
#[cold]
fn settle<E: Moves, M, T: Fn(&mut E)>(
    (flow, token): (&mut Flow<E, M>, usize),
    poller: &Poller,
    manner: &Manner<T>,
) -> io::Result<bool> {
    let sent_all = flow.left == 0;
    if sent_all && !flow.told && (manner.asks || flow.heard) {
        flow.told = true;
        (manner.tell)(&mut flow.endpoint);
    }
    if sent_all && flow.heard {
        finish(flow, poller)?;
        return Ok(true);
    }
    let sends = !sent_all && !flow.parked && has_begun(flow, manner);
    let watch = match (sends, !flow.heard) {
        (true, true) => Watch::Both,
        (true, false) => Watch::Write,
        (false, true) => Watch::Read,
        (false, false) => Watch::Nothing,
    };
    poller.change(flow.endpoint.fd(), token, watch)?;
    Ok(false)
}
