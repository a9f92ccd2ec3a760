//! The interval at which `--until` stops for a percentile covers the truth as often as it
//! says.

use netperf_stats::moments::count;
use netperf_stats::sections::{Sections, Times};
use netperf_stats::testing::Dice;
use netperf_stats::until::{Wanted, next_look};

const RUNS: usize = 1_000;
/// Operations in the time of a value.
const OPERATIONS: usize = 20;
/// A range of the histogram, as a difference of logarithms.
const RANGE: f64 = 0.002;
const RANGES: usize = 1_536;

/// Times of operations, as the logarithms of some unit, in ranges of 0.2 %.
#[derive(Clone)]
struct Histogram {
    counts: Vec<u32>,
    number: u32,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; RANGES],
            number: 0,
        }
    }
}

impl Histogram {
    fn record(&mut self, logarithm: f64) {
        self.counts[place(logarithm)] += 1;
        self.number += 1;
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small number, and not below 0"
)]
fn place(logarithm: f64) -> usize {
    let place = (logarithm / RANGE).round() + count(RANGES / 2);
    place.clamp(0.0, count(RANGES - 1)) as usize
}

impl Times for Histogram {
    fn merge(&mut self, others: &Self) {
        for (own, other) in self.counts.iter_mut().zip(&others.counts) {
            *own += other;
        }
        self.number += others.number;
    }

    fn number(&self) -> f64 {
        f64::from(self.number)
    }

    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.number()).ceil().max(1.0);
        let mut seen = 0;
        let at = self.counts.iter().position(|own| {
            seen += own;
            f64::from(seen) >= rank
        })?;
        Some(((count(at) - count(RANGES / 2)) * RANGE).exp())
    }

    fn up_to(&self, time: f64) -> f64 {
        let end = place(time.ln());
        f64::from(self.counts[..=end].iter().sum::<u32>())
    }
}

/// Logistically distributed times around a level: their quantiles are known.
fn spread_around(level: f64, spread: f64, dice: &mut Dice) -> f64 {
    let share = dice.roll();
    level + spread * (share / (1.0 - share)).ln()
}

fn share_below(level: f64, spread: f64, at: f64) -> f64 {
    1.0 / (1.0 + (-(at - level) / spread).exp())
}

/// The time that a share of operations does not exceed, by bisection.
fn truth(share: f64, below: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-5.0, 5.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.exp()
}

/// Checks that the interval covers the truth in 93 to 97 % of the runs with the times of
/// `next`, which is told when an interval begins.
fn covers(
    name: &str,
    (share, precision, truth): (f64, f64, f64),
    mut next: impl FnMut(&mut Dice, bool) -> f64,
) {
    let mut dice = Dice::new(2026);
    let wanted = Wanted {
        precision,
        level: 0.95,
    };
    let (mut covered, mut length) = (0, 0);
    for _ in 0..RUNS {
        let mut sections = Sections::default();
        let mut part = Histogram::default();
        let (mut values, mut due) = (0, next_look(0));
        let known = loop {
            while values < due {
                values += 1;
                for operation in 0..OPERATIONS {
                    part.record(next(&mut dice, operation == 0));
                }
                if sections.is_due(values) {
                    sections.add(values, std::mem::take(&mut part));
                }
            }
            let (known, enough) = sections.look(share, 0, wanted);
            if enough {
                break known;
            }
            assert!(values < 50_000, "{name}: no end");
            due = next_look(values);
        };
        covered += usize::from(known.is_some_and(|known| known.holds(truth)));
        length += values;
    }
    let part = |number: usize| count(number) / count(RUNS);
    let told = format!("{name}, {share}: {}, after {}", part(covered), part(length));
    assert!((0.93..=0.97).contains(&part(covered)), "{told}");
}

#[test]
#[ignore = "nightly: 1,000 simulated runs of each series"]
fn of_independent_times() {
    for wanted in [(0.99, 0.03), (0.999, 0.1)] {
        covers_independent(wanted);
    }
}

#[test]
fn of_independent_times_in_the_median() {
    covers_independent((0.5, 0.01));
}

fn covers_independent((share, precision): (f64, f64)) {
    let spread = 0.15;
    let truth = truth(share, |at| share_below(0.0, spread, at));
    covers("independent", (share, precision, truth), |dice, _| {
        spread_around(0.0, spread, dice)
    });
}

#[test]
#[ignore = "nightly: 1,000 simulated runs of each series"]
fn of_times_whose_level_remembers_the_one_before() {
    let (wander, spread) = (0.1, 0.1);
    for (memory, share, precision) in [(0.8_f64, 0.5, 0.02), (0.8, 0.99, 0.03), (0.9, 0.99, 0.04)] {
        let below = |at: f64| {
            let steps = (-400..=400).map(|step| f64::from(step) / 100.0);
            let weighed = steps.map(|z| {
                (-z * z / 2.0).exp() / 250.662_827_5 * share_below(wander * z, spread, at)
            });
            weighed.sum()
        };
        let mut state = 0.0;
        let wanted = (share, precision, truth(share, below));
        covers(&format!("AR(1), {memory}"), wanted, |dice, begins| {
            if begins {
                state = memory * state + (1.0 - memory * memory).sqrt() * dice.normal();
            }
            spread_around(wander * state, spread, dice)
        });
    }
}

#[test]
#[ignore = "nightly: 1,000 simulated runs of each series"]
fn of_times_around_two_levels() {
    let (low, high, spread) = (-0.2, 0.3, 0.1);
    for (stays, share, precision) in [(0.0, 0.5, 0.02), (0.0, 0.99, 0.02), (0.9, 0.99, 0.025)] {
        let below =
            |at: f64| 0.7 * share_below(high, spread, at) + 0.3 * share_below(low, spread, at);
        let mut is_high = true;
        let wanted = (share, precision, truth(share, below));
        covers(&format!("bimodal, {stays}"), wanted, |dice, begins| {
            if begins && dice.roll() >= stays {
                is_high = dice.roll() < 0.7;
            }
            spread_around(if is_high { high } else { low }, spread, dice)
        });
    }
}
