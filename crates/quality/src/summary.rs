//! The summary of a check: what was measured in each phase, and what it means.

use std::net::IpAddr;

use netperf_report::document::{Document, RunError, WarningText};
use serde::Serialize;

use crate::distribution::{Increase, TimeDistribution};
use crate::documents::{self, CheckSeries, LoadRun};
use crate::evaluation::PhaseView;
use crate::grade::{Grade, GradeTable};
use crate::last::{LastCheck, SinceLast};
use crate::load::LoadTruth;
use crate::loss::DirectionLoss;
use crate::parts::{self, BusyCpus, Datagrams, PathEnd};
use crate::probes::{DelayJitter, DscpFate, ProbeLateness, ProbeSet};
use crate::profile::{CheckPhase, Profile, ServiceClass};
use crate::rpm::Responsiveness;
use crate::side::{FlowQueueing, QueueSide};
use crate::words::{CallsOutlook, PathVerdict, PhaseVerdict};

/// The schema of the summary as JSON.
pub(crate) const SCHEMA: &str = "netperf-check-2";
/// Points of a series in the summary.
const POINTS: usize = 600;

/// A direction of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckWay {
    /// From netserver.
    Down,
    /// To netserver.
    Up,
}

/// The purpose of a run of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckRole {
    /// Probes of a class.
    Probe(ServiceClass),
    /// New connections with a request each.
    Exchanges,
    /// Bulk data of a class.
    Load(CheckWay, ServiceClass),
    /// Datagrams to netserver.
    Datagrams,
}

impl CheckRole {
    /// It in words.
    #[must_use]
    pub fn words(self, phase: CheckPhase) -> String {
        let phase = phase.word();
        match self {
            Self::Probe(class) => format!("{phase}: probes of {}", class.word()),
            Self::Exchanges => format!("{phase}: new connections"),
            Self::Load(CheckWay::Down, class) => {
                format!("{phase}: {} from netserver", class.word())
            }
            Self::Load(CheckWay::Up, class) => format!("{phase}: {} to netserver", class.word()),
            Self::Datagrams => format!("{phase}: datagrams"),
        }
    }
}

/// A phase and the results of its runs, or the reasons of their failures.
#[derive(Clone, Debug)]
pub struct PhaseRuns {
    /// The phase.
    pub phase: CheckPhase,
    /// The runs.
    pub runs: Vec<(CheckRole, Result<Document, String>)>,
}

/// Settings of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckSettings {
    /// The profile.
    pub profile: Profile,
    /// Flows of all classes from netserver.
    pub down_flows: u32,
    /// Flows of all classes to netserver.
    pub up_flows: u32,
    /// Classes of service.
    pub classes: Vec<ServiceClass>,
    /// Time between the probes of a class.
    pub interval_seconds: f64,
    /// Rate of datagrams that are the load instead of TCP. Null with TCP.
    pub load_bits_per_second: Option<f64>,
}

/// Results of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckRuns {
    /// The host, as given.
    pub host: String,
    /// Address of this end on the path to the host, if known.
    pub source: Option<IpAddr>,
    /// Its settings.
    pub settings: CheckSettings,
    /// The phases, in order.
    pub phases: Vec<PhaseRuns>,
    /// Why the check is not complete, and the exit status.
    pub error: Option<RunError>,
    /// Features that netserver lacks, and the values that are missing therefore.
    pub missing: Vec<String>,
}

/// The summary of a check.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckSummary {
    /// The schema. Its number is raised when a field changes its meaning or goes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// The version of this program.
    pub version: &'static str,
    /// The host, as given.
    pub host: String,
    /// True if every measurement was made and has a result.
    pub complete: bool,
    /// Why it is not complete. Null if measurements failed one by one, and if it is complete.
    pub error: Option<RunError>,
    /// Begin of the first run, in seconds since 1970.
    pub started_unix_seconds: Option<f64>,
    /// Its settings.
    pub settings: CheckSettings,
    /// The answer in words.
    pub answer: String,
    /// Parts of the verdict.
    pub verdict: PathVerdict,
    /// True if this host was late itself, so that its values are not those of the path.
    pub degraded: bool,
    /// Why.
    pub degraded_reason: Option<String>,
    /// The phases.
    pub phases: Vec<PhaseSummary>,
    /// This host and the other one.
    pub local: Option<PathEnd>,
    /// The other one.
    pub remote: Option<PathEnd>,
    /// Features that netserver lacks, and the values that are missing therefore.
    pub missing: Vec<String>,
    /// Warnings, each once.
    pub warnings: Vec<WarningText>,
    /// Runs that failed.
    pub failures: Vec<RunFailure>,
    /// Changes since the last check of this host.
    pub changes: Vec<SinceLast>,
    /// Begin of that check, in seconds since 1970.
    pub last_unix_seconds: Option<f64>,
    /// Values over time.
    pub series: Vec<CheckSeries>,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunFailure {
    /// The run.
    pub run: String,
    /// Why.
    pub reason: String,
}

