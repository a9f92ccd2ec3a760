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
    /// Which iteration it is part of, from 1.
    pub iteration: usize,
    /// netperf's counts of the interval.
    pub counts: Tally,
    /// State of TCP at its end; `None` unless asked for, and without one TCP connection.
    pub tcp: Option<TcpFacts>,
    /// Times of the operations of the interval, without their moments; `None` unless asked for.
    pub times: Option<Latency>,
}
