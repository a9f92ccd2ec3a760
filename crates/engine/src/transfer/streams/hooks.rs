//! Around each call of a stream: its rate, and numbers in datagrams.

use std::sync::atomic::Ordering;
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{ArrivalOrder, Jitter, Tally};
use netperf_os::wait;
use netperf_transport::Endpoint;

use super::{DatagramFormat, PATIENCE, StreamCounts};
use crate::due::hooks::Hooks;
use crate::stop::{Ended, Phase, Stop};

/// A hold-up beyond this is not made up for, nanoseconds.
const MADE_UP: u64 = 1_000_000_000;
const SECOND: f64 = 1e9;
/// Number of the first datagram of a stream.
const FIRST: u64 = 1;

/// Releases the blocks of a stream at its rate.
#[derive(Debug)]
pub(super) struct StreamPace {
    /// Nanoseconds of a byte.
    byte: f64,
    /// Bytes that are released together.
    burst: u64,
    /// Bytes that are released.
    released: u64,
    began: Option<u64>,
    given_up: u64,
}

impl StreamPace {
    pub(super) fn new(bits_per_second: f64, burst: u64) -> Self {
        Self {
            byte: 8.0 * SECOND / bits_per_second,
            burst: burst.max(1),
            released: 0,
            began: None,
            given_up: 0,
        }
    }

    /// Waits until the next bytes are due. `sent` were before, which may end within a block.
    fn wait<S: Stop>(&mut self, sent: u64, stop: &S) -> Option<Ended> {
        if sent < self.released {
            return None;
        }
        self.released = sent + self.burst;
        let now = clock::monotonic();
        let began = *self.began.get_or_insert(now);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "exact up to 2^53 bytes and nanoseconds"
        )]
        let due = began + self.given_up + (sent as f64 * self.byte) as u64;
        self.given_up += now.saturating_sub(due).saturating_sub(MADE_UP);
        loop {
            let left = due.saturating_sub(clock::monotonic());
            if left == 0 {
                return None;
            }
            if stop.phase() != Phase::Running {
                return Some(Ended::TimeOver);
            }
            wait::sleep(Duration::from_nanos(left).min(PATIENCE));
        }
    }
}

/// Hooks of a stream.
pub(super) struct StreamHooks<'a, F> {
    pub(super) pace: Option<StreamPace>,
    pub(super) format: Option<F>,
    /// Bytes of a datagram.
    pub(super) size: usize,
    pub(super) sends: bool,
    pub(super) order: ArrivalOrder,
    /// Of transit times in nanoseconds.
    pub(super) jitter: Jitter,
    pub(super) counts: &'a StreamCounts,
}

impl<F: DatagramFormat> Hooks for StreamHooks<'_, F> {
    #[inline]
    fn takes_time(&self) -> bool {
        self.pace.is_some()
    }

    #[inline]
    fn before<S: Stop>(&mut self, buffer: &mut [u8], stop: &mut S, tally: &Tally) -> Option<Ended> {
        if !self.sends {
            return None;
        }
        if let Some(pace) = &mut self.pace {
            let dropped = tally.failed_sends * self.size as u64;
            let ended = pace.wait(tally.bytes_sent + dropped, stop);
            if ended.is_some() {
                return ended;
            }
        }
        if let Some(format) = self.format {
            let now = clock::monotonic();
            let first = tally.send_calls + 1;
            for (number, datagram) in (first..).zip(buffer.chunks_mut(self.size)) {
                format.write(datagram, number, now);
            }
        }
        None
    }

    #[inline]
    fn arrived<E: Endpoint>(&mut self, endpoint: &E, buffer: &[u8], bytes: usize) {
        let Some(format) = self.format else {
            return;
        };
        let now = clock::monotonic();
        let (order, jitter) = (&mut self.order, &mut self.jitter);
        endpoint.each_received(buffer, bytes, |datagram| {
            if let Some((number, sent)) = format.read(datagram) {
                order.take(number, FIRST);
                jitter.take(i64::from_ne_bytes(now.wrapping_sub(sent).to_ne_bytes()));
            }
        });
        let (order, own) = (&self.order, self.counts);
        let jitter = self.jitter.mean() / SECOND;
        own.highest.store(order.highest, Ordering::Relaxed);
        own.lost.store(order.lost, Ordering::Relaxed);
        own.out_of_order
            .store(order.out_of_order, Ordering::Relaxed);
        own.jitter.store(jitter.to_bits(), Ordering::Relaxed);
    }

    fn paused(&self) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::message::testing::Manual;

    #[test]
    fn a_rate_is_kept_behind_a_call_that_sent_a_part_of_a_block() {
        // A byte is due every 10 microseconds.
        let mut pace = StreamPace::new(8e5, 1000);
        let stop = Manual::patient();
        let begin = clock::now();
        // The call of the first block sent 300 bytes, and the others whole blocks.
        for sent in [0, 300, 1300, 2300] {
            assert!(pace.wait(sent, &stop).is_none());
        }
        assert!(begin.elapsed() >= Duration::from_millis(23));
        // Nothing is released before what was released is sent.
        assert!(pace.wait(3299, &stop).is_none());
        assert_eq!(pace.released, 3300);
    }
}
