//! Loops of tests with a connection for each transaction, many at the same time. Events are
//! edge-triggered: each event is handled until nothing moves any more.

use std::io;
use std::os::fd::AsFd;

use netperf_measure::recorder::Recorder;
use netperf_model::Token;
use netperf_os::events::{EpollEvent, Watch};
use netperf_transport::meeting::AcceptFilter;
use netperf_transport::one_port;

use super::flow::{FlowEndpoint, FlowState};
use super::loops::{CallResult, LoopEvents, received, sent, unanswered};
use super::shared::RunStage;
use super::worker::{Acknowledged, WorkerRecorder, WorkerState};
use crate::due::pacing::Pacing;
use crate::stop::Ended;
use crate::workload::connect::{Exchange, UNASKED};

/// The token of netserver's listener, which is no flow's.
const LISTENER: usize = usize::MAX - 1;

/// A flow's connection of the moment.
#[derive(Debug)]
pub(super) struct ConnectionSlot<E> {
    connection: Option<E>,
    doing: ExchangeStep,
}

/// Data of a connection that lives for one transaction arrives with it.
impl<E> Acknowledged for ConnectionSlot<E> {
    fn acknowledged(&self) -> Option<u64> {
        None
    }
}

/// Result of a step of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeStep {
    Connecting,
    Sending,
    Receiving,
    /// Everything was exchanged, and netserver is to close it.
    Closing,
}

impl<E> ConnectionSlot<E> {
    /// A connection, and what it does first.
    const fn begun(connection: E, doing: ExchangeStep) -> Self {
        Self {
            connection: Some(connection),
            doing,
        }
    }

    /// Without a connection.
    pub(super) const fn empty() -> Self {
        Self {
            connection: None,
            doing: ExchangeStep::Connecting,
        }
    }
}

/// The flows of a thread.
type ConnectionSlots<'f, E, R> = &'f mut [FlowState<ConnectionSlot<E>, <R as Recorder>::Mark>];

/// Result of an attempt to connect.
#[derive(Debug)]
pub(super) enum Connecting<E> {
    /// It stands, or soon will.
    UnderWay(E),
    /// Not this time: another attempt may.
    Busy,
    /// The run was abandoned first.
    GivenUp,
}

/// Progress of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExchangeProgress {
    /// Nothing moves now.
    Waits,
    /// It was of use to the end.
    Done,
    /// It broke, or ended too soon: no transaction.
    Broken,
}

/// Steps of a connection besides the exchange.
#[derive(Clone, Copy)]
pub(super) struct Connected<'a> {
    /// True for an error of connect(2) that allows another attempt.
    pub(super) again: fn(&io::Error) -> bool,
    /// Token to send first ([`one_port`]).
    pub(super) token: Option<&'a Token>,
    /// The peer is no netserver, and closes when this end has ended its direction.
    pub(super) ends_first: bool,
}

/// netperf's end: connect, exchange, wait for netserver to close, close, and again.
pub(super) fn dial<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<ConnectionSlot<E>, R::Mark>],
    by: &mut LoopEvents<'_>,
    mut exchange: Exchange<'_>,
    mut dial: impl FnMut(usize) -> io::Result<Connecting<E>>,
    connected: Connected<'_>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    let mut active = flows.len();
    for (token, flow) in flows.iter_mut().enumerate() {
        state.starts();
        active -= usize::from(begin((flow, token), by, &mut dial, state)?);
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
            active -= usize::from(begin((flow, token), by, &mut dial, state)?);
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
            let event = by.poller.event(index);
            match asked((flow, event), &mut exchange, connected, state)? {
                ExchangeProgress::Waits => continue,
                ExchangeProgress::Done => {
                    if let Some(mark) = flow.answered() {
                        state.recorder().end(mark);
                    }
                    flow.counts.transactions += 1;
                    flow.left -= 1;
                    state.tally.transactions += 1;
                }
                ExchangeProgress::Broken => {}
            }
            flow.endpoint = ConnectionSlot::empty();
            active -= usize::from(begin((flow, token), by, &mut dial, state)?);
        }
        state.publish();
    }
    Ok(Ended::TimeOver)
}

