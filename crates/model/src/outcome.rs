//! Measurements.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agreed::{Agreed, Hosts};
use crate::arrivals::Arrivals;
use crate::cpu::CpuUsage;
use crate::event::Interim;
use crate::fields::{AsMeasured, AsSeconds};
use crate::host::HostFacts;
use crate::io::IoCounts;
use crate::latency::Latency;
use crate::many::{FlowThere, Flows, Window, WorkerThreads};
use crate::one_way::{OneWay, Stamps};
use crate::peer::{PeerProgram, ProcessCpu};
use crate::plan::TestPlan;
use crate::quality::Quality;
use crate::rate::Paced;
use crate::series::Series;
pub use crate::tally::{Tally, TcpFacts};
use crate::until::Until;

/// Measurements of one end in one iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndResult {
    /// The counts.
    pub tally: Tally,
    /// True if the counts of sends are unknown; those in `tally` are incomplete.
    pub sends_unknown: bool,
    /// True if the numbers of calls are unknown.
    pub calls_unknown: bool,
    /// True if the count of failed sends is unknown.
    pub failed_sends_unknown: bool,
    /// This end's own idea of the length of the run, seconds.
    pub elapsed: f64,
    /// CPU utilisation; `None` when not measured.
    pub cpu: Option<CpuUsage>,
    /// CPU time of the process; `None` unless the other end is iperf.
    pub process_cpu: Option<ProcessCpu>,
    /// `SO_SNDBUF` at the end, bytes.
    pub send_buffer_end: Option<u32>,
    /// `SO_RCVBUF` at the end, bytes.
    pub recv_buffer_end: Option<u32>,
    /// TCP segments retransmitted on the data connection; `None` where TCP does not say.
    pub retransmissions: Option<u32>,
    /// Congestion control in force; `None` when no connection was open to ask.
    pub congestion: Option<String>,
    /// True if the first segment of a connection had data (RFC 7413); `None` if unknown.
    pub fast_open: Option<bool>,
    /// The threads that served many flows; `None` with the plain loop, and from a
    /// netserver that does not say.
    pub worker_threads: Option<WorkerThreads>,
    /// netserver's counts of each of many flows; `None` unless asked for, and at netperf, where
    /// [`Flows`] has them.
    pub flows: Option<Vec<FlowThere>>,
    /// Settings of netserver's host that results depend on, by name; `None` unless asked for,
    /// and at netperf.
    pub settings: Option<Vec<(String, String)>>,
    /// System calls; `None` if each message took one call, and if unknown.
    pub io: Option<IoCounts>,
    /// Samples of its TCP connections; `None` unless asked for.
    pub series: Option<Series>,
    /// Timestamps of its transactions; `None` unless asked for.
    pub stamps: Option<Stamps>,
    /// The rate that was reached; `None` without a rate, and if unknown.
    pub paced: Option<Paced>,
    /// Numbered datagrams; `None` if they had no numbers.
    pub quality: Option<Quality>,
    /// The data that netserver received, by time; `None` unless asked for.
    pub arrivals: Option<Arrivals>,
}

impl EndResult {
    /// A figure of the sends; `None` if they are unknown.
    pub fn of_sends<T>(&self, pick: impl FnOnce(&Tally) -> T) -> Option<T> {
        (!self.sends_unknown).then(|| pick(&self.tally))
    }
}

/// One run of the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// Length of the run at netperf, seconds, the closing handshake included.
    pub elapsed: f64,
    /// Of that, time spent waiting for a pacing interval, seconds.
    pub paused: f64,
    /// netperf's end.
    pub local: EndResult,
    /// netserver's end; `None` with `-N`, or when its results never came.
    pub remote: Option<EndResult>,
    /// Segment size of the data connection, bytes; `None` where there is none.
    pub segment_size: Option<u32>,
    /// Encryption of the data, version and cipher suite; `None` if there was none.
    pub cipher: Option<String>,
    /// State of TCP at netperf's end; `None` unless asked for.
    pub tcp: Option<TcpFacts>,
    /// Results of many flows; `None` with the plain loop.
    pub many: Option<Flows>,
    /// Parts of transaction times; `None` unless asked for, and if both ends observed no
    /// transaction completely.
    pub one_way: Option<OneWay>,
}

impl Iteration {
    /// Time by which netserver receives longer than netperf waits, where a queue is drained, seconds.
    const WENT_ON: f64 = 1.0;
    /// Time by which netserver sends or receives longer, where both do or a signal ended the run, seconds.
    const SENT_ON: f64 = 0.1;

