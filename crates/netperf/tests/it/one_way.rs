//! Results of `--timestamps` for transactions between two ends with one clock, and its
//! refusals.

use netperf_testkit::{Finished, Netserver, Place, Programs, Values, ours};
use serde_json::Value;

/// Exit status for what an end cannot do.
const UNSUPPORTED: i32 = 3;

/// The parts of a transaction, in the order of time.
const PARTS: [&str; 8] = [
    "local_turnaround",
    "local_send",
    "wire_there",
    "remote_recv",
    "remote_turnaround",
    "remote_send",
    "wire_back",
    "local_recv",
];

fn run(server: &Netserver, words: &str) -> Finished {
    ours!()
        .client_of(server)
        .args(["--time", "300ms"])
        .args(words.split_whitespace())
        .run()
}

fn number(value: &Value, name: &str) -> f64 {
    let number = value[name].as_f64();
    number.unwrap_or_else(|| panic!("{name} is not in {value}"))
}

#[test]
fn between_ends_with_one_clock_the_true_offset_is_within_the_error() {
    let server = ours!().serve();
    for words in [
        "-t TCP_RR",
        "-t UDP_RR",
        "-t TCP_RR -- -r 4000,100000",
        "-t UDP_RR -- -r 1000,2000",
    ] {
        let finished = run(&server, &format!("--timestamps software --json {words}"));
        let document = finished.expect_clean().document();
        let found = &document["iterations"][0]["one_way"];
        assert!(number(found, "transactions") >= 2.0, "{words}: {found}");
        let offset = number(found, "clock_offset_nanoseconds");
        let error = number(found, "clock_offset_error_nanoseconds");
        assert!(offset.abs() <= error + 1.0, "{words}: {found}");
        for part in PARTS {
            let times = &found[part];
            let order = ["min", "median", "p99", "max"];
            let times = order.map(|which| number(times, &format!("{which}_nanoseconds")));
            assert!(times.is_sorted(), "{words}, {part}: {found}");
            // The clock goes one way within an end; on the wire the offset may be wrong.
            let least = if part.starts_with("wire") {
                -error - 1.0
            } else {
                0.0
            };
            assert!(times[0] >= least, "{words}, {part}: {found}");
        }
    }
}

/// Few enough transactions that every one is sampled.
#[test]
fn the_parts_are_the_whole_latency() {
    let server = ours!().serve();
    for test in ["TCP_RR", "UDP_RR"] {
        let client = ours!().client_of(&server);
        let words = ["--timestamps", "software", "--json", "-j", "-l", "-2000"];
        let finished = client.args(words).args(["-t", test]).run();
        let document = finished.expect_clean().document();
        let found = &document["iterations"][0]["one_way"];
        assert_eq!(found["sampled_every"], 1, "{found}");
        let mean = |times: &Value| number(times, "mean_nanoseconds");
        let parts: f64 = PARTS.iter().map(|part| mean(&found[part])).sum();
        let latency = mean(&document["latency"]);
        let used = number(found, "transactions");
        // The first transaction has no predecessor: what is before its first clock reading is in
        // the latency alone. Transactions that could not be used have other times.
        assert!(used >= 1_990.0, "{found}");
        // Each of them took the longest time at most.
        let longest = number(&document["latency"], "max_nanoseconds");
        let others = (2_000.0 - used + 1.0) / 2_000.0 * longest;
        assert!(
            (parts - latency).abs() < latency * 0.02 + others,
            "{test}: {parts} ns in parts, {latency} ns in all: {found}"
        );
    }
}

#[test]
fn the_parts_of_many_flows_are_those_of_all_their_transactions() {
    let server = ours!().serve();
    // A flow that has a thread waits in its calls, one of several waits for all.
    for threads in [2, 3] {
        for test in ["TCP_RR", "UDP_RR", "TCP_RR -- -r 9000,40000"] {
            let words = format!(
                "--timestamps software --json -j --flows 3 --threads {threads} --count 600 -t {test}"
            );
            let document = run(&server, &words).expect_clean().document();
            let found = &document["iterations"][0]["one_way"];
            let used = number(found, "transactions");
            assert_eq!(used + number(found, "discarded"), 600.0, "{test}: {found}");
            assert!(used >= 590.0, "{test}: {found}");
            assert_eq!(found["sampled_every"], 1, "{found}");
            let offset = number(found, "clock_offset_nanoseconds");
            let error = number(found, "clock_offset_error_nanoseconds");
            assert!(offset.abs() <= error + 1.0, "{test}: {found}");
            let mean = |times: &Value| number(times, "mean_nanoseconds");
            let parts: f64 = PARTS.iter().map(|part| mean(&found[part])).sum();
            let latency = mean(&document["latency"]);
            // A thread may do something for other flows before a request and behind a response.
            assert!(
                (parts - latency).abs() < latency,
                "{test}: {parts} ns in parts, {latency} ns in all: {found}"
            );
        }
    }
    // Each flow samples its part.
    let words = "--timestamps software --json -t TCP_RR --flows 600 --threads 2 --count 30000";
    let document = run(&server, words).expect_clean().document();
    let found = &document["iterations"][0]["one_way"];
    assert!(number(found, "sampled_every") >= 2.0, "{found}");
    let used = number(found, "transactions");
    assert!((600.0..=600.0 * 13.0).contains(&used), "{found}");
}

