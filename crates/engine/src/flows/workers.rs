//! The threads of one end, from their start to their reports.

use std::io;
use std::time::Duration;

use netperf_measure::counters::Counts;
use netperf_measure::recorder::{LatencyRecorder, NoRecorder};
use netperf_measure::series::{self, Watched};
use netperf_measure::{clock, cpu};
use netperf_model::many::flows_have_threads;
use netperf_model::{
    EndJob, EndPlan, EndSetup, FlowCarrier, IoMethod, Stamps, TransportId, WorkerThreads, Workers,
};
use netperf_os::events::Watch;
use netperf_transport::meeting::OnSocket;
use netperf_transport::open::fills_buffer;
use netperf_transport::{Endpoint, socket};

use super::ends::CloseFlows;
use super::flow::{FlowEndpoint, FlowState};
use super::loops::{self, EndRules, LoopEvents};
use super::poller::{Poller, Waits};
use super::shared::{RunStage, SharedRun};
use super::worker::{WorkerRecorder, WorkerReport, WorkerState};
use crate::due::pacing::{PaceRule, Pacing, Sharing};
use crate::due::queue::DueQueue;
use crate::end::{self, FillTime, Rings};
use crate::error::{EngineError, Operation};
use crate::finish;
use crate::limit::RECEIVED_MARGIN;
use crate::live::Live;
use crate::program::Program;
use crate::ring::Ring;
use crate::sequence::{NumberTrack, Numbers};
use crate::stop::{Ended, Lost};

/// Loop of the threads of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowLoop {
    /// Request/response. `in_flight` is the number of requests that netperf keeps without a
    /// response, 0 where requests are sent when they are due.
    Transactions { in_flight: usize },
    /// Send.
    Push,
    /// Receive.
    Pull,
    /// Both at the same time.
    Exchange {
        /// Each direction has a separate connection: the second half of a thread's only receive.
        apart: bool,
        /// The other end's end is the end of what is sent, too.
        ends_both: bool,
    },
}

impl FlowLoop {
    /// Requests that may be without a response at the same time.
    const fn in_flight(self) -> usize {
        match self {
            Self::Transactions { in_flight } => in_flight,
            Self::Push | Self::Pull | Self::Exchange { .. } => 0,
        }
    }

    /// First event that flows wait for.
    const fn watch(self) -> Watch {
        match self {
            Self::Push => Watch::Write,
            Self::Transactions { .. } | Self::Pull | Self::Exchange { .. } => Watch::Read,
        }
    }
}

/// Data that all threads of an end share.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerSetup<'a> {
    pub(super) shared: &'a SharedRun,
    pub(super) counts: &'a [Counts],
    pub(super) workers: &'a Workers,
    pub(super) work: FlowLoop,
    /// This is netperf's end.
    pub(super) asking: bool,
    /// Number of flows in all threads.
    pub(super) flows: u32,
    pub(super) end: &'a EndPlan,
    pub(super) setup: &'a EndSetup,
    pub(super) transport: TransportId,
    /// Only a part of the run counts.
    pub(super) margins: bool,
    /// Times of operations are recorded.
    pub(super) latency: bool,
    /// This end closes connections after the loop.
    pub(super) closes: bool,
    /// Time after which a response counts as lost, where one may be.
    pub(super) patience: Option<Duration>,
    /// Data that arrives after the end of the time may not count.
    pub(super) cuts: bool,
    /// Data that arrives after a signal of the user does not count.
    pub(super) cuts_at_stop: bool,
    /// This end, which only receives, may stop the sender.
    pub(super) tells: bool,
    /// Recorder of the time series.
    pub(super) series: Option<&'a Watched>,
    /// Live view of the times of operations.
    pub(super) live: Option<&'a Live>,
}

/// Largest number of threads: a peer must not make us start more.
const MOST_THREADS: u32 = 4096;

/// Number of threads for this many flows; each has one if its calls go through a ring.
pub(super) fn threads(job: &EndJob, workers: &Workers, flows: u32) -> u32 {
    let wanted = if flows_have_threads(job.transport, job.connects, job.end.io.method) {
        flows
    } else {
        workers.threads.unwrap_or_else(cpu::count)
    };
    wanted.clamp(1, flows.clamp(1, MOST_THREADS))
}

/// The threads as they were, for the results.
pub(super) fn worker_threads(workers: &Workers, threads: u32) -> WorkerThreads {
    WorkerThreads {
        threads,
        cpus: (0..threads)
            .filter_map(|index| cpu_of(workers, index))
            .collect(),
    }
}

