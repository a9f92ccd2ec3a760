//! Layouts that depend on times of operations: they hold whatever was measured.

use std::time::Duration;

use crate::common::{outcome, run};
use netperf_model::latency::Bucket;
use netperf_model::{FlowCounts, Flows, Interim, Latency, Tally, ThroughputUnit, Warning, one_way};
use netperf_report::{final_report, interim_line, interim_work, needs};
use proptest::num::f64::ANY as FIGURE;
use proptest::prelude::*;
use serde_json::Value;

/// Every layout with a histogram, and the selectors of times in each format.
const RUNS: &[&str] = &[
    "netperf -v 2",
    "netperf -v 2 -t TCP_MAERTS",
    "netperf -v 3 -t TCP_SENDFILE",
    "netperf -v 2 -t TCP_RR",
    "netperf -v 2 -t UDP_RR",
    "netperf -v 2 -t TCP_CRR",
    "netperf -v 2 -t TCP_CC",
    "netperf -v 2 -t UDP_STREAM",
    "netperf -v 2 -t OMNI",
    "netperf -v 2 -t OMNI -- -d rr -o all",
    "netperf -v 2 -t OMNI -- -d cc -k all",
    "netperf -v 2 -- -O MIN_LATENCY,P99.9_LATENCY,MEAN_LATENCY_NS,P50_LATENCY_NS",
];

fn a_bucket() -> impl Strategy<Value = Bucket> {
    (0..=u64::MAX / 2, 0..u64::MAX / 2, 1..1_u64 << 40).prop_map(|(from, width, count)| Bucket {
        from,
        to: from + width,
        count,
    })
}

/// Distributions that no loop would give are among them: only their extremes
/// are in order.
fn a_latency() -> impl Strategy<Value = Latency> {
    let buckets = proptest::collection::vec(a_bucket(), 0..20);
    let count = 0..1_u64 << 50;
    let (extremes, moments) = (any::<(u64, u64)>(), (FIGURE, FIGURE));
    (buckets, count, extremes, moments).prop_map(|(mut buckets, count, ends, moments)| {
        buckets.sort_by_key(|bucket| bucket.from);
        Latency {
            buckets,
            count,
            min: ends.0.min(ends.1),
            max: ends.0.max(ends.1),
            sum: moments.0,
            sum_of_squares: moments.1,
            clock_error: 0.0,
        }
    })
}

fn report(words: &str, latency: Option<Latency>) -> String {
    let run = run(words);
    let mut outcome = outcome(&run, 1.0);
    outcome.latency = latency;
    final_report(&outcome, &run.report).expect("a report")
}

/// The lines of a histogram: heading, eight decades, the times beyond, the total.
fn histogram(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .skip_while(|line| !line.starts_with("Histogram of "))
        .collect()
}

/// True if a value is not a finite number.
fn has_no_number(text: &str) -> bool {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '='));
    let values = words.map(|word| word.trim_start_matches('-').to_lowercase());
    values
        .into_iter()
        .any(|word| matches!(&*word, "nan" | "inf" | "infinity"))
}

