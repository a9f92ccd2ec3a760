//! What was measured.

use crate::agreed::{Agreed, Hosts};
use crate::cpu::CpuUsage;
use crate::host::HostFacts;
use crate::latency::Latency;
use crate::plan::TestPlan;

/// Counts kept by the loop of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes handed to the kernel.
    pub bytes_sent: u64,
    /// Bytes got from the kernel.
    pub bytes_received: u64,
    /// Sends that moved data.
    pub send_calls: u64,
    /// Receives that returned data.
    pub recv_calls: u64,
    /// Sends dropped because a local queue was full.
    pub failed_sends: u64,
    /// Transactions or connections completed.
    pub transactions: u64,
}

/// What one end measured in one iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndResult {
    /// The counts.
    pub tally: Tally,
    /// This end's own idea of the length of the run, seconds.
    pub elapsed: f64,
    /// CPU utilisation; `None` when not measured.
    pub cpu: Option<CpuUsage>,
    /// `SO_SNDBUF` at the end, bytes.
    pub send_buffer_end: Option<u32>,
    /// `SO_RCVBUF` at the end, bytes.
    pub recv_buffer_end: Option<u32>,
    /// TCP segments retransmitted on the data connection; `None` where TCP does not say.
    pub retransmissions: Option<u32>,
    /// Congestion control in force; `None` when no connection was open to ask.
    pub congestion: Option<String>,
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
}

/// How far confidence got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// Whether the width asked for was reached.
    pub met: bool,
    /// Full width reached for the result, percent.
    pub result: f64,
    /// Full width reached for local CPU, percent.
    pub local_cpu: f64,
    /// Full width reached for remote CPU, percent.
    pub remote_cpu: f64,
}

/// Doubt about a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The run was ended by a signal before its time.
    EndedEarly,
    /// The peer went away; the figures cover what happened until then.
    PeerLost(String),
}

/// Everything a report can be made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was asked for.
    pub plan: TestPlan,
    /// Who took part.
    pub hosts: Hosts,
    /// What the ends agreed on, as of the last iteration.
    pub agreed: Agreed,
    /// Every run, in order; at least one.
    pub iterations: Vec<Iteration>,
    /// How long operations took, over all iterations; `None` when not kept.
    pub latency: Option<Latency>,
    /// How far confidence got; `None` when one iteration was asked for.
    pub confidence: Option<Confidence>,
    /// netperf's host.
    pub local_host: HostFacts,
    /// netserver's host; `None` when nobody asked, or when it is of a make that cannot tell.
    pub remote_host: Option<HostFacts>,
    /// Identifier of this run.
    pub uuid: String,
    /// Doubts.
    pub warnings: Vec<Warning>,
}
