//! Detection of level changes in a series of results.
//!
//! The series is cut at the largest difference of the ranks before and after (the rank-sum
//! statistic in standard deviations, over all cuts; A. N. Pettitt: A non-parametric
//! approach to the change-point problem, 1979). Pettitt's weights are left out: they are
//! insensitive near the ends. The probability is counted over shuffles of the ranks, each
//! with its largest statistic. That is valid for any distribution of independent results.
//! Shuffles are skipped for a statistic that they would hardly ever reach. Both parts are
//! then examined in the same way (binary segmentation).

use crate::moments::{count, normal_probability};
use crate::ranks;
use crate::testing::Dice;

/// Minimum number of results on both sides of a cut: a single bad result is no change.
pub const SHORTEST: usize = 3;
/// Shuffles per probability; the lowest probability is about one divided by this number.
const SHUFFLES: usize = 1999;
/// Number of shuffles with an equal statistic after which the test stops: it is chance (J.
/// Besag, P. Clifford: Sequential Monte Carlo p-values, 1991).
const ENOUGH: usize = 40;
/// Maximum number of shuffle steps for one series: long series get fewer shuffles.
const STEPS: usize = 2_500_000;
/// Shuffles for the longest series: the lowest probability is then half a percent.
const FEWEST: usize = 199;

/// Share of the lowest probability below which shuffles are skipped.
const RARELY: f64 = 0.01;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The first value after it.
    pub at: usize,
    /// The probability of an equal statistic without a change in this part of the series.
    pub probability: f64,
}

/// The changes of level in a series, in its order, each with a probability of a false alarm
/// of at most `chance`.
#[must_use]
pub fn shifts(values: &[f64], chance: f64) -> Vec<Shift> {
    let mut found = Vec::new();
    let mut parts = vec![(0, values.len())];
    while let Some((from, to)) = parts.pop() {
        let Some(part) = values.get(from..to) else {
            continue;
        };
        let Some(shift) = shift(part).filter(|shift| shift.probability <= chance) else {
            continue;
        };
        let at = from + shift.at;
        found.push(Shift { at, ..shift });
        parts.extend([(from, at), (at, to)]);
    }
    found.sort_by_key(|shift| shift.at);
    found
}

/// The most likely change of level in a series; `None` for a series too short.
#[must_use]
pub fn shift(values: &[f64]) -> Option<Shift> {
    let longest = values.len().checked_sub(SHORTEST)?;
    if longest < SHORTEST {
        return None;
    }
    let mut ranks: Vec<f64> = ranks::doubled(values).into_iter().map(count).collect();
    let middle = ranks.iter().sum::<f64>() / count(ranks.len());
    ranks.iter_mut().for_each(|rank| *rank -= middle);
    let weights = weights(ranks.len());
    let (at, depth) = deepest(&ranks, &weights);
    let shuffles = (STEPS / ranks.len()).clamp(FEWEST, SHUFFLES);
    let lowest = 1.0 / count(shuffles + 1);
    if chance_of(depth, &ranks) < lowest * RARELY {
        let probability = lowest;
        return Some(Shift { at, probability });
    }
    let mut dice = Dice::new(u64::try_from(values.len()).unwrap_or(0));
    let mut as_deep = 0;
    for done in 1..=shuffles {
        shuffle(&mut ranks, &mut dice);
        as_deep += usize::from(deepest(&ranks, &weights).1 >= depth * (1.0 - 1e-12));
        if as_deep == ENOUGH {
            let probability = count(as_deep) / count(done);
            return Some(Shift { at, probability });
        }
    }
    let probability = count(as_deep + 1) / count(shuffles + 1);
    Some(Shift { at, probability })
}

/// Factor for the sum of the first ranks that gives every cut the same spread, without the
/// common factor; 0 without a cut.
fn weights(length: usize) -> Vec<f64> {
    let weight = |before: usize| {
        let after = length - before;
        if before < SHORTEST || after < SHORTEST {
            return 0.0;
        }
        1.0 / (count(before) * count(after)).sqrt()
    };
    (1..=length).map(weight).collect()
}

/// The cut with the largest statistic, and the statistic.
fn deepest(ranks: &[f64], weights: &[f64]) -> (usize, f64) {
    let mut sum = 0.0;
    let mut best = (0, -1.0);
    for (at, (rank, weight)) in ranks.iter().zip(weights).enumerate() {
        sum += rank;
        let depth = (sum * weight).abs();
        if depth > best.1 && *weight > 0.0 {
            best = (at + 1, depth);
        }
    }
    best
}

