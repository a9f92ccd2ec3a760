//! Confidence intervals and comparisons, over many runs.

use netperf_testkit::documents::number;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_testkit::{Bottleneck, Invocation, LinkHost, RoutedLink, machine, note, ours};
use serde_json::Value;

use super::{Bench, Tolerance, at_once, check};

/// Links of a check, at the same time.
const LINKS: [u64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).expect("few"))
}

/// Percent of the cases that hold.
fn percent_of(holds: impl Iterator<Item = bool>) -> f64 {
    let shares: Vec<f64> = holds.map(|holds| if holds { 100.0 } else { 0.0 }).collect();
    // Of none, none hold.
    if shares.is_empty() {
        0.0
    } else {
        mean(&shares)
    }
}

/// Gives the link a random rate from 5 to 15 Mbit/s every 100 ms until `over`.
fn vary(link: &RoutedLink, seed: u64, over: &AtomicBool) {
    let mut tc: Command = link.place(LinkHost::Router).command("tc".as_ref());
    let tc = tc.args(["-batch", "-"]).stdin(Stdio::piped());
    let mut tc = tc.spawn().expect("tc, from iproute2");
    let mut input = tc.stdin.take().expect("piped");
    let mut state = seed;
    while !over.load(Ordering::Relaxed) {
        // Knuth's linear congruential generator, of which the upper bits are random.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let kbit = 5_000 + (state >> 33) % 10_000;
        let change = "qdisc change dev server root tbf burst 6000 latency 100ms rate";
        writeln!(input, "{change} {kbit}kbit").expect("tc reads");
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(input);
    assert!(tc.wait().expect("tc").success(), "tc failed");
}

/// Sets a flag when it is dropped.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Results and half widths of `-I` of some runs on a link that varies.
fn intervals(seed: u64, runs: u32) -> Vec<(f64, f64)> {
    let Some(bench) = Bench::new(Bottleneck::new(10_000, 100)) else {
        return Vec::new();
    };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when a run fails: the scope ends with its threads.
        let _ending = SetOnDrop(&over);
        scope.spawn(|| vary(&bench.link, seed, &over));
        let run = |_| {
            // netperf warns that the width was not reached.
            let finished = bench
                .client("-t TCP_STREAM -l 1 -i 5,5 -I 95,1 --json")
                .run();
            let document = finished.document();
            let result = number(&document["result"]["throughput"]);
            let width = number(&document["confidence"]["result_width_percent"]);
            (result, result * width / 200.0)
        };
        (0..runs).map(run).collect()
    })
}

#[test]
#[ignore = "nightly: 120 runs of 5 s, some 60 s at 12 links"]
fn a_confidence_interval_contains_the_mean_of_a_varying_link_netns() {
    let _machine = machine::whole();
    let all = Mutex::new(Vec::new());
    at_once(&LINKS, |seed| {
        let found = intervals(*seed, 10);
        all.lock().expect("the results").extend(found);
    });
    let all = all.into_inner().expect("the results");
    if all.is_empty() {
        return;
    }
    let results: Vec<f64> = all.iter().map(|(result, _)| *result).collect();
    let truth = mean(&results);
    let halves: Vec<f64> = all.iter().map(|(_, half)| *half).collect();
    note(&format!("mean {truth}, half widths {}", mean(&halves)));
    let covered = percent_of(
        all.iter()
            .map(|(result, half)| (result - truth).abs() <= *half),
    );
    // Three standard deviations of 120 trials are 6 %.
    let claim = "-I 95 -i 5,5 on a link of 5 to 15 Mbit/s: intervals with the mean, percent";
    check(claim, 95.0, covered, Tolerance::Percents(6.5, 5.0));
}

/// One comparison of two command lines.
struct Compared {
    outcome: String,
    /// Change of the throughput from the first to the second, in percent.
    change: f64,
    /// Width of its interval, in percent.
    width: f64,
    /// Pairs that are needed to decide.
    needed: Option<f64>,
}

