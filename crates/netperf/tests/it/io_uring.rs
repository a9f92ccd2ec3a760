//! Bytes moved by io_uring, by splice, and with flow labels: both ends count the same, and
//! what cannot be is refused.

use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs, Values, ours};

const SELECTED: &str = "THROUGHPUT,TRANSACTION_RATE,\
                        LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD,LOCAL_SEND_CALLS,LOCAL_RECV_CALLS,\
                        REMOTE_BYTES_SENT,REMOTE_BYTES_RECVD,REMOTE_SEND_CALLS,\
                        REMOTE_RECV_CALLS,LOCAL_IO_METHOD,REMOTE_IO_METHOD,\
                        LOCAL_MESSAGES_PER_CALL,REMOTE_MESSAGES_PER_CALL,\
                        LOCAL_ZEROCOPY_SHARE,REMOTE_ZEROCOPY_SHARE";

fn run(server: &Netserver, host: &str, words: &[&str]) -> Finished {
    let port = server.port().to_string();
    Invocation::new(&ours!().netperf)
        .args(["-H", host, "-p", &port])
        .args(words)
        .run()
}

/// Values of a short run.
fn measured(server: &Netserver, host: &str, options: &[&str], test: &[&str]) -> Values {
    let words = [
        ["--time", "200ms"].as_slice(),
        options,
        &["--", "-k", SELECTED],
        test,
    ];
    Values::parse(
        &run(server, host, &words.concat())
            .expect_clean_or_copied()
            .stdout,
    )
}

const HERE: &str = "127.0.0.1";

fn agree(values: &Values, here: &str, there: &str) {
    let (here, there) = (values.number(here), values.number(there));
    assert!(here > 0.0, "{values:?}");
    assert!((here - there).abs() < 0.5, "{values:?}");
}

#[test]
fn a_ring_moves_a_stream_either_way_and_both_ends_count_the_same() {
    let server = ours!().serve_with_rings();
    for (method, local, remote) in [
        ("uring", "uring", "uring"),
        ("uring,", "uring", "blocking"),
        ("poll,uring", "poll", "uring"),
    ] {
        for (options, sent, received) in [
            (
                ["-t", "TCP_STREAM"].as_slice(),
                "LOCAL_BYTES_SENT",
                "REMOTE_BYTES_RECVD",
            ),
            (
                &["-t", "TCP_MAERTS"],
                "REMOTE_BYTES_SENT",
                "LOCAL_BYTES_RECVD",
            ),
            (
                &["-t", "TCP_STREAM", "--discard"],
                "LOCAL_BYTES_SENT",
                "REMOTE_BYTES_RECVD",
            ),
        ] {
            let values = measured(&server, HERE, &[options, &["--io", method]].concat(), &[]);
            assert_eq!(values.text("LOCAL_IO_METHOD"), local);
            assert_eq!(values.text("REMOTE_IO_METHOD"), remote);
            agree(&values, sent, received);
        }
    }
}

#[test]
fn a_transaction_takes_a_ring_one_system_call() {
    let server = ours!().serve_with_rings();
    for (test, options) in [
        ("TCP_RR", [].as_slice()),
        ("TCP_RR", &["-r", "100,2000"]),
        ("UDP_RR", &[]),
        ("UDP_RR", &["-n", "-N"]),
    ] {
        let values = measured(&server, HERE, &["-t", test, "--io", "uring"], options);
        assert!(values.number("TRANSACTION_RATE") > 1.0, "{values:?}");
        agree(&values, "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT");
        let per_call = values.number("LOCAL_MESSAGES_PER_CALL");
        assert!(per_call > 1.5 || options.contains(&"-r"), "{values:?}");
    }
}

#[test]
fn a_ring_ends_a_run_that_counts_and_a_burst_as_it_should() {
    let server = ours!().serve_with_rings();
    let words = [
        "-t", "TCP_RR", "-l", "-1000", "--io", "uring", "--", "-b", "8", "-k", SELECTED,
    ];
    let values = run(&server, HERE, &words).expect_clean().values();
    assert!((values.number("LOCAL_BYTES_SENT") - 1000.0).abs() < 0.5);
    agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
    agree(&values, "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT");
}

