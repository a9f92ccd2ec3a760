//! CPU utilisation as measured around a test.

use serde::{Deserialize, Serialize};

use crate::fields::{AsMeasured, NotNegative};

/// Method of measuring CPU utilisation; the code goes over the wire. Documents have its
/// letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CpuMethod {
    /// Not measured.
    #[default]
    None,
    /// Differences of the per-CPU counters in `/proc/stat`.
    ProcStat,
    /// CPU time that a loop of the lowest priority on each CPU did not get.
    Looper,
    /// Another method, reported by the peer with this code.
    Other(u32),
}

impl CpuMethod {
    /// The numeric code used by the control protocol.
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::None => 0,
            Self::ProcStat => 8,
            Self::Looper => 4,
            Self::Other(code) => code,
        }
    }

    /// The method with this code.
    #[must_use]
    pub const fn from_code(code: u32) -> Self {
        match code {
            0 => Self::None,
            8 => Self::ProcStat,
            4 => Self::Looper,
            other => Self::Other(other),
        }
    }

    /// The methods that can be asked for by name.
    pub const NAMED: [Self; 2] = [Self::ProcStat, Self::Looper];

    /// The name by which it is asked for.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ProcStat => "procstat",
            Self::Looper => "looper",
            Self::Other(_) => "other",
        }
    }

    /// The method that has this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED
            .into_iter()
            .find(|method| method.name().eq_ignore_ascii_case(name))
    }

    /// The letter that titles and selectors print.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::None => 'U',
            Self::ProcStat => 'S',
            Self::Looper => 'L',
            Self::Other(code) => match code {
                1 => 'I',
                2 => 'P',
                3 => 'T',
                5 => 'R',
                6 => 'N',
                7 => 'K',
                9 => 'C',
                10 => 'E',
                11 => 'M',
                12 => 'O',
                _ => '?',
            },
        }
    }
}

impl From<CpuMethod> for String {
    fn from(method: CpuMethod) -> Self {
        method.letter().into()
    }
}

impl From<String> for CpuMethod {
    fn from(letter: String) -> Self {
        let mut all = (0..=12).map(Self::from_code);
        all.find(|method| letter.starts_with(method.letter()))
            .unwrap_or(Self::Other(u32::MAX))
    }
}

/// Shares of CPU time, each in percent of all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuShares {
    /// User mode, without nice.
    #[serde(rename = "user_percent", with = "AsMeasured")]
    pub user: f64,
    /// Kernel mode.
    #[serde(rename = "system_percent", with = "AsMeasured")]
    pub system: f64,
    /// Waiting for I/O.
    #[serde(rename = "iowait_percent", with = "AsMeasured")]
    pub iowait: f64,
    /// Hard interrupts.
    #[serde(rename = "irq_percent", with = "AsMeasured")]
    pub irq: f64,
    /// Soft interrupts.
    #[serde(rename = "softirq_percent", with = "AsMeasured")]
    pub softirq: f64,
}

/// CPU utilisation of one host over one iteration, in percent of all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "cpu")]
pub struct CpuUsage {
    /// The letter of the method.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub method: CpuMethod,
    /// CPUs online.
    pub cpus: u32,
    /// Busy share.
    #[serde(rename = "busy_percent", with = "AsMeasured")]
    pub busy: f64,
    /// The same, split by state.
    #[serde(flatten)]
    pub shares: CpuShares,
    /// The busiest CPU; null if unknown.
    #[serde(rename = "peak_cpu", with = "NotNegative")]
    pub peak_id: i32,
    /// Busy share of the busiest CPU, percent of itself.
    #[serde(rename = "peak_busy_percent", with = "AsMeasured")]
    pub peak_busy: f64,
}
