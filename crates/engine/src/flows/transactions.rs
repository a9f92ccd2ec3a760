//! The parts of threads in tests that open a connection for every transaction.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Mutex;

use netperf_measure::clock;
use netperf_model::EndJob;
use netperf_os::events::Watch;
use netperf_os::{SockAddr, Socket};
use netperf_transport::meeting::AcceptFilter;
use netperf_transport::socket;

use super::connect::{
    AcceptState, Connected, Connecting, ConnectionSlot, DueConnections, dial, dial_at_times, serve,
};
use super::flow::FlowState;
use super::loops::{FlowEndpoint, LoopEvents};
use super::open::How;
use super::poller::{Poller, Waits};
use super::to_usize;
use super::worker::{WorkerReport, WorkerState};
use super::workers::WorkerSetup;
use crate::due::pacing::{PaceRule, Pacing};
use crate::error::{EngineError, Operation};
use crate::meet::{Dialler, port_is_taken};
use crate::record::{LatencyRecorder, Recorder};
use crate::stop::{Ended, Lost};
use crate::workload::connect::Exchange;

/// Pause after a full queue of connections.
const BREATHER: std::time::Duration = std::time::Duration::from_millis(1);

/// Options for the connections of netperf's threads.
pub(super) struct TransactionConnects<'a, E> {
    pub(super) job: &'a EndJob,
    pub(super) how: How<'a>,
    /// Addresses that flows use in turn; at least one.
    pub(super) targets: &'a [SockAddr],
    pub(super) make: fn(Socket) -> E,
    /// The segment size of the first connection.
    pub(super) segment_size: &'a Mutex<Option<u32>>,
}

/// A connection costs so much more than a look whether times are kept that no loop is made
/// without it.
type Desks<'a> = WorkerState<'a, Option<LatencyRecorder>>;
type KeptMark = <Option<LatencyRecorder> as Recorder>::Mark;

/// The loop of one thread.
trait TransactionLoop<E> {
    /// Runs the loop to its end.
    fn run(
        self,
        flows: &mut [FlowState<ConnectionSlot<E>, KeptMark>],
        by: &mut LoopEvents<'_>,
        exchange: Exchange<'_>,
        state: &mut Desks<'_>,
    ) -> Result<Ended, EngineError>;
}

/// netperf's part: as many flows as `shares` has, which say how much each may do.
pub(super) fn asks<E: FlowEndpoint>(
    common: WorkerSetup<'_>,
    index: u32,
    dialling: &TransactionConnects<'_, E>,
    shares: &[u64],
) -> Result<WorkerReport, EngineError> {
    let mut queue = common.openings(index, shares.len());
    let mut opening = queue.as_mut().map(|queue| DueConnections {
        queue,
        free: (0..shares.len()).collect(),
        left: shares.iter().copied().fold(0, u64::saturating_add),
        held: false,
    });
    let asks = NetperfTransactions {
        dialling,
        index,
        threads: common.threads(),
        opening: opening.as_mut(),
    };
    let mut report = part(common, index, shares, asks)?;
    if let Some(queue) = queue {
        report.keep(queue);
    }
    Ok(report)
}