/// The CPU of a thread; `None` where the scheduler has the choice.
fn cpu_of(workers: &Workers, index: u32) -> Option<u32> {
    let cpus = &workers.cpus;
    let number = u32::try_from(cpus.len())
        .ok()
        .filter(|number| *number > 0)?;
    cpus.get(usize::try_from(index % number).ok()?).copied()
}

/// Says that a thread is done, however it ends.
struct DoneGuard<'a>(&'a SharedRun);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

impl<'a> WorkerSetup<'a> {
    /// Runs a part of the flows in a thread for each, beside `coordinate`, which opens the
    /// gate. `endpoints` opens the flows of a part, `share` is how much a flow may do,
    /// `ends` brings them to their end.
    pub(super) fn run<P: Program, E: FlowEndpoint, T>(
        self,
        endpoints: &(dyn Fn(u32) -> Result<Vec<E>, EngineError> + Sync),
        share: &(dyn Fn(u32) -> u64 + Sync),
        ends: &(dyn CloseFlows<E> + Sync),
        coordinate: impl FnOnce() -> T,
    ) -> (Vec<Result<WorkerReport, EngineError>>, T) {
        let threads = self.threads();
        let part = |index: u32| {
            let state = self.moved_in(index)?;
            let part = ThreadFlows {
                common: self,
                rings: self.rings()?,
                endpoints: endpoints(index)?,
                counts: state,
                index,
            };
            part.with_recorder::<P>(&|place| share(index + place * threads), ends)
        };
        self.in_threads(&part, coordinate)
    }

    /// Number of threads.
    pub(super) fn threads(self) -> u32 {
        u32::try_from(self.counts.len()).unwrap_or(1)
    }

    /// Runs each part in a thread, beside `coordinate`.
    pub(super) fn in_threads<T>(
        self,
        part: &(dyn Fn(u32) -> Result<WorkerReport, EngineError> + Sync),
        coordinate: impl FnOnce() -> T,
    ) -> (Vec<Result<WorkerReport, EngineError>>, T) {
        std::thread::scope(|scope| {
            let start = |index: u32| {
                let work = move || {
                    let _leaving = DoneGuard(self.shared);
                    let report = part(index);
                    if report
                        .as_ref()
                        .map_or(true, |report| report.broke.is_some())
                    {
                        self.shared.enter(RunStage::Abandon);
                    }
                    report
                };
                let builder = std::thread::Builder::new()
                    .name(format!("flows-{index}"))
                    .stack_size(STACK);
                let started = builder.spawn_scoped(scope, work);
                if started.is_err() {
                    self.shared.enter(RunStage::Abandon);
                    self.shared.done();
                }
                started.map_err(Operation::Thread.failed())
            };
            let handles: Vec<_> = (0..self.threads()).map(start).collect();
            let coordinated = coordinate();
            let joined = handles.into_iter().map(|handle| {
                let panicked = || io::Error::other("a thread panicked");
                handle?
                    .join()
                    .unwrap_or_else(|_| Err(Operation::Thread.failed()(panicked())))
            });
            (joined.collect(), coordinated)
        })
    }

    /// The gate is about to be opened: the time of a series begins.
    pub(super) fn begin_series(self) {
        if let Some(watched) = self.series {
            watched.begin();
        }
    }

    /// Has the connections of a thread watched, where that is wanted.
    fn show<E: FlowEndpoint, M>(self, thread: u32, flows: &[FlowState<E, M>]) {
        let Some(watched) = self.series else {
            return;
        };
        let threads = self.threads();
        // Of two connections that which goes to netserver stands for the flow.
        let flows = flows.get(..self.flows_of(flows.len())).unwrap_or(flows);
        let flows = (0..).zip(flows).map(|(place, flow): (u32, _)| {
            // Only netperf knows in which order they were opened.
            let number = thread + place * threads + 1;
            (Some(number), flow.endpoint.fd())
        });
        watched.offer(thread, flows);
    }

    /// Number of flows for this many connections of a thread.
    fn flows_of(self, connections: usize) -> usize {
        if self.is_apart() {
            connections / 2
        } else {
            connections
        }
    }

    /// netperf's end of flows with a connection for each direction.
    const fn is_apart(self) -> bool {
        matches!(self.work, FlowLoop::Exchange { apart: true, .. })
    }