/// Measurements of a phase.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSummary {
    /// The phase.
    pub phase: CheckPhase,
    /// The part of it that counts, in seconds since 1970.
    pub window_unix_seconds: Option<[f64; 2]>,
    /// The load from netserver.
    pub down: Option<LoadSummary>,
    /// The load to netserver.
    pub up: Option<LoadSummary>,
    /// Datagrams to netserver.
    pub datagrams: Option<Datagrams>,
    /// Latency of each class.
    pub latency: Vec<ClassLatency>,
    /// Responsiveness under the load.
    pub responsiveness: Option<Responsiveness>,
    /// Place of the queue. Null if the link was not filled.
    pub queue: Option<QueueSide>,
    /// Queueing of flows: one queue each, or one for all.
    pub flow_queueing: FlowQueueing,
    /// Why the link was not filled. Null if it was.
    pub not_filled: Option<String>,
    /// Delays of this host in sending probes.
    pub lateness: Option<ProbeLateness>,
    /// CPU utilisation of this host.
    pub local_cpu: Option<BusyCpus>,
    /// CPU utilisation of netserver's host.
    pub remote_cpu: Option<BusyCpus>,
}

/// The load of a direction.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadSummary {
    /// Goodput of all classes.
    pub bits_per_second: f64,
    /// Half the width of the 95 % confidence interval. Null if there are too few values.
    pub plus_minus_bits_per_second: Option<f64>,
    /// Goodput of each class.
    pub classes: Vec<ClassRate>,
    /// Jain's fairness of the classes, per flow of each. Null with one class.
    pub class_fairness: Option<f64>,
    /// Segments sent again. Null if unknown.
    pub retransmitted_segments: Option<u32>,
    /// Smoothed round trip of the loaded connections (`tcp_info`). Null if unknown.
    pub loaded_round_trip: Option<TimeDistribution>,
    /// Times of the senders.
    pub senders: LoadTruth,
}

/// The goodput of a class.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassRate {
    /// The class.
    pub class: ServiceClass,
    /// Its goodput.
    pub bits_per_second: f64,
    /// Jain's fairness of its flows. Null if unknown.
    pub flow_fairness: Option<f64>,
}

/// The latency of a class in a phase.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassLatency {
    /// The class.
    pub class: ServiceClass,
    /// The round trip, from when each probe was due. Null if no probe came back.
    pub round_trip: Option<TimeDistribution>,
    /// Its increase over the idle path.
    pub increase: Option<Increase>,
    /// Increase on both ways together, without the time of either program. Null if netserver does
    /// not tell.
    pub path_increase: Option<Increase>,
    /// The median divided by that of the idle path.
    pub times_idle: Option<f64>,
    /// Increase on the way to netserver. Null if netserver does not tell.
    pub up_increase: Option<Increase>,
    /// Increase on the way from it.
    pub down_increase: Option<Increase>,
    /// Loss on the way to netserver. Null if netserver does not tell.
    pub up_loss: Option<DirectionLoss>,
    /// Loss on the way from it.
    pub down_loss: Option<DirectionLoss>,
    /// Requests without a response, where netserver does not tell which way they were lost.
    pub unanswered: Option<u64>,
    /// Variation of the delay to netserver.
    pub up_jitter: Option<DelayJitter>,
    /// Variation of the delay from it.
    pub down_jitter: Option<DelayJitter>,
    /// Codepoint on the way to netserver, as sent and as received.
    pub up_dscp: Option<DscpFate>,
    /// Codepoint on the way from netserver.
    pub down_dscp: Option<DscpFate>,
    /// The probes of the part that counts.
    #[serde(skip)]
    pub(crate) probes: Option<ProbeSet>,
}

impl ClassLatency {
    /// The increase of the path: without the time of either program, if that is known.
    #[must_use]
    pub fn of_path(&self) -> Option<Increase> {
        self.path_increase.or(self.increase)
    }
}

impl PhaseRuns {
    pub(crate) fn documents(&self) -> impl Iterator<Item = (CheckRole, &Document)> {
        self.runs
            .iter()
            .filter_map(|(role, run)| Some((*role, run.as_ref().ok()?)))
    }

