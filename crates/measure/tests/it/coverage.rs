//! The interval of confidence covers the true mean as often as it says: 95 % of the
//! time, in simulated runs whose true mean is known.
//!
//! The number of iterations is fixed in advance here, as the formula demands. A run
//! that ends as soon as its interval is narrow enough (`-i` with a lower and an upper
//! count) prefers the iterations that happen to agree, and covers a little less; the
//! last test holds how much less.

use netperf_measure::confidence::{ConfidenceInput, assess};
use netperf_model::ConfidencePlan;

const RUNS: u32 = 2_000;
const MEAN: f64 = 1_000.0;
const SPREAD: f64 = 30.0;

/// Numbers that look random and are the same each time (xorshift64*).
struct Dice(u64);

impl Dice {
    /// A number above 0 and below 1.
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = u32::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32);
        (f64::from(high.expect("half of 64 bits")) + 0.5) / f64::from(u32::MAX)
    }

    /// Normal, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.roll().min(1.0).ln()).sqrt();
        MEAN + SPREAD * radius * (std::f64::consts::TAU * self.roll()).cos()
    }

    /// Skewed to the right by 0.5: the sum of sixteen exponential waits, as rates are
    /// that now and then meet a slow moment.
    fn skewed(&mut self) -> f64 {
        let waits: f64 = (0..16).map(|_| -self.roll().min(1.0).ln()).sum();
        MEAN + SPREAD * (waits - 16.0) / 4.0
    }
}

fn plan(iterations: [u32; 2]) -> ConfidencePlan {
    ConfidencePlan {
        level: 95,
        width: 0.05,
        min_iterations: iterations[0],
        max_iterations: iterations[1],
        result_only: true,
    }
}

/// Returns true if the interval that is printed for these results holds the true mean, and if it
/// is narrow enough.
fn judged(plan: &ConfidencePlan, results: &[f64]) -> (bool, bool) {
    let cpu = vec![-1.0; results.len()];
    let found = assess(
        plan,
        ConfidenceInput {
            result: results,
            local_cpu: &cpu,
            remote_cpu: &cpu,
        },
    );
    let count = f64::from(u32::try_from(results.len()).expect("a few"));
    let mean = results.iter().sum::<f64>() / count;
    let half = mean * found.result / 100.0 / 2.0;
    ((mean - MEAN).abs() <= half, found.met)
}

/// One run: whether its interval, when it stops, holds the true mean.
fn covers(plan: &ConfidencePlan, draw: &mut dyn FnMut() -> f64) -> bool {
    let mut results = Vec::new();
    loop {
        results.push(draw());
        let done = u32::try_from(results.len()).expect("a few");
        let (covered, met) = judged(plan, &results);
        if done >= plan.max_iterations || (done >= plan.min_iterations && met) {
            return covered;
        }
    }
}

/// The share of runs, in percent, whose interval holds the true mean.
fn coverage(iterations: [u32; 2], mut draw: impl FnMut() -> f64) -> f64 {
    let plan = plan(iterations);
    let covered = (0..RUNS).filter(|_| covers(&plan, &mut draw)).count();
    100.0 * f64::from(u32::try_from(covered).expect("no more than runs")) / f64::from(RUNS)
}

#[test]
fn the_95_percent_interval_covers_the_mean_of_normal_results() {
    for count in 3..=10 {
        let mut dice = Dice(u64::from(count) + 2026);
        let share = coverage([count; 2], || dice.normal());
        assert!((93.0..=97.0).contains(&share), "{count}: {share} %");
    }
}

#[test]
fn the_95_percent_interval_covers_the_mean_of_mildly_skewed_results() {
    for count in 3..=10 {
        let mut dice = Dice(u64::from(count) + 62_026);
        let share = coverage([count; 2], || dice.skewed());
        assert!((93.0..=97.0).contains(&share), "{count}: {share} %");
    }
}

#[test]
fn runs_that_stop_when_the_interval_is_narrow_enough_cover_little_less() {
    let mut dice = Dice(2026);
    let normal = coverage([3, 10], || dice.normal());
    let skewed = coverage([3, 10], || dice.skewed());
    for share in [normal, skewed] {
        assert!((85.0..=97.0).contains(&share), "{normal} % and {skewed} %");
    }
}
