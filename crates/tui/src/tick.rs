//! What is known of a run at one moment.

use std::time::Duration;

use netperf_model::{CpuUsage, Latency, Unit};

/// What is known of a test before it runs.
#[derive(Clone, Debug)]
pub struct About {
    /// The test.
    pub test: String,
    /// netserver's host.
    pub host: String,
    /// The unit of rates.
    pub unit: Unit,
    /// The unit of the rates of single flows.
    pub flow_unit: Unit,
    /// What ends it.
    pub end: End,
    /// Whether it runs over TCP.
    pub tcp: bool,
    /// Whether netserver measures its CPU utilisation.
    pub remote_cpu: bool,
    /// What there are several of, if anything.
    pub each: Option<Each>,
    /// How many flows there are.
    pub flows: u32,
}

/// What ends a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// This long.
    After(Duration),
    /// What was found out by then, at the latest.
    Within(Duration),
    /// This much work.
    Amount(f64),
    /// The user.
    Open,
}

/// What a screen tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// Flows.
    Flow,
    /// Threads, where nothing tells flows apart.
    Thread,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Work done: bytes or transactions.
    pub work: f64,
    /// Its length, seconds.
    pub seconds: f64,
}

/// What is known at one moment of a run.
#[derive(Clone, Debug, Default)]
pub struct Tick {
    /// Time since the run began.
    pub elapsed: Duration,
    /// What was done since the last tick.
    pub now: Interval,
    /// What was done since the beginning.
    pub all: Interval,
    /// How long operations took; `None` where that is not kept.
    pub latency: Option<LatencyTick>,
    /// What TCP says; `None` where it says nothing.
    pub tcp: Option<TcpTick>,
    /// CPU utilisation of this host since the last tick; `None` where it cannot be had.
    pub cpu: Option<CpuUsage>,
    /// Flows or threads.
    pub flows: Vec<FlowTick>,
}

/// How long operations took.
#[derive(Clone, Debug, Default)]
pub struct LatencyTick {
    /// Since the last tick.
    pub now: Latency,
    /// Since the beginning.
    pub all: Latency,
}

/// What TCP says of one connection, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpTick {
    /// Segments sent again since the connection was made.
    pub retransmitted: u64,
    /// Smoothed round trip, microseconds, of one connection.
    pub round_trip: Option<u32>,
    /// Congestion window, segments, of one connection.
    pub window: Option<u32>,
    /// Connections that this is the sum of.
    pub of: u32,
}

/// One flow or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowTick {
    /// Its number, from 1.
    pub number: u32,
    /// Work since the beginning.
    pub work: f64,
    /// What TCP says of it.
    pub tcp: Option<TcpTick>,
}
