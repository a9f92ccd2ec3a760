//! Events during a test, for live output.

use std::time::Duration;

use crate::latency::Latency;
use crate::outcome::{Tally, TcpFacts};

/// Work done since the last interim result, or since the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interim {
    /// Transactions where the unit counts those, bytes otherwise.
    pub work: f64,
    /// Length of the interval, seconds.
    pub seconds: f64,
    /// Its end, since 1970.
    pub ended: Duration,
    /// Its end by netperf's monotonic clock, nanoseconds.
    pub ended_nanos: u64,
    /// Which iteration it is part of, from 1.
    pub iteration: usize,
    /// netperf's counts of the interval.
    pub counts: Tally,
    /// Bytes of netperf's data that netserver received in it; `None` if unknown.
    pub arrived: Option<u64>,
    /// State of TCP at its end; `None` unless asked for, and without one TCP connection.
    pub tcp: Option<TcpFacts>,
    /// Times of the operations of the interval, without their moments; `None` unless asked for.
    pub times: Option<Latency>,
}
