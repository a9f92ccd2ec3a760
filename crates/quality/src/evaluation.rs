//! A phase under evaluation: what its runs say of the path.

use netperf_report::document::Document;
use netperf_stats::moments;

use crate::distribution::{Increase, TimeDistribution};
use crate::documents::{self, LoadRun, busiest, iteration};
use crate::load::{LoadTruth, jain};
use crate::parts::{self, BusyCpus};
use crate::probes::{PathProbe, ProbeLateness, ProbeSet};
use crate::profile::ServiceClass;
use crate::rpm::Responsiveness;
use crate::side::{FlowQueueing, QueueSide, SideIncreases};
use crate::stability::Stability;
use crate::summary::{
    CheckRole, CheckWay, ClassLatency, ClassRate, LoadSummary, PhaseRuns, PhaseSummary,
};

/// Time after the beginning of probes that does not count: the first ones wake up both hosts.
const WAKE: f64 = 0.1;
/// The longest time of a load that does not count, and its share: queues and windows grow in it.
const RAMP: (f64, f64) = (2.0, 1.0 / 3.0);
/// The median increase of latency that proves a full link, seconds: bursts of senders that something
/// else limits make smaller ones.
const FULL: f64 = 5e-3;

/// A phase under evaluation.
pub(crate) struct PhaseView<'a> {
    runs: &'a PhaseRuns,
    loads: Vec<LoadRun>,
    window: Option<(f64, f64)>,
    idle: Option<&'a PhaseSummary>,
}

/// The part of a phase that counts: the loads are under way, and no longer grow.
fn window(runs: &PhaseRuns, loads: &[LoadRun]) -> Option<(f64, f64)> {
    let began = loads
        .iter()
        .filter_map(LoadRun::began)
        .fold(f64::NAN, f64::max);
    let ended = loads
        .iter()
        .filter_map(LoadRun::ended)
        .fold(f64::NAN, f64::min);
    if began < ended {
        let (most, share) = RAMP;
        return Some((began + (share * (ended - began)).min(most), ended));
    }
    let mut sets = runs
        .documents()
        .filter_map(|(_, run)| documents::probes(run));
    let first = sets.next()?;
    let length = moments::count(first.each.len()) * first.interval;
    let wake = WAKE.min(length / 10.0);
    Some((first.began + wake, first.began + length + first.interval))
}

impl<'a> PhaseView<'a> {
    pub(crate) fn new(runs: &'a PhaseRuns, idle: Option<&'a PhaseSummary>) -> Self {
        let loads = runs.loads();
        let window = window(runs, &loads);
        Self {
            runs,
            loads,
            window,
            idle,
        }
    }

    pub(crate) fn summary(&self) -> PhaseSummary {
        let latency: Vec<ClassLatency> = self.latency();
        let (down, up) = (self.load(CheckWay::Down), self.load(CheckWay::Up));
        let first = latency.first();
        let increases = first.and_then(|first| self.increases(first));
        let queued = increases.is_some_and(|increases| {
            increases.side() != QueueSide::None && increases.round_trip >= FULL
        });
        let limits = [&down, &up].into_iter().flatten();
        let limit = limits
            .filter_map(|load| self.with_cpus(load.senders).limit(queued))
            .next();
        let loaded = !self.loads.is_empty();
        let lateness = latency
            .iter()
            .filter_map(|one| Some(one.probes.as_ref()?.lateness()));
        let [local_cpu, remote_cpu] = self.cpus();
        PhaseSummary {
            phase: self.runs.phase,
            window_unix_seconds: self.window.map(|(from, to)| [from, to]),
            datagrams: self
                .runs
                .of(CheckRole::Datagrams)
                .and_then(parts::datagrams),
            queue: increases
                .filter(|_| loaded && limit.is_none())
                .map(|increases| increases.side()),
            flow_queueing: self.flow_queueing(&[&down, &up], first),
            not_filled: limit.map(|limit| limit.reason().to_owned()),
            responsiveness: loaded.then(|| self.responsiveness()).flatten(),
            lateness: lateness.reduce(ProbeLateness::with),
            local_cpu,
            remote_cpu,
            down,
            up,
            latency,
        }
    }

