//! Selections with `-k`, `-o` and `-O`.

use netperf_testkit::Scratch;

use super::{client, run, run_all, server};

const TESTS: [&str; 6] = [
    "TCP_STREAM",
    "TCP_MAERTS",
    "UDP_STREAM",
    "TCP_RR",
    "TCP_CRR",
    "UDP_RR",
];

#[test]
fn i09_comma_separated_values_come_below_one_line_of_header_phrases() {
    let server = server();
    let selection = "-- -o P50_LATENCY,THROUGHPUT_CONFID,TRANSPORT_MSS";
    let finished = run(&server, &format!("-l 1 {selection}"));
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", finished.account());
    let phrases =
        "50th Percentile Latency Microseconds,Throughput Confidence Width (%),Transport MSS bytes";
    assert_eq!(lines[1], phrases);
    assert_eq!(lines[2].split(',').count(), 3);
    let bare = run(&server, &format!("-l 1 -P 0 {selection}"));
    assert_eq!(bare.stdout.lines().count(), 1, "{}", bare.account());
}

#[test]
fn i10_keys_are_in_upper_case_and_texts_stand_without_quotes() {
    let server = server();
    let selected =
        "-t tcp_rr -l -20 -P 0 -B mark -- -k protocol,Direction,command_line,result_brand";
    let finished = run(&server, selected);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines[..2], ["PROTOCOL=TCP", "DIRECTION=Send|Recv"]);
    assert!(lines[2].starts_with("COMMAND_LINE=\"") && lines[2].ends_with('"'));
    assert_eq!(lines[3], "RESULT_BRAND=\"mark\"");
}

#[test]
fn i11_the_last_line_of_columns_is_the_values() {
    let server = server();
    let finished = run(&server, "-l 1 -- -O MIN_LATENCY,P99_LATENCY,THROUGHPUT");
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{}", finished.account());
    let values = super::words(lines[5]);
    assert!(values.len() == 3 && values.iter().all(|value| value.parse::<f64>().is_ok()));
    let lengths: Vec<usize> = lines[1..].iter().map(|line| line.len()).collect();
    assert!(lengths.iter().all(|length| *length == lengths[0]));
    assert!(!lines[5].starts_with(' '));
}

#[test]
fn i12_names_match_in_any_case_unknown_ones_are_passed_over_and_one_is_a_file() {
    let server = server();
    let run = |words: &[&str]| {
        let command = client(&server, "-t TCP_RR -l -20 -P 0 --").args(words);
        command.run().expect_clean().stdout
    };
    let keys = |text: &str| {
        let keys = text.lines().filter_map(|line| line.split_once('='));
        keys.map(|(key, _)| key.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&run(&[
            "-k",
            "rt_latency,P50_lATENCY, STDEV_LATENCY,throughput"
        ])),
        ["RT_LATENCY", "P50_LATENCY", "THROUGHPUT"]
    );
    assert_eq!(
        keys(&run(&["-k", "THROUGHPUT, THROUGHPUT_UNITS ELAPSED_TIME"])),
        ["THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME"]
    );
    assert_eq!(
        run(&["-O", "THROUGHPUT;ELAPSED_TIME"])
            .trim()
            .lines()
            .count(),
        3
    );
    // A list of the names is no test, and the exit status says so.
    let list = client(&server, "-- -k ?").run().expect_exit(1);
    let mut lines = list.stdout.lines();
    let names = lines.next().unwrap_or_default().split(',').count();
    assert!(names > 100, "{}", list.account());
    // Behind the line of the original, every selector has its meaning.
    assert!(lines.count() > names, "{}", list.account());
    assert!(keys(&run(&["-k", "all"])).len() > 100);
    let folder = Scratch::new();
    std::fs::write(folder.path().join("mine"), "THROUGHPUT\n").expect("a file");
    let command = client(&server, "-t TCP_RR -l -20 -P 0 -- -k mine");
    let finished = command.folder(folder.path()).run().expect_clean();
    assert_eq!(keys(&finished.stdout), ["THROUGHPUT"]);
}

#[test]
fn i13_an_optional_argument_does_not_swallow_the_next_option() {
    let server = server();
    let finished = run(&server, "-t TCP_RR -l -20 -- -k -r 1000,2000");
    assert!(
        finished.stdout.contains("REQUEST_SIZE=1000\n"),
        "{}",
        finished.account()
    );
    run_all(&server, &["-l 1 -c -C -t TCP_RR", "-l 1 -c 0.5 -C 0.5"]);
}

#[test]
fn i14_latencies_are_numbers_in_every_test_and_missing_ones_minus_one() {
    let server = server();
    let names = "MIN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,MEAN_LATENCY,\
                 STDDEV_LATENCY,THROUGHPUT_CONFID,LOCAL_CPU_UTIL";
    let all = TESTS.map(|test| format!("-l 1 -t {test} -- -k {names}"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for finished in run_all(&server, &all) {
        let values = finished.values();
        for name in names.split(',') {
            assert!(values.number(name).is_finite(), "{}", finished.account());
        }
        let mean = values.number("MEAN_LATENCY");
        assert!(mean > 0.0, "{}", finished.account());
        assert_eq!(values.text("THROUGHPUT_CONFID"), "-1.000");
    }
}

#[test]
fn i34_figures_relate_as_their_names_say() {
    let server = server();
    let udp = run(
        &server,
        "-l 1 -t UDP_STREAM -- -m 1400 -k THROUGHPUT,REMOTE_RECV_THROUGHPUT,LOCAL_SEND_CALLS,\
         REMOTE_RECV_CALLS",
    );
    let values = udp.values();
    let pair = ["THROUGHPUT", "REMOTE_RECV_THROUGHPUT"].map(|name| values.text(name));
    assert_eq!(pair[0], pair[1], "{}", udp.account());
    let calls = ["LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS"].map(|name| values.count(name));
    assert!(calls[0] >= calls[1] && calls[1] > 0, "{}", udp.account());
    let rr = run(&server, "-l 1 -t TCP_RR -- -k THROUGHPUT,RT_LATENCY");
    let values = rr.values();
    let product = values.number("THROUGHPUT") * values.number("RT_LATENCY");
    assert!((product / 1e6 - 1.0).abs() < 0.01, "{}", rr.account());
}
