//! Parts of a run: what arrived between their edges, by the receiver's count.

use netperf_testkit::{Bottleneck, Programs, QueueLimit, ours};

use super::{Bench, Tolerance, at_once, check};

/// The bucket passes 10 ms of the rate at once, which precedes a warm-up. netserver on a loaded
/// machine reads late, which moves up to 0.1 s of the data into or out of the measured time.
const TOLERANCE: Tolerance = Tolerance::Percents(6.0, 5.0);

/// A link whose client blocks at three times the rate, so that a flood of datagrams does not
/// keep a processor busy.
fn flooded(link: Bottleneck) -> Option<Bench> {
    let bench = Bench::new(link)?;
    let bucket = format!("tbf rate {}kbit burst 20000 limit 2000000", 3 * link.kbit);
    bench.link.client_egress(&bucket);
    Some(bench)
}

#[test]
#[ignore = "nightly: a rate; a receiver that reads late counts too much or too little"]
fn a_window_of_many_datagram_flows_has_what_arrived_netns() {
    let link = Bottleneck::new(10_000, 50);
    let Some(bench) = flooded(link) else {
        return;
    };
    let options = "-t UDP_STREAM --flows 8 --warmup 1s --cooldown 500ms -l 2 \
                   -- -m 1472 -s 4096 -k THROUGHPUT";
    let told = bench.run(options).values().number("THROUGHPUT");
    let claim = "UDP_STREAM --flows 8 --warmup 1s at 10 Mbit/s: received, 10^6 bits/s";
    check(claim, link.udp_goodput(), told, TOLERANCE);
}

#[test]
#[ignore = "nightly: senders that get no processor let a datagram pass whole"]
fn datagrams_whose_fragments_are_lost_do_not_count_netns() {
    // A queue of one datagram: the fragments of four senders displace each other.
    let queue = QueueLimit::Bytes(20_000);
    let link = Bottleneck {
        queue,
        ..Bottleneck::new(10_000, 0)
    };
    let Some(bench) = flooded(link) else {
        return;
    };
    let options = "-t UDP_STREAM --flows 4 --warmup 200ms -l 2 -- -k THROUGHPUT";
    // A test in which nothing arrived is a failure.
    let finished = bench.client(options).run().expect_exit(1);
    let told = finished.values().number("THROUGHPUT");
    let claim = "UDP_STREAM --flows 4 --warmup 200ms of 65,507 bytes: no datagram is complete";
    check(claim, 0.0, told, Tolerance::Exact);
}

#[test]
#[ignore = "nightly: a rate; a receiver that reads late counts too much or too little"]
fn a_window_of_tcp_has_what_arrived_netns() {
    let links = [Bottleneck::new(1_000, 300), Bottleneck::new(50_000, 60)];
    at_once(&links, |link| {
        let Some(bench) = Bench::new(*link) else {
            return;
        };
        let options = "-t TCP_STREAM --flows 1 --warmup 500ms --time 3s -- -k THROUGHPUT";
        let told = bench.run(options).values().number("THROUGHPUT");
        let claim = format!(
            "TCP_STREAM --flows 1 --warmup 500ms at {} Mbit/s: received, 10^6 bits/s",
            link.rate()
        );
        // A lost segment holds back what the receiver reads: at the edges that is a queue, whose
        // 300 ms are 10 % of the window.
        check(&claim, link.tcp_goodput(), told, Tolerance::Percent(12.0));
    });
}

#[test]
#[ignore = "nightly: a rate; a receiver that reads late counts too much or too little"]
fn a_short_run_of_datagrams_is_as_long_as_their_arrival_netns() {
    let link = Bottleneck::new(50_000, 300);
    let Some(bench) = flooded(link) else {
        return;
    };
    let options = "-t UDP_STREAM --time 200ms -- -m 1472 -s 4096 -k REMOTE_RECV_THROUGHPUT";
    let told = bench.run(options).values().number("REMOTE_RECV_THROUGHPUT");
    let claim = "UDP_STREAM --time 200ms, 300 ms of queue: received, 10^6 bits/s";
    // The bucket is up to 5 % of what arrives. A loaded machine reads the last of it late. The
    // time of sending would give 250 % of the truth.
    check(
        claim,
        link.udp_goodput(),
        told,
        Tolerance::Percents(20.0, 6.0),
    );
}

