//! Contract of every CPU method, tested on an otherwise idle machine.

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

#[test]
fn a_busy_machine_reads_high() {
    let _machine = machine::whole();
    for method in METHODS {
        calibrate(method).unwrap();
        let usage = measured(method, work);
        assert_eq!(usage.method, method);
        makes_sense(&usage);
        assert!(usage.busy > 70.0, "{usage:?}");
        assert!(usage.peak_busy > 70.0, "{usage:?}");
    }
}

/// Other programs may use the machine at the same time: it counts when it was left to
/// itself once, and when it never was, nothing can be said.
#[test]
fn an_idle_machine_reads_low() {
    let _machine = machine::whole();
    for method in METHODS {
        calibrate(method).unwrap();
        let reads_low = (0..10).any(|_| {
            let usage = measured(method, rest);
            makes_sense(&usage);
            usage.busy < 50.0
        });
        let is_idle = || measured(CpuMethod::ProcStat, rest).busy < 20.0;
        assert!(reads_low || !is_idle(), "{method:?}");
    }
}

#[test]
fn every_method_has_a_rate_and_a_letter_of_its_own() {
    let _machine = machine::whole();
    let letters = METHODS.map(CpuMethod::letter);
    assert_eq!(letters, ['S', 'L']);
    for method in METHODS {
        assert!(calibrate(method).unwrap() > 1.0);
        assert_eq!(CpuMethod::from_code(method.code()), method);
    }
}

#[test]
fn a_rate_that_the_user_gives_replaces_the_calibration() {
    let _machine = machine::whole();
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
