//! netperf's end of many flows.

mod visiting;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{
    Address, CpuUsage, Duplex, EndSetup, Family, Flows, Hosts, Latency, Limit as LimitPlan, Many,
    Paced, Tally, TestId, TestPlan, Token, Window, Workers,
};
use netperf_os::{SockAddr, alarm};
use netperf_transport::meeting::EndMark;
use netperf_transport::registry::{self, Asked};
use netperf_transport::{place, socket};

use self::visiting::Visiting;
use super::conductor::{Conducted, Score, conduct};
use super::crew::{self, Common, Work};
use super::flow::shares;
use super::open::How;
use super::shared::{Shared, Stage};
use super::worker::Report;
use crate::client::{GRACE, PATIENCE, Run, local_address};
use crate::end::{self, Carries};
use crate::error::{EngineError, Operation, refused};
use crate::finish::{AT_MOST, Drained};
use crate::live::Live;
use crate::record;
use crate::sendfile;
use crate::series::{self, Watched};
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
    /// Where connections of their own for every transaction come from.
    local: SocketAddr,
    setup: EndSetup,
    /// What TCP_SENDFILE sends.
    file: Option<File>,
    /// What data begins with, where it goes to the port of the control connection.
    token: Option<Token>,
    /// Where the connections are made that data comes from, where it has its own.
    back: Vec<Address>,
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
        socket::set_extras(&opened.socket, &plan.local.socket, socket::Side::Asks)
            .map_err(refused)?;
        let setup = end::setup(
            &end::of_flow(&plan.local, many.flows),
            &opened,
            largest,
            sends,
            receives,
        );
        let local = local_address(plan, hosts, family);
        let chosen = plan.transport.is_inet() && !local.ip().is_unspecified();
        Ok(Self {
            plan,
            many,
            threads: crew::threads(&workers, many.flows, plan.transport),
            file: (plan.test == TestId::TcpSendfile)
                .then(|| sendfile::source(plan, &setup))
                .transpose()?,
            workers,
            family,
            from: chosen.then(|| SocketAddr::new(local.ip(), 0)),
            local,
            setup,
            token: None,
            back: Vec::new(),
        })
    }

    /// What the sockets and the buffers really are.
    #[must_use]
    pub const fn setup(&self) -> &EndSetup {
        &self.setup
    }

    /// Data goes to the port of the control connection, and begins with this.
    pub const fn goes_with(&mut self, token: Token) {
        self.token = Some(token);
    }

    /// Data that comes has connections of its own, made to these in turn.
    pub fn comes_from(&mut self, remotes: Vec<Address>) {
        self.back = remotes;
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
        let (targets, back) = (self.addresses(remotes)?, self.addresses(&self.back)?);
        let first = if self.many.warmup.is_zero() {
            Stage::Count
        } else {
            Stage::Warm
        };
        let shared = Shared::new(to_usize(self.threads), first);
        let shared = shared.map_err(Operation::Create.failed())?;
        let counts = live.of_workers(to_usize(self.threads));
        let watched = live.watch(self.plan.local.series, true);
        let common = Common {
            live: Some(live),
            ..self.common(&shared, &counts, watched)
        };
        let mut meter = CpuMeter::new(&self);
        let begun = clock::now();
        let asked = Asked {
            socket: &plan.local.socket,
            associations: plan.associations,
            exchange: plan.flow.is_request_response(),
        };
        let visiting = Visiting {
            crowd: &self,
            targets: &targets,
            back: &back,
            common,
            conduct: || {
                let score = Score {
                    early: Some((live, self.early_grace())),
                    ..self.score()
                };
                conduct(&shared, &counts, &score, controls, &mut |stage| {
                    common.begin_series();
                    meter.turn(stage);
                })
            },
        };
        let run = || registry::visit(plan.transport, asked, visiting);
        let (reports, conducted) = series::beside(watched, run)??;
        live.end();
        if alarm::stopped_by_user() && !conducted.counted {
            let interrupted = io::ErrorKind::Interrupted.into();
            return Err(Operation::Warmup.failed()(interrupted));
        }
        let cut = conducted.lost.is_some() || alarm::stopped_by_user();
        let (reports, broke) = crew::all(reports, cut);
        let moved = |report: &Report| report.tally != Tally::default();
        let broke = match broke {
            Some(error) if !reports.iter().any(moved) => return Err(error),
            broke => broke,
        };
        let mut run = self.finished(reports, &conducted, meter, begun)?;
        run.result.series = watched.and_then(Watched::series);
        run.broke = broke;
        Ok(run)
    }

    fn common<'r>(
        &'r self,
        shared: &'r Shared,
        counts: &'r [crate::live::Counts],
        series: Option<&'r Watched>,
    ) -> Common<'r> {
        let flow = self.plan.flow;
        let work = if let Some(over) = flow.duplex {
            Work::Exchange {
                apart: over == Duplex::Separate,
                ends_both: false,
            }
        } else if flow.is_request_response() && self.plan.local.rate.is_some() {
            Work::AskAtTimes
        } else if flow.is_request_response() {
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
            asking: true,
            flows: self.many.flows,
            end: &self.plan.local,
            setup: &self.setup,
            transport: self.plan.transport,
            margins: self.many.has_margins(),
            latency: self.plan.latency,
            // Its loop saw to the end of each of two connections, or gave up on it.
            closes: flow.sends && flow.duplex != Some(Duplex::Separate),
            series,
            live: None,
            tells: self.plan.remote.until,
        }
    }

    fn addresses(&self, remotes: &[Address]) -> Result<Vec<SockAddr>, EngineError> {
        let each = remotes.iter();
        each.map(|remote| place::sock_addr(self.plan.transport, remote))
            .collect::<io::Result<_>>()
            .map_err(Operation::Connect.failed())
    }

    const fn how(&self) -> How<'_> {
        How {
            transport: self.plan.transport,
            family: self.family,
            options: &self.plan.local.socket,
            from: self.from,
            token: self.token,
        }
    }

    /// Where the flows of a worker go, in order.
    fn targets_of<'t>(
        &self,
        index: u32,
        targets: &'t [SockAddr],
    ) -> impl Iterator<Item = &'t SockAddr> + use<'t> {
        let mine = (index..self.many.flows).step_by(to_usize(self.threads));
        mine.map(|flow| &targets[to_usize(flow) % targets.len()])
    }

    /// How much each flow may do. Where only netserver sends, it counts.
    fn share(&self) -> impl Fn(u32) -> u64 + use<> {
        let flow = self.plan.flow;
        let units = match self.plan.limit {
            LimitPlan::Units(units) if flow.sends || flow.connects => Some(units),
            LimitPlan::Units(_)
            | LimitPlan::Messages(_)
            | LimitPlan::Time(_)
            | LimitPlan::UntilStopped => None,
        };
        let of = shares(units.unwrap_or(0), self.many.flows);
        move |flow| units.map_or(u64::MAX, |_| of(flow))
    }

    /// From an end before the time to where what is under way is abandoned: what netserver
    /// sends to the last has come before its end of it does.
    fn early_grace(&self) -> Duration {
        if self.plan.remote.until || plan_goes_on(self.plan) {
            AT_MOST
        } else {
            GRACE
        }
    }

    fn score(&self) -> Score<'static> {
        let many = self.many;
        // What is under way both ways has come before netserver's end of it does.
        let both = plan_goes_on(self.plan);
        let by_user = Some(if both { AT_MOST } else { GRACE });
        let LimitPlan::Time(time) = self.plan.limit else {
            return Score {
                patience: Some(PATIENCE),
                by_user,
                ..Score::default()
            };
        };
        let counted = many.warmup + time;
        let finish = counted + many.cooldown;
        // A receiver goes on until netserver, which has the time in whole seconds, ends it.
        let apart = self.plan.flow.duplex == Some(Duplex::Separate);
        let abandon = if both {
            finish + AT_MOST
        } else if (self.plan.flow.sends && !apart) || self.plan.flow.connects {
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
            by_user,
            ..Score::default()
        }
    }

    /// How long the run took: a sender's is over when everything has arrived.
    fn elapsed(&self, reports: &[Report], conducted: &Conducted) -> Duration {
        let flow = self.plan.flow;
        // What may be lost is never known to have arrived.
        let sends_only =
            flow.sends && !flow.receives && !flow.connects && self.plan.transport.row().reliable;
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
        let begun = flow.counts_transactions() || flow.duplex.is_some();
        let in_vain = abandoned && begun;
        let end = conducted.finished.filter(|_| in_vain).or(last);
        end.map_or(Duration::ZERO, |end| end.since(conducted.opened))
    }

    fn finished(
        &self,
        mut reports: Vec<Report>,
        conducted: &Conducted,
        meter: CpuMeter<'_>,
        begun: Moment,
    ) -> Result<Run, EngineError> {
        let plan = self.plan;
        let marks = reports
            .iter_mut()
            .flat_map(|report| std::mem::take(&mut report.marks));
        let end_mark = all_marks(marks.collect());
        let reports = reports.as_slice();
        let elapsed = self.elapsed(reports, conducted);
        let cpu = meter.usage(elapsed)?;
        let facts = facts(reports);
        let drained = |report: &Report| match report.drained {
            Drained::Lost(lost) => Some(lost),
            Drained::Closed | Drained::StillMoving => None,
        };
        let hears = plan.flow.duplex.is_some() && plan.transport.is_connected();
        let cut = |report: &Report| hears && report.ended == Ended::Abandoned;
        let unclosed = !alarm::stopped_by_user() && reports.iter().any(cut);
        let lost: Option<Lost> = conducted
            .lost
            .or_else(|| reports.iter().find_map(drained))
            .or_else(|| unclosed.then_some(Lost::NotClosed));
        let cleanly =
            |report: &Report| report.ended != Ended::Abandoned && report.drained == Drained::Closed;
        let mut result = end::result(
            &plan.local,
            &self.setup,
            facts.clone(),
            moved(reports),
            elapsed,
            (cpu, None),
        );
        result.crew = Some(crew::crew(&self.workers, self.threads));
        result.paced = paced(reports);
        Ok(Run {
            result,
            elapsed: elapsed.as_secs_f64(),
            paused: 0.0,
            latency: latency(reports),
            segment_size: reports.first().and_then(|report| report.segment_size),
            stopped_by_user: alarm::stopped_by_user(),
            ended_cleanly: reports.iter().all(cleanly),
            lost,
            broke: None,
            tcp_info: None,
            fallback: facts.fallback,
            cipher: reports.first().and_then(|report| report.cipher.clone()),
            round_trip: facts.round_trip,
            end_mark,
            many: Some(self.flows(reports, begun)),
        })
    }

    /// What the flows did, each in its place.
    fn flows(&self, reports: &[Report], begun: Moment) -> Flows {
        let apart = self.plan.flow.duplex == Some(Duplex::Separate);
        let report = |index: u32| reports.get(to_usize(index % self.threads));
        let place = |index: u32| to_usize(index / self.threads);
        // The connections back are behind those there.
        let behind = |index: u32, report: &Report| place(index) + report.flows.len() / 2;
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
            .filter(|_| started == to_usize(self.many.flows));
        Flows {
            each: (0..self.many.flows)
                .map(|index| flow(index).unwrap_or_default())
                .collect(),
            ports: (0..self.many.flows).map_while(port).collect(),
            ports_back: (0..self.many.flows).map_while(port_back).collect(),
            there: Vec::new(),
            fairness_there: None,
            window: self.many.has_margins().then(|| window(reports)),
            setup: connected.map_or(0.0, |end| end.since(begun).as_secs_f64()),
            skew: skew.map(|(earliest, latest)| latest.since(earliest).as_secs_f64()),
        }
    }
}

/// Whether connections go on until netserver has closed them, so that the end of the time
/// leaves what is under way both ways to come.
fn plan_goes_on(plan: &TestPlan) -> bool {
    plan.flow.duplex == Some(Duplex::Same) && plan.transport.is_connected()
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

/// What keeping to a rate came to in all threads; `None` where nobody did.
pub(super) fn paced(reports: &[Report]) -> Option<Paced> {
    let mut each = reports.iter().filter_map(|report| report.paced.as_ref());
    let mut all = each.next()?.clone();
    each.for_each(|more| all.merge_beside(more));
    Some(all)
}

fn latency(reports: &[Report]) -> Option<Latency> {
    let mut all: Option<Latency> = None;
    for latency in reports.iter().filter_map(|report| report.latency.as_ref()) {
        all.get_or_insert_default().merge(latency);
    }
    all
}

/// What all threads moved.
pub(super) fn moved(reports: &[Report]) -> Tally {
    let tallies = reports.iter().map(|report| &report.tally);
    tallies.fold(Tally::default(), |all, one| all.plus(one))
}

/// What the first flow knows, with the retransmissions of all.
pub(super) fn facts(reports: &[Report]) -> socket::SocketFacts {
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