/// netserver's part, for so many connections at the same time.
pub(super) fn answers<E: FlowEndpoint>(
    common: WorkerSetup<'_>,
    index: u32,
    (gate, make): (AcceptFilter<'_>, fn(Socket) -> E),
    whole: bool,
    room: usize,
) -> Result<WorkerReport, EngineError> {
    let counter = AcceptState {
        gate,
        make,
        whole,
        free: (0..room).rev().collect(),
    };
    part(
        common,
        index,
        &vec![u64::MAX; room],
        NetserverTransactions(counter),
    )
}

fn part<E: FlowEndpoint>(
    common: WorkerSetup<'_>,
    index: u32,
    shares: &[u64],
    does: impl TransactionLoop<E>,
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
    let mut report = match does.run(&mut flows, &mut by, exchange, &mut state) {
        Ok(ended) => state.report(ended, &mut flows),
        Err(error) => state.broken_off(error, &mut flows),
    };
    report.connected = started;
    Ok(report)
}

struct NetperfTransactions<'d, 'a, E> {
    dialling: &'d TransactionConnects<'a, E>,
    index: u32,
    threads: u32,
    /// Queue of due connections, in an open loop.
    opening: Option<&'d mut DueConnections<'a>>,
}

impl<E> NetperfTransactions<'_, '_, E> {
    /// Address of the flow at this place of the thread.
    fn to(&self, place: usize) -> &SockAddr {
        let targets = self.dialling.targets;
        let [index, threads] = [self.index, self.threads].map(to_usize);
        &targets[(index + place * threads) % targets.len()]
    }
}

impl<E: FlowEndpoint> TransactionLoop<E> for NetperfTransactions<'_, '_, E> {
    fn run(
        mut self,
        flows: &mut [FlowState<ConnectionSlot<E>, KeptMark>],
        by: &mut LoopEvents<'_>,
        exchange: Exchange<'_>,
        state: &mut Desks<'_>,
    ) -> Result<Ended, EngineError> {
        let opening = self.opening.take();
        let ports = part_of(self.dialling.job.port_range, self.index, self.threads);
        let mut dialler = Dialler::new(self.dialling.job.local_address(), self.to(0), ports);
        let once = |place: usize| self.dialling.once(&mut dialler, self.to(place));
        // A port whose last connection the other end remembers is refused late, too.
        let again: fn(&io::Error) -> bool = if self.dialling.job.retry_connects {
            |_| true
        } else {
            port_is_taken
        };
        let connected = Connected {
            again,
            token: self.dialling.how.token.as_ref(),
            ends_first: !self.dialling.job.has_peer,
        };
        let ended = match opening {
            Some(opening) => dial_at_times(flows, by, exchange, once, connected, (opening, state)),
            None => dial(flows, by, exchange, once, connected, state),
        };
        ended.map_err(Operation::Connect.failed())
    }
}

impl<E: FlowEndpoint> TransactionConnects<'_, E> {
    /// One attempt to connect.
    fn once(&self, dialler: &mut Dialler, to: &SockAddr) -> io::Result<Connecting<E>> {
        let (job, how) = (self.job, self.how);
        let socket = socket::open_again(how.transport, how.family, how.options)?;
        if how.transport.is_inet() {
            dialler.bind_next(&socket)?;
        }
        if job.end.socket.fast_open && job.sends {
            socket::send_with_connect(&socket)?;
        }
        socket.set_nonblocking(true)?;
        match socket.connect(to) {
            Ok(()) => {}
            Err(error) if netperf_os::io::goes_on(&error) => {}
            // The queue of a Unix-domain listener is full (connect(2), EAGAIN).
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                netperf_os::wait::sleep(BREATHER);
                return Ok(Connecting::Busy);
            }
            Err(error) if job.retry_connects || port_is_taken(&error) => {
                return Ok(Connecting::Busy);
            }
            Err(error) => return Err(error),
        }
        socket::set_on_connection(socket.as_fd(), how.options)?;
        if let Ok(mut seen) = self.segment_size.try_lock() {
            if seen.is_none() {
                *seen = socket::segment_size(how.transport, socket.as_fd());
            }
        }
        Ok(Connecting::UnderWay((self.make)(socket)))
    }
}

/// A thread's part of the local ports.
fn part_of((from, until): (u16, u16), index: u32, threads: u32) -> (u16, u16) {
    let span = u32::from(until.saturating_sub(from));
    if span < threads.saturating_mul(2) {
        return (from, until);
    }
    let edge = |index: u32| from + u16::try_from(span * index / threads).unwrap_or(0);
    (edge(index), edge(index + 1))
}

struct NetserverTransactions<'a, E>(AcceptState<'a, E>);

impl<E: FlowEndpoint> TransactionLoop<E> for NetserverTransactions<'_, E> {
    fn run(
        mut self,
        flows: &mut [FlowState<ConnectionSlot<E>, KeptMark>],
        by: &mut LoopEvents<'_>,
        exchange: Exchange<'_>,
        state: &mut Desks<'_>,
    ) -> Result<Ended, EngineError> {
        serve(flows, by, &mut self.0, exchange, state).map_err(Operation::Accept.failed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_all_threads_are_the_ports_of_the_test() {
        let parts: Vec<_> = (0..3)
            .map(|index| part_of((5000, 65_535), index, 3))
            .collect();
        assert_eq!((parts[0].0, parts[2].1), (5000, 65_535));
        assert!(parts.windows(2).all(|two| two[0].1 == two[1].0));
        assert_eq!(part_of((7, 8), 4, 9), (7, 8));
    }
}
