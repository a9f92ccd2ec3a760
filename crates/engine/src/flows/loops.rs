//! The loops over many flows. Like those over one, each is a single function without
//! allocation, lock or dynamic call.
//!
//! A flow can go on when its poller says so; then one call is made for it, and the next flow has
//! its turn. Messages share the buffers of their worker.

use std::io;
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::Tally;

use netperf_os::events::Watch;
use netperf_os::io as calls;
use netperf_transport::meeting::OnSocket;
use netperf_transport::{Received, Sent};

use super::flow::{FlowEndpoint, FlowState};
use super::poller::Poller;
use super::shared::RunStage;
use super::worker::{WorkerRecorder, WorkerState};
use crate::due::pacing::Pacing;
use crate::ring::Ring;
use crate::stop::{Ended, is_cut};

/// Events and turns of a loop.
#[derive(Debug)]
pub(super) struct LoopEvents<'a> {
    pub(super) poller: &'a mut Poller,
    pub(super) pacing: &'a mut Pacing,
}

impl LoopEvents<'_> {
    /// Waits until a flow can go on or has its turn.
    #[inline]
    pub(super) fn wait(&mut self, tally: &Tally) -> io::Result<usize> {
        self.wait_at_most(None, tally)
    }

    /// The same for so long at most.
    #[inline]
    fn wait_at_most(&mut self, most: Option<Duration>, tally: &Tally) -> io::Result<usize> {
        // A paced flow always uses the poller.
        if self.poller.is_alone() {
            return Ok(1);
        }
        let turn = self.pacing.next();
        let within = most.map_or(turn, |most| Some(turn.map_or(most, |turn| turn.min(most))));
        self.poller.wait(within, tally)
    }
}

/// Result of one call.
pub(super) enum CallResult {
    /// It moved this much.
    Moved(usize),
    /// A local queue was full, and the message is gone.
    Dropped,
    /// Nothing can move now.
    Blocked,
    /// The other end has finished.
    End,
}

/// Converts the result of a send. A connection that was cut is at its end: the other end's results,
/// or the want of them, tell why.
#[inline]
pub(super) fn sent(result: io::Result<Sent>) -> io::Result<CallResult> {
    match result {
        Ok(Sent::Bytes(count)) => Ok(CallResult::Moved(count)),
        Ok(Sent::Dropped) => Ok(CallResult::Dropped),
        Ok(Sent::Interrupted) => Ok(CallResult::Blocked),
        Err(error) => failed(error),
    }
}

/// Converts the result of a receive.
#[inline]
pub(super) fn received(result: io::Result<Received>) -> io::Result<CallResult> {
    match result {
        Ok(Received::Bytes(count)) => Ok(CallResult::Moved(count)),
        Ok(Received::End) => Ok(CallResult::End),
        Ok(Received::Interrupted | Received::TimedOut) => Ok(CallResult::Blocked),
        Err(error) => failed(error),
    }
}

/// Converts the error of a call.
#[cold]
fn failed(error: io::Error) -> io::Result<CallResult> {
    // The first data goes with the connection, which does not stand yet.
    if calls::is_no_progress(&error) || calls::goes_on(&error) {
        Ok(CallResult::Blocked)
    } else if is_cut(&error) {
        Ok(CallResult::End)
    } else {
        Err(error)
    }
}

/// Progress of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageProgress {
    Whole,
    Part,
    End,
}

/// Sends what is left of a message. One that a full queue dropped is gone, like one that
/// is lost on the way.
#[inline]
fn send<E: FlowEndpoint, M, R>(
    flow: &mut FlowState<E, M>,
    message: &[u8],
    state: &mut WorkerState<'_, R>,
) -> io::Result<MessageProgress> {
    let rest = message.get(flow.sent..).unwrap_or_default();
    match sent(flow.endpoint.send(rest))? {
        CallResult::Moved(count) => {
            flow.counts.bytes_sent += count as u64;
            state.tally.bytes_sent += count as u64;
            state.tally.send_calls += 1;
            if count == rest.len() {
                flow.sent = 0;
                return Ok(MessageProgress::Whole);
            }
            flow.sent += count;
            Ok(MessageProgress::Part)
        }
        CallResult::Dropped => {
            state.tally.failed_sends += 1;
            Ok(MessageProgress::Part)
        }
        CallResult::Blocked => Ok(MessageProgress::Part),
        CallResult::End => Ok(MessageProgress::End),
    }
}

