//! Random simulated runs, each from a seed, judged by what must hold of every run.
//!
//! `NETPERF_SIM_RUNS` is their number (100), `NETPERF_SIM_FIRST` the first seed (1). A seed that
//! fails is repeated with `just lab-shadow seed NUMBER`.

mod draw;
mod judge;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use netperf_testkit::{environment, note, ours, sim};

use draw::Case;

const RUNS: u32 = 100;
/// Simulations at the same time. Each has two threads of its own.
const TOGETHER: usize = 4;

fn number(variable: &str, default: u32) -> u32 {
    environment(variable)
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Runs a seed, and returns what is wrong with the run.
fn complaints_of(seed: u32) -> Vec<String> {
    let case = Case::draw(seed, &ours!());
    let ran = std::panic::catch_unwind(|| {
        let run = case.simulation().run();
        (judge::complaints(&case, &run), run.account())
    });
    let (complaints, run) = ran.unwrap_or_else(|_| {
        let complaint = "the simulator did not end in time, or its output cannot be read";
        (vec![complaint.to_owned()], String::new())
    });
    if complaints.is_empty() {
        return complaints;
    }
    let mut account = vec![case.to_string()];
    account.extend(complaints.iter().map(|complaint| format!("  {complaint}")));
    account.push(format!("  repeat it: just lab-shadow seed {seed}"));
    if number("NETPERF_SIM_RUNS", RUNS) == 1 {
        account.push(run);
    }
    account
}

#[test]
fn random_runs_hold_what_every_run_must() {
    if !sim::available() {
        return;
    }
    let first = number("NETPERF_SIM_FIRST", 1);
    let end = first + number("NETPERF_SIM_RUNS", RUNS);
    let next = AtomicU32::new(first);
    let failed = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let account = complaints_of(seed);
                    if !account.is_empty() {
                        note(&account.join("\n"));
                        failed.lock().expect("the list").insert(seed, account);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("the list");
    let seeds: Vec<&u32> = failed.keys().collect();
    assert!(failed.is_empty(), "{} seeds failed: {seeds:?}", seeds.len());
}

#[test]
fn a_seed_gives_the_same_run_to_the_byte() {
    if !sim::available() {
        return;
    }
    let first = number("NETPERF_SIM_FIRST", 1);
    for seed in first..first + number("NETPERF_SIM_TWICE", 5) {
        let run = || Case::draw(seed, &ours!()).simulation().run().account();
        assert_eq!(run(), run(), "seed {seed}");
    }
}
