//! The side of the path that queues, and the queueing of flows.

use serde::{Deserialize, Serialize};

/// Place of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QueueSide {
    /// On the way to netserver.
    Up,
    /// On the way from netserver.
    Down,
    /// On both ways.
    Both,
    /// In this host, before its device.
    ThisHost,
    /// In netserver's host, before its device.
    OtherHost,
    /// Nowhere.
    None,
    /// Latency rose, and netserver does not tell on which way.
    Unknown,
}

impl QueueSide {
    /// Its name in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Up => "the queue is on the way up",
            Self::Down => "the queue is on the way down",
            Self::Both => "there are queues on both ways",
            Self::ThisHost => "the queue is in this host",
            Self::OtherHost => "the queue is in netserver's host",
            Self::None => "there is no queue",
            Self::Unknown => "this netserver does not tell on which way the queue is",
        }
    }
}

/// Median increases of a phase, in seconds; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SideIncreases {
    /// Of the round trip.
    pub round_trip: f64,
    /// To netserver, this host included.
    pub up: Option<f64>,
    /// From netserver, its host included.
    pub down: Option<f64>,
    /// In this host, before the device.
    pub this_host: Option<f64>,
    /// In netserver's host, before the device.
    pub other_host: Option<f64>,
    /// Error of these.
    pub error: f64,
}

/// The least increase that is called a queue, in seconds.
const LEAST: f64 = 1e-3;
/// The share of an increase from which a part of it is a cause.
const CAUSE: f64 = 0.1;

impl SideIncreases {
    /// The increase from which there is a queue.
    fn least(&self) -> f64 {
        LEAST.max(2.0 * self.error)
    }

    /// Place of the queue.
    #[must_use]
    pub fn side(&self) -> QueueSide {
        if self.round_trip < self.least() {
            return QueueSide::None;
        }
        let (Some(up), Some(down)) = (self.up, self.down) else {
            return QueueSide::Unknown;
        };
        let (grew, half) = (|way: f64| way >= self.least(), self.round_trip * CAUSE);
        let within = |host: Option<f64>, way: f64| host.is_some_and(|host| host >= way / 2.0);
        match (grew(up) && up >= half, grew(down) && down >= half) {
            (true, true) => QueueSide::Both,
            (true, false) if within(self.this_host, up) => QueueSide::ThisHost,
            (true, false) => QueueSide::Up,
            (false, true) if within(self.other_host, down) => QueueSide::OtherHost,
            (false, true) => QueueSide::Down,
            (false, false) => QueueSide::None,
        }
    }
}

/// Queueing of flows: one queue each, or one for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FlowQueueing {
    /// A probe beside the load waits less than one in it.
    Yes,
    /// Both wait as long.
    No,
    /// There is no queue, or it is not known how long loaded flows wait.
    Unknown,
}

impl FlowQueueing {
    /// From the median increase of probes beside the load, and that of the round trip of loaded
    /// flows, in seconds.
    #[must_use]
    pub fn of(beside: Option<f64>, loaded: Option<f64>) -> Self {
        const QUEUED: f64 = 3e-3;
        let (Some(beside), Some(loaded)) = (beside, loaded) else {
            return Self::Unknown;
        };
        if loaded < QUEUED {
            Self::Unknown
        } else if beside <= 0.4 * loaded {
            Self::Yes
        } else if beside >= 0.7 * loaded {
            Self::No
        } else {
            Self::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e-3;

    fn side(up: f64, down: f64, this_host: f64, other_host: f64) -> QueueSide {
        let increases = SideIncreases {
            round_trip: (up + down) * MS,
            up: Some(up * MS),
            down: Some(down * MS),
            this_host: Some(this_host * MS),
            other_host: Some(other_host * MS),
            error: 0.1 * MS,
        };
        increases.side()
    }

    #[test]
    fn the_side_is_that_of_the_increase() {
        assert_eq!(side(87.0, 0.1, 0.0, 0.0), QueueSide::Up);
        assert_eq!(side(0.1, 18.0, 0.0, 0.0), QueueSide::Down);
        assert_eq!(side(60.0, 40.0, 0.0, 0.0), QueueSide::Both);
        assert_eq!(side(84.0, 14.0, 0.0, 0.0), QueueSide::Both);
        assert_eq!(side(5.0, 0.2, 4.8, 0.0), QueueSide::ThisHost);
        assert_eq!(side(0.0, 30.0, 0.0, 29.0), QueueSide::OtherHost);
        assert_eq!(side(0.3, 0.2, 0.0, 0.0), QueueSide::None);
        assert_eq!(side(-4.0, 0.2, 0.0, 0.0), QueueSide::None);
    }

    #[test]
    fn without_the_times_of_netserver_the_side_is_unknown() {
        let increases = SideIncreases {
            round_trip: 0.05,
            ..SideIncreases::default()
        };
        assert_eq!(increases.side(), QueueSide::Unknown);
        let none = SideIncreases::default();
        assert_eq!(none.side(), QueueSide::None);
    }

    #[test]
    fn an_increase_within_twice_its_error_is_no_queue() {
        let increases = SideIncreases {
            round_trip: 0.004,
            up: Some(0.004),
            down: Some(0.0),
            error: 0.003,
            ..SideIncreases::default()
        };
        assert_eq!(increases.side(), QueueSide::None);
    }

    #[test]
    fn flow_queueing_is_a_probe_that_waits_less_than_the_load() {
        let of = |beside: f64, loaded: f64| FlowQueueing::of(Some(beside * MS), Some(loaded * MS));
        assert_eq!(of(1.5, 14.0), FlowQueueing::Yes);
        assert_eq!(of(87.0, 90.0), FlowQueueing::No);
        assert_eq!(of(5.0, 9.0), FlowQueueing::Unknown);
        assert_eq!(of(0.1, 0.2), FlowQueueing::Unknown);
        assert_eq!(FlowQueueing::of(None, Some(1.0)), FlowQueueing::Unknown);
    }
}