    /// Utilisation of the hosts in this phase: the busiest of what its runs say.
    fn cpus(&self) -> [Option<BusyCpus>; 2] {
        let mut found: [Option<BusyCpus>; 2] = [None, None];
        for (_, document) in self.runs.documents() {
            let Some(run) = iteration(document) else {
                continue;
            };
            let ends = [Some(&run.local), run.remote.as_ref()];
            for (known, end) in found.iter_mut().zip(ends) {
                let cpu = end.and_then(parts::cpu);
                let is_busier = cpu.as_ref().is_some_and(|cpu| {
                    known
                        .as_ref()
                        .is_none_or(|known| known.busy_percent < cpu.busy_percent)
                });
                if is_busier {
                    *known = cpu;
                }
            }
        }
        found
    }

    /// The truth of a load with the CPUs of both hosts.
    fn with_cpus(&self, truth: LoadTruth) -> LoadTruth {
        let ends = self
            .runs
            .documents()
            .filter_map(|(_, document)| iteration(document));
        let busy = ends.flat_map(|run| {
            let remote = run.remote.as_ref().and_then(busiest);
            busiest(&run.local).into_iter().chain(remote)
        });
        LoadTruth {
            busiest_cpu_share: busy.reduce(f64::max),
            ..truth
        }
    }

    fn load(&self, way: CheckWay) -> Option<LoadSummary> {
        let loads: Vec<&LoadRun> = self.loads.iter().filter(|load| load.way == way).collect();
        let window = self.window?;
        let classes: Vec<ClassRate> = loads
            .iter()
            .filter_map(|load| {
                Some(ClassRate {
                    class: load.class,
                    bits_per_second: load.mean(window)?,
                    flow_fairness: load.fairness,
                })
            })
            .collect();
        let rates: Vec<f64> = classes.iter().map(|class| class.bits_per_second).collect();
        let loaded = loads.iter().flat_map(|load| &load.round_trips);
        let loaded = loaded.filter(|(at, _)| *at >= window.0 && *at <= window.1);
        let share = |pick: fn(&LoadTruth) -> Option<f64>| {
            let known: Vec<f64> = loads.iter().filter_map(|load| pick(&load.truth)).collect();
            moments::mean(&known)
        };
        (!rates.is_empty()).then(|| LoadSummary {
            bits_per_second: rates.iter().sum(),
            plus_minus_bits_per_second: documents::half_width(&loads, window),
            class_fairness: (rates.len() > 1).then(|| jain(&rates)).flatten(),
            classes,
            retransmitted_segments: loads.iter().map(|load| load.retransmitted).sum(),
            loaded_round_trip: TimeDistribution::of(loaded.map(|(_, seconds)| *seconds)),
            senders: LoadTruth {
                busy_share: share(|truth| truth.busy_share),
                window_limited_share: share(|truth| truth.window_limited_share),
                busiest_cpu_share: share(|truth| truth.busiest_cpu_share),
                asked_share: share(|truth| truth.asked_share),
            },
        })
    }

    /// Latency of a class while the path was idle.
    fn idle_of(&self, class: ServiceClass) -> Option<&ClassLatency> {
        self.idle?.latency.iter().find(|one| one.class == class)
    }

    fn latency(&self) -> Vec<ClassLatency> {
        let latency = |(role, document): (CheckRole, &Document)| match role {
            CheckRole::Probe(class) => Some(self.class(class, document)),
            CheckRole::Exchanges | CheckRole::Load(..) | CheckRole::Datagrams => None,
        };
        self.runs.documents().filter_map(latency).collect()
    }

