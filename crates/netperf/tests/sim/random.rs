//! Random simulated runs, each from a seed, judged by what must hold of every run.
//!
//! `NETPERF_SIM_RUNS` is their number (100), `NETPERF_SIM_FIRST` the first seed (1). A seed that
//! fails is repeated with `just lab-shadow seed NUMBER`, and the simplest case found that fails
//! with the steps to it (`NETPERF_SIM_STEPS`) behind the number.

mod documents;
mod draw;
mod judge;
mod simpler;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use netperf_testkit::{environment, note, ours, sim};

use draw::Case;

const RUNS: u32 = 100;
/// Simulations at the same time.
const TOGETHER: usize = 4;
/// Failed cases that are made simpler.
const SIMPLIFIED: u32 = 5;

fn number(variable: &str, default: u32) -> u32 {
    environment(variable)
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Runs a case: what is wrong with it, and all that was printed.
fn judged(case: &Case) -> (Vec<String>, String) {
    let ran = std::panic::catch_unwind(|| {
        let run = case.simulation().run();
        (judge::complaints(case, &run), run.account())
    });
    ran.unwrap_or_else(|_| {
        let complaint = "the simulator did not end in time, or its output cannot be read";
        (vec![complaint.to_owned()], String::new())
    })
}

/// Runs a seed, and returns what is wrong with the run; of the first few that fail, in the simplest
/// case that fails.
fn complaints_of(seed: u32, failed: &AtomicU32) -> Vec<String> {
    let steps = environment("NETPERF_SIM_STEPS").unwrap_or_default();
    let case = Case::draw(seed, &ours!()).after_steps(&steps);
    let (complaints, run) = judged(&case);
    if complaints.is_empty() {
        return complaints;
    }
    let mut account = vec![case.to_string()];
    account.extend(complaints.iter().map(|complaint| format!("  {complaint}")));
    account.push(format!("  repeat it: just lab-shadow seed {seed} {steps}"));
    if number("NETPERF_SIM_RUNS", RUNS) == 1 {
        account.push(run);
    } else if failed.fetch_add(1, Ordering::Relaxed) < SIMPLIFIED {
        let fails = |case: &Case| !judged(case).0.is_empty();
        let (simplest, steps) = simpler::simplest(&case, fails);
        let steps = steps.join(",");
        account.push(format!("  simplest: just lab-shadow seed {seed} {steps}"));
        account.push(format!("  {simplest}"));
    }
    account
}

/// Judges seeds, some at a time, and notes the account of each that fails.
fn judge_seeds(runs: u32, account_of: impl Fn(u32) -> Vec<String> + Sync) {
    let first = number("NETPERF_SIM_FIRST", 1);
    let end = first + number("NETPERF_SIM_RUNS", runs);
    let (next, failed) = (AtomicU32::new(first), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let account = account_of(seed);
                    if !account.is_empty() {
                        note(&account.join("\n"));
                        failed.lock().expect("the list").insert(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("the list");
    assert!(
        failed.is_empty(),
        "{} seeds failed: {failed:?}",
        failed.len()
    );
}

#[test]
fn random_runs_hold_what_every_run_must() {
    if sim::available() {
        let failures = AtomicU32::new(0);
        judge_seeds(RUNS, |seed| complaints_of(seed, &failures));
    }
}

#[test]
fn a_seed_gives_the_same_run_to_the_byte() {
    if !sim::available() {
        return;
    }
    let first = number("NETPERF_SIM_FIRST", 1);
    for seed in first..first + number("NETPERF_SIM_TWICE", 3) {
        let run = || Case::draw(seed, &ours!()).simulation().run().account();
        assert_eq!(run(), run(), "seed {seed}");
    }
}
