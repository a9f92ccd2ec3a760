//! netperf's end of many flows.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{
    Address, CpuUsage, EndSetup, Family, Flows, Hosts, Latency, Limit as LimitPlan, Many, Tally,
    TestPlan, Window, Workers,
};
use netperf_os::SockAddr;
use netperf_os::bell;
use netperf_transport::place;
use netperf_transport::socket;

use super::conductor::{Conducted, Score, conduct};
use super::crew::{self, Common, Work};
use super::flow::shares;
use super::open::{How, open};
use super::shared::{Shared, Stage};
use super::worker::Report;
use crate::client::{GRACE, PATIENCE, Run, local_address};
use crate::end::{self, Carries};
use crate::error::{EngineError, Operation};
use crate::finish::Drained;
use crate::live::Live;
use crate::record;
use crate::stop::{Ended, Lost};

/// How long after its time netserver may send.
const LATE: Duration = Duration::from_secs(4);

/// netperf's end of many flows, ready to run once.
#[derive(Debug)]
pub struct Crowd<'a> {
    plan: &'a TestPlan,
    many: &'a Many,
    workers: Workers,
    threads: u32,
    family: Family,
    from: Option<SocketAddr>,
    setup: EndSetup,
}

impl<'a> Crowd<'a> {
    /// Finds out what sockets and buffers are like. `workers` are the threads, with
    /// their CPUs where they are to have some.
    ///
    /// # Errors
    /// When a socket cannot be opened.
    pub fn prepare(
        plan: &'a TestPlan,
        many: &'a Many,
        hosts: &Hosts,
        workers: Workers,
    ) -> Result<Self, EngineError> {
        end::prepare_cpu(&plan.local)?;
        record::prepare(plan.latency);
        let family = hosts.remote.family();
        let opened = socket::open(plan.transport, family, &plan.local.socket)
            .map_err(Operation::Create.failed())?;
        let sends = Carries::of(plan.flow.sends, plan.request);
        let receives = Carries::of(plan.flow.receives, plan.response);
        let peer = Some(hosts.remote.address);
        let largest = socket::largest_message(plan.transport, &opened.socket, peer);
        let setup = end::setup(&plan.local, &opened, largest, sends, receives);
        let local = local_address(plan, hosts, family);
        let chosen = plan.transport.is_inet() && !local.ip().is_unspecified();
        Ok(Self {
            plan,
            many,
            threads: crew::threads(&workers, many.flows),
            workers,
            family,
            from: chosen.then(|| SocketAddr::new(local.ip(), 0)),
            setup,
        })
    }

    /// What the sockets and the buffers really are.
    #[must_use]
    pub const fn setup(&self) -> &EndSetup {
        &self.setup
    }

