//! Request/response at a given rate on many flows: each flow's requests are sent when they
//! are due, whether or not responses have come.

use std::io;
use std::time::Duration;

use netperf_os::events::Watch;

use super::{CallResult, LoopEvents, MessageProgress, finish, receive_part, sent};
use crate::due::queue::{AGAIN, DueQueue};
use crate::flows::flow::{FlowEndpoint, FlowState};
use crate::flows::shared::RunStage;
use crate::flows::worker::{WorkerRecorder, WorkerState};
use crate::ring::Ring;
use crate::stop::Ended;

/// So many requests are sent before responses are looked for: a rate that cannot be kept to
/// must not keep them from being read.
const AT_ONCE: usize = 64;

/// netperf's end. When the time is over the responses to what is in flight are collected. What is
/// in flight on a flow without a response for too long (`-e`) is given up.
pub(in crate::flows) fn ask_at_times<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    (requests, responses): (&mut Ring, &mut Ring),
    queue: &mut DueQueue,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::TimeOver;
    let patience = state.patience.map(nanos);
    let look = state.patience.map(|patience| patience / 4);
    let mut looks_at = 0;
    queue.begin();
    loop {
        let stage = state.look(flows);
        if stage == RunStage::Abandon {
            return Ok(Ended::Abandoned);
        }
        if !stage.goes_on() && !queue.is_closed() {
            close(flows, by, queue)?;
        }
        for _ in 0..AT_ONCE {
            let Some(token) = queue.due(queue.now()) else {
                break;
            };
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            active -= usize::from(send_due((flow, token), by, requests, queue, state)?);
        }
        if let Some(patience) = patience {
            let now = queue.now();
            if now >= looks_at {
                looks_at = now + patience / 4;
                give_up(flows, queue, (patience, now), stage.goes_on());
            }
        }
        // A flow that has sent its share is over with its last response.
        if active == 0 || (queue.is_closed() && is_idle(flows, queue)) {
            return Ok(ended);
        }
        let within = queue.wait(queue.now()).into_iter().chain(look).min();
        for index in 0..by.poller.wait(within, &state.tally)? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            let mut over = false;
            if flow.blocked {
                over = send_due((flow, token), by, requests, queue, state)?;
            }
            if !over {
                over = receive((flow, token), by, responses, queue, state)?;
                if over && flow.left > 0 {
                    ended = Ended::ByPeer;
                }
            }
            active -= usize::from(over);
        }
        state.publish();
    }
}

