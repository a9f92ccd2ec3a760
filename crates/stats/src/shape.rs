//! Shape of a series: level, drifting, or alternating between two levels.

use crate::moments::{batches, count, lag_one, mean, t_probability, variance};
use crate::precision::lower_variance;

/// The shape of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// It stays around one level.
    Stable,
    /// Its level changes steadily; by this share of the mean from the first value to the
    /// last.
    Drifting(f64),
    /// It alternates between two levels.
    Bimodal(Modes),
}

/// The two levels of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// The lower level.
    pub low: f64,
    /// The higher level.
    pub high: f64,
    /// The share of values around the higher one.
    pub share_high: f64,
}

/// Number of batches for the drift test.
const BATCHES: usize = 20;
/// Significance level of the drift test.
const DRIFT_CHANCE: f64 = 0.001;
/// A drift of less than this share of the mean is of no interest.
const SMALL_DRIFT: f64 = 0.01;
/// Minimum share of the values around a level.
const SMALLEST_MODE: f64 = 0.1;
/// The density between two levels must fall below this share of that at the lower peak.
const VALLEY: f64 = 0.5;
/// Minimum number of values for the test for two levels.
const FEWEST_VALUES: usize = 50;
/// Batches for the test for an oscillation.
const FEWEST_BATCHES: usize = 15;
/// Upper limit of the variance of the means of batches, as a share of that of independent
/// values, at which a series oscillates.
const OSCILLATES: f64 = 0.5;

/// The shape of a series without its warm-up.
#[must_use]
pub fn of(values: &[f64]) -> Shape {
    if let Some(modes) = modes(values) {
        return Shape::Bimodal(modes);
    }
    drift(values).map_or(Shape::Stable, Shape::Drifting)
}

/// A significant trend: a line through the means of batches, tested against their
/// residuals, which may be correlated.
fn drift(values: &[f64]) -> Option<f64> {
    let means = batches(values, values.len() / BATCHES);
    let k = count(means.len());
    let middle = (k - 1.0) / 2.0;
    let overall = mean(&means).filter(|_| means.len() >= BATCHES)?;
    let across: f64 = (0..means.len())
        .map(|at| (count(at) - middle).powi(2))
        .sum();
    let slope = means
        .iter()
        .enumerate()
        .map(|(at, value)| (count(at) - middle) * (value - overall))
        .sum::<f64>()
        / across;
    let left: Vec<f64> = means
        .iter()
        .enumerate()
        .map(|(at, value)| value - overall - slope * (count(at) - middle))
        .collect();
    let related = lag_one(&left).clamp(0.0, 0.8);
    let spread = left.iter().map(|left| left * left).sum::<f64>() / (k - 2.0);
    let error = (spread * (1.0 + related) / (1.0 - related) / across).sqrt();
    let change = slope * (k - 1.0) / overall.abs();
    let beyond_chance = error == 0.0 && slope != 0.0
        || t_probability(slope / error, (k - 2.0) * (1.0 - related)) < DRIFT_CHANCE;
    (beyond_chance && change.abs() >= SMALL_DRIFT).then_some(change)
}

/// A normal distribution with a weight.
#[derive(Clone, Copy)]
struct Hill {
    weight: f64,
    mean: f64,
    spread: f64,
}

impl Hill {
    fn of(values: &[f64], all: usize) -> Option<Self> {
        Some(Self {
            weight: count(values.len()) / count(all),
            mean: mean(values)?,
            spread: variance(values)?.sqrt(),
        })
    }

    fn density(&self, at: f64) -> f64 {
        let z = (at - self.mean) / self.spread;
        self.weight * (-z * z / 2.0).exp() / self.spread
    }
}