    /// Runs the test against the data sockets at `remotes`, which flows take in turn;
    /// `live` can be read meanwhile.
    ///
    /// # Errors
    /// When a data connection cannot be made or breaks.
    pub fn run(
        self,
        remotes: &[Address],
        controls: &[BorrowedFd<'_>],
        live: &Live,
    ) -> Result<Run, EngineError> {
        let plan = self.plan;
        let targets = remotes
            .iter()
            .map(|remote| place::sock_addr(plan.transport, remote))
            .collect::<io::Result<Vec<SockAddr>>>()
            .map_err(Operation::Connect.failed())?;
        let first = if self.many.warmup.is_zero() {
            Stage::Count
        } else {
            Stage::Warm
        };
        let shared = Shared::new(to_usize(self.threads), first);
        let counts = live.of_workers(to_usize(self.threads));
        let common = self.common(&shared, &counts);
        let (flows, threads) = (self.many.flows, self.threads);
        let how = self.how();
        let sockets = |index: u32| {
            let mine = (index..flows).step_by(to_usize(threads));
            let target = |flow: u32| &targets[to_usize(flow) % targets.len()];
            open(how, mine.map(target), &shared)
        };
        let share = self.share();
        let mut meter = CpuMeter::new(&self);
        let begun = clock::now();
        let (reports, conducted) = common.run(sockets, share, || {
            conduct(&shared, &counts, &self.score(), controls, &mut |stage| {
                meter.turn(stage);
            })
        });
        live.end();
        let cut = conducted.lost.is_some() || bell::stopped_by_user();
        let reports = crew::all(reports, cut)?;
        self.finished(&reports, &conducted, meter, begun)
    }

    fn common<'r>(&'r self, shared: &'r Shared, counts: &'r [crate::live::Counts]) -> Common<'r> {
        let flow = self.plan.flow;
        let work = if flow.is_request_response() {
            Work::Ask {
                burst: to_usize(self.plan.burst),
            }
        } else if flow.sends {
            Work::Push
        } else {
            Work::Pull
        };
        Common {
            shared,
            counts,
            workers: &self.workers,
            work,
            end: &self.plan.local,
            setup: &self.setup,
            transport: self.plan.transport,
            margins: self.many.has_margins(),
            latency: self.plan.latency,
            closes: flow.sends,
        }
    }

    fn how(&self) -> How<'_> {
        How {
            transport: self.plan.transport,
            family: self.family,
            options: &self.plan.local.socket,
            from: self.from,
        }
    }

    /// How much each flow may do. Where only netserver sends, it counts.
    fn share(&self) -> impl Fn(u32) -> u64 + use<> {
        let flow = self.plan.flow;
        let units = match self.plan.limit {
            LimitPlan::Units(units) if flow.sends => Some(units),
            LimitPlan::Units(_)
            | LimitPlan::Messages(_)
            | LimitPlan::Time(_)
            | LimitPlan::UntilStopped => None,
        };
        let of = shares(units.unwrap_or(0), self.many.flows);
        move |flow| units.map_or(u64::MAX, |_| of(flow))
    }

    fn score(&self) -> Score {
        let many = self.many;
        let by_user = Some(GRACE);
        let LimitPlan::Time(time) = self.plan.limit else {
            return Score {
                stages: Vec::new(),
                patience: Some(PATIENCE),
                by_user,
            };
        };
        let counted = many.warmup + time;
        let finish = counted + many.cooldown;
        // A receiver goes on until netserver, which has the time in whole seconds, ends it.
        let abandon = if self.plan.flow.sends {
            finish + GRACE
        } else {
            finish + Duration::from_secs(1) + LATE
        };
        let mut stages = vec![(many.warmup, Stage::Count)];
        if many.has_margins() {
            stages.push((counted, Stage::Cool));
        }
        stages.push((finish, Stage::Finish));
        stages.push((abandon, Stage::Abandon));
        Score {
            stages,
            patience: None,
            by_user,
        }
    }

    /// How long the run took: a sender's is over when everything has arrived.
    fn elapsed(&self, reports: &[Report], conducted: &Conducted) -> Duration {
        let sends_only = self.plan.flow.sends && !self.plan.flow.receives;
        let over = |report: &Report| {
            if sends_only {
                report.closed
            } else {
                report.over
            }
        };
        let last = reports.iter().map(over).max();
        let abandoned = reports
            .iter()
            .any(|report| report.ended == Ended::Abandoned);
        // A transaction that did not finish took time but was not counted.
        let in_vain = abandoned && self.plan.flow.counts_transactions();
        let end = conducted.finished.filter(|_| in_vain).or(last);
        end.map_or(Duration::ZERO, |end| end.since(conducted.opened))
    }

    fn finished(
        &self,
        reports: &[Report],
        conducted: &Conducted,
        meter: CpuMeter<'_>,
        begun: Moment,
    ) -> Result<Run, EngineError> {
        let plan = self.plan;
        let elapsed = self.elapsed(reports, conducted);
        let cpu = meter.usage(elapsed)?;
        let mut tally = Tally::default();
        reports
            .iter()
            .for_each(|report| tally = tally.plus(&report.tally));
        let facts = facts(reports);
        let drained = |report: &Report| match report.drained {
            Drained::Lost(lost) => Some(lost),
            Drained::Closed | Drained::StillMoving => None,
        };
        let lost: Option<Lost> = conducted.lost.or(reports.iter().find_map(drained));
        let cleanly =
            |report: &Report| report.ended != Ended::Abandoned && report.drained == Drained::Closed;
        let mut result = end::result(
            &plan.local,
            &self.setup,
            facts.clone(),
            tally,
            elapsed,
            (cpu, None),
        );
        result.crew = Some(crew::crew(&self.workers, self.threads));
        Ok(Run {
            result,
            elapsed: elapsed.as_secs_f64(),
            paused: 0.0,
            latency: latency(reports),
            segment_size: reports.first().and_then(|report| report.segment_size),
            stopped_by_user: bell::stopped_by_user(),
            ended_cleanly: reports.iter().all(cleanly),
            lost,
            tcp_info: None,
            fallback: facts.fallback,
            cipher: None,
            round_trip: facts.round_trip,
            end_mark: None,
            many: Some(self.flows(reports, begun)),
        })
    }

    /// What the flows did, each in its place.
    fn flows(&self, reports: &[Report], begun: Moment) -> Flows {
        let flow = |index: u32| {
            let report = reports.get(to_usize(index % self.threads))?;
            report.flows.get(to_usize(index / self.threads)).copied()
        };
        let connected = reports.iter().map(|report| report.connected).max();
        let started: usize = reports.iter().map(|report| report.starts.flows).sum();
        let earliest = reports.iter().filter_map(|report| report.starts.earliest);
        let latest = reports.iter().filter_map(|report| report.starts.latest);
        let skew = earliest
            .min()
            .zip(latest.max())
            .filter(|_| started == to_usize(self.many.flows));
        Flows {
            each: (0..self.many.flows)
                .map(|index| flow(index).unwrap_or_default())
                .collect(),
            window: self.many.has_margins().then(|| window(reports)),
            setup: connected.map_or(0.0, |end| end.since(begun).as_secs_f64()),
            skew: skew.map(|(earliest, latest)| latest.since(earliest).as_secs_f64()),
        }
    }
}

