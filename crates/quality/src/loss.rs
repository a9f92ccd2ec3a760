//! Loss of a direction, with its interval.

use netperf_stats::moments;
use serde::{Deserialize, Serialize};

use crate::distribution::DEVIATIONS;

/// Datagrams of a direction: arrived, lost, reordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionLoss {
    /// Datagrams that were sent.
    pub sent: usize,
    /// Of these, those that never arrived.
    pub lost: usize,
    /// The share that was lost.
    pub lost_share: f64,
    /// The 95 % confidence interval of the share (Wilson), as if losses were independent.
    pub lost_share_interval: [f64; 2],
    /// Datagrams that arrived behind a later one.
    pub reordered: usize,
    /// Datagrams that arrived more than once. Null if unknown.
    pub duplicates: Option<usize>,
}

/// The 95 % confidence interval of a share (Wilson).
#[must_use]
pub fn share_interval(of: usize, all: usize) -> [f64; 2] {
    if all == 0 {
        return [0.0, 1.0];
    }
    let (n, z) = (moments::count(all), DEVIATIONS);
    let share = moments::count(of) / n;
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    [
        ((middle - half) / scale).max(0.0),
        ((middle + half) / scale).min(1.0),
    ]
}

impl DirectionLoss {
    /// Of datagrams in the order in which they were sent: when each arrived, or `None`.
    #[must_use]
    pub fn of(arrivals: &[Option<i64>], duplicates: Option<usize>) -> Self {
        let (sent, lost) = (
            arrivals.len(),
            arrivals.iter().filter(|at| at.is_none()).count(),
        );
        let mut latest = i64::MIN;
        let late = |at: &&i64| {
            let is_late = **at < latest;
            latest = latest.max(**at);
            is_late
        };
        Self {
            sent,
            lost,
            lost_share: if sent == 0 {
                0.0
            } else {
                moments::count(lost) / moments::count(sent)
            },
            lost_share_interval: share_interval(lost, sent),
            reordered: arrivals.iter().flatten().filter(late).count(),
            duplicates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_ones_and_late_ones_are_told_apart() {
        let arrivals = [Some(1), None, Some(5), Some(3), Some(4), Some(6), None];
        let loss = DirectionLoss::of(&arrivals, Some(1));
        assert_eq!((loss.sent, loss.lost, loss.reordered), (7, 2, 2));
        assert_eq!(loss.duplicates, Some(1));
        assert_eq!(DirectionLoss::of(&[], None).lost_share, 0.0);
    }

    #[test]
    fn the_interval_of_a_share_is_that_of_wilson() {
        // Brown, Cai and DasGupta: 0 of 10 is at most 0.2775.
        let [low, high] = share_interval(0, 10);
        assert_eq!(low, 0.0);
        assert!((high - 0.2775).abs() < 1e-4, "{high}");
        let [low, high] = share_interval(20, 1000);
        assert!(low < 0.02 && 0.02 < high && high < 0.031);
        assert_eq!(share_interval(0, 0), [0.0, 1.0]);
    }
}
