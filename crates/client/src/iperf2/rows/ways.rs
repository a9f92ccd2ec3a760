//! Directions of streams of a client, and their intervals.

use std::sync::Arc;
use std::time::Duration;

use netperf_iperf2::rows::MovedCounts;
use netperf_measure::clock::Moment;
use netperf_model::iperf2::DelayMoments;
use netperf_program::iperf2::ShownCounts;

use crate::iperf2::counts;
use crate::iperf2::session::Iperf2Client;

/// A direction: its place among the client's own streams, or among those of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayOf {
    /// What an own stream sends.
    Sent(usize),
    /// What an own stream receives.
    Received(usize),
    /// What a stream of the server sends.
    Back(usize),
}

/// What a direction moved in a time, and its delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct WayMoved {
    /// Begin and end.
    pub(super) times: (Duration, Duration),
    pub(super) counts: MovedCounts,
    pub(super) delays: DelayMoments,
}

/// A direction that has rows.
#[derive(Debug)]
pub(super) struct ClientWay {
    pub(super) of: WayOf,
    pub(super) counts: Arc<ShownCounts>,
    /// Intervals so far.
    pub(super) turn: u32,
    /// The last one is not part of a sum yet.
    pub(super) is_new: bool,
    /// Counts at the end of the last one.
    before: MovedCounts,
    /// Delays of all so far.
    delays: DelayMoments,
}

impl ClientWay {
    pub(super) fn new(of: WayOf, counts: &Arc<ShownCounts>) -> Self {
        Self {
            of,
            counts: Arc::clone(counts),
            turn: 0,
            is_new: false,
            before: MovedCounts::default(),
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

    /// What the intervals so far add to a sum: calls are those of senders.
    pub(super) fn summed(&self) -> MovedCounts {
        let calls = match self.of {
            WayOf::Sent(_) => self.before.calls,
            WayOf::Received(_) | WayOf::Back(_) => 0,
        };
        MovedCounts {
            calls,
            ..self.before
        }
    }

    /// When its next interval ends; `None` before it begins.
    pub(super) fn due(&self, every: Duration) -> Option<Moment> {
        let begun = self.counts.begun()?;
        Some(begun.plus(every.saturating_mul(self.turn + 1)))
    }

    /// True if it has ended before its next interval does. The last datagrams may arrive a little
    /// earlier than they should.
    pub(super) fn is_over(&self, every: Duration) -> bool {
        let end = every.saturating_mul(self.turn + 1);
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
        let times = (every * self.turn, every * (self.turn + 1));
        let now = self.counted(client);
        let moved = WayMoved {
            times,
            counts: now.since(self.before),
            delays: self.counts.end_interval(),
        };
        (self.before, self.turn, self.is_new) = (now, self.turn + 1, true);
        self.delays = self.delays.plus(&moved.delays);
        Some(moved)
    }

    /// What it moved in all, and behind its last interval, once it has ended with so many bytes.
    pub(super) fn end(
        &mut self,
        client: &Iperf2Client,
        (bytes, elapsed): (u64, Duration),
    ) -> [WayMoved; 2] {
        let all = MovedCounts {
            bytes,
            ..self.counted(client)
        };
        let last = self.counts.end_interval();
        let whole = WayMoved {
            times: (Duration::ZERO, elapsed),
            counts: all,
            delays: self.delays.plus(&last),
        };
        let rest = WayMoved {
            times: (Duration::ZERO, elapsed),
            counts: all.since(self.before),
            delays: last,
        };
        [whole, rest]
    }
}
