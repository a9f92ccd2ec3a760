//! CPU utilisation, against the counters of the kernel and a process that never sleeps.

use std::sync::atomic::{AtomicBool, Ordering};

use netperf_testkit::{Bottleneck, machine};

use super::{Bench, Tolerance, check};

/// Idle ticks and all ticks of all processors, from `/proc/stat`.
fn ticks() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = text.lines().next().expect("the sum of all processors");
    let ticks = line.split_whitespace().skip(1).take(8);
    let ticks: Vec<f64> = ticks.map(|word| word.parse().expect("ticks")).collect();
    (ticks[3], ticks.iter().sum())
}

#[test]
#[ignore = "nightly: 6 s beside a process that never sleeps"]
fn utilisation_is_that_of_the_kernel_beside_a_busy_process_netns() {
    let _machine = machine::whole();
    let Some(bench) = Bench::new(Bottleneck::new(10_000, 50)) else {
        return;
    };
    let over = AtomicBool::new(false);
    let (values, truth, burner) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let before = ticks();
        let options = "-c -C -t TCP_STREAM -l 6 -- \
                       -k LOCAL_CPU_UTIL,REMOTE_CPU_UTIL,LOCAL_CPU_COUNT";
        let values = bench.run(options).values();
        let after = ticks();
        over.store(true, Ordering::Relaxed);
        let busy = 1.0 - (after.0 - before.0) / (after.1 - before.1);
        let burner = 100.0 / values.number("LOCAL_CPU_COUNT");
        (values, 100.0 * busy, burner)
    });
    for name in ["LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL"] {
        // The test's window is longer by the start and the end of netperf, a fifth of a second.
        let claim = format!("{name} beside a busy process, percent of /proc/stat");
        check(&claim, truth, values.number(name), Tolerance::Amount(5.0));
        let claim = format!("{name} beside a busy process: one processor at least, percent");
        check(
            &claim,
            burner - 2.0,
            values.number(name),
            Tolerance::AtLeast,
        );
    }
}
