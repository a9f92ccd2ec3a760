//! Counts of what netserver receives, by time. With one flow the loop samples when its alarm has
//! it look around; with many a thread samples beside the loops.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use netperf_measure::sampler;
use netperf_model::{ArrivalSample, Arrivals, EndJob};

use crate::live::Live;

/// The most samples that are kept: 32 KiB.
const MOST_SAMPLES: usize = 2048;
/// The shortest distance between samples. It doubles whenever there are too many.
pub(crate) const EVERY: Duration = Duration::from_millis(1);
/// Samples that a thread takes beside many flows in a run of known length.
const SAMPLES: u32 = 1000;
/// Samples of one flow in such a run. Each interrupts the loop: a receiver of small datagrams on
/// loopback that is interrupted 1000 times a second slows the sender down by a fifth, 50 times
/// by nothing that can be measured.
const SAMPLES_OF_ONE: u32 = 50;
/// Time that the run of an amount of data is taken to have.
const WITHOUT_TIME: Duration = Duration::from_secs(1);
/// The longest distance between samples of one flow.
const LONGEST: Duration = Duration::from_millis(250);

/// Longest time from one sample to the next of what this end receives; `None` if nothing is
/// wanted.
pub(crate) fn interval(job: &EndJob) -> Option<Duration> {
    let wanted = job.end.arrivals && job.receives;
    let most = job.end.arrivals_every.unwrap_or(LONGEST).min(LONGEST);
    let share = match job.flows {
        Some(_) => job.time().map_or(EVERY, |time| time / SAMPLES),
        None => job.time().unwrap_or(WITHOUT_TIME) / SAMPLES_OF_ONE,
    };
    wanted.then(|| share.min(most).max(EVERY))
}

/// Runs `work` with a thread beside it that samples what arrives, if that is wanted.
pub(crate) fn beside<T>(interval: Option<Duration>, live: &Live, work: impl FnOnce() -> T) -> T {
    let (run, ended) = mpsc::channel::<()>();
    let sample = move |interval: Duration| {
        live.sample_arrivals();
        while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
            live.sample_arrivals();
        }
    };
    std::thread::scope(|scope| {
        let _sampling = interval
            .and_then(|interval| sampler::start(scope, "arrivals", move || sample(interval)).ok());
        // Dropped whatever becomes of the run, which ends the sampling.
        let _run = run;
        work()
    })
}

/// Samples at a distance that grows with their number. Allocates only when it is made.
#[derive(Debug)]
pub(crate) struct ArrivalSamples {
    kept: Vec<ArrivalSample>,
    every: Duration,
}

impl ArrivalSamples {
    pub(crate) fn every(every: Duration) -> Self {
        Self {
            kept: Vec::with_capacity(MOST_SAMPLES),
            every,
        }
    }

    /// Adds a sample, unless it is too close to the last one.
    pub(crate) fn add(&mut self, sample: ArrivalSample) {
        // An alarm that is late makes the next interval shorter.
        let is_due = |last: &ArrivalSample| {
            u128::from(sample.nanos.saturating_sub(last.nanos)) * 4 >= self.every.as_nanos() * 3
        };
        if self.kept.last().is_none_or(is_due) {
            self.push(sample);
        }
    }

    /// The samples, with the last one.
    pub(crate) fn finish(mut self, last: ArrivalSample) -> Arrivals {
        self.push(last);
        Arrivals { samples: self.kept }
    }

    /// Adds a sample. Of several with the same count the first and the last are kept.
    pub(crate) fn push(&mut self, sample: ArrivalSample) {
        let same = |other: &ArrivalSample| other.bytes == sample.bytes;
        if let [.., before, last] = self.kept.as_mut_slice() {
            if same(before) && same(last) {
                *last = sample;
                return;
            }
        }
        self.kept.push(sample);
        if self.kept.len() >= MOST_SAMPLES {
            self.thin_out();
        }
    }

    /// Drops every second sample, except the last and one at the end of a pause.
    fn thin_out(&mut self) {
        let most = u64::try_from(self.every.as_nanos() * 3).unwrap_or(u64::MAX);
        let (mut kept, mut last) = (0, 0);
        for index in 0..self.kept.len() {
            let nanos = |index: usize| self.kept.get(index).map(|sample| sample.nanos);
            let gap = nanos(index + 1).map_or(u64::MAX, |next| next - last);
            if index % 2 == 0 || gap > most {
                last = nanos(index).unwrap_or(last);
                self.kept.swap(kept, index);
                kept += 1;
            }
        }
        self.kept.truncate(kept);
        self.every *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::Tally;

    fn received(bytes: u64) -> Tally {
        Tally {
            bytes_received: bytes,
            ..Tally::default()
        }
    }

    #[test]
    fn counts_are_recorded_from_nothing_to_all() {
        let live = Live::default().that_samples(EVERY);
        live.sample_arrivals();
        let done = beside(Some(EVERY), &live, || {
            live.publish(&received(7));
            3
        });
        let samples = live.arrivals().unwrap().samples;
        assert_eq!(done, 3);
        let counts = [samples.first(), samples.last()].map(|sample| sample.unwrap().bytes);
        assert_eq!(counts, [0, 7]);
        assert!(samples.is_sorted_by_key(|sample| sample.nanos));
        assert_eq!(Live::default().arrivals(), None);
    }

    #[test]
    fn a_sample_that_comes_too_early_is_left_out() {
        let mut samples = ArrivalSamples::every(Duration::from_nanos(8));
        for nanos in [8, 13, 14, 22] {
            let bytes = nanos;
            samples.add(ArrivalSample { nanos, bytes });
        }
        let last = ArrivalSample {
            nanos: 23,
            bytes: 23,
        };
        let samples = samples.finish(last).samples;
        let nanos: Vec<u64> = samples.iter().map(|sample| sample.nanos).collect();
        assert_eq!(nanos, [8, 14, 22, 23]);
    }

    #[test]
    fn too_many_samples_become_half_as_many_at_twice_the_distance() {
        let mut samples = ArrivalSamples::every(EVERY);
        let sample = |at: u64| ArrivalSample {
            nanos: at,
            bytes: at,
        };
        (0..MOST_SAMPLES as u64).for_each(|at| samples.push(sample(at)));
        // The last sample may be the end of a pause.
        assert_eq!(samples.kept.len(), MOST_SAMPLES / 2 + 1);
        assert_eq!(samples.every, EVERY * 2);
        assert_eq!(samples.kept.first().unwrap().bytes, 0);
    }

    #[test]
    fn a_pause_takes_two_samples() {
        let mut samples = ArrivalSamples::every(EVERY);
        for nanos in 0..9 {
            samples.push(ArrivalSample { nanos, bytes: 5 });
        }
        let nanos: Vec<u64> = samples.kept.iter().map(|sample| sample.nanos).collect();
        assert_eq!(nanos, [0, 8]);
    }

    #[test]
    fn a_run_that_panics_ends_the_sampling() {
        let live = Live::default();
        let run =
            std::panic::AssertUnwindSafe(|| beside(Some(EVERY), &live, || panic!("as it should")));
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
