//! The rule, fed with values that look random and are the same each time.

use netperf_stats::testing::Dice;

use super::*;

const EVERY: Duration = Duration::from_millis(10);

fn wanted(precision: f64, percentiles: &[f64]) -> UntilPlan {
    UntilPlan {
        precision,
        level: 0.95,
        percentiles: percentiles.to_vec(),
    }
}

/// A run of at most so many intervals, each of the work that `next` says.
fn run(wanted: &UntilPlan, longest: usize, mut next: impl FnMut(usize) -> f64) -> Until {
    let mut feed = Feed::new(wanted, EVERY, 1.0);
    for at in 0..longest {
        feed.add(next(at), EVERY);
        if feed.is_enough() {
            break;
        }
    }
    feed.found()
}

#[test]
fn a_quiet_run_ends_at_the_first_look() {
    let mut dice = Dice::new(1);
    let found = run(&wanted(0.01, &[]), 10_000, |_| {
        1000.0 + 20.0 * dice.normal()
    });
    assert_eq!(found.end, UntilEnd::Reached);
    assert_eq!(found.values, FEWEST_VALUES);
    assert_eq!(found.course, Course::Stable);
    let known = found.throughput.unwrap();
    assert!((known.value - 100_000.0).abs() < known.half_width * 2.0);
    assert!(known.relative().unwrap() < 0.01);
    assert_eq!(found.would_take, None);
}

#[test]
fn a_run_that_is_too_noisy_says_how_long_it_would_take() {
    let mut dice = Dice::new(2);
    let found = run(&wanted(0.01, &[]), 2_000, |_| {
        1000.0 * (1.0 + 0.8 * dice.normal()).max(0.0)
    });
    assert_eq!(found.end, UntilEnd::TooNoisy);
    assert_eq!(found.values, 2_000);
    let worst = found.worst().unwrap();
    assert!((0.02..0.06).contains(&worst), "{worst}");
    let longer = found.would_take.unwrap().as_secs_f64() / found.looked_at().as_secs_f64();
    assert!((4.0..40.0).contains(&longer), "{longer}");
}

/// Acknowledged bytes of a link of constant rate come in bursts at irregular times.
#[test]
fn bursts_at_a_constant_rate_are_known_after_the_time_that_was_stated() {
    let mut dice = Dice::new(3);
    let mut values = vec![0.0; 60_000];
    for burst in 0..1500 {
        let late = (dice.normal().abs() * 9.0).min(30.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to 30"
        )]
        let late = late as usize;
        values[burst * 37 + late] += 1000.0;
    }
    let wanted = wanted(0.01, &[]);
    let values_at = |index: usize| values[index];
    let short = run(&wanted, 2_000, values_at);
    assert_eq!(short.end, UntilEnd::TooNoisy, "{short:?}");
    let longer = short.would_take.unwrap().as_secs_f64() / short.looked_at().as_secs_f64();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small factor"
    )]
    let enough = (2_000.0 * longer * 2.0) as usize;
    assert!(enough < 20_000, "{short:?}");
    let long = run(&wanted, enough, values_at);
    assert_eq!(long.end, UntilEnd::Reached, "{short:?} {long:?}");
}

#[test]
fn a_run_that_is_over_too_soon_is_not_judged() {
    let found = run(&wanted(0.01, &[]), 100, |_| 1000.0);
    assert_eq!(found.end, UntilEnd::TooShort);
    assert_eq!(found.course, Course::Unknown);
    let none = Feed::new(&wanted(0.01, &[]), EVERY, 1.0).found();
    assert_eq!((none.end, none.throughput), (UntilEnd::TooShort, None));
}

#[test]
fn warm_up_is_left_out() {
    let mut dice = Dice::new(3);
    let found = run(&wanted(0.01, &[]), 10_000, |at| {
        let ramp = (at as f64 / 100.0).min(1.0);
        ramp * 1000.0 + 20.0 * dice.normal()
    });
    assert_eq!(found.end, UntilEnd::Reached);
    assert!((60..200).contains(&found.warm_up), "{}", found.warm_up);
    let known = found.throughput.unwrap();
    assert!((known.value / 100_000.0 - 1.0).abs() < 0.02);
}

