//! Messages of control connections that come late, or not at all.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::sim::{self, SimRun};
use netperf_testkit::{SimHost, SimLink, SimProcess, Simulation, ours};
use serde_json::Value;

use crate::links::linked;

const PYTHON: &str = "/usr/bin/python3";
const LINK: SimLink = SimLink::lossless(10, 10);

/// A peer on the server's host that breaks a message: the words of `faulty_peer.py`.
pub(crate) fn faulty_peer(words: &str) -> SimProcess {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/faulty_peer.py");
    let words = format!("{} {words}", script.display());
    SimProcess::new(Path::new(PYTHON), &words)
}

/// Runs a client and a server with a peer between them.
fn with_peer(peer: &str, server: SimProcess, client: SimProcess) -> SimRun {
    let mut simulation = Simulation::of_two(LINK, server, client);
    simulation.hosts[1].processes.push(faulty_peer(peer));
    simulation.run()
}

/// Our iperf3 server behind a peer.
fn iperf3_server() -> SimProcess {
    SimProcess::new(&linked(&ours!().netperf, "iperf3"), "-s -4 -p 5202")
}

/// The rate that a receiving iperf3 client reports, bits per second.
fn received(run: &SimRun) -> f64 {
    let client = run.of("client");
    let document: Value = serde_json::from_str(&client.stdout).expect("a document");
    let rate = &document["end"]["sum_received"]["bits_per_second"];
    rate.as_f64().unwrap_or_else(|| panic!("{}", run.account()))
}

#[test]
fn iperf3_reverse_counts_the_time_of_data_that_comes_before_the_test_is_said_to_run() {
    if !sim::available() {
        return;
    }
    let own = linked(&ours!().netperf, "iperf3");
    for amount in ["-n 200K", "-t 2"] {
        let words = format!("-4 -J -c server {amount} -R");
        let client = SimProcess::new(&own, &words);
        // The message that the test runs comes a second after the data.
        let run = with_peer("5201 5202 0 client 3 late 1", iperf3_server(), client);
        let rate = received(&run);
        assert!((1e6..10.1e6).contains(&rate), "{rate}: {}", run.account());
    }
}

#[test]
fn iperf3_waits_for_messages_of_a_client_as_the_original_does() {
    if !sim::available() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/late_iperf3_client.py");
    // Parameters, the end of the test, results, and the end of all.
    for number in 2..=5 {
        let words = format!("{} server 5202 {number} 20", script.display());
        let client = SimProcess::new(Path::new(PYTHON), &words);
        let run = Simulation::of_two(LINK, iperf3_server(), client).run();
        let client = run.of("client");
        assert_eq!(client.end.status(), Some(0), "{number}: {}", run.account());
        assert_eq!(client.stdout, "1000\n", "{number}: {}", run.account());
        let server = &run.of("server").stdout;
        assert!(server.contains("receiver"), "{number}: {}", run.account());
    }
}

#[test]
fn threat_model_an_iperf3_client_that_says_nothing_more_frees_its_seat_after_half_a_minute() {
    if !sim::available() {
        return;
    }
    let own = linked(&ours!().netperf, "iperf3");
    let client = |words: &str, at| SimProcess::new(&own, words).at(Duration::from_secs(at));
    let silent = client("-c server -t 1", 1);
    let busy = client("-c server -p 5202 -n 1K", 20);
    let served = client("-c server -p 5202 -n 1K", 40);
    let peer = faulty_peer("5201 5202 0 server 2 stall");
    let hosts = vec![
        SimHost::new("silent", vec![silent]),
        SimHost::new("others", vec![busy, served]),
        SimHost::new("server", vec![iperf3_server(), peer]),
    ];
    let mut simulation = Simulation::of_hosts(LINK, hosts);
    simulation.length = Duration::from_secs(60);
    let run = simulation.run();
    let [busy, served] = run.all_of("others") else {
        panic!("{}", run.account());
    };
    assert!(busy.stderr.contains("busy"), "{}", run.account());
    assert_eq!(served.end.status(), Some(0), "{}", run.account());
}

#[test]
fn connections_of_many_flows_begin_when_the_answer_has_come() {
    if !sim::available() {
        return;
    }
    let programs = ours!();
    for options in ["--warmup 0.5", "--flows 2"] {
        let server = SimProcess::new(&programs.netserver, "-D -4 -p 12866 --data-peers any");
        let words = format!("-4 -H server -l 1 -t TCP_CRR -P 0 -v 0 {options}");
        let client = SimProcess::new(&programs.netperf, &words);
        let run = with_peer("12865 12866 656 client 2 late 12", server, client);
        let client = run.of("client");
        assert_eq!(client.end.status(), Some(0), "{}", run.account());
        let rate: f64 = client.stdout.trim().parse().expect("a rate");
        assert!(rate > 10.0, "{}", run.account());
    }
}

#[test]
fn a_data_port_that_is_closed_when_the_answer_comes_is_not_blamed_on_a_firewall() {
    if !sim::available() {
        return;
    }
    let programs = ours!();
    for test in ["TCP_CRR", "UDP_RR"] {
        // Data comes from the client's host, and control messages from the peer on this one.
        let server = SimProcess::new(&programs.netserver, "-D -4 -p 12866 --data-peers any");
        let words = format!("-4 -H server -l 1 -t {test} -P 0");
        let client = SimProcess::new(&programs.netperf, &words);
        let run = with_peer("12865 12866 656 client 1 late 14", server, client);
        let client = run.of("client");
        assert_eq!(client.end.status(), Some(1), "{test}: {}", run.account());
        let said = &client.stderr;
        let is_right = said.contains("netserver's answer took 14") && !said.contains("firewall");
        assert!(is_right, "{test}: {}", run.account());
    }
}
