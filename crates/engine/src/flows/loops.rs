//! The loops over many flows. Like those over one, each is a single function without
//! allocation, lock or dynamic call.
//!
//! A flow can go on when its poller says so; then one call is made for it, and the next flow has
//! its turn. Messages share the buffers of their worker.

use std::io;

use netperf_os::events::Watch;
use netperf_os::io as calls;
use netperf_transport::meeting::OnSocket;
use netperf_transport::{Endpoint, Received, Sent};

use super::flow::Flow;
use super::poller::Poller;
use super::shared::Stage;
use super::worker::{Desk, Keeps};
use crate::due::pacing::Pacing;
use crate::ring::Ring;
use crate::stop::Ended;

/// An endpoint with a socket.
pub(super) trait Moves: Endpoint + OnSocket {}

impl<E: Endpoint + OnSocket> Moves for E {}

/// Events and turns of a loop.
#[derive(Debug)]
pub(super) struct By<'a> {
    pub(super) poller: &'a mut Poller,
    pub(super) pacing: &'a mut Pacing,
}

impl By<'_> {
    /// Waits until a flow can go on or has its turn.
    #[inline]
    pub(super) fn wait(&mut self) -> io::Result<usize> {
        // A paced flow always uses the poller.
        if self.poller.is_alone() {
            return Ok(1);
        }
        self.poller.wait(self.pacing.next())
    }
}

/// Result of one call.
pub(super) enum Step {
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
pub(super) fn sent(result: io::Result<Sent>) -> io::Result<Step> {
    match result {
        Ok(Sent::Bytes(count)) => Ok(Step::Moved(count)),
        Ok(Sent::Dropped) => Ok(Step::Dropped),
        Ok(Sent::Interrupted) => Ok(Step::Blocked),
        Err(error) => failed(error),
    }
}

/// Converts the result of a receive.
#[inline]
pub(super) fn received(result: io::Result<Received>) -> io::Result<Step> {
    match result {
        Ok(Received::Bytes(count)) => Ok(Step::Moved(count)),
        Ok(Received::End) => Ok(Step::End),
        Ok(Received::Interrupted | Received::TimedOut) => Ok(Step::Blocked),
        Err(error) => failed(error),
    }
}

/// Converts the error of a call.
#[cold]
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

/// Progress of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Whole,
    Part,
    End,
}

/// Sends what is left of a message. One that a full queue dropped is gone, like one that
/// is lost on the way.
#[inline]
fn send<E: Moves, M, R>(
    flow: &mut Flow<E, M>,
    message: &[u8],
    desk: &mut Desk<'_, R>,
) -> io::Result<Message> {
    let rest = message.get(flow.sent..).unwrap_or_default();
    match sent(flow.endpoint.send(rest))? {
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
        Step::Dropped => {
            desk.tally.failed_sends += 1;
            Ok(Message::Part)
        }
        Step::Blocked => Ok(Message::Part),
        Step::End => Ok(Message::End),
    }
}

/// Receives more of a message. A datagram is whole however long it is.
#[inline]
fn receive_part<E: Moves, M, R>(
    flow: &mut Flow<E, M>,
    message: &mut [u8],
    desk: &mut Desk<'_, R>,
) -> io::Result<Message> {
    let rest = message.get_mut(flow.got..).unwrap_or_default();
    let room = rest.len();
    match received(flow.endpoint.recv(rest))? {
        Step::Moved(count) => {
            flow.counts.bytes_received += count as u64;
            desk.tally.bytes_received += count as u64;
            desk.tally.recv_calls += 1;
            if count == room || E::KEEPS_BOUNDARIES {
                flow.got = 0;
                return Ok(Message::Whole);
            }
            flow.got += count;
            Ok(Message::Part)
        }
        Step::Blocked | Step::Dropped => Ok(Message::Part),
        Step::End => Ok(Message::End),
    }
}

