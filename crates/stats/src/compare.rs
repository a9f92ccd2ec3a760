//! Comparison of two sets of runs: the change, its interval and its probability.
//!
//! The only assumption about figures is that runs are independent: tests use ranks, and the
//! interval is that of the test, around the median of all pairwise ratios (Hodges and
//! Lehmann). The change is the ratio of the two medians, and the interval is widened to
//! contain it. An interval inside a margin shows equivalence: that is two one-sided tests
//! (D. J. Schuirmann, 1987), each at half the probability that the interval leaves out.

use crate::moments::{count, mean, median, normal_quantile, variance};
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
    /// The ratio of the medians: 1.02 is 2 % more; infinite if the first median alone is 0.
    pub ratio: f64,
    /// The interval of the ratio at the requested level; `None` with too few runs.
    pub interval: Option<(f64, f64)>,
    /// The logarithm of the median of all pairwise ratios (Hodges and Lehmann).
    shift: f64,
    /// The standard deviation of the logarithm of the ratio of two runs; not finite if a
    /// figure is 0.
    deviation: f64,
    /// Pairing of the runs.
    design: Design,
    /// The probability of sets that differ at least as much without a true difference.
    pub probability: f64,
    /// The difference of the means in standard deviations (Hedges' g); `None` where
    /// nothing varies.
    pub effect: Option<f64>,
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
    let medians = (median(a)?, median(b)?);
    let ratio = ratio(medians);
    let containing = |(low, high): (f64, f64)| (low.exp().min(ratio), high.exp().max(ratio));
    Some(Change {
        runs: (a.len(), b.len()),
        medians,
        ratio,
        interval: found.interval.map(containing),
        shift: found.shift,
        deviation: found.deviation,
        design,
        probability: found.probability,
        effect: effect(&logs_a, &logs_b),
    })
}

/// The ratio of the second to the first; 1 if both are 0.
fn ratio((first, second): (f64, f64)) -> f64 {
    if first == second { 1.0 } else { second / first }
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
    /// The interval of the ratio is inside the margin.
    Equivalent,
    /// Neither a difference nor equivalence is shown. The number of runs of each set, or of
    /// pairs, that shows one or the other in four of five cases if the sets are as they seem
    /// to be; `None` if no usable number does.
    Inconclusive(Option<u32>),
}

/// Criteria for a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The probability of at least one false alarm among all changes judged together: 0.01
    /// for 1 %. The intervals of the changes leave out this probability.
    pub chance: f64,
    /// Changes inside this share are equivalence: 0.01 for 1 %.
    pub margin: f64,
}

/// The number of runs that is not worth making.
const MOST_RUNS: f64 = 1e6;
/// The normal quantile of four cases of five.
const FOUR_OF_FIVE: f64 = 0.8416;

/// Judges changes together: the corrected probability and the verdict for each. The changes
/// have intervals at a level of `1 - chance`.
#[must_use]
pub fn judge(changes: &[Change], by: Judgement) -> Vec<(f64, Verdict)> {
    let probabilities: Vec<f64> = changes.iter().map(|change| change.probability).collect();
    let verdict = |change: &Change, probability: f64| {
        let Some((low, high)) = change.interval else {
            return Verdict::Inconclusive(change.needed(changes.len(), by));
        };
        if low > 1.0 - by.margin && high < 1.0 + by.margin {
            Verdict::Equivalent
        } else if probability <= by.chance && high < 1.0 {
            Verdict::Lower
        } else if probability <= by.chance && low > 1.0 {
            Verdict::Higher
        } else {
            Verdict::Inconclusive(change.needed(changes.len(), by))
        }
    };
    changes
        .iter()
        .zip(corrected(&probabilities))
        .map(|(change, probability)| (probability, verdict(change, probability)))
        .collect()
}

impl Change {
    /// The number of runs of each set that decides, in four of five cases, among `together`
    /// figures; more than there are.
    fn needed(&self, together: usize, by: Judgement) -> Option<u32> {
        if !self.deviation.is_finite() {
            return None;
        }
        // The variance of the median of pairwise figures is by pi / 3 that of a mean, if
        // figures are normal.
        let times = |errors: f64, distance: f64| {
            (errors * self.deviation / distance).powi(2) * std::f64::consts::FRAC_PI_3
        };
        let single = normal_quantile(1.0 - by.chance);
        let joint = normal_quantile(1.0 - by.chance / count(together));
        let (change, margin) = (self.shift.abs(), by.margin.ln_1p());
        let mut runs = f64::INFINITY;
        if change > 0.0 {
            runs = times(joint + FOUR_OF_FIVE, change);
        }
        if change < margin {
            runs = runs.min(times(single + FOUR_OF_FIVE, margin - change));
        }
        let (first, second) = self.runs;
        let more = count(first.min(second)) + 1.0;
        let least = fewest(self.design, together, by.chance);
        let runs = runs.ceil().max(f64::from(least)).max(more);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number up to MOST_RUNS"
        )]
        (runs <= MOST_RUNS).then_some(runs as u32)
    }
}

/// The lowest number of runs of each set, or of pairs, with which a difference can be shown
/// among `together` figures with this probability of a false alarm.
#[must_use]
pub fn fewest(design: Design, together: usize, chance: f64) -> u32 {
    let enough = |runs: &u32| {
        let least = match design {
            Design::Paired => least_of_pairs(*runs as usize),
            Design::Apart => least_of_sets(*runs as usize, *runs as usize),
        };
        least * count(together) <= chance
    };
    (1..100).find(enough).unwrap_or(u32::MAX)
}

