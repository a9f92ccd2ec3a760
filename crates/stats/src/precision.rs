//! Confidence interval of the mean of a correlated series.

use crate::moments::{batches, count, lag_one, mean, t_quantile, variance};

/// Fewer batches than this give no usable estimate of their spread.
const FEWEST_BATCHES: usize = 15;
/// Batches with a lower correlation than this count as independent.
const UNRELATED: f64 = 0.05;
/// Upper limit of the correlation of batches: with a higher one the series is too short for
/// any statement.
const MOST_RELATED: f64 = 0.8;

/// A mean and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval around it, in its unit.
    pub half_width: f64,
    /// The standard error of the mean.
    pub error: f64,
    /// Values per batch, enough for nearly uncorrelated batches.
    pub batch: usize,
    /// The number of batches.
    pub batches: usize,
}

impl Estimate {
    /// Half the width as a share of the mean; infinite around 0.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.mean == 0.0 {
            f64::INFINITY
        } else {
            self.half_width / self.mean.abs()
        }
    }

    /// Returns true if the interval contains a value.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

/// The mean and its interval at a level such as 0.95; `None` for a series too short.
///
/// Values are grouped into batches of growing size until the batches are nearly
/// uncorrelated (nonoverlapping batch means). The remaining correlation widens the interval
/// as in a first-order autoregression and costs degrees of freedom (the correction of A.
/// Tafazzoli, J. R. Wilson: Skart, 2011).
#[must_use]
pub fn of_mean(values: &[f64], level: f64) -> Option<Estimate> {
    let batch = unrelated_batch(values)?;
    let means = batches(values, batch);
    let k = count(means.len());
    let related = corrected(lag_one(&means), k).clamp(0.0, MOST_RELATED);
    let widened = (1.0 + related) / (1.0 - related);
    let spread = (variance(&means)? * widened / k).sqrt();
    let freedom = (k - 1.0) * (1.0 - related);
    Some(Estimate {
        mean: mean(values)?,
        half_width: t_quantile(level, freedom) * spread,
        error: spread,
        batch,
        batches: means.len(),
    })
}

/// The smallest batch size, by doubling, with nearly uncorrelated means, or the largest
/// that leaves enough batches.
fn unrelated_batch(values: &[f64]) -> Option<usize> {
    if values.len() < FEWEST_BATCHES {
        return None;
    }
    let mut batch = 1;
    while values.len() / (batch * 2) >= FEWEST_BATCHES {
        let means = batches(values, batch);
        if corrected(lag_one(&means), count(means.len())) < UNRELATED && batch > 1 {
            break;
        }
        batch *= 2;
    }
    Some(batch)
}

/// The correlation without the bias that it has in a short series of `k` values.
fn corrected(lag_one: f64, k: f64) -> f64 {
    (lag_one * k + 1.0) / (k - 3.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_series_says_nothing() {
        assert_eq!(of_mean(&[1.0; 14], 0.95), None);
    }

    #[test]
    fn a_constant_series_is_certain() {
        let found = of_mean(&[7.0; 100], 0.95).unwrap();
        assert!(found.half_width.abs() < 1e-12);
        assert!(found.holds(7.0));
        assert!(of_mean(&[0.0; 100], 0.95).unwrap().relative().is_infinite());
    }
}
