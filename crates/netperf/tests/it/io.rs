//! The ways to move bytes: whatever way, both ends count the same, and what cannot be is
//! refused.

use netperf_testkit::{Finished, Netserver, Place, Programs, Values, ours};
use serde_json::{Value, json};

/// Selectors that every test reads.
const SELECTED: &str = "ELAPSED_TIME,THROUGHPUT,TRANSACTION_RATE,\
                        LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD,LOCAL_SEND_CALLS,LOCAL_RECV_CALLS,\
                        REMOTE_BYTES_SENT,REMOTE_BYTES_RECVD,REMOTE_SEND_CALLS,\
                        REMOTE_RECV_CALLS,LOCAL_IO_METHOD,REMOTE_IO_METHOD,\
                        LOCAL_MESSAGES_PER_CALL,REMOTE_MESSAGES_PER_CALL,\
                        LOCAL_ZEROCOPY_SHARE,REMOTE_ZEROCOPY_SHARE";

fn run(server: &Netserver, words: &[&str]) -> Finished {
    ours!().client_of(server).args(words).run()
}

/// Values of a run of a small amount.
fn measured(server: &Netserver, options: &[&str], test_options: &[&str]) -> Values {
    let test = options.iter().skip_while(|word| **word != "-t").nth(1);
    let amount = match test.copied().unwrap_or_default() {
        "TCP_STREAM" | "TCP_MAERTS" => "-3000000",
        "UDP_STREAM" | "OMNI" => "-64000",
        _ => "-200",
    };
    measured_until(server, amount, options, test_options)
}

/// Values of a run that ends at a time or amount.
fn measured_until(
    server: &Netserver,
    limit: &str,
    options: &[&str],
    test_options: &[&str],
) -> Values {
    let limit = ["-l", limit];
    let words = [
        limit.as_slice(),
        options,
        &["--", "-k", SELECTED],
        test_options,
    ];
    Values::parse(&run(server, &words.concat()).expect_clean_or_copied().stdout)
}

fn agree(values: &Values, here: &str, there: &str) {
    let (here, there) = (values.number(here), values.number(there));
    assert!(here > 0.0, "{values:?}");
    assert!((here - there).abs() < 0.5, "{values:?}");
}

/// Datagrams of one size: as many calls as there are of them in the bytes.
fn counts_whole(values: &Values, bytes: &str, calls: &str, size: f64) {
    let (bytes, calls) = (values.number(bytes), values.number(calls));
    assert!(bytes > 0.0, "{values:?}");
    assert!((bytes - calls * size).abs() < 0.5, "{values:?}");
}

#[test]
fn both_ends_count_the_same_whatever_they_do_while_there_is_nothing_to_do() {
    both_ends_count_the_same(measured);
}

#[test]
#[ignore = "nightly: a second at full speed for each of fifteen cases"]
fn both_ends_count_the_same_whatever_they_do_until_a_time_is_over() {
    both_ends_count_the_same(|server, options, test| measured_until(server, "1", options, test));
}