fn is_decade(line: &str) -> bool {
    let (label, counts) = line.split_at(14);
    let number = |count: &str| count.len() >= 5 && count.trim_start().parse::<u64>().is_ok();
    let columns: Vec<&str> = counts.split(':').collect();
    label
        .trim_end()
        .chars()
        .all(|c| c.is_ascii_uppercase() || c == '_')
        && columns.len() == 11
        && columns[0].is_empty()
        && columns[1..].iter().all(|count| number(count))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_histogram_has_its_eleven_lines_whatever_was_measured(latency in a_latency()) {
        for words in RUNS {
            let text = report(words, Some(latency.clone()));
            let lines = histogram(&text);
            prop_assert_eq!(lines.len(), 11, "{}", text);
            prop_assert!(lines[1..9].iter().all(|line| is_decade(line)), "{}", text);
            prop_assert!(lines[9].strip_prefix(">100_SECS: ").is_some());
            let total = format!("HIST_TOTAL:      {}", latency.count);
            prop_assert_eq!(lines[10], total);
            prop_assert!(!has_no_number(&text), "{}", text);
        }
    }

    #[test]
    fn every_selector_of_times_prints_a_number(latency in a_latency(), percent in 0.0..=100.0_f64) {
        let names = format!("P{percent}_LATENCY,P{percent}_LATENCY_NS,MIN_LATENCY,MAX_LATENCY,\
            P50_LATENCY,P90_LATENCY,P99_LATENCY,MEAN_LATENCY,STDDEV_LATENCY,STDDEV_LATENCY_NS");
        let text = report(&format!("netperf -- -k {names}"), Some(latency));
        let lines: Vec<&str> = text.lines().collect();
        prop_assert_eq!(lines.len(), 10);
        for (line, name) in lines.iter().zip(names.split(',')) {
            let (key, value) = line.split_once('=').expect("a line of -k");
            prop_assert_eq!(key, name);
            let number = value.parse::<f64>();
            prop_assert!(number.is_ok_and(f64::is_finite), "{}", line);
            let whole = !name.starts_with("MEAN") && !name.starts_with("STDDEV");
            prop_assert_eq!(whole, !value.contains('.'), "{}", line);
        }
    }

    #[test]
    fn an_interim_line_has_its_fields_whatever_happened(
        work in FIGURE, seconds in FIGURE, ended in 0..u64::MAX / 2_000_000_000,
    ) {
        let interim = Interim { work, seconds, ended: Duration::from_millis(ended), ..Interim::default() };
        for words in ["netperf -f u", "netperf -f q", "netperf -t TCP_RR", "netperf -f G"] {
            let run = run(words);
            let line = interim_line(&run.plan, &run.report, 0, &interim);
            prop_assert_eq!(line.split_whitespace().count(), 10, "{}", line);
            prop_assert!(!line.contains("NaN") && !line.contains("inf "), "{}", line);
            let (_, millis) = line.trim_end().rsplit_once('.').expect("milliseconds");
            prop_assert_eq!(millis.len(), 3);
        }
    }
}

#[test]
fn without_times_there_is_no_histogram() {
    for words in RUNS {
        assert!(!report(words, None).contains("Histogram"), "{words}");
    }
}

#[test]
fn below_verbosity_two_there_is_no_histogram() {
    for words in RUNS {
        let words = words
            .replacen("-v 2", "-v 1", 1)
            .replacen("-v 3", "-v 0", 1);
        let text = report(&words, Some(Latency::default()));
        assert!(!text.contains("Histogram"), "{words}");
    }
}

#[test]
fn a_histogram_without_operations_is_all_zeros() {
    let text = report("netperf -v 2 -t UDP_RR", Some(Latency::default()));
    let lines = histogram(&text);
    let zeros = ":    0".repeat(10);
    assert_eq!(lines[0], "Histogram of request/reponse times.");
    assert_eq!(lines[1], format!("UNIT_USEC     {zeros}"));
    assert_eq!(lines[8], format!("TEN_SEC       {zeros}"));
    assert_eq!(lines[9..], [">100_SECS: 0", "HIST_TOTAL:      0"]);
}

#[test]
fn times_are_needed_for_histograms_and_statistics_and_where_they_are_asked_for() {
    let latency = |words: &str| {
        let run = run(words);
        needs(&run.plan, &run.report).expect("a selection").latency
    };
    for words in RUNS {
        assert!(latency(words), "{words}");
    }
    assert!(latency("netperf -- -k p99.99_latency"));
    assert!(latency("netperf -- -o all"));
    for words in [
        "netperf",
        "netperf -v 2 -t TCP_MSS",
        "netperf -- -k RT_LATENCY",
        "netperf -v 0",
    ] {
        assert!(!latency(words), "{words}");
    }
    let mut asked = run("netperf");
    asked.plan.latency = true;
    assert!(needs(&asked.plan, &asked.report).expect("needs").latency);
}

