//! Ends of tests whose server is gone, and of those that a signal ends.

use std::time::Duration;

use netperf_testkit::sim;
use netperf_testkit::{SimLink, SimProcess, Simulation, ours};
use serde_json::Value;

/// When the server is killed; the client starts after a second.
const KILLED: Duration = Duration::from_secs(2);
/// Length of the test, and the time after its end within which the loss is noticed.
const SECONDS: u64 = 3;
const NOTICED: u64 = 3;

#[test]
fn server_killed_under_a_test_is_noticed_within_three_seconds_of_its_end() {
    if !sim::available() {
        return;
    }
    let programs = ours!();
    for test in [
        "TCP_STREAM",
        "TCP_MAERTS",
        "TCP_RR",
        "TCP_CRR",
        "UDP_STREAM",
        "UDP_RR",
        "TCP_CC",
    ] {
        // A session in the process that is killed.
        let server = SimProcess::new(&programs.netserver, "-D -4 -f");
        let words = format!("-4 -H server -t {test} -l {SECONDS}");
        let client = SimProcess::new(&programs.netperf, &words);
        let server = server.signalled(KILLED, "SIGKILL");
        let run = Simulation::of_two(SimLink::lossless(10, 5), server, client).run();
        let client = run.of("client");
        assert!(client.end.status() > Some(0), "{test}: {}", run.account());
        let latest = Duration::from_secs(1 + SECONDS + NOTICED);
        assert!(client.end.at() < Some(latest), "{test}: {}", run.account());
        assert!(client.end.at() >= Some(KILLED), "{test}: {}", run.account());
        assert!(!client.stderr.is_empty(), "{test}: {}", run.account());
    }
}

#[test]
fn a_signal_at_any_time_of_a_later_iteration_gives_the_earlier_ones() {
    if !sim::available() {
        return;
    }
    let programs = ours!();
    // Most of an iteration is its set-up and the wait for its result: a second there and back.
    let link = SimLink::lossless(10, 500);
    let words = "-4 -H server -t TCP_RR -l 1 -i 3,3 -I 99,1 --json-stream";
    let client = SimProcess::new(&programs.netperf, words);
    let server = SimProcess::new(&programs.netserver, "-D -4");
    let run = Simulation::of_two(link, server.clone(), client.clone()).run();
    let end = run.of("client").end.at().expect("an end");
    let mut later = 0;
    for at in (10..20).map(|part| end * part / 20) {
        let client = client.clone().signalled(at, "SIGINT");
        let run = Simulation::of_two(link, server.clone(), client).run();
        let events: Vec<Value> = run
            .of("client")
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("an event"))
            .collect();
        if !events.iter().any(|event| event["event"] == "iteration") {
            continue;
        }
        later += 1;
        let last = events.last().expect("an event");
        let document = &last["document"];
        assert_eq!(last["event"], "result", "{at:?}: {}", run.account());
        let iterations = document["iterations"].as_array().map_or(0, Vec::len);
        assert!(iterations > 0, "{at:?}: {}", run.account());
        // All are whole ones.
        let rate = document["result"]["transactions_per_second"].as_f64();
        assert!(rate > Some(0.49), "{at:?}: {}", run.account());
        // The signal may come when all has been measured.
        let complete = iterations == 3;
        assert_eq!(document["complete"], complete, "{at:?}: {}", run.account());
    }
    assert!(later > 5, "{later} signals came after the first iteration");
}

#[test]
fn a_signal_before_anything_arrived_leaves_no_figure_and_blames_no_firewall() {
    if !sim::available() {
        return;
    }
    let programs = ours!();
    let link = SimLink::lossless(10, 500);
    for (test, seconds, expected) in [
        ("-t TCP_STREAM", 3.25, "before any data arrived"),
        ("-t TCP_STREAM --flows 3", 4.25, "before any data arrived"),
        ("-t TCP_CRR", 4.25, "before a transaction was completed"),
        // While the data connection is made.
        ("-t TCP_STREAM --until 5%", 3.6, "before any data arrived"),
        (
            "-t TCP_RR --until 5%",
            3.8,
            "before a transaction was completed",
        ),
        (
            "-t TCP_RR --rate 5",
            3.9,
            "before a transaction was completed",
        ),
    ] {
        let words = format!("-4 -H server {test} -l 2 --json");
        let client = SimProcess::new(&programs.netperf, &words);
        let client = client.signalled(Duration::from_secs_f64(seconds), "SIGINT");
        let server = SimProcess::new(&programs.netserver, "-D -4");
        let run = Simulation::of_two(link, server, client).run();
        let client = run.of("client");
        let document: Value = serde_json::from_str(&client.stdout).expect("a document");
        assert!(client.end.status() > Some(0), "{test}: {}", run.account());
        let message = document["error"]["message"].as_str().unwrap_or_default();
        let expected = format!("a signal ended the test {expected}");
        assert!(message.contains(&expected), "{test}: {}", run.account());
    }
}

/// Capacity of each direction of the link, 10^6 bits/s.
const LINK: f64 = 10.0;