/// The two levels, if there are two with a valley between them.
fn modes(values: &[f64]) -> Option<Modes> {
    if values.len() < FEWEST_VALUES {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = sorted.split_at(best_split(&sorted));
    let (low, high) = (Hill::of(low, values.len())?, Hill::of(high, values.len())?);
    // A constant level still has the spread of a clock or a counter.
    let least = (high.mean - low.mean).abs() * 1e-3;
    let widened = |hill: Hill| Hill {
        spread: hill.spread.max(least),
        ..hill
    };
    let (low, high) = (widened(low), widened(high));
    let large = low.weight.min(high.weight) >= SMALLEST_MODE;
    let two = large && has_valley(low, high) && !oscillates(values);
    two.then_some(Modes {
        low: low.mean,
        high: high.mean,
        share_high: high.weight,
    })
}

/// Returns true if values compensate each other, so that means of batches vary less than those
/// of independent values: a queue that fills and empties has one rate and not two levels.
fn oscillates(values: &[f64]) -> bool {
    let Some(all) = variance(values) else {
        return false;
    };
    let sizes = std::iter::successors(Some(4), |size| Some(size * 2));
    let mut sizes = sizes.take_while(|size| values.len() / size >= FEWEST_BATCHES);
    sizes.any(|size| {
        let means = batches(values, size);
        let between = variance(&means).unwrap_or(all) * count(size) / all;
        between < lower_variance(count(means.len())).min(OSCILLATES)
    })
}

/// The cut of sorted values that makes both parts as narrow as possible.
fn best_split(sorted: &[f64]) -> usize {
    let offset = sorted.first().copied().unwrap_or(0.0);
    let total: f64 = sorted.iter().map(|value| value - offset).sum();
    let (mut below, mut best) = (0.0, (f64::NEG_INFINITY, 0));
    for (at, value) in sorted
        .iter()
        .enumerate()
        .skip(1)
        .map(|(at, _)| (at, sorted[at - 1]))
    {
        below += value - offset;
        let (left, right) = (count(at), count(sorted.len() - at));
        // Sum of squares between the parts: a larger one leaves less within them.
        let between = below * below / left + (total - below) * (total - below) / right;
        if between > best.0 {
            best = (between, at);
        }
    }
    best.1
}

/// Returns true if the density falls between two peaks. A single peak that was cut in two
/// counts as two adjacent halves, each narrower than it appears from the other.
fn has_valley(low: Hill, high: Hill) -> bool {
    const STEPS: u32 = 50;
    let density = |at: f64| low.density(at) + high.density(at);
    let between = (1..STEPS).map(|step| {
        let share = f64::from(step) / f64::from(STEPS);
        density(low.mean + share * (high.mean - low.mean))
    });
    let lowest = between.fold(f64::INFINITY, f64::min);
    lowest < VALLEY * density(low.mean).min(density(high.mean))
        // Two halves of one normal peak are 2.6 of their spreads apart, of a flat one 3.5.
        && (high.mean - low.mean) > 2.0 * (low.spread + high.spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    fn series(seed: u64, make: impl Fn(&mut Dice, f64) -> f64) -> Vec<f64> {
        let mut dice = Dice::new(seed);
        (0..500).map(|at| make(&mut dice, f64::from(at))).collect()
    }

    /// The number of 200 series for which the test is true.
    fn how_many(make: impl Fn(&mut Dice, f64) -> f64, is: impl Fn(Shape) -> bool) -> usize {
        (0..200)
            .filter(|seed| is(of(&series(*seed, &make))))
            .count()
    }

    #[test]
    fn noise_around_one_level_is_stable() {
        let normal = |dice: &mut Dice, _: f64| 1e9 * (1.0 + 0.05 * dice.normal());
        assert!(how_many(normal, |shape| shape == Shape::Stable) >= 198);
        let flat = |dice: &mut Dice, _: f64| 900.0 + 200.0 * dice.roll();
        assert!(how_many(flat, |shape| shape == Shape::Stable) >= 198);
        let skewed = |dice: &mut Dice, _: f64| 1000.0 - 20.0 * dice.roll().ln();
        assert!(how_many(skewed, |shape| shape == Shape::Stable) >= 198);
        assert_eq!(of(&[5.0; 100]), Shape::Stable);
        assert_eq!(of(&[]), Shape::Stable);
    }

    #[test]
    fn a_level_that_falls_by_a_tenth_drifts() {
        let falling = |dice: &mut Dice, at: f64| 1000.0 - at / 5.0 + 30.0 * dice.normal();
        let tenth =
            |shape| matches!(shape, Shape::Drifting(change) if (-0.13..-0.07).contains(&change));
        assert!(how_many(falling, tenth) >= 198);
    }

    #[test]
    fn a_rate_that_oscillates_has_one_level() {
        for period in [3.0, 10.0, 30.0] {
            let send_buffer = |dice: &mut Dice, at: f64| {
                let full = (at + 0.2 * dice.roll()) % period < period / 3.0;
                if full { 5.24 } else { 0.0 }
            };
            let found = how_many(send_buffer, |shape| shape == Shape::Stable);
            assert_eq!(found, 200, "period {period}");
        }
    }

    #[test]
    fn two_levels_are_told_with_their_shares() {
        let modes = |dice: &mut Dice, _: f64| {
            let level = if dice.roll() < 0.3 { 800.0 } else { 1000.0 };
            level + 20.0 * dice.normal()
        };
        let both = |shape| {
            matches!(shape, Shape::Bimodal(modes)
                if (790.0..810.0).contains(&modes.low)
                    && (990.0..1010.0).contains(&modes.high)
                    && (0.6..0.8).contains(&modes.share_high))
        };
        assert!(how_many(modes, both) >= 198);
    }
}
