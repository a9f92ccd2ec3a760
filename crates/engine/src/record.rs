//! Keeping how long operations take, or not.

use netperf_measure::clock::{self, Moment};
use netperf_measure::latency::Recording;
use netperf_model::Latency;

/// Told by a loop when operations begin and end.
pub trait Recorder {
    /// When an operation began; nothing at all where times are not kept.
    type Mark: Copy;

    /// An operation begins.
    fn begin(&self) -> Self::Mark;
    /// It is over.
    fn end(&mut self, mark: Self::Mark);
    /// A request goes out.
    fn asked(&mut self);
    /// The response to the oldest request is here.
    fn answered(&mut self);
    /// What is outstanding will not be answered any more.
    fn forget(&mut self);
}

/// Keeps nothing and reads no clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Recorder for Off {
    type Mark = ();

    #[inline]
    fn begin(&self) {}
    #[inline]
    fn end(&mut self, (): ()) {}
    #[inline]
    fn asked(&mut self) {}
    #[inline]
    fn answered(&mut self) {}
    #[inline]
    fn forget(&mut self) {}
}

/// Keeps the distribution.
#[derive(Debug)]
pub struct Kept {
    recording: Recording,
    /// When the requests in flight went out; responses come in the same order.
    asked: Vec<Moment>,
    oldest: usize,
    outstanding: usize,
}

impl Kept {
    /// Room for this many requests in flight.
    #[must_use]
    pub fn new(in_flight: usize) -> Self {
        Self {
            recording: Recording::new(),
            asked: vec![clock::now(); in_flight.max(1)],
            oldest: 0,
            outstanding: 0,
        }
    }

    /// What was kept.
    #[must_use]
    pub fn latency(&self) -> Latency {
        self.recording.latency()
    }
}

impl Recorder for Kept {
    type Mark = Moment;

    #[inline]
    fn begin(&self) -> Moment {
        clock::now()
    }

    #[inline]
    fn end(&mut self, mark: Moment) {
        self.recording.record(mark, clock::now());
    }

    #[inline]
    fn asked(&mut self) {
        let room = self.asked.len();
        let mut at = self.oldest + self.outstanding;
        if at >= room {
            at -= room;
        }
        if let Some(slot) = self.asked.get_mut(at) {
            *slot = clock::now();
            self.outstanding += 1;
        }
    }

    #[inline]
    fn answered(&mut self) {
        if self.outstanding == 0 {
            return;
        }
        if let Some(asked) = self.asked.get(self.oldest) {
            self.recording.record(*asked, clock::now());
        }
        self.outstanding -= 1;
        self.oldest = if self.oldest + 1 == self.asked.len() {
            0
        } else {
            self.oldest + 1
        };
    }

    #[inline]
    fn forget(&mut self) {
        self.outstanding = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_matched_with_requests_in_order() {
        let mut kept = Kept::new(2);
        for _ in 0..5 {
            kept.asked();
            kept.asked();
            kept.answered();
            kept.answered();
        }
        kept.answered();
        assert_eq!(kept.latency().count, 10);
        kept.asked();
        kept.forget();
        kept.answered();
        assert_eq!(kept.latency().count, 10);
    }
}
