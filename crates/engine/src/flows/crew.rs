//! The threads of one end, from their start to their reports.

use std::os::fd::AsFd;

use netperf_measure::{clock, cpu};
use netperf_model::{Crew, EndPlan, EndSetup, TransportId, Workers};
use netperf_os::Socket;
use netperf_os::events::Watch;
use netperf_transport::socket;

use super::close::close;
use super::flow::Flow;
use super::loops;
use super::poller::{Alone, Poller, Together};
use super::shared::{Shared, Stage};
use super::worker::{Desk, Keeps, Report, facts};
use crate::end::{self, Rings};
use crate::error::{EngineError, Operation};
use crate::live::Counts;
use crate::record::{Kept, Off};
use crate::ring::Ring;
use crate::series::Watched;
use crate::stop::{Ended, Lost};

/// What the threads of an end do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// netperf's end of request/response, with this many extra requests in flight.
    Ask { burst: usize },
    /// netserver's.
    Answer,
    /// Send.
    Push,
    /// Receive.
    Pull,
}

/// What all threads of an end have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common<'a> {
    pub(super) shared: &'a Shared,
    pub(super) counts: &'a [Counts],
    pub(super) workers: &'a Workers,
    pub(super) work: Work,
    pub(super) end: &'a EndPlan,
    pub(super) setup: &'a EndSetup,
    pub(super) transport: TransportId,
    /// Whether only a part of the run counts.
    pub(super) margins: bool,
    /// Whether times of operations are kept.
    pub(super) latency: bool,
    /// Whether this end brings connections to their end once its loop is over.
    pub(super) closes: bool,
    /// Where connections are watched.
    pub(super) series: Option<&'a Watched>,
}

/// More threads than this are nobody's wish: a peer must not have us start them.
const MOST_THREADS: u32 = 4096;

/// How many threads serve this many flows.
pub(super) fn threads(workers: &Workers, flows: u32) -> u32 {
    let wanted = workers.threads.unwrap_or_else(cpu::count);
    wanted.clamp(1, flows.clamp(1, MOST_THREADS))
}