    /// The document of a role.
    pub(crate) fn of(&self, wanted: CheckRole) -> Option<&Document> {
        let mut all = self.documents();
        all.find(|(role, _)| *role == wanted)
            .map(|(_, document)| document)
    }

    pub(crate) fn loads(&self) -> Vec<LoadRun> {
        let load = |(role, document): (CheckRole, &Document)| match role {
            CheckRole::Load(way, class) => LoadRun::of(document, class, way),
            CheckRole::Probe(_) | CheckRole::Exchanges | CheckRole::Datagrams => None,
        };
        self.documents().filter_map(load).collect()
    }
}

impl CheckRuns {
    /// True if no run has a result.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.phases
            .iter()
            .all(|phase| phase.documents().next().is_none())
    }

    /// The address of the host, which the first run found.
    #[must_use]
    pub fn remote_address(&self) -> Option<IpAddr> {
        self.first()?.remote.address.as_ref()?.parse().ok()
    }

    /// The throughput of a direction so far, bits per second.
    #[must_use]
    pub fn throughput(&self, way: CheckWay) -> Option<f64> {
        let loads = self.phases.iter().rev().map(PhaseRuns::loads);
        let mut rates = loads.filter_map(|loads| {
            let of = loads.iter().filter(|load| load.way == way);
            let rates: Vec<f64> = of
                .filter_map(|load| load.mean((load.began()?, load.ended()?)))
                .collect();
            (!rates.is_empty()).then(|| rates.iter().sum::<f64>())
        });
        rates.next()
    }

    fn documents(&self) -> impl Iterator<Item = (CheckRole, &Document)> {
        self.phases.iter().flat_map(PhaseRuns::documents)
    }

    /// The result of the first run that has one.
    fn first(&self) -> Option<&Document> {
        self.documents().next().map(|(_, document)| document)
    }

    /// The first load of a direction.
    fn load(&self, wanted: CheckWay) -> Option<&Document> {
        let mut all = self.documents();
        all.find(|(role, _)| matches!(role, CheckRole::Load(way, _) if *way == wanted))
            .map(|(_, document)| document)
    }

    /// The summary; `earlier` is that of the last check of this host.
    #[must_use]
    pub fn summary(&self, earlier: Option<&LastCheck>) -> CheckSummary {
        let first = self.first();
        let ends = first
            .map(|first| parts::ends(first, self.load(CheckWay::Up), self.load(CheckWay::Down)));
        let (mut local, remote) = ends.unzip();
        if let Some(local) = &mut local {
            let source = self.source.map(|source| source.to_string());
            local.address = local.address.take().or(source);
        }
        let phases = self.phases();
        let degraded = phases
            .iter()
            .filter_map(|phase| phase.lateness?.degraded())
            .next();
        let verdict = verdict(&phases);
        let cut_short = |(_, document): (CheckRole, &Document)| !document.complete;
        let failures = self.failures();
        let mut summary = CheckSummary {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            host: self.host.clone(),
            complete: self.error.is_none()
                && failures.is_empty()
                && !self.phases.is_empty()
                && !self.documents().any(cut_short),
            error: self.error.clone(),
            started_unix_seconds: first.map(|first| first.span.started.as_secs_f64()),
            settings: self.settings.clone(),
            answer: verdict.words(),
            verdict,
            degraded: degraded.is_some(),
            degraded_reason: degraded,
            phases,
            local,
            remote,
            missing: self.missing.clone(),
            warnings: self.warnings(),
            failures,
            changes: Vec::new(),
            last_unix_seconds: earlier.and_then(|earlier| earlier.started),
            series: self.series(),
        };
        if let Some(earlier) = earlier {
            summary.changes = earlier.changes(&summary);
        }
        summary
    }

    fn phases(&self) -> Vec<PhaseSummary> {
        let mut summaries: Vec<PhaseSummary> = Vec::new();
        for runs in &self.phases {
            let idle = summaries.iter().find(|one| one.phase == CheckPhase::Idle);
            let summary = PhaseView::new(runs, idle).summary();
            summaries.push(summary);
        }
        summaries
    }

    /// Warnings of all runs, each code once. That this host was late is said of the whole check.
    fn warnings(&self) -> Vec<WarningText> {
        const SAID_ELSEWHERE: [&str; 2] = ["generator_late", "ended_early"];
        let mut warnings: Vec<WarningText> = Vec::new();
        for warning in self
            .documents()
            .flat_map(|(_, document)| &document.warnings)
        {
            let is_new = warnings.iter().all(|known| known.code != warning.code);
            if is_new && !SAID_ELSEWHERE.contains(&&*warning.code) {
                warnings.push(warning.clone());
            }
        }
        warnings
    }

    fn failures(&self) -> Vec<RunFailure> {
        let of = |phase: &PhaseRuns| {
            let failure = |(role, run): &(CheckRole, Result<Document, String>)| {
                Some(RunFailure {
                    run: role.words(phase.phase),
                    reason: run.as_ref().err()?.clone(),
                })
            };
            phase.runs.iter().filter_map(failure).collect::<Vec<_>>()
        };
        self.phases.iter().flat_map(of).collect()
    }

    fn series(&self) -> Vec<CheckSeries> {
        let began = self
            .first()
            .map_or(0.0, |first| first.span.started.as_secs_f64());
        let each = self.phases.iter().flat_map(|phase| {
            let of = move |class: ServiceClass, of: &str, values: Vec<(f64, f64)>| CheckSeries {
                phase: phase.phase.word().to_owned(),
                class: class.word().to_owned(),
                of: of.to_owned(),
                points: documents::thinned(
                    &values
                        .iter()
                        .map(|(at, value)| (at - began, *value))
                        .collect::<Vec<_>>(),
                    POINTS,
                ),
            };
            let loads = phase.loads().into_iter().map(move |load| {
                let name = if load.way == CheckWay::Up {
                    "up"
                } else {
                    "down"
                };
                of(
                    load.class,
                    name,
                    load.rates
                        .iter()
                        .map(|(at, _, bits)| (*at, *bits))
                        .collect(),
                )
            });
            let probes = phase.documents().filter_map(move |(role, document)| {
                let CheckRole::Probe(class) = role else {
                    return None;
                };
                let trips = documents::probes(document)?.round_trips();
                let known = trips.into_iter().filter_map(|(at, took)| Some((at, took?)));
                Some(of(class, "round trip", known.collect()))
            });
            loads.chain(probes).collect::<Vec<_>>()
        });
        each.collect()
    }
}

