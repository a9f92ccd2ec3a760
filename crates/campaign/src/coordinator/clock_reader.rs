//! Readings of the agents' clocks.

use crate::clock::{ClockReading, OffsetInterval};

/// Readings of each clock, at least. A clock is read on until so many readings have not reduced the
/// bound.
const READINGS: usize = 16;
/// Readings of a clock, at most.
const MOST_READINGS: usize = 128;
/// Time after which no clock is read more often than necessary, nanoseconds.
const READ_ON: u64 = 1_000_000_000;
/// Clocks that are read at the same time, at most.
const AT_ONCE: usize = 128;
/// Round trip from which a path is long, nanoseconds.
pub(super) const LONG: u64 = 2_000_000;

/// True if more readings would hardly reduce the bound.
fn is_settled(readings: &[ClockReading]) -> bool {
    let earlier = readings.len().saturating_sub(READINGS);
    let bound = |count| Some(OffsetInterval::of(readings.get(..count)?)?.bound);
    let (Some(before), Some(after)) = (bound(earlier), bound(readings.len())) else {
        return false;
    };
    readings.len() >= MOST_READINGS || after > before * 0.98
}

/// A member whose clock is read.
#[derive(Debug, Default)]
struct ReadClock {
    readings: Vec<ClockReading>,
    /// When it was asked, if it was and has not answered.
    asked: Option<u64>,
}

/// The clocks of all agents, which are being read.
#[derive(Debug)]
pub(super) struct ClockReader {
    /// Members whose clock is not read yet, the first one last.
    waiting: Vec<usize>,
    clocks: Vec<ReadClock>,
    until: u64,
    read_on: u64,
}

impl ClockReader {
    /// Reads the clocks of these of so many members, until this time.
    pub(super) fn new(mut present: Vec<usize>, members: usize, (now, until): (u64, u64)) -> Self {
        present.reverse();
        Self {
            waiting: present,
            clocks: std::iter::repeat_with(ReadClock::default)
                .take(members)
                .collect(),
            until,
            read_on: now + READ_ON,
        }
    }

    /// True if another clock may be read beside those that were asked. Questions that wait for each
    /// other make the times of both directions differ: one at a time, and more only where the
    /// answers take long.
    fn may_read_another(&self, now: u64) -> bool {
        let mut open = 0;
        let mut asked = self.clocks.iter().filter_map(|clock| clock.asked);
        let all_long = asked.all(|at| {
            open += 1;
            now.saturating_sub(at) >= LONG
        });
        all_long && open < AT_ONCE
    }

    /// The next member to ask, if it may be asked now.
    pub(super) fn next(&mut self, now: u64) -> Option<usize> {
        let index = self.may_read_another(now).then(|| self.waiting.pop())??;
        self.asked(index, now);
        Some(index)
    }

    /// A question goes out.
    pub(super) fn asked(&mut self, index: usize, now: u64) {
        if let Some(clock) = self.clocks.get_mut(index) {
            clock.asked = Some(now);
        }
    }

    /// Takes an answer that came now; true if the clock is to be read once more.
    pub(super) fn answered(
        &mut self,
        index: usize,
        (received, sent): (u64, u64),
        now: u64,
    ) -> bool {
        let Some(clock) = self.clocks.get_mut(index) else {
            return false;
        };
        let Some(asked) = clock.asked.take() else {
            return false;
        };
        clock.readings.push(ClockReading {
            asked,
            received,
            sent,
            answered: now,
        });
        let is_near = now.saturating_sub(asked) < LONG;
        let reads_on = is_near && now < self.read_on && !is_settled(&clock.readings);
        let again = clock.readings.len() < READINGS || reads_on;
        if again {
            clock.asked = Some(now);
        }
        again
    }

    /// Waits for no answer of members that are gone.
    pub(super) fn forget(&mut self, is_there: impl Fn(usize) -> bool) {
        for (index, clock) in self.clocks.iter_mut().enumerate() {
            clock.asked = clock.asked.filter(|_| is_there(index));
        }
    }

    pub(super) const fn is_late(&self, now: u64) -> bool {
        now > self.until
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.clocks.iter().all(|clock| clock.asked.is_none())
    }

    /// The offsets of all members; none of those without readings.
    pub(super) fn offsets(&self) -> Vec<Option<OffsetInterval>> {
        let all = self.clocks.iter();
        all.map(|clock| OffsetInterval::of(&clock.readings))
            .collect()
    }
}
