//! A run of many flows at either end.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::cpu::Meter;
use netperf_model::{
    CpuUsage, Duplex, EndFlows, EndJob, EndPlan, FlowThere, Flows, IoCounts, Latency,
    Limit as LimitPlan, Paced, Tally, share_of,
};
use netperf_os::{Socket, alarm};
use netperf_transport::meeting::EndMark;
use netperf_transport::registry::{self, Asked};
use netperf_transport::socket;

use super::coordinator::{Conducted, StagePlan, conduct};
use super::meet::{FlowSet, OpenFlows};
use super::shared::{RunStage, SharedRun};
use super::to_usize;
use super::worker::{WorkerReport, window};
use super::workers::{self, FlowLoop, WorkerSetup};
use crate::early::StopReceiverSlot;
use crate::end;
use crate::error::{EngineError, Operation};
use crate::feedback::FeedbackWatch;
use crate::finish::{AT_MOST, DRAIN, Drained};
use crate::limit::RECEIVED_MARGIN;
use crate::live::{Counts, Live};
use crate::meet::Work;
use crate::report::EndReport;
use crate::role::Role;
use crate::run::{SecondSocket, Targets, TestEnd};
use crate::series::{self, Watched};
use crate::stop::{Ended, Lost};
use crate::timing::{self, GRACE, IDLE, PAD, patience};

/// Runs all flows of an end.
pub(crate) fn run<N: Role>(
    end: TestEnd<N>,
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
    let further = further
        .into_iter()
        .chain(own.into_iter().map(SecondSocket::into_socket));
    let (listener, sockets) = of_flows(job, socket, further);
    let netperf = N::NETPERF;
    let flows = job.flows.clone().unwrap_or_default();
    let _best_effort = netperf_os::process::raise_open_files();
    let threads = workers::threads(job, &flows.workers, flows.count);
    let shared = SharedRun::new(to_usize(threads), first_stage(&flows));
    let shared = shared.map_err(Operation::Create.failed())?;
    let counts = live.of_workers(to_usize(threads));
    let watched = live.watch(job.end.series, netperf);
    let common = common::<N>(&work, &flows, (&shared, &counts), (live, watched));
    let (receivers, feedback) = (
        StopReceiverSlot::default(),
        FeedbackWatch::of(job, controls),
    );
    let meter = RefCell::new(CpuMeter::new(&job.end, flows.has_margins()));
    let note = || meter.borrow().note();
    let begun = clock::now();
    let set = FlowSet::<'_, N> {
        role: PhantomData,
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
        conduct: || {
            let stages = StagePlan {
                moved: (!netperf).then_some(&note),
                ..stage_plan(job, &flows, live, (&receivers, feedback.as_ref()))
            };
            conduct(&shared, &counts, &stages, controls, &mut |stage| {
                common.begin_series();
                let part = stage.part().filter(|_| flows.has_margins());
                part.into_iter().for_each(|part| live.enters(part));
                meter.borrow_mut().turn(stage);
                ends_intervals(job, stage, live);
            })
        },
    };
    let run = || registry::visit(job.transport, asked(job), open_flows);
    let (reports, conducted) = series::beside(watched, run)??;
    let (mut reports, broke) = usable(job, reports, &conducted).inspect_err(|_| live.end())?;
    let discarded = cut(&mut reports);
    reports
        .iter()
        .map(|report| report.over)
        .max()
        .inspect(|last| live.end_at(*last));
    let mut report = FinishedRun {
        job,
        flows: &flows,
        threads,
        discarded,
    }
    .finished(reports, &conducted, meter.into_inner(), begun, &work.setup)?;
    report.result.series = watched.and_then(Watched::series);
    report.discarded = discarded;
    report.broke = broke;
    Ok(report)
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

fn common<'a, N: Role>(
    work: &'a Work,
    flows: &'a EndFlows,
    (shared, counts): (&'a SharedRun, &'a [Counts]),
    (live, watched): (&'a Live, Option<&'a Watched>),
) -> WorkerSetup<'a> {
    let job = &work.job;
    WorkerSetup {
        shared,
        counts,
        workers: &flows.workers,
        work: loop_of::<N>(job),
        asking: job.is_netperf(),
        flows: flows.count,
        end: &job.end,
        setup: &work.setup,
        transport: job.transport,
        margins: flows.has_margins(),
        latency: job.latency,
        // The loop ends each of two connections by itself, or gives up on it.
        cuts: timing::receives_to_the_end(job),
        closes: job.is_netperf() && job.sends && job.duplex != Some(Duplex::Separate),
        series: watched,
        live: N::NETPERF.then_some(live),
        patience: job.response_patience(),
        tells: job.stops_sender,
    }
}

