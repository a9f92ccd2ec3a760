//! Loops of tests with a connection for each transaction, many at the same time. Events are
//! edge-triggered: each event is handled until nothing moves any more.

use std::io;
use std::os::fd::AsFd;

use netperf_model::Token;
use netperf_os::Socket;
use netperf_os::events::Watch;
use netperf_transport::meeting::AcceptFilter;
use netperf_transport::one_port;

use super::flow::Flow;
use super::loops::{By, Moves, Step, received, sent};
use super::shared::Stage;
use super::worker::{Desk, Keeps};
use crate::due::pacing::Pacing;
use crate::record::Recorder;
use crate::stop::Ended;
use crate::workload::connect::Exchange;

/// The token of netserver's listener, which is no flow's.
const LISTENER: usize = usize::MAX - 1;

/// A flow's connection of the moment.
#[derive(Debug)]
pub(super) struct Slot<E> {
    connection: Option<E>,
    doing: Doing,
}

/// Step of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Connecting,
    Sending,
    Receiving,
    /// Everything was exchanged, and netserver is to close it.
    Closing,
}

impl<E> Slot<E> {
    /// Without a connection.
    pub(super) const fn empty() -> Self {
        Self {
            connection: None,
            doing: Doing::Connecting,
        }
    }
}

/// The flows of a thread.
type Connections<'f, E, R> = &'f mut [Flow<Slot<E>, <R as Recorder>::Mark>];

/// Result of an attempt to connect.
#[derive(Debug)]
pub(super) enum Dialled<E> {
    /// It stands, or soon will.
    UnderWay(E),
    /// Not this time: another attempt may.
    Busy,
}

/// Progress of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Far {
    /// Nothing moves now.
    Waits,
    /// It was of use to the end.
    Done,
    /// It broke, or ended too soon: no transaction.
    Broken,
}

/// After connect(2): the test for errors that allow another attempt, and the token to send first
/// ([`one_port`]).
pub(super) type Connected<'a> = (fn(&io::Error) -> bool, Option<&'a Token>);

/// netperf's end: connect, exchange, wait for netserver to close, close, and again.
pub(super) fn dial<E: Moves, R: Keeps>(
    flows: &mut [Flow<Slot<E>, R::Mark>],
    by: &mut By<'_>,
    mut exchange: Exchange<'_>,
    mut dial: impl FnMut(usize) -> io::Result<Dialled<E>>,
    connected: Connected<'_>,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    for (token, flow) in flows.iter_mut().enumerate() {
        desk.starts();
        active -= usize::from(begin((flow, token), by, &mut dial, desk)?);
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
            active -= usize::from(begin((flow, token), by, &mut dial, desk)?);
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
            match asked(flow, &mut exchange, connected, desk)? {
                Far::Waits => continue,
                Far::Done => {
                    if let Some(mark) = flow.answered() {
                        desk.recorder().end(mark);
                    }
                    flow.counts.transactions += 1;
                    flow.left -= 1;
                    desk.tally.transactions += 1;
                }
                Far::Broken => {}
            }
            flow.endpoint = Slot::empty();
            active -= usize::from(begin((flow, token), by, &mut dial, desk)?);
        }
        desk.publish();
    }
    Ok(Ended::TimeOver)
}

/// Begins the next transaction of a flow; whether there is none.
#[inline]
fn begin<E: Moves, R: Keeps>(
    (flow, token): (&mut Flow<Slot<E>, R::Mark>, usize),
    by: &mut By<'_>,
    dial: &mut impl FnMut(usize) -> io::Result<Dialled<E>>,
    desk: &mut Desk<'_, R>,
) -> io::Result<bool> {
    if flow.left == 0 || !desk.goes_on() {
        flow.over = true;
        return Ok(true);
    }
    if !may(by.pacing, flow, token) {
        return Ok(false);
    }
    flow.in_flight = 0;
    let mark = desk.recorder().begin();
    flow.asked(mark);
    flow.in_flight = 1;
    loop {
        match dial(token)? {
            Dialled::UnderWay(connection) => {
                by.poller.add(connection.fd(), token, Watch::Changes)?;
                flow.sent = 0;
                flow.got = 0;
                flow.endpoint = Slot {
                    connection: Some(connection),
                    doing: Doing::Connecting,
                };
                return Ok(false);
            }
            Dialled::Busy if desk.goes_on() => {}
            Dialled::Busy => {
                flow.over = true;
                return Ok(true);
            }
        }
    }
}

