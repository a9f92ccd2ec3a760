//! Account of numbered datagrams at their receiver: loss, order and jitter, as iperf counts them.
//!
//! The jitter is that of RFC 3550 section 6.4.1 (RFC 1889 before): a mean of the differences of
//! transit times with a gain of 1/16. Clocks of two hosts have nothing in common, so only
//! differences of transit times mean anything.

use netperf_model::ArrivalOrder;

/// Gain of the mean of jitter.
const GAIN: f64 = 1.0 / 16.0;

/// Counts of datagrams that arrived. Their numbers count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatagramTally {
    /// Loss and order.
    pub order: ArrivalOrder,
    /// Jitter, seconds.
    pub jitter: f64,
}

/// The account of one stream. Its size does not depend on the number of datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatagramTrack {
    counts: DatagramTally,
    /// Transit time of the last datagram, nanoseconds.
    transit: Option<i64>,
}

impl DatagramTrack {
    /// Takes account of a datagram: its number, when it was sent by the clock of its sender, and
    /// when it arrived by that of the receiver, both in nanoseconds.
    #[inline]
    pub fn take(&mut self, number: u64, sent: u64, arrived: u64) {
        self.counts.order.take(number, 1);
        let transit = i64::from_ne_bytes(arrived.wrapping_sub(sent).to_ne_bytes());
        if let Some(before) = self.transit.replace(transit) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "2^53 nanoseconds are more than three months"
            )]
            let difference = transit.wrapping_sub(before).unsigned_abs() as f64 / 1e9;
            self.counts.jitter += (difference - self.counts.jitter) * GAIN;
        }
    }

    /// The counts so far.
    #[must_use]
    pub const fn counts(&self) -> DatagramTally {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use netperf_model::Jitter;
    use proptest::prelude::*;

    use super::*;

    const MILLI: u64 = 1_000_000;

    fn of(numbers: &[u64]) -> DatagramTally {
        let mut track = DatagramTrack::default();
        for (at, number) in (0..).zip(numbers) {
            track.take(*number, at * MILLI, at * MILLI + 77);
        }
        track.counts()
    }

    #[test]
    fn late_and_repeated_datagrams_are_counted_as_iperf3_does() {
        let counts = of(&[1, 2, 3, 5, 4, 8, 8, 9, 10]).order;
        assert_eq!((counts.highest, counts.arrived), (10, 9));
        assert_eq!((counts.lost, counts.out_of_order), (1, 2));
    }

    #[test]
    fn a_constant_offset_of_clocks_is_no_jitter() {
        let mut track = DatagramTrack::default();
        for at in 0..100 {
            // The sender's clock is ahead.
            track.take(at + 1, at * MILLI + 100_000 * MILLI, at * MILLI);
        }
        assert_eq!(track.counts().jitter, 0.0);
    }

    #[test]
    fn one_step_of_transit_counts_a_sixteenth_and_fades() {
        let mut track = DatagramTrack::default();
        track.take(1, 0, 0);
        track.take(2, 0, 1600 * MILLI);
        assert!((track.counts().jitter - 0.1).abs() < 1e-12);
        track.take(3, 0, 1600 * MILLI);
        assert!((track.counts().jitter - 0.09375).abs() < 1e-12);
    }

    #[test]
    fn numbers_without_sense_do_not_overflow() {
        let counts = of(&[u64::MAX, 1, u64::MAX, 0]);
        assert_eq!(counts.order.highest, u64::MAX);
        assert_eq!(counts.order.lost, u64::MAX - 4);
        assert_eq!(of(&[1, 1, 1]).order.lost, 0);
    }

    proptest! {
        #[test]
        fn the_account_equals_order_and_jitter_of_the_model(
            datagrams in prop::collection::vec((0_u64..50, 0_u64..1 << 40, 0_u64..1 << 40), 0..200),
        ) {
            let mut track = DatagramTrack::default();
            let (mut order, mut jitter) = (ArrivalOrder::default(), Jitter::default());
            for (number, sent, arrived) in datagrams {
                track.take(number, sent, arrived);
                order.take(number, 1);
                jitter.take(i64::try_from(arrived).unwrap() - i64::try_from(sent).unwrap());
                prop_assert_eq!(track.counts().order, order);
                let (old, new) = (track.counts().jitter, jitter.mean() / 1e9);
                prop_assert!((old - new).abs() <= 1e-12 * old, "{} {}", old, new);
            }
        }
    }
}
