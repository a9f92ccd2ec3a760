//! netserver's end of many flows.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::cpu::Meter;
use netperf_model::{EndJob, EndResult, FlowThere, Limit as LimitPlan, Workers};
use netperf_os::wait::{Interest, any_ready};
use netperf_os::{Socket, io as calls};
use netperf_transport::io::Discarding;
use netperf_transport::meeting::{AcceptFilter, Addresses, Connects, Met, OnSocket, Parts as _};
use netperf_transport::one_port::Passed;
use netperf_transport::place::Placed;
use netperf_transport::registry::{self, Asked, Visitor};
use netperf_transport::socket::{self, Side};
use netperf_transport::tcp::Tcp;
use netperf_transport::udp::{Aimed, Udp};

use super::client::{facts, moved, paced};
use super::conductor::{Conducted, Score, conduct};
use super::crew::{self, Common, Work};
use super::ends::{Connections, Datagrams, Ends};
use super::flow::shares;
use super::loops::Moves;
use super::no_flows;
use super::open::deal;
use super::shared::{Shared, Stage};
use super::transactions::answers;
use super::worker::Report;
use crate::early::{StopReceiver, StopReceiverSlot};
use crate::end;
use crate::error::{EngineError, Operation, refused};
use crate::live::Live;
use crate::series::{self, Watched};
use crate::server::{IDLE, PAD, PATIENCE, Server, only_sends};
use crate::stop::{Ended, control_has_ended};

/// How long no further connection may come while some are missing.
const NEXT_CONNECTION: Duration = Duration::from_secs(15);
/// How often the control connection is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(200);
/// Where a search for ports goes on once it has come to the highest.
const LOWEST_PORT: u16 = 32_768;

/// Runs the test: accepts every flow, and then serves all of them.
pub(crate) fn run(
    server: Server,
    control: Option<BorrowedFd<'_>>,
) -> Result<EndResult, EngineError> {
    let job = &server.work.job;
    let setup = &server.work.setup;
    let (flows, workers) = flows_of(job);
    // As far as it can be: accepting fails where that is not enough.
    let _limit = netperf_os::process::raise_open_files();
    let threads = crew::threads(&workers, flows, job.transport);
    let count = usize::try_from(threads).unwrap_or(1);
    let shared = Shared::new(count, Stage::Count).map_err(Operation::Create.failed())?;
    let live = Live::default();
    let counts = live.of_workers(count);
    let common = Common {
        shared: &shared,
        counts: &counts,
        workers: &workers,
        work: work(job),
        asking: false,
        flows,
        end: &job.end,
        setup,
        transport: job.transport,
        margins: false,
        latency: false,
        closes: false,
        series: live.watch(job.end.series, false),
        live: None,
        tells: false,
    };
    let stop_receivers = StopReceiverSlot::default();
    let meter = RefCell::new(Ok(None));
    let note = || note(&meter.borrow());
    let controls: Vec<BorrowedFd<'_>> = control.into_iter().collect();
    let asked = Asked {
        socket: &job.end.socket,
        associations: job.associations,
        exchange: job.test_flow().is_request_response(),
    };
    let visiting = Visiting {
        job,
        listener: &server.socket,
        further: server.further,
        flows,
        control,
        common,
        stop_receivers: &stop_receivers,
        conduct: || {
            let score = Score {
                moved: Some(&note),
                ..score(job, &stop_receivers)
            };
            conduct(&shared, &counts, &score, &controls, &mut |stage| {
                common.begin_series();
                if stage == Stage::Count {
                    *meter.borrow_mut() = end::meter(&job.end);
                }
            })
        },
    };
    let run = || registry::visit(job.transport, asked, visiting);
    let (reports, conducted) = series::beside(common.series, run)??;
    let sampled = conducted.opened.elapsed();
    let (reports, broke) = crew::all(reports, conducted.lost.is_some());
    if let Some(error) = broke {
        return Err(error);
    }
    let in_vain = in_vain(job, &reports, &conducted);
    let elapsed = sampled.saturating_sub(in_vain);
    let cpu = end::usage(meter.into_inner()?.as_ref(), sampled, elapsed)?;
    let mut result = end::result(
        &job.end,
        setup,
        facts(&reports),
        moved(&reports),
        elapsed,
        (cpu, None),
    );
    result.crew = Some(crew::crew(&workers, threads));
    result.paced = paced(&reports);
    result.flows = job.end.flow_counts.then(|| each(job, &reports));
    result.series = common.series.and_then(Watched::series);
    Ok(result)
}

