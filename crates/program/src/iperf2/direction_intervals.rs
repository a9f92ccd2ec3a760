//! Intervals of a direction of a stream that has rows.

use std::sync::Arc;
use std::time::Duration;

use netperf_iperf2::rows::{CountedInterval, IntervalCounts};
use netperf_model::iperf2::{DelayMoments, MovedCounts};

use super::ShownCounts;

/// A part of a direction: its counts, and its delays.
#[derive(Clone, Copy, Debug)]
pub struct DirectionPart {
    /// Times and counts.
    pub interval: CountedInterval,
    /// Delays.
    pub delays: DelayMoments,
}

/// Counters of a direction, and its intervals so far.
#[derive(Debug)]
pub struct DirectionIntervals {
    /// Its counters.
    pub counts: Arc<ShownCounts>,
    intervals: IntervalCounts,
    delays: DelayMoments,
}

impl DirectionIntervals {
    /// A direction with these counters begins.
    pub fn begin(counts: &Arc<ShownCounts>) -> Self {
        Self {
            counts: Arc::clone(counts),
            intervals: IntervalCounts::default(),
            delays: DelayMoments::default(),
        }
    }

    /// Intervals that have ended.
    pub const fn ended(&self) -> &IntervalCounts {
        &self.intervals
    }

    /// Ends the next interval, with these counts.
    pub fn finish(&mut self, every: Duration, counts: MovedCounts) -> DirectionPart {
        let end = self.intervals.next_end(every);
        let part = DirectionPart {
            interval: self.intervals.finish(end, counts),
            delays: self.counts.end_interval(),
        };
        self.delays = self.delays.plus(&part.delays);
        part
    }

    /// The whole direction, which took `elapsed` and has these counts, and the part behind the last
    /// interval if that has a row.
    pub fn end(
        &self,
        every: Option<Duration>,
        elapsed: Duration,
        counts: MovedCounts,
    ) -> (DirectionPart, Option<DirectionPart>) {
        let delays = self.counts.end_interval();
        let whole = DirectionPart {
            interval: CountedInterval {
                times: (Duration::ZERO, elapsed),
                counts,
            },
            delays: self.delays.plus(&delays),
        };
        let rest = self.intervals.rest(every, elapsed, counts);
        (
            whole,
            rest.map(|interval| DirectionPart { interval, delays }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direction_ends_with_a_part_behind_its_last_interval_and_the_whole() {
        let second = Duration::from_secs(1);
        let bytes = |bytes| MovedCounts {
            bytes,
            ..MovedCounts::default()
        };
        let counts = Arc::new(ShownCounts::default().timing());
        let mut intervals = DirectionIntervals::begin(&counts);
        counts.add_delay(3.0);
        let first = intervals.finish(second, bytes(5));
        assert_eq!((first.interval.counts.bytes, first.delays.count), (5, 1));
        counts.add_delay(7.0);
        let (whole, rest) = intervals.end(Some(second), second * 3 / 2, bytes(8));
        let rest = rest.expect("a rest of half a second");
        assert_eq!((rest.interval.counts.bytes, rest.delays.max), (3, 7.0));
        assert_eq!((whole.interval.counts.bytes, whole.delays.count), (8, 2));
    }
}
