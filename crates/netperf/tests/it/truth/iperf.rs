//! Throughput of tests of iperf 2 and iperf3 over a link whose rate is known.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

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

/// Our netperf under another name.
fn named(scratch: &Scratch, name: &str) -> PathBuf {
    let path = scratch.path().join(name);
    symlink(ours!().netperf, &path).expect("a link");
    path
}

#[test]
#[ignore = "nightly: the rate of a link"]
fn row_of_an_iperf2_server_that_sends_is_the_rate_of_the_link_netns() {
    let _machine = machine::whole();
    let Some(link) = RoutedLink::new(LINK) else {
        return;
    };
    let scratch = Scratch::new();
    let iperf = named(&scratch, "iperf");
    let port = free_port().to_string();
    let words = ["-s", "-1", "-w", "32K", "-f", "m", "-p", &port];
    let mut server = Invocation::new(&iperf)
        .args(words)
        .within(&link.place(LinkHost::Server))
        .spawn();
    assert!(server.prints("Server listening", PATIENCE));
    let client = Invocation::new(&iperf)
        .args(["-c", RoutedLink::SERVER_V4, "-p", &port, "-R", "-t", "3"])
        .args(["-w", "32K"])
        .within(&link.place(LinkHost::Client))
        .patience(PATIENCE);
    client.run().expect_exit(0);
    let finished = server.finish();
    let row = finished
        .stdout
        .lines()
        .rfind(|line| line.ends_with("Mbits/sec"));
    let row = row.unwrap_or_else(|| panic!("no row: {}", finished.account()));
    let told: f64 = row
        .split_whitespace()
        .rev()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let claim = "iperf -s with a client's -R at 2 Mbit/s: row of the server, 10^6 bits/s";
    check(claim, LINK.tcp_goodput(), told, TOLERANCE);
}

#[test]
#[ignore = "nightly: the rate of a link"]
fn iperf3_client_tells_its_own_rate_and_cpu_time_netns() {
    let _machine = machine::whole();
    let Some(bench) = IperfBench::new("--iperf3") else {
        return;
    };
    let scratch = Scratch::new();
    let iperf3 = named(&scratch, "iperf3");
    let document = |options: &str| -> Value {
        let options = format!("-c {} {options} -J", RoutedLink::SERVER_V4);
        let finished = bench.client(&iperf3, &options).run();
        serde_json::from_str(&finished.expect_clean().stdout).unwrap()
    };
    // More than the link passes on: a third of it is lost.
    let told = document("-u -b 3M -l 1472 -t 3");
    let rate = told["end"]["sum"]["bits_per_second"].as_f64().unwrap() / 1e6;
    let claim = "iperf3 -u -b 3M over 2 Mbit/s: end.sum is the rate of the sender, 10^6 bits/s";
    check(claim, 3.0, rate, Tolerance::Percents(2.0, 2.0));
    // It waits for a queue of 0.3 s after the end, and hardly computes.
    let told = document("-t 3");
    let cpu = &told["end"]["cpu_utilization_percent"]["host_total"];
    let claim = "iperf3 at 2 Mbit/s: CPU time of the client, percent";
    check(claim, 3.0, cpu.as_f64().unwrap(), Tolerance::AtMost);
}