fn flows_of(job: &EndJob) -> (u32, Workers) {
    let flows = job.flows.clone().unwrap_or_default();
    (flows.count, flows.workers)
}

/// What was done until now was done for the run.
fn note(meter: &Result<Option<Meter>, EngineError>) {
    if let Ok(Some(meter)) = meter {
        meter.note();
    }
}

/// How long nothing came while netserver waited for the end.
fn in_vain(job: &EndJob, reports: &[Report], conducted: &Conducted) -> Duration {
    let abandoned = reports
        .iter()
        .any(|report| report.ended == Ended::Abandoned);
    if job.test_flow().connects {
        conducted.idle
    } else if abandoned && !only_sends(job) {
        PAD
    } else {
        Duration::ZERO
    }
}

/// What was counted on each flow. Datagrams of each flow have a socket that netserver has
/// numbered; connections are told apart by netperf's ports.
fn each(job: &EndJob, reports: &[Report]) -> Vec<FlowThere> {
    let threads = u32::try_from(reports.len()).unwrap_or(1);
    let numbered = !job.transport.is_connected();
    let of_thread = |(thread, report): (u32, &Report)| {
        let numbers = (thread + 1..).step_by(usize::try_from(threads).unwrap_or(1));
        // A test that connects each time has places, and no flows.
        let flows = numbers.zip(report.ports.clone()).zip(report.flows.clone());
        flows.collect::<Vec<_>>()
    };
    let all = (0..).zip(reports).flat_map(of_thread);
    all.map(|((number, port), counts)| FlowThere {
        number: numbered.then_some(number),
        port,
        counts,
    })
    .collect()
}

/// Whatever netperf's end does, netserver's does the rest.
fn work(job: &EndJob) -> Work {
    if job.test_flow().duplex.is_some() {
        Work::Exchange {
            apart: false,
            // netperf's end ends what has no other end: not an amount.
            ends_both: matches!(job.limit, LimitPlan::Time(_) | LimitPlan::UntilStopped),
        }
    } else if job.test_flow().is_request_response() {
        Work::Answer
    } else if job.test_flow().sends {
        Work::Pull
    } else {
        Work::Push
    }
}

/// How much each flow may send, where netserver counts.
fn share(job: &EndJob, flows: u32) -> impl Fn(u32) -> u64 + use<> {
    let units = match job.limit {
        LimitPlan::Units(units) if only_sends(job) || job.test_flow().duplex.is_some() => {
            Some(units)
        }
        LimitPlan::Units(_)
        | LimitPlan::Messages(_)
        | LimitPlan::Time(_)
        | LimitPlan::UntilStopped => None,
    };
    let of = shares(units.unwrap_or(0), flows);
    move |flow| units.map_or(u64::MAX, |_| of(flow))
}

fn score<'a>(job: &EndJob, stop_receivers: &'a StopReceiverSlot) -> Score<'a> {
    if job.test_flow().connects {
        return score_of_transactions(job);
    }
    let (stages, patience) = match job.limit {
        LimitPlan::Time(length) if only_sends(job) => {
            let abandon = (length + PAD, Stage::Abandon);
            (vec![(length, Stage::Finish), abandon], None)
        }
        LimitPlan::Time(length) => (vec![(length + PAD, Stage::Abandon)], None),
        LimitPlan::Units(_) | LimitPlan::Messages(_) | LimitPlan::UntilStopped => {
            (Vec::new(), Some(PATIENCE))
        }
    };
    Score {
        stages,
        patience,
        told: job.end.until.then_some((stop_receivers, PAD)),
        ..Score::default()
    }
}

/// Nothing tells of the end but the amount, or that nobody connects any more.
fn score_of_transactions(job: &EndJob) -> Score<'static> {
    match job.limit {
        LimitPlan::Time(length) => Score {
            stages: vec![(length + PAD, Stage::Abandon)],
            idle: Some((length, IDLE)),
            ..Score::default()
        },
        LimitPlan::Units(units) => Score {
            patience: Some(PATIENCE),
            enough: Some(units),
            ..Score::default()
        },
        LimitPlan::Messages(_) | LimitPlan::UntilStopped => Score {
            patience: Some(PATIENCE),
            ..Score::default()
        },
    }
}

/// The flows of a run, to be matched with the transport's types.
struct Visiting<'r, F> {
    job: &'r EndJob,
    listener: &'r Socket,
    further: Vec<Socket>,
    flows: u32,
    control: Option<BorrowedFd<'r>>,
    common: Common<'r>,
    /// Where the end is heard of, where netperf may end the run.
    stop_receivers: &'r StopReceiverSlot,
    conduct: F,
}

