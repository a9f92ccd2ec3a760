//! `netperf check`: short runs to one host, and their summary.

use std::net::IpAddr;

use netperf_report::document::{
    Document, EndDocument, IntervalResult, IterationDocument, LatencySummary, MeasuredEnd,
    RunError, WarningText,
};
use netperf_stats::precision;
use netperf_web::unit::{Quantity, Unit};
use serde::Serialize;

pub(crate) mod text;

pub use text::Letters;

/// The schema of the summary as JSON.
pub const SCHEMA: &str = "netperf-check-1";
/// Requests per second of the probe that measures latency.
const PROBE_RATE: &str = "100";
/// Share of the throughput of TCP at which datagrams are sent, so that loss is that of the path
/// and not of a sender that is faster than it.
const DATAGRAM_SHARE: f64 = 0.5;
/// Limits of that rate in bits per second: one sender of datagrams that fit the MTU of Ethernet
/// reaches the upper one on most hosts.
const DATAGRAM_RATES: (f64, f64) = (64e3, 1e9);
/// Seconds between two values of throughput.
const INTERVAL: &str = "0.1";
/// Confidence level of the intervals of throughput.
pub(crate) const LEVEL: f64 = 0.95;

/// A run of a check, in order. Runs that load the path have a probe at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStep {
    /// Latency of the idle path.
    Idle,
    /// Throughput to netserver.
    Send,
    /// Latency meanwhile.
    SendLatency,
    /// Throughput from netserver.
    Receive,
    /// Latency meanwhile.
    ReceiveLatency,
    /// Datagrams to netserver.
    Datagrams,
}

impl CheckStep {
    /// Its measurement in words; also its label in the history.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Idle => "check: idle latency",
            Self::Send => "check: send",
            Self::SendLatency => "check: latency during send",
            Self::Receive => "check: receive",
            Self::ReceiveLatency => "check: latency during receive",
            Self::Datagrams => "check: datagrams",
        }
    }

    /// netperf's options. `rate` is that of datagrams in bits per second; `numbered` is true
    /// unless netserver cannot number datagrams.
    #[must_use]
    pub fn words(self, time: &str, rate: f64, numbered: bool) -> Vec<String> {
        let rate = format!("{rate:.0}");
        let test: &[&str] = match self {
            Self::Idle | Self::SendLatency | Self::ReceiveLatency => {
                &["-t", "TCP_RR", "--rate", PROBE_RATE]
            }
            Self::Send => &["-t", "TCP_STREAM", "-c", "-C", "-D", INTERVAL],
            Self::Receive => &["-t", "TCP_MAERTS", "-c", "-C", "-D", INTERVAL],
            Self::Datagrams if numbered => &["-t", "UDP_STREAM", "--sequence", "--rate", &rate],
            Self::Datagrams => &["-t", "UDP_STREAM", "--rate", &rate],
        };
        let words = ["--time", time].into_iter().chain(test.iter().copied());
        words.map(str::to_owned).collect()
    }
}

/// The rate of datagrams in bits per second, from the throughput of TCP.
#[must_use]
pub fn datagram_rate(send: Option<&Document>) -> f64 {
    let (least, most) = DATAGRAM_RATES;
    let throughput = send.and_then(throughput).unwrap_or(0.0);
    (throughput * DATAGRAM_SHARE).clamp(least, most)
}

/// Results of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckRuns {
    /// The host, as given.
    pub host: String,
    /// Address of this end on the path to the host, if known.
    pub source: Option<IpAddr>,
    /// The result of each run, or the reason of its failure.
    pub runs: Vec<(CheckStep, Result<Document, String>)>,
    /// Why the check is not complete, and the exit status.
    pub error: Option<(String, u8)>,
    /// The results of an earlier check of this host.
    pub earlier: Vec<(CheckStep, Document)>,
}

/// The summary of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckSummary {
    /// The schema.
    schema: &'static str,
    /// The version of this program.
    version: &'static str,
    /// The host, as given.
    host: String,
    /// True if every measurement was made and has a result.
    complete: bool,
    /// Why it is not complete. Null if measurements failed one by one, and if it is complete.
    error: Option<RunError>,
    /// Begin of the first run, in seconds since 1970.
    started_unix_seconds: Option<f64>,
    /// This host and the other one.
    local: Option<PathEnd>,
    remote: Option<PathEnd>,
    /// Latency of the idle path.
    idle: Option<ProbeLatency>,
    /// Throughput to netserver.
    send: Option<Load>,
    /// Throughput from netserver.
    receive: Option<Load>,
    /// Datagrams to netserver.
    datagrams: Option<Datagrams>,
    /// Doubts about the figures, each once.
    warnings: Vec<WarningText>,
    /// Runs that failed.
    failures: Vec<StepFailure>,
    /// Changes since the last check of this host.
    changes: Vec<SinceLast>,
    /// Begin of that check, in seconds since 1970.
    last_unix_seconds: Option<f64>,
}

