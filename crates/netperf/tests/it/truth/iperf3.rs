//! Throughput of tests of iperf3 over links whose rate is known.

use std::os::unix::fs::symlink;
use std::path::Path;

use netperf_testkit::server::free_port;
use netperf_testkit::{
    Bottleneck, Invocation, LinkHost, Netserver, Programs, RoutedLink, Scratch, ours,
};
use serde_json::Value;

use super::{PATIENCE, Tolerance, check, held};

/// As in `throughput`; what is in the queue at the end of the time arrives 0.3 s later.
const LINK: Bottleneck = Bottleneck::new(2_000, 300);
const TOLERANCE: Tolerance = Tolerance::Percents(4.0, 2.0);

/// A link and a netserver with a port for iperf3 at its end.
struct Iperf3Bench {
    link: RoutedLink,
    _server: Netserver,
    port: String,
}

impl Iperf3Bench {
    fn new() -> Option<Self> {
        let link = RoutedLink::new(LINK)?;
        let port = free_port().to_string();
        let place = link.place(LinkHost::Server);
        let words = ["-D", "--iperf3", &port];
        let server = Netserver::start_with(&ours!(), &place, &words, &[]);
        Some(Self {
            link,
            _server: server,
            port,
        })
    }

    fn client(&self, program: &Path, options: &str) -> Invocation {
        Invocation::new(program)
            .args(options.split_whitespace())
            .args(["-p", &self.port])
            .within(&self.link.place(LinkHost::Client))
            .patience(PATIENCE)
    }
}

#[test]
fn what_arrives_behind_the_end_has_the_time_that_it_took_netns() {
    let Some(bench) = Iperf3Bench::new() else {
        return;
    };
    let (server, truth) = (RoutedLink::SERVER_V4, LINK.tcp_goodput());
    let options = format!("--iperf3 -H {server} --reverse -l 2 --json");
    let netperf = || {
        let finished = bench.client(&ours!().netperf, &options).run();
        let document: Value = serde_json::from_str(&finished.expect_clean().stdout).unwrap();
        document["result"]["throughput"].as_f64().unwrap()
    };
    let told = held(netperf, |told| TOLERANCE.holds(truth, *told));
    let claim = "netperf --iperf3 --reverse at 2 Mbit/s: goodput, 10^6 bits/s";
    check(claim, truth, told, TOLERANCE);

    let scratch = Scratch::new();
    let iperf3 = scratch.path().join("iperf3");
    symlink(ours!().netperf, &iperf3).unwrap();
    let options = format!("-c {server} -R -t 2 -i 0.5 -J");
    // The bucket passes 10 ms of the rate at once, and a busy machine reads late.
    let (most, bound) = (1.15 * truth, Tolerance::AtMost);
    let intervals = || {
        let finished = bench.client(&iperf3, &options).run();
        let document: Value = serde_json::from_str(&finished.expect_clean().stdout).unwrap();
        let intervals = document["intervals"].as_array().unwrap();
        let rate = |one: &Value| one["sum"]["bits_per_second"].as_f64().unwrap() / 1e6;
        intervals.iter().map(rate).fold(0.0, f64::max)
    };
    let told = held(intervals, |told| bound.holds(most, *told));
    let claim = "iperf3 -R at 2 Mbit/s: fastest interval of 0.5 s, 10^6 bits/s";
    check(claim, most, told, bound);
}
