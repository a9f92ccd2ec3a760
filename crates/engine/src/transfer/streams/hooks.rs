//! Around each call of a stream: its rate, and numbers in datagrams.

use std::time::Duration;

use netperf_measure::clock;
use netperf_measure::counters::TransferCounts;
use netperf_model::{ArrivalOrder, Jitter, Tally};
use netperf_transport::Endpoint;

use super::super::pace::TransferPace;
use super::{DatagramFormat, PATIENCE};
use crate::due::hooks::Hooks;
use crate::stop::{Ended, Stop};

const SECOND: f64 = 1e9;
/// Number of the first datagram of a stream.
const FIRST: u64 = 1;

/// Hooks of a stream.
pub(super) struct StreamHooks<'a, F> {
    pub(super) pace: Option<TransferPace>,
    pub(super) format: Option<F>,
    /// Bytes of a datagram.
    pub(super) size: usize,
    pub(super) sends: bool,
    pub(super) order: ArrivalOrder,
    /// Of transit times in nanoseconds.
    pub(super) jitter: Jitter,
    pub(super) counts: &'a TransferCounts,
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
            let ended = pace.wait(tally.bytes_sent + dropped, PATIENCE, stop);
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
        let jitter = self.jitter.mean() / SECOND;
        self.counts.datagrams.publish(&self.order, jitter);
    }

    fn paused(&self) -> Duration {
        Duration::ZERO
    }
}