/// The verdict on the phases with a load.
fn verdict(phases: &[PhaseSummary]) -> PathVerdict {
    let loaded = phases
        .iter()
        .filter(|phase| phase.down.is_some() || phase.up.is_some());
    let verdicts: Vec<(PhaseVerdict, &PhaseSummary)> = loaded
        .map(|phase| {
            let increase = phase.latency.first().and_then(ClassLatency::of_path);
            let mean = increase.map(|increase| increase.mean_seconds);
            let verdict = PhaseVerdict {
                phase: phase.phase.word().to_owned(),
                grade: mean
                    .filter(|_| phase.not_filled.is_none())
                    .and_then(|mean| {
                        Grade::of(GradeTable::DslReports, &[(phase.phase.word(), mean)])
                    }),
                increase_seconds: mean,
                queue: phase.queue,
                not_filled: phase.not_filled.clone(),
            };
            (verdict, phase)
        })
        .collect();
    let filled: Vec<&(PhaseVerdict, &PhaseSummary)> = verdicts
        .iter()
        .filter(|(verdict, _)| verdict.not_filled.is_none())
        .collect();
    let alone = filled.iter().any(|(verdict, _)| verdict.phase != "both");
    // The letter is that of the worst direction: a mean with the better one would hide it.
    let worst = filled
        .iter()
        .filter(|(verdict, _)| !alone || verdict.phase != "both")
        .filter_map(|(verdict, _)| Some((verdict.phase.as_str(), verdict.increase_seconds?)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    let grade = worst.and_then(|worst| Grade::of(GradeTable::DslReports, &[worst]));
    let calls = filled.iter().filter_map(|(_, phase)| {
        let first = phase.latency.first()?;
        let lost = [first.up_loss, first.down_loss];
        let lost: f64 = lost.iter().flatten().map(|loss| loss.lost_share).sum();
        Some((first.of_path()?.p95_seconds, lost))
    });
    let calls = calls.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)));
    PathVerdict {
        lost_share: calls.map(|(_, lost)| lost),
        calls: calls
            .filter(|_| grade.is_some())
            .map(|(increase, lost)| CallsOutlook::of(increase, lost)),
        grade,
        phases: verdicts.into_iter().map(|(verdict, _)| verdict).collect(),
    }
}

/// The schema of a summary as JSON, which is in `docs/schema`.
#[cfg(feature = "schema")]
#[must_use]
pub fn schema() -> String {
    netperf_report::document::schema_of::<CheckSummary>(SCHEMA)
}
