//! The account of datagrams at their receiver: loss and order by their numbers, and jitter by their
//! transit times.

/// Loss and order by the numbers of datagrams that arrived, as iperf 2 and iperf3 count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalOrder {
    /// Largest number in order so far; 0 before the first.
    pub highest: u64,
    /// Datagrams that arrived, late and repeated ones included.
    pub arrived: u64,
    /// Numbers that were passed over, less one for each late or repeated datagram.
    pub lost: u64,
    /// Late and repeated datagrams.
    pub out_of_order: u64,
}

impl ArrivalOrder {
    /// Counts a datagram with this number. `first` is the number of the first one of a flow.
    #[inline]
    pub fn take(&mut self, number: u64, first: u64) {
        self.arrived += 1;
        let expected = if self.arrived == 1 {
            Some(first)
        } else {
            self.highest.checked_add(1)
        };
        match expected.and_then(|expected| number.checked_sub(expected)) {
            Some(passed) => {
                self.lost = self.lost.saturating_add(passed);
                self.highest = number;
            }
            None => {
                self.out_of_order += 1;
                self.lost = self.lost.saturating_sub(1);
            }
        }
    }
}

/// Interarrival jitter (RFC 3550 section 6.4.1): the mean difference of transit times of datagrams
/// that arrive one after the other, with a gain of 1/16.
///
/// The clocks of two hosts have nothing in common, so only differences of transit times count. The
/// unit is that of the transit times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// Transit time of the last datagram.
    transit: Option<i64>,
    mean: f64,
}

impl Jitter {
    /// Gain of the mean.
    const GAIN: f64 = 1.0 / 16.0;

    /// Counts the transit time of a datagram: arrival by the clock of the receiver less departure by
    /// that of the sender. Returns its difference from the one before, 0 for the first.
    #[inline]
    pub fn take(&mut self, transit: i64) -> i64 {
        let Some(before) = self.transit.replace(transit) else {
            return 0;
        };
        let difference = transit.wrapping_sub(before);
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 nanoseconds are more than three months"
        )]
        let distance = difference.unsigned_abs() as f64;
        self.mean += (distance - self.mean) * Self::GAIN;
        difference
    }

    /// The jitter so far; 0 before the second datagram.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Transit time of the last datagram; `None` before the first.
    #[must_use]
    pub const fn last_transit(&self) -> Option<i64> {
        self.transit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn jitter(transits: &[i64]) -> f64 {
        let mut jitter = Jitter::default();
        for transit in transits {
            jitter.take(*transit);
        }
        jitter.mean()
    }

    fn order(numbers: &[u64]) -> ArrivalOrder {
        let mut order = ArrivalOrder::default();
        numbers.iter().for_each(|number| order.take(*number, 1));
        order
    }

    #[test]
    fn late_and_repeated_datagrams_are_counted_as_iperf3_does() {
        let counts = order(&[1, 2, 3, 5, 4, 8, 8, 9, 10]);
        assert_eq!((counts.highest, counts.arrived), (10, 9));
        assert_eq!((counts.lost, counts.out_of_order), (1, 2));
    }

    #[test]
    fn numbers_without_sense_do_not_overflow() {
        let counts = order(&[u64::MAX, 1, u64::MAX, 0]);
        assert_eq!(counts.highest, u64::MAX);
        assert_eq!(counts.lost, u64::MAX - 4);
        assert_eq!(order(&[1, 1, 1]).lost, 0);
    }

    #[test]
    fn a_constant_offset_of_clocks_is_no_jitter() {
        assert_eq!(jitter(&[-100_000_000_000; 100]), 0.0);
    }

    #[test]
    fn one_step_of_transit_counts_a_sixteenth_and_fades() {
        assert_eq!(jitter(&[0, 1600]), 100.0);
        assert_eq!(jitter(&[0, 1600, 1600]), 93.75);
        let mut both = Jitter::default();
        assert_eq!([7, 5, 5].map(|transit| both.take(transit)), [0, -2, 0]);
        assert_eq!(both.last_transit(), Some(5));
    }

    #[test]
    fn jitter_takes_times_that_wrap() {
        assert_eq!(jitter(&[i64::MAX, i64::MIN]), 1.0 / 16.0);
    }

    proptest! {
        /// The formula of RFC 3550, applied to all transit times.
        #[test]
        fn jitter_is_that_of_rfc_3550_whatever_the_clocks(
            transits in prop::collection::vec(0_i64..10_000_000_000, 0..200),
            offset in -1_000_000_000_000_000_000_i64..1_000_000_000_000_000_000,
        ) {
            let steps = transits.windows(2).map(|pair| pair[1].abs_diff(pair[0]) as f64);
            let exact = steps.fold(0.0, |mean, step| mean + (step - mean) / 16.0);
            let shifted: Vec<i64> = transits.iter().map(|transit| transit + offset).collect();
            prop_assert_eq!(jitter(&shifted), exact);
        }

        /// The definitions: the numbers that were passed over, and those that were not the next.
        #[test]
        fn order_counts_gaps_and_late_datagrams(
            numbers in prop::collection::vec(0_u64..40, 1..60),
            first in 0_u64..2,
        ) {
            let mut order = ArrivalOrder::default();
            numbers.iter().for_each(|number| order.take(*number, first));
            let (mut next, mut lost, mut late) = (first, 0_u64, 0);
            for number in &numbers {
                if *number >= next {
                    lost += number - next;
                    next = number + 1;
                } else {
                    lost = lost.saturating_sub(1);
                    late += 1;
                }
            }
            prop_assert_eq!((order.lost, order.out_of_order), (lost, late));
            prop_assert_eq!(order.arrived, numbers.len() as u64);
        }
    }
}