/// An end of the path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PathEnd {
    address: Option<String>,
    interface: Option<String>,
    mtu_bytes: Option<u32>,
    /// Speed of the interface. Null if the kernel does not know it.
    speed_bits_per_second: Option<f64>,
    /// Version of netperf or netserver. Null of a stock netserver.
    program_version: Option<String>,
    /// Kernel and its release.
    system: Option<String>,
    machine: Option<String>,
    /// Congestion control of the TCP connection on which this end sends.
    congestion_control: Option<String>,
}

/// Latency of requests at a constant rate, from the time at which each was due.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProbeLatency {
    requests: u64,
    unanswered_requests: Option<u64>,
    p50_seconds: Option<f64>,
    p90_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    max_seconds: Option<f64>,
}

/// A direction under load.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Load {
    bits_per_second: f64,
    /// Half the width of the 95 % confidence interval. Null if there are too few values.
    plus_minus_bits_per_second: Option<f64>,
    /// Throughput in intervals of 0.1 s.
    series_bits_per_second: Vec<f64>,
    retransmitted_segments: Option<u32>,
    latency: Option<ProbeLatency>,
    local_cpu: Option<BusyCpus>,
    remote_cpu: Option<BusyCpus>,
}

/// CPU utilisation of a host.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BusyCpus {
    busy_percent: f64,
    peak_cpu: Option<i32>,
    peak_busy_percent: Option<f64>,
}

/// Datagrams.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Datagrams {
    asked_bits_per_second: Option<f64>,
    sent_bits_per_second: Option<f64>,
    received_bits_per_second: Option<f64>,
    sent_packets_per_second: Option<f64>,
    received_packets_per_second: Option<f64>,
    /// Mean bytes of a datagram.
    size_bytes: Option<f64>,
    sent: Option<u64>,
    lost: Option<u64>,
    lost_percent: Option<f64>,
    /// Of the lost ones, those that the receive buffer of the socket had no space for. Null if
    /// unknown.
    dropped_by_socket: Option<u64>,
    /// Datagrams that a full queue of the sending host refused; they do not count as sent.
    not_sent: Option<u64>,
    /// Null if netserver does not number datagrams.
    reordered: Option<u64>,
    duplicated: Option<u64>,
    jitter_seconds: Option<f64>,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
struct StepFailure {
    run: CheckStep,
    reason: String,
}

/// A figure now and then.
#[derive(Clone, Debug, Serialize)]
struct SinceLast {
    figure: &'static str,
    last: f64,
    now: f64,
    /// Now divided by then.
    ratio: f64,
}

impl CheckRuns {
    fn of(&self, step: CheckStep) -> Option<&Document> {
        let mut of = self.runs.iter().filter(|(of, _)| *of == step);
        of.next()?.1.as_ref().ok()
    }

    /// The throughput to netserver, if it is known.
    #[must_use]
    pub fn send(&self) -> Option<&Document> {
        self.of(CheckStep::Send)
    }

    /// True if no run has a result.
    #[must_use]
    pub fn nothing(&self) -> bool {
        self.runs.iter().all(|(_, run)| run.is_err())
    }

    /// The summary.
    #[must_use]
    pub fn summary(&self) -> CheckSummary {
        let first = self.first();
        let (send, receive) = (self.of(CheckStep::Send), self.of(CheckStep::Receive));
        let ends = first.map(|first| ends(first, send, receive));
        let (mut local, remote) = ends.unzip();
        if let Some(local) = &mut local {
            let source = self.source.map(|source| source.to_string());
            local.address = local.address.take().or(source);
        }
        let load = |step, probe| load(self.of(step)?, self.of(probe));
        let started = |document: &Document| document.span.started.as_secs_f64();
        CheckSummary {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            host: self.host.clone(),
            complete: self.error.is_none() && self.runs.iter().all(|(_, run)| run.is_ok()),
            error: self.error.clone().map(|(message, exit_status)| RunError {
                message,
                exit_status,
            }),
            started_unix_seconds: first.map(started),
            local,
            remote,
            idle: self.of(CheckStep::Idle).and_then(latency),
            send: load(CheckStep::Send, CheckStep::SendLatency),
            receive: load(CheckStep::Receive, CheckStep::ReceiveLatency),
            datagrams: self.of(CheckStep::Datagrams).and_then(datagrams),
            warnings: self.warnings(),
            failures: self.failures(),
            changes: self.changes(),
            last_unix_seconds: self.earlier.first().map(|(_, document)| started(document)),
        }
    }

