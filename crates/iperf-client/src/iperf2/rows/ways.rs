//! Directions of streams of a client, and their intervals.

use std::sync::Arc;
use std::time::Duration;

use netperf_iperf2::rows::{CountedInterval, IntervalCounts, MovedCounts};
use netperf_measure::clock::Moment;
use netperf_model::iperf2::DelayMoments;
use netperf_program::iperf2::ShownCounts;

use crate::iperf2::counts;
use crate::iperf2::session::Iperf2Client;

/// A direction: its place among the client's own streams, or among those of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayOf {
    /// Data that an own stream sends.
    Sent(usize),
    /// Data that an own stream receives.
    Received(usize),
    /// Data that a stream of the server sends.
    Back(usize),
}

/// Data that a direction moved in a time, and its delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct WayMoved {
    pub(super) interval: CountedInterval,
    pub(super) delays: DelayMoments,
}

/// A direction that has rows.
#[derive(Debug)]
pub(super) struct ClientWay {
    pub(super) of: WayOf,
    pub(super) counts: Arc<ShownCounts>,
    /// Its intervals.
    pub(super) intervals: IntervalCounts,
    /// The last one is not part of a sum yet.
    pub(super) is_new: bool,
    /// Delays of all so far.
    delays: DelayMoments,
}

impl ClientWay {
    pub(super) fn new(of: WayOf, counts: &Arc<ShownCounts>) -> Self {
        Self {
            of,
            counts: Arc::clone(counts),
            intervals: IntervalCounts::default(),
            is_new: false,
            delays: DelayMoments::default(),
        }
    }

    /// Counts so far.
    fn counted(&self, client: &Iperf2Client) -> MovedCounts {
        match self.of {
            WayOf::Sent(at) => client.streams.get(at).map(counts::sent).unwrap_or_default(),
            WayOf::Received(_) | WayOf::Back(_) => self.counts.now(),
        }
    }

    /// Counts that the intervals so far add to a sum: calls are those of senders.
    pub(super) fn summed(&self) -> MovedCounts {
        let counts = self.intervals.counts();
        let calls = match self.of {
            WayOf::Sent(_) => counts.calls,
            WayOf::Received(_) | WayOf::Back(_) => 0,
        };
        MovedCounts { calls, ..counts }
    }

    /// When its next interval ends; `None` before it begins.
    pub(super) fn due(&self, every: Duration) -> Option<Moment> {
        let begun = self.counts.begun()?;
        Some(begun.plus(self.intervals.next_end(every)))
    }

    /// True if it has ended before its next interval does. The last datagrams may arrive a little
    /// earlier than they should.
    pub(super) fn is_over(&self, every: Duration) -> bool {
        let end = self.intervals.next_end(every);
        let elapsed = self.counts.elapsed();
        elapsed.is_some_and(|elapsed| elapsed + every / 1000 < end)
    }

    /// Ends its next interval, if that is over.
    pub(super) fn next(&mut self, client: &Iperf2Client, every: Duration) -> Option<WayMoved> {
        let is_last = self.counts.elapsed().is_some();
        let is_due = is_last || self.due(every)?.left().is_zero();
        if !is_due || self.is_over(every) {
            return None;
        }
        let (end, counts) = (self.intervals.next_end(every), self.counted(client));
        let moved = WayMoved {
            interval: self.intervals.finish(end, counts),
            delays: self.counts.end_interval(),
        };
        self.is_new = true;
        self.delays = self.delays.plus(&moved.delays);
        Some(moved)
    }

    /// Data that it moved in all, and behind its last interval if that has a row, once it has ended
    /// with so many bytes.
    pub(super) fn end(
        &mut self,
        client: &Iperf2Client,
        every: Option<Duration>,
        (bytes, elapsed): (u64, Duration),
    ) -> (WayMoved, Option<WayMoved>) {
        let counts = MovedCounts {
            bytes,
            ..self.counted(client)
        };
        let delays = self.counts.end_interval();
        let whole = WayMoved {
            interval: CountedInterval {
                times: (Duration::ZERO, elapsed),
                counts,
            },
            delays: self.delays.plus(&delays),
        };
        let rest = self.intervals.rest(every, elapsed, counts);
        (whole, rest.map(|interval| WayMoved { interval, delays }))
    }
}