/// The lowest probability that a number of pairs can reach.
fn least_of_pairs(pairs: usize) -> f64 {
    0.5_f64.powi(i32::try_from(pairs).unwrap_or(i32::MAX)) * 2.0
}

/// The lowest probability that two sets can reach.
fn least_of_sets(a: usize, b: usize) -> f64 {
    let ways: f64 = (1..=a).map(|k| count(b + k) / count(k)).product();
    (2.0 / ways).min(1.0)
}

struct Found {
    shift: f64,
    interval: Option<(f64, f64)>,
    probability: f64,
    deviation: f64,
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
        deviation: variance(&differences).unwrap_or(f64::NAN).sqrt(),
    }
}

fn apart(a: &[f64], b: &[f64], level: f64) -> Found {
    let differences = a.iter().flat_map(|a| b.iter().map(move |b| or_none(b - a)));
    let outside = ranks::outside_sum(a.len(), b.len(), level);
    let (shift, interval) = centre(differences.collect(), outside);
    let freedom = count(a.len() + b.len()) - 2.0;
    let squares = |values: &[f64]| {
        let mean = mean(values).unwrap_or(0.0);
        values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
    };
    let within = (squares(a) + squares(b)) / freedom;
    Found {
        shift,
        interval,
        probability: ranks::sum(a, b),
        deviation: (2.0 * within).sqrt(),
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
    fn a_few_runs_have_no_interval_and_say_how_many_are_needed() {
        let by = Judgement {
            chance: 0.05,
            margin: 0.01,
        };
        let needed = |found: Change| judge(&[found], by)[0].1;
        // Two of 20 ways: p = 0.1; two of 70: p = 0.03.
        let found = change(&[1.0; 3], &[2.0; 3], Design::Apart, 0.95).unwrap();
        assert_eq!(found.interval, None);
        assert_eq!(needed(found), Verdict::Inconclusive(Some(4)));
        // Six of one sign: p = 2 / 64.
        let found = change(&[1.0; 4], &[2.0; 4], Design::Paired, 0.95).unwrap();
        assert!((found.probability - 0.125).abs() < 1e-9);
        assert_eq!(found.effect, None);
        assert_eq!(needed(found), Verdict::Inconclusive(Some(6)));
        // One run has no deviation.
        let found = change(&[1.0], &[2.0], Design::Paired, 0.95).unwrap();
        assert_eq!(needed(found), Verdict::Inconclusive(None));
    }

    #[test]
    fn the_change_is_that_of_the_medians_and_the_interval_contains_it() {
        // All pairs rise by 10 %, but the medians are of different pairs.
        let a = [
            100.0, 100.0, 100.0, 100.0, 200.0, 200.0, 200.0, 200.0, 200.0,
        ];
        let b = [
            110.0, 110.0, 110.0, 110.0, 110.0, 220.0, 220.0, 220.0, 220.0,
        ];
        let found = change(&a, &b, Design::Paired, 0.95).unwrap();
        assert_eq!(found.medians, (200.0, 110.0));
        assert!((found.ratio - 0.55).abs() < 1e-9);
        let (low, high) = found.interval.unwrap();
        assert!(low <= 0.55 && 1.1 - 1e-9 <= high, "{low} to {high}");
        // An interval on both sides of 1 is no difference.
        let by = Judgement {
            chance: 0.05,
            margin: 0.01,
        };
        assert!(matches!(judge(&[found], by)[0].1, Verdict::Inconclusive(_)));
    }

    #[test]
    fn a_change_inside_the_margin_is_equivalence_even_if_it_is_certain() {
        let a: Vec<f64> = (0..20).map(|at| 1000.0 + f64::from(at % 2)).collect();
        let b: Vec<f64> = a.iter().map(|value| value * 1.004).collect();
        let found = change(&a, &b, Design::Paired, 0.99).unwrap();
        let verdict = |margin| {
            let by = Judgement {
                chance: 0.01,
                margin,
            };
            judge(&[found], by)[0].1
        };
        assert_eq!(verdict(0.01), Verdict::Equivalent);
        assert_eq!(verdict(0.001), Verdict::Higher);
        assert_eq!(verdict(0.0), Verdict::Higher);
    }

    #[test]
    fn values_without_a_ratio_are_not_compared() {
        assert_eq!(change(&[], &[1.0], Design::Apart, 0.95), None);
        assert_eq!(change(&[-1.0], &[1.0], Design::Apart, 0.95), None);
        assert_eq!(change(&[1.0], &[f64::NAN], Design::Apart, 0.95), None);
        assert_eq!(change(&[1.0, 2.0], &[1.0], Design::Paired, 0.95), None);
    }

    #[test]
    fn changes_to_zero_are_lower_and_from_zero_higher() {
        let rates: Vec<f64> = (0..12).map(|at| 100.0 + f64::from(at)).collect();
        let dead = vec![0.0; 12];
        let judged = |a: &[f64], b: &[f64], design| {
            let found = change(a, b, design, 0.99).unwrap();
            let by = Judgement {
                chance: 0.01,
                margin: 0.01,
            };
            (found.ratio, judge(&[found], by)[0].1)
        };
        for design in [Design::Apart, Design::Paired] {
            assert_eq!(judged(&rates, &dead, design), (0.0, Verdict::Lower));
            assert_eq!(
                judged(&dead, &rates, design),
                (f64::INFINITY, Verdict::Higher)
            );
            assert_eq!(judged(&dead, &dead, design), (1.0, Verdict::Equivalent));
            // One run of twelve with the figure 0 does not decide the verdict.
            let mut once = rates.clone();
            once[3] = 0.0;
            let verdict = judged(&rates, &once, design).1;
            assert!(matches!(verdict, Verdict::Inconclusive(_)), "{verdict:?}");
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