#[test]
fn a_ring_has_many_messages_under_way_at_the_same_time() {
    let server = ours!().serve_with_rings();
    let ring = ["--io", "uring", "--batch", "16"];
    for test in ["TCP_STREAM", "TCP_MAERTS"] {
        let values = measured(
            &server,
            HERE,
            &[&ring, ["-t", test].as_slice()].concat(),
            &[],
        );
        if test == "TCP_STREAM" {
            agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
        } else {
            agree(&values, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD");
        }
    }
    let udp = ["-m", "64", "-M", "64"];
    let values = measured(
        &server,
        HERE,
        &[&ring, ["-t", "UDP_STREAM"].as_slice()].concat(),
        &udp,
    );
    let whole = |bytes: &str, calls: &str| {
        assert!(
            (values.number(bytes) - values.number(calls) * 64.0).abs() < 0.5,
            "{values:?}"
        );
    };
    whole("LOCAL_BYTES_SENT", "LOCAL_SEND_CALLS");
    whole("REMOTE_BYTES_RECVD", "REMOTE_RECV_CALLS");
    assert!(values.number("REMOTE_BYTES_RECVD") > 0.0, "{values:?}");
    assert!(values.number("LOCAL_MESSAGES_PER_CALL") > 8.0, "{values:?}");
}

#[test]
fn a_ring_sends_without_a_copy_and_tells_the_share_where_the_kernel_does() {
    let server = ours!().serve_with_rings();
    let options = ["-t", "TCP_STREAM", "--zerocopy", "--io", "uring,"];
    let values = measured(&server, HERE, &options, &["-m", "64K"]);
    agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
    // Unknown before Linux 6.2, and no number then.
    let share = values.number("LOCAL_ZEROCOPY_SHARE");
    assert!(share <= 1.0, "{values:?}");
}

#[test]
fn spliced_bytes_are_counted() {
    let server = ours!().serve_with_rings();
    for method in ["blocking", "poll", "epoll"] {
        let options = ["--splice", "--io", method];
        let values = measured(
            &server,
            HERE,
            &[&options, ["-t", "TCP_STREAM"].as_slice()].concat(),
            &[],
        );
        agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
    }
    let values = measured(&server, HERE, &["--splice", "-t", "TCP_MAERTS"], &[]);
    agree(&values, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD");
}

#[test]
fn packets_have_a_flow_label_over_ipv6_and_no_other() {
    let server = ours!().serve_with_rings();
    for test in ["TCP_RR", "TCP_STREAM", "TCP_CRR", "UDP_RR", "UDP_STREAM"] {
        let values = measured(
            &server,
            "::1",
            &["-6", "-t", test, "--flow-label", "4660,"],
            &[],
        );
        assert!(
            values.number("LOCAL_BYTES_SENT") > 0.0 || test == "TCP_CRR",
            "{values:?}"
        );
    }
    let values = measured(
        &server,
        "::1",
        &["-6", "-t", "UDP_RR", "--flow-label", "4660"],
        &[],
    );
    agree(&values, "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT");
    // An accepted connection repeats a label only if the system allows it.
    let consistent = std::fs::read_to_string("/proc/sys/net/ipv6/flowlabel_consistency");
    if consistent.is_ok_and(|text| text.trim() != "0") {
        let words = ["-6", "-t", "TCP_RR", "--flow-label", "4660"];
        let refused = run(&server, "::1", &words).expect_exit(3);
        let line = "netserver on ::1 cannot do --flow-label";
        assert!(refused.stderr.contains(line), "{}", refused.stderr);
    }
    let refused = run(&server, HERE, &["-t", "TCP_RR", "--flow-label", "7,"]).expect_exit(3);
    assert!(
        refused.stderr.contains("this host cannot do --flow-label"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_ring_has_the_kernel_split_and_join_datagrams() {
    let server = ours!().serve_with_rings();
    for options in ["", "--batch 4", "--flows 2", "--io uring, --batch 4,"] {
        for (kind, sender, receiver) in [("send", "LOCAL", "REMOTE"), ("recv", "REMOTE", "LOCAL")] {
            let words = format!("-t OMNI --io uring --segment-offload on {options} --time 200ms");
            let words: Vec<&str> = words.split_whitespace().collect();
            let test = ["-T", "udp", "-d", kind, "-m", "500,500"];
            let values = measured(&server, HERE, &words, &test);
            let number = |end: &str, name: &str| values.number(&format!("{end}_{name}"));
            let (sent, got) = (
                number(sender, "BYTES_SENT"),
                number(receiver, "BYTES_RECVD"),
            );
            assert!(got > 0.0 && got <= sent, "{options} {kind}: {values:?}");
            for (bytes, calls) in [
                (sent, number(sender, "SEND_CALLS")),
                (got, number(receiver, "RECV_CALLS")),
            ] {
                assert!(
                    (bytes - calls * 500.0).abs() < 0.5,
                    "{options} {kind}: {values:?}"
                );
            }
            assert!(number(sender, "MESSAGES_PER_CALL") > 1.0, "{values:?}");
        }
    }
    let words = [
        "-t",
        "UDP_STREAM",
        "-l",
        "-10000",
        "--io",
        "uring",
        "--segment-offload",
        "on",
    ];
    let counted = run(
        &server,
        HERE,
        &[&words, ["--", "-m", "100", "-k", SELECTED].as_slice()].concat(),
    );
    let values = counted.expect_clean().values();
    assert!(
        (values.number("LOCAL_SEND_CALLS") - 100.0).abs() < 0.5,
        "{values:?}"
    );
}

#[test]
fn uring_refuses_options_that_exclude_it_with_the_reason() {
    let server = ours!().serve_with_rings();
    for (words, line) in [
        (
            ["-t", "TCP_CRR", "--io", "uring"].as_slice(),
            "--io uring: not in tests that open a connection for every operation, which would set up \
             a ring for each: give --io epoll",
        ),
        (
            &[
                "-t",
                "UDP_STREAM",
                "--segment-offload",
                "on",
                "--io",
                "uring",
                "--sequence",
            ],
            "--io uring: with --batch and --segment-offload the data that arrives is not read: \
             leave out -k, -K and --sequence",
        ),
        (
            &["-t", "UDP_STREAM", "--discard", "--io", "uring"],
            "--io uring: with --discard only over TCP and without --batch",
        ),
        (
            &["-t", "TCP_RR", "--splice"],
            "--splice: only in tests that send data one way or both ways",
        ),
        (
            &["-t", "TCP_STREAM", "--splice", "--discard"],
            "--splice: only over TCP, and not together with --discard and --io uring",
        ),
        (
            &["-t", "TCP_RR", "--flow-label", "7,8"],
            "--flow-label: netserver can only repeat netperf's: give one for both, or netperf's alone",
        ),
    ] {
        let refused = run(&server, HERE, words).expect_exit(3);
        assert_eq!(refused.stderr, format!("netperf: {line}\n"), "{words:?}");
    }
}

#[test]
fn a_stock_netserver_is_asked_for_none_of_it() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for (words, option) in [
        (["-t", "TCP_RR", "--io", "uring"].as_slice(), "--io uring"),
        (&["-t", "TCP_STREAM", "--splice"], "--splice"),
    ] {
        let refused = run(&server, HERE, words).expect_exit(3);
        let line = format!(
            "netperf: a stock netserver cannot do {option}: start one of \
             this program there, or ask for it at this end alone\n"
        );
        assert_eq!(refused.stderr, line);
    }
    let values = measured(&server, HERE, &["-t", "TCP_RR", "--io", "uring,"], &[]);
    agree(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD");
}

#[test]
fn trials_pick_a_method_for_each_end_and_the_output_says_which() {
    let server = ours!().serve_with_rings();
    let methods = ["blocking", "poll", "epoll", "uring"];
    for test in ["TCP_RR", "TCP_MAERTS", "UDP_STREAM"] {
        let values = measured(&server, HERE, &["-t", test, "--io", "auto"], &[]);
        for end in ["LOCAL_IO_METHOD", "REMOTE_IO_METHOD"] {
            assert!(methods.contains(&values.text(end)), "{values:?}");
        }
    }
    let values = measured(&server, HERE, &["-t", "TCP_RR", "--io", "auto,epoll"], &[]);
    assert_eq!(values.text("REMOTE_IO_METHOD"), "epoll");
    let words = ["--time", "200ms", "-t", "TCP_RR", "--io", "auto", "-v", "2"];
    let said = run(&server, HERE, &words).expect_clean().stdout;
    assert!(said.starts_with("netperf: --io auto: "), "{said}");
    assert!(
        said.contains(" at netserver, after 4 trials\n") || said.contains(" after 6 trials\n"),
        "{said}"
    );
    let json = [
        "--time",
        "200ms",
        "-t",
        "TCP_RR",
        "--io",
        "auto,poll",
        "--json",
    ];
    let text = run(&server, HERE, &json).expect_clean().stdout;
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let asked = |end: &str| document[end]["requested"]["io"]["chosen_by_trial"].clone();
    assert_eq!(
        (asked("local"), asked("remote")),
        (true.into(), false.into())
    );
}

#[test]
fn netservers_kernel_paces_what_it_sends() {
    let server = ours!().serve_with_rings();
    // Unpaced it is thousands of megabytes in the second that netserver sends for.
    let options = ["-t", "TCP_MAERTS", "--remote-pacing-rate", "160M"];
    let values = measured(&server, HERE, &options, &[]);
    let received = values.number("LOCAL_BYTES_RECVD");
    assert!(received > 0.0 && received < 80e6, "{values:?}");
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let refused = run(&server, HERE, &options).expect_exit(3);
    assert!(
        refused.stderr.contains("cannot do --remote-pacing-rate"),
        "{}",
        refused.stderr
    );
}

#[test]
fn without_a_choice_nothing_is_tried() {
    let server = ours!().serve_with_rings();
    let words = [
        "--time", "200ms", "-t", "TCP_CRR", "--io", "auto", "-v", "2",
    ];
    let said = run(&server, HERE, &words).expect_clean().stdout;
    let line = "netperf: --io auto: blocking at netperf, blocking at netserver, after 0 trials\n";
    assert!(said.starts_with(line), "{said}");
    let words = ["-t", "TCP_RR", "-N", "--io", "auto"];
    let refused = run(&server, HERE, &words).expect_exit(3);
    assert!(
        refused
            .stderr
            .contains("--io auto: the trials need netserver"),
        "{}",
        refused.stderr
    );
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let values = measured(&server, HERE, &["-t", "TCP_RR", "--io", "auto"], &[]);
    assert_eq!(values.text("REMOTE_IO_METHOD"), "blocking");
}
