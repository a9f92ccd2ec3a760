//! Account of a flow of datagrams at its receiver: bytes, loss, order, jitter and transit times.
//!
//! The rules are those of iperf 2.1.8, with one difference: jitter starts from the transit time
//! of the first datagram, so that an offset between clocks does not matter ([`Jitter`]).

use netperf_model::figures::{count, whole};
use netperf_model::iperf2::DelayMoments;
use netperf_model::{ArrivalOrder, Jitter};

use crate::messages::{
    Datagram, DatagramLayout, ServerReport, Transit, WireTime, words_of_squares,
};

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
    /// Of transit times in microseconds.
    jitter: Jitter,
    /// Difference between the last two transit times, microseconds.
    difference: i64,
    /// Transit times, microseconds; the clocks of both ends differ by an unknown offset.
    transits: DelayMoments,
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
        self.difference = self.jitter.take(transit);
        self.transits.add(transit as f64);
    }

    /// Transit time of the last datagram with a time, microseconds, and the number of such datagrams.
    /// It has the offset between the clocks of both ends.
    #[must_use]
    pub fn last_transit(&self) -> Option<(f64, u64)> {
        let last = self.jitter.last_transit()?;
        Some((last as f64, self.transits.count))
    }

    /// Transit times of all datagrams with a time, microseconds. They have the offset, too.
    #[must_use]
    pub const fn transits(&self) -> DelayMoments {
        self.transits
    }

    /// Jitter, microseconds.
    #[must_use]
    pub const fn jitter(&self) -> f64 {
        self.jitter.mean()
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
            jitter: WireTime::from_micros(whole(self.jitter())),
            transit: Some(self.transit_report()),
        }
    }

    /// Transit times for the report. Negative ones, of clocks that differ, are 0.
    fn transit_report(&self) -> Transit {
        if self.transits.count == 0 {
            return Transit::default();
        }
        let real = |micros: f64| WireTime::from_micros(whole(micros));
        let DelayMoments {
            min,
            max,
            mean,
            squares,
            count: transits,
        } = self.transits;
        let [seconds, micros] = [self.difference / 1_000_000, self.difference % 1_000_000];
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
            sum: real(mean * count(transits)),
            mean: real(mean),
            squares: words_of_squares(squares),
            difference: [word(seconds), word(micros)],
            count: low(transits),
            rate: [low(rate), 1],
        }
    }
}
