//! The interval at which `--until` stops covers the truth as often as it says.

use netperf_stats::moments::count;
use netperf_stats::testing::Dice;
use netperf_stats::until::{Look, Wanted, look, next_look};

const RUNS: usize = 1_000;
const TRUTH: f64 = 1_000.0;
const WANTED: Wanted = Wanted {
    precision: 0.01,
    level: 0.95,
};

/// Runs until the mean is known; returns the look at which it stopped.
fn run(mut next: impl FnMut() -> f64) -> (usize, Look) {
    let mut values = Vec::new();
    let mut at = next_look(0);
    loop {
        values.extend((values.len()..at).map(|_| next()));
        let found = look(&values, WANTED);
        if found.enough || values.len() > 200_000 {
            return (values.len(), found);
        }
        at = next_look(at);
    }
}

/// Checks that the interval covers the truth in 93 to 97 % of the runs of such a series.
fn covers(name: &str, mut series: impl FnMut(&mut Dice) -> f64) {
    let mut dice = Dice::new(2026);
    let (mut covered, mut length) = (0, 0);
    for _ in 0..RUNS {
        let (values, found) = run(|| series(&mut dice));
        assert!(found.enough, "{name}: no end after {values} values");
        covered += usize::from(found.estimate.is_some_and(|found| found.holds(TRUTH)));
        length += values;
    }
    let share = |part: usize| count(part) / count(RUNS);
    let told = format!("{name}: {}, after {} values", share(covered), share(length));
    assert!((0.93..=0.97).contains(&share(covered)), "{told}");
}

#[test]
fn of_independent_values() {
    for spread in [0.03, 0.1, 0.2] {
        covers(&format!("independent, {spread}"), |dice| {
            TRUTH * (1.0 + spread * dice.normal())
        });
    }
}

#[test]
fn of_values_that_remember_the_one_before() {
    for (memory, spread) in [(0.5_f64, 0.1), (0.8, 0.1), (0.9, 0.05)] {
        let mut state = 0.0;
        covers(&format!("AR(1), {memory}"), |dice| {
            state = memory * state + (1.0 - memory * memory).sqrt() * dice.normal();
            TRUTH * (1.0 + spread * state)
        });
    }
}

#[test]
fn of_values_around_two_levels() {
    for stays in [0.0, 0.9] {
        let mut high = true;
        covers(&format!("bimodal, stays with {stays}"), |dice| {
            if dice.roll() >= stays {
                high = dice.roll() < 0.7;
            }
            let level = if high { 1060.0 } else { 860.0 };
            level + 20.0 * dice.normal()
        });
    }
}
