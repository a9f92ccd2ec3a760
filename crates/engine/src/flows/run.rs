//! A run of many flows at either end.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::counters::Counts;
use netperf_measure::series::{self, Watched};
use netperf_model::sizes::to_usize;
use netperf_model::units::whole_seconds;
use netperf_model::{Duplex, EndFlows, EndJob, Limit as LimitPlan, Tally};
use netperf_os::{Socket, alarm};
use netperf_transport::registry::{self, Asked};

use super::coordinator::{Coordinated, StagePlan, coordinate};
use super::cpu_meter::CpuMeter;
use super::finished::FinishedRun;
use super::meet::{FlowSet, OpenFlows};
use super::shared::{RunStage, SharedRun};
use super::worker::WorkerReport;
use super::workers::{self, FlowLoop, WorkerSetup};
use crate::early::StopReceiverSlot;
use crate::error::{EngineError, Operation};
use crate::feedback::FeedbackWatch;
use crate::finish::{AT_MOST, DRAIN};
use crate::live::Live;
use crate::meet::Work;
use crate::program::Program;
use crate::report::EndReport;
use crate::run::{SecondSocket, Targets, TestEnd};
use crate::stop::Ended;
use crate::stop::GRACE;
use crate::timing::{self, CONNECTION, IDLE, PAD, patience};

/// Runs all flows of an end.
pub(crate) fn run<P: Program>(
    end: TestEnd<P>,
    targets: &Targets,
    controls: &[BorrowedFd<'_>],
    live: &Live,
) -> Result<EndReport, EngineError> {
    let TestEnd {
        work,
        socket,
        placed: _placed,
        further,
        receivers: own,
        ..
    } = end;
    let job = &work.job;
    // The files of Unix-domain sockets stay until the end of the run.
    let (own, _placed_too): (Vec<_>, Vec<_>) =
        own.into_iter().map(SecondSocket::into_parts).unzip();
    let further = further.into_iter().chain(own);
    let (listener, sockets) = of_flows(job, socket, further);
    let netperf = P::is_netperf(job);
    let flows = job.flows.clone().unwrap_or_default();
    let _best_effort = netperf_os::process::raise_open_files();
    let threads = workers::threads(job, &flows.workers, flows.count);
    let shared = SharedRun::new(to_usize(threads), first_stage(&flows));
    let shared = shared.map_err(Operation::Create.failed())?;
    let counts = live.of_workers(to_usize(threads));
    let watched = live.watch(job.end.series, netperf);
    let common = common::<P>(&work, &flows, (&shared, &counts), (live, watched));
    let (receivers, feedback) = (
        StopReceiverSlot::default(),
        FeedbackWatch::of(job, controls),
    );
    let meter = RefCell::new(CpuMeter::new(&job.end, flows.has_margins()));
    let note = || meter.borrow().note();
    let begun = clock::now();
    let set = FlowSet::<'_, P> {
        program: PhantomData,
        job,
        flows: flows.count,
        threads,
        listener: listener.as_ref(),
        targets,
        file: work.file.as_ref(),
        control: controls.first().copied(),
        common,
        receivers: &receivers,
    };
    let open_flows = OpenFlows {
        set,
        sockets,
        coordinate: || {
            let awaited = listener.as_ref().filter(|_| !netperf && job.connects);
            let stages = StagePlan {
                moved: (!netperf).then_some(&note),
                awaits: awaited.map(|listener| (listener.as_fd(), CONNECTION)),
                ..stage_plan(job, &flows, live, (&receivers, feedback.as_ref()))
            };
            coordinate(&shared, &counts, &stages, controls, &mut |stage, since| {
                common.begin_series();
                live.begin(since);
                let part = stage.part().filter(|_| flows.has_margins());
                part.into_iter().for_each(|part| live.enters(part));
                meter.borrow_mut().turn(stage);
                ends_intervals(job, stage, live);
            })
        },
    };
    let run = || registry::visit(job.transport, asked(job), open_flows);
    let (reports, ending) = series::beside(watched, run).map_err(Operation::Thread.failed())??;
    let (mut reports, broke) = usable(job, reports, &ending).inspect_err(|_| live.end())?;
    let discarded = cut(job, &mut reports);
    let finished = FinishedRun {
        job,
        flows: &flows,
        threads,
        discarded,
    };
    let late = finished.last_datagrams(&reports, &ending);
    show_the_end(&reports, late, &counts, live);
    let mut report = finished.finished(reports, &ending, meter.into_inner(), begun, &work.setup)?;
    report.result.series = watched.and_then(Watched::series);
    report.discarded = discarded && !timing::netperf_receives_datagrams(job);
    report.broke = broke;
    Ok(report)
}

