//! Detects that a figure has become stable (draft-ietf-ippm-responsiveness, section 5).

use netperf_stats::moments;
use serde::{Deserialize, Serialize};

/// Moving averages that are looked at.
const AVERAGES: usize = 4;
/// Standard deviation of a stable figure, as a share of its current value.
const TOLERANCE: f64 = 0.05;

/// Confidence in a responsiveness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RpmConfidence {
    /// Fewer intervals than moving averages are looked at.
    Low,
    /// It did not become stable in time.
    Medium,
    /// It was stable.
    High,
}

/// A figure, interval by interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stability {
    values: Vec<f64>,
    averages: Vec<f64>,
}

impl Stability {
    /// Adds the value of an interval. True if the figure is stable now.
    pub fn add(&mut self, value: f64) -> bool {
        self.values.push(value);
        self.averages.extend(moments::mean(last(&self.values)));
        self.is_stable()
    }

    /// True if the moving averages of the last intervals are close to each other.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        let averages = last(&self.averages);
        let last = averages.last().filter(|_| averages.len() >= AVERAGES);
        let (Some(current), Some(mean)) = (last, moments::mean(averages)) else {
            return false;
        };
        let squares = averages.iter().map(|average| (average - mean).powi(2));
        let deviation = (squares.sum::<f64>() / moments::count(averages.len())).sqrt();
        deviation < TOLERANCE * current.abs()
    }

    /// The confidence of a result from two such figures.
    #[must_use]
    pub fn confidence(goodput: &[f64], responsiveness: &[f64]) -> RpmConfidence {
        let intervals = goodput.len().min(responsiveness.len());
        if intervals < AVERAGES {
            return RpmConfidence::Low;
        }
        let becomes_stable = |values: &[f64]| {
            let mut stability = Self::default();
            values.iter().fold(false, |_, value| stability.add(*value))
        };
        if becomes_stable(goodput) && becomes_stable(responsiveness) {
            RpmConfidence::High
        } else {
            RpmConfidence::Medium
        }
    }
}

/// The last values that are looked at.
fn last(values: &[f64]) -> &[f64] {
    values
        .get(values.len().saturating_sub(AVERAGES)..)
        .unwrap_or(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_stable_when_four_moving_averages_agree() {
        let mut stability = Stability::default();
        let stable: Vec<bool> = [10.0, 60.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]
            .into_iter()
            .map(|value| stability.add(value))
            .collect();
        // Moving averages: 10, 35, 56.7, 67.5, 90, 100, 100, 100.
        assert_eq!(
            stable,
            [false, false, false, false, false, false, false, true]
        );
    }

    #[test]
    fn every_confidence_is_reached() {
        let (steady, rising) = ([100.0; 8], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!(
            Stability::confidence(&steady[..3], &steady),
            RpmConfidence::Low
        );
        assert_eq!(
            Stability::confidence(&rising, &steady),
            RpmConfidence::Medium
        );
        assert_eq!(
            Stability::confidence(&steady, &rising),
            RpmConfidence::Medium
        );
        assert_eq!(Stability::confidence(&steady, &steady), RpmConfidence::High);
    }
}
