//! CPU utilisation by a lowest-priority loop on each CPU: iterations missing from the idle rate
//! are busy time.
//!
//! The loops run only when nothing else needs their CPU. Their share of the iterations on an
//! idle machine is the idle share of the time. They include time that kernel counters do not
//! show: time that the kernel does not account, and time that a hypervisor takes.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use netperf_model::{CpuMethod, CpuShares, CpuUsage};
use netperf_os::process;

use super::procstat;
use crate::clock::{self, Moment};

/// A calibration: so many slices, of which the best counts, as no machine is quite idle.
const SLICES: u32 = 10;
const SLICE: Duration = Duration::from_millis(100);

/// Idle rate of each CPU: its id, and iterations per second.
type Rates = Vec<(i32, f64)>;

/// The calibration of this process, once it was done.
static CALIBRATED: Mutex<Option<Rates>> = Mutex::new(None);

/// A counter on a separate cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

impl Count {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The loops of all CPUs; they end when this is dropped.
#[derive(Debug)]
struct Spinners {
    cpus: Vec<(i32, Arc<Count>)>,
    stop: Arc<AtomicBool>,
}

impl Spinners {
    fn start() -> io::Result<Self> {
        let mut spinners = Self {
            cpus: Vec::new(),
            stop: Arc::default(),
        };
        for cpu in procstat::read()?.ids() {
            // A CPU that this process may not use is left out.
            if let Ok(count) = spin_on(cpu, &spinners.stop) {
                spinners.cpus.push((cpu, count));
            }
        }
        if spinners.cpus.is_empty() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(spinners)
    }

    fn counts(&self) -> Vec<u64> {
        self.cpus.iter().map(|(_, count)| count.get()).collect()
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        // Does not wait: on a busy machine the loops may take long to stop.
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Starts the loop of one CPU; it has its place when this returns.
fn spin_on(cpu: i32, stop: &Arc<AtomicBool>) -> io::Result<Arc<Count>> {
    let count = Arc::new(Count::default());
    let (ready, in_place) = mpsc::sync_channel(1);
    let (own_count, own_stop) = (Arc::clone(&count), Arc::clone(stop));
    thread::Builder::new()
        .name("looper".to_owned())
        .spawn(move || {
            let placed = take_place(cpu);
            let failed = placed.is_err();
            if ready.send(placed).is_ok() && !failed && process::lowest_priority().is_ok() {
                spin(&own_count.0, &own_stop);
            }
        })?;
    in_place.recv().map_err(io::Error::other)??;
    Ok(count)
}

fn take_place(cpu: i32) -> io::Result<()> {
    // Signals are for the thread that runs the test.
    process::block_signals()?;
    process::bind_to_cpu(u32::try_from(cpu).map_err(io::Error::other)?)
}

fn spin(count: &AtomicU64, stop: &AtomicBool) {
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        done += 1;
        count.store(done, Ordering::Relaxed);
    }
}

/// Iterations per second of the fastest CPU, when it is idle.
pub(super) fn calibrate() -> io::Result<f64> {
    let rates = rates()?;
    Ok(rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max))
}

/// Idle rate of each CPU; measured once.
fn rates() -> io::Result<Rates> {
    let mut calibrated = CALIBRATED.lock().map_err(|_| io::ErrorKind::Other)?;
    if let Some(rates) = &*calibrated {
        return Ok(rates.clone());
    }
    let rates = find_rates()?;
    *calibrated = Some(rates.clone());
    Ok(rates)
}

fn find_rates() -> io::Result<Rates> {
    let spinners = Spinners::start()?;
    let mut best = vec![0.0; spinners.cpus.len()];
    for _ in 0..SLICES {
        let (before, start) = (spinners.counts(), clock::now());
        thread::sleep(SLICE);
        let (after, seconds) = (spinners.counts(), start.elapsed().as_secs_f64());
        for ((best, before), after) in best.iter_mut().zip(before).zip(after) {
            *best = f64::max(*best, iterations(before, after) / seconds);
        }
    }
    let ids = spinners.cpus.iter().map(|(cpu, _)| *cpu);
    Ok(ids.zip(best).collect())
}

/// A measurement that goes on.
#[derive(Debug)]
pub(super) struct Loops {
    spinners: Spinners,
    /// Idle rate of each CPU per second, in the order of the loops.
    rates: Vec<f64>,
    before: Vec<u64>,
    since: Moment,
}

/// Counter values of the loops at one moment.
#[derive(Debug)]
pub(super) struct LoopCounts {
    after: Vec<u64>,
    seconds: f64,
}

/// Starts the loops; `rate` is what every CPU can do, where the user knows.
pub(super) fn start(rate: Option<f64>) -> io::Result<Loops> {
    let known = match rate {
        Some(_) => Rates::new(),
        None => rates()?,
    };
    let spinners = Spinners::start()?;
    let of = |cpu: i32| {
        known
            .iter()
            .find(|(id, _)| *id == cpu)
            .map(|(_, rate)| *rate)
    };
    let rates = spinners
        .cpus
        .iter()
        .map(|(cpu, _)| rate.or_else(|| of(*cpu)).unwrap_or(0.0))
        .collect();
    Ok(Loops {
        before: spinners.counts(),
        since: clock::now(),
        spinners,
        rates,
    })
}

impl Loops {
    /// Current counter values of the loops.
    pub(super) fn counts(&self) -> LoopCounts {
        LoopCounts {
            after: self.spinners.counts(),
            seconds: self.since.elapsed().as_secs_f64(),
        }
    }