/// Gives up what is in flight without a response for too long. Others take its place as long as
/// the run goes on.
#[cold]
fn give_up<E, M>(
    flows: &mut [FlowState<E, M>],
    queue: &mut DueQueue,
    (patience, now): (u64, u64),
    goes_on: bool,
) {
    for (token, flow) in flows.iter_mut().enumerate().filter(|(_, flow)| !flow.over) {
        let lost = queue.give_up(token, patience, now);
        if lost > 0 && goes_on {
            if flow.left == 0 {
                queue.resume(token, now);
            }
            flow.left = flow.left.saturating_add(lost);
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// No more requests are begun; those of which a part is gone are finished.
#[cold]
fn close<E: FlowEndpoint, M>(
    flows: &mut [FlowState<E, M>],
    by: &LoopEvents<'_>,
    queue: &mut DueQueue,
) -> io::Result<()> {
    queue.close(queue.now());
    for (token, flow) in flows.iter_mut().enumerate() {
        if flow.blocked && flow.sent == 0 && !flow.over {
            flow.blocked = false;
            by.poller.change(flow.endpoint.fd(), token, Watch::Read)?;
        }
    }
    Ok(())
}

fn is_idle<E, M>(flows: &[FlowState<E, M>], queue: &DueQueue) -> bool {
    queue.in_flight() == 0 && flows.iter().all(|flow| flow.over || !flow.blocked)
}

/// Sends the request that is due on a flow, or goes on with one that the kernel has not all
/// of; whether the flow is over.
#[inline]
fn send_due<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, token): (&mut FlowState<E, R::Mark>, usize),
    by: &LoopEvents<'_>,
    requests: &mut Ring,
    queue: &mut DueQueue,
    state: &mut WorkerState<'_, R>,
) -> io::Result<bool> {
    let fresh = flow.sent == 0;
    if fresh && !queue.makes_room(token, queue.now()) {
        queue.put_off_until(token, queue.now() + AGAIN);
        hold(flow, queue);
        return Ok(false);
    }
    let message = if fresh {
        let message = requests.advance_touched();
        queue.write_number(token, message);
        &*message
    } else {
        requests.latest()
    };
    let rest = message.get(flow.sent..).unwrap_or_default();
    let now = queue.now();
    match sent(flow.endpoint.send(rest))? {
        CallResult::Moved(count) => {
            if fresh {
                if flow.counts.bytes_sent == 0 {
                    state.starts();
                }
                queue.sent(token, token, now, state.counts());
                flow.parked = false;
            }
            flow.counts.bytes_sent += count as u64;
            state.tally.bytes_sent += count as u64;
            state.tally.send_calls += 1;
            let whole = count == rest.len();
            flow.sent = if whole { 0 } else { flow.sent + count };
            if whole {
                flow.left -= 1;
                if flow.left == 0 {
                    queue.retire(token);
                } else if !queue.is_closed() {
                    queue.put_off(token);
                }
            }
            wants_room((flow, token), by, !whole)?;
            Ok(false)
        }
        CallResult::Dropped => {
            state.tally.failed_sends += 1;
            hold(flow, queue);
            if !queue.is_closed() {
                queue.put_off_until(token, now + AGAIN);
            }
            wants_room((flow, token), by, false)?;
            Ok(false)
        }
        CallResult::Blocked => {
            if fresh {
                hold(flow, queue);
            }
            wants_room((flow, token), by, true)?;
            Ok(false)
        }
        CallResult::End => gone((flow, token), by, queue),
    }
}

/// The request that is due must wait, which counts once; a flow says so by being parked.
fn hold<E, M>(flow: &mut FlowState<E, M>, queue: &mut DueQueue) {
    if !flow.parked {
        flow.parked = true;
        queue.held_back();
    }
}

/// Sets whether a flow waits for send space, too.
#[inline]
fn wants_room<E: FlowEndpoint, M>(
    (flow, token): (&mut FlowState<E, M>, usize),
    by: &LoopEvents<'_>,
    blocked: bool,
) -> io::Result<()> {
    if flow.blocked == blocked {
        return Ok(());
    }
    flow.blocked = blocked;
    let watch = if blocked { Watch::Both } else { Watch::Read };
    by.poller.change(flow.endpoint.fd(), token, watch)
}

/// Receives what there is on a flow; whether the flow is over.
#[inline]
fn receive<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, token): (&mut FlowState<E, R::Mark>, usize),
    by: &LoopEvents<'_>,
    responses: &mut Ring,
    queue: &mut DueQueue,
    state: &mut WorkerState<'_, R>,
) -> io::Result<bool> {
    let response = responses.advance();
    match receive_part(flow, response, state)? {
        MessageProgress::Part => Ok(false),
        MessageProgress::End => gone((flow, token), by, queue),
        MessageProgress::Whole => {
            if queue.answered(token, response, queue.now(), state.counts()) {
                flow.counts.transactions += 1;
                state.tally.transactions += 1;
                // Of a byte stream nothing is lost: what was sent is answered.
                if flow.left == 0 && !queue.has_in_flight(token) {
                    finish(flow, by.poller)?;
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// The other end has finished a flow.
#[cold]
fn gone<E: FlowEndpoint, M>(
    (flow, token): (&mut FlowState<E, M>, usize),
    by: &LoopEvents<'_>,
    queue: &mut DueQueue,
) -> io::Result<bool> {
    queue.forget(token);
    finish(flow, by.poller)?;
    Ok(true)
}
