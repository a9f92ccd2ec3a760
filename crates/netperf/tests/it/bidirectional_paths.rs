//! Data paths in both directions: each direction has the path that it has alone, and both ends count
//! the same.

use netperf_os::uring::Uring;
use netperf_testkit::{Finished, Netserver, Place, Programs, Values, ours};

use crate::bidirectional_flows::run;

/// Selectors that every test reads.
const SELECTED: &str = "LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,REMOTE_BYTES_SENT,LOCAL_BYTES_RECVD,\
                        LOCAL_SEND_CALLS,REMOTE_SEND_CALLS,LOCAL_RECV_CALLS,REMOTE_RECV_CALLS,\
                        LOCAL_MESSAGES_PER_CALL,REMOTE_MESSAGES_PER_CALL,\
                        LOCAL_ZEROCOPY_SHARE,REMOTE_ZEROCOPY_SHARE,\
                        LOCAL_UDP_RECEIVED,LOCAL_UDP_LOST,REMOTE_UDP_RECEIVED,REMOTE_UDP_LOST";

const FLOWS: [&str; 2] = ["", "--flows 3 --threads 2"];

fn selected(server: &Netserver, words: &str) -> Finished {
    let (front, behind) = words.split_once(" -- ").unwrap_or((words, ""));
    run(server, &format!("{front} -- -k {SELECTED} {behind}"))
}

fn measured(server: &Netserver, words: &str) -> Values {
    Values::parse(&selected(server, words).expect_clean_or_copied().stdout)
}

/// An amount is met in each direction, and both ends count it.
fn an_amount_arrives(server: &Netserver, words: &str) -> Values {
    let values = measured(server, &format!("-t TCP_STREAM --count 3000001 {words}"));
    values.arrived_both_ways();
    for sent in ["LOCAL_BYTES_SENT", "REMOTE_BYTES_SENT"] {
        assert_eq!(values.count(sent), 3_000_001, "{words}: {values:?}");
    }
    values
}

/// Datagrams of 1000 bytes: each end counts whole ones, and no more arrive than were sent.
fn datagrams_arrive(server: &Netserver, words: &str) -> Values {
    let words = format!("-t UDP_STREAM {words} -- -m 1000,1000");
    let finished = selected(server, &words);
    let values = Values::parse(&finished.stdout);
    let mut has_all = true;
    for (sender, receiver) in [("LOCAL", "REMOTE"), ("REMOTE", "LOCAL")] {
        let count = |end: &str, name: &str| values.count(&format!("{end}_{name}"));
        let (sent, got) = (count(sender, "BYTES_SENT"), count(receiver, "BYTES_RECVD"));
        assert!(got <= sent, "{words}: {values:?}");
        has_all &= got > 0;
        let (sends, receives) = (count(sender, "SEND_CALLS"), count(receiver, "RECV_CALLS"));
        assert_eq!((sent, got), (sends * 1000, receives * 1000), "{words}");
    }
    // An end that a busy host starts late finds the other gone.
    let says_so = finished.stderr.contains("arrived");
    assert!(has_all || says_so, "{}", finished.account());
    if has_all {
        finished.expect_clean();
    }
    values
}

/// Datagrams arrived both ways in most of the runs.
fn most_have_data(runs: &[Values]) {
    let has_data = |values: &&Values| {
        values.count("LOCAL_BYTES_RECVD") > 0 && values.count("REMOTE_BYTES_RECVD") > 0
    };
    assert!(
        runs.iter().filter(has_data).count() * 2 >= runs.len(),
        "{runs:?}"
    );
}

