//! Counts of moved data for rows and sums, in total and in intervals.

use std::time::Duration;

use netperf_model::intervals::Intervals;
use netperf_model::iperf2::MovedCounts;

/// Intervals of counts, from the time 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntervalCounts(Intervals<Duration, MovedCounts>);

/// Begin and end of an interval, and the counts in it.
#[derive(Clone, Copy, Debug)]
pub struct CountedInterval {
    /// Begin and end.
    pub times: (Duration, Duration),
    /// Counts between them.
    pub counts: MovedCounts,
}

impl IntervalCounts {
    /// When the last interval ended; 0 before the first has.
    pub const fn end(&self) -> Duration {
        self.0.end()
    }

    /// Counts until then.
    pub const fn counts(&self) -> MovedCounts {
        *self.0.counts()
    }

    /// When the next interval ends.
    pub const fn next_end(&self, every: Duration) -> Duration {
        self.end().saturating_add(every)
    }

    /// An interval ends, at this time and with these counts.
    pub fn finish(&mut self, end: Duration, counts: MovedCounts) -> CountedInterval {
        let (begin, before) = self.0.finish(end, counts);
        CountedInterval {
            times: (begin, end),
            counts: counts.since(before),
        }
    }

    /// Data moved after the last interval, if that has a row ([`rest`]).
    pub fn rest(
        &self,
        every: Option<Duration>,
        end: Duration,
        counts: MovedCounts,
    ) -> Option<CountedInterval> {
        Some(CountedInterval {
            times: rest(every, self.end(), end)?,
            counts: counts.since(self.counts()),
        })
    }
}

/// Begin and end of the rest of a test behind its last interval, which ended at `from`. It has a
/// row if it is longer than a quarter of an interval.
fn rest(every: Option<Duration>, from: Duration, end: Duration) -> Option<(Duration, Duration)> {
    let every = every?;
    (end.saturating_sub(from) > every / 4).then_some((from, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_has_what_was_counted_since_the_one_before() {
        let second = Duration::from_secs(1);
        let bytes = |bytes| MovedCounts {
            bytes,
            ..MovedCounts::default()
        };
        let mut counts = IntervalCounts::default();
        assert!(counts.rest(Some(second), second / 8, bytes(1)).is_none());
        assert_eq!(counts.next_end(second), second);
        let first = counts.finish(second, bytes(5));
        assert_eq!(
            (first.times, first.counts.bytes),
            ((Duration::ZERO, second), 5)
        );
        let other = counts.finish(second * 2, bytes(7));
        assert_eq!((other.times, other.counts.bytes), ((second, second * 2), 2));
        let rest = counts.rest(Some(second), second * 5 / 2, bytes(8));
        let rest = rest.map(|rest| (rest.times, rest.counts.bytes));
        assert_eq!(rest, Some(((second * 2, second * 5 / 2), 1)));
        assert!(counts.rest(None, second * 3, bytes(8)).is_none());
    }

    #[test]
    fn a_rest_longer_than_a_quarter_of_an_interval_has_a_row() {
        let at = Duration::from_millis;
        let every = Some(at(1000));
        assert_eq!(rest(every, at(1000), at(1245)), None);
        assert_eq!(rest(every, at(1000), at(1256)), Some((at(1000), at(1256))));
        assert_eq!(rest(every, at(0), at(704)), Some((at(0), at(704))));
        assert_eq!(rest(every, at(2000), at(1999)), None);
        assert_eq!(
            rest(Some(at(400)), at(800), at(905)),
            Some((at(800), at(905)))
        );
        assert_eq!(rest(None, at(0), at(704)), None);
    }
}