/// Begins or ends the wait for send space at a flow.
#[cold]
fn block<E: OnSocket, M>(
    flow: &mut Flow<E, M>,
    token: usize,
    poller: &Poller,
    blocked: bool,
) -> io::Result<()> {
    if flow.blocked == blocked {
        return Ok(());
    }
    flow.blocked = blocked;
    let watch = if blocked { Watch::Write } else { Watch::Read };
    poller.change(flow.endpoint.fd(), token, watch)
}

/// A flow is over.
#[cold]
fn finish<E: OnSocket, M>(flow: &mut Flow<E, M>, poller: &Poller) -> io::Result<()> {
    flow.over = true;
    poller.remove(flow.endpoint.fd())
}

/// netperf's end of request/response: keeps `burst` and one requests in flight on each
/// flow. When the time is over the responses to those in flight are collected.
pub(super) fn ask<E: Moves, R: Keeps>(
    flows: &mut [Flow<E, R::Mark>],
    by: &mut By<'_>,
    (requests, responses): (&mut Ring, &mut Ring),
    burst: usize,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::TimeOver;
    for (token, flow) in flows.iter_mut().enumerate() {
        desk.starts();
        let message = fill((flow, token), requests, burst, by.pacing, desk)?;
        active -= usize::from(asked((flow, token), by.poller, message, &mut ended)?);
    }
    desk.publish();
    while active > 0 {
        let stage = desk.look(flows);
        if stage == Stage::Abandon {
            return Ok(Ended::Abandoned);
        }
        while let Some(token) = by.pacing.due(!stage.goes_on()) {
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            flow.parked = false;
            let message = fill((flow, token), requests, burst, by.pacing, desk)?;
            active -= usize::from(asked((flow, token), by.poller, message, &mut ended)?);
        }
        // The flows whose turn it was may all have ended.
        if active == 0 {
            break;
        }
        for index in 0..by.wait()? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token) else {
                continue;
            };
            let mut message = Message::Part;
            if !flow.blocked {
                message = receive_part(flow, responses.advance(), desk)?;
                if message == Message::Part {
                    continue;
                }
                // A message that answers nothing, such as one that came twice.
                if message == Message::Whole && flow.in_flight > 0 {
                    if let Some(mark) = flow.answered() {
                        desk.recorder().end(mark);
                    }
                    flow.counts.transactions += 1;
                    desk.tally.transactions += 1;
                }
            }
            if message != Message::End {
                message = fill((flow, token), requests, burst, by.pacing, desk)?;
            }
            active -= usize::from(asked((flow, token), by.poller, message, &mut ended)?);
        }
        desk.publish();
    }
    Ok(ended)
}

/// Sends as many requests as may be in flight; `Part` when the last did not go whole.
#[inline]
fn fill<E: Moves, R: Keeps>(
    (flow, token): (&mut Flow<E, R::Mark>, usize),
    requests: &mut Ring,
    burst: usize,
    pacing: &mut Pacing,
    desk: &mut Desk<'_, R>,
) -> io::Result<Message> {
    loop {
        if flow.sent == 0 && !flow.blocked {
            // Nothing is begun that was not begun before the end.
            if flow.in_flight > burst || flow.left == 0 || flow.parked || !desk.goes_on() {
                return Ok(Message::Whole);
            }
            if !pacing.may(token) {
                flow.parked = true;
                return Ok(Message::Whole);
            }
            let mark = desk.recorder().begin();
            flow.asked(mark);
        }
        match send(flow, requests.advance(), desk)? {
            Message::Whole => {
                flow.in_flight += 1;
                flow.left -= 1;
                if flow.blocked {
                    return Ok(Message::Whole);
                }
            }
            message @ (Message::Part | Message::End) => return Ok(message),
        }
    }
}

/// Sets the events that a flow waits for; returns whether it is over.
#[inline]
fn asked<E: Moves, M>(
    (flow, token): (&mut Flow<E, M>, usize),
    poller: &Poller,
    message: Message,
    ended: &mut Ended,
) -> io::Result<bool> {
    let part = message == Message::Part;
    if part != flow.blocked {
        block(flow, token, poller, part)?;
    }
    if message == Message::End {
        *ended = Ended::ByPeer;
    }
    let idle = flow.in_flight == 0 && !flow.blocked && !flow.parked;
    if message == Message::End || idle {
        finish(flow, poller)?;
        return Ok(true);
    }
    Ok(false)
}