/// Begins the next transaction of a flow; whether there is none.
#[inline]
fn begin<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, token): (&mut FlowState<ConnectionSlot<E>, R::Mark>, usize),
    by: &mut LoopEvents<'_>,
    dial: &mut impl FnMut(usize) -> io::Result<Connecting<E>>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<bool> {
    // One that broke is not waited for.
    flow.in_flight = 0;
    if flow.left == 0 || !state.goes_on() {
        flow.over = true;
        return Ok(true);
    }
    if !may(by.pacing, flow, token) {
        return Ok(false);
    }
    let mark = state.recorder().begin();
    flow.asked(mark);
    flow.in_flight = 1;
    loop {
        match dial(token)? {
            Connecting::UnderWay(connection) => {
                by.poller.add(connection.fd(), token, Watch::Changes)?;
                flow.sent = 0;
                flow.got = 0;
                flow.endpoint = ConnectionSlot::begun(connection, ExchangeStep::Connecting);
                return Ok(false);
            }
            Connecting::Busy if state.goes_on() => {}
            Connecting::Busy => {
                flow.over = true;
                return Ok(true);
            }
            // The transaction is counted with those that have no response.
            Connecting::GivenUp => return Ok(false),
        }
    }
}

#[inline]
fn may<E, M>(
    pacing: &mut Pacing,
    flow: &mut FlowState<ConnectionSlot<E>, M>,
    token: usize,
) -> bool {
    flow.parked = !pacing.may(token);
    !flow.parked
}