#[test]
fn the_family_of_latencies_prints_like_the_table_with_headers_of_its_own() {
    let bucket = Bucket {
        from: 1_999_900,
        to: 1_999_900,
        count: 2,
    };
    let latency = Latency {
        buckets: vec![bucket],
        count: 2,
        min: 1_999_900,
        max: 1_999_900,
        sum: 3_999_800.0,
        sum_of_squares: 2.0 * 1_999_900.0 * 1_999_900.0,
        clock_error: 0.0,
    };
    let text = |words: &str| report(words, Some(latency.clone()));
    assert_eq!(
        text("netperf -P 0 -- -k P50_LATENCY,p99.9_latency,p99_latency_ns,mean_latency_ns"),
        "P50_LATENCY=1999\nP99.9_LATENCY=1999\nP99_LATENCY_NS=1999900\nMEAN_LATENCY_NS=1999900.00\n"
    );
    assert_eq!(
        text("netperf -- -o P99.9_LATENCY,MIN_LATENCY_NS"),
        "99.9th Percentile Latency Microseconds,Minimum Latency Nanoseconds\n1999,1999900\n"
    );
    assert_eq!(
        text("netperf -- -O P99.9_LATENCY"),
        "99.9th       \nPercentile   \nLatency      \nMicroseconds \n1999         \n"
    );
}

#[test]
fn percentiles_below_ten_microseconds_show_decimals_unless_the_selector_is_classic() {
    let bucket = |nanos| Bucket {
        from: nanos,
        to: nanos,
        count: 1,
    };
    let latency = Latency {
        buckets: [3_999, 9_990, 10_990].map(bucket).to_vec(),
        count: 3,
        min: 3_999,
        max: 10_990,
        sum: 24_979.0,
        sum_of_squares: 0.0,
        clock_error: 0.0,
    };
    let names = "P50_LATENCY,P50.0_LATENCY,P10_LATENCY,P99.9_LATENCY,P10_LATENCY_NS,MIN_LATENCY";
    let text = report(&format!("netperf -P 0 -- -o {names}"), Some(latency));
    assert_eq!(text, "9,9.99,4.00,10,3999,3\n");
}

#[test]
fn the_line_of_flows_is_of_what_arrived_or_says_that_it_is_not() {
    let report = |words: &str, there: &[u64]| {
        let run = run(words);
        let mut outcome = outcome(&run, 1.0);
        let sent = |bytes: u64| FlowCounts {
            bytes_sent: bytes,
            ..FlowCounts::default()
        };
        let received = |bytes: &u64| FlowCounts {
            bytes_received: *bytes,
            ..FlowCounts::default()
        };
        outcome.iterations[0].many = Some(Flows {
            each: [4_000_000, 4_000_000].map(sent).to_vec(),
            there: there.iter().map(received).collect(),
            ..Flows::default()
        });
        final_report(&outcome, &run.report).expect("a report")
    };
    let line = |words: &str, there: &[u64]| {
        let text = report(words, there);
        let line = text.lines().find(|line| line.starts_with("Flows: "));
        line.expect("a line").to_owned()
    };
    let udp = "netperf -t UDP_STREAM --flows 2";
    assert_eq!(
        line(udp, &[1_000_000, 3_000_000]),
        "Flows: 2, the slowest 8.00, the fastest 24.00 10^6bits/s, fairness 0.8000"
    );
    let sent = "Flows: 2, the slowest 32.00, the fastest 32.00 10^6bits/s, fairness 1.0000";
    assert_eq!(line(udp, &[]), format!("{sent}, of sent data"));
    assert_eq!(line("netperf -t TCP_STREAM --flows 2", &[]), sent);
    // The table of verbosity 2 and the document count the same.
    let table = |there: &[u64]| {
        let text = report(&format!("{udp} -v 2"), there);
        let (_, table) = text.split_once("\nFlow ").expect("a table");
        let words: Vec<&str> = table.split_ascii_whitespace().collect();
        let document = report(&format!("{udp} --json"), there);
        let document: Value = serde_json::from_str(&document).expect("a document");
        let flows = &document["iterations"][0]["flows"];
        let is_arrived = flows["fairness_is_of_arrived"].as_bool();
        (words.join(" "), flows["fairness"].as_f64(), is_arrived)
    };
    let (words, fairness, is_arrived) = table(&[1_000_000, 3_000_000]);
    let wanted = "Bytes sent Bytes arrived Transactions 10^6bits/s \
        1 4000000 1000000 0 8.00 2 4000000 3000000 0 24.00";
    assert_eq!(words, wanted);
    assert_eq!((fairness, is_arrived), (Some(0.8), Some(true)));
    let (words, fairness, is_arrived) = table(&[]);
    assert!(
        words.ends_with("2 4000000 0 0 32.00 The rates are of sent data."),
        "{words}"
    );
    assert_eq!((fairness, is_arrived), (Some(1.0), Some(false)));
}

