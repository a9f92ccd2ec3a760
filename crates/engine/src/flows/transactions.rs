//! The parts of threads in tests that open a connection for every transaction.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::time::Duration;

use netperf_measure::clock;
use netperf_measure::recorder::{LatencyRecorder, Recorder};
use netperf_model::EndJob;
use netperf_model::sizes::to_usize;
use netperf_os::events::Watch;
use netperf_os::{SockAddr, Socket, io as calls, without};
use netperf_transport::meeting::{AcceptFilter, Connects, Met, OnSocket};
use netperf_transport::socket;

use super::connect::{
    AcceptState, Connected, Connecting, ConnectionSlot, DueConnections, dial, dial_at_times, serve,
};
use super::flow::{FlowEndpoint, FlowState};
use super::loops::LoopEvents;
use super::open::How;
use super::poller::{NAP, Poller, Waits};
use super::shared::{RunStage, SharedRun};
use super::worker::{WorkerReport, WorkerState};
use super::workers::WorkerSetup;
use crate::due::pacing::{PaceRule, Pacing};
use crate::error::{EngineError, Operation};
use crate::meet::{LocalPorts, entered, port_is_taken, undone};
use crate::moved::ConnectionFacts;
use crate::stop::{Ended, Lost};
use crate::workload::connect::Exchange;

/// Pause after a full queue of connections.
const BREATHER: Duration = Duration::from_millis(1);
/// Time within which netserver's end of a connection is set up, once it is accepted.
const SET_UP: Duration = Duration::from_secs(15);

/// Options for the connections of netperf's threads.
pub(super) struct TransactionConnects<'a, C> {
    pub(super) job: &'a EndJob,
    pub(super) opened: How<'a>,
    pub(super) how: &'a C,
    /// Addresses that flows use in turn; at least one.
    pub(super) targets: &'a [SockAddr],
    pub(super) shared: &'a SharedRun,
    /// Properties of the first connection.
    pub(super) seen: &'a OnceLock<ConnectionFacts>,
}

/// A connection costs so much more than a look whether times are kept that no loop is made
/// without it.
type Desks<'a> = WorkerState<'a, Option<LatencyRecorder>>;
type KeptMark = <Option<LatencyRecorder> as Recorder>::Mark;

/// netperf's part: as many flows as `shares` has, which say how much each may do.
pub(super) fn asks<C: Connects>(
    common: WorkerSetup<'_>,
    index: u32,
    connects: &TransactionConnects<'_, C>,
    shares: &[u64],
) -> Result<WorkerReport, EngineError> {
    let (job, threads) = (connects.job, common.threads());
    let mut queue = common.openings(index, shares.len());
    let mut opening = queue.as_mut().map(|queue| DueConnections {
        queue,
        free: (0..shares.len()).collect(),
        left: shares.iter().copied().fold(0, u64::saturating_add),
        held: false,
    });
    let to = |place: usize| {
        let [index, threads] = [index, threads].map(to_usize);
        &connects.targets[(index + place * threads) % connects.targets.len()]
    };
    // A port whose last connection the other end remembers is refused late, too.
    let again: fn(&io::Error) -> bool = if job.retry_connects {
        |_| true
    } else {
        port_is_taken
    };
    let connected = Connected {
        again,
        // A connection that is set up has presented it.
        token: C::OF_SOCKET.and(connects.opened.token.as_ref()),
        ends_first: !job.has_peer,
    };
    let mut report = part(common, index, shares, |flows, by, exchange, state| {
        let mut local_ports = LocalPorts::of_thread(job, to(0), (index, threads));
        let once = |place: usize| connects.once(&mut local_ports, to(place));
        let ended = match &mut opening {
            Some(opening) => dial_at_times(flows, by, exchange, once, connected, (opening, state)),
            None => dial(flows, by, exchange, once, connected, state),
        };
        ended.map_err(Operation::Connect.failed())
    })?;
    if let Some(queue) = queue {
        report.keep(queue);
    }
    Ok(report)
}

