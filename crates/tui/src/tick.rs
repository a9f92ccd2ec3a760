//! The state of a run at one moment.

use std::time::Duration;

use netperf_model::{CpuUsage, Latency, ThroughputUnit};

/// The description of a test before it runs.
#[derive(Clone, Debug)]
pub struct About {
    /// The test.
    pub test: String,
    /// The host of netserver.
    pub host: String,
    /// The unit of rates.
    pub unit: ThroughputUnit,
    /// The unit of the rates of single flows.
    pub flow_unit: ThroughputUnit,
    /// The end of the test.
    pub end: RunEnd,
    /// True for TCP.
    pub tcp: bool,
    /// True if netserver measures its CPU utilisation.
    pub remote_cpu: bool,
    /// The kind of the rows below the totals, if there are any.
    pub each: Option<Each>,
    /// The number of flows.
    pub flows: u32,
}

/// The end of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunEnd {
    /// After this time.
    After(Duration),
    /// When the figure is known, or after this time.
    Within(Duration),
    /// After this amount of work.
    Amount(f64),
    /// When the user ends it.
    Open,
}

/// The kind of the rows below the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// Flows.
    Flow,
    /// Threads, for transports without figures per flow.
    Thread,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Work done: bytes or transactions.
    pub work: f64,
    /// Its duration in seconds.
    pub seconds: f64,
}

/// The state of a run at one moment.
#[derive(Clone, Debug, Default)]
pub struct LiveTick {
    /// Time since the run began.
    pub elapsed: Duration,
    /// Work since the last tick.
    pub now: Interval,
    /// Work since the beginning.
    pub all: Interval,
    /// Packets since the last tick; `None` of a transport without messages.
    pub packets: Option<f64>,
    /// Latencies; `None` without a histogram.
    pub latency: Option<LatencyTick>,
    /// TCP_INFO; `None` if there is none.
    pub tcp: Option<TcpTick>,
    /// CPU utilisation of this host since the last tick; `None` if it cannot be read.
    pub cpu: Option<CpuUsage>,
    /// Flows or threads.
    pub flows: Vec<FlowTick>,
}

/// Latencies of operations.
#[derive(Clone, Debug, Default)]
pub struct LatencyTick {
    /// Since the last tick.
    pub now: Latency,
    /// Since the beginning.
    pub all: Latency,
}

/// TCP_INFO of one connection, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpTick {
    /// Segments retransmitted since the connection was established.
    pub retransmitted: u64,
    /// Smoothed round-trip time of one connection, in microseconds.
    pub round_trip: Option<u32>,
    /// Congestion window of one connection, in segments.
    pub window: Option<u32>,
    /// Number of connections in the sum.
    pub of: u32,
}

/// One flow or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowTick {
    /// Its number, from 1.
    pub number: u32,
    /// Work since the beginning.
    pub work: f64,
    /// TCP_INFO of the flow.
    pub tcp: Option<TcpTick>,
}