#[test]
fn each_direction_of_a_connection_has_the_path_that_it_has_alone() {
    let server = ours!().serve_with_rings();
    for over in ["same", "separate"] {
        for flows in FLOWS {
            for path in [
                "--zerocopy",
                "--discard",
                "--splice",
                "--zerocopy --discard",
                "--discard --io poll",
                "--splice --io epoll",
            ] {
                let words = format!("{path} --bidirectional {over} {flows}");
                let values = an_amount_arrives(&server, &words);
                for share in ["LOCAL_ZEROCOPY_SHARE", "REMOTE_ZEROCOPY_SHARE"] {
                    let share = values.number(share);
                    let is_measured = (0.0..=1.0).contains(&share);
                    assert_eq!(
                        is_measured,
                        path.contains("zerocopy"),
                        "{words}: {values:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_time_ends_both_directions_on_their_paths() {
    let server = ours!().serve_with_rings();
    // Each pair of a value of two of them.
    let [one, many] = FLOWS;
    for (flows, path, over) in [
        (one, "--discard", "same"),
        (one, "--splice", "separate"),
        (many, "--splice", "same"),
        (many, "--discard", "separate"),
    ] {
        // Little is under way when the time is over, so that all of it counts.
        let words = format!(
            "-t TCP_STREAM --time 200ms --bidirectional {over} {path} {flows} \
             -- -s 65536 -S 65536"
        );
        let values = measured(&server, &words);
        if over == "same" {
            values.arrived_both_ways();
        } else {
            values.moved_both_ways();
        }
    }
}

#[test]
fn a_ring_has_each_direction_on_its_path() {
    if Uring::new(1, None).is_err() {
        // refused_by_kernel.rs has the refusal.
        return;
    }
    let server = ours!().serve_with_rings();
    for over in ["same", "separate"] {
        for flows in ["", "--flows 3"] {
            for path in [
                "--zerocopy",
                "--discard",
                "--zerocopy --discard",
                "--batch 8",
            ] {
                // Data under way without a copy is locked memory, of which all tests of a user have
                // 8 MiB together (RLIMIT_MEMLOCK).
                let buffers = if path.contains("zerocopy") {
                    "-- -s 65536 -S 65536"
                } else {
                    ""
                };
                let words = format!("--io uring {path} --bidirectional {over} {flows} {buffers}");
                let values = an_amount_arrives(&server, &words);
                for end in ["LOCAL", "REMOTE"] {
                    let per_call = values.number(&format!("{end}_MESSAGES_PER_CALL"));
                    let is_batch = path.contains("batch");
                    assert_eq!(per_call > 1.0, is_batch, "{words}: {values:?}");
                }
            }
        }
    }
    let mut runs = Vec::new();
    for path in [
        "--batch 8",
        "--batch 8 --flows 3",
        "--segment-offload on",
        "--segment-offload on --flows 3",
        "--batch 2 --segment-offload on",
    ] {
        let words = format!("--count 60000 --bidirectional same --io uring {path}");
        let values = datagrams_arrive(&server, &words);
        assert!(values.number("LOCAL_MESSAGES_PER_CALL") > 1.0, "{values:?}");
        runs.push(values);
    }
    most_have_data(&runs);
}

#[test]
fn many_datagrams_in_a_call_go_both_ways() {
    let server = ours!().serve_with_rings();
    let mut runs = Vec::new();
    for flows in FLOWS {
        for (path, is_batch) in [
            ("--batch 8", true),
            ("--segment-offload on", true),
            ("--batch 4 --segment-offload on --discard", true),
            ("--batch 8 --io poll", true),
            ("--discard", false),
        ] {
            let words = format!("--count 60000 --bidirectional same {path} {flows}");
            let values = datagrams_arrive(&server, &words);
            for end in ["LOCAL", "REMOTE"] {
                let per_call = values.number(&format!("{end}_MESSAGES_PER_CALL"));
                assert_eq!(per_call > 1.0, is_batch, "{words}: {values:?}");
            }
            runs.push(values);
        }
    }
    let words = "--count 60000 --bidirectional separate --batch 8 --discard";
    runs.push(datagrams_arrive(&server, words));
    most_have_data(&runs);
}

#[test]
fn an_end_may_have_a_path_that_the_other_has_not() {
    let server = ours!().serve_with_rings();
    let mut runs = Vec::new();
    for flows in FLOWS {
        for (batch, with, without) in [("8,", "LOCAL", "REMOTE"), (",8", "REMOTE", "LOCAL")] {
            let words = format!("--count 60000 --bidirectional same --batch {batch} {flows}");
            let values = datagrams_arrive(&server, &words);
            let per_call = |end: &str| values.number(&format!("{end}_MESSAGES_PER_CALL"));
            assert!(per_call(with) > 1.0, "{values:?}");
            assert!(per_call(without) < 0.0, "{values:?}");
            runs.push(values);
        }
    }
    most_have_data(&runs);
}

#[test]
fn numbers_are_read_from_batches_that_go_both_ways() {
    let server = ours!().serve_with_rings();
    let mut runs = Vec::new();
    for flows in FLOWS {
        for path in ["--batch 8", "--segment-offload on"] {
            let words = format!("--count 60000 --bidirectional same --sequence {path} {flows}");
            let values = datagrams_arrive(&server, &words);
            for (sender, receiver) in [("LOCAL", "REMOTE"), ("REMOTE", "LOCAL")] {
                let count = |end: &str, name: &str| values.count(&format!("{end}_{name}"));
                let received = count(receiver, "UDP_RECEIVED");
                assert_eq!(
                    received,
                    count(receiver, "RECV_CALLS"),
                    "{words}: {values:?}"
                );
                let all = received + count(receiver, "UDP_LOST");
                assert!(all <= count(sender, "SEND_CALLS"), "{words}: {values:?}");
            }
            runs.push(values);
        }
    }
    most_have_data(&runs);
}

#[test]
fn a_stock_netserver_is_not_asked_for_a_path() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for path in ["--discard", "--zerocopy", "--splice"] {
        let words = format!("-t TCP_STREAM --bidirectional separate {path}");
        let refused = run(&server, &words).expect_exit(3);
        let said = format!("a stock netserver cannot do {path}");
        assert!(refused.stderr.contains(&said), "{}", refused.stderr);
    }
    let words = "-t UDP_STREAM --time 1 --bidirectional separate --batch 8, -- -m 1000,1000";
    let values = measured(&server, words);
    for received in ["REMOTE_BYTES_RECVD", "LOCAL_BYTES_RECVD"] {
        assert!(values.count(received) > 0, "{values:?}");
    }
    assert!(values.number("LOCAL_MESSAGES_PER_CALL") > 1.0, "{values:?}");
}
