//! The loops over many flows. Like those over one, each is a single function without
//! allocation, lock or dynamic call.
//!
//! A flow can go on when its poller says so; then one call is made for it, and the next
//! flow has its turn. Messages share the buffers of their worker: nobody reads them.

use std::io;
use std::os::fd::AsFd;

use netperf_os::events::Watch;
use netperf_os::io as calls;

use super::flow::Flow;
use super::poller::Poller;
use super::shared::Stage;
use super::worker::{Desk, Keeps};
use crate::ring::Ring;
use crate::stop::Ended;

/// What one call did.
enum Step {
    /// It moved this much.
    Moved(usize),
    /// Nothing can move now.
    Blocked,
    /// The other end has finished.
    End,
}

/// What a call says. A connection that was cut is at its end: the other end's results,
/// or the want of them, tell why.
#[inline]
fn step(result: io::Result<usize>) -> io::Result<Step> {
    match result {
        Ok(0) => Ok(Step::End),
        Ok(count) => Ok(Step::Moved(count)),
        Err(error) => failed(error),
    }
}

/// What the failure of a call means.
fn failed(error: io::Error) -> io::Result<Step> {
    const NOT_NOW: [io::ErrorKind; 2] = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
    const CUT: [io::ErrorKind; 2] = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
    let kind = error.kind();
    if NOT_NOW.contains(&kind) {
        Ok(Step::Blocked)
    } else if CUT.contains(&kind) {
        Ok(Step::End)
    } else {
        Err(error)
    }
}

/// How far a message came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Whole,
    Part,
    End,
}

/// Sends what is left of a message.
#[inline]
fn send<M, R>(flow: &mut Flow<M>, message: &[u8], desk: &mut Desk<'_, R>) -> io::Result<Message> {
    let rest = message.get(flow.sent..).unwrap_or_default();
    match step(calls::send(flow.socket.as_fd(), rest))? {
        Step::Moved(count) => {
            flow.counts.bytes_sent += count as u64;
            desk.tally.bytes_sent += count as u64;
            desk.tally.send_calls += 1;
            if count == rest.len() {
                flow.sent = 0;
                return Ok(Message::Whole);
            }
            flow.sent += count;
            Ok(Message::Part)
        }
        Step::Blocked => Ok(Message::Part),
        Step::End => Ok(Message::End),
    }
}

/// Receives more of a message.
#[inline]
fn receive_part<M, R>(
    flow: &mut Flow<M>,
    message: &mut [u8],
    desk: &mut Desk<'_, R>,
) -> io::Result<Message> {
    let rest = message.get_mut(flow.got..).unwrap_or_default();
    let room = rest.len();
    match step(calls::recv(flow.socket.as_fd(), rest))? {
        Step::Moved(count) => {
            flow.counts.bytes_received += count as u64;
            desk.tally.bytes_received += count as u64;
            desk.tally.recv_calls += 1;
            if count == room {
                flow.got = 0;
                return Ok(Message::Whole);
            }
            flow.got += count;
            Ok(Message::Part)
        }
        Step::Blocked => Ok(Message::Part),
        Step::End => Ok(Message::End),
    }
}

/// Waits for room at a flow, or no longer.
#[cold]
fn block<M, P: Poller>(
    flow: &mut Flow<M>,
    token: usize,
    poller: &P,
    blocked: bool,
) -> io::Result<()> {
    if flow.blocked == blocked {
        return Ok(());
    }
    flow.blocked = blocked;
    let watch = if blocked { Watch::Write } else { Watch::Read };
    poller.change(flow.socket.as_fd(), token, watch)
}

/// A flow is over.
#[cold]
fn finish<M, P: Poller>(flow: &mut Flow<M>, poller: &P) -> io::Result<()> {
    flow.over = true;
    poller.remove(flow.socket.as_fd())
}

/// netperf's end of request/response: keeps `flow.room()` requests in flight on each
/// flow. When the time is over the responses to those in flight are collected.
pub(super) fn ask<P: Poller, R: Keeps>(
    flows: &mut [Flow<R::Mark>],
    poller: &mut P,
    (requests, responses): (&mut Ring, &mut Ring),
    burst: usize,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::TimeOver;
    for (token, flow) in flows.iter_mut().enumerate() {
        desk.starts();
        let message = fill(flow, requests, burst, desk)?;
        block(flow, token, poller, message == Message::Part)?;
        if flow.in_flight == 0 && !flow.blocked {
            finish(flow, poller)?;
            active -= 1;
        }
    }
    desk.publish();
    while active > 0 {
        if desk.look(flows) == Stage::Abandon {
            return Ok(Ended::Abandoned);
        }
        for index in 0..poller.wait()? {
            let token = poller.token(index);
            let Some(flow) = flows.get_mut(token) else {
                continue;
            };
            let mut message = Message::Part;
            if !flow.blocked {
                message = receive_part(flow, responses.advance(), desk)?;
                if message == Message::Part {
                    continue;
                }
                if message == Message::Whole {
                    if let Some(mark) = flow.answered() {
                        desk.recorder().end(mark);
                    }
                    flow.counts.transactions += 1;
                    desk.tally.transactions += 1;
                }
            }
            if message != Message::End {
                message = fill(flow, requests, burst, desk)?;
                let part = message == Message::Part;
                if part != flow.blocked {
                    block(flow, token, poller, part)?;
                }
            }
            if message == Message::End {
                ended = Ended::ByPeer;
            }
            if message == Message::End || (flow.in_flight == 0 && !flow.blocked) {
                finish(flow, poller)?;
                active -= 1;
            }
        }
        desk.publish();
    }
    Ok(ended)
}