    /// The part of the run that counts, where that is not all of it.
    #[must_use]
    pub fn window(&self) -> Option<&Window> {
        self.many.as_ref()?.window.as_ref()
    }

    /// netperf's counts in the part of the run that counts.
    #[must_use]
    pub fn counted(&self) -> &Tally {
        self.window()
            .map_or(&self.local.tally, |window| &window.tally)
    }

    /// The time base of what netserver received, seconds: the length of the run, or the time
    /// from the first arrival to the last if that is longer, because a queue was drained after
    /// the end.
    #[must_use]
    pub fn received_in(&self) -> f64 {
        let Some(arrivals) = self.remote.as_ref().and_then(|end| end.arrivals.as_ref()) else {
            let receiver = |end: &&EndResult| end.tally.bytes_sent == 0;
            let there = self.remote.as_ref().filter(receiver);
            let there = there.map_or(0.0, |end| end.elapsed);
            // netperf did not wait until the queue of a connection was empty.
            let went_on = there > self.elapsed + Self::WENT_ON;
            return if went_on { there } else { self.elapsed };
        };
        match (arrivals.span(), arrivals.steady_span()) {
            (Some((span, blur)), _) if span > self.elapsed + blur => span,
            (_, Some(span)) if span > self.elapsed * (1.0 + Arrivals::UNEVEN) => span,
            _ => self.elapsed,
        }
    }

    /// Time base of netserver's counts. A netserver that only receives datagrams has waited for the
    /// end in its own time.
    #[must_use]
    pub fn remote_time(&self, plan: &TestPlan, remote: &EndResult) -> f64 {
        if plan.flow.sends && !plan.flow.receives && !plan.transport.row().reliable {
            self.received_in()
        } else if remote.elapsed > 0.0 {
            remote.elapsed
        } else {
            self.elapsed
        }
    }

    /// The time base of what netserver received, seconds. Of both ways over connections it is
    /// netserver's own, where that is longer: it ended when its queue and netperf's were empty.
    #[must_use]
    pub fn received_there_in(&self, plan: &TestPlan) -> f64 {
        let both = plan.flow.duplex.is_some() && plan.transport.row().reliable;
        let there = self.remote.as_ref().filter(|_| both);
        let there = there.map_or(0.0, |end| end.elapsed);
        if there > self.elapsed + Self::SENT_ON {
            there
        } else {
            self.received_in()
        }
    }

    /// Time bases of what netserver sent and received, seconds. It sends in its own time.
    #[must_use]
    pub fn remote_times(&self, plan: &TestPlan, remote: &EndResult) -> [f64; 2] {
        let sent = self.remote_time(plan, remote);
        match plan.flow.duplex {
            Some(_) => [sent, self.received_there_in(plan)],
            None => [sent; 2],
        }
    }

    /// The same for columns, which have the length of the run beside them: another time stands for it
    /// only where that makes a difference.
    pub(crate) fn remote_columns(&self, plan: &TestPlan, remote: &EndResult) -> [f64; 2] {
        let flow = plan.flow;
        let sends_alone = flow.receives && !flow.sends && !flow.connects;
        let sent = if sends_alone || flow.duplex.is_some() {
            self.remote_time(plan, remote)
        } else {
            self.elapsed
        };
        let received = self.received_there_in(plan);
        let went_on = sent > self.elapsed + Self::SENT_ON;
        [if went_on { sent } else { self.elapsed }, received]
    }

    /// The length of the part of the run that counts, seconds.
    #[must_use]
    pub fn timed(&self) -> f64 {
        self.window().map_or(self.elapsed, |window| window.seconds)
    }
}

/// Confidence that was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "confidence")]
pub struct Confidence {
    /// True if the width asked for was reached.
    pub met: bool,
    /// Full width reached for the result, percent of the mean.
    #[serde(rename = "result_width_percent", with = "AsMeasured")]
    pub result: f64,
    /// Full width reached for netperf's CPU utilisation, percent of the mean.
    #[serde(rename = "local_cpu_width_percent", with = "AsMeasured")]
    pub local_cpu: f64,
    /// Full width reached for netserver's CPU utilisation, percent of the mean.
    #[serde(rename = "remote_cpu_width_percent", with = "AsMeasured")]
    pub remote_cpu: f64,
}

