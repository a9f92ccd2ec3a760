//! Throughput of links whose rate is known, and the units of it.

use netperf_testkit::{Bottleneck, machine, ours};

use super::{Bench, Tolerance, at_once, check};

/// Links from slow to fast, and a queue that TCP needs to fill each.
const LINKS: [Bottleneck; 3] = [
    Bottleneck::new(1_000, 300),
    Bottleneck::new(2_000, 200),
    Bottleneck::new(10_000, 60),
];

/// A link that a loaded machine does not always fill.
const FAST: [Bottleneck; 1] = [Bottleneck::new(50_000, 30)];

/// In a run of 5 seconds, two frames in the bucket are 0.5 % at 1 Mbit/s, and 10 ms of the rate
/// are 0.2 % at 50 Mbit/s. A loaded machine is late at the beginning.
const TOLERANCE: Tolerance = Tolerance::Percents(3.0, 1.0);

/// A loaded machine does not always fill a link of 50 Mbit/s in a build without optimisation.
fn tolerance(link: &Bottleneck) -> Tolerance {
    if link.kbit < 50_000 {
        TOLERANCE
    } else {
        Tolerance::Percents(15.0, 1.0)
    }
}

fn tcp_fills(links: &[Bottleneck], test: &str) {
    at_once(links, |link| {
        let Some(bench) = Bench::new(*link) else {
            return;
        };
        let options = format!("-t {test} -l 5 -- -k THROUGHPUT");
        let truth = link.tcp_goodput();
        let told = bench.run(&options).values().number("THROUGHPUT");
        let claim = format!("{test} at {} Mbit/s: goodput, 10^6 bits/s", link.rate());
        check(&claim, truth, told, tolerance(link));
    });
}

#[test]
#[ignore = "nightly: a sender without a processor for as long as the queue lasts leaves the link idle"]
fn tcp_fills_a_link_netns() {
    let _machine = machine::whole();
    tcp_fills(&LINKS, "TCP_STREAM");
}

#[test]
#[ignore = "nightly: a sender without a processor for as long as the queue lasts leaves the link idle"]
fn tcp_fills_a_link_to_netperf_netns() {
    let _machine = machine::whole();
    tcp_fills(&LINKS, "TCP_MAERTS");
}

fn datagrams_fill(links: &[Bottleneck]) {
    at_once(links, |link| {
        let shallow = Bottleneck::new(link.kbit, 20);
        let Some(bench) = Bench::new(shallow) else {
            return;
        };
        // The device of the client blocks the sender at three times the rate. Without it, the
        // sender would keep a processor busy. Its queue holds the send buffer alone.
        let bucket = format!("tbf rate {}kbit burst 20000 limit 2000000", 3 * link.kbit);
        bench.link.client_egress(&bucket);
        let options = "-t UDP_STREAM -l 5 -- -m 1472 -s 4096 -k REMOTE_RECV_THROUGHPUT";
        let truth = link.udp_goodput();
        let told = bench.run(options).values().number("REMOTE_RECV_THROUGHPUT");
        let claim = format!(
            "UDP_STREAM at {} Mbit/s: received, 10^6 bits/s",
            link.rate()
        );
        check(&claim, truth, told, tolerance(link));
    });
}

#[test]
#[ignore = "nightly: a sender without a processor for as long as the queue lasts leaves the link idle"]
fn a_flood_of_datagrams_arrives_at_the_rate_of_the_link_netns() {
    let _machine = machine::whole();
    datagrams_fill(&LINKS);
}

#[test]
#[ignore = "nightly: depends on the speed of the machine"]
fn a_fast_link_is_filled_netns() {
    let _machine = machine::whole();
    tcp_fills(&FAST, "TCP_STREAM");
    tcp_fills(&FAST, "TCP_MAERTS");
    datagrams_fill(&FAST);
}

/// The letter, the name and the bits of each unit.
const UNITS: [(&str, &str, f64); 4] = [
    ("k", "10^3bits/s", 1e3),
    ("m", "10^6bits/s", 1e6),
    ("K", "KBytes/s", 8.0 * 1024.0),
    ("M", "MBytes/s", 8.0 * 1024.0 * 1024.0),
];

#[test]
fn each_unit_of_throughput_is_that_of_the_bytes_received() {
    let server = ours!().serve();
    for (letter, name, bits) in UNITS {
        let options = format!("-f {letter} -t TCP_STREAM --rate 80M --time 1s");
        let selected = "THROUGHPUT,THROUGHPUT_UNITS,REMOTE_BYTES_RECVD,ELAPSED_TIME";
        let client = ours!().client_of(&server).args(options.split(' '));
        // A busy machine may miss the rate, which changes nothing here.
        let finished = client.args(["--", "-k", selected]).run().expect_exit(0);
        let values = finished.values();
        assert_eq!(values.text("THROUGHPUT_UNITS"), name);
        let bytes = values.number("REMOTE_BYTES_RECVD");
        let seconds = values.number("ELAPSED_TIME");
        let claim = format!("-f {letter}: throughput of the bytes received, {name}");
        let told = values.number("THROUGHPUT");
        // The time has two decimals.
        check(
            &claim,
            bytes * 8.0 / bits / seconds,
            told,
            Tolerance::Percent(1.0),
        );
    }
}

#[test]
#[ignore = "nightly: a sender without a processor for as long as the queue lasts leaves the link idle"]
fn each_unit_of_throughput_is_what_its_name_says_netns() {
    let _machine = machine::whole();
    let link = Bottleneck::new(5_000, 60);
    at_once(&UNITS, |(letter, name, bits)| {
        let Some(bench) = Bench::new(link) else {
            return;
        };
        let options = format!("-f {letter} -t TCP_STREAM -l 3 -- -k THROUGHPUT,THROUGHPUT_UNITS");
        let truth = link.tcp_goodput() * 1e6 / bits;
        let values = bench.run(&options).values();
        assert_eq!(values.text("THROUGHPUT_UNITS"), *name);
        let told = values.number("THROUGHPUT");
        let claim = format!("-f {letter} at 5 Mbit/s: goodput, {name}");
        check(&claim, truth, told, TOLERANCE);
    });
}
