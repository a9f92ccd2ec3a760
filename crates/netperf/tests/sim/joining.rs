//! Agents that join a coordinator while others keep its port busy.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::sim;
use netperf_testkit::{Invocation, Scratch, SimHost, SimLink, SimProcess, Simulation, note, ours};
use serde_json::Value;

/// Agents.
const AGENTS: usize = 4;
/// The simulation begins with the year 2000.
const BEGIN: f64 = 946_684_800.0;

/// The begin of a campaign whose coordinator has so many silent connections of one host, seconds
/// after that of the simulation.
fn begin_beside(silent: usize) -> f64 {
    let folder = Scratch::new();
    let programs = ours!();
    Invocation::new(&programs.netperf)
        .folder(folder.path())
        .args(["campaign", "key", "-o", "key"])
        .run()
        .expect_clean();
    let plan = "pattern = \"ring\"\ntest = \"TCP_RR\"\nwindow = 0.5\nwarmup = 0.5\nsilence = 20\n";
    std::fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let (plan, key) = (folder.path().join("plan.toml"), folder.path().join("key"));
    let (plan, key) = (plan.display(), key.display());
    let words = format!(
        "campaign run {plan} --key-file {key} --join-listen 11.0.0.1:9000 --expect {AGENTS} --json"
    );
    let coordinator = SimProcess::new(&programs.netperf, &words).at(Duration::from_secs(1));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/silent_clients.py");
    let words = format!("{} 11.0.0.1 9000 {silent}", script.display());
    let attacker = SimProcess::new(Path::new("/usr/bin/python3"), &words);
    let attacker = attacker.at(Duration::from_millis(1500));
    let words = format!("-D -4 --agent --join 11.0.0.1:9000 --key-file {key}");
    let agent = |index: usize| {
        let process = SimProcess::new(&programs.netserver, &words).at(Duration::from_secs(3));
        SimHost::new(&format!("a{index}"), vec![process])
    };
    let mut hosts = vec![
        SimHost::new("coordinator", vec![coordinator]),
        SimHost::new("attacker", vec![attacker]),
    ];
    hosts.extend((0..AGENTS).map(agent));
    let simulation = Simulation {
        length: Duration::from_secs(60),
        ..Simulation::of_hosts(SimLink::lossless(1000, 1), hosts)
    };
    let run = simulation.run();
    let coordinator = run.of("coordinator");
    let document: Value =
        serde_json::from_str(&coordinator.stdout).unwrap_or_else(|_| panic!("{coordinator:?}"));
    assert_eq!(document["complete"], true, "{document:#}");
    let begin = document["started_unix_seconds"].as_f64();
    begin.expect("a begin") - BEGIN
}

#[test]
fn threat_model_silent_connections_keep_no_agent_from_joining() {
    if !sim::available() {
        return;
    }
    let alone = begin_beside(0);
    let beside = begin_beside(300);
    note(&format!(
        "begin after {alone} s, and {beside} s beside silent connections"
    ));
    // An agent whose first attempt meets a full queue of the system makes another after a second.
    assert!(beside <= alone + 2.0, "{beside} s, not {alone} s");
}
