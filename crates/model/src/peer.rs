//! Programs at the other end of a test that are not netserver.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fields::AsMeasured;

/// A program at the other end that is not netserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerProgram {
    /// iperf 2 (`--iperf2`).
    Iperf2,
    /// iperf3 (`--iperf3`).
    Iperf3,
}

impl PeerProgram {
    /// Its name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf2",
            Self::Iperf3 => "iperf3",
        }
    }

    /// Its name in messages.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf 2",
            Self::Iperf3 => "iperf3",
        }
    }

    /// The option that asks for it.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            Self::Iperf2 => "--iperf2",
            Self::Iperf3 => "--iperf3",
        }
    }

    /// Its port unless another one is given.
    #[must_use]
    pub const fn port(self) -> &'static str {
        match self {
            Self::Iperf2 => "5001",
            Self::Iperf3 => "5201",
        }
    }

    /// Rate of datagrams of each flow unless another one is given, bit/s.
    pub const DATAGRAM_RATE: f64 = 1_048_576.0;
}

/// CPU time of a process during a test, percent of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "process_cpu")]
pub struct ProcessCpu {
    /// User mode and kernel mode together.
    #[serde(rename = "total_percent", with = "AsMeasured")]
    pub total: f64,
    /// User mode.
    #[serde(rename = "user_percent", with = "AsMeasured")]
    pub user: f64,
    /// Kernel mode.
    #[serde(rename = "system_percent", with = "AsMeasured")]
    pub system: f64,
}

/// User and system time of a process.
type Times = (Duration, Duration);

impl ProcessCpu {
    /// Utilisation between two readings of user and system time, which are so far apart.
    #[must_use]
    pub fn between(before: Times, after: Times, spent: Duration) -> Self {
        let percent = |before: Duration, after: Duration| {
            100.0 * after.saturating_sub(before).as_secs_f64() / spent.as_secs_f64().max(1e-9)
        };
        let (user, system) = (percent(before.0, after.0), percent(before.1, after.1));
        Self {
            total: user + system,
            user,
            system,
        }
    }
}