/// The threads as they were, for the results.
pub(super) fn crew(workers: &Workers, threads: u32) -> Crew {
    Crew {
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
struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

impl<'a> Common<'a> {
    /// Runs a part of the flows in a thread for each, beside `conduct`, which opens the
    /// gate. `sockets` opens the flows of a part, `share` is how much a flow may do.
    pub(super) fn run<T>(
        self,
        sockets: impl Fn(u32) -> Result<Vec<Socket>, EngineError> + Sync,
        share: impl Fn(u32) -> u64 + Sync,
        conduct: impl FnOnce() -> T,
    ) -> (Vec<Result<Report, EngineError>>, T) {
        let threads = u32::try_from(self.counts.len()).unwrap_or(1);
        let (sockets, share) = (&sockets, &share);
        std::thread::scope(|scope| {
            let start = |index: u32| {
                let work = move || {
                    let _leaving = Leaving(self.shared);
                    let mine = || sockets(index);
                    let of = |place: u32| share(index + place * threads);
                    let report = self.part(index, mine, of);
                    if report.is_err() {
                        self.shared.enter(Stage::Abandon);
                    }
                    report
                };
                let builder = std::thread::Builder::new()
                    .name(format!("flows-{index}"))
                    .stack_size(STACK);
                let started = builder.spawn_scoped(scope, work);
                if started.is_err() {
                    self.shared.enter(Stage::Abandon);
                    self.shared.done();
                }
                started.map_err(Operation::Thread.failed())
            };
            let handles: Vec<_> = (0..threads).map(start).collect();
            let conducted = conduct();
            let joined = handles.into_iter().map(|handle| {
                handle?.join().unwrap_or_else(|_| {
                    Err(EngineError {
                        operation: Operation::Thread,
                        error: std::io::Error::other("a thread panicked"),
                    })
                })
            });
            (joined.collect(), conducted)
        })
    }

    /// The gate is about to be opened: the time of a series begins.
    pub(super) fn begin_series(&self) {
        if let Some(watched) = self.series {
            watched.begin();
        }
    }

    /// Has the connections of a thread watched, where that is wanted.
    fn show<M>(&self, thread: u32, flows: &[Flow<M>]) {
        let Some(watched) = self.series else {
            return;
        };
        let threads = u32::try_from(self.counts.len()).unwrap_or(1);
        let flows = (0..).zip(flows).map(|(place, flow): (u32, _)| {
            // Only netperf knows in which order they were opened.
            let number = thread + place * threads + 1;
            (Some(number), flow.socket.as_fd())
        });
        watched.offer(thread, flows);
    }

    /// What one thread does.
    fn part(
        self,
        index: u32,
        sockets: impl FnOnce() -> Result<Vec<Socket>, EngineError>,
        share: impl Fn(u32) -> u64,
    ) -> Result<Report, EngineError> {
        // Signals are the main thread's.
        netperf_os::process::block_signals().map_err(Operation::Thread.failed())?;
        if let Some(cpu) = cpu_of(self.workers, index) {
            netperf_os::process::bind_to_cpu(cpu).map_err(Operation::Thread.failed())?;
        }
        let bulk = matches!(self.work, Work::Push | Work::Pull);
        // Made here, so that they lie in this CPU's memory.
        let rings = end::rings(self.end, self.setup, bulk, self.end.fill.as_deref())?;
        let sockets = sockets()?;
        let counts = usize::try_from(index)
            .ok()
            .and_then(|index| self.counts.get(index));
        let counts = counts.ok_or_else(|| EngineError {
            operation: Operation::Thread,
            error: std::io::Error::other("a thread has no counters"),
        })?;
        let part = Part {
            common: self,
            sockets,
            rings,
            counts,
            index,
        };
        match (self.latency, part.sockets.len()) {
            (true, 1) => part.run::<Alone, Kept>(share),
            (true, _) => part.run::<Together, Kept>(share),
            (false, 1) => part.run::<Alone, Off>(share),
            (false, _) => part.run::<Together, Off>(share),
        }
    }
}

/// The stack of a thread, bytes: its loops need little.
const STACK: usize = 256 * 1024;

/// What one thread has.
struct Part<'a> {
    common: Common<'a>,
    sockets: Vec<Socket>,
    rings: Rings,
    counts: &'a Counts,
    /// Which thread it is.
    index: u32,
}

impl Part<'_> {
    fn run<P: Poller, R: Keeps>(self, share: impl Fn(u32) -> u64) -> Result<Report, EngineError> {
        let Self {
            common,
            sockets,
            mut rings,
            counts,
            index,
        } = self;
        let connected = clock::now();
        let shared = common.shared;
        let mut desk: Desk<'_, R> = Desk::new(shared, counts, common.margins);
        let mark = desk.recorder().begin();
        let in_flight = match common.work {
            Work::Ask { burst } => burst + 1,
            Work::Answer | Work::Push | Work::Pull => 0,
        };
        let segment_size = sockets
            .first()
            .and_then(|socket| socket::segment_size(common.transport, socket.as_fd()));
        let mut flows: Vec<Flow<R::Mark>> = (0..)
            .zip(sockets)
            .map(|(place, socket)| Flow::new(socket, share(place), in_flight, mark))
            .collect();
        let watch = match common.work {
            Work::Push => Watch::Write,
            Work::Ask { .. } | Work::Answer | Work::Pull => Watch::Read,
        };
        let mut poller = P::new(flows.iter().map(|flow| &flow.socket), watch)
            .map_err(Operation::Create.failed())?;
        common.show(index, &flows);
        if !shared.ready() {
            return Ok(desk.report(Ended::Lost(Lost::ControlEnded), &mut flows));
        }
        desk.begin();
        let ended = looped(common.work, &mut flows, &mut poller, &mut rings, &mut desk)?;
        drop(poller);
        if let Some(watched) = common.series {
            watched.release(index);
        }
        let mut report = desk.report(ended, &mut flows);
        if common.closes && !shared.is_lost() {
            report.drained = close(&mut flows, shared).map_err(Operation::Receive.failed())?;
        }
        report.closed = clock::now();
        report.facts = facts(common.transport, &flows);
        report.segment_size = segment_size;
        report.connected = connected;
        Ok(report)
    }
}

/// The loop that the work asks for.
fn looped<P: Poller, R: Keeps>(
    work: Work,
    flows: &mut [Flow<R::Mark>],
    poller: &mut P,
    rings: &mut Rings,
    desk: &mut Desk<'_, R>,
) -> Result<Ended, EngineError> {
    use crate::dispatch::needed;
    let Rings { send, recv } = rings;
    match work {
        Work::Ask { burst } => {
            let rings: (&mut Ring, &mut Ring) = (needed(send)?, needed(recv)?);
            loops::ask(flows, poller, rings, burst, desk).map_err(Operation::Receive.failed())
        }
        Work::Answer => {
            let rings: (&mut Ring, &mut Ring) = (needed(recv)?, needed(send)?);
            loops::answer(flows, poller, rings, desk).map_err(Operation::Receive.failed())
        }
        Work::Push => {
            loops::push(flows, poller, needed(send)?, desk).map_err(Operation::Send.failed())
        }
        Work::Pull => {
            loops::pull(flows, poller, needed(recv)?, desk).map_err(Operation::Receive.failed())
        }
    }
}

/// The reports, or the error that is the cause of the others. Where the run was `cut`, by
/// the user or by the loss of the peer, an error is no more than a sign of that.
pub(super) fn all(
    reports: Vec<Result<Report, EngineError>>,
    cut: bool,
) -> Result<Vec<Report>, EngineError> {
    let mut good = Vec::new();
    let mut cause: Option<EngineError> = None;
    for report in reports {
        match report {
            Ok(report) => good.push(report),
            Err(error) => {
                // Whoever stopped because another one failed says so with this.
                let caused = error.error.kind() == std::io::ErrorKind::ConnectionAborted;
                if cause.is_none() || !caused {
                    cause = Some(error);
                }
            }
        }
    }
    match cause {
        Some(error) if !cut => Err(error),
        Some(_) | None => Ok(good),
    }
}