/// The document of a run over it, and its account. A signal ends the run.
fn document(test: &str, signal: Option<f64>) -> (Value, String) {
    let programs = ours!();
    let client = SimProcess::new(&programs.netperf, &format!("-4 -H server --json -t {test}"));
    let client = match signal {
        Some(at) => client.signalled(Duration::from_secs_f64(at), "SIGINT"),
        None => client,
    };
    let server = SimProcess::new(&programs.netserver, "-D -4");
    let run = Simulation::of_two(SimLink::lossless(10, 50), server, client).run();
    let client = run.of("client");
    assert_eq!(client.end.status(), Some(0), "{test}: {}", run.account());
    let document = serde_json::from_str(&client.stdout).expect("a document");
    (document, run.account())
}

#[test]
fn a_signal_ends_what_netserver_sends_over_connections_of_its_own() {
    if !sim::available() {
        return;
    }
    let programs = ours!();
    // Fast enough that what is on its way at the end of a time is waited for.
    let mbit: u32 = 250;
    for flows in ["", "--flows 2"] {
        let words = format!(
            "-4 -H server --json -t TCP_STREAM -l 9 --bidirectional separate {flows} -- -m 64K,64K"
        );
        let client = SimProcess::new(&programs.netperf, &words);
        let client = client.signalled(Duration::from_millis(1300), "SIGINT");
        let server = SimProcess::new(&programs.netserver, "-D -4");
        let run = Simulation::of_two(SimLink::lossless(mbit.into(), 1), server, client).run();
        let client = run.of("client");
        let document: Value = serde_json::from_str(&client.stdout).expect("a document");
        let iteration = &document["iterations"][0];
        let number = |end: &str, key: &str| {
            let number = iteration[end][key].as_f64();
            number.unwrap_or_else(|| panic!("{end} {key}: {}", run.account()))
        };
        let went_on = number("remote", "elapsed_seconds") - number("local", "elapsed_seconds");
        assert!(went_on < 0.7, "{flows}: {went_on} s: {}", run.account());
        for (end, key) in [
            ("local", "received_bits_per_second"),
            ("remote", "received_bits_per_second"),
        ] {
            let share = number(end, key) / (f64::from(mbit) * 1e6);
            assert!((0.7..1.0).contains(&share), "{flows}, {end} {key}: {share}");
        }
        // Unknown where the end of the connection cut a send. It includes what is on its way.
        if let Some(sent) = iteration["remote"]["sent_bits_per_second"].as_f64() {
            let share = sent / (f64::from(mbit) * 1e6);
            assert!((0.7..1.1).contains(&share), "{flows}: sent {share}");
        }
    }
}

#[test]
fn datagrams_of_many_flows_have_the_rate_of_the_link() {
    if !sim::available() {
        return;
    }
    // netserver goes on until its queue is empty, and its data keeps its other answers waiting.
    for (test, directions) in [
        ("OMNI -l 1 --flows 3 -- -T udp -d recv -m ,1400", 1.0),
        (
            "OMNI -l 2 --flows 3 --warmup 1 -- -T udp -d recv -m ,1400",
            1.0,
        ),
        (
            "UDP_STREAM -l 3 --flows 3 --bidirectional separate -- -m 1400,1400",
            2.0,
        ),
    ] {
        let (document, account) = document(test, None);
        let throughput = document["result"]["throughput"].as_f64();
        let share = throughput.expect("a throughput") / (directions * LINK);
        assert!((0.9..1.0).contains(&share), "{test}: {share}: {account}");
    }
}

#[test]
fn a_signal_leaves_no_throughput_above_the_rate_of_the_link() {
    if !sim::available() {
        return;
    }
    let both = "-l 9 --bidirectional separate";
    // Tests, their directions, how many sockets may hold datagrams, and when the signal comes.
    for (test, directions, sockets, signal) in [
        (
            "OMNI -l 9 --flows 3 -- -T udp -d recv -m ,1400",
            1.0,
            0.0,
            4.6,
        ),
        (&format!("UDP_STREAM {both} -- -m 1400,1400"), 2.0, 1.0, 2.6),
        (
            &format!("UDP_STREAM {both} --flows 3 -- -m 1400,1400"),
            2.0,
            3.0,
            2.6,
        ),
        (&format!("TCP_STREAM {both}"), 2.0, 0.0, 2.6),
        // The amount that arrived may be unknown.
        (&format!("TCP_STREAM {both} --flows 3"), 2.0, 0.0, 2.6),
    ] {
        let (document, account) = document(test, Some(signal));
        let result = &document["result"];
        let Some(throughput) = result["throughput"].as_f64() else {
            continue;
        };
        let seconds = result["elapsed_seconds"].as_f64().expect("a time");
        // Data in netperf's sockets at the end of its time is sent and arrives, too.
        let buffer = &document["iterations"][0]["local"]["final_send_buffer_bytes"];
        let held = sockets * buffer.as_f64().expect("a buffer") * 8.0 / 1e6;
        let most = directions * LINK + held / seconds;
        assert!(
            throughput < most,
            "{test}: {throughput} of {most}: {account}"
        );
    }
}