/// Publishes what counts: it was held back until that was known. The end is that of the loops, or
/// `late`.
fn show_the_end(reports: &[WorkerReport], late: Option<Moment>, counts: &[Counts], live: &Live) {
    if reports.len() == counts.len() {
        let each = counts.iter().zip(reports);
        each.for_each(|(counts, report)| counts.publish(&report.tally));
    }
    let over = reports.iter().map(|report| report.over).max();
    late.or(over).inspect(|last| live.end_at(*last));
}

/// The listener of connections, or the sockets of all flows without connections.
fn of_flows(
    job: &EndJob,
    first: Socket,
    further: impl Iterator<Item = Socket>,
) -> (Option<Socket>, Vec<Socket>) {
    if job.transport.is_connected() {
        (Some(first), Vec::new())
    } else {
        (None, std::iter::once(first).chain(further).collect())
    }
}

/// Properties of the job that the choice of an endpoint depends on.
fn asked(job: &EndJob) -> Asked<'_> {
    Asked {
        socket: &job.end.socket,
        associations: job.associations,
        exchange: job.is_request_response(),
    }
}

fn first_stage(flows: &EndFlows) -> RunStage {
    if flows.warmup.is_zero() {
        RunStage::Count
    } else {
        RunStage::Warm
    }
}

/// No interval is shown of what follows the time of bulk data.
fn ends_intervals(job: &EndJob, stage: RunStage, live: &Live) {
    if !stage.goes_on() && !job.counts_transactions() {
        live.time_is_over();
    }
}

fn common<'a, P: Program>(
    work: &'a Work,
    flows: &'a EndFlows,
    (shared, counts): (&'a SharedRun, &'a [Counts]),
    (live, watched): (&'a Live, Option<&'a Watched>),
) -> WorkerSetup<'a> {
    let job = &work.job;
    // Of two connections the loop ends that which sends.
    let sends_end =
        job.sends && (job.duplex != Some(Duplex::Separate) || !job.transport.is_connected());
    WorkerSetup {
        shared,
        counts,
        workers: &flows.workers,
        work: loop_of::<P>(job),
        asking: job.is_netperf(),
        flows: flows.count,
        end: &job.end,
        setup: &work.setup,
        transport: job.transport,
        margins: flows.has_margins(),
        latency: job.latency,
        // The loop ends each of two connections by itself, or gives up on it.
        cuts: timing::receives_to_the_end(job),
        cuts_at_stop: timing::netperf_receives_datagrams(job),
        closes: job.is_netperf() && (sends_end || (job.tells_addresses() && job.stops_sender)),
        series: watched,
        live: P::is_netperf(job).then_some(live),
        patience: job.response_patience(),
        tells: job.stops_sender,
    }
}

/// The reports of a run, and the error that ended it after something had moved.
fn usable(
    job: &EndJob,
    reports: Vec<Result<WorkerReport, EngineError>>,
    ending: &Coordinated,
) -> Result<(Vec<WorkerReport>, Option<EngineError>), EngineError> {
    let netperf = job.is_netperf();
    let stopped = netperf && alarm::stopped_by_user();
    if stopped && !ending.counted {
        let interrupted = io::ErrorKind::Interrupted.into();
        return Err(Operation::Warmup.failed()(interrupted));
    }
    let (reports, broke) = workers::all(reports, stopped || ending.lost.is_some());
    let moved = |report: &WorkerReport| report.tally != Tally::default();
    match broke {
        Some(error) if !netperf || !reports.iter().any(moved) => Err(error),
        broke => Ok((reports, broke)),
    }
}

/// Takes the counts of all flows back to the end of the time where the data of one did not arrive
/// in time, and to the signal that ended datagrams; returns whether it did.
fn cut(job: &EndJob, reports: &mut [WorkerReport]) -> bool {
    let late = |report: &WorkerReport| {
        let cut = report.ended == Ended::Abandoned || timing::netperf_receives_datagrams(job);
        cut && report.cut.is_some()
    };
    let discarded = reports.iter().any(late);
    if discarded {
        reports.iter_mut().for_each(WorkerReport::cut_at_the_end);
    }
    discarded
}

/// The loop of an end.
fn loop_of<P: Program>(job: &EndJob) -> FlowLoop {
    let netperf = P::is_netperf(job);
    if let Some(over) = job.duplex {
        FlowLoop::Exchange {
            apart: netperf && over == Duplex::Separate,
            // At netserver netperf's end ends what has no other end: not an amount.
            ends_both: !netperf
                && matches!(job.limit, LimitPlan::Time(_) | LimitPlan::UntilStopped),
        }
    } else if job.is_request_response() {
        let keeps = netperf && job.end.rate.is_none();
        FlowLoop::Transactions {
            in_flight: if keeps { to_usize(job.burst) + 1 } else { 0 },
        }
    } else if job.sends {
        FlowLoop::Push
    } else {
        FlowLoop::Pull
    }
}

