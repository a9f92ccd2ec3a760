//! Counts of what netserver receives, by time, recorded by a thread beside the loops.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{ArrivalSample, Arrivals, EndJob};

use crate::live::Live;
use crate::sampler;

/// The most samples that are kept: 32 KiB.
const MOST_SAMPLES: usize = 2048;
/// The first distance between samples is this, or a share of the length of the run if that is
/// longer. It doubles whenever there are too many.
const EVERY: Duration = Duration::from_millis(1);
/// Samples of a run of known length.
const SAMPLES: u32 = 1000;

/// Time from one sample to the next of what this end receives; `None` if nothing is wanted.
pub(crate) fn interval(job: &EndJob) -> Option<Duration> {
    let wanted = job.end.arrivals && job.receives;
    let of_time = |time: Duration| (time / SAMPLES).max(EVERY);
    wanted.then(|| job.time().map_or(EVERY, of_time))
}

/// Runs `work` with a thread beside it that records what arrives, if that is wanted. Without a
/// thread nothing is recorded.
pub(crate) fn beside<T>(
    interval: Option<Duration>,
    live: &Live,
    work: impl FnOnce() -> T,
) -> (T, Option<Arrivals>) {
    let over = RunOver::default();
    let first = now(live);
    std::thread::scope(|scope| {
        let sampling = interval.and_then(|interval| {
            let (over, first) = (&over, first);
            let sample = move || over.sample(first, live, interval);
            sampler::start(scope, "arrivals", sample).ok()
        });
        let done = {
            let _ending = EndGuard(&over);
            work()
        };
        let arrivals = sampling.and_then(|thread| thread.join().ok());
        (done, arrivals)
    })
}

/// End of the run, for the sampling thread.
#[derive(Debug, Default)]
struct RunOver {
    over: Mutex<bool>,
    changed: Condvar,
}

/// Ends the sampling whatever becomes of the run.
struct EndGuard<'a>(&'a RunOver);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        *self.0.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

impl RunOver {
    /// Records the counts until the run is over.
    fn sample(&self, first: ArrivalSample, live: &Live, interval: Duration) -> Arrivals {
        let mut samples = Samples::every(interval);
        samples.push(first);
        loop {
            samples.push(now(live));
            let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = self
                .changed
                .wait_timeout_while(over, samples.every, |over| !*over);
            let (over, _) = wait.unwrap_or_else(PoisonError::into_inner);
            if *over {
                break;
            }
        }
        samples.push(now(live));
        Arrivals {
            samples: samples.kept,
        }
    }
}

fn now(live: &Live) -> ArrivalSample {
    ArrivalSample {
        bytes: live.read().bytes_received,
        nanos: clock::now().nanos(),
    }
}

/// Samples at a distance that grows with their number.
struct Samples {
    kept: Vec<ArrivalSample>,
    every: Duration,
}

impl Samples {
    fn every(every: Duration) -> Self {
        Self {
            kept: Vec::with_capacity(MOST_SAMPLES),
            every,
        }
    }

    /// Adds a sample. Of several with the same count the first and the last are kept.
    fn push(&mut self, sample: ArrivalSample) {
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
        let all = std::mem::take(&mut self.kept);
        let nexts = all.iter().skip(1).map(Some).chain(std::iter::once(None));
        for (index, (sample, next)) in all.iter().zip(nexts).enumerate() {
            let last = self.kept.last().map_or(0, |last| last.nanos);
            let gap = next.map_or(u64::MAX, |next| next.nanos - last);
            if index % 2 == 0 || gap > most {
                self.kept.push(*sample);
            }
        }
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
        let live = Live::default();
        let (done, arrivals) = beside(Some(EVERY), &live, || {
            live.publish(&received(7));
            3
        });
        let samples = arrivals.unwrap().samples;
        assert_eq!(done, 3);
        assert_eq!(samples.last().unwrap().bytes, 7);
        assert!(samples.is_sorted_by_key(|sample| sample.nanos));
        assert_eq!(beside(None, &live, || ()).1, None);
    }

    #[test]
    fn too_many_samples_become_half_as_many_at_twice_the_distance() {
        let mut samples = Samples::every(EVERY);
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
        let mut samples = Samples::every(EVERY);
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
