//! Keeping how long operations take, or not.

use std::time::Duration;

use crate::fine::{FineClock, Reading};
use crate::latency::{HistogramView, Recording};
use netperf_model::Latency;

/// Grace period for operations in flight at netperf. One that is cut off then counts if it took longer.
pub const GRACE: Duration = Duration::from_millis(500);

/// Does what takes a while before a run whose times are to be kept.
pub fn prepare(latency: bool) {
    if latency {
        FineClock::prepare();
    }
}

/// Told by a loop when operations begin and end.
///
/// A moment that has been read once need not be read again: [`Recorder::end`] and
/// [`Recorder::answered`] give the moment of the end, which is that of the beginning of
/// the next operation where nothing but the loop lies in between.
pub trait Recorder {
    /// A moment; nothing at all where times are not kept.
    type Mark: Copy;

    /// Now: an operation begins.
    fn begin(&self) -> Self::Mark;
    /// It is over: now.
    fn end(&mut self, mark: Self::Mark) -> Self::Mark;
    /// A request goes out, which began then.
    fn asked(&mut self, mark: Self::Mark);
    /// The response to the oldest request is here: now.
    fn answered(&mut self) -> Self::Mark;
    /// Forgets outstanding requests.
    fn forget(&mut self);

    /// The run is over: an operation under way took at least the time until now, which counts
    /// if it is long.
    fn cut_off(&mut self, mark: Self::Mark);

    /// The run is over: each outstanding request took at least the time until now.
    #[cold]
    fn unanswered(&mut self, in_flight: u64) {
        for _ in 0..in_flight {
            self.answered();
        }
    }
}

/// Keeps nothing and reads no clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecorder;

impl Recorder for NoRecorder {
    type Mark = ();

    #[inline]
    fn begin(&self) {}
    #[inline]
    fn end(&mut self, (): ()) {}
    #[inline]
    fn asked(&mut self, (): ()) {}
    #[inline]
    fn answered(&mut self) {}
    #[inline]
    fn forget(&mut self) {}
    #[inline]
    fn cut_off(&mut self, (): ()) {}
}

/// Keeps the distribution.
#[derive(Debug)]
pub struct LatencyRecorder {
    clock: FineClock,
    recording: Recording,
    /// When the requests in flight went out; responses come in the same order. As many as
    /// a power of two, so that a place is found by its last bits.
    asked: Box<[Reading]>,
    /// Requests that went out, and those of them that are answered or given up.
    out: usize,
    back: usize,
}

impl LatencyRecorder {
    /// Makes a recorder for this many requests in flight.
    #[must_use]
    pub fn new(in_flight: usize) -> Self {
        let clock = FineClock::start();
        Self {
            clock,
            recording: Recording::new(),
            asked: vec![clock.now(); in_flight.next_power_of_two()].into_boxed_slice(),
            out: 0,
            back: 0,
        }
    }

    /// Lets another thread look at what is kept.
    #[must_use]
    pub fn watched(&self) -> HistogramView {
        self.recording.watched()
    }

    /// The distribution.
    #[must_use]
    pub fn latency(&self) -> Latency {
        Latency {
            clock_error: self.clock.error(),
            ..self.recording.latency()
        }
    }
}

impl Recorder for LatencyRecorder {
    type Mark = Reading;

    #[inline]
    fn begin(&self) -> Reading {
        self.clock.now()
    }

    #[inline]
    fn end(&mut self, mark: Reading) -> Reading {
        let now = self.clock.now();
        self.recording.record_nanos(self.clock.nanos(mark, now));
        now
    }

    #[inline]
    fn asked(&mut self, mark: Reading) {
        let at = self.out & (self.asked.len() - 1);
        if let Some(slot) = self.asked.get_mut(at) {
            *slot = mark;
        }
        self.out = self.out.wrapping_add(1);
    }

    // The compiler finds it long; a call would cost a fifth more.
    #[inline(always)]
    fn answered(&mut self) -> Reading {
        let now = self.clock.now();
        if self.back != self.out {
            let at = self.back & (self.asked.len() - 1);
            if let Some(asked) = self.asked.get(at) {
                self.recording.record_nanos(self.clock.nanos(*asked, now));
            }
            self.back = self.back.wrapping_add(1);
        }
        now
    }

    #[inline]
    fn forget(&mut self) {
        self.back = self.out;
    }

    #[cold]
    fn cut_off(&mut self, mark: Reading) {
        let took = self.clock.nanos(mark, self.clock.now());
        if Duration::from_nanos(took) >= GRACE {
            self.recording.record_nanos(took);
        }
    }
}

/// Keeps the distribution or nothing, for loops that serve both.
impl Recorder for Option<LatencyRecorder> {
    type Mark = Option<Reading>;

    #[inline]
    fn begin(&self) -> Option<Reading> {
        self.as_ref().map(LatencyRecorder::begin)
    }

    #[inline]
    fn end(&mut self, mark: Option<Reading>) -> Option<Reading> {
        let (kept, mark) = self.as_mut().zip(mark)?;
        Some(kept.end(mark))
    }

    #[inline]
    fn asked(&mut self, mark: Option<Reading>) {
        if let Some((kept, mark)) = self.as_mut().zip(mark) {
            kept.asked(mark);
        }
    }

    #[inline]
    fn answered(&mut self) -> Option<Reading> {
        self.as_mut().map(LatencyRecorder::answered)
    }

    #[inline]
    fn forget(&mut self) {
        if let Some(kept) = self {
            kept.forget();
        }
    }

    #[cold]
    fn cut_off(&mut self, mark: Option<Reading>) {
        if let Some((kept, mark)) = self.as_mut().zip(mark) {
            kept.cut_off(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_matched_with_requests_in_order() {
        let mut kept = LatencyRecorder::new(2);
        for _ in 0..5 {
            let mut mark = kept.begin();
            for _ in 0..2 {
                kept.asked(mark);
                mark = kept.begin();
            }
            kept.answered();
            kept.answered();
        }
        kept.answered();
        assert_eq!(kept.latency().count, 10);
        kept.asked(kept.begin());
        kept.forget();
        kept.answered();
        assert_eq!(kept.latency().count, 10);
    }
}
