//! Bulk data both ways at once on many flows: both ends count the same on every flow, in each
//! direction, and what cannot be is refused.

use netperf_os::uring::Uring;
use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs, Values, eventually, ours};
use serde_json::Value;

/// Selectors that every test reads.
const SELECTED: &str = "THROUGHPUT,ELAPSED_TIME,BIDIRECTIONAL,FLOWS,LOCAL_THREADS,\
                        REMOTE_THREADS,FAIRNESS,REMOTE_FAIRNESS,LOCAL_BYTES_SENT,\
                        REMOTE_BYTES_RECVD,REMOTE_BYTES_SENT,LOCAL_BYTES_RECVD";

pub(crate) fn run(server: &Netserver, words: &str) -> Finished {
    ours!()
        .client_of(server)
        .args(words.split_whitespace())
        .run()
}

fn measured(server: &Netserver, words: &str) -> Values {
    let (front, behind) = words.split_once(" -- ").unwrap_or((words, ""));
    let words = format!("{front} -- -k {SELECTED} {behind}");
    run(server, &words).expect_clean().values()
}

#[test]
fn both_ends_count_the_same_over_one_connection_for_each_flow() {
    let server = ours!().serve_with_rings();
    for (flows, threads) in [(1, 1), (1, 2), (4, 1), (4, 2)] {
        let values = measured(
            &server,
            &format!(
                "-t TCP_STREAM --count 4000000 --bidirectional same --flows {flows} --threads {threads}"
            ),
        );
        values.arrived_both_ways();
        assert_eq!(values.text("BIDIRECTIONAL"), "same");
        assert_eq!(values.count("FLOWS"), flows);
        let threads = threads.min(flows);
        assert_eq!(values.count("LOCAL_THREADS"), threads);
        assert_eq!(values.count("REMOTE_THREADS"), threads);
        assert!(values.number("REMOTE_FAIRNESS") > 0.0, "{values:?}");
    }
}

#[test]
fn an_amount_is_met_in_each_direction_by_all_flows_together() {
    let server = ours!().serve_with_rings();
    for over in ["same", "separate"] {
        for (flows, threads) in [(1, 1), (4, 2)] {
            let values = measured(
                &server,
                &format!(
                    "-t TCP_STREAM --count 5000003 --bidirectional {over} --flows {flows} \
                     --threads {threads}"
                ),
            );
            values.arrived_both_ways();
            assert_eq!(values.count("LOCAL_BYTES_SENT"), 5_000_003);
            assert_eq!(values.count("REMOTE_BYTES_SENT"), 5_000_003);
            // Each direction has a session there, and so separate threads.
            let sessions = if over == "same" { 1 } else { 2 };
            let threads = threads.min(flows);
            assert_eq!(values.count("LOCAL_THREADS"), threads);
            assert_eq!(values.count("REMOTE_THREADS"), threads * sessions);
        }
    }
}

#[test]
fn a_ring_of_each_flow_moves_both_directions() {
    if Uring::new(1, None).is_err() {
        // refused_by_kernel.rs has the refusal.
        return;
    }
    let server = ours!().serve_with_rings();
    for over in ["same", "separate"] {
        let flows = format!("--flows 3 --io uring --bidirectional {over}");
        let values = measured(&server, &format!("-t TCP_STREAM --count 5000003 {flows}"));
        values.arrived_both_ways();
        assert_eq!(values.count("LOCAL_BYTES_SENT"), 5_000_003);
        assert_eq!(values.count("REMOTE_BYTES_SENT"), 5_000_003);
        assert_eq!(values.count("LOCAL_THREADS"), 3);
        // Little is under way when the time is over, so that all of it counts.
        let words = format!("-t TCP_STREAM --time 300ms -b 3 -w 1ms {flows} -- -s 65536 -S 65536");
        let values = measured(&server, &words);
        if over == "same" {
            values.arrived_both_ways();
        } else {
            values.moved_both_ways();
        }
    }
    let words = "-t UDP_STREAM --count 60000 --flows 3 --io uring --bidirectional same";
    let values = measured(&server, &format!("{words} -- -m 1000,1000"));
    assert!(values.count("REMOTE_BYTES_RECVD") > 0, "{values:?}");
    assert!(values.count("LOCAL_BYTES_RECVD") > 0, "{values:?}");
}