    /// The flows of a thread; `share` is how much one may do.
    fn flows_over<E: FlowEndpoint, M: Copy>(
        self,
        endpoints: Vec<E>,
        share: &dyn Fn(u32) -> u64,
        mark: M,
    ) -> Vec<FlowState<E, M>> {
        let in_flight = self.work.in_flight();
        let connections = endpoints.len();
        let whole = u32::try_from(self.flows_of(connections)).unwrap_or(u32::MAX);
        // The end of a connection is told by both ends, that of datagrams by their sender.
        let sends_only = self.flows_of(connections) < connections && E::KEEPS_BOUNDARIES;
        let flow = |(place, endpoint)| {
            if place >= whole {
                return FlowState::that_receives(endpoint, mark);
            }
            let flow = FlowState::new(endpoint, share(place), in_flight, mark);
            if sends_only { flow.that_sends() } else { flow }
        };
        (0..).zip(endpoints).map(flow).collect()
    }

    /// Numbers datagrams, and keeps account of their numbers, where that is wanted.
    fn number<E, M, R>(self, flows: &mut [FlowState<E, M>], state: &mut WorkerState<'_, R>) {
        let wanted = self.end.sequence;
        let sends = self.setup.send_size.is_some();
        state.numbers = (wanted && sends).then(|| Numbers::of(self.setup));
        if wanted && self.setup.recv_size.is_some() {
            for flow in flows {
                flow.track = Some(Box::new(NumberTrack::new()));
            }
        }
    }

    /// A thread takes its place: its CPU, and its counters.
    pub(super) fn moved_in(self, index: u32) -> Result<&'a Counts, EngineError> {
        // Signals are the main thread's.
        netperf_os::process::block_signals().map_err(Operation::Thread.failed())?;
        if let Some(cpu) = cpu_of(self.workers, index) {
            netperf_os::process::bind_to_cpu(cpu).map_err(Operation::Thread.failed())?;
        }
        let counts = usize::try_from(index)
            .ok()
            .and_then(|index| self.counts.get(index));
        let none = || io::Error::other("a thread has no counters");
        counts.ok_or_else(none).map_err(Operation::Thread.failed())
    }

    /// Limits at which flows in both directions end; `first_share` is the amount of the first,
    /// which has the most.
    fn end_rules<'e, E: FlowEndpoint>(
        self,
        first_share: u64,
        ends: &'e dyn CloseFlows<E>,
    ) -> EndRules<impl Fn(&mut E) + use<'e, E>> {
        let work = self.work;
        EndRules {
            asks: self.asking,
            ends_both: matches!(
                work,
                FlowLoop::Exchange {
                    ends_both: true,
                    ..
                }
            ),
            // netperf takes no more than a correct peer sends. The end of datagrams may be lost.
            most: match (self.asking, E::KEEPS_BOUNDARIES) {
                (true, true) => first_share,
                (true, false) => first_share.saturating_add(RECEIVED_MARGIN),
                (false, _) => u64::MAX,
            },
            tell: |endpoint: &mut E| ends.tell(endpoint),
        }
    }

    /// Pacing of the flows of a thread.
    pub(super) fn pacing(self, index: u32, flows: usize) -> Pacing {
        let rule = PaceRule::of(self.end);
        match rule.filter(|_| self.work == FlowLoop::Push) {
            Some(PaceRule::Rate(rate)) => {
                let sharing = Sharing {
                    first: index,
                    step: self.threads(),
                    all: self.flows,
                    size: self.setup.send_size.unwrap_or(1),
                };
                Pacing::shared(rate, flows, sharing)
            }
            _ => Pacing::new(PaceRule::bursts(self.end), flows),
        }
    }

    /// Queue of due requests of a thread, in an open loop.
    fn queue(self, index: u32) -> Option<DueQueue> {
        let due = matches!(self.work, FlowLoop::Transactions { in_flight: 0 }) && self.asking;
        let rate = self.end.rate.filter(|_| due)?;
        let mut queue = DueQueue::of_thread(&rate, self.flows, index, self.threads());
        queue.number(self.end.numbers);
        queue.show(self.live);
        Some(queue)
    }

    /// Queue of due connections of a thread, in an open loop: any free flow opens them.
    pub(super) fn openings(self, index: u32, flows: usize) -> Option<DueQueue> {
        let rate = self.end.rate?;
        let queue = DueQueue::shared(&rate, (index, self.threads()), flows);
        queue.show(self.live);
        Some(queue)
    }

    /// Buffers of a thread, made by it, so that they lie in its CPU's memory.
    pub(super) fn rings(self) -> Result<Rings, EngineError> {
        let bulk = matches!(
            self.work,
            FlowLoop::Push | FlowLoop::Pull | FlowLoop::Exchange { .. }
        );
        let fill = (self.end.fill.as_deref(), FillTime::Now);
        let mut rings = end::rings(self.end, self.setup, bulk, fill)?;
        for ring in [&mut rings.send, &mut rings.recv].into_iter().flatten() {
            ring.touch_with(self.end.touch);
        }
        Ok(rings)
    }
}

