//! Sends of the flows of a thread.

use std::io;

use netperf_os::events::Watch;
use netperf_transport::Endpoint;

use super::{CallResult, LoopEvents, finish, sent};
use crate::due::pacing::Pacing;
use crate::flows::flow::{FlowEndpoint, FlowState};
use crate::flows::worker::{WorkerRecorder, WorkerState};
use crate::ring::Ring;
use crate::stop::Ended;

/// Sends on every flow until the time or the flow's share is over.
pub(in crate::flows) fn push<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    ring: &mut Ring,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::Complete;
    for (token, flow) in flows.iter_mut().enumerate() {
        state.starts();
        active -= usize::from(push_once((flow, token), by, ring, state, &mut ended)?);
    }
    while active > 0 {
        if !state.look(flows).goes_on() {
            return Ok(Ended::TimeOver);
        }
        while let Some(token) = by.pacing.due(false) {
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            flow.parked = false;
            by.poller.change(flow.endpoint.fd(), token, Watch::Write)?;
            active -= usize::from(push_once((flow, token), by, ring, state, &mut ended)?);
        }
        // The flows whose turn it was may all have ended.
        if active == 0 {
            break;
        }
        for index in 0..by.wait(&state.tally)? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.parked) else {
                continue;
            };
            active -= usize::from(push_once((flow, token), by, ring, state, &mut ended)?);
        }
        state.publish();
    }
    Ok(ended)
}

/// One send on a flow; whether the flow is over.
#[inline]
fn push_once<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, token): (&mut FlowState<E, R::Mark>, usize),
    by: &mut LoopEvents<'_>,
    ring: &mut Ring,
    state: &mut WorkerState<'_, R>,
    ended: &mut Ended,
) -> io::Result<bool> {
    match push_some((flow, token), by.pacing, ring, state)? {
        Pushed::Parked => {
            by.poller
                .change(flow.endpoint.fd(), token, Watch::Nothing)?;
            return Ok(false);
        }
        Pushed::Cut => *ended = Ended::ByPeer,
        Pushed::Tried => {}
    }
    if flow.left == 0 {
        finish(flow, by.poller)?;
    }
    Ok(flow.over)
}

/// Result of a send.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It was made; what it moved is counted.
    Tried,
    /// Its turn has not come: the flow is parked.
    Parked,
    /// The peer has closed the connection.
    Cut,
}

/// One send of what is left on a flow, when its turn has come.
#[inline]
pub(super) fn push_some<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, token): (&mut FlowState<E, R::Mark>, usize),
    pacing: &mut Pacing,
    ring: &mut Ring,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Pushed> {
    let buffer = ring.advance_touched();
    let space = usize::try_from(flow.left).map_or(buffer.len(), |left| left.min(buffer.len()));
    // A message that may be lost goes whole, or it would be another one.
    let space = if E::KEEPS_BOUNDARIES {
        whole(&flow.endpoint, space, buffer.len())
    } else {
        space
    };
    if space == 0 {
        return Ok(Pushed::Tried);
    }
    if !pacing.may(token) {
        flow.parked = true;
        return Ok(Pushed::Parked);
    }
    if let Some(numbers) = &state.numbers {
        numbers.write(&mut buffer[..space], flow.numbered);
    }
    let mark = state.recorder().begin();
    match sent(flow.endpoint.send(&buffer[..space]))? {
        CallResult::Moved(count) => {
            if count == space {
                state.recorder().end(mark);
            }
            flow.left = flow.left.saturating_sub(count as u64);
            flow.counts.bytes_sent += count as u64;
            state.tally.bytes_sent += count as u64;
            let messages = flow.endpoint.messages_sent(count);
            state.tally.send_calls += messages;
            state.tally.failed_sends += flow.endpoint.take_dropped();
            flow.numbered += messages;
            pacing.did(token, count);
        }
        CallResult::Dropped => {
            state.tally.failed_sends += 1 + flow.endpoint.take_dropped();
            pacing.did(token, space);
        }
        CallResult::Blocked => {}
        CallResult::End => {
            flow.left = 0;
            return Ok(Pushed::Cut);
        }
    }
    Ok(Pushed::Tried)
}

/// As many bytes as whole messages take. A buffer may hold many of them.
#[inline]
fn whole<E: Endpoint>(endpoint: &E, space: usize, buffer: usize) -> usize {
    let messages = usize::try_from(endpoint.messages_sent(buffer)).unwrap_or(1);
    let message = (buffer / messages.max(1)).max(1);
    (space.div_ceil(message) * message).min(buffer)
}