    fn class(&self, class: ServiceClass, document: &Document) -> ClassLatency {
        let all = documents::probes(document);
        let (from, to) = self.window.unwrap_or((0.0, f64::INFINITY));
        let probes = all.as_ref().map(|all| all.between(from, to));
        let round_trip = probes.as_ref().map_or_else(
            || documents::histogram(document),
            |probes| {
                TimeDistribution::of(
                    probes
                        .round_trips()
                        .into_iter()
                        .filter_map(|(_, took)| took),
                )
            },
        );
        let idle = self.idle_of(class);
        let before = idle.and_then(|idle| idle.round_trip);
        let part = |part: fn(&PathProbe) -> Option<f64>, clocks: u8| {
            let of = |set: &ProbeSet| TimeDistribution::of(set.parts(part));
            let idle = idle?.probes.as_ref()?;
            let seconds = from - idle.began;
            Some(Increase::over(
                &of(idle)?,
                &of(probes.as_ref()?)?,
                seconds,
                clocks,
            ))
        };
        let [up_dscp, down_dscp] = probes
            .as_ref()
            .map_or([None, None], |probes| probes.dscp(class.tos()).map(Some));
        let all = all.as_ref();
        ClassLatency {
            class,
            increase: before
                .zip(round_trip)
                .map(|(idle, loaded)| Increase::over(&idle, &loaded, 0.0, 1)),
            times_idle: before
                .zip(round_trip)
                .map(|(idle, loaded)| loaded.p50_seconds / idle.p50_seconds)
                .filter(|factor| factor.is_finite()),
            round_trip,
            up_increase: part(PathProbe::up, 2),
            down_increase: part(PathProbe::down, 2),
            path_increase: part(PathProbe::path, 1),
            // Loss is of the whole phase.
            up_loss: all.map(ProbeSet::loss_up),
            down_loss: all.map(ProbeSet::loss_down),
            unanswered: document
                .rate
                .as_ref()
                .and_then(|rate| rate.unanswered_requests),
            up_jitter: probes.as_ref().and_then(|set| set.jitter(PathProbe::up)),
            down_jitter: probes.as_ref().and_then(|set| set.jitter(PathProbe::down)),
            up_dscp,
            down_dscp,
            probes,
        }
    }

    /// The median increases of a class, part by part.
    fn increases(&self, latency: &ClassLatency) -> Option<SideIncreases> {
        let idle = self.idle_of(latency.class)?;
        let part = |part: fn(&PathProbe) -> Option<f64>| {
            let of = |set: &ProbeSet| TimeDistribution::of(set.parts(part));
            let loaded = of(latency.probes.as_ref()?)?;
            Some(loaded.p50_seconds - of(idle.probes.as_ref()?)?.p50_seconds)
        };
        let increase = latency.of_path()?;
        let error = [latency.up_increase, latency.down_increase];
        let error = error.iter().flatten().map(|one| one.error_seconds);
        Some(SideIncreases {
            round_trip: increase.p50_seconds,
            up: latency.up_increase.map(|up| up.p50_seconds),
            down: latency.down_increase.map(|down| down.p50_seconds),
            this_host: part(PathProbe::own_queue),
            other_host: part(PathProbe::far_queue),
            error: error.fold(increase.error_seconds, f64::max),
        })
    }

    fn flow_queueing(
        &self,
        loads: &[&Option<LoadSummary>],
        first: Option<&ClassLatency>,
    ) -> FlowQueueing {
        let idle = first.and_then(|first| self.idle_of(first.class)?.round_trip);
        let increase = |load: &LoadSummary| {
            let loaded = load.loaded_round_trip?;
            Some(loaded.p50_seconds - idle?.p50_seconds)
        };
        let loaded = loads.iter().filter_map(|load| increase(load.as_ref()?));
        let beside = first.and_then(|first| Some(first.of_path()?.p50_seconds));
        FlowQueueing::of(beside, loaded.reduce(f64::max))
    }

    fn responsiveness(&self) -> Option<Responsiveness> {
        let (from, to) = self.window?;
        let exchanges = documents::exchanges(self.runs.of(CheckRole::Exchanges)?);
        let loaded: Vec<(f64, f64)> = self
            .loads
            .iter()
            .flat_map(|load| load.round_trips.iter().copied())
            .filter(|(at, _)| *at >= from && *at <= to)
            .collect();
        // Intervals of a second.
        let mut goodput = Vec::new();
        let mut responsiveness = Vec::new();
        let mut begin = from;
        while begin + 1.0 <= to {
            let interval = (begin, begin + 1.0);
            goodput.push(
                self.loads
                    .iter()
                    .filter_map(|load| load.mean(interval))
                    .sum(),
            );
            let within = loaded
                .iter()
                .filter(|(at, _)| *at >= begin && *at < begin + 1.0);
            let times: Vec<f64> = within.map(|(_, seconds)| *seconds).collect();
            if let Some(mean) = crate::rpm::trimmed_mean(times) {
                responsiveness.push(60.0 / mean);
            }
            begin += 1.0;
        }
        let confidence = Stability::confidence(&goodput, &responsiveness);
        let loaded = (loaded.into_iter().map(|(_, seconds)| seconds), "tcp_info");
        Responsiveness::over_tcp(exchanges, loaded, confidence)
    }
}