/// netserver's end of request/response: a response for every request, until the other
/// end has finished each flow.
pub(super) fn answer<E: Moves, R: Keeps>(
    flows: &mut [Flow<E, R::Mark>],
    by: &mut By<'_>,
    (requests, responses): (&mut Ring, &mut Ring),
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    while active > 0 {
        if desk.look(flows) == Stage::Abandon {
            return Ok(Ended::Abandoned);
        }
        while let Some(token) = by.pacing.due(false) {
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            flow.parked = false;
            by.poller.change(flow.endpoint.fd(), token, Watch::Read)?;
            let message = respond((flow, token), responses, by, desk)?;
            active -= usize::from(answered(flow, by.poller, message)?);
        }
        // The flows whose turn it was may all have ended.
        if active == 0 {
            break;
        }
        for index in 0..by.wait()? {
            let token = by.poller.token(index);
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
                message = respond((flow, token), responses, by, desk)?;
            }
            active -= usize::from(answered(flow, by.poller, message)?);
        }
        desk.publish();
    }
    Ok(Ended::ByPeer)
}

/// Sends a response, or what is left of one, when its turn has come.
#[inline]
fn respond<E: Moves, R: Keeps>(
    (flow, token): (&mut Flow<E, R::Mark>, usize),
    responses: &mut Ring,
    by: &mut By<'_>,
    desk: &mut Desk<'_, R>,
) -> io::Result<Message> {
    if !flow.blocked && !by.pacing.may(token) {
        flow.parked = true;
        // The next request waits with this response.
        by.poller
            .change(flow.endpoint.fd(), token, Watch::Nothing)?;
        return Ok(Message::Part);
    }
    let message = send(flow, responses.advance(), desk)?;
    if message == Message::Whole {
        flow.counts.transactions += 1;
        desk.tally.transactions += 1;
    }
    let part = message == Message::Part;
    if part != flow.blocked {
        block(flow, token, by.poller, part)?;
    }
    Ok(message)
}

/// Ends a flow at the end of requests; returns whether it is over.
#[inline]
fn answered<E: Moves, M>(
    flow: &mut Flow<E, M>,
    poller: &Poller,
    message: Message,
) -> io::Result<bool> {
    if message != Message::End {
        return Ok(false);
    }
    finish(flow, poller)?;
    end_ours(flow);
    Ok(true)
}

/// netserver ends its direction as soon as the other end has: that says that everything
/// was read.
#[cold]
fn end_ours<E: Moves, M>(flow: &Flow<E, M>) {
    // A connection that is gone, or a socket without one, needs no end.
    let _gone = calls::half_close(flow.endpoint.fd());
}

/// Sends on every flow until the time or the flow's share is over.
pub(super) fn push<E: Moves, R: Keeps>(
    flows: &mut [Flow<E, R::Mark>],
    by: &mut By<'_>,
    ring: &mut Ring,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    let mut ended = Ended::Complete;
    for (token, flow) in flows.iter_mut().enumerate() {
        desk.starts();
        active -= usize::from(push_once((flow, token), by, ring, desk, &mut ended)?);
    }
    while active > 0 {
        if !desk.look(flows).goes_on() {
            return Ok(Ended::TimeOver);
        }
        while let Some(token) = by.pacing.due(false) {
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.over) else {
                continue;
            };
            flow.parked = false;
            by.poller.change(flow.endpoint.fd(), token, Watch::Write)?;
            active -= usize::from(push_once((flow, token), by, ring, desk, &mut ended)?);
        }
        // The flows whose turn it was may all have ended.
        if active == 0 {
            break;
        }
        for index in 0..by.wait()? {
            let token = by.poller.token(index);
            let Some(flow) = flows.get_mut(token).filter(|flow| !flow.parked) else {
                continue;
            };
            active -= usize::from(push_once((flow, token), by, ring, desk, &mut ended)?);
        }
        desk.publish();
    }
    Ok(ended)
}

