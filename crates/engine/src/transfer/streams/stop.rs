//! When a stream ends: its owner says so.

use netperf_measure::clock::{self, Moment};
use netperf_measure::counters::TransferCounts;
use netperf_model::Tally;

use super::{DRAIN, Shared};
use crate::stop::{Ended, Phase, Stop};

/// Stop condition of a stream.
pub(super) struct StreamStop<'a> {
    shared: &'a Shared,
    counts: &'a TransferCounts,
    sends: bool,
    /// When a receiver was told to finish.
    finishing: Option<Moment>,
    /// Bytes at the last look behind the end, and when they had arrived.
    late: Option<(u64, u64)>,
}

impl<'a> StreamStop<'a> {
    pub(super) const fn new(shared: &'a Shared, counts: &'a TransferCounts, sends: bool) -> Self {
        Self {
            shared,
            counts,
            sends,
            finishing: None,
            late: None,
        }
    }

    /// When the last data arrived behind the end; 0 if none did.
    pub(super) const fn last_arrival(&self) -> u64 {
        match self.late {
            Some((_, at)) => at,
            None => 0,
        }
    }
}

impl Stop for StreamStop<'_> {
    #[inline]
    fn phase(&self) -> Phase {
        if self.shared.goes_on() {
            Phase::Running
        } else {
            Phase::Finish
        }
    }

    #[inline]
    fn progress(&self, tally: &Tally) {
        let (bytes, messages) = if self.sends {
            (tally.bytes_sent, tally.send_calls)
        } else {
            (tally.bytes_received, tally.recv_calls)
        };
        self.counts.set(bytes, messages);
    }

    fn interrupted(&mut self, _: &Tally) -> Option<Ended> {
        // A receive that began before the end knows nothing of what arrived since.
        let looks_again = self.shared.drains() && self.finishing.is_none();
        let receives_on = !self.sends && (self.shared.is_ending() || looks_again);
        (!self.shared.goes_on() && !receives_on).then_some(Ended::TimeOver)
    }

    fn overtime(&mut self, tally: &Tally) -> Option<Ended> {
        match self.late {
            None => self.late = Some((tally.bytes_received, 0)),
            Some((before, _)) if before != tally.bytes_received => {
                self.late = Some((tally.bytes_received, clock::monotonic()));
            }
            Some(_) => {}
        }
        if self.shared.is_ending() {
            return None;
        }
        if !self.shared.drains() {
            return Some(Ended::TimeOver);
        }
        let since = *self.finishing.get_or_insert_with(clock::now);
        (since.elapsed() >= DRAIN).then_some(Ended::TimeOver)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU8;
    use std::sync::{Condvar, Mutex};

    use super::*;
    use crate::streams::DRAINING;

    #[test]
    fn a_receiver_that_waited_in_vain_before_the_end_looks_again_behind_it() {
        let shared = Shared {
            stage: AtomicU8::new(DRAINING),
            gate: Mutex::new(true),
            opened: Condvar::new(),
            counts: Box::default(),
        };
        let (counts, tally) = (TransferCounts::default(), Tally::default());
        let mut stop = StreamStop::new(&shared, &counts, false);
        assert!(stop.interrupted(&tally).is_none());
        assert!(stop.overtime(&tally).is_none());
        assert!(matches!(stop.interrupted(&tally), Some(Ended::TimeOver)));
        let mut sender = StreamStop::new(&shared, &counts, true);
        assert!(matches!(sender.interrupted(&tally), Some(Ended::TimeOver)));
    }
}
