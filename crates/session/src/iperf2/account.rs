//! Account of a flow of datagrams at its receiver: bytes, loss, order, jitter and transit times.
//!
//! The rules are those of iperf 2.1.8, with one difference: jitter starts from the transit time
//! of the first datagram, so that an offset between clocks does not matter (as in RFC 3550, 6.4.1).

use netperf_model::ArrivalOrder;
use netperf_model::figures::{count, whole};
use netperf_model::iperf2::DelayMoments;
use netperf_wire::iperf2::{Datagram, DatagramLayout, ServerReport, Transit, WireTime};

/// Account of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatagramAccount {
    /// Bytes that arrived, as the peer's version counts them.
    pub bytes: u64,
    /// Loss and order. The final datagram counts, too.
    pub order: ArrivalOrder,
    /// Bytes of all datagrams that arrived.
    pub all_bytes: u64,
    /// Time of the first datagram, microseconds.
    first_at: Option<u64>,
    /// Time of the last datagram, microseconds.
    last_at: u64,
    /// Smoothed difference of transit times, microseconds.
    jitter: f64,
    transit: Option<TransitAccount>,
}

/// Transit times, microseconds; the clocks of both ends differ by an unknown offset.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TransitAccount {
    last: i64,
    difference: i64,
    moments: DelayMoments,
}

impl DatagramAccount {
    /// Adds a datagram of `length` bytes, which arrived at `now`: microseconds of the time of
    /// day. The account of a flow neither allocates nor fails.
    pub fn add(&mut self, datagram: &Datagram, length: usize, layout: DatagramLayout, now: u64) {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        let is_counted = layout == DatagramLayout::Modern || !datagram.is_final();
        if is_counted {
            self.bytes = self.bytes.saturating_add(length);
        }
        self.all_bytes = self.all_bytes.saturating_add(length);
        let first = u64::from(layout != DatagramLayout::Classic);
        self.order.take(datagram.number.unsigned_abs(), first);
        self.first_at.get_or_insert(now);
        self.last_at = now;
        if let Some(sent) = datagram.sent {
            self.transit(now, sent);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "statistics of microseconds")]
    fn transit(&mut self, now: u64, sent: WireTime) {
        let micros = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let transit = micros(now).saturating_sub(micros(sent.micros()));
        let account = self.transit.get_or_insert(TransitAccount {
            last: transit,
            difference: 0,
            moments: DelayMoments::default(),
        });
        if account.moments.count > 0 {
            let difference = transit.saturating_sub(account.last);
            self.jitter += (difference.unsigned_abs() as f64 - self.jitter) / 16.0;
            account.difference = difference;
            account.last = transit;
        }
        account.moments.add(transit as f64);
    }

    /// Transit time of the last datagram with a time, microseconds, and the number of such datagrams.
    /// It has the offset between the clocks of both ends.
    #[must_use]
    pub fn last_transit(&self) -> Option<(f64, u64)> {
        let transit = self.transit.as_ref()?;
        Some((transit.last as f64, transit.moments.count))
    }

    /// Transit times of all datagrams with a time, microseconds. They have the offset, too.
    #[must_use]
    pub fn transits(&self) -> DelayMoments {
        self.transit.map(|one| one.moments).unwrap_or_default()
    }

    /// Jitter, microseconds.
    #[must_use]
    pub const fn jitter(&self) -> f64 {
        self.jitter
    }

    /// Time from the first to the last datagram, microseconds.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.last_at
            .saturating_sub(self.first_at.unwrap_or_default())
    }

    /// The report. `total` is the number of the final datagram.
    #[must_use]
    pub fn report(&self, total: u64, enhanced: bool) -> ServerReport {
        ServerReport {
            enhanced,
            bytes: self.bytes,
            duration: WireTime::from_micros(self.duration()),
            lost: self.order.lost,
            out_of_order: self.order.out_of_order,
            datagrams: total,
            jitter: WireTime::from_micros(whole(self.jitter)),
            transit: Some(self.transit_report()),
        }
    }

    /// Transit times for the report. Negative ones, of clocks that differ, are 0.
    fn transit_report(&self) -> Transit {
        let Some(transit) = &self.transit else {
            return Transit::default();
        };
        let real = |micros: f64| WireTime::from_micros(whole(micros));
        let DelayMoments {
            min,
            max,
            mean,
            squares,
            ..
        } = transit.moments;
        let squares = squares.max(0.0);
        let millionths = whole(squares.fract() * 1e6);
        let [seconds, micros] = [
            transit.difference / 1_000_000,
            transit.difference % 1_000_000,
        ];
        let word = |number: i64| {
            let number = i32::try_from(number).unwrap_or_default();
            u32::from_be_bytes(number.to_be_bytes())
        };
        let low = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let rate = match self.duration() {
            0 => 0,
            duration => self.order.arrived.saturating_mul(1_000_000) / duration,
        };
        Transit {
            min: real(min),
            max: real(max),
            sum: real(mean * count(transit.moments.count)),
            mean: real(mean),
            squares: [low(whole(squares)), low(millionths)],
            difference: [word(seconds), word(micros)],
            count: low(transit.moments.count),
            rate: [low(rate), 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use netperf_model::Jitter;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_account_equals_order_and_jitter_of_the_model(
            datagrams in prop::collection::vec((0_i64..50, 0_u64..1 << 51, 0_u64..1 << 51), 0..200),
        ) {
            let mut account = DatagramAccount::default();
            let (mut order, mut jitter) = (ArrivalOrder::default(), Jitter::default());
            for (number, sent, now) in datagrams {
                let sent = WireTime::from_micros(sent);
                let datagram = Datagram { number, sent: Some(sent) };
                account.add(&datagram, 100, DatagramLayout::Modern, now);
                order.take(number.unsigned_abs(), 1);
                let difference =
                    jitter.take(i64::try_from(now).unwrap() - i64::try_from(sent.micros()).unwrap());
                prop_assert_eq!(account.order, order);
                prop_assert_eq!(account.jitter(), jitter.mean());
                let transit = account.transit.unwrap();
                prop_assert_eq!(Some(transit.last), jitter.last_transit());
                prop_assert_eq!(transit.difference, difference);
            }
        }
    }
}
