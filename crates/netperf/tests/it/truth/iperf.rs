//! Throughput of tests of iperf 2 and iperf3 over a link whose rate is known.

use std::os::unix::fs::symlink;
use std::path::Path;

use netperf_testkit::server::free_port;
use netperf_testkit::{
    Bottleneck, Invocation, LinkHost, Netserver, RoutedLink, Scratch, machine, ours,
};
use serde_json::Value;

use super::{PATIENCE, Tolerance, check};

/// As in `throughput`; what is in the queue at the end of the time arrives 0.3 s later.
const LINK: Bottleneck = Bottleneck::new(2_000, 300);
/// A window below the queue: nothing is lost, and no data waits for what is sent again.
const UNLOST: &str = "-s 32K";
const TOLERANCE: Tolerance = Tolerance::Percents(8.0, 2.0);

/// A link and a netserver with a port for iperf 2 or iperf3 at its end.
struct IperfBench {
    link: RoutedLink,
    _server: Netserver,
    port: String,
}

impl IperfBench {
    /// `option` is `--iperf2` or `--iperf3`.
    fn new(option: &str) -> Option<Self> {
        let link = RoutedLink::new(LINK)?;
        let port = free_port().to_string();
        let place = link.place(LinkHost::Server);
        let words = ["-D", option, &port];
        let server = Netserver::start_with(&ours!(), &place, &words, &[]);
        Some(Self {
            link,
            _server: server,
            port,
        })
    }

    fn client(&self, program: &Path, options: &str) -> Invocation {
        Invocation::new(program)
            .args(["-p", &self.port])
            .args(options.split_whitespace())
            .within(&self.link.place(LinkHost::Client))
            .patience(PATIENCE)
    }

    /// Throughput that netperf tells, 10^6 bits/s.
    fn throughput(&self, options: &str) -> f64 {
        let finished = self.client(&ours!().netperf, options).run();
        let document: Value =
            serde_json::from_str(&finished.expect_clean().stdout).expect("a document");
        let throughput = document["result"]["throughput"].as_f64();
        throughput.expect("a throughput")
    }
}

#[test]
#[ignore = "nightly: the rate of a link"]
fn late_arrivals_count_with_the_time_that_they_took_netns() {
    let _machine = machine::whole();
    let Some(bench) = IperfBench::new("--iperf3") else {
        return;
    };
    let (server, truth) = (RoutedLink::SERVER_V4, LINK.tcp_goodput());
    let options = format!("--iperf3 -H {server} --reverse -l 2 --json -- {UNLOST}");
    let told = bench.throughput(&options);
    let claim = "netperf --iperf3 --reverse at 2 Mbit/s: goodput, 10^6 bits/s";
    check(claim, truth, told, TOLERANCE);

    let scratch = Scratch::new();
    let iperf3 = scratch.path().join("iperf3");
    symlink(ours!().netperf, &iperf3).unwrap();
    let options = format!("-c {server} -R -t 2 -i 0.5 -w 32K -J");
    // The bucket passes 10 ms of the rate at once, and a busy machine reads late.
    let (most, bound) = (1.15 * truth, Tolerance::AtMost);
    let finished = bench.client(&iperf3, &options).run();
    let document: Value = serde_json::from_str(&finished.expect_clean().stdout).unwrap();
    let intervals = document["intervals"].as_array().unwrap();
    let rate = |one: &Value| one["sum"]["bits_per_second"].as_f64().unwrap() / 1e6;
    let told = intervals.iter().map(rate).fold(0.0, f64::max);
    let claim = "iperf3 -R at 2 Mbit/s: fastest interval of 0.5 s, 10^6 bits/s";
    check(claim, most, told, bound);
}

#[test]
#[ignore = "nightly: the rate of a link"]
fn an_amount_of_iperf2_has_the_time_until_all_of_it_arrived_netns() {
    let _machine = machine::whole();
    let Some(bench) = IperfBench::new("--iperf2") else {
        return;
    };
    // Data in the send buffer at the end takes 8 % of the time.
    let server = RoutedLink::SERVER_V4;
    let options = format!("--iperf2 -H {server} -l -400000 --json -- {UNLOST}");
    let truth = LINK.tcp_goodput();
    let told = bench.throughput(&options);
    let claim = "netperf --iperf2 of 400,000 bytes at 2 Mbit/s: goodput, 10^6 bits/s";
    check(claim, truth, told, TOLERANCE);
}