/// The reports of a run, and the error that ended it after something had moved.
fn usable(
    job: &EndJob,
    reports: Vec<Result<WorkerReport, EngineError>>,
    conducted: &Conducted,
) -> Result<(Vec<WorkerReport>, Option<EngineError>), EngineError> {
    let netperf = job.is_netperf();
    let stopped = netperf && alarm::stopped_by_user();
    if stopped && !conducted.counted {
        let interrupted = io::ErrorKind::Interrupted.into();
        return Err(Operation::Warmup.failed()(interrupted));
    }
    let (reports, broke) = workers::all(reports, stopped || conducted.lost.is_some());
    let moved = |report: &WorkerReport| report.tally != Tally::default();
    match broke {
        Some(error) if !netperf || !reports.iter().any(moved) => Err(error),
        broke => Ok((reports, broke)),
    }
}

/// Takes the counts of all flows back to the end of the time where the data of one did not arrive
/// in time; returns whether it did.
fn cut(reports: &mut [WorkerReport]) -> bool {
    let late = |report: &WorkerReport| report.ended == Ended::Abandoned && report.cut.is_some();
    let discarded = reports.iter().any(late);
    if discarded {
        reports.iter_mut().for_each(WorkerReport::cut_at_the_end);
    }
    discarded
}

/// The loop of an end.
fn loop_of<N: Role>(job: &EndJob) -> FlowLoop {
    let netperf = N::NETPERF;
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

/// Amount for each flow, where this end counts it. netperf, which only receives, takes no more
/// than a correct peer sends.
pub(super) fn share(job: &EndJob) -> impl Fn(u32) -> u64 + use<> {
    let counts = if job.is_netperf() {
        job.sends || job.connects || job.receives
    } else {
        (job.only_sends() && !job.connects) || job.duplex.is_some()
    };
    let units = match job.limit {
        LimitPlan::Units(units) if counts => Some(units),
        LimitPlan::Units(_)
        | LimitPlan::Messages(_)
        | LimitPlan::Time(_)
        | LimitPlan::UntilStopped => None,
    };
    let receives = job.is_netperf() && job.only_receives() && !job.connects;
    // Of what may be lost, each end counts for itself.
    let margin = if receives && job.has_peer && job.transport.row().reliable {
        RECEIVED_MARGIN
    } else {
        0
    };
    let flows = job.flow_count();
    move |flow| {
        units.map_or(u64::MAX, |units| {
            share_of(units, flows, flow).saturating_add(margin)
        })
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
    let by_user = match (both, stops) {
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
    // A receiver goes on until netserver, which has the time in whole seconds, ends it.
    let apart = job.duplex == Some(Duplex::Separate);
    let abandon = if both {
        finish + AT_MOST
    } else if stops {
        finish
    } else if (job.sends && !apart) || job.connects {
        finish + GRACE
    } else if timing::receives_to_the_end(job) {
        whole_seconds(finish) + DRAIN
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

/// Time of netserver, which is in whole seconds.
fn whole_seconds(time: Duration) -> Duration {
    let rest = Duration::from_nanos(time.subsec_nanos().into());
    if rest.is_zero() {
        time
    } else {
        time + Duration::from_secs(1) - rest
    }
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

/// A run that is over.
struct FinishedRun<'a> {
    job: &'a EndJob,
    flows: &'a EndFlows,
    threads: u32,
    /// What arrived after the end of the time does not count.
    discarded: bool,
}

impl FinishedRun<'_> {
    /// The length of the run: a sender's is over when everything has arrived.
    fn elapsed(&self, reports: &[WorkerReport], conducted: &Conducted) -> Duration {
        let job = self.job;
        let abandoned = reports
            .iter()
            .any(|report| report.ended == Ended::Abandoned);
        if !job.is_netperf() {
            let only_sends = job.only_sends() && !job.connects;
            let in_vain = if job.connects {
                conducted.idle
            } else if abandoned && !only_sends {
                PAD
            } else {
                Duration::ZERO
            };
            return conducted.opened.elapsed().saturating_sub(in_vain);
        }
        // The arrival of what may be lost is never known.
        let only_sends = job.only_sends() && !job.connects && job.transport.row().reliable;
        let over = |report: &WorkerReport| {
            if only_sends {
                report.closed
            } else {
                report.over
            }
        };
        let last = reports.iter().map(over).max();
        // A transaction that did not finish took time but was not counted, and the end of
        // datagrams may be lost.
        let begun = job.counts_transactions() || job.duplex.is_some() || job.tells_addresses();
        let in_vain = abandoned && begun && !self.discarded;
        let end = conducted.finished.filter(|_| in_vain).or(last);
        end.map_or(Duration::ZERO, |end| end.since(conducted.opened))
    }

    fn finished(
        &self,
        mut reports: Vec<WorkerReport>,
        conducted: &Conducted,
        meter: CpuMeter<'_>,
        begun: Moment,
        setup: &netperf_model::EndSetup,
    ) -> Result<EndReport, EngineError> {
        let job = self.job;
        let marks = reports
            .iter_mut()
            .flat_map(|report| std::mem::take(&mut report.marks));
        let end_mark = all_marks(marks.collect());
        let reports = reports.as_slice();
        let elapsed = self.elapsed(reports, conducted);
        let cpu = meter.usage(elapsed)?;
        let facts = facts(reports);
        let counts = reports.iter().filter_map(|report| report.counts);
        let counts = counts.reduce(IoCounts::plus);
        let cleanly = |report: &WorkerReport| {
            report.ended != Ended::Abandoned && report.drained == Drained::Closed
        };
        let mut result = end::result(
            &job.end,
            setup,
            facts.clone(),
            moved(reports),
            elapsed,
            (cpu, counts),
        );
        result.crew = Some(workers::crew(&self.flows.workers, self.threads));
        result.paced = paced(reports);
        let qualities = reports.iter().filter_map(|report| report.quality);
        result.quality = qualities.reduce(|all, one| all.beside(&one));
        result.flows = job.end.flow_counts.then(|| self.each_there(reports));
        Ok(EndReport {
            result,
            paused: 0.0,
            latency: latency(reports),
            segment_size: reports.first().and_then(|report| report.segment_size),
            stopped_by_user: alarm::stopped_by_user(),
            ended_cleanly: reports.iter().all(cleanly),
            discarded: false,
            held_back: reports
                .iter()
                .filter_map(|report| report.held_back.filter(|_| !job.counts_transactions()))
                .max(),
            queued: reports
                .iter()
                .any(|report| report.drained == Drained::StillMoving),
            lost: self.lost(reports, conducted),
            broke: None,
            tcp_info: None,
            fallback: facts.fallback,
            cipher: reports.first().and_then(|report| report.cipher.clone()),
            round_trip: facts.round_trip,
            end_mark,
            many: job.is_netperf().then(|| self.each(reports, begun)),
        })
    }

    /// Loss of the peer, if it was lost.
    fn lost(&self, reports: &[WorkerReport], conducted: &Conducted) -> Option<Lost> {
        let drained = |report: &WorkerReport| match report.drained {
            Drained::Lost(lost) => Some(lost),
            Drained::Closed | Drained::StillMoving | Drained::Discarded => None,
        };
        let hears = self.job.duplex.is_some() && self.job.transport.is_connected();
        let cut = |report: &WorkerReport| hears && report.ended == Ended::Abandoned;
        let unclosed = !self.discarded && !alarm::stopped_by_user() && reports.iter().any(cut);
        // Only netserver promises to answer the end with an end.
        let drained = || reports.iter().find_map(drained);
        let drained = self.job.has_peer.then(drained).flatten();
        conducted
            .lost
            .or(drained)
            .or_else(|| unclosed.then_some(Lost::NotClosed))
    }

    /// netserver's counts of each flow. Datagrams of each flow have a socket that netserver
    /// has numbered; connections are told apart by netperf's ports.
    fn each_there(&self, reports: &[WorkerReport]) -> Vec<FlowThere> {
        let numbered = !self.job.transport.is_connected();
        let of_thread = |(thread, report): (u32, &WorkerReport)| {
            let numbers = (thread + 1..).step_by(to_usize(self.threads));
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

    /// netperf's counts of each flow, in their order.
    fn each(&self, reports: &[WorkerReport], begun: Moment) -> Flows {
        let count = self.flows.count;
        let apart = self.job.duplex == Some(Duplex::Separate);
        let report = |index: u32| reports.get(to_usize(index % self.threads));
        let place = |index: u32| to_usize(index / self.threads);
        // The connections back are behind those there.
        let behind = |index: u32, report: &WorkerReport| place(index) + report.flows.len() / 2;
        let flow = |index: u32| {
            let report = report(index)?;
            let there = report.flows.get(place(index)).copied()?;
            let back = report.flows.get(behind(index, report)).filter(|_| apart);
            Some(back.map_or(there, |back| there.plus(back)))
        };
        let port = |index: u32| report(index)?.ports.get(place(index)).copied();
        let port_back = |index: u32| {
            let report = report(index).filter(|_| apart)?;
            report.ports.get(behind(index, report)).copied()
        };
        let connected = reports.iter().map(|report| report.connected).max();
        let started: usize = reports.iter().map(|report| report.starts.flows).sum();
        let earliest = reports.iter().filter_map(|report| report.starts.earliest);
        let latest = reports.iter().filter_map(|report| report.starts.latest);
        let skew = earliest
            .min()
            .zip(latest.max())
            .filter(|_| started == to_usize(count));
        Flows {
            each: (0..count)
                .map(|index| flow(index).unwrap_or_default())
                .collect(),
            ports: (0..count).map_while(port).collect(),
            ports_back: (0..count).map_while(port_back).collect(),
            there: Vec::new(),
            fairness_there: None,
            window: self
                .flows
                .has_margins()
                .then(|| window(reports, self.job.transport)),
            setup: connected.map_or(0.0, |end| end.since(begun).as_secs_f64()),
            skew: skew.map(|(earliest, latest)| latest.since(earliest).as_secs_f64()),
        }
    }
}

/// Rates of all threads, merged; `None` without a rate.
fn paced(reports: &[WorkerReport]) -> Option<Paced> {
    let mut each = reports.iter().filter_map(|report| report.paced.as_ref());
    let mut all = each.next()?.clone();
    each.for_each(|more| all.merge_beside(more));
    Some(all)
}

fn latency(reports: &[WorkerReport]) -> Option<Latency> {
    let mut all: Option<Latency> = None;
    for latency in reports.iter().filter_map(|report| report.latency.as_ref()) {
        all.get_or_insert_default().merge(latency);
    }
    all
}

/// The counts of all threads.
fn moved(reports: &[WorkerReport]) -> Tally {
    let tallies = reports.iter().map(|report| &report.tally);
    tallies.fold(Tally::default(), |all, one| all.plus(one))
}

/// The facts of the first flow, with the retransmissions of all.
fn facts(reports: &[WorkerReport]) -> socket::SocketFacts {
    let mut known = reports
        .first()
        .map(|report| report.facts.clone())
        .unwrap_or_default();
    let all = reports
        .iter()
        .filter_map(|report| report.facts.retransmissions);
    known.retransmissions = all.reduce(u32::saturating_add);
    known
}

/// One mark that sends all of them.
fn all_marks(mut marks: Vec<EndMark>) -> Option<EndMark> {
    (!marks.is_empty()).then(|| EndMark::new(move || marks.iter_mut().for_each(EndMark::send)))
}

/// Measures CPU utilisation in the part of the run that counts.
struct CpuMeter<'a> {
    plan: &'a EndPlan,
    margins: bool,
    meter: Result<Option<Meter>, EngineError>,
    begun: Option<Moment>,
    used: Option<Result<Option<CpuUsage>, EngineError>>,
}

impl<'a> CpuMeter<'a> {
    const fn new(plan: &'a EndPlan, margins: bool) -> Self {
        Self {
            plan,
            margins,
            meter: Ok(None),
            begun: None,
            used: None,
        }
    }

    fn turn(&mut self, stage: RunStage) {
        if stage == RunStage::Count && self.begun.is_none() {
            self.meter = end::meter(self.plan);
            self.begun = Some(clock::now());
        }
        if stage >= RunStage::Cool && self.margins && self.used.is_none() {
            self.used = Some(self.now(None));
        }
    }

    /// Notes that everything until now was done for the run.
    fn note(&self) {
        if let Ok(Some(meter)) = &self.meter {
            meter.note();
        }
    }

    /// Utilisation until now; `run` is how much of that belongs to the test.
    fn now(&self, run: Option<Duration>) -> Result<Option<CpuUsage>, EngineError> {
        let (Ok(meter), Some(begun)) = (&self.meter, self.begun) else {
            return Ok(None);
        };
        let sampled = begun.elapsed();
        end::usage(meter.as_ref(), sampled, run.unwrap_or(sampled))
    }

    fn usage(mut self, elapsed: Duration) -> Result<Option<CpuUsage>, EngineError> {
        let used = self.used.take().unwrap_or_else(|| self.now(Some(elapsed)));
        self.meter?;
        used
    }
}