#[test]
fn the_table_and_the_selectors_tell_the_same() {
    let server = ours!().serve();
    let finished = run(&server, "-t TCP_RR --timestamps software -v 2").expect_clean();
    for line in [
        "wire to netserver",
        "netserver's answer",
        "clock is ahead by",
    ] {
        assert!(finished.stdout.contains(line), "{}", finished.account());
    }
    let names = "LOCAL_TURNAROUND_USEC,LOCAL_SEND_STACK_USEC,WIRE_THERE_USEC,REMOTE_RECV_STACK_USEC,\
                 REMOTE_TURNAROUND_USEC,REMOTE_SEND_STACK_USEC,WIRE_BACK_USEC,\
                 LOCAL_RECV_STACK_USEC,CLOCK_OFFSET_ERROR_USEC";
    let words = format!("-t TCP_RR --timestamps software -- -k {names}");
    let values = Values::parse(&run(&server, &words).expect_clean().stdout);
    for name in [
        "REMOTE_TURNAROUND_USEC",
        "LOCAL_RECV_STACK_USEC",
        "CLOCK_OFFSET_ERROR_USEC",
    ] {
        // Unknown is -1.
        assert!((0.0..1e6).contains(&values.number(name)), "{values:?}");
    }
}

#[test]
fn one_way_refuses_tests_without_time_stamps_by_name() {
    let server = ours!().serve();
    for (words, reason) in [
        ("-t TCP_STREAM", "request/response"),
        ("-t TCP_CRR", "request/response"),
        ("-t STREAM_RR", "over TCP and UDP"),
        ("-t TCP_RR --io poll", "plain calls"),
        ("-t TCP_RR -- -b 4", "several transactions"),
        ("-t TCP_RR --flows 2 -- -b 4", "several transactions"),
        ("-t UDP_RR -- -e 1", "-e"),
    ] {
        let words = format!("--timestamps software {words}");
        let finished = run(&server, &words).expect_exit(UNSUPPORTED);
        assert!(
            finished.stderr.contains("--timestamps"),
            "{}",
            finished.account()
        );
        assert!(finished.stderr.contains(reason), "{}", finished.account());
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
    }
    run(&server, "-t TCP_RR --timestamps sundial").expect_exit(2);
}

#[test]
fn a_stock_netserver_is_not_asked() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let finished = run(&server, "-t TCP_RR --timestamps software").expect_exit(UNSUPPORTED);
    assert!(
        finished.stderr.contains("--timestamps"),
        "{}",
        finished.account()
    );
}

/// Requests with numbers, at a rate: each has the times of both ends.
#[test]
fn at_a_rate_each_request_has_its_times_and_its_type_of_service() {
    let server = ours!().serve();
    let client = ours!().client_of(&server);
    let words =
        "-t UDP_RR --rate 200 --count 20 --timestamps software --json --tos ef,cs1 -- -r 60,60";
    let finished = client.args(words.split_whitespace()).run();
    let document = finished.expect_exit(0).document();
    let times = &document["iterations"][0]["datagram_times"];
    let each = times["each"].as_array().expect("requests");
    assert_eq!(each.len(), 20, "{times}");
    for (number, row) in (1..).zip(each) {
        assert_eq!(row[0], number, "{times}");
        let at = |place: usize| row[place].as_i64().expect("a time");
        // One clock: netserver's kernel has the request before it sends the response.
        let moments = [at(1), at(3), at(4), at(6)];
        assert!(moments.is_sorted(), "{moments:?}");
        assert_eq!((&row[7], &row[8]), (&Value::from(0xb8), &Value::from(0x20)));
    }
    assert_eq!(times["without_times"], 0);
    assert_eq!(document["iterations"][0]["one_way"], Value::Null);
}

#[test]
fn at_a_rate_timestamps_need_datagrams_with_space_for_a_number() {
    let server = ours!().serve();
    for (words, named) in [
        ("-t TCP_RR --rate 100", "over UDP"),
        ("-t UDP_RR --rate 100 -- -r 4,60", "8 bytes"),
        ("-t UDP_RR --rate 100 --flows 2 -- -r 60,60", "--flows"),
    ] {
        let finished = run(&server, &format!("--timestamps software {words}"));
        let refused = finished.expect_exit(UNSUPPORTED);
        assert!(refused.stderr.contains(named), "{}", refused.account());
    }
}