fn both_ends_count_the_same(measured: impl Fn(&Netserver, &[&str], &[&str]) -> Values) {
    let server = ours!().serve();
    for (method, local, remote) in [
        ("poll", "poll", "poll"),
        ("epoll", "epoll", "epoll"),
        ("epoll,poll", "epoll", "poll"),
        (",poll", "blocking", "poll"),
        ("poll,", "poll", "blocking"),
    ] {
        for test in ["TCP_STREAM", "TCP_MAERTS", "TCP_RR"] {
            let values = measured(&server, &["-t", test, "--io", method], &[]);
            assert_eq!(values.text("LOCAL_IO_METHOD"), local);
            assert_eq!(values.text("REMOTE_IO_METHOD"), remote);
            if test != "TCP_MAERTS" {
                agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
            }
            if test != "TCP_STREAM" {
                agree(&values, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD");
            }
        }
    }
}

#[test]
fn datagrams_are_asked_and_answered_by_ends_that_never_sleep_in_a_call() {
    let server = ours!().serve();
    for method in ["poll", "epoll"] {
        for connected in [[].as_slice(), &["-n", "-N"]] {
            let values = measured(&server, &["-t", "UDP_RR", "--io", method], connected);
            assert!(values.number("TRANSACTION_RATE") > 1.0, "{values:?}");
            agree(&values, "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT");
        }
    }
}

#[test]
fn connections_of_each_transaction_wait_as_they_are_told() {
    let server = ours!().serve();
    for (method, local, remote) in [
        ("poll", "poll", "poll"),
        ("epoll", "epoll", "epoll"),
        ("epoll,", "epoll", "blocking"),
        (",poll", "blocking", "poll"),
    ] {
        for test in [
            "-t TCP_CRR",
            "-t TCP_CC",
            "-t TCP_CRR --flows 3 --threads 2",
            "-t OMNI -- -T unix -d rr -c -r 10,20",
        ] {
            let words = format!("--count 200 --io {method} --json {test}");
            let words: Vec<&str> = words.split_whitespace().collect();
            let document = run(&server, &words).expect_clean().document();
            let iteration = &document["iterations"][0];
            for (end, method) in [("local", local), ("remote", remote)] {
                assert_eq!(document[end]["requested"]["io"]["method"], method);
                assert_eq!(iteration[end]["transactions"], 200, "{test}: {iteration}");
            }
            for (sent, received) in [("local", "remote"), ("remote", "local")] {
                let sent = &iteration[sent]["sent_bytes"];
                assert_eq!(sent, &iteration[received]["received_bytes"], "{test}");
            }
            // The loop over flows does not ask each connection.
            let asked = local == "blocking" && test == "-t TCP_CRR";
            let known = iteration["local"]["retransmitted_segments"].is_u64();
            assert!(known == asked || test == "-t TCP_CC", "{test}: {iteration}");
            let is_many = test.contains("--flows");
            assert_eq!(
                iteration["flows"].is_object(),
                is_many,
                "{test}: {iteration}"
            );
        }
    }
    let values = measured(&server, &["-t", "TCP_CRR", "--io", "epoll"], &[]);
    assert!(values.number("TRANSACTION_RATE") > 1.0, "{values:?}");
    agree(&values, "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT");
}

#[test]
fn a_run_that_counts_is_as_long_as_it_was_told_whoever_spins() {
    let server = ours!().serve();
    let words = [
        "-t", "TCP_RR", "-l", "-1000", "--io", "poll", "--", "-k", SELECTED,
    ];
    let values = run(&server, &words).expect_clean().values();
    assert!((values.number("LOCAL_BYTES_SENT") - 1000.0).abs() < 0.5);
    agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
}

#[test]
fn bytes_that_are_thrown_away_are_counted() {
    let server = ours!().serve();
    for method in ["blocking", "poll", "epoll"] {
        let options = ["--discard", "--io", method];
        let values = measured(
            &server,
            &[&options, ["-t", "TCP_STREAM"].as_slice()].concat(),
            &[],
        );
        agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
        let values = measured(
            &server,
            &[&options, ["-t", "TCP_MAERTS"].as_slice()].concat(),
            &[],
        );
        agree(&values, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD");
    }
}

#[test]
fn every_send_without_a_copy_is_accounted_for() {
    let server = ours!().serve();
    let values = measured(&server, &["-t", "TCP_STREAM", "--zerocopy"], &[]);
    agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
    // Over loopback the kernel copies; elsewhere it need not.
    let share = values.number("LOCAL_ZEROCOPY_SHARE");
    assert!((0.0..=1.0).contains(&share), "{values:?}");
    assert!(values.number("REMOTE_ZEROCOPY_SHARE") < 0.0, "{values:?}");
    let values = measured(&server, &["-t", "TCP_MAERTS", "--zerocopy"], &[]);
    agree(&values, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD");
    let share = values.number("REMOTE_ZEROCOPY_SHARE");
    assert!((0.0..=1.0).contains(&share), "{values:?}");
}

#[test]
fn many_datagrams_in_a_call_are_counted_one_by_one() {
    let server = ours!().serve();
    let send = ["-t", "UDP_STREAM"];
    let paths: [&[&str]; 5] = [
        &["--batch", "16"],
        &["--segment-offload", "on"],
        &["--segment-offload", "on", "--batch", "4"],
        &["--segment-offload", "on", "--discard"],
        &["--batch", "16", "--io", "poll"],
    ];
    for path in paths {
        for connected in [[].as_slice(), &["-n"]] {
            let test = [["-m", "64", "-M", "64"].as_slice(), connected].concat();
            let values = measured(&server, &[&send, path].concat(), &test);
            counts_whole(&values, "LOCAL_BYTES_SENT", "LOCAL_SEND_CALLS", 64.0);
            counts_whole(&values, "REMOTE_BYTES_RECVD", "REMOTE_RECV_CALLS", 64.0);
            let (sent, got) = (
                values.number("LOCAL_BYTES_SENT"),
                values.number("REMOTE_BYTES_RECVD"),
            );
            assert!(got <= sent, "{values:?}");
            assert!(values.number("LOCAL_MESSAGES_PER_CALL") > 1.0, "{values:?}");
        }
    }
}

#[test]
fn netserver_sends_many_datagrams_in_a_call_too() {
    let server = ours!().serve();
    let options = ["-t", "OMNI", "--segment-offload", "on", "--batch", "4"];
    let test = ["-T", "udp", "-d", "recv", "-m", ",1000", "-M", ",1000"];
    let values = measured(&server, &options, &test);
    counts_whole(&values, "REMOTE_BYTES_SENT", "REMOTE_SEND_CALLS", 1000.0);
    counts_whole(&values, "LOCAL_BYTES_RECVD", "LOCAL_RECV_CALLS", 1000.0);
    assert!(
        values.number("REMOTE_MESSAGES_PER_CALL") > 1.0,
        "{values:?}"
    );
}

#[test]
fn a_byte_count_is_met_in_whole_datagrams_and_not_in_whole_calls() {
    let server = ours!().serve();
    let words = [
        "-t",
        "UDP_STREAM",
        "-l",
        "-10000",
        "--batch",
        "64",
        "--",
        "-m",
        "100",
        "-k",
        SELECTED,
    ];
    let values = run(&server, &words).expect_clean().values();
    assert!(
        (values.number("LOCAL_SEND_CALLS") - 100.0).abs() < 0.5,
        "{values:?}"
    );
}

#[test]
fn a_stock_netserver_works_with_what_it_has_and_is_asked_for_nothing_else() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for (words, option) in [
        (["-t", "TCP_RR", "--io", "poll"].as_slice(), "--io poll"),
        (&["-t", "TCP_STREAM", "--discard"], "--discard"),
        (&["-t", "TCP_MAERTS", "--zerocopy"], "--zerocopy"),
        (&["-t", "UDP_STREAM", "--batch", "8"], "--batch"),
        (
            &["-t", "UDP_STREAM", "--segment-offload", "on"],
            "--segment-offload",
        ),
        (&["-t", "TCP_STREAM", "--quickack", "on"], "--quickack"),
    ] {
        let refused = run(&server, words).expect_exit(3);
        let line = format!(
            "netperf: a stock netserver cannot do {option}: start one of \
             this program there, or ask for it at this end alone\n"
        );
        assert_eq!(refused.stderr, line);
    }
    // A method that only netperf uses is not requested.
    let values = measured(&server, &["-t", "TCP_RR", "--io", "poll,"], &[]);
    agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
    let values = measured(
        &server,
        &["-t", "UDP_STREAM", "--batch", "8,"],
        &["-m", "64"],
    );
    counts_whole(&values, "LOCAL_BYTES_SENT", "LOCAL_SEND_CALLS", 64.0);
}

#[test]
fn io_refuses_tests_without_a_place_for_it_with_the_reason() {
    let server = ours!().serve();
    for (words, line) in [
        (
            ["-t", "TCP_RR", "--zerocopy"].as_slice(),
            "--zerocopy: only in tests that send data one way or both ways",
        ),
        (
            &["-t", "TCP_STREAM", "--batch", "8"],
            "--batch: only over UDP",
        ),
        (
            &["-t", "UDP_RR", "--segment-offload", "on"],
            "--segment-offload: only in tests that send data one way or both ways",
        ),
        (
            &["-t", "UDP_STREAM", "--quickack", "on"],
            "--quickack: only TCP has it",
        ),
        (
            &["-t", "UDP_STREAM", "--batch", "8", "-b", "4", "-w", "10"],
            "--batch: not together with -b: it would pace batches",
        ),
        (
            &["-t", "TCP_STREAM", "--zerocopy", "--io", "poll"],
            "--zerocopy: it waits for the kernel: not with --io poll or epoll, nor with -I",
        ),
    ] {
        let refused = run(&server, words).expect_exit(3);
        assert_eq!(refused.stderr, format!("netperf: {line}\n"), "{words:?}");
    }
}

#[test]
fn an_interface_that_is_not_there_is_refused_by_the_end_that_lacks_it() {
    let server = ours!().serve();
    // If both hosts lack it, the message names netperf's host.
    for name in ["no-such-device,", "no-such-device"] {
        let here = run(&server, &["--bind-device", name]).expect_exit(3);
        assert!(
            here.stderr.contains("this host cannot do --bind-device"),
            "{}",
            here.stderr
        );
    }
    let there = run(&server, &["--bind-device", ",no-such-device"]).expect_exit(3);
    assert!(
        there
            .stderr
            .contains("netserver on 127.0.0.1 cannot do --bind-device"),
        "{}",
        there.stderr
    );
}

/// The kernels' values, which getsockopt(2) gives at each end once they are set.
#[test]
fn options_of_the_socket_reach_both_ends() {
    let server = ours!().serve();
    let words = [
        "-t",
        "TCP_STREAM",
        "-l",
        "1",
        "--quickack",
        "on",
        "--notsent-lowat",
        "16K,20K",
        "--remote-pacing-rate",
        "500M",
        "--bind-device",
        "lo",
        "--dscp",
        "10",
        "--json",
    ];
    let text = run(&server, &words).expect_clean().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let expected = [
        (
            "local",
            json!({ "quickack": true, "notsent_low_bytes": 16_384, "device": "lo" }),
        ),
        (
            "remote",
            json!({
                "pacing_bytes_per_second": 62_500_000,
                "quickack": true,
                "notsent_low_bytes": 20_480,
                "device": "lo",
            }),
        ),
    ];
    for (end, options) in expected {
        let agreed = &document[end]["agreed"];
        assert_eq!(agreed["socket_options"], options, "{end}");
        assert_eq!(agreed["type_of_service"], 40, "{end}");
    }
}

#[test]
fn json_tells_how_each_end_moved_its_bytes() {
    let server = ours!().serve();
    let words = [
        "-t",
        "TCP_STREAM",
        "-l",
        "1",
        "--zerocopy",
        "--discard",
        "--json",
    ];
    let text = run(&server, &words).expect_clean_or_copied().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let asked = |end: &str| document[end]["requested"]["io"].clone();
    assert_eq!(asked("local")["zero_copy"], Value::Bool(true), "{text}");
    assert_eq!(asked("remote")["discard"], Value::Bool(true), "{text}");
    let moved = &document["iterations"][0]["local"]["io"];
    assert!(moved["zero_copy_sends"].as_u64() > Some(0), "{text}");
    assert_eq!(
        moved["zero_copy_sends"], moved["send_system_calls"],
        "{text}"
    );
}