#[test]
fn a_time_ends_flows_with_a_connection_for_each_direction() {
    let server = ours!().serve_with_rings();
    let values = measured(
        &server,
        "-t TCP_STREAM --time 1 -b 3 -w 1ms --bidirectional separate --flows 4 --threads 2",
    );
    values.moved_both_ways();
    assert_eq!(values.text("BIDIRECTIONAL"), "separate");
}

#[test]
fn every_flow_is_told_of_in_each_direction_as_both_ends_counted_it() {
    let server = ours!().serve_with_rings();
    for over in ["same", "separate"] {
        let words = format!(
            "-t TCP_STREAM --count 3000001 --bidirectional {over} --flows 3 --threads 2 --json"
        );
        let stdout = run(&server, &words).expect_clean().stdout;
        let document: Value = serde_json::from_str(&stdout).expect("JSON");
        let flows = &document["iterations"][0]["flows"]["each"];
        let count = |flow: usize, key: &str| flows[flow][key].as_u64().unwrap();
        for flow in 0..3 {
            let (sent, received) = (count(flow, "sent_bytes"), count(flow, "received_bytes"));
            assert!(sent >= 1_000_000 && received >= 1_000_000, "{over}");
            assert_eq!(count(flow, "remote_received_bytes"), sent, "{over}");
            assert_eq!(count(flow, "remote_sent_bytes"), received, "{over}");
        }
    }
}

#[test]
fn the_part_that_counts_is_less_than_the_run() {
    let server = ours!().serve_with_rings();
    let words = "-t TCP_STREAM --time 200ms --warmup 100ms --cooldown 100ms --flows 2 \
                 --bidirectional same";
    let values = measured(&server, words);
    values.arrived_both_ways();
    let counted = values.number("THROUGHPUT") * 1e6 / 8.0 * values.number("ELAPSED_TIME");
    let whole = values.number("REMOTE_BYTES_RECVD") + values.number("LOCAL_BYTES_RECVD");
    assert!(counted < whole, "{values:?}");
    let text = run(&server, words).expect_clean().stdout;
    assert!(text.contains("what client and server received"), "{text}");
}

#[test]
fn other_transports_and_ways_to_wait_go_both_ways_as_well() {
    let server = ours!().serve_with_rings();
    for (options, behind) in [
        ("-t OMNI", "-T unix"),
        ("-t TCP_STREAM --io epoll,poll", ""),
        ("-t TCP_STREAM -b 3 -w 1ms", ""),
        ("-t TCP_STREAM --place pack", "-m 100 -M 1000"),
    ] {
        let words = format!(
            "{options} --count 300000 --bidirectional same --flows 3 -- -k {SELECTED} {behind}"
        );
        let values = run(&server, &words).expect_clean().values();
        values.arrived_both_ways();
    }
}

#[test]
fn flows_of_datagrams_go_both_ways_over_a_socket_each() {
    let server = ours!().serve_with_rings();
    let values = measured(
        &server,
        "-t UDP_STREAM --count 60000 --bidirectional same --flows 3 --threads 2",
    );
    for received in ["REMOTE_BYTES_RECVD", "LOCAL_BYTES_RECVD"] {
        assert!(values.count(received) > 0, "{values:?}");
    }
}

/// Datagrams of 1000 bytes on two sockets of each flow: what arrives was sent.
fn datagrams_apart(server: &Netserver, words: &str) -> Value {
    let words = format!("-t UDP_STREAM --bidirectional separate --json {words} -- -m 1000,1000");
    let document = run(server, &words).expect_clean().document();
    let iteration = document["iterations"][0].clone();
    let flows = iteration["flows"]["each"].as_array().expect("flows");
    assert_eq!(flows.len(), 3, "{iteration}");
    for flow in flows {
        let count = |key: &str| flow[key].as_u64().expect("a count");
        for (sent, received) in [
            ("sent_bytes", "remote_received_bytes"),
            ("remote_sent_bytes", "received_bytes"),
        ] {
            let (sent, received) = (count(sent), count(received));
            assert!(sent > 0 && received <= sent, "{flow}");
            assert_eq!((sent % 1000, received % 1000), (0, 0), "{flow}");
        }
    }
    iteration
}