#[test]
fn two_levels_and_a_falling_one_are_told_from_each_other() {
    let mut dice = Dice::new(4);
    let bimodal = run(&wanted(0.02, &[]), 20_000, |_| {
        let level = if dice.roll() < 0.4 { 700.0 } else { 1000.0 };
        level + 10.0 * dice.normal()
    });
    assert_eq!(bimodal.course.label(), "bimodal");
    assert_eq!(bimodal.end, UntilEnd::Reached);
    let falling = run(&wanted(1e-6, &[]), 4_000, |at| {
        1000.0 - at as f64 / 10.0 + 10.0 * dice.normal()
    });
    assert_eq!(falling.course.label(), "drifting");
    assert_eq!(
        (falling.end, falling.would_take),
        (UntilEnd::TooNoisy, None)
    );
}

#[test]
fn a_look_that_came_late_counts_for_as_long_as_it_took() {
    let wanted = wanted(0.01, &[]);
    let mut feed = Feed::new(&wanted, EVERY, 1.0);
    feed.add(0.0, EVERY);
    assert!(feed.values.is_empty());
    feed.add(10.0, EVERY);
    feed.add(90.0, EVERY * 3);
    assert_eq!(feed.values.len(), 4);
    assert!((feed.values[2] - 3000.0).abs() < 1e-6);
    // A value that comes too early is merged with the next.
    feed.add(1.0, EVERY / 10);
    assert_eq!(feed.values.len(), 4);
    feed.add(9.0, EVERY * 9 / 10);
    assert_eq!(feed.values.len(), 5);
    assert!((feed.values[4] - 1000.0).abs() < 1e-6);
    // And a little too long, ten times, is one more.
    for _ in 0..10 {
        feed.add(11.0, EVERY * 11 / 10);
    }
    assert_eq!(feed.values.len(), 16);
}

#[test]
fn few_operations_in_an_interval_make_no_two_levels() {
    let found = run(&wanted(1e-9, &[]), 8_000, |at| {
        f64::from(u8::from(at % 3 == 0))
    });
    assert_eq!(found.course, Course::Stable);
}

/// A run with times of operations of which a tenth are slow.
fn timed(wanted: &UntilPlan, longest: usize, slow: impl Fn(&mut Dice) -> u64) -> Until {
    let mut dice = Dice::new(5);
    let mut feed = Feed::new(wanted, EVERY, 1.0);
    let mut all = netperf_measure::latency::Recording::new();
    let watch = all.watched();
    for _ in 0..longest {
        for _ in 0..100 {
            let time = if dice.roll() < 0.1 {
                slow(&mut dice)
            } else {
                10_000
            };
            all.record_nanos(time);
        }
        feed.add(100.0, EVERY);
        if feed.wants_times() {
            feed.times(&[watch.buckets()]);
        }
        if feed.is_enough() {
            break;
        }
    }
    feed.found()
}

#[test]
fn a_percentile_is_waited_for_as_well() {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 50,000 to 150,000"
    )]
    let slow = |dice: &mut Dice| (50_000.0 + 100_000.0 * dice.roll()) as u64;
    let wanted = wanted(0.005, &[0.5, 0.99]);
    let found = timed(&wanted, 20_000, slow);
    assert_eq!(found.end, UntilEnd::Reached);
    // The throughput and the median never vary.
    assert!(found.values > FEWEST_VALUES, "{}", found.values);
    let known = found.percentiles[1].known.unwrap();
    assert!((known.value / 140_000.0 - 1.0).abs() < 0.01, "{known:?}");
    let too_soon = timed(&wanted, FEWEST_VALUES + 50, slow);
    assert_eq!(too_soon.end, UntilEnd::TooNoisy);
    assert!(too_soon.would_take.is_some());
}
