//! Arrival times of requests: even, or random as from many clients.

use netperf_model::{Arrival, RatePlan};
use netperf_stats::random::SplitMix64;

/// Nanoseconds of a second.
pub const SECOND: f64 = 1e9;

/// An endless sequence of arrival times, nanoseconds since the beginning.
#[derive(Clone, Debug)]
pub struct ArrivalSchedule {
    /// The mean time between two arrivals.
    interval: f64,
    /// The first of constant arrivals.
    phase: f64,
    /// Arrivals taken.
    taken: u64,
    /// The next arrival.
    next: f64,
    /// The source of random times; `None` for constant ones.
    random: Option<SplitMix64>,
}

impl ArrivalSchedule {
    /// The arrivals that a plan asks for.
    #[must_use]
    pub fn new(plan: &RatePlan) -> Self {
        Self::of_part(plan, 0, 1)
    }

    /// The arrivals of one of so many parts, which share the rate evenly: constant arrivals
    /// alternate between parts, random ones are independent.
    #[must_use]
    pub fn of_part(plan: &RatePlan, part: u32, parts: u32) -> Self {
        let interval = SECOND / plan.per_second * f64::from(parts.max(1));
        let seed = plan.seed.unwrap_or(0);
        let mut random = match plan.arrival {
            Arrival::Constant => None,
            Arrival::Poisson if part == 0 => Some(SplitMix64::new(seed)),
            // Consecutive seeds would give one sequence, shifted by a step.
            Arrival::Poisson => {
                let seed = SplitMix64::new(seed ^ (u64::from(part) << 32)).roll();
                Some(SplitMix64::new(seed))
            }
        };
        let phase = f64::from(part) * SECOND / plan.per_second;
        let next = random
            .as_mut()
            .map_or(phase, |random| exponential(random, interval));
        Self {
            interval,
            phase,
            taken: 0,
            next,
            random,
        }
    }

    /// When the next request is due.
    #[inline]
    #[must_use]
    pub fn next_due(&self) -> u64 {
        nanos(self.next)
    }

    /// Takes the next arrival.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "no run sends 2^53 requests")]
    pub fn take(&mut self) {
        self.taken += 1;
        self.next = match &mut self.random {
            // Not accumulated, so that nothing drifts.
            None => self.phase + self.taken as f64 * self.interval,
            Some(random) => self.next + exponential(random, self.interval),
        };
    }

    /// Ends the sequence.
    pub const fn end(&mut self) {
        self.next = f64::INFINITY;
    }

    /// Resumes a sequence that has ended, with an arrival now.
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
    pub const fn resume(&mut self, now: u64) {
        self.next = now as f64;
    }

    /// The arrivals that are due by now and were not taken: the expected number of random
    /// ones.
    #[must_use]
    pub fn missed(&self, now: u64) -> u64 {
        if self.next_due() > now {
            return 0;
        }
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let behind = now as f64 - self.next;
        nanos(behind / self.interval) + 1
    }
}

/// Nanoseconds, or a count, without the fraction.
#[inline]
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and counts from 0; the cast saturates"
)]
pub const fn nanos(figure: f64) -> u64 {
    figure as u64
}

/// An exponentially distributed time.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "the 53 bits that are taken fit")]
fn exponential(random: &mut SplitMix64, mean: f64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    // Above 0 and up to 1: the logarithm is finite.
    let share = ((random.roll() >> 11) + 1) as f64 * STEP;
    -share.ln() * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::RateUnit;

    fn plan(per_second: f64, arrival: Arrival) -> RatePlan {
        RatePlan {
            per_second,
            unit: RateUnit::Transactions,
            arrival,
            seed: Some(7),
        }
    }

    fn times(plan: &RatePlan, number: usize) -> Vec<u64> {
        let mut arrivals = ArrivalSchedule::new(plan);
        (0..number)
            .map(|_| {
                let due = arrivals.next_due();
                arrivals.take();
                due
            })
            .collect()
    }

    #[test]
    fn constant_arrivals_lie_on_a_grid_that_does_not_drift() {
        let times = times(&plan(3.0, Arrival::Constant), 3_000_001);
        assert_eq!(&times[..3], [0, 333_333_333, 666_666_666]);
        assert_eq!(times[3_000_000], 1_000_000_000_000_000);
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_their_distribution() {
        let number = 200_000;
        let times = times(&plan(1000.0, Arrival::Poisson), number + 1);
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / number as f64;
        let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / number as f64;
        // The deviation of an exponential distribution is its mean.
        assert!((mean - 1e6).abs() < 1e4, "{mean}");
        assert!((square.sqrt() - 1e6).abs() < 2e4, "{}", square.sqrt());
    }

    #[test]
    fn the_same_seed_gives_the_same_times_and_another_one_does_not() {
        let seven = plan(10.0, Arrival::Poisson);
        let eight = RatePlan {
            seed: Some(8),
            ..seven
        };
        assert_eq!(times(&seven, 50), times(&seven, 50));
        assert_ne!(times(&seven, 50), times(&eight, 50));
    }

    #[test]
    fn parts_share_the_rate_and_constant_ones_take_turns() {
        let plan = plan(1000.0, Arrival::Constant);
        let firsts = [0, 1, 3].map(|part| {
            let mut arrivals = ArrivalSchedule::of_part(&plan, part, 4);
            let first = arrivals.next_due();
            arrivals.take();
            (first, arrivals.next_due())
        });
        let expected = [0, 1_000_000, 3_000_000].map(|first| (first, first + 4_000_000));
        assert_eq!(firsts, expected);
    }

    #[test]
    fn random_times_of_parts_know_nothing_of_each_other() {
        let plan = plan(1000.0, Arrival::Poisson);
        let mut seen = std::collections::BTreeSet::new();
        for part in 0..100 {
            let mut arrivals = ArrivalSchedule::of_part(&plan, part, 100);
            for _ in 0..20 {
                let before = arrivals.next_due();
                arrivals.take();
                // The same step of the generator would give the same gap.
                assert!(seen.insert(arrivals.next_due() - before), "{part}");
            }
        }
    }

    #[test]
    fn due_requests_that_are_not_taken_are_missed() {
        let mut arrivals = ArrivalSchedule::new(&plan(1000.0, Arrival::Constant));
        arrivals.take();
        assert_eq!(arrivals.missed(999_999), 0);
        assert_eq!(arrivals.missed(1_000_000), 1);
        assert_eq!(arrivals.missed(4_500_000), 4);
    }
}