/// Receives more of a message. A datagram is whole however long it is.
#[inline]
fn receive_part<E: FlowEndpoint, M, R>(
    flow: &mut FlowState<E, M>,
    message: &mut [u8],
    state: &mut WorkerState<'_, R>,
) -> io::Result<MessageProgress> {
    let rest = message.get_mut(flow.got..).unwrap_or_default();
    let space = rest.len();
    match received(flow.endpoint.recv(rest))? {
        CallResult::Moved(count) => {
            flow.counts.bytes_received += count as u64;
            state.tally.bytes_received += count as u64;
            state.tally.recv_calls += 1;
            if count == space || E::KEEPS_BOUNDARIES {
                flow.got = 0;
                return Ok(MessageProgress::Whole);
            }
            flow.got += count;
            Ok(MessageProgress::Part)
        }
        CallResult::Blocked | CallResult::Dropped => Ok(MessageProgress::Part),
        CallResult::End => Ok(MessageProgress::End),
    }
}

/// Begins the wait for send space at a flow with `watch`, or ends it.
#[cold]
fn block<E: OnSocket, M>(
    flow: &mut FlowState<E, M>,
    token: usize,
    poller: &Poller,
    watch: Option<Watch>,
) -> io::Result<()> {
    flow.blocked = watch.is_some();
    poller.change(flow.endpoint.fd(), token, watch.unwrap_or(Watch::Read))
}

/// A flow is over.
#[cold]
fn finish<E: OnSocket, M>(flow: &mut FlowState<E, M>, poller: &Poller) -> io::Result<()> {
    flow.over = true;
    poller.remove(flow.endpoint.fd())
}

/// netperf's end of request/response: keeps `in_flight` requests without a response on
/// each flow. When the time is over the responses to those in flight are collected.
///
/// Responses are received while a request waits for send space: the other end, whose buffers
/// are full of responses, makes no space before.
pub(super) fn ask<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    (requests, responses): (&mut Ring, &mut Ring),
    in_flight: usize,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::TimeOver;
    let look = state.patience.map(|patience| patience / 4);
    let mut looked = clock::now();
    for (token, flow) in flows.iter_mut().enumerate() {
        state.starts();
        let message = fill((flow, token), requests, in_flight, by.pacing, state)?;
        active -= usize::from(asked((flow, token), by.poller, message, &mut ended)?);
    }
    state.publish();
    while active > 0 {
        let stage = state.look(flows);
        if stage == RunStage::Abandon {
            unanswered(flows, state);
            return Ok(Ended::Abandoned);
        }
        while let Some(token) = by.pacing.due(!stage.goes_on()) {
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            flow.parked = false;
            let message = fill((flow, token), requests, in_flight, by.pacing, state)?;
            active -= usize::from(asked((flow, token), by.poller, message, &mut ended)?);
        }
        // The flows whose turn it was may all have ended.
        if active == 0 {
            break;
        }
        for index in 0..by.wait_at_most(look, &state.tally)? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token) else {
                continue;
            };
            let mut message = MessageProgress::Part;
            if !flow.blocked || by.poller.can(index).0 {
                message = receive_part(flow, responses.advance(), state)?;
                if message == MessageProgress::Part && !flow.blocked {
                    continue;
                }
                // Duplicate or unsolicited responses do not count.
                if message == MessageProgress::Whole && flow.in_flight > 0 {
                    if let Some(mark) = flow.answered() {
                        state.recorder().end(mark);
                    }
                    flow.counts.transactions += 1;
                    state.tally.transactions += 1;
                }
            }
            if message != MessageProgress::End {
                if flow.blocked && !by.poller.can(index).1 {
                    continue;
                }
                message = fill((flow, token), requests, in_flight, by.pacing, state)?;
            }
            active -= usize::from(asked((flow, token), by.poller, message, &mut ended)?);
        }
        state.publish();
        if look.is_some_and(|look| looked.elapsed() >= look) {
            looked = clock::now();
            active -= ask_again(flows, by, requests, in_flight, state, &mut ended)?;
        }
    }
    Ok(ended)
}