/// The stack of a thread, bytes: its loops need little.
const STACK: usize = 256 * 1024;

/// Flows and buffers of one thread.
struct ThreadFlows<'a, E> {
    common: WorkerSetup<'a>,
    endpoints: Vec<E>,
    rings: Rings,
    counts: &'a Counts,
    /// Which thread it is.
    index: u32,
}

impl<E: FlowEndpoint> ThreadFlows<'_, E> {
    /// Most tests have loops with a fixed recorder; others check at run time.
    fn with_recorder<P: Program>(
        self,
        share: &dyn Fn(u32) -> u64,
        ends: &dyn CloseFlows<E>,
    ) -> Result<WorkerReport, EngineError> {
        if !E::OWN_LOOPS {
            self.run::<P, Option<LatencyRecorder>>(share, ends)
        } else if self.common.latency {
            self.run::<P, LatencyRecorder>(share, ends)
        } else {
            self.run::<P, NoRecorder>(share, ends)
        }
    }

    fn waits(&self) -> Waits {
        // A paced flow must be woken for its turn.
        let end = self.common.end;
        let keeps_time = PaceRule::bursts(end).is_some() || end.rate.is_some();
        // A call that waits to send keeps from receiving.
        let requests = self.common.work.in_flight();
        let fills = requests > 1 && fills_buffer(requests, self.common.setup);
        // Data may be inside the program when the kernel has nothing to report.
        let both = FlowCarrier::of(self.common.transport) != Some(FlowCarrier::Threads)
            && (matches!(self.common.work, FlowLoop::Exchange { .. })
                || (fills && end.io.method != IoMethod::Uring));
        // A call that waits comes back too late for a short patience.
        let impatient = self.common.patience.is_some();
        let alone = self.endpoints.len() == 1 && !keeps_time && !both && !impatient;
        let method = end.io.method;
        let waits = matches!(method, IoMethod::Blocking | IoMethod::Uring);
        if alone && (method.spins() || waits) {
            Waits::Alone {
                spins: method.spins(),
            }
        } else {
            Waits::together(method)
        }
    }

    fn run<P: Program, R: WorkerRecorder>(
        self,
        share: &dyn Fn(u32) -> u64,
        ends: &dyn CloseFlows<E>,
    ) -> Result<WorkerReport, EngineError> {
        let waits = self.waits();
        let Self {
            common,
            endpoints,
            mut rings,
            counts,
            index,
        } = self;
        let connected = clock::now();
        let shared = common.shared;
        let mut state: WorkerState<'_, R> =
            WorkerState::new(shared, counts, common.margins, common.latency);
        state.tells = common.tells;
        state.cuts = common.cuts;
        state.cuts_at_stop = common.cuts_at_stop;
        state.patience = common.patience;
        if common.is_apart() && !common.tells {
            state.drain = finish::drain_apart_within;
        }
        state.show(common.live);
        let mark = state.recorder().begin();
        let cipher = endpoints.first().and_then(OnSocket::cipher);
        let mut flows = common.flows_over(endpoints, share, mark);
        common.number(&mut flows, &mut state);
        let watch = common.work.watch();
        let fds = flows.iter().map(|flow| flow.endpoint.fd());
        let mut poller =
            Poller::new(waits, fds, watch, &shared.wakeup).map_err(Operation::Create.failed())?;
        common.show(index, &flows);
        let port = |flow: &FlowState<E, R::Mark>| series::port(flow.endpoint.fd(), common.asking);
        let ports = flows.iter().map(port).collect();
        let mut pacing = common.pacing(index, flows.len());
        let mut queue = common.queue(index);
        if !shared.ready() {
            return Ok(state.report(Ended::Lost(Lost::ControlEnded), &mut flows));
        }
        pacing.begin();
        let by = &mut LoopEvents {
            poller: &mut poller,
            pacing: &mut pacing,
        };
        state.begin(&flows);
        let work = (common.work, common.asking, queue.as_mut());
        let rules = common.end_rules(share(0), ends);
        let looped = looped::<P, E, R>(work, &rules, &mut flows, by, &mut rings, &mut state);
        let spaced = pacing.paced(state.tally.bytes_sent, state.tally.send_calls);
        drop(poller);
        if let Some(watched) = common.series {
            watched.release(index);
        }
        let mut report = match looped {
            Ok(ended) => state.report(ended, &mut flows),
            Err(error) => return Ok(state.broken_off(error, &mut flows)),
        };
        let mut endpoints: Vec<E> = flows.into_iter().map(|flow| flow.endpoint).collect();
        report.stamps = stamps(&mut endpoints);
        // It may have grown since the connection was made.
        let first = endpoints.first().map(OnSocket::fd);
        report.segment_size = first.and_then(|first| socket::segment_size(common.transport, first));
        let cut = report.cut.is_some() && !common.cuts_at_stop;
        let discards = cut && report.ended == Ended::Abandoned;
        let reset = discards.then(|| finish::reset(endpoints.iter().map(OnSocket::fd)));
        let tells = common.closes && !shared.is_lost() && !discards;
        let left = ends.end(endpoints, shared, tells);
        let left = left.map_err(Operation::Receive.failed())?;
        report.ports = ports;
        report.paced = spaced;
        if let Some(queue) = queue {
            report.keep(queue);
        }
        report.closed = left.moved.unwrap_or_else(clock::now);
        report.left = left;
        report.left.drained = reset.or(report.left.drained);
        report.cipher = cipher;
        report.connected = connected;
        Ok(report)
    }
}