    /// Utilisation from the start until then.
    pub(super) fn usage(&self, then: &LoopCounts) -> CpuUsage {
        let counts = self.before.iter().zip(&then.after);
        let busy = counts
            .zip(&self.rates)
            .map(|((before, after), rate)| busy(iterations(*before, *after), rate * then.seconds));
        let ids = self.spinners.cpus.iter().map(|(cpu, _)| *cpu);
        summary(ids.zip(busy))
    }
}

/// The mean of all CPUs, and the busiest. What the time was spent on cannot be told.
fn summary(all: impl Iterator<Item = (i32, f64)>) -> CpuUsage {
    let mut sum = CpuUsage {
        method: CpuMethod::Looper,
        busy: 0.0,
        shares: CpuShares::default(),
        cpus: 0,
        peak_id: 0,
        peak_busy: 0.0,
    };
    for (cpu, busy) in all {
        sum.cpus += 1;
        sum.busy += busy;
        if busy > sum.peak_busy {
            sum.peak_busy = busy;
            sum.peak_id = cpu;
        }
    }
    sum.busy /= f64::from(sum.cpus.max(1));
    sum
}

/// The percentage of iterations that were not done, of those that could have been.
fn busy(done: f64, possible: f64) -> f64 {
    if possible <= 0.0 {
        return 0.0;
    }
    (100.0 - 100.0 * done / possible).clamp(0.0, 100.0)
}

fn iterations(before: u64, after: u64) -> f64 {
    netperf_model::figures::count(after.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looper_counts_missing_work_as_busy() {
        assert!((busy(25.0, 100.0) - 75.0).abs() < 1e-9);
    }

    #[test]
    fn each_loop_is_compared_with_the_rate_of_its_own_cpu() {
        let counted = |id: i32| (id, Arc::new(Count::default()));
        let loops = Loops {
            spinners: Spinners {
                cpus: vec![counted(4), counted(7)],
                stop: Arc::default(),
            },
            rates: vec![100.0, 1000.0],
            before: vec![50, 10],
            since: clock::now(),
        };
        let then = LoopCounts {
            after: vec![200, 510],
            seconds: 2.0,
        };
        let usage = loops.usage(&then);
        // 150 of 200 and 500 of 2000 iterations were done.
        assert!((usage.busy - 50.0).abs() < 1e-9, "{usage:?}");
        assert!((usage.peak_busy - 75.0).abs() < 1e-9, "{usage:?}");
        assert_eq!(usage.peak_id, 7);
        loops.spinners.cpus[1].1.0.store(3, Ordering::Relaxed);
        assert_eq!(loops.counts().after, [0, 3]);
    }

    #[test]
    fn a_loop_has_its_place_on_one_cpu() {
        let last = *process::allowed_cpus().unwrap().last().unwrap();
        let place = |cpu| {
            let placed = move || take_place(cpu).and_then(|()| process::allowed_cpus());
            thread::spawn(placed).join().unwrap()
        };
        assert_eq!(place(i32::try_from(last).unwrap()).unwrap(), [last]);
        assert!(place(-1).is_err());
    }

    #[test]
    fn loops_end_when_they_are_dropped() {
        let spinners = Spinners {
            cpus: Vec::new(),
            stop: Arc::default(),
        };
        let stop = Arc::clone(&spinners.stop);
        drop(spinners);
        assert!(stop.load(Ordering::Relaxed));
    }

    #[test]
    fn a_loop_that_did_more_than_it_ever_could_was_on_an_idle_cpu() {
        assert!(busy(110.0, 100.0).abs() < 1e-9);
        assert!(busy(1.0, 0.0).abs() < 1e-9);
    }

    #[test]
    fn the_mean_is_over_cpus_and_the_peak_is_the_busiest() {
        let usage = summary([(0, 20.0), (3, 60.0)].into_iter());
        assert!((usage.busy - 40.0).abs() < 1e-9);
        assert_eq!((usage.cpus, usage.peak_id), (2, 3));
        assert!((usage.peak_busy - 60.0).abs() < 1e-9);
        let equal = summary([(5, 20.0), (6, 20.0)].into_iter());
        assert_eq!(equal.peak_id, 5);
        assert_eq!(summary(std::iter::empty()).cpus, 0);
    }
}
