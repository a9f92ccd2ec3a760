//! Contract of every CPU method.

use super::*;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netperf_testkit::machine;

use crate::clock;

/// Long enough for a clock tick of every CPU to count.
const PERIOD: Duration = Duration::from_millis(300);

fn plan(method: CpuMethod) -> CpuPlan {
    CpuPlan { rate: None, method }
}

/// Utilisation as `method` sees it while `during` runs.
fn measured(method: CpuMethod, during: impl FnOnce()) -> CpuUsage {
    let (meter, start) = (super::start(&plan(method)).unwrap(), clock::now());
    during();
    let sampled = start.elapsed();
    meter.usage(sampled, sampled).unwrap()
}

/// Keeps every CPU busy for a while.
fn work() {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..count() * 2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        thread::sleep(PERIOD);
        stop.store(true, Ordering::Relaxed);
    });
}

fn rest() {
    thread::sleep(PERIOD);
}

fn makes_sense(usage: &CpuUsage) {
    let shares = &usage.shares;
    let percentages = [
        usage.busy,
        usage.peak_busy,
        shares.user,
        shares.system,
        shares.iowait,
        shares.irq,
        shares.softirq,
    ];
    for percentage in percentages {
        assert!((0.0..=100.001).contains(&percentage), "{usage:?}");
    }
    assert!(usage.peak_busy + 0.001 >= usage.busy, "{usage:?}");
    let split = shares.user + shares.system + shares.iowait + shares.irq + shares.softirq;
    assert!(split <= usage.busy + 0.001, "{usage:?}");
    assert!(usage.cpus >= 1 && usage.cpus <= count(), "{usage:?}");
    let ids = procstat::read().unwrap();
    assert!(ids.ids().any(|id| id == usage.peak_id), "{usage:?}");
}

/// Judges the reading of a machine whose CPUs are all busy.
fn expect_high(method: CpuMethod) {
    calibrate(method).unwrap();
    let usage = measured(method, work);
    assert_eq!(usage.method, method);
    makes_sense(&usage);
    assert!(usage.busy > 70.0, "{usage:?}");
    assert!(usage.peak_busy > 70.0, "{usage:?}");
}

/// Also beside other programs, which keep CPUs busy as well.
#[test]
fn a_busy_machine_reads_high() {
    expect_high(CpuMethod::ProcStat);
}

#[test]
#[ignore = "nightly: the looper is calibrated on an idle machine"]
fn a_busy_machine_reads_high_with_the_looper() {
    let _machine = machine::whole();
    expect_high(CpuMethod::Looper);
}

/// Tolerance: 25 percent of other programs, and as much of what hypervisors and interrupts take,
/// which the looper sees and the clock ticks miss in part.
#[test]
#[ignore = "nightly: the looper is calibrated on an idle machine"]
fn an_idle_machine_reads_low() {
    let _machine = machine::whole();
    calibrate(CpuMethod::Looper).unwrap();
    // One after the other: the loops keep the CPUs busy.
    let ticks = measured(CpuMethod::ProcStat, rest);
    let looper = measured(CpuMethod::Looper, rest);
    makes_sense(&ticks);
    makes_sense(&looper);
    assert!(ticks.busy < 25.0, "{ticks:?}");
    assert!(looper.busy < ticks.busy + 25.0, "{looper:?} {ticks:?}");
}

#[test]
fn every_method_has_a_rate_and_a_letter_of_its_own() {
    let letters = METHODS.map(CpuMethod::letter);
    assert_eq!(letters, ['S', 'L']);
    for method in METHODS {
        assert!(calibrate(method).unwrap() > 1.0);
        assert_eq!(CpuMethod::from_code(method.code()), method);
    }
}

#[test]
fn a_rate_that_the_user_gives_replaces_the_calibration() {
    let plan = CpuPlan {
        rate: Some(1e18),
        method: CpuMethod::Looper,
    };
    let meter = super::start(&plan).unwrap();
    rest();
    // No CPU reaches this rate, so everything counts as busy.
    assert!(meter.usage(PERIOD, PERIOD).unwrap().busy > 99.0);
}

#[test]
fn a_method_that_this_system_does_not_have_is_refused() {
    for method in [CpuMethod::None, CpuMethod::Other(7)] {
        assert!(super::start(&plan(method)).is_err());
        assert!(calibrate(method).unwrap().abs() < f64::EPSILON);
    }
}
