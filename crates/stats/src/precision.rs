//! Confidence interval of the mean of a correlated series.

use crate::moments::{batches, count, lag_one, mean, t_quantile, variance};

/// Fewer batches than this give no usable estimate of their spread.
const FEWEST_BATCHES: usize = 15;
/// Batches with a lower correlation than this, either way, count as independent.
const UNRELATED: f64 = 0.05;
/// Upper limit of the correlation of batches: with a higher one the series is too short for
/// any statement.
const MOST_RELATED: f64 = 0.8;
/// Lower limit of the correlation of batches. That of a series whose deviations cancel
/// completely is -0.5, and its mean would have no error.
const LEAST_RELATED: f64 = -0.4;
/// Standard errors below 0 at which the correlation of batches is certainly negative.
const CERTAIN: f64 = 2.5;
/// Ratio of two variances that counts as a half.
const HALF: f64 = 0.65;
/// Standard errors by which a negative correlation is reduced before it narrows an interval.
const CAUTION: f64 = 0.5;

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
    /// True if deviations of the values compensate each other: the width then falls with the
    /// length of the series, and not with its square root.
    pub compensated: bool,
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
/// uncorrelated (nonoverlapping batch means). A remaining positive correlation widens the
/// interval as in a first-order autoregression and costs degrees of freedom (the correction
/// of A. Tafazzoli, J. R. Wilson: Skart, 2011). A remaining negative one comes from
/// deviations at the edges of batches, which their neighbours compensate, as on a link of
/// constant rate. It narrows the interval as in a first-order moving average.
#[must_use]
pub fn of_mean(values: &[f64], level: f64) -> Option<Estimate> {
    let (batch, compensated) = unrelated_batch(values)?;
    let means = batches(values, batch);
    let k = count(means.len());
    let related = corrected(lag_one(&means), k);
    let positive = related.clamp(0.0, MOST_RELATED);
    let negative = if compensated {
        (related + CAUTION / k.sqrt()).clamp(LEAST_RELATED, 0.0)
    } else {
        0.0
    };
    let factor = (1.0 + positive) / (1.0 - positive) * (1.0 + 2.0 * negative);
    let freedom = (k - 1.0) * (1.0 - positive);
    let spread = (variance(&means)? * factor / k).sqrt();
    Some(Estimate {
        mean: mean(values)?,
        half_width: t_quantile(level, freedom) * spread,
        error: spread,
        batch,
        batches: means.len(),
        compensated,
    })
}

/// Means of batches of one size.
struct Batching {
    size: usize,
    /// The number of batches.
    number: f64,
    /// The correlation of each mean with the next.
    related: f64,
    /// The variance of the means, scaled to one value.
    variance: f64,
}

impl Batching {
    fn of(means: &[f64], size: usize) -> Option<Self> {
        let number = count(means.len());
        Some(Self {
            size,
            number,
            related: corrected(lag_one(means), number),
            variance: variance(means)? * count(size),
        })
    }

    /// Returns true if the means certainly compensate each other.
    fn is_negative(&self) -> bool {
        self.related < -CERTAIN / self.number.sqrt()
    }

    /// Returns true if these batches of twice the size vary about half as much, scaled to one
    /// value: deviations at the edges of batches are all that is left.
    fn halves(&self, smaller: &Self) -> bool {
        self.variance < HALF * smaller.variance
    }

    /// Returns true if these larger batches vary less than by chance. An oscillation whose
    /// period is several batches has no correlation of neighbours.
    fn varies_less_than(&self, smaller: &Self) -> bool {
        self.variance < lower_variance(self.number) * smaller.variance
    }
}

/// The smallest batch size, by doubling, with nearly uncorrelated means whose variance has
/// settled, or the largest that leaves enough batches; and true if the means of smaller
/// batches compensate each other.
fn unrelated_batch(values: &[f64]) -> Option<(usize, bool)> {
    if values.len() < FEWEST_BATCHES {
        return None;
    }
    let mut all = Vec::from([Batching::of(values, 1)?]);
    let mut means = batches(values, 2);
    while means.len() >= FEWEST_BATCHES {
        all.push(Batching::of(&means, 1 << all.len())?);
        means = batches(&means, 2);
    }
    let mut compensated = false;
    for (at, batching) in all.iter().enumerate() {
        let larger = all.iter().skip(at + 1);
        let falls = larger
            .clone()
            .any(|larger| larger.varies_less_than(batching));
        let negative = batching.is_negative() || falls;
        let smaller = at.checked_sub(1).and_then(|before| all.get(before));
        let settled = smaller.is_some_and(|smaller| !batching.halves(smaller));
        if batching.related < UNRELATED && !negative && settled {
            return Some((batching.size, compensated));
        }
        if larger.count() > 0 {
            compensated |= negative;
        }
    }
    Some((all.last()?.size, compensated))
}

/// The share of a variance below which an estimate from `number` values falls once in a
/// thousand cases (E. B. Wilson, M. M. Hilferty: The Distribution of Chi-Square, 1931).
pub(crate) fn lower_variance(number: f64) -> f64 {
    const ERRORS: f64 = 3.1;
    let part = 2.0 / (9.0 * (number - 1.0));
    (1.0 - part - ERRORS * part.sqrt()).powi(3)
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
    fn an_interval_of_unrelated_batches_has_a_degree_of_freedom_less_than_there_are() {
        let values: Vec<f64> = (0..90).map(|at| f64::from(at * at % 11)).collect();
        let found = of_mean(&values, 0.95).unwrap();
        let means = batches(&values, found.batch);
        let k = count(found.batches);
        assert!(corrected(lag_one(&means), k) <= 0.0, "{found:?}");
        let quantile = found.half_width / found.error;
        assert!(
            (quantile - t_quantile(0.95, k - 1.0)).abs() < 1e-9,
            "{found:?}"
        );
    }

    #[test]
    fn a_constant_series_is_certain() {
        let found = of_mean(&[7.0; 100], 0.95).unwrap();
        assert!(found.half_width.abs() < 1e-12);
        assert!(found.holds(7.0));
        assert!(of_mean(&[0.0; 100], 0.95).unwrap().relative().is_infinite());
    }
}