/// Doubt about a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The run was ended by a signal before its time.
    EndedEarly,
    /// The peer went away; the figures cover what happened until then.
    PeerLost(String),
    /// Data that was still queued at the end of the time was discarded.
    QueueDiscarded,
    /// The connection was to be Multipath TCP, and the other end made plain TCP of it.
    FellBackToTcp,
    /// The clock of the times of operations did not run as the system's did.
    ClockWentWrong,
    /// netperf sent requests so late that the latency has it in it.
    GeneratorLate(String),
    /// Less was sent than the rate asked for.
    RateMissed(String),
    /// Requests without a response.
    Unanswered(String),
    /// A setting that is not in force as it was asked for.
    NotAsAsked(String),
    /// Nothing moved for a part of the run.
    Stalled(String),
    /// Nothing arrived: the run has no result.
    Unheard(String),
    /// netserver's result contradicts netperf's counts.
    Implausible(String),
    /// Figures were not precise enough at the end of the time, or are unknown.
    Imprecise(String),
    /// A datagram travels in fragments, all of which must arrive.
    Fragments(String),
    /// A CPU was so busy that it, not the network, may have been the limit.
    CpuBound(String),
    /// Both ends are on one host.
    OneHost,
}

impl Warning {
    /// The same of a peer that is not netserver.
    #[must_use]
    pub fn of_peer(self, peer: PeerProgram) -> Self {
        let named = |text: String| text.replace("netserver", peer.label());
        match self {
            Self::PeerLost(text) => Self::PeerLost(named(text)),
            Self::RateMissed(text) => Self::RateMissed(named(text)),
            Self::Stalled(text) => Self::Stalled(named(text)),
            Self::Unheard(text) => Self::Unheard(named(text)),
            Self::Implausible(text) => Self::Implausible(named(text)),
            Self::Imprecise(text) => Self::Imprecise(named(text)),
            Self::EndedEarly
            | Self::QueueDiscarded
            | Self::FellBackToTcp
            | Self::ClockWentWrong
            | Self::GeneratorLate(_)
            | Self::Unanswered(_)
            | Self::NotAsAsked(_)
            | Self::Fragments(_)
            | Self::CpuBound(_)
            | Self::OneHost => self,
        }
    }
}

/// Begin and end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Span {
    /// Start of the program, since 1970.
    #[serde(rename = "started_unix_seconds", with = "AsSeconds")]
    pub started: Duration,
    /// Time of the last result, since 1970.
    #[serde(rename = "ended_unix_seconds", with = "AsSeconds")]
    pub ended: Duration,
}

/// Everything a report can be made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The request.
    pub plan: TestPlan,
    /// Hosts of both ends.
    pub hosts: Hosts,
    /// Settings in force, as of the last iteration.
    pub agreed: Agreed,
    /// Every run, in order; at least one.
    pub iterations: Vec<Iteration>,
    /// Interim results of all iterations, in order; none unless they were asked for.
    pub intervals: Vec<Interim>,
    /// Times of operations, over all iterations; `None` if not kept.
    pub latency: Option<Latency>,
    /// Confidence that was reached; `None` if one iteration was asked for.
    pub confidence: Option<Confidence>,
    /// Precision that was reached; `None` without `--until`.
    pub until: Option<Until>,
    /// netperf's host.
    pub local_host: HostFacts,
    /// netserver's host; `None` if unknown.
    pub remote_host: Option<HostFacts>,
    /// Version of the program at the other end, if it is not netserver; `None` if unknown.
    pub peer_version: Option<String>,
    /// Identifier of this run.
    pub uuid: String,
    /// When the program began and when it had the last result.
    pub span: Span,
    /// Doubts.
    pub warnings: Vec<Warning>,
}

impl Outcome {
    /// Reason why the run has no result, or one that cannot be; `None` if it has one.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.warnings.iter().find_map(|warning| match warning {
            Warning::Unheard(why) | Warning::Implausible(why) => Some(why.as_str()),
            Warning::EndedEarly
            | Warning::PeerLost(_)
            | Warning::QueueDiscarded
            | Warning::FellBackToTcp
            | Warning::ClockWentWrong
            | Warning::GeneratorLate(_)
            | Warning::RateMissed(_)
            | Warning::Unanswered(_)
            | Warning::NotAsAsked(_)
            | Warning::Stalled(_)
            | Warning::Imprecise(_)
            | Warning::Fragments(_)
            | Warning::CpuBound(_)
            | Warning::OneHost => None,
        })
    }
}