/// Compares on as many links as there are, some times each.
fn compared(times: u32, pairs: u32, first: &str, second: &str) -> Vec<Compared> {
    let all = Mutex::new(Vec::new());
    at_once(&LINKS, |_| {
        let Some(bench) = Bench::new(Bottleneck::new(10_000, 50)) else {
            return;
        };
        let port = bench.server.port().to_string();
        let to = ["-H", RoutedLink::SERVER_V4, "-p", &port];
        for _ in 0..times {
            let finished = Invocation::new(&ours!().netperf)
                .args(["run", "--json", "--pairs", &pairs.to_string(), "--"])
                .args(to)
                .args(first.split_whitespace())
                .arg("--vs")
                .args(to)
                .args(second.split_whitespace())
                .within(&bench.link.place(LinkHost::Client))
                .patience(Duration::from_secs(150))
                .run();
            note(&finished.account());
            let document: Value = serde_json::from_str(&finished.stdout).expect("a document");
            let found = Compared {
                outcome: document["outcome"].as_str().expect("an outcome").to_owned(),
                change: 100.0 * (number(&document["metrics"][0]["ratio"]) - 1.0),
                width: document["metrics"][0]["ratio_high"]
                    .as_f64()
                    .zip(document["metrics"][0]["ratio_low"].as_f64())
                    .map_or(f64::INFINITY, |(high, low)| 100.0 * (high - low)),
                needed: document["needed_runs"].as_f64(),
            };
            all.lock().expect("the comparisons").push(found);
        }
    });
    all.into_inner().expect("the comparisons")
}

fn no_difference_is_found(test: &str) {
    let found = compared(5, 12, test, test);
    if found.is_empty() {
        return;
    }
    let alarm = |one: &Compared| one.outcome == "better" || one.outcome == "worse";
    let alarms = percent_of(found.iter().map(alarm));
    // Four or more of 60 have a probability of 0.3 % if 1 % are alarms.
    let claim = format!("run {test} --vs {test}, 60 times: alarms, percent, of 1 expected");
    check(&claim, 5.0, alarms, Tolerance::AtMost);
    let equivalent = found.iter().filter(|one| one.outcome == "equivalent");
    let wide = percent_of(equivalent.map(|one| one.width >= 2.0));
    let claim = format!("run {test} --vs {test}: equivalent, interval not in the margin, percent");
    check(&claim, 0.0, wide, Tolerance::Exact);
}

#[test]
#[ignore = "nightly: 120 comparisons of 24 runs, some 60 s at 12 links"]
fn comparisons_of_equals_find_no_difference_netns() {
    let _machine = machine::whole();
    no_difference_is_found("-t TCP_STREAM --time 300ms");
    no_difference_is_found("-t TCP_RR --time 200ms");
}

#[test]
#[ignore = "nightly: 12 comparisons of 24 runs of 3 s, some 80 s"]
fn comparisons_find_a_difference_of_three_percent_netns() {
    let _machine = machine::whole();
    // With segments of 847 bytes of data, 847 of 913 bytes of a frame are data: 0.97 of the
    // 1448 of 1514 bytes.
    let found = compared(1, 12, "-t TCP_STREAM -l 3", "-t TCP_STREAM -l 3 -- -G 859");
    if found.is_empty() {
        return;
    }
    let case = "run with 3 % less goodput of B, 12 times";
    // A pair that something else disturbed widens the interval, and more pairs are asked for.
    let worse = percent_of(found.iter().map(|one| one.outcome == "worse"));
    check(
        &format!("{case}: found worse, percent"),
        75.0,
        worse,
        Tolerance::AtLeast,
    );
    let missed = |one: &Compared| one.outcome != "worse" && one.outcome != "inconclusive";
    check(
        &format!("{case}: found better or equivalent, percent"),
        0.0,
        percent_of(found.iter().map(missed)),
        Tolerance::Exact,
    );
    let changes: Vec<f64> = found.iter().map(|one| one.change).collect();
    let claim = format!("{case}: mean of the changes, percent");
    check(&claim, -3.0, mean(&changes), Tolerance::Amount(0.3));
}

#[test]
#[ignore = "nightly: 24 comparisons of 12 and more runs of 1 s, some 60 s"]
fn a_difference_of_three_percent_needs_the_predicted_pairs_netns() {
    let _machine = machine::whole();
    let (first, second) = ("-t TCP_STREAM -l 1", "-t TCP_STREAM -l 1 -- -G 859");
    // Six pairs never decide: one of 32 such sets has six changes of one sign by chance.
    let begun = compared(1, 6, first, second);
    if begun.is_empty() {
        return;
    }
    let mut needed: Vec<f64> = begun.iter().filter_map(|one| one.needed).collect();
    needed.sort_by(f64::total_cmp);
    let needed = needed[needed.len() / 2];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of pairs"
    )]
    let pairs = (1.5 * needed).ceil() as u32;
    let found = compared(1, pairs, first, second);
    let worse = percent_of(found.iter().map(|one| one.outcome == "worse"));
    // The number is for four cases of five; three standard deviations of 12 cases are 35 %.
    let claim = format!("3 % less goodput, 1.5 times the predicted {needed} pairs: found, percent");
    check(&claim, 80.0, worse, Tolerance::Percents(43.0, 25.0));
}
