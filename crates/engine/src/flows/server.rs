//! netserver's end of many flows.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{EndResult, Limit as LimitPlan, ServerJob, Tally};
use netperf_os::Socket;
use netperf_os::wait::{Interest, any_ready};
use netperf_transport::meeting::Gate;

use super::client::facts;
use super::conductor::{Score, conduct};
use super::crew::{self, Common, Work};
use super::flow::shares;
use super::shared::{Shared, Stage};
use crate::end;
use crate::error::{EngineError, Operation};
use crate::live::Live;
use crate::server::{PAD, PATIENCE, Server, only_sends};
use crate::stop::{Ended, control_has_ended};

/// How long no further connection may come while some are missing.
const NEXT_CONNECTION: Duration = Duration::from_secs(15);
/// How often the control connection is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(200);

/// Runs the test: accepts every flow, and then serves all of them.
pub(crate) fn run(
    server: Server,
    control: Option<BorrowedFd<'_>>,
) -> Result<EndResult, EngineError> {
    let job = &server.work.job;
    let setup = server.setup();
    let (flows, workers) = job.many.clone().unwrap_or_default();
    let threads = crew::threads(&workers, flows);
    // As far as it can be: accepting fails where that is not enough.
    let _limit = netperf_os::process::raise_open_files();
    let gate = Gate {
        listener: &server.socket,
        sources: Some(&job.sources),
    };
    let accepted = accept(gate, flows, control).map_err(Operation::Accept.failed())?;
    let parts = deal(accepted, threads);
    let count = usize::try_from(threads).unwrap_or(1);
    let shared = Shared::new(count, Stage::Count);
    let live = Live::default();
    let counts = live.of_workers(count);
    let common = Common {
        shared: &shared,
        counts: &counts,
        workers: &workers,
        work: work(job),
        end: &job.end,
        setup,
        transport: job.transport,
        margins: false,
        latency: false,
        closes: false,
    };
    let sockets = |index: u32| Ok(take(&parts, index));
    let mut meter = Ok(None);
    let controls: Vec<BorrowedFd<'_>> = control.into_iter().collect();
    let (reports, conducted) = common.run(sockets, share(job, flows), || {
        conduct(&shared, &counts, &score(job), &controls, &mut |stage| {
            if stage == Stage::Count {
                meter = end::meter(&job.end);
            }
        })
    });
    let sampled = conducted.opened.elapsed();
    let reports = crew::all(reports, conducted.lost.is_some())?;
    let abandoned = reports
        .iter()
        .any(|report| report.ended == Ended::Abandoned);
    // Nothing came in the time that netserver waited for the end.
    let in_vain = if abandoned && !only_sends(job) {
        PAD
    } else {
        Duration::ZERO
    };
    let elapsed = sampled.saturating_sub(in_vain);
    let cpu = end::usage(meter?.as_ref(), sampled, elapsed)?;
    let mut tally = Tally::default();
    reports
        .iter()
        .for_each(|report| tally = tally.plus(&report.tally));
    let mut result = end::result(
        &job.end,
        setup,
        facts(&reports),
        tally,
        elapsed,
        (cpu, None),
    );
    result.crew = Some(crew::crew(&workers, threads));
    Ok(result)
}

/// Whatever netperf's end does, netserver's does the rest.
fn work(job: &ServerJob) -> Work {
    if job.flow.is_request_response() {
        Work::Answer
    } else if job.flow.sends {
        Work::Pull
    } else {
        Work::Push
    }
}

/// How much each flow may send, where netserver counts.
fn share(job: &ServerJob, flows: u32) -> impl Fn(u32) -> u64 + use<> {
    let units = match job.limit {
        LimitPlan::Units(units) if only_sends(job) => Some(units),
        LimitPlan::Units(_)
        | LimitPlan::Messages(_)
        | LimitPlan::Time(_)
        | LimitPlan::UntilStopped => None,
    };
    let of = shares(units.unwrap_or(0), flows);
    move |flow| units.map_or(u64::MAX, |_| of(flow))
}

fn score(job: &ServerJob) -> Score {
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
        by_user: None,
    }
}

/// Accepts this many connections. Their time begins when the last has come.
fn accept(gate: Gate<'_>, flows: u32, control: Option<BorrowedFd<'_>>) -> io::Result<Vec<Socket>> {
    let listener = gate.listener;
    listener.set_nonblocking(true)?;
    let mut accepted = Vec::new();
    let mut since = clock::now();
    while (accepted.len() as u64) < u64::from(flows) {
        match listener.accept() {
            Ok((_stranger, from)) if !gate.admits(&from) => {}
            Ok((socket, _)) => {
                accepted.push(socket);
                since = clock::now();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                any_ready(&[listener.as_fd()], Interest::Read, LOOK)?;
                if control.is_some_and(control_has_ended) {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                if since.elapsed() >= NEXT_CONNECTION {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(accepted)
}

/// An error of one connection, or none at all.
fn is_passing(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::Interrupted || kind == io::ErrorKind::ConnectionAborted
}

/// Deals the flows out to threads, as netperf does.
fn deal(accepted: Vec<Socket>, threads: u32) -> Vec<Mutex<Vec<Socket>>> {
    let mut parts: Vec<Vec<Socket>> = (0..threads).map(|_| Vec::new()).collect();
    let count = parts.len().max(1);
    for (index, socket) in accepted.into_iter().enumerate() {
        if let Some(part) = parts.get_mut(index % count) {
            part.push(socket);
        }
    }
    parts.into_iter().map(Mutex::new).collect()
}

fn take(parts: &[Mutex<Vec<Socket>>], index: u32) -> Vec<Socket> {
    let part = usize::try_from(index)
        .ok()
        .and_then(|index| parts.get(index));
    part.map(|part| std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner)))
        .unwrap_or_default()
}