    /// The address of the host, which the first run found.
    #[must_use]
    pub fn remote_address(&self) -> Option<IpAddr> {
        self.first()?.remote.address.as_ref()?.parse().ok()
    }

    /// The result of the first run that has one.
    fn first(&self) -> Option<&Document> {
        self.runs.iter().find_map(|(_, run)| run.as_ref().ok())
    }

    /// Warnings of all runs, each code once.
    fn warnings(&self) -> Vec<WarningText> {
        let mut warnings: Vec<WarningText> = Vec::new();
        let documents = self.runs.iter().filter_map(|(_, run)| run.as_ref().ok());
        for warning in documents.flat_map(|document| &document.warnings) {
            if warnings.iter().all(|known| known.code != warning.code) {
                warnings.push(warning.clone());
            }
        }
        warnings
    }

    fn failures(&self) -> Vec<StepFailure> {
        let failure = |(run, result): &(CheckStep, Result<Document, String>)| {
            let reason = result.as_ref().err()?.clone();
            Some(StepFailure { run: *run, reason })
        };
        self.runs.iter().filter_map(failure).collect()
    }

    /// Figures that an earlier check has, too.
    fn changes(&self) -> Vec<SinceLast> {
        let change = |&(figure, step, value): &(&'static str, CheckStep, FigureOf)| {
            let earlier = self.earlier.iter().find(|(of, _)| *of == step);
            let (last, now) = (value(&earlier?.1)?, value(self.of(step)?)?);
            let ratio = now / last;
            ratio.is_finite().then_some(SinceLast {
                figure,
                last,
                now,
                ratio,
            })
        };
        COMPARED.iter().filter_map(change).collect()
    }
}

/// A figure of a result.
type FigureOf = fn(&Document) -> Option<f64>;

/// Figures that are compared with those of the last check.
const COMPARED: [(&str, CheckStep, FigureOf); 5] = [
    ("idle latency P50", CheckStep::Idle, median),
    ("send", CheckStep::Send, throughput),
    ("latency P50 during send", CheckStep::SendLatency, median),
    ("receive", CheckStep::Receive, throughput),
    (
        "latency P50 during receive",
        CheckStep::ReceiveLatency,
        median,
    ),
];

fn median(document: &Document) -> Option<f64> {
    latency(document)?.p50_seconds
}

fn iteration(document: &Document) -> Option<&IterationDocument> {
    document.iterations.first()
}

pub(crate) fn throughput(document: &Document) -> Option<f64> {
    document
        .result
        .as_ref()?
        .throughput
        .throughput_bits_per_second
        .0
}

/// Both ends of the path, from the first run and from those that know a congestion control.
pub(crate) fn ends(
    first: &Document,
    send: Option<&Document>,
    receive: Option<&Document>,
) -> (PathEnd, PathEnd) {
    let sender = send.and_then(iteration);
    let receiver = receive
        .and_then(iteration)
        .and_then(|run| run.remote.as_ref());
    let local = sender.and_then(|run| run.local.congestion_control.clone());
    let remote = receiver.and_then(|end| end.congestion_control.clone());
    (
        PathEnd::of(&first.local, local),
        PathEnd::of(&first.remote, remote),
    )
}

impl PathEnd {
    fn of(end: &EndDocument, congestion_control: Option<String>) -> Self {
        let host = end.host.as_ref();
        let settings = host.and_then(|host| host.settings.as_ref());
        let setting = |name: &str| {
            let mut named = settings?.iter().filter(|(known, _)| known == name);
            named.next().map(|(_, value)| value.as_str())
        };
        let number = |name| setting(name)?.parse::<u32>().ok();
        let system = host.and_then(|host| host.sysname.clone());
        let release = host.and_then(|host| host.release.as_deref());
        Self {
            // A socket that is bound to no address has one for each path.
            address: end.address.clone().filter(|address| {
                let parsed = address.parse::<IpAddr>();
                !parsed.is_ok_and(|address| address.is_unspecified())
            }),
            interface: host.and_then(|host| host.interface.name.clone()),
            mtu_bytes: number("interface_mtu"),
            program_version: setting("netperf_version").map(str::to_owned),
            // In Mbit/s; -1 if the driver does not know it.
            speed_bits_per_second: number("interface_speed").map(|speed| f64::from(speed) * 1e6),
            system: system
                .zip(release)
                .map(|(system, release)| format!("{system} {release}")),
            machine: host.and_then(|host| host.machine.clone()),
            congestion_control,
        }
    }
}