/// Upper bound of the probability of an equal statistic by chance: the sum over all cuts
/// (C. E. Bonferroni). Sums of ranks have lighter tails than the normal distribution.
fn chance_of(depth: f64, ranks: &[f64]) -> f64 {
    let number = count(ranks.len());
    let squares: f64 = ranks.iter().map(|rank| rank * rank).sum();
    let spread = (squares / (number - 1.0) / number).sqrt();
    if spread > 0.0 {
        number * normal_probability(depth / spread)
    } else {
        1.0
    }
}

/// R. A. Fisher's and F. Yates's shuffle.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is a place in it"
)]
fn shuffle(values: &mut [f64], dice: &mut Dice) {
    for last in (1..values.len()).rev() {
        let other = (dice.roll() * count(last + 1)) as usize;
        values.swap(last, other.min(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal series around 100 with a deviation of 1, and steps to other levels.
    fn series(seed: u64, parts: &[(usize, f64)]) -> Vec<f64> {
        let mut dice = Dice::new(seed);
        let mut values = Vec::new();
        for (length, level) in parts {
            values.extend((0..*length).map(|_| level + dice.normal()));
        }
        values
    }

    fn share(of: u64, good: impl Fn(u64) -> bool) -> f64 {
        let good = (0..of).filter(|seed| good(*seed)).count();
        count(good) / count(usize::try_from(of).unwrap())
    }

    #[test]
    fn without_a_change_alarms_are_as_rare_as_asked() {
        for length in [12, 40, 150] {
            let alarms = share(400, |seed| {
                !shifts(&series(seed, &[(length, 100.0)]), 0.05).is_empty()
            });
            // 5 % of 400, and three standard deviations of that.
            assert!(alarms <= 0.083, "{length}: {alarms}");
        }
    }

    #[test]
    fn heavy_tails_and_ties_raise_no_more_alarms() {
        let alarms = share(400, |seed| {
            let mut dice = Dice::new(seed + 1);
            let cauchy = |dice: &mut Dice| (std::f64::consts::PI * (dice.roll() - 0.5)).tan();
            let wild: Vec<f64> = (0..40).map(|_| cauchy(&mut dice)).collect();
            !shifts(&wild, 0.05).is_empty()
        });
        assert!(alarms <= 0.083, "{alarms}");
        let alarms = share(400, |seed| {
            let mut dice = Dice::new(seed + 1);
            let coarse: Vec<f64> = (0..40).map(|_| dice.normal().round()).collect();
            !shifts(&coarse, 0.05).is_empty()
        });
        assert!(alarms <= 0.083, "{alarms}");
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        for (before, after, level) in [(30, 30, 102.0), (50, 10, 102.5), (8, 52, 97.5)] {
            let found = share(200, |seed| {
                let values = series(seed, &[(before, 100.0), (after, level)]);
                let shifts = shifts(&values, 0.01);
                shifts.iter().any(|shift| shift.at.abs_diff(before) <= 3)
            });
            assert!(found >= 0.9, "{before} and {after}: {found}");
        }
    }

    #[test]
    fn two_changes_are_two() {
        let found = share(100, |seed| {
            let values = series(seed, &[(30, 100.0), (30, 103.0), (30, 100.0)]);
            let shifts = shifts(&values, 0.01);
            let near = |at: usize| shifts.iter().any(|shift| shift.at.abs_diff(at) <= 3);
            near(30) && near(60)
        });
        assert!(found >= 0.9, "{found}");
    }

    #[test]
    fn shift_of_short_or_constant_series_is_none() {
        for values in [&[][..], &[1.0, 1.0, 9.0, 9.0, 9.0], &[5.0; 50]] {
            assert_eq!(shifts(values, 0.05), []);
        }
    }

    #[test]
    fn shift_skips_shuffles_only_where_they_would_find_none() {
        let mut spared = 0;
        for seed in 0..40 {
            let values = series(seed, &[(60, 100.0), (60, 101.6)]);
            let mut ranks: Vec<f64> = ranks::doubled(&values).into_iter().map(count).collect();
            let middle = ranks.iter().sum::<f64>() / 120.0;
            ranks.iter_mut().for_each(|rank| *rank -= middle);
            let weights = weights(120);
            let depth = deepest(&ranks, &weights).1;
            if chance_of(depth, &ranks) < 1e-4 {
                spared += 1;
                let mut dice = Dice::new(seed);
                let as_deep = (0..2000).any(|_| {
                    shuffle(&mut ranks, &mut dice);
                    deepest(&ranks, &weights).1 >= depth
                });
                assert!(!as_deep, "{seed}");
            }
        }
        assert!(spared > 20, "{spared}");
    }

    #[test]
    fn a_long_series_is_cut_as_well() {
        let values = series(1, &[(12_000, 100.0), (8_000, 100.3)]);
        let shift = shift(&values).unwrap();
        assert!(shift.at.abs_diff(12_000) < 400, "{shift:?}");
        assert!(shift.probability <= 0.01, "{shift:?}");
    }
}