/// What the threads report, and how they were conducted.
type Conduct<T> = Result<(Vec<Result<Report, EngineError>>, T), EngineError>;

impl<T, F: FnOnce() -> T> Visitor for Visiting<'_, F> {
    type Out = Conduct<T>;

    fn stream<C: Connects + Sync>(self, how: C) -> Self::Out {
        if self.job.test_flow().connects {
            return self.transactions::<C>();
        }
        let ends = Connections::of::<C>(self.job.transport);
        let accepted = self.accepted(&how)?.into_iter();
        let discards = self.job.end.io.discard && self.common.work == Work::Pull;
        if discards {
            let endpoints = accepted.map(|endpoint| Discarding(endpoint.into_socket()));
            self.serve(endpoints.collect(), &ends)
        } else {
            let endpoints = accepted.map(|endpoint| Tcp(endpoint.into_socket()));
            self.serve(endpoints.collect(), &ends)
        }
    }

    fn connection<C: Connects + Sync>(self, how: C) -> Self::Out {
        if self.job.test_flow().connects {
            return self.transactions::<C>();
        }
        let ends = Connections::of::<C>(self.job.transport);
        let accepted = self.accepted(&how)?;
        self.serve(accepted, &ends)
    }

    fn datagrams<E: Aimed>(mut self, how: Udp<E>) -> Self::Out {
        let first = self
            .listener
            .try_clone()
            .map_err(Operation::Create.failed())?;
        let sockets = std::iter::once(first).chain(std::mem::take(&mut self.further));
        let sources = &self.job.sources;
        let endpoints = sockets.map(|socket| {
            let mut endpoint = how.answering(socket)?;
            endpoint.take_only_from(sources);
            Ok(endpoint)
        });
        let endpoints: io::Result<Vec<_>> = endpoints.collect();
        self.serve(endpoints.map_err(Operation::Create.failed())?, &Datagrams)
    }

    fn addressed<A: Addresses>(self, _: A) -> Self::Out {
        Err(no_flows(Operation::Accept))
    }

    fn absent(self, error: std::io::Error) -> Self::Out {
        Err(Operation::Create.failed()(error))
    }
}

impl<'r, T, F: FnOnce() -> T> Visiting<'r, F> {
    /// Serves connections as they come.
    fn transactions<C: Connects>(self) -> Conduct<T> {
        let make = C::OF_SOCKET.ok_or_else(|| no_flows(Operation::Accept))?;
        let (listener, common, direction) = (self.listener, self.common, self.job.test_flow());
        listener
            .set_nonblocking(true)
            .map_err(Operation::Accept.failed())?;
        // A flow has one connection at a time; one more may not be seen to have ended yet.
        let room = usize::try_from(self.flows).map_or(usize::MAX, |flows| flows * 2);
        let gate = self.gate();
        let part = |index| answers(common, index, (gate, make), direction, room);
        Ok(common.in_threads(&part, self.conduct))
    }

    /// Serves flows that are open, dealt out to threads as netperf does.
    fn serve<E: Moves + Send>(self, open: Vec<E>, ends: &(dyn Ends<E> + Sync)) -> Conduct<T> {
        let first = open.first().filter(|_| self.job.end.until);
        if let Some(first) = first {
            let stop_receiver = StopReceiver::on(first.fd()).map_err(Operation::Accept.failed())?;
            self.stop_receivers.listen(stop_receiver);
        }
        let parts = deal(open, self.common.threads());
        let parts: Vec<_> = parts.into_iter().map(Mutex::new).collect();
        let endpoints = |index: u32| Ok(take(&parts, index));
        let share = share(self.job, self.flows);
        Ok(self.common.run(&endpoints, &share, ends, self.conduct))
    }

