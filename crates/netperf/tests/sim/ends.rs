//! Ends of tests whose server is gone.

use std::time::Duration;

use netperf_testkit::sim;
use netperf_testkit::{SimLink, SimProcess, Simulation, ours};

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
