//! Directions of streams of a client, and their intervals.

use std::sync::Arc;
use std::time::Duration;

use netperf_iperf2::rows::MovedCounts;
use netperf_measure::clock::Moment;
use netperf_program::iperf2::{DirectionIntervals, DirectionPart, ShownCounts};

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

/// A direction that has rows.
#[derive(Debug)]
pub(super) struct ClientWay {
    pub(super) of: WayOf,
    pub(super) intervals: DirectionIntervals,
    /// The last interval is not part of a sum yet.
    pub(super) is_new: bool,
}

impl ClientWay {
    pub(super) fn new(of: WayOf, counts: &Arc<ShownCounts>) -> Self {
        Self {
            of,
            intervals: DirectionIntervals::begin(counts),
            is_new: false,
        }
    }

    /// Counts so far.
    fn counted(&self, client: &Iperf2Client) -> MovedCounts {
        match self.of {
            WayOf::Sent(at) => client.streams.get(at).map(counts::sent).unwrap_or_default(),
            WayOf::Received(_) | WayOf::Back(_) => self.intervals.counts.now(),
        }
    }

    /// Counts that the intervals so far add to a sum: calls are those of senders.
    pub(super) fn summed(&self) -> MovedCounts {
        let counts = self.intervals.ended().counts();
        let calls = match self.of {
            WayOf::Sent(_) => counts.calls,
            WayOf::Received(_) | WayOf::Back(_) => 0,
        };
        MovedCounts { calls, ..counts }
    }

    /// When its next interval ends; `None` before it begins.
    pub(super) fn due(&self, every: Duration) -> Option<Moment> {
        let begun = self.intervals.counts.begun()?;
        Some(begun.plus(self.intervals.ended().next_end(every)))
    }

    /// True if it has ended before its next interval does. The last datagrams may arrive a little
    /// earlier than they should.
    pub(super) fn is_over(&self, every: Duration) -> bool {
        let end = self.intervals.ended().next_end(every);
        let elapsed = self.intervals.counts.elapsed();
        elapsed.is_some_and(|elapsed| elapsed + every / 1000 < end)
    }

    /// Ends its next interval, if that is over.
    pub(super) fn next(&mut self, client: &Iperf2Client, every: Duration) -> Option<DirectionPart> {
        let is_last = self.intervals.counts.elapsed().is_some();
        let is_due = is_last || self.due(every)?.left().is_zero();
        if !is_due || self.is_over(every) {
            return None;
        }
        let counts = self.counted(client);
        self.is_new = true;
        Some(self.intervals.finish(every, counts))
    }

    /// Data that it moved in all, and behind its last interval if that has a row, once it has ended
    /// with so many bytes.
    pub(super) fn end(
        &mut self,
        client: &Iperf2Client,
        every: Option<Duration>,
        (bytes, elapsed): (u64, Duration),
    ) -> (DirectionPart, Option<DirectionPart>) {
        let counts = MovedCounts {
            bytes,
            ..self.counted(client)
        };
        self.intervals.end(every, elapsed, counts)
    }
}