    /// Where connections arrive.
    fn gate(&self) -> AcceptFilter<'r> {
        AcceptFilter {
            listener: self.listener,
            sources: Some(&self.job.sources),
            passed: Passed::of(self.job),
        }
    }

    /// Accepts all connections. Their time begins when the last has come.
    fn accepted<C: Connects>(&self, how: &C) -> Result<Vec<C::Endpoint>, EngineError> {
        let accepted = match C::OF_SOCKET {
            Some(make) => accept(self.gate(), self.flows, self.control)
                .map(|sockets| sockets.into_iter().map(make).collect()),
            None => self.accept_each(how),
        };
        let accepted: Vec<C::Endpoint> = accepted.map_err(Operation::Accept.failed())?;
        for endpoint in &accepted {
            socket::set_on_connection(endpoint.fd(), &self.job.end.socket)
                .map_err(Operation::Create.failed())?;
        }
        Ok(accepted)
    }

    /// Accepts connections whose ends have to agree on something, one after the other.
    fn accept_each<C: Connects>(&self, how: &C) -> io::Result<Vec<C::Endpoint>> {
        let mut accepted = Vec::new();
        let mut since = clock::now();
        // A connection has the time-outs of its listener.
        calls::set_patience(self.listener.as_fd(), Some(NEXT_CONNECTION))?;
        while (accepted.len() as u64) < u64::from(self.flows) {
            if !await_connection(self.listener, self.control, since)? {
                continue;
            }
            let mut give_up = || since.elapsed() >= NEXT_CONNECTION;
            match how.accept(self.gate(), &mut give_up) {
                Ok(Met::Connected(endpoint)) => {
                    calls::set_patience(endpoint.fd(), None)?;
                    accepted.push(endpoint);
                    since = clock::now();
                }
                Ok(Met::GivenUp) => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(accepted)
    }
}

/// Accepts this many connections that are no more than sockets.
fn accept(
    gate: AcceptFilter<'_>,
    flows: u32,
    control: Option<BorrowedFd<'_>>,
) -> io::Result<Vec<Socket>> {
    let listener = gate.listener;
    listener.set_nonblocking(true)?;
    let mut accepted = Vec::new();
    let mut since = clock::now();
    while (accepted.len() as u64) < u64::from(flows) {
        match gate.accept() {
            Ok((_stranger, from)) if !gate.admits(&from) => {}
            Ok((socket, _)) => {
                accepted.push(socket);
                since = clock::now();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                await_connection(listener, control, since)?;
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(accepted)
}

/// Waits a while for a connection; whether there is one. Fails when none has come for too
/// long, or when netperf is gone.
fn await_connection(
    listener: &Socket,
    control: Option<BorrowedFd<'_>>,
    since: Moment,
) -> io::Result<bool> {
    if any_ready(&[listener.as_fd()], Interest::Read, LOOK)?.is_some() {
        return Ok(true);
    }
    if control.is_some_and(control_has_ended) {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    if since.elapsed() >= NEXT_CONNECTION {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(false)
}

/// The sockets and ports of many flows of datagrams: the first flow has the data socket of
/// the response, each further one a socket of its own at the next port that is free.
///
/// # Errors
/// When there are not so many ports, or they cannot be told (extension.md).
pub(crate) fn further(
    job: &EndJob,
    placed: &Placed,
) -> Result<(Vec<Socket>, Vec<u16>), EngineError> {
    let Some(flows) = job.flows.as_ref().filter(|_| !job.transport.is_connected()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let first = u16::try_from(placed.port()).unwrap_or(0);
    let address = job.bind.unwrap_or(socket::wildcard(job.family));
    let (mut sockets, mut ports) = (Vec::new(), vec![first]);
    // Upwards from the first, and then from where the kernel's own choice begins.
    let mut candidates = (first..u16::MAX).skip(1).chain(LOWEST_PORT..first);
    while (ports.len() as u64) < u64::from(flows.count) {
        let none_left = || Operation::Bind.failed()(io::ErrorKind::AddrNotAvailable.into());
        let port = candidates.next().ok_or_else(none_left)?;
        let opened = socket::open(job.transport, job.family, &job.end.socket);
        let socket = opened.map_err(Operation::Create.failed())?.socket;
        socket::set_extras(&socket, &job.end.socket, Side::Answers).map_err(refused)?;
        // Each is to be this program's alone.
        socket
            .set_reuse_address(false)
            .map_err(Operation::Create.failed())?;
        match socket::bind(&socket, SocketAddr::new(address, port)) {
            Ok(()) => {
                sockets.push(socket);
                ports.push(port);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(Operation::Bind.failed()(error)),
        }
    }
    Ok((sockets, ports))
}

/// An error of one connection, or none at all.
pub(super) fn is_passing(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::Interrupted || kind == io::ErrorKind::ConnectionAborted
}

fn take<E>(parts: &[Mutex<Vec<E>>], index: u32) -> Vec<E> {
    let part = usize::try_from(index)
        .ok()
        .and_then(|index| parts.get(index));
    part.map(|part| std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner)))
        .unwrap_or_default()
}