/// Sends as many requests as may be in flight; `Part` when the last did not go whole.
#[inline]
fn fill<R: Keeps>(
    flow: &mut Flow<R::Mark>,
    requests: &mut Ring,
    burst: usize,
    desk: &mut Desk<'_, R>,
) -> io::Result<Message> {
    loop {
        if flow.sent == 0 {
            // Nothing is begun that was not begun before the end.
            if flow.in_flight > burst || flow.left == 0 || !desk.goes_on() {
                return Ok(Message::Whole);
            }
            let mark = desk.recorder().begin();
            flow.asked(mark);
        }
        match send(flow, requests.advance(), desk)? {
            Message::Whole => {
                flow.in_flight += 1;
                flow.left -= 1;
            }
            message @ (Message::Part | Message::End) => return Ok(message),
        }
    }
}

/// netserver's end of request/response: a response for every request, until the other
/// end has finished each flow.
pub(super) fn answer<P: Poller, R: Keeps>(
    flows: &mut [Flow<R::Mark>],
    poller: &mut P,
    (requests, responses): (&mut Ring, &mut Ring),
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    while active > 0 {
        if desk.look(flows) == Stage::Abandon {
            return Ok(Ended::Abandoned);
        }
        for index in 0..poller.wait()? {
            let token = poller.token(index);
            let Some(flow) = flows.get_mut(token) else {
                continue;
            };
            let mut message = Message::Whole;
            if !flow.blocked {
                message = receive_part(flow, requests.advance(), desk)?;
                if message == Message::Part {
                    continue;
                }
            }
            if message == Message::Whole {
                message = send(flow, responses.advance(), desk)?;
                if message == Message::Whole {
                    flow.counts.transactions += 1;
                    desk.tally.transactions += 1;
                }
                let part = message == Message::Part;
                if part != flow.blocked {
                    block(flow, token, poller, part)?;
                }
            }
            if message == Message::End {
                finish(flow, poller)?;
                end_ours(flow);
                active -= 1;
            }
        }
        desk.publish();
    }
    Ok(Ended::ByPeer)
}

/// netserver ends its direction as soon as the other end has: that says that everything
/// was read.
#[cold]
fn end_ours<M>(flow: &Flow<M>) {
    // A connection that is gone needs no end.
    let _gone = calls::half_close(flow.socket.as_fd());
}

/// Sends on every flow until the time or the flow's share is over.
pub(super) fn push<P: Poller, R: Keeps>(
    flows: &mut [Flow<R::Mark>],
    poller: &mut P,
    ring: &mut Ring,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::Complete;
    for flow in flows.iter_mut() {
        desk.starts();
        active -= usize::from(push_once(flow, poller, ring, desk, &mut ended)?);
    }
    while active > 0 {
        if !desk.look(flows).goes_on() {
            return Ok(Ended::TimeOver);
        }
        for index in 0..poller.wait()? {
            let Some(flow) = flows.get_mut(poller.token(index)) else {
                continue;
            };
            active -= usize::from(push_once(flow, poller, ring, desk, &mut ended)?);
        }
        desk.publish();
    }
    Ok(ended)
}

/// One send on a flow; whether the flow is over.
#[inline]
fn push_once<P: Poller, R: Keeps>(
    flow: &mut Flow<R::Mark>,
    poller: &P,
    ring: &mut Ring,
    desk: &mut Desk<'_, R>,
    ended: &mut Ended,
) -> io::Result<bool> {
    let buffer = ring.advance();
    let room = usize::try_from(flow.left).map_or(buffer.len(), |left| left.min(buffer.len()));
    if room > 0 {
        let mark = desk.recorder().begin();
        match step(calls::send(flow.socket.as_fd(), &buffer[..room]))? {
            Step::Moved(count) => {
                if count == room {
                    desk.recorder().end(mark);
                }
                flow.left -= count as u64;
                flow.counts.bytes_sent += count as u64;
                desk.tally.bytes_sent += count as u64;
                desk.tally.send_calls += 1;
            }
            Step::Blocked => {}
            Step::End => {
                *ended = Ended::ByPeer;
                flow.left = 0;
            }
        }
    }
    if flow.left == 0 {
        finish(flow, poller)?;
    }
    Ok(flow.over)
}

/// Receives on every flow until the other end has finished it.
pub(super) fn pull<P: Poller, R: Keeps>(
    flows: &mut [Flow<R::Mark>],
    poller: &mut P,
    ring: &mut Ring,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    while active > 0 {
        // A sender that never pauses must not keep a receiver from its end.
        if desk.look(flows) == Stage::Abandon {
            return Ok(Ended::Abandoned);
        }
        for index in 0..poller.wait()? {
            let Some(flow) = flows.get_mut(poller.token(index)) else {
                continue;
            };
            let mark = desk.recorder().begin();
            match step(calls::recv(flow.socket.as_fd(), ring.advance()))? {
                Step::Moved(count) => {
                    desk.recorder().end(mark);
                    if flow.counts.bytes_received == 0 {
                        desk.starts();
                    }
                    flow.counts.bytes_received += count as u64;
                    desk.tally.bytes_received += count as u64;
                    desk.tally.recv_calls += 1;
                }
                Step::Blocked => {}
                Step::End => {
                    finish(flow, poller)?;
                    end_ours(flow);
                    active -= 1;
                }
            }
        }
        desk.publish();
    }
    Ok(Ended::ByPeer)
}

#[cfg(test)]
mod tests;
