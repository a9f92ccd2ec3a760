//! Properties of printed output that programs rely on; the numbers are those of the
//! list of invariants that the tests of all crates share.

use std::time::Duration;

use crate::common::{hosts, outcome, run};
use netperf_model::latency::Bucket;
use netperf_model::{Interim, Latency, Tally};
use netperf_report::{banner, final_report, interim_line};

/// Everything that is printed: the banner and the report of a run with figures.
fn printed(words: &str) -> String {
    let run = run(words);
    let mut outcome = outcome(&run, 1.0);
    let tally = Tally {
        bytes_sent: 12_345_678,
        bytes_received: 12_345_678,
        transactions: 4321,
        ..Tally::default()
    };
    outcome.iterations[0].local.tally = tally;
    if let Some(remote) = &mut outcome.iterations[0].remote {
        remote.tally = tally;
    }
    outcome.latency = Some(times());
    let report = final_report(&outcome, &run.report).expect("a report");
    banner(&run.plan, &run.report, &hosts()).unwrap_or_default() + &report
}

/// Three operations of 5, 50 and 500 microseconds.
fn times() -> Latency {
    let bucket = |at| Bucket {
        from: at,
        to: at,
        count: 1,
    };
    Latency {
        buckets: [5_000, 50_000, 500_000].map(bucket).to_vec(),
        count: 3,
        min: 5_000,
        max: 500_000,
        sum: 555_000.0,
        sum_of_squares: 252_525e6,
        clock_error: 0.0,
    }
}

fn is_decimal(word: &str) -> bool {
    let Some((whole, fraction)) = word.split_once('.') else {
        return false;
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction)
}

const TESTS: &[&str] = &[
    "TCP_STREAM",
    "TCP_MAERTS",
    "TCP_SENDFILE",
    "TCP_RR",
    "TCP_CRR",
    "TCP_CC",
    "UDP_STREAM",
    "UDP_RR",
    "OMNI",
];

#[test]
fn i4_without_titles_verbosity_0_is_one_number_and_a_newline() {
    for test in TESTS.iter().filter(|test| **test != "OMNI") {
        let text = printed(&format!("netperf -v 0 -P 0 -t {test}"));
        assert!(is_decimal(text.trim()), "{test}: {text:?}");
        assert_eq!(text.matches('\n').count(), 1, "{test}");
    }
}

#[test]
fn i5_the_blanks_behind_a_row_stay() {
    let text = printed("netperf -P 0");
    let row = text.strip_suffix('\n').expect("a line");
    assert!(row.ends_with("   "), "{row:?}");
    let columns: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(columns.len(), 5);
    assert!(columns[3..].iter().all(|column| is_decimal(column)));
}

#[test]
fn i6_results_are_on_the_lines_that_scripts_count_to() {
    for (test, line, columns) in [
        ("TCP_STREAM", 6, 5),
        ("TCP_MAERTS", 6, 5),
        ("TCP_SENDFILE", 6, 5),
        ("TCP_RR", 6, 6),
        ("TCP_RR", 7, 2),
        ("TCP_CRR", 6, 6),
        ("TCP_CRR", 7, 2),
        ("UDP_STREAM", 5, 6),
        ("UDP_STREAM", 6, 4),
    ] {
        let text = printed(&format!("netperf -t {test}"));
        let found = text.lines().nth(line).expect("the line");
        let words: Vec<&str> = found.split_whitespace().collect();
        assert_eq!(words.len(), columns, "{test}: {found}");
        let numeric = words.iter().all(|word| word.parse::<f64>().is_ok());
        assert!(numeric, "{test}: {found}");
    }
}

#[test]
fn i7_the_banner_is_one_line_that_names_the_test_and_both_ends() {
    for test in TESTS {
        let run = run(&format!("netperf -H 192.0.2.1 -t {test}"));
        let line = banner(&run.plan, &run.report, &hosts()).expect("a banner");
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.contains(
            " TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 AF_INET"
        ));
        let old = ["TCP_CC", "TCP_SENDFILE"].contains(test);
        let prefix = if *test == "OMNI" {
            "OMNI Send TEST"
        } else {
            "MIGRATED "
        };
        assert_eq!(line.starts_with(prefix), !old, "{line}");
    }
}

#[test]
fn i8_the_banner_says_what_was_asked_for() {
    let run = run("netperf -t TCP_RR -i 3 -I 99,5 -r -T 1,1 -N -- -D -P ,1");
    let line = banner(&run.plan, &run.report, &hosts()).expect("a banner");
    let parts = " : +/-2.500% @ 99% conf.  on result only : nodelay : no control : histogram \
                 : interval : dirty data : demo : first burst 0 : cpu bind\n";
    assert!(line.ends_with(parts), "{line}");
}

