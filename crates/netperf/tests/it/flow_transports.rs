//! Many flows over transports in which each needs an address, or has a socket of XTI.

use netperf_testkit::{Netserver, ours};
use serde_json::Value;

fn measured(server: &Netserver, words: &str) -> Value {
    let finished = ours!()
        .client_of(server)
        .args(["--json", "--flows", "3"])
        .args(words.split_whitespace())
        .run()
        // A busy machine misses a rate, and says so.
        .expect_exit(0);
    finished.document()["iterations"][0].clone()
}

fn each(run: &Value, unit: &str) -> Vec<u64> {
    let each = run["flows"]["each"].as_array().expect("flows").iter();
    each.map(|flow| flow[unit].as_u64().expect("a count"))
        .collect()
}

#[test]
fn every_transaction_of_many_flows_is_counted_at_both_ends() {
    let server = ours!().serve();
    for transport in ["unix-dgram", "xti-udp"] {
        for options in ["", "--threads 3", "--warmup 0"] {
            let words = format!("-t OMNI {options} --count 31 -- -T {transport} -d rr -r 200,300");
            let run = measured(&server, &words);
            for (end, sent, received) in [("local", 6200, 9300), ("remote", 9300, 6200)] {
                assert_eq!(run[end]["transactions"], 31, "{words}: {run}");
                assert_eq!(run[end]["sent_bytes"], sent, "{words}: {run}");
                assert_eq!(run[end]["received_bytes"], received, "{words}: {run}");
            }
            assert_eq!(each(&run, "transactions"), [11, 10, 10], "{words}: {run}");
            assert_eq!(each(&run, "remote_transactions"), [11, 10, 10], "{run}");
        }
    }
}

#[test]
fn data_of_many_flows_goes_either_way() {
    let server = ours!().serve();
    for transport in ["unix-dgram", "xti-udp"] {
        for (way, sender, receiver) in [
            ("send -m 1000", "local", "remote"),
            ("recv -m ,1000", "remote", "local"),
        ] {
            let words = format!("-t OMNI --rate 8M --time 1 -- -T {transport} -d {way}");
            let run = measured(&server, &words);
            let [sent, received] = [(sender, "sent_bytes"), (receiver, "received_bytes")]
                .map(|(end, unit)| run[end][unit].as_u64().expect("bytes"));
            assert!(received > 0 && received <= sent, "{words}: {run}");
            // Nothing is lost on the way through a host, but at the end of the time.
            if transport == "unix-dgram" && sender == "local" {
                assert_eq!(received, sent, "{words}: {run}");
            }
            let unit = if sender == "local" {
                "sent_bytes"
            } else {
                "received_bytes"
            };
            assert!(each(&run, unit).iter().all(|bytes| *bytes > 0), "{run}");
        }
    }
}

#[test]
fn a_reader_that_is_slower_than_the_sender_holds_it_back() {
    let server = ours!().serve();
    let words = "-t OMNI --time 300ms -- -T unix-dgram -d send -m 1000";
    let run = measured(&server, words);
    let [sent, received] = [
        &run["local"]["sent_bytes"],
        &run["remote"]["received_bytes"],
    ];
    assert_eq!(sent, received, "{run}");
    assert!(sent.as_u64() > Some(0), "{run}");
}

#[test]
fn unix_domain_datagrams_of_a_flow_have_a_thread_each() {
    let server = ours!().serve();
    let refused = ours!()
        .client_of(&server)
        .args("-t DG_RR --flows 3 --threads 2".split(' '))
        .run()
        .expect_exit(3);
    assert!(
        refused.stderr.contains("use --threads 3"),
        "{}",
        refused.account()
    );
}

#[test]
fn no_more_arrives_in_the_intervals_of_flows_than_was_sent() {
    let server = ours!().serve();
    let words = "-t TCP_STREAM --flows 8 --rate 8M --time 600ms -D 0.1 --json";
    let finished = ours!().client_of(&server).args(words.split(' ')).run();
    let document = finished.expect_exit(0).document();
    let intervals = document["intervals"].as_array().expect("intervals");
    let arrived = intervals.iter().map(|one| one["arrived_bytes"].as_u64());
    let arrived: Option<u64> = arrived.sum();
    let sent = document["iterations"][0]["local"]["sent_bytes"].as_u64();
    // Each connection has acknowledged its SYN, too.
    assert!(arrived > Some(0) && arrived <= sent, "{document}");
}

#[test]
fn flow_counts_of_the_measured_time_are_those_of_all_sessions() {
    let server = ours!().serve();
    let words = "-t OMNI --time 1 --warmup 200ms -- -T unix-dgram -d send -m 1000,1000";
    let run = measured(&server, words);
    let sent: u64 = each(&run, "sent_bytes").iter().sum();
    let arrived = run["flows"]["arrived_bytes"].as_u64().expect("a count");
    // The transport is reliable. A third would have arrived in one of the sessions.
    assert!(arrived * 2 > sent, "{run}");
}
