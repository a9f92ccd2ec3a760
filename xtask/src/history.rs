//! Time that queries of a history of 100,000 results take.

use std::path::Path;

use netperf_history::{HistoryEntry, Location, Store};
use netperf_testkit::peers::Make;
use netperf_testkit::{Invocation, Scratch, Stopwatch};
use serde_json::json;

use crate::bench::stats::Spread;
use crate::options::Options;

/// Results in all, and in each configuration.
const RESULTS: u32 = 100_000;
const OF_EACH: u32 = 2_500;
/// Results that are added together.
const AT_ONCE: usize = 1000;
/// The most that a question may take, in milliseconds.
const MOST: f64 = 100.0;

/// Queries, as typed. The last ones are about all configurations.
const QUESTIONS: &[(&str, bool)] = &[
    ("list", true),
    ("list --limit 1000", true),
    ("list --test TCP_RR --host host-7", true),
    ("list --host nobody", true),
    ("list --since 2023-12-01 --before 2023-12-02", true),
    ("show 77777", true),
    ("trend --host host-7", true),
    ("trend --host host-7 --metric latency\u{a0}p99", true),
    ("change --host host-7", true),
    ("trend", false),
    ("change", false),
];

/// Fills a history and runs each query several times, as a separate command.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let programs = options.programs(Make::Ours)?;
    let scratch = Scratch::new();
    let path = scratch.path().join("history.sqlite");
    let filling = Stopwatch::start();
    fill(&path)?;
    println!(
        "{RESULTS} results of {} configurations: filled in {:.0} s, {} MB\n",
        RESULTS / OF_EACH,
        filling.elapsed().as_secs_f64(),
        std::fs::metadata(&path)
            .map_err(|error| error.to_string())?
            .len()
            / 1_000_000
    );
    let mut slow = Vec::new();
    for (question, limited) in QUESTIONS {
        let mut times = Vec::new();
        for _ in 0..options.pairs {
            let words = question.split(' ').map(|word| word.replace('\u{a0}', " "));
            let asked = Invocation::new(&programs.netperf)
                .arg("history")
                .args(words);
            let asked = asked.arg("--db").arg(&path);
            let waiting = Stopwatch::start();
            let finished = asked.run();
            times.push(waiting.elapsed().as_secs_f64() * 1e3);
            finished.clean()?;
        }
        let times = Spread::of(times);
        println!("{:7.1} ms  netperf history {question}", times.median());
        if *limited && times.median() > MOST {
            slow.push(*question);
        }
    }
    if options.check && !slow.is_empty() {
        return Err(format!("more than {MOST} ms: {}", slow.join("; ")));
    }
    Ok(())
}

fn fill(path: &Path) -> Result<(), String> {
    let place = Location::File(path.to_owned());
    let mut store = Store::open(&place, true).map_err(|error| error.to_string())?;
    let numbers: Vec<u32> = (0..RESULTS).collect();
    for numbers in numbers.chunks(AT_ONCE) {
        let entries: Result<Vec<HistoryEntry>, String> =
            numbers.iter().map(|at| result(*at)).collect();
        store.add(&entries?, 0).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Result by result in turn for every configuration, one each quarter of an hour. Every
/// thousand days of a host it has another kernel, and is slower.
fn result(at: u32) -> Result<HistoryEntry, String> {
    let configurations = RESULTS / OF_EACH;
    let (host, number) = (at % configurations, at / configurations);
    let level = if number < 1000 { 1000.0 } else { 970.0 };
    let rate = level + f64::from(at.wrapping_mul(2_654_435_761) >> 24) / 10.0;
    let times: Vec<u32> = (0..400).map(|bucket| (bucket * 97 + at) % 5000).collect();
    let document = json!({
        "schema": "netperf-1",
        "command_line": format!("netperf -H host-{host} -t TCP_RR -j --json"),
        "started_unix_seconds": 1.7e9 + f64::from(at) * 900.0,
        "test": {"name": "TCP_RR"},
        "local": {"host": {"release": format!("6.{}", number / 1000)}},
        "remote": {"name": format!("host-{host}")},
        "result": {"transactions_per_second": rate},
        "latency": {
            "mean_nanoseconds": 1e9 / rate,
            "percentiles": [{"percent": 99.0, "nanoseconds": 2e9 / rate}],
        },
        "filler": times,
    });
    let bytes = document.to_string().into_bytes();
    HistoryEntry::read("a result", bytes, None).map_err(|error| error.to_string())
}
