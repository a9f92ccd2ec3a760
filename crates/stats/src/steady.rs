//! Detection of the warm-up at the beginning of a series.

use crate::moments::{batches, count, mean};
use crate::precision::of_mean;

/// Values per mean, so that one outlier does not decide.
const TOGETHER: usize = 5;

/// Minimum distance of a warm-up from the rest, in standard errors. MSER-5 proposes a point
/// in level series too, and dropping outliers would make every series look steady.
const FAR: f64 = 4.0;

/// The number of warm-up values at the beginning, at most half of them.
///
/// The proposal of MSER-5, if it differs significantly from the rest.
#[must_use]
pub fn warm_up(values: &[f64]) -> usize {
    let proposed = truncation(values);
    let (head, rest) = values.split_at(proposed.min(values.len()));
    let (Some(before), Some(after)) = (mean(head), of_mean(rest, 0.95)) else {
        return 0;
    };
    // Standard error of a mean over as few values as the head has.
    let share = count(rest.len()) / count(head.len());
    let error = after.error * (1.0 + share).sqrt();
    if (before - after.mean).abs() > FAR * error {
        proposed
    } else {
        0
    }
}

/// MSER-5: the point after which the mean of the rest has the smallest error, searched in
/// means of five (K. P. White, M. J. Cobb, S. C. Spratt: A Comparison of Five Steady-State
/// Truncation Heuristics for Simulation, 2000).
fn truncation(values: &[f64]) -> usize {
    let means = batches(values, TOGETHER);
    let (mut sum, mut squares, mut left) = (0.0, 0.0, 0);
    let mut best = (f64::INFINITY, 0);
    // From the end, so that each candidate costs one addition.
    let offset = means.last().copied().unwrap_or(0.0);
    for (at, value) in means.iter().map(|value| value - offset).enumerate().rev() {
        sum += value;
        squares += value * value;
        left += 1;
        if at > means.len() / 2 || left < 2 {
            continue;
        }
        let n = count(left);
        let spread = (squares - sum * sum / n).max(0.0) / (n * n);
        // The first of equals: no value is dropped without a reason.
        if spread <= best.0 {
            best = (spread, at);
        }
    }
    best.1 * TOGETHER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_series_has_no_warm_up() {
        assert_eq!(warm_up(&[5.0; 100]), 0);
        assert_eq!(warm_up(&[]), 0);
        assert_eq!(warm_up(&[1.0, 2.0]), 0);
    }

    #[test]
    fn a_slow_start_is_found() {
        let mut values: Vec<f64> = (0..20).map(|step| f64::from(step) * 5.0).collect();
        values.extend((0..180).map(|step| 100.0 + f64::from(step % 3)));
        let found = warm_up(&values);
        assert!((15..=30).contains(&found), "{found}");
    }

    #[test]
    fn no_more_than_half_is_warm_up() {
        let rising: Vec<f64> = (0..200).map(f64::from).collect();
        assert!(warm_up(&rising) <= 105);
    }
}