/// One send on a flow; whether the flow is over.
#[inline]
fn push_once<E: Moves, R: Keeps>(
    (flow, token): (&mut Flow<E, R::Mark>, usize),
    by: &mut By<'_>,
    ring: &mut Ring,
    desk: &mut Desk<'_, R>,
    ended: &mut Ended,
) -> io::Result<bool> {
    match push_some((flow, token), by.pacing, ring, desk)? {
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
enum Pushed {
    /// It was made; what it moved is counted.
    Tried,
    /// Its turn has not come: the flow is parked.
    Parked,
    /// The peer has closed the connection.
    Cut,
}

/// One send of what is left on a flow, when its turn has come.
#[inline]
fn push_some<E: Moves, R: Keeps>(
    (flow, token): (&mut Flow<E, R::Mark>, usize),
    pacing: &mut Pacing,
    ring: &mut Ring,
    desk: &mut Desk<'_, R>,
) -> io::Result<Pushed> {
    let buffer = ring.advance();
    let room = usize::try_from(flow.left).map_or(buffer.len(), |left| left.min(buffer.len()));
    // A message that may be lost goes whole, or it would be another one.
    let room = if E::KEEPS_BOUNDARIES {
        whole(&flow.endpoint, room, buffer.len())
    } else {
        room
    };
    if room == 0 {
        return Ok(Pushed::Tried);
    }
    if !pacing.may(token) {
        flow.parked = true;
        return Ok(Pushed::Parked);
    }
    let mark = desk.recorder().begin();
    match sent(flow.endpoint.send(&buffer[..room]))? {
        Step::Moved(count) => {
            if count == room {
                desk.recorder().end(mark);
            }
            flow.left = flow.left.saturating_sub(count as u64);
            flow.counts.bytes_sent += count as u64;
            desk.tally.bytes_sent += count as u64;
            desk.tally.send_calls += flow.endpoint.messages_sent(count);
            pacing.did(token, count);
        }
        Step::Dropped => {
            desk.tally.failed_sends += 1;
            pacing.did(token, room);
        }
        Step::Blocked => {}
        Step::End => {
            flow.left = 0;
            return Ok(Pushed::Cut);
        }
    }
    Ok(Pushed::Tried)
}

/// As many bytes as whole messages take. A buffer may hold many of them.
#[inline]
fn whole<E: Endpoint>(endpoint: &E, room: usize, buffer: usize) -> usize {
    let messages = usize::try_from(endpoint.messages_sent(buffer)).unwrap_or(1);
    let message = (buffer / messages.max(1)).max(1);
    (room.div_ceil(message) * message).min(buffer)
}

/// Receives on every flow until the other end has finished it.
pub(super) fn pull<E: Moves, R: Keeps>(
    flows: &mut [Flow<E, R::Mark>],
    by: &mut By<'_>,
    ring: &mut Ring,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    while active > 0 {
        // A sender that never pauses must not keep a receiver from its end.
        let stage = desk.look(flows);
        if stage == Stage::Abandon {
            return Ok(Ended::Abandoned);
        }
        if !stage.goes_on() && std::mem::take(&mut desk.tells) {
            flows.iter().for_each(end_ours);
        }
        for index in 0..by.wait()? {
            let Some(flow) = flows.get_mut(by.poller.token(index)) else {
                continue;
            };
            let mark = desk.recorder().begin();
            match received(flow.endpoint.recv(ring.advance()))? {
                Step::Moved(count) => {
                    desk.recorder().end(mark);
                    if flow.counts.bytes_received == 0 {
                        desk.starts();
                    }
                    flow.counts.bytes_received += count as u64;
                    desk.tally.bytes_received += count as u64;
                    desk.tally.recv_calls += flow.endpoint.messages_received();
                }
                Step::Blocked | Step::Dropped => {}
                Step::End => {
                    finish(flow, by.poller)?;
                    end_ours(flow);
                    active -= 1;
                }
            }
        }
        desk.publish();
    }
    Ok(Ended::ByPeer)
}

mod duplex;
mod rated;

pub(super) use duplex::{Manner, exchange};
pub(super) use rated::ask_at_times;

#[cfg(test)]
mod tests;