/// Goes on with a connection of netperf's as far as it goes. Calls that `event` makes needless
/// are spared: it says of an end what getsockopt(2) and recv(2) would, and what arrives after it
/// has a separate event.
#[inline]
fn asked<E: FlowEndpoint, R: WorkerRecorder>(
    (flow, event): (&mut FlowState<ConnectionSlot<E>, R::Mark>, EpollEvent),
    exchange: &mut Exchange<'_>,
    connected: Connected<'_>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<ExchangeProgress> {
    loop {
        let Some(connection) = flow.endpoint.connection.as_mut() else {
            return Ok(ExchangeProgress::Waits);
        };
        match flow.endpoint.doing {
            ExchangeStep::Connecting => {
                let fd = connection.fd();
                let token = connected.token;
                let stands = if event.ended {
                    netperf_os::io::connect_result(fd)
                } else {
                    Ok(())
                };
                let present = || token.map_or(Ok(()), |token| one_port::present(fd, token));
                match stands.and_then(|()| present()) {
                    Ok(()) => {}
                    Err(error) if (connected.again)(&error) => return Ok(ExchangeProgress::Broken),
                    Err(error) => return Err(error),
                }
                flow.endpoint.doing = ExchangeStep::Sending;
            }
            ExchangeStep::Sending => match give(flow, exchange, state)? {
                ExchangeProgress::Done => {
                    flow.endpoint.doing = ExchangeStep::Receiving;
                    if exchange.send.is_some() && !event.readable {
                        return Ok(ExchangeProgress::Waits);
                    }
                }
                far @ (ExchangeProgress::Waits | ExchangeProgress::Broken) => return Ok(far),
            },
            ExchangeStep::Receiving => match take(flow, exchange, true, state)? {
                ExchangeProgress::Done => {
                    if let Some(connection) = flow
                        .endpoint
                        .connection
                        .as_ref()
                        .filter(|_| connected.ends_first)
                    {
                        // A connection that is gone needs no end.
                        let _gone = netperf_os::io::half_close(connection.fd());
                    }
                    if event.ended {
                        return Ok(ExchangeProgress::Done);
                    }
                    flow.endpoint.doing = ExchangeStep::Closing;
                    // From here on it counts what was not asked for.
                    flow.got = 0;
                }
                far @ (ExchangeProgress::Waits | ExchangeProgress::Broken) => return Ok(far),
            },
            ExchangeStep::Closing => {
                let mut scrap = [0; 64];
                match received(connection.recv(&mut scrap)) {
                    Ok(CallResult::Moved(count)) => {
                        flow.got += count;
                        if flow.got > UNASKED {
                            return Err(io::Error::other("more comes than was asked for"));
                        }
                        if state.is_abandoned() {
                            return Ok(ExchangeProgress::Waits);
                        }
                    }
                    Ok(CallResult::Dropped) => {}
                    Ok(CallResult::Blocked) => return Ok(ExchangeProgress::Waits),
                    // A reset is a close, too: nothing was left to say.
                    Ok(CallResult::End) => return Ok(ExchangeProgress::Done),
                    // vsock(7) says that a connection that the peer closed is none.
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                        return Ok(ExchangeProgress::Done);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// Sends what is to be sent over a connection.
#[inline]
fn give<E: FlowEndpoint, R: WorkerRecorder>(
    flow: &mut FlowState<ConnectionSlot<E>, R::Mark>,
    exchange: &mut Exchange<'_>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<ExchangeProgress> {
    let (Some(ring), Some(connection)) =
        (exchange.send.as_mut(), flow.endpoint.connection.as_mut())
    else {
        return Ok(ExchangeProgress::Done);
    };
    let message = ring.advance_touched();
    while let Some(rest) = message.get(flow.sent..).filter(|rest| !rest.is_empty()) {
        match sent(connection.send(rest))? {
            CallResult::Moved(count) => {
                flow.sent += count;
                flow.counts.bytes_sent += count as u64;
                state.tally.bytes_sent += count as u64;
                state.tally.send_calls += 1;
                // A call that blocks moves a part after each wait.
                if flow.sent < message.len() && state.is_abandoned() {
                    return Ok(ExchangeProgress::Waits);
                }
            }
            CallResult::Blocked | CallResult::Dropped => return Ok(ExchangeProgress::Waits),
            CallResult::End => return Ok(ExchangeProgress::Broken),
        }
    }
    Ok(ExchangeProgress::Done)
}

/// Receives what is to be received over a connection: a `whole` message, or whatever the
/// first call brings.
#[inline]
fn take<E: FlowEndpoint, R: WorkerRecorder>(
    flow: &mut FlowState<ConnectionSlot<E>, R::Mark>,
    exchange: &mut Exchange<'_>,
    whole: bool,
    state: &mut WorkerState<'_, R>,
) -> io::Result<ExchangeProgress> {
    let (Some(ring), Some(connection)) =
        (exchange.recv.as_mut(), flow.endpoint.connection.as_mut())
    else {
        return Ok(ExchangeProgress::Done);
    };
    let message = ring.advance();
    while let Some(rest) = message.get_mut(flow.got..).filter(|rest| !rest.is_empty()) {
        match received(connection.recv(rest)) {
            Ok(CallResult::Moved(count)) => {
                flow.got += count;
                flow.counts.bytes_received += count as u64;
                state.tally.bytes_received += count as u64;
                state.tally.recv_calls += 1;
                if !whole || E::KEEPS_BOUNDARIES {
                    return Ok(ExchangeProgress::Done);
                }
                if flow.got < message.len() && state.is_abandoned() {
                    return Ok(ExchangeProgress::Waits);
                }
            }
            Ok(CallResult::Blocked | CallResult::Dropped) => return Ok(ExchangeProgress::Waits),
            Ok(CallResult::End) => return Ok(ExchangeProgress::Broken),
            // As in the loop over one.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                return Ok(ExchangeProgress::Broken);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(ExchangeProgress::Done)
}

/// Listener and free slots of netserver's loop.
pub(super) struct AcceptState<'a, A> {
    pub(super) gate: AcceptFilter<'a>,
    /// Opens a waiting connection; `None` for one that is not permitted, or not of use.
    pub(super) accept: A,
    /// Requests are whole messages, not whatever the first receive brings.
    pub(super) whole: bool,
    /// Slots without a connection.
    pub(super) free: Vec<usize>,
}

/// netserver's end: accept, exchange, close first, until the run is over.
///
/// A client that goes away in the middle of an exchange costs that transaction and nothing
/// more.
pub(super) fn serve<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<ConnectionSlot<E>, R::Mark>],
    by: &mut LoopEvents<'_>,
    counter: &mut AcceptState<'_, impl FnMut(AcceptFilter<'_>) -> io::Result<Option<E>>>,
    mut exchange: Exchange<'_>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<Ended> {
    by.poller
        .add(counter.gate.listener.as_fd(), LISTENER, Watch::Shared)?;
    loop {
        match state.look(flows) {
            RunStage::Abandon => return Ok(Ended::Abandoned),
            RunStage::Finish => return Ok(Ended::Complete),
            RunStage::Warm | RunStage::Count | RunStage::Cool => {}
        }
        for index in 0..by.wait(&state.tally)? {
            let token = by.poller.token(index);
            if token == LISTENER {
                accept_all(flows, by, counter, &mut exchange, state)?;
            } else {
                go_on((flows, token), counter, &mut exchange, state);
            }
        }
        state.publish();
    }
}

/// Accepts waiting connections, and begins to serve them.
#[inline]
fn accept_all<E: FlowEndpoint, R: WorkerRecorder>(
    flows: &mut [FlowState<ConnectionSlot<E>, R::Mark>],
    by: &LoopEvents<'_>,
    counter: &mut AcceptState<'_, impl FnMut(AcceptFilter<'_>) -> io::Result<Option<E>>>,
    exchange: &mut Exchange<'_>,
    state: &mut WorkerState<'_, R>,
) -> io::Result<()> {
    // Accepting waits while a connection is set up.
    while let Some(token) = counter
        .free
        .last()
        .copied()
        .filter(|_| !state.is_abandoned())
    {
        let connection = match (counter.accept)(counter.gate) {
            Ok(Some(connection)) => connection,
            Ok(None) => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            // An error of that connection alone.
            Err(error) if super::accept::is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let Some(flow) = flows.get_mut(token) else {
            return Ok(());
        };
        counter.free.pop();
        flow.sent = 0;
        flow.got = 0;
        flow.endpoint = ConnectionSlot::begun(connection, ExchangeStep::Receiving);
        go_on((&mut *flows, token), counter, exchange, state);
        // One whose request had arrived is over.
        let waiting = flows
            .get(token)
            .and_then(|flow| flow.endpoint.connection.as_ref());
        if let Some(connection) = waiting {
            by.poller.add(connection.fd(), token, Watch::Changes)?;
        }
    }
    Ok(())
}

/// Goes on with a connection of netserver's as far as it goes, and closes it then.
#[inline]
fn go_on<E: FlowEndpoint, R: WorkerRecorder, A>(
    (flows, token): (ConnectionSlots<'_, E, R>, usize),
    counter: &mut AcceptState<'_, A>,
    exchange: &mut Exchange<'_>,
    state: &mut WorkerState<'_, R>,
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
            ExchangeStep::Receiving => take(flow, exchange, whole, state),
            ExchangeStep::Connecting | ExchangeStep::Sending | ExchangeStep::Closing => {
                give(flow, exchange, state)
            }
        };
        match far {
            Ok(ExchangeProgress::Done) if flow.endpoint.doing == ExchangeStep::Receiving => {
                flow.endpoint.doing = ExchangeStep::Sending;
            }
            far => break far,
        }
    };
    match far {
        Ok(ExchangeProgress::Waits) => return,
        Ok(ExchangeProgress::Done) => {
            flow.counts.transactions += 1;
            state.tally.transactions += 1;
        }
        Ok(ExchangeProgress::Broken) | Err(_) => {}
    }
    flow.endpoint = ConnectionSlot::empty();
    counter.free.push(token);
}

mod rated;

pub(super) use rated::{DueConnections, dial_at_times};

#[cfg(test)]
mod tests;
