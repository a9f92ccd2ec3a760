//! Means, variances, correlations and quantiles.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A count as a figure: series are far shorter than 2^53.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "series are shorter than 2^53")]
pub const fn count(values: usize) -> f64 {
    values as f64
}

/// The arithmetic mean; `None` of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}

/// The variance of a sample, with n - 1 below; `None` for fewer than two values.
#[must_use]
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / count(values.len() - 1))
}

/// The correlation of each value with the next; 0 for a constant or too short series.
#[must_use]
pub fn lag_one(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .iter()
        .zip(values.iter().skip(1))
        .map(|(value, next)| (value - mean) * (next - mean))
        .sum();
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

/// The means of batches, without the remainder that fills no batch.
#[must_use]
pub fn batches(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks_exact(size.max(1)).filter_map(mean).collect()
}

/// The two-sided quantile of Student's t: the absolute value that a standardised mean
/// exceeds with a probability of `1 - level`. Infinite below one degree of freedom.
#[must_use]
pub fn t_quantile(level: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + level / 2.0))
}

/// The two-sided quantile of the standard normal distribution.
#[must_use]
pub fn normal_quantile(level: f64) -> f64 {
    std::f64::consts::SQRT_2 * statrs::function::erf::erf_inv(level)
}

/// The probability that Student's t lies at least as far from 0 as this, either way.
#[must_use]
pub fn t_probability(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |of| 2.0 * of.cdf(-t.abs()))
}

/// The smallest and the largest value; `None` of nothing.
#[must_use]
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((low, high))
}

/// The median; `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let [_, median, _] = quartiles(values)?;
    Some(median)
}

/// The lower quartile, the median and the upper quartile, between neighbours where they are no
/// value (Hyndman and Fan, type 7); `None` of nothing.
#[must_use]
pub fn quartiles(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let steps = sorted.len().checked_sub(1)?;
    let at = |quarters: usize| {
        let (below, rest) = (quarters * steps / 4, quarters * steps % 4);
        let lower = *sorted.get(below)?;
        match (rest, sorted.get(below + 1)) {
            (0, _) | (_, None) => Some(lower),
            (2, Some(upper)) => Some(f64::midpoint(lower, *upper)),
            (1, Some(upper)) => Some(lower + (upper - lower) / 4.0),
            (_, Some(upper)) => Some(upper - (upper - lower) / 4.0),
        }
    };
    Some([at(1)?, at(2)?, at(3)?])
}

/// The probability that a standard normal lies at least as far from 0, either way.
#[must_use]
pub fn normal_probability(z: f64) -> f64 {
    statrs::function::erf::erfc(z.abs() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn moments_of_a_few_numbers() {
        assert_eq!(mean(&[]), None);
        assert_eq!(variance(&[1.0]), None);
        assert!(close(mean(&[1.0, 2.0, 6.0]).unwrap(), 3.0));
        assert!(close(variance(&[1.0, 2.0, 6.0]).unwrap(), 7.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(range(&[4.0, -1.0, 2.0]), Some((-1.0, 4.0)));
        assert_eq!(range(&[]), None);
    }

    #[test]
    fn neighbours_that_alternate_are_correlated_the_other_way() {
        assert!(lag_one(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) < -0.8);
        assert!(close(lag_one(&[2.0; 5]), 0.0));
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        assert!((t_quantile(0.95, 10.0) - 2.228).abs() < 1e-3);
        assert!((t_quantile(0.99, 5.0) - 4.032).abs() < 1e-3);
        assert!((t_probability(2.228, 10.0) - 0.05).abs() < 1e-4);
        assert!(t_quantile(0.95, 0.0).is_infinite());
    }

    #[test]
    fn moments_leave_out_an_incomplete_batch() {
        assert_eq!(batches(&[1.0, 3.0, 5.0, 7.0, 9.0], 2), [2.0, 6.0]);
    }
}
