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
    covers_restarted(name, |dice, _| series(dice));
}

/// The same of a series that is told of the first value of each run.
fn covers_restarted(name: &str, mut series: impl FnMut(&mut Dice, bool) -> f64) {
    let mut dice = Dice::new(2026);
    let (mut covered, mut length) = (0, 0);
    for _ in 0..RUNS {
        let mut fresh = true;
        let (values, found) = run(|| series(&mut dice, std::mem::take(&mut fresh)));
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
#[ignore = "nightly: 1,000 simulated runs of each series"]
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
#[ignore = "nightly: 1,000 simulated runs of each series"]
fn of_values_that_compensate_the_one_before() {
    for (back, spread) in [(0.3, 0.25), (0.5, 0.4), (0.9, 2.0)] {
        let mut before = 0.0;
        covers(&format!("MA(1), -{back}"), |dice| {
            let now = dice.normal();
            let value = TRUTH * (1.0 + spread * (now - back * before));
            before = now;
            value
        });
    }
}

#[test]
#[ignore = "nightly: 1,000 simulated runs of each series"]
fn of_values_whose_level_shifts() {
    let (mut level, mut left) = (0.0, 0.0);
    covers("level shifts", |dice| {
        left -= 1.0;
        if left < 0.0 {
            level = 0.05 * dice.normal();
            left = -25.0 * dice.roll().ln();
        }
        TRUTH * (1.0 + level + 0.05 * dice.normal())
    });
}

/// Acknowledged bytes in each interval of 10 ms, on a link of constant rate: segments are
/// acknowledged in pairs, and a delay of an acknowledgement is up to 50 ms.
fn constant_link(dice: &mut Dice, segments_per_value: f64, length: usize) -> Vec<f64> {
    let (mut arrived, mut acked, mut stalled) = (0.0, 0.0, 0);
    (0..length)
        .map(|_| {
            arrived += segments_per_value * (1.0 + 0.02 * dice.normal());
            if stalled == 0 && dice.roll() < 0.005 {
                stalled = 5;
            }
            if stalled > 0 {
                stalled -= 1;
                return 0.0;
            }
            let now = (arrived / 2.0_f64).floor() * 2.0;
            now - std::mem::replace(&mut acked, now)
        })
        .collect()
}

#[test]
fn the_rate_of_a_constant_link_is_soon_known() {
    let mut dice = Dice::new(15);
    for (name, segments) in [("1 Mbit/s", 0.83), ("10 Mbit/s", 8.3), ("1 Gbit/s", 830.0)] {
        let (mut covered, mut length) = (0, 0);
        for _ in 0..100 {
            let mut link = constant_link(&mut dice, segments, 10_000).into_iter();
            let (values, found) = run(|| link.next().expect("an end before"));
            assert!(found.enough, "{name}: no end after {values} values");
            covered += usize::from(found.estimate.is_some_and(|found| found.holds(segments)));
            length += values;
        }
        let told = format!("{name}: {covered}, after {} values", length / 100);
        // Three times the shortest run. The first one would do by theory: two segments are
        // 0.4 % of it at 1 Mbit/s.
        assert!(covered >= 93 && length / 100 <= 1_800, "{told}");
    }
}

#[test]
fn of_values_after_a_slow_start() {
    for spread in [0.02, 0.15] {
        let mut at = 0.0;
        covers_restarted(&format!("slow start, {spread}"), |dice, fresh| {
            at = if fresh { 0.0 } else { at + 1.0 };
            let ramp = if at < 60.0 { at / 60.0 } else { 1.0 };
            TRUTH * (ramp + spread * dice.normal())
        });
    }
}

#[test]
#[ignore = "nightly: 1,000 simulated runs of each series"]
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
