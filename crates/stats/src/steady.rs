//! Where a series has become steady: what comes before is warm-up.

use crate::moments::{batches, count, mean};
use crate::precision::of_mean;

/// Values that are taken together, so that one odd value decides nothing.
const TOGETHER: usize = 5;

/// How far from the rest, in standard errors, a beginning must be to be thrown away.
/// The point at which the rest looks best is found in level series too, and throwing away
/// what does not fit would make every series look steady.
const FAR: f64 = 4.0;

/// How many values at the beginning are warm-up, at most half of them.
///
/// What MSER-5 proposes, where it differs from the rest beyond doubt.
#[must_use]
pub fn warm_up(values: &[f64]) -> usize {
    let proposed = truncation(values);
    let (head, rest) = values.split_at(proposed.min(values.len()));
    let (Some(before), Some(after)) = (mean(head), of_mean(rest, 0.95)) else {
        return 0;
    };
    // What the mean of as few values as the head has would err by.
    let share = count(rest.len()) / count(head.len());
    let error = after.error * (1.0 + share).sqrt();
    if (before - after.mean).abs() > FAR * error {
        proposed
    } else {
        0
    }
}

/// MSER-5: the point after which the mean of what is left is known best, looked for in
/// means of five (K. P. White, M. J. Cobb, S. C. Spratt: A Comparison of Five Steady-State
/// Truncation Heuristics for Simulation, 2000).
fn truncation(values: &[f64]) -> usize {
    let means = batches(values, TOGETHER);
    let (mut sum, mut squares, mut left) = (0.0, 0.0, 0);
    let mut best = (f64::INFINITY, 0);
    // From the end, so that every beginning costs one addition.
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
        // The first of equals: nothing is thrown away without a reason.
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
