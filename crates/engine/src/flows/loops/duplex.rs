//! Bulk data both ways at once on every flow, both directions of it in one thread
//! (docs/decisions/0011-flows.md, "Both ways").

use std::io;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::Tally;
use netperf_os::events::Watch;
use netperf_transport::Received;

use super::push::{Pushed, push_some};
use super::{CallResult, LoopEvents, finish, received};
use crate::flows::flow::{FlowEndpoint, FlowState};
use crate::flows::poller::Poller;
use crate::flows::shared::RunStage;
use crate::flows::worker::{WorkerRecorder, WorkerState};
use crate::ring::Ring;
use crate::stop::Ended;
use crate::stop::GRACE;

/// Interval between end marks that may be lost.
const AGAIN: Duration = Duration::from_millis(50);

/// End of the flows of an end.
pub(in crate::flows) struct EndRules<T> {
    /// It is netperf's end, which ends its direction first.
    pub(in crate::flows) asks: bool,
    /// The other end's end is the end of what is sent, too.
    pub(in crate::flows) ends_both: bool,
    /// Bytes that end receiving on a flow, if the other end does not.
    pub(in crate::flows) most: u64,
    /// Tells the other end that there is no more.
    pub(in crate::flows) tell: T,
}

/// Sends and receives on every flow until both directions of each are over.
pub(in crate::flows) fn exchange<E: FlowEndpoint, R: WorkerRecorder, T: Fn(&mut E)>(
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    (outward, inward): (&mut Ring, &mut Ring),
    rules: &EndRules<T>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::Complete;
    let mut silent = None;
    for (token, flow) in flows.iter_mut().enumerate() {
        if flow.left > 0 && rules.asks {
            state.starts();
        }
        active -= usize::from(settle((flow, token), by.poller, rules)?);
    }
    while active > 0 {
        let stage = state.look(flows);
        if stage == RunStage::Abandon {
            if !E::KEEPS_BOUNDARIES && rules.asks {
                state.note_end(flows);
            }
            return Ok(Ended::Abandoned);
        }
        if !stage.goes_on() && ended != Ended::TimeOver {
            ended = Ended::TimeOver;
            if std::mem::take(&mut state.tells) {
                // Connections on which the other end alone sends were never told.
                let receive = flows.iter_mut().filter(|flow| flow.told && !flow.over);
                receive.for_each(|flow| (rules.tell)(&mut flow.endpoint));
            }
            active -= close(flows, by.poller, rules)?;
        }
        while let Some(token) = by.pacing.due(false) {
            if let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) {
                flow.parked = false;
                active -= usize::from(settle((flow, token), by.poller, rules)?);
            }
        }
        // All flows may have ended above.
        if active == 0 {
            break;
        }
        let drains = !E::KEEPS_BOUNDARIES && rules.asks && !stage.goes_on();
        if drains && state.drained(flows) {
            return Ok(Ended::Abandoned);
        }
        let found = if drains {
            by.wait_at_most(Some(AGAIN), &state.tally)?
        } else {
            wait(flows, by, rules, &state.tally)?
        };
        let before = state.tally.bytes_received;
        for index in 0..found {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            let (readable, writable) = by.poller.can(index);
            let mut changed = false;
            if readable && !flow.heard {
                changed = pull_some(flow, inward, rules, state, &mut ended)?;
            }
            if writable && flow.left > 0 && !flow.parked && has_begun(flow, rules) {
                let pushed = push_some((flow, token), by.pacing, outward, state)?;
                changed |= pushed == Pushed::Parked || flow.left == 0;
                if pushed == Pushed::Cut {
                    ended = Ended::ByPeer;
                }
            }
            if changed {
                active -= usize::from(settle((flow, token), by.poller, rules)?);
            }
        }
        state.round_is_over(stage, before);
        if E::KEEPS_BOUNDARIES && found == 0 && are_told(flows, rules) {
            if gives_up(flows, rules, &mut silent, state) {
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
fn wait<E: FlowEndpoint, M, T>(
    flows: &[FlowState<E, M>],
    by: &mut LoopEvents<'_>,
    rules: &EndRules<T>,
    tally: &Tally,
) -> io::Result<usize> {
    if E::KEEPS_BOUNDARIES && are_told(flows, rules) {
        return by.wait_at_most(Some(AGAIN), tally);
    }
    by.wait(tally)
}

/// Returns whether netperf only waits for the other end's end.
#[inline]
fn are_told<E, M, T>(flows: &[FlowState<E, M>], rules: &EndRules<T>) -> bool {
    rules.asks && flows.iter().all(|flow| flow.told)
}

/// Tells the end again; whether nothing has come for too long.
#[cold]
fn gives_up<E, M, R: WorkerRecorder, T: Fn(&mut E)>(
    flows: &mut [FlowState<E, M>],
    rules: &EndRules<T>,
    silent: &mut Option<Moment>,
    state: &mut WorkerState<'_, R>,
) -> bool {
    let since = *silent.get_or_insert_with(clock::now);
    for flow in flows.iter_mut().filter(|flow| !flow.over) {
        (rules.tell)(&mut flow.endpoint);
    }
    let gives_up = since.elapsed() >= GRACE;
    if gives_up {
        state.was_over(since);
    }
    gives_up
}

/// Receives what there is on a flow; whether something else is to be waited for.
#[inline]
fn pull_some<E: FlowEndpoint, R: WorkerRecorder, T>(
    flow: &mut FlowState<E, R::Mark>,
    ring: &mut Ring,
    rules: &EndRules<T>,
    state: &mut WorkerState<'_, R>,
    ended: &mut Ended,
) -> io::Result<bool> {
    let buffer = ring.advance_touched();
    let got = match flow.endpoint.recv(buffer) {
        // The other end has closed its socket: its end mark was lost.
        Err(error) if flow.told && error.kind() == io::ErrorKind::ConnectionRefused => {
            Ok(Received::End)
        }
        got => got,
    };
    match received(got)? {
        CallResult::Moved(count) => {
            if let Some(track) = &mut flow.track {
                track.arrived(&flow.endpoint, buffer, count);
            }
            let first = flow.counts.bytes_received == 0;
            flow.counts.bytes_received += count as u64;
            state.tally.bytes_received += count as u64;
            state.tally.recv_calls += flow.endpoint.messages_received();
            if flow.endpoint.has_ended() {
                is_over(flow, rules, ended);
                return Ok(true);
            }
            if flow.counts.bytes_received >= rules.most {
                flow.heard = true;
                return Ok(true);
            }
            // An answer had nowhere to go before.
            Ok(first && E::KEEPS_BOUNDARIES)
        }
        CallResult::Blocked | CallResult::Dropped => Ok(false),
        CallResult::End => {
            is_over(flow, rules, ended);
            Ok(true)
        }
    }
}

/// The other end has told the end of its data.
#[cold]
fn is_over<E, M, T>(flow: &mut FlowState<E, M>, rules: &EndRules<T>, ended: &mut Ended) {
    flow.heard = true;
    if flow.left > 0 && rules.asks {
        *ended = Ended::ByPeer;
    }
    if rules.asks || rules.ends_both {
        flow.left = 0;
    }
}

/// netserver answers datagrams, so that the first one must have come.
#[inline]
fn has_begun<E: FlowEndpoint, M, T>(flow: &FlowState<E, M>, rules: &EndRules<T>) -> bool {
    rules.asks || !E::KEEPS_BOUNDARIES || flow.counts.bytes_received > 0
}

/// No more is sent on any flow; how many of them are over by that.
#[cold]
fn close<E: FlowEndpoint, M, T: Fn(&mut E)>(
    flows: &mut [FlowState<E, M>],
    poller: &Poller,
    rules: &EndRules<T>,
) -> io::Result<usize> {
    let mut over = 0;
    for (token, flow) in flows.iter_mut().enumerate() {
        if flow.over || flow.left == 0 {
            continue;
        }
        flow.left = 0;
        over += usize::from(settle((flow, token), poller, rules)?);
    }
    Ok(over)
}

/// Tells the other end of the end of what is sent, and has a flow wait for what may come
/// next; whether the flow is over.
///
/// netserver ends its direction when it has read all and sent all, so that its end means what
/// it means in a test that goes one way.
#[cold]
fn settle<E: FlowEndpoint, M, T: Fn(&mut E)>(
    (flow, token): (&mut FlowState<E, M>, usize),
    poller: &Poller,
    rules: &EndRules<T>,
) -> io::Result<bool> {
    let sent_all = flow.left == 0;
    if sent_all && !flow.told && (rules.asks || flow.heard) {
        flow.told = true;
        (rules.tell)(&mut flow.endpoint);
    }
    if sent_all && flow.heard {
        finish(flow, poller)?;
        return Ok(true);
    }
    let sends = !sent_all && !flow.parked && has_begun(flow, rules);
    let watch = match (sends, !flow.heard) {
        (true, true) => Watch::Both,
        (true, false) => Watch::Write,
        (false, true) => Watch::Read,
        (false, false) => Watch::Nothing,
    };
    poller.change(flow.endpoint.fd(), token, watch)?;
    Ok(false)
}
