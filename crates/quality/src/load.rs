//! Decides if a load filled the link.

use netperf_stats::moments;
use serde::{Deserialize, Serialize};

/// Reason for which a load did not fill the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadLimit {
    /// The window that the receiver announced.
    ReceiverWindow,
    /// The application that sends.
    Application,
    /// A CPU of one of the hosts.
    Cpu,
    /// The rate of datagrams that was asked for.
    AskedRate,
}

impl LoadLimit {
    /// It as the reason why a link was not filled.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::ReceiverWindow => "the receiver's window limited the senders",
            Self::Application => "the senders had nothing to send for a part of the time",
            Self::Cpu => "a CPU was busy all the time",
            Self::AskedRate => "it carried all datagrams at the rate that was asked for",
        }
    }
}

/// Times of the senders of a load, as shares of the whole; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadTruth {
    /// Something to send was there, or in flight.
    pub busy_share: Option<f64>,
    /// The receiver's window kept them from sending more.
    pub window_limited_share: Option<f64>,
    /// Utilisation of the busiest CPU of either host.
    pub busiest_cpu_share: Option<f64>,
    /// Share of the requested rate of datagrams that arrived. Null over TCP.
    pub asked_share: Option<f64>,
}

/// Share of the time from which another limit than the link had a part.
const LIMITED: f64 = 0.1;
/// Utilisation from which a CPU is a limit.
const BUSY_CPU: f64 = 0.9;

impl LoadTruth {
    /// Limit of the load, if it was not the link. A queue that grew proves a full link, whatever
    /// else was busy: `queued` is true if latency rose.
    #[must_use]
    pub fn limit(&self, queued: bool) -> Option<LoadLimit> {
        let above = |share: Option<f64>, limit: f64| share.is_some_and(|share| share > limit);
        if queued {
            None
        } else if above(self.asked_share, 1.0 - LIMITED) {
            Some(LoadLimit::AskedRate)
        } else if above(self.window_limited_share, LIMITED) {
            Some(LoadLimit::ReceiverWindow)
        } else if above(self.busiest_cpu_share, BUSY_CPU) {
            Some(LoadLimit::Cpu)
        } else if self.busy_share.is_some_and(|share| share < 1.0 - LIMITED) {
            Some(LoadLimit::Application)
        } else {
            None
        }
    }
}

/// Fairness of rates (Jain): 1 if all are equal, 1/n if one has everything. `None` without any.
#[must_use]
pub fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (moments::count(rates.len()) * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_names_its_limit_and_a_queue_proves_a_full_link() {
        let truth = |busy, window, cpu| LoadTruth {
            busy_share: Some(busy),
            window_limited_share: Some(window),
            busiest_cpu_share: Some(cpu),
            asked_share: None,
        };
        let asked = LoadTruth {
            asked_share: Some(0.99),
            ..truth(1.0, 0.0, 1.0)
        };
        assert_eq!(asked.limit(false), Some(LoadLimit::AskedRate));
        assert_eq!(truth(1.0, 0.0, 0.3).limit(false), None);
        assert_eq!(truth(1.0, 0.0, 1.0).limit(false), Some(LoadLimit::Cpu));
        assert_eq!(truth(0.8, 0.0, 1.0).limit(false), Some(LoadLimit::Cpu));
        assert_eq!(
            truth(1.0, 0.9, 1.0).limit(false),
            Some(LoadLimit::ReceiverWindow)
        );
        assert_eq!(
            truth(0.2, 0.0, 0.1).limit(false),
            Some(LoadLimit::Application)
        );
        assert_eq!(truth(0.2, 0.9, 1.0).limit(true), None);
        assert_eq!(LoadTruth::default().limit(false), None);
    }

    #[test]
    fn fairness_is_that_of_jain() {
        assert_eq!(jain(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[]), None);
    }
}