#[test]
fn a_run_with_timestamps_that_split_no_transaction_is_doubtful() {
    let doubt = |words: &str| {
        let run = run(words);
        one_way::doubt(&run.plan, &outcome(&run, 1.0).iterations)
    };
    let found = doubt("netperf -t TCP_RR --timestamps software");
    assert!(matches!(found, Some(Warning::Imprecise(_))), "{found:?}");
    assert_eq!(doubt("netperf -t TCP_RR"), None);
}

/// Half a second ending at 1.007 s after the epoch.
fn half_a_second(work: f64) -> Interim {
    Interim {
        work,
        seconds: 0.5,
        ended: Duration::from_millis(1_700_000_001_007),
        ..Interim::default()
    }
}

#[test]
fn interim_lines_have_the_form_of_the_report_and_its_unit() {
    let line = |words: &str, work: f64| {
        let run = run(words);
        interim_line(&run.plan, &run.report, 7, &half_a_second(work))
    };
    let human = "over 0.500 seconds ending at 1700000001.007\n";
    assert_eq!(
        line("netperf", 625_000.0),
        format!("Interim result:   10.00 10^6bits/s {human}")
    );
    assert_eq!(
        line("netperf -t OMNI -f B", 5.0),
        format!("Interim result:   10.00 Bytes/s {human}")
    );
    assert_eq!(
        line("netperf -t TCP_RR -- -O all", 1e6),
        format!("Interim result: 2000000.00 Trans/s {human}")
    );
    assert_eq!(
        line("netperf -t UDP_RR -f K -- -o", 512.0),
        "   1.00,KBytes/s,0.500,1700000001.007\n"
    );
    assert_eq!(
        line("netperf -- -k", 62_500.0),
        "NETPERF_INTERIM_RESULT[7]=1.00\nNETPERF_UNITS[7]=10^6bits/s\n\
         NETPERF_INTERVAL[7]=0.500\nNETPERF_ENDING[7]=1700000001.007\n"
    );
}

#[test]
fn interim_work_counts_what_the_unit_and_the_test_are_about() {
    let before = Tally {
        bytes_sent: 100,
        bytes_received: 200,
        transactions: 10,
        ..Tally::default()
    };
    let after = Tally {
        bytes_sent: 1100,
        bytes_received: 2200,
        transactions: 30,
        ..Tally::default()
    };
    let work = |words: &str, unit| interim_work(&run(words).plan, unit, &before, &after);
    for (words, unit, expected) in [
        ("netperf", ThroughputUnit::MegaBits, 1000.0),
        ("netperf -t UDP_STREAM", ThroughputUnit::MegaBits, 1000.0),
        ("netperf -t TCP_MAERTS", ThroughputUnit::MegaBits, 2000.0),
        ("netperf -t TCP_RR", ThroughputUnit::Transactions, 20.0),
        (
            "netperf -t TCP_RR -- -r 3,4",
            ThroughputUnit::KiloBits,
            140.0,
        ),
        (
            "netperf -t TCP_CRR -- -r 3,4",
            ThroughputUnit::MegaBits,
            140.0,
        ),
        ("netperf -t TCP_CC", ThroughputUnit::MegaBits, 20.0),
    ] {
        let found = work(words, unit);
        assert!((found - expected).abs() < 1e-9, "{words}: {found}");
    }
    // Counts that went back, as at a new iteration, are no work.
    let run = run("netperf");
    let back = interim_work(&run.plan, ThroughputUnit::MegaBits, &after, &before);
    assert!(back.abs() < f64::EPSILON);
}