#[test]
#[ignore = "nightly: a rate; a receiver that reads late counts too much or too little"]
fn intervals_of_datagrams_have_what_arrived_netns() {
    let link = Bottleneck::new(2_000, 100);
    let Some(bench) = flooded(link) else {
        return;
    };
    let options = "-t UDP_STREAM -l 3 -D -0.5 --json -- -m 1472 -s 4096";
    let document = bench.run(options).document();
    let intervals = document["intervals"].as_array().expect("intervals");
    assert!(intervals.len() > 4, "{intervals:?}");
    let mut known = 0;
    for (number, interval) in intervals.iter().enumerate().skip(1) {
        let seconds = interval["elapsed_seconds"].as_f64().expect("a length");
        // The rest of the last interval may be short, and netserver on a loaded machine may
        // have recorded too little of one to tell.
        let told = interval["arrived_bits_per_second"].as_f64();
        let Some(told) = told.filter(|_| seconds > 0.4) else {
            continue;
        };
        known += 1;
        let claim = format!("UDP_STREAM -D -0.5, interval {number}: received, 10^6 bits/s");
        // A datagram is 1.2 % of an interval. A loaded machine reads late.
        check(
            &claim,
            link.udp_goodput(),
            told / 1e6,
            Tolerance::Percent(20.0),
        );
    }
    assert!(known > 1, "{intervals:?}");
}

#[test]
#[ignore = "nightly: a rate; a receiver that reads late counts too much or too little"]
fn a_window_with_a_stock_netserver_has_what_was_acknowledged_or_is_unknown_netns() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let link = Bottleneck::new(1_000, 300);
    let Some(bench) = Bench::with(link, &ours!(), &stock) else {
        return;
    };
    let options = "--warmup 500ms --time 3s -- -k THROUGHPUT";
    let tcp = format!("-t TCP_STREAM --flows 2 {options}");
    let told = bench.run(&tcp).values().number("THROUGHPUT");
    let claim = "TCP_STREAM --warmup, stock netserver, at 1 Mbit/s: acknowledged, 10^6 bits/s";
    check(
        claim,
        link.tcp_goodput(),
        told,
        Tolerance::Percents(6.0, 6.0),
    );
    datagrams_are_unknown(&bench, options);
}

/// A stock netserver tells the datagrams of a whole test alone.
fn datagrams_are_unknown(bench: &Bench, options: &str) {
    let udp = format!("-t UDP_STREAM --flows 2 -b 1 -w 20m {options} -m 1000");
    let finished = bench.client(&udp).run().expect_exit(0);
    let claim = "UDP_STREAM --warmup, stock netserver: unknown";
    let told = finished.values().number("THROUGHPUT");
    check(claim, -1.0, told, Tolerance::Exact);
    let account = finished.account();
    assert!(
        account.contains("the measured time is unknown"),
        "{account}"
    );
}

#[test]
fn a_window_of_datagrams_with_a_stock_netserver_is_unknown_netns() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let Some(bench) = Bench::with(Bottleneck::new(1_000, 300), &ours!(), &stock) else {
        return;
    };
    datagrams_are_unknown(&bench, "--warmup 200ms --time 300ms -- -k THROUGHPUT");
}

#[test]
fn interim_results_name_their_stage() {
    let server = ours!().serve();
    // A stage is long enough for a line of a busy machine.
    let options = "-t TCP_RR --rate 100 --flows 2 --warmup 1s --cooldown 1s --time 1s -D -0.1";
    let stdout = |options: &str| {
        let client = ours!().client_of(&server).args(options.split_whitespace());
        // A busy machine may be late, which has a line on standard error.
        client.run().expect_exit(0).stdout
    };
    let text = stdout(options);
    let lines = text.lines().filter(|line| line.starts_with("Interim"));
    let lines: Vec<&str> = lines.collect();
    let (first, last) = (lines.first(), lines.last());
    assert!(
        first.is_some_and(|line| line.contains("(warm-up")),
        "{text}"
    );
    assert!(
        last.is_some_and(|line| line.ends_with("cool-down)")),
        "{text}"
    );
    assert!(text.contains("measured"), "{text}");
    let plain = stdout("-t TCP_RR --rate 100 --time 300ms -D -0.1");
    assert!(!plain.contains("measured"), "{plain}");
}
