//! CPU utilisation around a run (control-protocol.md 3.11).
//!
//! A method is a file beside this one and a row in each `match` below; the contract at
//! the end holds for every one of them.

mod looper;
mod procstat;

use std::io;
use std::time::Duration;

use netperf_model::{CpuMethod, CpuPlan, CpuUsage};

/// The methods of this system, the one that is used unless asked otherwise first.
pub const METHODS: [CpuMethod; 2] = [CpuMethod::ProcStat, CpuMethod::Looper];

/// A measurement that goes on.
#[derive(Debug)]
pub struct Meter(Running);

#[derive(Debug)]
enum Running {
    ProcStat(procstat::Counters),
    Looper(looper::Loops),
}

/// Begins to measure. What a method has to find out first takes as long as
/// [`calibrate`], unless that was done before.
///
/// # Errors
/// When the counters cannot be read or the loops cannot be started, or when this system
/// does not have the method.
pub fn start(plan: &CpuPlan) -> io::Result<Meter> {
    let running = match plan.method {
        CpuMethod::ProcStat => Running::ProcStat(procstat::read()?),
        CpuMethod::Looper => Running::Looper(looper::start(given(plan))?),
        CpuMethod::None | CpuMethod::Other(_) => return Err(io::ErrorKind::Unsupported.into()),
    };
    Ok(Meter(running))
}

impl Meter {
    /// Utilisation from the start until now.
    ///
    /// `sampled` is the time between the two, `run` the part of it that the test
    /// took: an end that waits for a peer that has finished is idle meanwhile, and
    /// its figures are scaled up by as much.
    ///
    /// # Errors
    /// When the counters cannot be read.
    pub fn usage(&self, sampled: Duration, run: Duration) -> io::Result<CpuUsage> {
        let correction = if run.is_zero() {
            1.0
        } else {
            sampled.as_secs_f64() / run.as_secs_f64()
        };
        Ok(match &self.0 {
            Running::ProcStat(before) => procstat::usage(before, &procstat::read()?, correction),
            Running::Looper(loops) => loops.usage(correction),
        })
    }
}

/// The calibration rate of a method: clock ticks per second, or iterations of the
/// fastest CPU's loop per second. 0 for a method that this system does not have.
///
/// The loops are calibrated once, for a second, in which the machine should be idle.
///
/// # Errors
/// When the loops cannot be started.
pub fn calibrate(method: CpuMethod) -> io::Result<f64> {
    match method {
        CpuMethod::ProcStat => Ok(f64::from(netperf_os::system::clock_ticks())),
        CpuMethod::Looper => looper::calibrate(),
        CpuMethod::None | CpuMethod::Other(_) => Ok(0.0),
    }
}

/// Finds out beforehand what a measurement needs to know.
///
/// # Errors
/// As of [`calibrate`].
pub fn prepare(plan: &CpuPlan) -> io::Result<()> {
    if plan.method == CpuMethod::Looper && given(plan).is_none() {
        looper::calibrate()?;
    }
    Ok(())
}

/// The rate that the user gave; a request that says 0 gives none.
fn given(plan: &CpuPlan) -> Option<f64> {
    plan.rate.map(f64::from).filter(|rate| *rate > 0.0)
}

/// CPUs online.
#[must_use]
pub fn count() -> u32 {
    netperf_os::system::cpus_online()
}

#[cfg(test)]
mod contract;
