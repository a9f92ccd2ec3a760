//! Servers of iperf that do not end a test of two seconds, or whose counts cannot be.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::sim;
use netperf_testkit::{SimLink, SimProcess, Simulation, ours};

use crate::links::linked;

/// Program, fault, words of the client, and the latest end: the client starts after a second.
const CASES: &[(&str, &str, &str, u64)] = &[
    ("iperf3", "sends", "-R", 15),
    ("iperf3", "begins", "", 36),
    ("iperf3", "ends", "", 15),
    ("iperf3", "reads", "", 45),
    ("iperf3", "lost", "-u", 10),
    ("iperf", "sends", "-R", 15),
    ("iperf", "reads", "", 45),
    ("iperf", "lost", "-u", 10),
];

/// The words of netperf for the same test.
fn netperf_words(program: &str, words: &str) -> String {
    let program = if program == "iperf" {
        "iperf2"
    } else {
        program
    };
    let words = match words {
        "-R" => "--reverse",
        "-u" => "--udp --rate 1M",
        words => words,
    };
    format!("--{program} -H server -4 -l 2 {words}")
}

/// The ends of a client against a server with this fault.
fn fails_in_time((name, fault, words, latest): &(&str, &str, &str, u64), is_netperf: bool) {
    let netperf = ours!().netperf;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/hostile_iperf.py");
    let kind = if *name == "iperf" { "iperf2" } else { name };
    let server = format!("{} {kind} {fault}", script.display());
    let (program, words) = if is_netperf {
        (netperf, netperf_words(name, words))
    } else {
        (linked(&netperf, name), format!("-c server -t 2 {words}"))
    };
    let simulation = Simulation {
        length: Duration::from_secs(*latest),
        ..Simulation::of_two(
            SimLink::lossless(4, 10),
            SimProcess::new(Path::new("/usr/bin/python3"), &server),
            SimProcess::new(&program, &words),
        )
    };
    let run = simulation.run();
    let client = run.of("client");
    assert_eq!(client.end.status(), Some(1), "{}", run.account());
    assert!(!client.stderr.is_empty(), "{}", run.account());
}

#[test]
fn threat_model_a_server_of_iperf_neither_prolongs_a_test_nor_invents_counts() {
    if !sim::available() {
        return;
    }
    for case in CASES {
        for is_netperf in [false, true] {
            fails_in_time(case, is_netperf);
        }
    }
}
