//! Comparison of two sets of runs: the change, its interval and its probability.
//!
//! The only assumption about figures is that runs are independent: tests use ranks, the
//! change is the median of all pairwise ratios (Hodges and Lehmann), and the interval is
//! that of the test.

use crate::moments::{count, mean, median, variance};
use crate::ranks;

/// Pairing of the runs of two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Not paired: any time, any order, any number of runs.
    Apart,
    /// Paired: the runs alternate, so a drift affects both runs of a pair.
    Paired,
}

/// A change from one set to another. Ratios are those of the second to the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Runs in both sets; number of pairs if the sets are paired.
    pub runs: (usize, usize),
    /// Medians of both sets.
    pub medians: (f64, f64),
    /// The ratio: 1.02 is 2 % more; infinite if the first median is 0.
    pub ratio: f64,
    /// The interval of the ratio at the requested level; `None` with too few runs.
    pub interval: Option<(f64, f64)>,
    /// The probability of sets that differ at least as much without a true difference.
    pub probability: f64,
    /// The difference of the means in standard deviations (Hedges' g); `None` where
    /// nothing varies.
    pub effect: Option<f64>,
    /// The lowest probability that this number of runs can reach.
    pub least_probability: f64,
}

/// Compares two sets; `None` when one is empty, when pairs are incomplete, or when a figure
/// is below 0 or no number. A figure may be 0: ranks show the change, and ratios to 0 are
/// infinite.
#[must_use]
pub fn change(a: &[f64], b: &[f64], design: Design, level: f64) -> Option<Change> {
    let usable = a
        .iter()
        .chain(b)
        .all(|value| *value >= 0.0 && value.is_finite());
    if !usable || a.is_empty() || b.is_empty() {
        return None;
    }
    let (logs_a, logs_b) = (logs(a), logs(b));
    let found = match design {
        Design::Apart => apart(&logs_a, &logs_b, level),
        Design::Paired if a.len() == b.len() => paired(&logs_a, &logs_b, level),
        Design::Paired => return None,
    };
    Some(Change {
        runs: (a.len(), b.len()),
        medians: (median(a)?, median(b)?),
        ratio: found.shift.exp(),
        interval: found.interval.map(|(low, high)| (low.exp(), high.exp())),
        probability: found.probability,
        effect: effect(&logs_a, &logs_b),
        least_probability: found.least,
    })
}

/// Probabilities corrected for several tests: the probability of any false alarm below a
/// limit is at most the limit (S. Holm, 1979).
#[must_use]
pub fn corrected(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut least: f64 = 0.0;
    for (done, at) in order.iter().enumerate() {
        let times = count(probabilities.len() - done);
        least = least.max((probabilities[*at] * times).min(1.0));
        corrected[*at] = least;
    }
    corrected
}

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second set is lower.
    Lower,
    /// The second set is higher.
    Higher,
    /// Chance explains the difference, or the difference is too small to matter.
    NoDifference,
    /// Too few runs to show a difference of any size.
    TooFewRuns,
}

/// Criteria for a significant change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The probability of at least one false alarm among all changes judged together: 0.01
    /// for 1 %.
    pub chance: f64,
    /// Changes below this share are of no interest: 0.005 for 0.5 %.
    pub threshold: f64,
}

/// Judges changes together: the corrected probability and the verdict for each.
#[must_use]
pub fn judge(changes: &[Change], by: Judgement) -> Vec<(f64, Verdict)> {
    let probabilities: Vec<f64> = changes.iter().map(|change| change.probability).collect();
    let together = count(changes.len());
    let verdict = |change: &Change, probability: f64| {
        let matters = (change.ratio - 1.0).abs() >= by.threshold;
        if change.least_probability * together > by.chance {
            Verdict::TooFewRuns
        } else if probability > by.chance || !matters {
            Verdict::NoDifference
        } else if change.ratio < 1.0 {
            Verdict::Lower
        } else {
            Verdict::Higher
        }
    };
    changes
        .iter()
        .zip(corrected(&probabilities))
        .map(|(change, probability)| (probability, verdict(change, probability)))
        .collect()
}