/// When the stages of a run begin, and what else ends it.
fn stage_plan<'a>(
    job: &EndJob,
    flows: &EndFlows,
    live: &'a Live,
    (receivers, feedback): (&'a StopReceiverSlot, Option<&'a FeedbackWatch<'a>>),
) -> StagePlan<'a> {
    if job.is_netperf() {
        netperf_stages(job, flows, live)
    } else if job.connects {
        transaction_stages(job)
    } else {
        StagePlan {
            feedback,
            ..netserver_stages(job, receivers)
        }
    }
}

fn netperf_stages<'a>(job: &EndJob, flows: &EndFlows, live: &'a Live) -> StagePlan<'a> {
    // Data in flight arrives before netserver's end.
    let both = goes_on(job);
    // A sender that is no netserver goes on: closing the connection stops it.
    let stops = job.only_receives() && !job.has_peer;
    // Data in flight on netperf's sending connections arrives, too.
    let drains = job.duplex.is_some() && job.transport.is_connected();
    let by_user = match (drains, stops) {
        (true, _) => AT_MOST,
        (false, true) => Duration::ZERO,
        (false, false) => GRACE,
    };
    let early = if stops {
        Duration::ZERO
    } else if timing::receives_to_the_end(job) {
        DRAIN
    } else if both || job.stops_sender {
        AT_MOST
    } else {
        GRACE
    };
    let plan = StagePlan {
        drains: timing::receives_to_the_end(job),
        by_user: Some(by_user),
        early: Some((live, early)),
        begin_at: flows.begin_at,
        sent_since: flows.sent_since,
        ..StagePlan::default()
    };
    let Some(time) = job.time() else {
        return StagePlan {
            patience: Some(patience(job)),
            ..plan
        };
    };
    let counted = flows.warmup + time;
    let finish = counted + flows.cooldown;
    // A receiver goes on until netserver, which may have the time in whole seconds, ends it.
    let apart = job.duplex == Some(Duplex::Separate);
    let abandon = if both {
        finish + AT_MOST
    } else if stops {
        finish
    } else if (job.sends && !apart) || job.connects {
        finish + GRACE
    } else if timing::receives_to_the_end(job) {
        let exact = job.end.short_by.is_some();
        let end = if exact { finish } else { whole_seconds(finish) };
        end + DRAIN
    } else {
        finish + Duration::from_secs(1) + PAD
    };
    let mut stages = vec![(flows.warmup, RunStage::Count)];
    if flows.has_margins() {
        stages.push((counted, RunStage::Cool));
    }
    stages.push((finish, RunStage::Finish));
    stages.push((abandon, RunStage::Abandon));
    StagePlan { stages, ..plan }
}

fn netserver_stages<'a>(job: &EndJob, receivers: &'a StopReceiverSlot) -> StagePlan<'a> {
    let (stages, patience) = match job.time() {
        Some(length) if job.only_sends() => {
            let abandon = (length + PAD, RunStage::Abandon);
            (vec![(length, RunStage::Finish), abandon], None)
        }
        Some(length) => (vec![(length + PAD, RunStage::Abandon)], None),
        None => (Vec::new(), Some(patience(job))),
    };
    StagePlan {
        stages,
        patience,
        told: job.end.until.then_some((receivers, PAD)),
        ..StagePlan::default()
    }
}

/// netserver's connections for each transaction: the amount or silence ends them.
fn transaction_stages(job: &EndJob) -> StagePlan<'static> {
    match job.limit {
        LimitPlan::Time(length) => StagePlan {
            stages: vec![(length + PAD, RunStage::Abandon)],
            idle: Some((length, IDLE)),
            ..StagePlan::default()
        },
        LimitPlan::Units(units) => StagePlan {
            patience: Some(patience(job)),
            enough: Some(units),
            ..StagePlan::default()
        },
        LimitPlan::Messages(_) | LimitPlan::UntilStopped => StagePlan {
            patience: Some(patience(job)),
            ..StagePlan::default()
        },
    }
}

/// Returns whether connections stay open until netserver closes them, so that data in flight
/// arrives after the end of the time.
fn goes_on(job: &EndJob) -> bool {
    job.duplex == Some(Duplex::Same) && job.transport.is_connected()
}
