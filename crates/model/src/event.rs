//! Events during a test, for live output.

use std::time::Duration;

use crate::latency::Latency;
use crate::outcome::{Tally, TcpFacts};

/// Part of a run of which only one part counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPart {
    /// Before the part that counts.
    WarmUp,
    /// The part that counts.
    Measured,
    /// After the part that counts.
    CoolDown,
}

impl RunPart {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Measured => "measured",
            Self::CoolDown => "cool-down",
        }
    }
}

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
    /// The parts of the run in which it began and ended; `None` if all of the run counts.
    pub parts: Option<(RunPart, RunPart)>,
    /// netperf's counts of the interval.
    pub counts: Tally,
    /// Bytes of netperf's data that netserver received in it, or that its host acknowledged;
    /// `None` if unknown.
    pub arrived: Option<u64>,
    /// State of TCP at its end; `None` unless asked for, and without one TCP connection.
    pub tcp: Option<TcpFacts>,
    /// Times of the operations of the interval, without their moments; `None` unless asked for.
    pub times: Option<Latency>,
}

impl Interim {
    /// The part of the run that the interval belongs to, such as `warm-up`, or `warm-up to
    /// measured` if it spans more than one; `None` if all of the run counts.
    #[must_use]
    pub fn stage(&self) -> Option<String> {
        let (first, last) = self.parts?;
        Some(if first == last {
            first.name().to_owned()
        } else {
            format!("{} to {}", first.name(), last.name())
        })
    }
}