/// netserver's part, for so many connections at the same time.
pub(super) fn answers<C: Connects>(
    common: WorkerSetup<'_>,
    index: u32,
    (how, gate): (&C, AcceptFilter<'_>),
    whole: bool,
    space: usize,
) -> Result<WorkerReport, EngineError> {
    let shared = common.shared;
    let accept = |gate: AcceptFilter<'_>| accepted(how, gate, shared);
    let mut counter = AcceptState {
        gate,
        accept,
        whole,
        free: (0..space).rev().collect(),
    };
    let shares = vec![u64::MAX; space];
    part(common, index, &shares, |flows, by, exchange, state| {
        serve(flows, by, &mut counter, exchange, state).map_err(Operation::Accept.failed())
    })
}

/// Accepts a waiting connection. Where it is more than a socket, its calls block for a moment.
fn accepted<C: Connects>(
    how: &C,
    gate: AcceptFilter<'_>,
    shared: &SharedRun,
) -> io::Result<Option<C::Endpoint>> {
    if let Some(make) = C::OF_SOCKET {
        let (socket, from) = gate.accept_nonblocking()?;
        if !gate.admits(&from) {
            return Ok(None);
        }
        return Ok(Some(make(socket)));
    }
    let gate = AcceptFilter {
        patience: Some(NAP),
        ..gate
    };
    let since = clock::now();
    let mut give_up = || shared.stage() == RunStage::Abandon || since.elapsed() >= SET_UP;
    match how.accept(gate, &mut give_up)? {
        Met::Connected(endpoint) => Ok(Some(endpoint)),
        Met::GivenUp => Ok(None),
    }
}

/// Runs a loop over as many flows as `shares` has.
fn part<E: FlowEndpoint>(
    common: WorkerSetup<'_>,
    index: u32,
    shares: &[u64],
    looped: impl FnOnce(
        &mut [FlowState<ConnectionSlot<E>, KeptMark>],
        &mut LoopEvents<'_>,
        Exchange<'_>,
        &mut Desks<'_>,
    ) -> Result<Ended, EngineError>,
) -> Result<WorkerReport, EngineError> {
    let waits = Waits::together(common.end.io.method);
    let counts = common.moved_in(index)?;
    let mut rings = common.rings()?;
    let shared = common.shared;
    let mut state: Desks<'_> = WorkerState::new(shared, counts, common.margins, common.latency);
    state.show(common.live);
    let mark = state.recorder().begin();
    let flow = |share: &u64| FlowState::new(ConnectionSlot::empty(), *share, 1, mark);
    let mut flows: Vec<FlowState<ConnectionSlot<E>, KeptMark>> = shares.iter().map(flow).collect();
    let none = std::iter::empty::<BorrowedFd<'_>>();
    let mut poller = Poller::new(waits, none, Watch::Changes, &shared.wakeup)
        .map_err(Operation::Create.failed())?;
    if !shared.ready() {
        return Ok(state.report(Ended::Lost(Lost::ControlEnded), &mut flows));
    }
    let mut pacing = Pacing::new(PaceRule::bursts(common.end), flows.len());
    let mut by = LoopEvents {
        poller: &mut poller,
        pacing: &mut pacing,
    };
    state.begin(&flows);
    let exchange = Exchange {
        send: rings.send.as_mut(),
        recv: rings.recv.as_mut(),
    };
    let started = clock::now();
    let mut report = match looped(&mut flows, &mut by, exchange, &mut state) {
        Ok(ended) => state.report(ended, &mut flows),
        Err(error) => state.broken_off(error, &mut flows),
    };
    report.connected = started;
    Ok(report)
}

impl<C: Connects> TransactionConnects<'_, C> {
    /// One attempt to connect.
    fn once(
        &self,
        local_ports: &mut LocalPorts,
        to: &SockAddr,
    ) -> io::Result<Connecting<C::Endpoint>> {
        let (job, opened) = (self.job, self.opened);
        let (transport, family) = (opened.transport, opened.family);
        let waits = C::OF_SOCKET.is_none();
        let socket = socket::open_to_connect(transport, family, opened.options, waits)?;
        if opened.transport.is_inet() {
            local_ports.bind_next(&socket)?;
        }
        if job.end.socket.fast_open && job.sends {
            socket::send_with_connect(&socket)?;
        }
        let connecting = match C::OF_SOCKET {
            Some(make) => self.begun(socket, make, to),
            None => self.set_up(socket, to),
        }?;
        if matches!(connecting, Connecting::Busy) {
            local_ports.kernel_has_none();
        }
        if let Connecting::UnderWay(endpoint) = &connecting {
            socket::set_on_connection(endpoint.fd(), opened.options)?;
            if self.seen.get().is_none() {
                // Another thread may have seen one meanwhile.
                let _later = self
                    .seen
                    .set(ConnectionFacts::of(opened.transport, endpoint));
            }
        }
        Ok(connecting)
    }

    /// Begins to connect a socket that needs no more.
    fn begun(
        &self,
        socket: Socket,
        make: fn(Socket) -> C::Endpoint,
        to: &SockAddr,
    ) -> io::Result<Connecting<C::Endpoint>> {
        match socket.connect(to) {
            Ok(()) => {}
            Err(error) if calls::goes_on(&error) => {}
            // The queue of a Unix-domain listener is full (connect(2), EAGAIN).
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                netperf_os::wait::sleep(BREATHER);
                return Ok(Connecting::Busy);
            }
            Err(error) if self.job.retry_connects || port_is_taken(&error) => {
                return Ok(Connecting::Busy);
            }
            Err(error) => return Err(error),
        }
        Ok(Connecting::UnderWay(make(socket)))
    }

    /// Sets up a connection that is more than a socket. Its calls block for a moment.
    fn set_up(&self, socket: Socket, to: &SockAddr) -> io::Result<Connecting<C::Endpoint>> {
        without::set_patience(socket.as_fd(), Some(NAP))?;
        let token = self.opened.token.as_ref();
        let mut give_up = || self.shared.stage() == RunStage::Abandon;
        match entered(self.how, socket, (to, token), &mut give_up) {
            Ok(Met::Connected(endpoint)) => Ok(Connecting::UnderWay(endpoint)),
            Ok(Met::GivenUp) => Ok(Connecting::GivenUp),
            Err(_) if give_up() => Ok(Connecting::GivenUp),
            Err(error) if self.job.retry_connects || port_is_taken(&error) || undone(&error) => {
                Ok(Connecting::Busy)
            }
            Err(error) => Err(error),
        }
    }
}
