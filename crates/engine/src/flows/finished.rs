//! The report of a run of many flows, from the reports of its threads.

use std::time::Duration;

use netperf_measure::clock::Moment;
use netperf_model::sizes::to_usize;
use netperf_model::{
    Duplex, EndFlows, EndJob, FlowThere, Flows, IoCounts, Latency, Paced, Quality, Tally,
};
use netperf_os::alarm;
use netperf_transport::meeting::EndMark;
use netperf_transport::socket;

use super::coordinator::Coordinated;
use super::cpu_meter::CpuMeter;
use super::worker::{WorkerReport, window};
use super::workers;
use crate::end;
use crate::error::EngineError;
use crate::finish::Drained;
use crate::report::EndReport;
use crate::stop::{Ended, Lost};
use crate::timing::{self, PAD};

/// A run that is over.
pub(super) struct FinishedRun<'a> {
    pub(super) job: &'a EndJob,
    pub(super) flows: &'a EndFlows,
    pub(super) threads: u32,
    /// Data that arrived after the end of the time does not count.
    pub(super) discarded: bool,
}

impl FinishedRun<'_> {
    /// The end of datagrams that netperf receives and that count: netserver ends in its own time, and
    /// what it had queued comes later.
    pub(super) fn last_datagrams(
        &self,
        reports: &[WorkerReport],
        coordinated: &Coordinated,
    ) -> Option<Moment> {
        if !timing::netperf_receives_datagrams(self.job) || self.discarded {
            return None;
        }
        let late = reports.iter().filter_map(|report| report.came_late).max();
        coordinated.finished.max(late)
    }

    /// The length of the run: a sender's is over when everything has arrived.
    fn elapsed(&self, reports: &[WorkerReport], coordinated: &Coordinated) -> Duration {
        let job = self.job;
        let abandoned = reports
            .iter()
            .any(|report| report.ended == Ended::Abandoned);
        if !job.is_netperf() {
            let only_sends = job.only_sends() && !job.connects;
            let in_vain = if job.connects {
                coordinated.idle
            } else if abandoned && !only_sends {
                timing::given_up(job, coordinated.quiet, PAD)
            } else {
                Duration::ZERO
            };
            return coordinated.opened.elapsed().saturating_sub(in_vain);
        }
        if let Some(end) = self.last_datagrams(reports, coordinated) {
            return end.since(coordinated.opened);
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
        let end = coordinated.finished.filter(|_| in_vain).or(last);
        end.map_or(Duration::ZERO, |end| end.since(coordinated.opened))
    }

    /// The report of the run.
    pub(super) fn finished(
        &self,
        mut reports: Vec<WorkerReport>,
        coordinated: &Coordinated,
        meter: CpuMeter<'_>,
        begun: Moment,
        setup: &netperf_model::EndSetup,
    ) -> Result<EndReport, EngineError> {
        let job = self.job;
        let mut stamps = reports.iter_mut().filter_map(|report| report.stamps.take());
        let stamps = stamps.next().map(|mut all| {
            stamps.for_each(|other| all.add(other));
            all
        });
        let marks = reports
            .iter_mut()
            .flat_map(|report| std::mem::take(&mut report.left.marks));
        let end_mark = all_marks(marks.collect());
        let reports = reports.as_slice();
        let elapsed = self.elapsed(reports, coordinated);
        let cpu = meter.usage(elapsed)?;
        let facts = facts(reports);
        let counts = reports.iter().filter_map(|report| report.left.counts);
        let counts = counts.reduce(IoCounts::plus);
        let cleanly = |report: &WorkerReport| {
            report.ended != Ended::Abandoned && report.drained() == Drained::Closed
        };
        let mut result = end::result(
            &job.end,
            setup,
            facts.clone(),
            moved(reports),
            elapsed,
            (cpu, counts),
        );
        result.worker_threads = Some(workers::worker_threads(&self.flows.workers, self.threads));
        result.paced = paced(reports);
        result.stamps = stamps;
        let qualities = reports.iter().filter_map(|report| report.quality);
        let overflowed = facts.overflowed.map(u64::from);
        let quality = qualities.reduce(|all, one| all.beside(&one));
        result.quality = quality.map(|quality| Quality {
            overflowed,
            ..quality
        });
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
                .filter_map(|report| report.left.held_back.filter(|_| !job.counts_transactions()))
                .max(),
            unasked: 0,
            queued: reports
                .iter()
                .any(|report| report.drained() == Drained::StillMoving),
            lost: self.lost(reports, coordinated),
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
    fn lost(&self, reports: &[WorkerReport], coordinated: &Coordinated) -> Option<Lost> {
        let drained = |report: &WorkerReport| match report.drained() {
            Drained::Lost(lost) => Some(lost),
            Drained::Closed | Drained::StillMoving | Drained::Discarded => None,
        };
        let hears = self.job.duplex.is_some() && self.job.transport.is_connected();
        let cut = |report: &WorkerReport| hears && report.ended == Ended::Abandoned;
        let unclosed = !self.discarded && !alarm::stopped_by_user() && reports.iter().any(cut);
        // Only netserver promises to answer the end with an end.
        let drained = || reports.iter().find_map(drained);
        let drained = self.job.has_peer.then(drained).flatten();
        coordinated
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
        .map(|report| report.left.facts.clone())
        .unwrap_or_default();
    let all = reports
        .iter()
        .filter_map(|report| report.left.facts.retransmissions);
    known.retransmissions = all.reduce(u32::saturating_add);
    let overflowed = reports
        .iter()
        .filter_map(|report| report.left.facts.overflowed);
    known.overflowed = overflowed.reduce(u32::saturating_add);
    known
}

/// One mark that sends all of them.
fn all_marks(mut marks: Vec<EndMark>) -> Option<EndMark> {
    (!marks.is_empty()).then(|| EndMark::new(move || marks.iter_mut().for_each(EndMark::send)))
}