const PATHS: [&str; 6] = [
    "--threads 2,",
    "--io poll",
    "--threads 2, --batch 8",
    "--segment-offload on --discard",
    "--io uring",
    "--io uring --batch 8",
];

#[test]
fn flows_of_datagrams_go_both_ways_over_two_sockets_each() {
    let server = ours!().serve_with_rings();
    let rings = Uring::new(1, None).is_ok();
    for path in PATHS {
        if path.contains("uring") && !rings {
            continue;
        }
        let amount = datagrams_apart(&server, &format!("--count 60000 --flows 3 {path}"));
        for end in ["local", "remote"] {
            assert_eq!(amount[end]["sent_bytes"], 60_000, "{path}: {amount}");
            let received = amount[end]["received_bytes"].as_u64();
            assert!(received > Some(0), "{path}: {amount}");
        }
        if [PATHS[0], PATHS[4]].contains(&path) {
            // Sent at a pace, so that each end has its turn.
            let timed = "--time 500ms -b 1,1 -w 10ms,10ms --flows 3";
            let timed = datagrams_apart(&server, &format!("{timed} {path}"));
            for end in ["local", "remote"] {
                let received = timed[end]["received_bytes"].as_u64();
                assert!(received > Some(0), "{path}: {timed}");
            }
        }
    }
}

/// In how many intervals anything has moved.
fn has_moved(stdout: &str) -> usize {
    let results = stdout
        .lines()
        .filter(|line| line.starts_with("NETPERF_INTERIM_RESULT["));
    results.filter(|line| !line.ends_with("=0.00")).count()
}

#[test]
fn a_signal_ends_all_flows_in_an_orderly_way() {
    let server = ours!().serve_with_rings();
    let port = server.port().to_string();
    for over in ["same", "separate"] {
        let words = format!(
            "-t TCP_STREAM -l 60 -D 0.05 --bidirectional {over} --flows 3 -- -s 65536 \
             -S 65536 -k {SELECTED}"
        );
        let running = Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port])
            .args(words.split_whitespace())
            .spawn();
        // On a loaded machine nothing has moved in the first interval, nor in some further ones.
        let patience = netperf_testkit::process::PATIENCE;
        assert!(eventually(patience, || has_moved(&running.stdout()) > 2));
        running.signal("INT");
        let values = Values::parse(&running.finish().stdout);
        assert!(values.number("ELAPSED_TIME") < 59.0, "{values:?}");
        // A netserver that sends by itself does not hear of the end at once.
        if over == "same" {
            values.arrived_both_ways();
        } else {
            values.sends_of_netserver_are_known_or_missing();
        }
    }
}

#[test]
fn calls_that_wait_for_one_direction_are_refused() {
    let server = ours!().serve_with_rings();
    let words = "-t TCP_STREAM --bidirectional same --flows 2 --io blocking";
    let refused = run(&server, words).expect_exit(2);
    assert!(
        refused.stderr.contains("use --io epoll"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_stock_netserver_has_a_session_for_each_direction_of_each_flow() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let words = "-t TCP_STREAM --time 1 --flows 2 --threads 1, --bidirectional";
    let refused = run(&server, &format!("{words} same")).expect_exit(3);
    assert!(
        refused.stderr.contains("--bidirectional"),
        "{}",
        refused.stderr
    );
    let values = measured(&server, &format!("{words} separate"));
    let count = |name| values.count(name);
    assert_eq!(count("LOCAL_BYTES_SENT"), count("REMOTE_BYTES_RECVD"));
    // It does not count sends that the end of time cuts short (decision 0004).
    let uncounted = count("LOCAL_BYTES_RECVD") - count("REMOTE_BYTES_SENT");
    assert!((0..1 << 21).contains(&uncounted), "{values:?}");
    let words = "-t UDP_STREAM --time 1 --flows 2 --bidirectional separate -- -m 1000,1000";
    let values = measured(&server, words);
    for received in ["REMOTE_BYTES_RECVD", "LOCAL_BYTES_RECVD"] {
        assert!(values.count(received) > 0, "{values:?}");
    }
}