#[inline]
fn may<E, M>(pacing: &mut Pacing, flow: &mut Flow<Slot<E>, M>, token: usize) -> bool {
    flow.parked = !pacing.may(token);
    !flow.parked
}

/// Goes on with a connection of netperf's as far as it goes.
#[inline]
fn asked<E: Moves, R: Keeps>(
    flow: &mut Flow<Slot<E>, R::Mark>,
    exchange: &mut Exchange<'_>,
    (again, token): Connected<'_>,
    desk: &mut Desk<'_, R>,
) -> io::Result<Far> {
    loop {
        let Some(connection) = flow.endpoint.connection.as_mut() else {
            return Ok(Far::Waits);
        };
        match flow.endpoint.doing {
            Doing::Connecting => {
                let connected = netperf_os::io::connect_result(connection.fd());
                let fd = connection.fd();
                let presented = connected
                    .and_then(|()| token.map_or(Ok(()), |token| one_port::present(fd, token)));
                match presented {
                    Ok(()) => {}
                    Err(error) if again(&error) => return Ok(Far::Broken),
                    Err(error) => return Err(error),
                }
                flow.endpoint.doing = Doing::Sending;
            }
            Doing::Sending => match give(flow, exchange, desk)? {
                Far::Done => flow.endpoint.doing = Doing::Receiving,
                far @ (Far::Waits | Far::Broken) => return Ok(far),
            },
            Doing::Receiving => match take(flow, exchange, true, desk)? {
                Far::Done => flow.endpoint.doing = Doing::Closing,
                far @ (Far::Waits | Far::Broken) => return Ok(far),
            },
            Doing::Closing => {
                let mut scrap = [0; 64];
                match received(connection.recv(&mut scrap)) {
                    Ok(Step::Moved(_) | Step::Dropped) => {}
                    Ok(Step::Blocked) => return Ok(Far::Waits),
                    // A reset is a close, too: nothing was left to say.
                    Ok(Step::End) => return Ok(Far::Done),
                    // vsock(7) says that a connection that the peer closed is none.
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                        return Ok(Far::Done);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// Sends what is to be sent over a connection.
#[inline]
fn give<E: Moves, R: Keeps>(
    flow: &mut Flow<Slot<E>, R::Mark>,
    exchange: &mut Exchange<'_>,
    desk: &mut Desk<'_, R>,
) -> io::Result<Far> {
    let (Some(ring), Some(connection)) =
        (exchange.send.as_mut(), flow.endpoint.connection.as_mut())
    else {
        return Ok(Far::Done);
    };
    let message = ring.advance();
    while let Some(rest) = message.get(flow.sent..).filter(|rest| !rest.is_empty()) {
        match sent(connection.send(rest))? {
            Step::Moved(count) => {
                flow.sent += count;
                flow.counts.bytes_sent += count as u64;
                desk.tally.bytes_sent += count as u64;
                desk.tally.send_calls += 1;
            }
            Step::Blocked | Step::Dropped => return Ok(Far::Waits),
            Step::End => return Ok(Far::Broken),
        }
    }
    Ok(Far::Done)
}

/// Receives what is to be received over a connection: a `whole` message, or whatever the
/// first call brings.
#[inline]
fn take<E: Moves, R: Keeps>(
    flow: &mut Flow<Slot<E>, R::Mark>,
    exchange: &mut Exchange<'_>,
    whole: bool,
    desk: &mut Desk<'_, R>,
) -> io::Result<Far> {
    let (Some(ring), Some(connection)) =
        (exchange.recv.as_mut(), flow.endpoint.connection.as_mut())
    else {
        return Ok(Far::Done);
    };
    let message = ring.advance();
    while let Some(rest) = message.get_mut(flow.got..).filter(|rest| !rest.is_empty()) {
        match received(connection.recv(rest)) {
            Ok(Step::Moved(count)) => {
                flow.got += count;
                flow.counts.bytes_received += count as u64;
                desk.tally.bytes_received += count as u64;
                desk.tally.recv_calls += 1;
                if !whole || E::KEEPS_BOUNDARIES {
                    return Ok(Far::Done);
                }
            }
            Ok(Step::Blocked | Step::Dropped) => return Ok(Far::Waits),
            Ok(Step::End) => return Ok(Far::Broken),
            // As in the loop over one.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(Far::Broken),
            Err(error) => return Err(error),
        }
    }
    Ok(Far::Done)
}

/// Listener and free slots of netserver's loop.
pub(super) struct Counter<'a, E> {
    pub(super) gate: AcceptFilter<'a>,
    pub(super) make: fn(Socket) -> E,
    /// Requests are whole messages, not whatever the first receive brings.
    pub(super) whole: bool,
    /// Slots without a connection.
    pub(super) free: Vec<usize>,
}

/// netserver's end: accept, exchange, close first, until the run is over.
///
/// A client that goes away in the middle of an exchange costs that transaction and nothing
/// more.
pub(super) fn serve<E: Moves, R: Keeps>(
    flows: &mut [Flow<Slot<E>, R::Mark>],
    by: &mut By<'_>,
    counter: &mut Counter<'_, E>,
    mut exchange: Exchange<'_>,
    desk: &mut Desk<'_, R>,
) -> io::Result<Ended> {
    by.poller
        .add(counter.gate.listener.as_fd(), LISTENER, Watch::Shared)?;
    loop {
        match desk.look(flows) {
            Stage::Abandon => return Ok(Ended::Abandoned),
            Stage::Finish => return Ok(Ended::Complete),
            Stage::Warm | Stage::Count | Stage::Cool => {}
        }
        for index in 0..by.wait()? {
            let token = by.poller.token(index);
            if token == LISTENER {
                accept_all(flows, by, counter, &mut exchange, desk)?;
            } else {
                let mut run = (&mut *counter, &mut exchange);
                go_on((flows, token), &mut run, desk);
            }
        }
        desk.publish();
    }
}

/// Accepts waiting connections, and begins to serve them.
#[inline]
fn accept_all<E: Moves, R: Keeps>(
    flows: &mut [Flow<Slot<E>, R::Mark>],
    by: &By<'_>,
    counter: &mut Counter<'_, E>,
    exchange: &mut Exchange<'_>,
    desk: &mut Desk<'_, R>,
) -> io::Result<()> {
    while let Some(token) = counter.free.last().copied() {
        let socket = match counter.gate.accept() {
            Ok((_stranger, from)) if !counter.gate.admits(&from) => continue,
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            // An error of that connection alone.
            Err(error) if super::accept::is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let Some(flow) = flows.get_mut(token) else {
            return Ok(());
        };
        counter.free.pop();
        socket.set_nonblocking(true)?;
        by.poller.add(socket.as_fd(), token, Watch::Changes)?;
        flow.sent = 0;
        flow.got = 0;
        flow.endpoint = Slot {
            connection: Some((counter.make)(socket)),
            doing: Doing::Receiving,
        };
        go_on(
            (&mut *flows, token),
            &mut (&mut *counter, &mut *exchange),
            desk,
        );
    }
    Ok(())
}

/// Goes on with a connection of netserver's as far as it goes, and closes it then.
#[inline]
fn go_on<E: Moves, R: Keeps>(
    (flows, token): (Connections<'_, E, R>, usize),
    (counter, exchange): &mut (&mut Counter<'_, E>, &mut Exchange<'_>),
    desk: &mut Desk<'_, R>,
) {
    let Some(flow) = flows
        .get_mut(token)
        .filter(|flow| flow.endpoint.connection.is_some())
    else {
        return;
    };
    let whole = counter.whole;
    let far = loop {
        let far = match flow.endpoint.doing {
            Doing::Receiving => take(flow, exchange, whole, desk),
            Doing::Connecting | Doing::Sending | Doing::Closing => give(flow, exchange, desk),
        };
        match far {
            Ok(Far::Done) if flow.endpoint.doing == Doing::Receiving => {
                flow.endpoint.doing = Doing::Sending;
            }
            far => break far,
        }
    };
    match far {
        Ok(Far::Waits) => return,
        Ok(Far::Done) => {
            flow.counts.transactions += 1;
            desk.tally.transactions += 1;
        }
        Ok(Far::Broken) | Err(_) => {}
    }
    flow.endpoint = Slot::empty();
    counter.free.push(token);
}

mod rated;

pub(super) use rated::{Opening, dial_at_times};

#[cfg(test)]
mod tests;