/// Counts the requests in flight when the run is cut short. Each took at least the time until
/// now.
#[cold]
pub(super) fn unanswered<E, R: WorkerRecorder>(
    flows: &mut [FlowState<E, R::Mark>],
    state: &mut WorkerState<'_, R>,
) {
    for flow in flows {
        state.tally.unanswered += flow.in_flight as u64;
        while flow.in_flight > 0 {
            if let Some(mark) = flow.answered() {
                state.recorder().end(mark);
            }
        }
    }
}

/// Gives up requests that have had no response for too long (`-e`), and sends others; how many
/// flows are over by that.
#[cold]
fn ask_again<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    requests: &mut Ring,
    in_flight: usize,
    state: &mut WorkerState<'_, R>,
    ended: &mut Ended,
) -> io::Result<usize> {
    let patience = state.patience.unwrap_or(Duration::MAX);
    let mut over = 0;
    for (token, flow) in flows.iter_mut().enumerate() {
        let waits = !flow.over && flow.in_flight > 0 && !flow.blocked;
        if waits && flow.asked_at.elapsed() >= patience {
            state.tally.unanswered += flow.in_flight as u64;
            flow.forget();
            let message = fill((flow, token), requests, in_flight, by.pacing, state)?;
            over += usize::from(asked((flow, token), by.poller, message, ended)?);
        }
    }
    Ok(over)
}

/// Sends as many requests as may be in flight; `Part` when the last did not go whole.
#[inline]
fn fill<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, token): (&mut FlowState<E, R::Mark>, usize),
    requests: &mut Ring,
    in_flight: usize,
    pacing: &mut Pacing,
    state: &mut WorkerState<'_, R>,
) -> io::Result<MessageProgress> {
    loop {
        if flow.sent == 0 && !flow.blocked {
            // Nothing is begun that was not begun before the end.
            if flow.in_flight >= in_flight || flow.left == 0 || flow.parked || !state.goes_on() {
                return Ok(MessageProgress::Whole);
            }
            if !pacing.may(token) {
                flow.parked = true;
                return Ok(MessageProgress::Whole);
            }
            let mark = state.recorder().begin();
            flow.asked(mark);
        }
        match send(flow, requests.advance_touched(), state)? {
            MessageProgress::Whole => {
                flow.in_flight += 1;
                flow.left -= 1;
                if state.patience.is_some() {
                    flow.asked_at = clock::now();
                }
                if flow.blocked {
                    return Ok(MessageProgress::Whole);
                }
            }
            message @ (MessageProgress::Part | MessageProgress::End) => return Ok(message),
        }
    }
}

/// Sets the events that a flow waits for; returns whether it is over.
#[inline]
fn asked<E: FlowEndpoint, M>(
    (flow, token): (&mut FlowState<E, M>, usize),
    poller: &Poller,
    message: MessageProgress,
    ended: &mut Ended,
) -> io::Result<bool> {
    let part = message == MessageProgress::Part;
    if part != flow.blocked {
        block(flow, token, poller, part.then_some(Watch::Both))?;
    }
    if message == MessageProgress::End {
        *ended = Ended::ByPeer;
    }
    let idle = flow.in_flight == 0 && !flow.blocked && !flow.parked;
    if message == MessageProgress::End || idle {
        finish(flow, poller)?;
        return Ok(true);
    }
    Ok(false)
}

/// netserver's end of request/response: a response for every request, until the other
/// end has finished each flow.
pub(super) fn answer<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    (requests, responses): (&mut Ring, &mut Ring),
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    while active > 0 {
        if state.look(flows) == RunStage::Abandon {
            return Ok(Ended::Abandoned);
        }
        while let Some(token) = by.pacing.due(false) {
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            flow.parked = false;
            by.poller.change(flow.endpoint.fd(), token, Watch::Read)?;
            let message = respond((flow, token), responses, by, state)?;
            active -= usize::from(answered(flow, by.poller, message)?);
        }
        // The flows whose turn it was may all have ended.
        if active == 0 {
            break;
        }
        for index in 0..by.wait(&state.tally)? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token) else {
                continue;
            };
            let mut message = MessageProgress::Whole;
            if !flow.blocked {
                message = receive_part(flow, requests.advance(), state)?;
                if message == MessageProgress::Part {
                    continue;
                }
            }
            if message == MessageProgress::Whole {
                if E::KEEPS_BOUNDARIES && flow.counts.transactions == 0 {
                    by.poller.renew(flow.endpoint.fd(), token, Watch::Read)?;
                }
                message = respond((flow, token), responses, by, state)?;
            }
            active -= usize::from(answered(flow, by.poller, message)?);
        }
        state.publish();
    }
    Ok(Ended::ByPeer)
}

