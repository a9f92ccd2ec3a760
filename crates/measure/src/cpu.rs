//! CPU utilisation around a run (control-protocol.md 3.11).
//!
//! A method is a file beside this one and a row in each `match` below; the contract at
//! the end holds for every one of them.

mod looper;
mod procstat;

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use netperf_model::{CpuMethod, CpuPlan, CpuUsage};

use crate::clock::{self, Moment};

/// The methods of this system, the one that is used unless asked otherwise first.
pub const METHODS: [CpuMethod; 2] = [CpuMethod::ProcStat, CpuMethod::Looper];

/// A measurement that goes on.
#[derive(Debug)]
pub struct Meter {
    running: RunningMeter,
    begun: Moment,
    noted: RefCell<Option<Noted>>,
}

#[derive(Debug)]
enum RunningMeter {
    ProcStat(procstat::Counters),
    Looper(looper::Loops),
}

/// Counter values with their time.
#[derive(Debug)]
struct Noted {
    now: CpuReading,
    sampled: Duration,
}

#[derive(Debug)]
enum CpuReading {
    ProcStat(procstat::Counters),
    Looper(looper::LoopCounts),
}

/// Begins to measure. What a method has to find out first takes as long as
/// [`calibrate`], unless that was done before.
///
/// # Errors
/// When the counters cannot be read or the loops cannot be started, or when this system
/// does not have the method.
pub fn start(plan: &CpuPlan) -> io::Result<Meter> {
    let running = match plan.method {
        CpuMethod::ProcStat => RunningMeter::ProcStat(procstat::read()?),
        CpuMethod::Looper => RunningMeter::Looper(looper::start(given(plan))?),
        CpuMethod::None | CpuMethod::Other(_) => return Err(io::ErrorKind::Unsupported.into()),
    };
    Ok(Meter {
        running,
        begun: clock::now(),
        noted: RefCell::new(None),
    })
}

impl Meter {
    /// The run may have come to its end just now: what is done from here on is not its work.
    ///
    /// [`Self::usage`] is of the time until the last note. An end that only silence tells
    /// of the end of the run goes on waiting, and the host may have other work meanwhile.
    pub fn note(&self) {
        // Without a note the figures are corrected for the time that was waited.
        if let Ok(now) = self.now() {
            let sampled = self.begun.elapsed();
            self.noted.replace(Some(Noted { now, sampled }));
        }
    }

    fn now(&self) -> io::Result<CpuReading> {
        Ok(match &self.running {
            RunningMeter::ProcStat(_) => CpuReading::ProcStat(procstat::read()?),
            RunningMeter::Looper(loops) => CpuReading::Looper(loops.counts()),
        })
    }

    /// Utilisation during the run: until the last note, or until now without a note.
    ///
    /// `sampled` is the time from the start until now, `run` the part that the test took. An
    /// end that waits for a finished peer is idle meanwhile, so its figures are scaled up
    /// accordingly, to at most 100 percent.
    ///
    /// # Errors
    /// When the counters cannot be read.
    pub fn usage(&self, sampled: Duration, run: Duration) -> io::Result<CpuUsage> {
        // Without idle waiting at the end, the note is not needed.
        let noted = self.noted.take().filter(|_| run < sampled);
        let Noted { now, sampled } = match noted {
            Some(noted) => noted,
            None => Noted {
                now: self.now()?,
                sampled,
            },
        };
        let usage = match (&self.running, &now) {
            (RunningMeter::ProcStat(before), CpuReading::ProcStat(after)) => {
                procstat::usage(before, after)
            }
            (RunningMeter::Looper(loops), CpuReading::Looper(counts)) => loops.usage(counts),
            (RunningMeter::ProcStat(_), CpuReading::Looper(_))
            | (RunningMeter::Looper(_), CpuReading::ProcStat(_)) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        };
        Ok(corrected(usage, correction(sampled, run)))
    }
}

/// The time that was sampled as a multiple of the run, at least 1.
fn correction(sampled: Duration, run: Duration) -> f64 {
    if run.is_zero() {
        1.0
    } else {
        (sampled.as_secs_f64() / run.as_secs_f64()).max(1.0)
    }
}

