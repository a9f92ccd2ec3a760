//! CPU utilisation around a run (control-protocol.md 3.11).

mod procstat;

use std::io;
use std::time::Duration;

use netperf_model::CpuUsage;

/// The counters as they were at one moment.
#[derive(Clone, Debug)]
pub struct Sample(procstat::Counters);

/// Reads the counters now.
///
/// # Errors
/// When `/proc/stat` cannot be read or holds no CPU.
pub fn sample() -> io::Result<Sample> {
    procstat::read().map(Sample)
}

impl Sample {
    /// Utilisation from this sample to a later one.
    ///
    /// `sampled` is the time between the two, `run` the part of it that the test
    /// took: an end that waits for a peer that has finished is idle meanwhile, and
    /// its figures are scaled up by as much.
    #[must_use]
    pub fn usage_until(&self, later: &Self, sampled: Duration, run: Duration) -> CpuUsage {
        let correction = if run.is_zero() {
            1.0
        } else {
            sampled.as_secs_f64() / run.as_secs_f64()
        };
        procstat::usage(&self.0, &later.0, correction)
    }
}

/// The calibration rate of the method in use: clock ticks per second.
#[must_use]
pub fn calibration_rate() -> f64 {
    f64::from(netperf_os::system::clock_ticks())
}

/// CPUs online.
#[must_use]
pub fn count() -> u32 {
    netperf_os::system::cpus_online()
}
