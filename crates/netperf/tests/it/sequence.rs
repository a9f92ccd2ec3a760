//! Numbered datagrams: what both programs tell of them, and where that cannot be.
//! What a network does to datagrams is in the engine's test of the same name.

use netperf_testkit::{Finished, Netserver, Place, Programs, Values, ours};
use serde_json::Value;

/// Selectors that every test reads.
const SELECTED: &str = "LOCAL_SEND_CALLS,REMOTE_SEND_CALLS,LOCAL_RECV_CALLS,REMOTE_RECV_CALLS,\
                        UDP_RECEIVED,UDP_LOST,UDP_LOST_PERCENT,UDP_DUPLICATED,UDP_REORDERED,\
                        UDP_REORDER_EXTENT,UDP_JITTER_USEC,UDP_DELAY_VARIATION_USEC,\
                        UDP_MAX_DELAY_VARIATION_USEC,LOCAL_UDP_RECEIVED,REMOTE_UDP_RECEIVED";

fn run(server: &Netserver, words: &[&str]) -> Finished {
    ours!()
        .client_of(server)
        .args(["--sequence"])
        .args(words)
        .run()
}

fn measured(server: &Netserver, options: &str) -> Values {
    let (global, test) = options.split_once("--- ").unwrap_or((options, ""));
    let words = global.split(' ').chain(["--", "-k", SELECTED]);
    let words: Vec<&str> = words.chain(test.split_whitespace()).collect();
    run(server, &words).expect_clean().values()
}

#[test]
fn every_datagram_is_received_or_lost_however_many_a_call_moves() {
    let server = ours!().serve();
    for options in [
        "-t UDP_STREAM --time 300ms --- -m 1000",
        "-t UDP_STREAM --time 300ms --batch 16 --- -m 1000",
        "-t UDP_STREAM --time 300ms --segment-offload on --- -m 1000",
        "-t UDP_STREAM --time 300ms --batch 4 --segment-offload on --io poll --- -m 24",
        "-t UDP_STREAM --count 100000 --- -m 500 -n -N",
    ] {
        let values = measured(&server, options);
        let (received, lost) = (values.count("UDP_RECEIVED"), values.count("UDP_LOST"));
        assert!(received > 0, "{options}: {values:?}");
        assert_eq!(received, values.count("REMOTE_RECV_CALLS"), "{options}");
        assert_eq!(received, values.count("REMOTE_UDP_RECEIVED"), "{options}");
        assert_eq!(
            received + lost,
            values.count("LOCAL_SEND_CALLS"),
            "{options}"
        );
        let none = ["UDP_DUPLICATED", "UDP_REORDERED", "UDP_REORDER_EXTENT"];
        for name in none {
            assert_eq!(values.count(name), 0, "{options}: {values:?}");
        }
        let variation = values.number("UDP_DELAY_VARIATION_USEC");
        assert!(variation <= values.number("UDP_MAX_DELAY_VARIATION_USEC"));
        // Unknown is -1.
        let jitter = values.number("UDP_JITTER_USEC");
        assert!((0.0..1e6).contains(&jitter), "{values:?}");
    }
}

#[test]
fn netperf_keeps_account_where_netserver_sends() {
    let server = ours!().serve();
    let values = measured(&server, "-t OMNI --time 1 --- -T udp -d recv -M 1000");
    let received = values.count("UDP_RECEIVED");
    assert!(received > 0, "{values:?}");
    assert_eq!(received, values.count("LOCAL_RECV_CALLS"));
    assert_eq!(received, values.count("LOCAL_UDP_RECEIVED"));
    assert_eq!(values.count("REMOTE_UDP_RECEIVED"), -1);
    assert!(values.count("UDP_LOST") + received <= values.count("REMOTE_SEND_CALLS"));
}

#[test]
fn json_and_verbosity_2_tell_the_same_of_the_end_that_receives() {
    let server = ours!().serve();
    let words = [
        "-t",
        "UDP_STREAM",
        "--count",
        "50000",
        "-b",
        "5",
        "-w",
        "1ms",
    ];
    let json = run(
        &server,
        &[&words[..], &["--json", "--", "-m", "1000"]].concat(),
    );
    let document: Value = serde_json::from_str(&json.expect_clean().stdout).expect("JSON");
    let remote = &document["iterations"][0]["remote"]["datagrams"];
    let local = &document["iterations"][0]["local"]["datagrams"];
    assert_eq!(local["sent"], 50, "{local}");
    assert_eq!(local["lost"], Value::Null);
    let whole = |name: &str| remote[name].as_u64().expect(name);
    assert_eq!(whole("received") + whole("lost"), 50, "{remote}");
    let text = run(
        &server,
        &[&words[..], &["-v", "2", "--", "-m", "1000"]].concat(),
    );
    let text = text.expect_clean().stdout;
    let line = text.lines().find(|line| line.starts_with("to netserver"));
    let sent = line.and_then(|line| line.split_whitespace().nth(2));
    assert_eq!(sent, Some("50"), "{text}");
}