/// The part that counts, put together: workers see its edges within one round of each
/// other, so their mean length is its length.
fn window(reports: &[Report]) -> Window {
    let mut window = Window::default();
    let mut workers = 0_u32;
    for (length, tally) in reports.iter().filter_map(|report| report.window) {
        window.tally = window.tally.plus(&tally);
        window.seconds += length.as_secs_f64();
        workers += 1;
    }
    window.seconds /= f64::from(workers.max(1));
    window
}

fn latency(reports: &[Report]) -> Option<Latency> {
    let mut all: Option<Latency> = None;
    for latency in reports.iter().filter_map(|report| report.latency.as_ref()) {
        all.get_or_insert_default().merge(latency);
    }
    all
}

/// What the first flow knows, with the retransmissions of all.
pub(super) fn facts(reports: &[Report]) -> socket::Facts {
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

/// Measures CPU utilisation in the part of the run that counts.
struct CpuMeter<'a> {
    crowd: &'a Crowd<'a>,
    meter: Result<Option<netperf_measure::cpu::Meter>, EngineError>,
    begun: Option<Moment>,
    used: Option<Result<Option<CpuUsage>, EngineError>>,
}

impl<'a> CpuMeter<'a> {
    fn new(crowd: &'a Crowd<'a>) -> Self {
        Self {
            crowd,
            meter: Ok(None),
            begun: None,
            used: None,
        }
    }

    fn turn(&mut self, stage: Stage) {
        if stage == Stage::Count && self.begun.is_none() {
            self.meter = end::meter(&self.crowd.plan.local);
            self.begun = Some(clock::now());
        }
        if stage >= Stage::Cool && self.crowd.many.has_margins() && self.used.is_none() {
            self.used = Some(self.now(None));
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

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