#[test]
fn i9_values_separated_by_commas_come_below_one_line_of_header_phrases() {
    let text = printed("netperf -P 1 -- -o P50_LATENCY,THROUGHPUT_CONFID,TRANSPORT_MSS");
    let lines: Vec<&str> = text.lines().collect();
    let phrases =
        "50th Percentile Latency Microseconds,Throughput Confidence Width (%),Transport MSS bytes";
    assert_eq!(lines[1..], [phrases, "50,-1.000,-1"]);
    let bare = printed("netperf -P 0 -- -o P50_LATENCY,THROUGHPUT_CONFID,TRANSPORT_MSS");
    assert_eq!(bare, "50,-1.000,-1\n");
}

#[test]
fn i10_keys_are_in_upper_case_and_texts_stand_without_quotes() {
    let text = printed("netperf -P 0 -B tag -- -k throughput_units,P99.5_latency,Result_Brand");
    assert_eq!(
        text,
        "THROUGHPUT_UNITS=10^6bits/s\nP99.5_LATENCY=500\nRESULT_BRAND=\"tag\"\n"
    );
}

#[test]
fn i11_the_last_line_of_columns_is_the_values() {
    let text = printed("netperf -- -O MIN_LATENCY,P90_LATENCY,P99_LATENCY,THROUGHPUT");
    let last: Vec<&str> = text
        .lines()
        .next_back()
        .expect("lines")
        .split_whitespace()
        .collect();
    assert_eq!(last, ["5", "500", "500", "197.53"]);
    assert_eq!(text.lines().count(), 1 + 4 + 1);
}

#[test]
fn i12_names_match_in_any_case_and_unknown_ones_are_passed_over() {
    let text = printed("netperf -P 0 -- -k direction,STDEV_LATENCY,p50_lATENCY;Protocol");
    assert_eq!(text, "DIRECTION=Send\nP50_LATENCY=50\nPROTOCOL=TCP\n");
}

#[test]
fn i14_latencies_are_numbers_in_every_test_and_missing_ones_minus_one() {
    let names =
        "MIN_LATENCY,MAX_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MEAN_LATENCY,STDDEV_LATENCY";
    // The two of the sockets suite have no selection.
    let classic_only = ["TCP_SENDFILE", "TCP_CC"];
    for test in TESTS.iter().filter(|test| !classic_only.contains(test)) {
        let words = format!("netperf -P 0 -t {test} -- -o {names}");
        let text = printed(&words);
        assert_eq!(text, "5,500,50,500,500,185.00,223.49\n", "{test}");
        let run = run(&words);
        let unkept = final_report(&outcome(&run, 1.0), &run.report).expect("a report");
        assert_eq!(unkept, "-1,-1,-1,-1,-1,-1.00,-1.00\n", "{test}");
    }
}

#[test]
fn i15_units_are_spelled_as_ever() {
    for (words, text) in [
        ("netperf -- -k THROUGHPUT_UNITS", "=10^6bits/s\n"),
        ("netperf -t TCP_RR -- -k THROUGHPUT_UNITS", "=Trans/s\n"),
        ("netperf -f M -- -k THROUGHPUT_UNITS", "=MBytes/s\n"),
        ("netperf", " 10^6bits/sec  \n"),
        ("netperf -f M", " MBytes/sec  \n"),
        (
            "netperf -c -C",
            " 10^6bits/s  % S      % S      us/KB   us/KB\n",
        ),
        ("netperf -c -C -t TCP_RR", "us/Tr   us/Tr\n"),
    ] {
        assert!(printed(words).contains(text), "{words}");
    }
}

#[test]
fn i16_a_histogram_reads_from_its_first_decade_to_the_times_beyond() {
    let text = printed("netperf -v 2 -t TCP_RR");
    let (_, rows) = text.split_once("UNIT_USEC").expect("the first decade");
    let (rows, rest) = rows.split_once(">100_SECS").expect("the times beyond");
    let counts: Vec<u64> = rows
        .lines()
        .flat_map(|row| row.split(':').skip(1))
        .map(|count| count.trim().parse().expect("a count"))
        .collect();
    assert_eq!(counts.len(), 80);
    assert_eq!(counts.iter().sum::<u64>(), 3);
    assert_eq!((counts[5], counts[15], counts[25]), (1, 1, 1));
    assert_eq!(rest, ": 0\nHIST_TOTAL:      3\n");
}

#[test]
fn i17_interim_lines_have_their_words_and_keys_in_order() {
    let interim = Interim {
        work: 1_250_000.0,
        seconds: 0.25,
        ended: Duration::from_millis(1_700_000_000_050),
        ..Interim::default()
    };
    let line = |words: &str| {
        let run = run(words);
        interim_line(&run.plan, &run.report, 0, &interim)
    };
    let human = line("netperf");
    let words: Vec<&str> = human.split_whitespace().collect();
    assert_eq!(
        [words[2], words[3], words[5], words[9]],
        ["40.00", "10^6bits/s", "0.250", "1700000000.050"]
    );
    assert_eq!(line("netperf -- -o").split(',').count(), 4);
    let keyval = line("netperf -- -k");
    let keys: Vec<&str> = keyval
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    assert_eq!(
        keys,
        [
            "NETPERF_INTERIM_RESULT[0]",
            "NETPERF_UNITS[0]",
            "NETPERF_INTERVAL[0]",
            "NETPERF_ENDING[0]"
        ]
    );
}