/// Loss, order and jitter of the first iteration of a document, by the ends that receive.
fn counted(server: &Netserver, words: &[&str]) -> Vec<Value> {
    let finished = ours!().client_of(server).arg("--json").args(words).run();
    counts_of(&finished.expect_clean().stdout)
}

fn counts_of(document: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(document).expect("JSON");
    let first = &document["iterations"][0];
    let ends = ["local", "remote"].map(|end| first[end]["datagrams"].clone());
    let receive = ends
        .into_iter()
        .filter(|datagrams| !datagrams["lost"].is_null());
    receive.collect()
}

#[test]
fn documents_and_summaries_count_the_datagrams_of_tests_that_could_have_sequence() {
    let server = ours!().serve();
    let count = ["-l", "-20000", "-b", "4", "-w", "1ms"];
    for (words, ends) in [
        (&["--udp", "--send-size", "1000"][..], 1),
        (&["--udp", "--send-size", "1000", "--flows", "2"], 1),
        (&["--udp", "--bidirectional", "same"], 2),
        (&["-t", "OMNI", "--", "-T", "udplite", "-m", "1000"], 1),
        // Each of these could not.
        (&["--udp", "--send-size", "20"], 0),
        (&["--udp", "--discard"], 0),
        (&["-t", "UDP_RR"], 0),
        (&["-t", "TCP_STREAM"], 0),
    ] {
        let counted = counted(&server, &[&count[..], words].concat());
        assert_eq!(counted.len(), ends, "{words:?}: {counted:?}");
        for datagrams in counted {
            assert_eq!(datagrams["reordered"], 0, "{words:?}: {datagrams}");
            assert!(datagrams["received"].as_u64() > Some(0), "{datagrams}");
            assert!(datagrams["jitter_microseconds"].is_number(), "{datagrams}");
        }
    }
    let at_full_speed = counted(&server, &["--udp", "-l", "-20000"]);
    assert_eq!(at_full_speed, Vec::<Value>::new());
    let rate = ["--json", "--udp", "-l", "-20000", "--rate", "20M"];
    let at_a_rate = ours!().client_of(&server).args(rate).run();
    // A busy host may not reach it, and a message says so.
    assert_eq!(counts_of(&at_a_rate.expect_exit(0).stdout).len(), 1);
    let human = ours!().client_of(&server).args(["--udp", "--human"]);
    let text = human.args(count).run().expect_clean().stdout;
    assert!(text.contains("reordered 0; jitter"), "{text}");
    let classic = ours!()
        .client_of(&server)
        .args(["-t", "UDP_STREAM", "-v", "2"]);
    let text = classic.args(count).run().expect_clean().stdout;
    assert!(!text.contains("to netserver"), "{text}");
}

#[test]
fn sequence_refuses_tests_without_place_for_numbers() {
    let server = ours!().serve();
    for (options, reason) in [
        ("-t TCP_STREAM", "only in stream tests over UDP"),
        ("-t UDP_RR", "only in stream tests over UDP"),
        ("-t UDP_STREAM --discard", "not together with --discard"),
        ("-t UDP_STREAM -- -m 23", "a number takes 24 bytes"),
    ] {
        let words: Vec<&str> = options.split(' ').collect();
        let refused = run(&server, &words).expect_exit(3);
        assert!(refused.stderr.contains(reason), "{options}: {refused:?}");
    }
}

#[test]
fn a_netserver_of_another_make_is_not_asked_for_numbers() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let refused = run(&server, &["-t", "UDP_STREAM"]).expect_exit(3);
    assert!(refused.stderr.contains("--sequence"), "{refused:?}");
    let words = ["--udp", "-l", "-20000", "-b", "4", "-w", "1ms"];
    assert_eq!(counted(&server, &words), Vec::<Value>::new());
}