/// The time stamps of all flows of a thread.
fn stamps<E: FlowEndpoint>(endpoints: &mut [E]) -> Option<Stamps> {
    let mut each = endpoints.iter_mut().filter_map(Endpoint::stamps);
    let mut all = each.next()?;
    each.for_each(|other| all.add(other));
    Some(all)
}

/// The loop that the work asks for.
fn looped<P: Program, E: FlowEndpoint, R: WorkerRecorder>(
    (work, asking, queue): (FlowLoop, bool, Option<&mut DueQueue>),
    rules: &EndRules<impl Fn(&mut E)>,
    flows: &mut [FlowState<E, R::Mark>],
    by: &mut LoopEvents<'_>,
    rings: &mut Rings,
    state: &mut WorkerState<'_, R>,
) -> Result<Ended, EngineError> {
    use crate::meet::needed;
    let Rings { send, recv } = rings;
    match work {
        FlowLoop::Transactions { .. } | FlowLoop::Exchange { .. } if E::ONE_WAY => {
            Err(Operation::Create.unsupported())
        }
        FlowLoop::Transactions { in_flight } => {
            let (send, recv): (&mut Ring, &mut Ring) = (needed(send)?, needed(recv)?);
            let ended = match queue {
                _ if !(P::ASKS && asking) => loops::answer(flows, by, (recv, send), state),
                Some(queue) => loops::ask_at_times(flows, by, (send, recv), queue, state),
                None => loops::ask(flows, by, (send, recv), in_flight, state),
            };
            ended.map_err(Operation::Receive.failed())
        }
        FlowLoop::Push => {
            loops::push(flows, by, needed(send)?, state).map_err(Operation::Send.failed())
        }
        FlowLoop::Pull => {
            loops::pull(flows, by, needed(recv)?, state).map_err(Operation::Receive.failed())
        }
        FlowLoop::Exchange { .. } => {
            let rings: (&mut Ring, &mut Ring) = (needed(send)?, needed(recv)?);
            loops::exchange(flows, by, rings, rules, state).map_err(Operation::Send.failed())
        }
    }
}

/// The reports, and the error that is the cause of the others. Where the run was `cut`, by
/// the user or by the loss of the peer, an error is no more than a sign of that.
pub(super) fn all(
    reports: Vec<Result<WorkerReport, EngineError>>,
    cut: bool,
) -> (Vec<WorkerReport>, Option<EngineError>) {
    let mut good = Vec::new();
    let mut cause: Option<EngineError> = None;
    for report in reports {
        let error = match report {
            Ok(mut report) => {
                let broke = report.broke.take();
                good.push(report);
                broke
            }
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            // A thread that stopped because of another reports this error.
            let caused = error.error.kind() == io::ErrorKind::ConnectionAborted;
            if cause.is_none() || !caused {
                cause = Some(error);
            }
        }
    }
    (good, cause.filter(|_| !cut))
}