struct Found {
    shift: f64,
    interval: Option<(f64, f64)>,
    probability: f64,
    least: f64,
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

/// The difference of two logarithms, or of two such differences: 0 if both are infinite and
/// equal.
fn or_none(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

fn paired(a: &[f64], b: &[f64], level: f64) -> Found {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| or_none(b - a)).collect();
    let means = differences.iter().enumerate().flat_map(|(at, one)| {
        differences
            .iter()
            .skip(at)
            .map(move |other| or_none(f64::midpoint(*one, *other)))
    });
    let (shift, interval) = centre(means.collect(), ranks::outside_signed(a.len(), level));
    Found {
        shift,
        interval,
        probability: ranks::signed(&differences),
        least: 0.5_f64.powi(i32::try_from(a.len()).unwrap_or(i32::MAX)) * 2.0,
    }
}

fn apart(a: &[f64], b: &[f64], level: f64) -> Found {
    let differences = a.iter().flat_map(|a| b.iter().map(move |b| or_none(b - a)));
    let outside = ranks::outside_sum(a.len(), b.len(), level);
    let (shift, interval) = centre(differences.collect(), outside);
    let ways: f64 = (1..=a.len())
        .map(|k| count(b.len() + k) / count(k))
        .product();
    Found {
        shift,
        interval,
        probability: ranks::sum(a, b),
        least: (2.0 / ways).min(1.0),
    }
}

/// The median of pairwise figures, and their interval without `outside` figures at each
/// end.
fn centre(mut pairwise: Vec<f64>, outside: usize) -> (f64, Option<(f64, f64)>) {
    pairwise.sort_by(f64::total_cmp);
    let shift = median(&pairwise).unwrap_or(0.0);
    let low = outside.checked_sub(1).and_then(|at| pairwise.get(at));
    let high = pairwise.iter().rev().nth(outside.saturating_sub(1));
    (shift, low.copied().zip(high.copied()))
}

/// Hedges' g: the difference in pooled standard deviations, corrected for small samples.
fn effect(a: &[f64], b: &[f64]) -> Option<f64> {
    let freedom = count(a.len() + b.len()) - 2.0;
    let within = |values: &[f64]| variance(values).map(|v| v * (count(values.len()) - 1.0));
    let pooled = ((within(a)? + within(b)?) / freedom).sqrt();
    let unbiased = 1.0 - 3.0 / (4.0 * freedom - 1.0);
    let effect = (mean(b)? - mean(a)?) / pooled * unbiased;
    effect.is_finite().then_some(effect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    #[test]
    fn a_change_is_told_with_its_interval() {
        let a: Vec<f64> = (0..20).map(|at| 100.0 + f64::from(at % 5)).collect();
        let b: Vec<f64> = a.iter().map(|value| value * 1.1).collect();
        for design in [Design::Apart, Design::Paired] {
            let found = change(&a, &b, design, 0.95).unwrap();
            let (low, high) = found.interval.unwrap();
            assert!((found.ratio - 1.1).abs() < 1e-9);
            assert!(low <= found.ratio && found.ratio <= high);
            assert!(found.probability < 1e-4 && found.effect.unwrap() > 3.0);
        }
    }

    #[test]
    fn a_few_runs_have_no_interval_and_say_how_little_they_can_tell() {
        let found = change(&[1.0, 2.0], &[3.0, 4.0], Design::Apart, 0.95).unwrap();
        assert_eq!(found.interval, None);
        assert!((found.least_probability - 2.0 / 6.0).abs() < 1e-9);
        let found = change(&[1.0; 4], &[2.0; 4], Design::Paired, 0.95).unwrap();
        assert!((found.least_probability - 0.125).abs() < 1e-9);
        assert!((found.probability - 0.125).abs() < 1e-9);
        assert_eq!(found.effect, None);
    }

    #[test]
    fn what_has_no_ratio_is_not_compared() {
        assert_eq!(change(&[], &[1.0], Design::Apart, 0.95), None);
        assert_eq!(change(&[-1.0], &[1.0], Design::Apart, 0.95), None);
        assert_eq!(change(&[1.0], &[f64::NAN], Design::Apart, 0.95), None);
        assert_eq!(change(&[1.0, 2.0], &[1.0], Design::Paired, 0.95), None);
    }

    #[test]
    fn what_fell_to_nothing_is_lower_and_what_came_from_there_higher() {
        let rates: Vec<f64> = (0..12).map(|at| 100.0 + f64::from(at)).collect();
        let dead = vec![0.0; 12];
        let judged = |a: &[f64], b: &[f64], design| {
            let found = change(a, b, design, 0.99).unwrap();
            let by = Judgement {
                chance: 0.01,
                threshold: 0.005,
            };
            (found.ratio, judge(&[found], by)[0].1)
        };
        for design in [Design::Apart, Design::Paired] {
            assert_eq!(judged(&rates, &dead, design), (0.0, Verdict::Lower));
            assert_eq!(
                judged(&dead, &rates, design),
                (f64::INFINITY, Verdict::Higher)
            );
            assert_eq!(judged(&dead, &dead, design), (1.0, Verdict::NoDifference));
            // One run of twelve with the figure 0 does not decide the verdict.
            let mut once = rates.clone();
            once[3] = 0.0;
            assert_eq!(judged(&rates, &once, design).1, Verdict::NoDifference);
        }
    }

    #[test]
    fn the_interval_covers_the_true_ratio_as_often_as_it_says() {
        let mut dice = Dice::new(7);
        for design in [Design::Apart, Design::Paired] {
            let covered = (0..1000).filter(|_| {
                let mut set = |mean: f64| -> Vec<f64> {
                    (0..12)
                        .map(|_| mean * (0.05 * dice.normal()).exp())
                        .collect()
                };
                let found = change(&set(100.0), &set(103.0), design, 0.95);
                let (low, high) = found.unwrap().interval.unwrap();
                (low..=high).contains(&1.03)
            });
            let covered = covered.count();
            assert!((930..=975).contains(&covered), "{design:?}: {covered}");
        }
    }

    #[test]
    fn several_tests_are_corrected_together() {
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(&corrected(&[0.01, 0.04, 0.03]), &[0.03, 0.06, 0.06]));
        assert!(corrected(&[]).is_empty());
    }
}