pub(crate) fn latency(document: &Document) -> Option<ProbeLatency> {
    let of: &LatencySummary = document.latency.as_ref()?;
    let percentile = |percent: f64| {
        let found = of.percentiles.iter().find(|one| one.percent == percent);
        found?.nanoseconds.0.map(|nanoseconds| nanoseconds / 1e9)
    };
    Some(ProbeLatency {
        requests: of.count,
        unanswered_requests: document
            .rate
            .as_ref()
            .and_then(|rate| rate.unanswered_requests),
        p50_seconds: percentile(50.0),
        p90_seconds: percentile(90.0),
        p99_seconds: percentile(99.0),
        max_seconds: of.max_nanoseconds.map(seconds),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a time of up to hours")]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn load(run: &Document, probe: Option<&Document>) -> Option<Load> {
    let iteration = iteration(run)?;
    let rate = |interval: &IntervalResult| {
        let arrived = interval.arrived_bits_per_second.0;
        arrived.or(interval
            .rates
            .received_bits_per_second
            .0
            .filter(|_| run.test.receives))
    };
    let series: Vec<f64> = run.intervals.iter().filter_map(rate).collect();
    let interval = precision::of_mean(&series, LEVEL);
    let sender = if run.test.sends {
        Some(&iteration.local)
    } else {
        iteration.remote.as_ref()
    };
    Some(Load {
        bits_per_second: throughput(run)?,
        plus_minus_bits_per_second: interval.map(|interval| interval.half_width),
        series_bits_per_second: series,
        retransmitted_segments: sender.and_then(|end| end.retransmitted_segments),
        latency: probe.and_then(latency),
        local_cpu: cpu(&iteration.local),
        remote_cpu: iteration.remote.as_ref().and_then(cpu),
    })
}

pub(crate) fn cpu(end: &MeasuredEnd) -> Option<BusyCpus> {
    let cpu = end.cpu.as_ref()?;
    let known = |value: f64| Some(value).filter(|value| *value >= 0.0);
    Some(BusyCpus {
        busy_percent: known(cpu.busy)?,
        peak_cpu: Some(cpu.peak_id).filter(|id| *id >= 0),
        peak_busy_percent: known(cpu.peak_busy),
    })
}

pub(crate) fn datagrams(run: &Document) -> Option<Datagrams> {
    let iteration = iteration(run)?;
    let (sender, receiver) = (&iteration.local, iteration.remote.as_ref()?);
    let counted = receiver.datagrams.as_ref();
    Some(Datagrams {
        asked_bits_per_second: run
            .rate
            .as_ref()
            .filter(|rate| rate.unit == "bits")
            .map(|rate| rate.asked_per_second),
        sent_bits_per_second: sender.rates.sent_bits_per_second.0,
        received_bits_per_second: receiver.rates.received_bits_per_second.0,
        sent_packets_per_second: sender.rates.sent_packets_per_second.0,
        received_packets_per_second: receiver.rates.received_packets_per_second.0,
        size_bytes: sender.bytes_per_send.0.or(receiver.bytes_per_recv.0),
        sent: sender.counts.send_calls,
        lost: counted.map_or_else(|| unnumbered_lost(sender, receiver), |counted| counted.lost),
        dropped_by_socket: counted.and_then(|counted| counted.dropped_by_socket),
        not_sent: sender.counts.failed_sends,
        lost_percent: counted.map_or_else(
            || unnumbered_loss(sender, receiver),
            |counted| counted.lost_percent.0,
        ),
        reordered: counted.and_then(|counted| counted.reordered),
        duplicated: counted.and_then(|counted| counted.duplicated),
        jitter_seconds: counted
            .and_then(|counted| counted.jitter_microseconds.0)
            .map(|jitter| jitter / 1e6),
    })
}

/// Number of lost datagrams, from the counts of both ends.
fn unnumbered_lost(sender: &MeasuredEnd, receiver: &MeasuredEnd) -> Option<u64> {
    let received = receiver.counts.recv_calls?;
    Some(sender.counts.send_calls?.saturating_sub(received))
}

/// Loss in percent, from the bytes of both ends.
#[expect(clippy::cast_precision_loss, reason = "a share of bytes")]
fn unnumbered_loss(sender: &MeasuredEnd, receiver: &MeasuredEnd) -> Option<f64> {
    let (sent, received) = (sender.counts.sent_bytes?, receiver.counts.received_bytes);
    (sent > 0).then(|| 100.0 * (1.0 - received as f64 / sent as f64).max(0.0))
}

/// A number with its unit.
pub(crate) fn quantity(value: f64, unit: Unit) -> String {
    Quantity::new(value, unit).to_string()
}