/// Sends a response, or what is left of one, when its turn has come.
#[inline]
fn respond<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, token): (&mut FlowState<E, R::Mark>, usize),
    responses: &mut Ring,
    by: &mut LoopEvents<'_>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<MessageProgress> {
    if !flow.blocked && !by.pacing.may(token) {
        flow.parked = true;
        // The next request waits with this response.
        by.poller
            .change(flow.endpoint.fd(), token, Watch::Nothing)?;
        return Ok(MessageProgress::Part);
    }
    let message = send(flow, responses.advance_touched(), state)?;
    if message == MessageProgress::Whole {
        flow.counts.transactions += 1;
        state.tally.transactions += 1;
    }
    let part = message == MessageProgress::Part;
    if part != flow.blocked {
        block(flow, token, by.poller, part.then_some(Watch::Write))?;
    }
    Ok(message)
}

/// Closes a flow at the end of requests; returns whether it is over.
#[inline]
fn answered<E: FlowEndpoint, M>(
    flow: &mut FlowState<E, M>,
    poller: &Poller,
    message: MessageProgress,
) -> io::Result<bool> {
    if message != MessageProgress::End {
        return Ok(false);
    }
    finish(flow, poller)?;
    end_ours(flow);
    Ok(true)
}

/// netserver ends its direction as soon as the other end has: that says that everything
/// was read.
#[cold]
fn end_ours<E: FlowEndpoint, M>(flow: &FlowState<E, M>) {
    // A connection that is gone, or a socket without one, needs no end.
    let _gone = calls::half_close(flow.endpoint.fd());
}

/// Receives on every flow until the other end has finished it, or until the flow's share has
/// come: a peer that never stops sending must not keep this end.
pub(super) fn pull<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    ring: &mut Ring,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    while active > 0 {
        // A sender that never pauses must not keep a receiver from its end.
        let stage = state.look(flows);
        if stage == RunStage::Abandon {
            return Ok(Ended::Abandoned);
        }
        if !stage.goes_on() && std::mem::take(&mut state.tells) {
            flows.iter().for_each(end_ours);
        }
        let before = state.tally.bytes_received;
        for index in 0..by.wait(&state.tally)? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token) else {
                continue;
            };
            let mark = state.recorder().begin();
            let buffer = ring.advance_touched();
            match received(flow.endpoint.recv(buffer))? {
                CallResult::Moved(count) => {
                    state.recorder().end(mark);
                    if let Some(track) = &mut flow.track {
                        track.arrived(&flow.endpoint, buffer, count);
                    }
                    if flow.counts.bytes_received == 0 {
                        state.starts();
                        if E::KEEPS_BOUNDARIES {
                            by.poller.renew(flow.endpoint.fd(), token, Watch::Read)?;
                        }
                    }
                    flow.counts.bytes_received += count as u64;
                    state.tally.bytes_received += count as u64;
                    state.tally.recv_calls += flow.endpoint.messages_received();
                    flow.left = flow.left.saturating_sub(count as u64);
                    if flow.left == 0 {
                        finish(flow, by.poller)?;
                        end_ours(flow);
                        active -= 1;
                    }
                }
                CallResult::Blocked | CallResult::Dropped => {}
                CallResult::End => {
                    flow.heard = true;
                    finish(flow, by.poller)?;
                    end_ours(flow);
                    active -= 1;
                }
            }
        }
        state.round_is_over(stage, before);
    }
    Ok(Ended::ByPeer)
}

mod duplex;
mod push;
mod rated;

pub(super) use duplex::{EndRules, exchange};
pub(super) use push::push;
pub(super) use rated::ask_at_times;

#[cfg(test)]
mod tests;