/// The same work in less time. No host does more than it can: what would be beyond that
/// was done while this end only waited, by others.
fn corrected(mut usage: CpuUsage, correction: f64) -> CpuUsage {
    let most = if usage.busy > 0.0 {
        100.0 / usage.busy
    } else {
        1.0
    };
    let scale = correction.min(most);
    let shares = &mut usage.shares;
    for share in [
        &mut usage.busy,
        &mut shares.user,
        &mut shares.system,
        &mut shares.iowait,
        &mut shares.irq,
        &mut shares.softirq,
    ] {
        *share *= scale;
    }
    usage.peak_busy = (usage.peak_busy * correction).min(100.0);
    usage
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
    match plan.method {
        // Better refused now than broken off when the test begins.
        CpuMethod::ProcStat => drop(procstat::read()?),
        CpuMethod::Looper if given(plan).is_none() => drop(looper::calibrate()?),
        CpuMethod::Looper | CpuMethod::None | CpuMethod::Other(_) => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    fn half_busy() -> CpuUsage {
        CpuUsage {
            method: CpuMethod::ProcStat,
            busy: 50.0,
            shares: netperf_model::CpuShares {
                user: 20.0,
                system: 30.0,
                ..netperf_model::CpuShares::default()
            },
            cpus: 2,
            peak_id: 1,
            peak_busy: 80.0,
        }
    }

    #[test]
    fn time_spent_idle_after_the_run_is_corrected_for() {
        let usage = corrected(half_busy(), 1.2);
        assert!((usage.busy - 60.0).abs() < 1e-9);
        assert!((usage.shares.user - 24.0).abs() < 1e-9);
        assert!((usage.peak_busy - 96.0).abs() < 1e-9);
    }

    #[test]
    fn meter_counts_no_cpu_time_after_the_last_note() {
        let second = Duration::from_secs(1);
        let counters = |text| procstat::parse(text).unwrap();
        let meter = Meter {
            running: RunningMeter::ProcStat(counters("cpu0 0 0 0 0\n")),
            begun: clock::now(),
            noted: RefCell::new(Some(Noted {
                now: CpuReading::ProcStat(counters("cpu0 25 0 0 75\n")),
                sampled: second,
            })),
        };
        let usage = meter.usage(2 * second, second).unwrap();
        assert!((usage.busy - 25.0).abs() < 1e-9, "{usage:?}");
    }

    #[test]
    fn the_correction_is_how_much_longer_than_the_run_was_sampled() {
        let seconds = Duration::from_secs_f64;
        assert!((correction(seconds(3.0), seconds(2.0)) - 1.5).abs() < 1e-9);
        for (sampled, run) in [(2.0, 3.0), (2.0, 2.0), (2.0, 0.0), (0.0, 0.0)] {
            let found = correction(seconds(sampled), seconds(run));
            assert!((found - 1.0).abs() < 1e-9, "{sampled} {run} {found}");
        }
    }

    #[test]
    fn a_note_counts_only_where_the_end_went_on_waiting() {
        let second = Duration::from_secs(1);
        // No machine has this CPU: a reading of now has nothing of it.
        let counters = |text| procstat::parse(text).unwrap();
        let busy = |sampled: Duration| {
            let meter = Meter {
                running: RunningMeter::ProcStat(counters("cpu999999 0 0 0 0\n")),
                begun: clock::now(),
                noted: RefCell::new(Some(Noted {
                    now: CpuReading::ProcStat(counters("cpu999999 25 0 0 75\n")),
                    sampled: second,
                })),
            };
            meter.usage(sampled, second).unwrap().busy
        };
        assert!((busy(2 * second) - 25.0).abs() < 1e-9);
        assert!(busy(second).abs() < 1e-9);
        assert!(busy(second / 2).abs() < 1e-9);
    }

    #[test]
    fn a_note_has_the_counters_and_the_time_of_its_moment() {
        let meter = start(&CpuPlan {
            rate: None,
            method: CpuMethod::ProcStat,
        });
        let mut meter = meter.unwrap();
        let second = Duration::from_secs(1);
        meter.begun = meter.begun.minus(second);
        meter.note();
        let noted = meter.noted.take().unwrap();
        assert!(noted.sampled >= second, "{noted:?}");
        assert!(matches!(noted.now, CpuReading::ProcStat(_)), "{noted:?}");
    }

    #[test]
    fn a_rate_of_nothing_is_not_given() {
        let plan = |rate| CpuPlan {
            rate,
            method: CpuMethod::Looper,
        };
        assert_eq!(given(&plan(None)), None);
        assert_eq!(given(&plan(Some(0.0))), None);
        assert_eq!(given(&plan(Some(2.0))), Some(2.0));
    }

    #[test]
    fn every_cpu_that_may_be_used_is_counted() {
        let allowed = netperf_os::process::allowed_cpus().unwrap();
        assert!(usize::try_from(count()).unwrap() >= allowed.len());
    }

    #[test]
    fn no_correction_makes_a_host_busier_than_it_can_be() {
        let usage = corrected(half_busy(), 3.0);
        assert!((usage.busy - 100.0).abs() < 1e-9);
        assert!((usage.shares.user - 40.0).abs() < 1e-9);
        assert!((usage.shares.system - 60.0).abs() < 1e-9);
        assert!((usage.peak_busy - 100.0).abs() < 1e-9);
    }
}
