//! Counts, against counters of the kernel and packets that are dropped by number.

use netperf_testkit::{Bottleneck, LinkHost, ours};
use serde_json::Value;

use super::{Bench, Tolerance, check};

fn float(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("few"))
}

fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn figures_of_json_are_in_their_units_whatever_the_unit_of_the_table_is() {
    let server = ours!().serve();
    for unit in ["b", "K", "u"] {
        let options = format!("-t TCP_STREAM --time 100ms -f {unit} --json");
        let client = ours!().client_of(&server).args(options.split(' '));
        let document = client.run().expect_clean().document();
        let run = &document["iterations"][0];
        let bytes = run["remote"]["received_bytes"].as_f64().expect("a count");
        let seconds = run["elapsed_seconds"].as_f64().expect("a time");
        let told = document["result"]["throughput_bits_per_second"].as_f64();
        check(
            &format!(
                "TCP_STREAM -f {unit} --json: bits per second are those of the bytes received"
            ),
            bytes * 8.0 / seconds,
            told.expect("a figure"),
            // The time of the run has another resolution.
            Tolerance::Percent(0.1),
        );
    }
}

#[test]
fn numbered_datagrams_that_are_lost_are_those_that_the_router_dropped_netns() {
    let Some(bench) = Bench::new(Bottleneck::new(10_000, 500)) else {
        return;
    };
    // Datagrams are above 100 bytes; messages of the end of a test are not.
    let dropped = [3, 4, 5, 50, 99];
    bench
        .link
        .lose(LinkHost::Server, "udp length > 100", 100, &dropped);
    // All fit into a receive buffer, whenever netserver reads it.
    let names = "LOCAL_SEND_CALLS,UDP_RECEIVED,UDP_LOST,UDP_DUPLICATED,UDP_REORDERED";
    let options = format!("-t UDP_STREAM -l 2 -b 1 -w 10ms --sequence -- -m 200 -k {names}");
    let values = bench.run(&options).values();
    let told = |name: &str| values.number(name);
    let lost = float(bench.link.lost());
    check("--sequence: lost", lost, told("UDP_LOST"), Tolerance::Exact);
    let received = told("LOCAL_SEND_CALLS") - lost;
    check(
        "--sequence: received",
        received,
        told("UDP_RECEIVED"),
        Tolerance::Exact,
    );
    check(
        "--sequence: reordered",
        0.0,
        told("UDP_REORDERED"),
        Tolerance::Exact,
    );
    check(
        "--sequence: duplicated",
        0.0,
        told("UDP_DUPLICATED"),
        Tolerance::Exact,
    );
}

#[test]
fn retransmissions_are_those_of_the_kernel_netns() {
    let Some(bench) = Bench::new(Bottleneck::new(20_000, 100)) else {
        return;
    };
    // Full frames of data only, never the control connection.
    bench
        .link
        .lose(LinkHost::Server, "ip length 1500", 200, &[10, 11, 120]);
    let before = bench.link.counter(LinkHost::Client, "TcpRetransSegs");
    let options = "-t TCP_STREAM -l -3M -- -k LOCAL_TRANSPORT_RETRANS";
    let told = bench
        .run(options)
        .values()
        .number("LOCAL_TRANSPORT_RETRANS");
    let kernel = bench.link.counter(LinkHost::Client, "TcpRetransSegs") - before;
    assert!(kernel > 10, "{kernel} retransmissions tell nothing");
    // Retransmissions after netperf's reading are not in its count.
    let claim = "TCP_STREAM with 1.5 % loss: retransmissions";
    check(claim, float(kernel), told, Tolerance::Amount(3.0));
}

#[test]
fn the_intervals_of_transactions_add_up_to_the_total_netns() {
    for test in ["TCP_RR", "UDP_RR"] {
        let Some(bench) = Bench::new(Bottleneck::new(10_000, 50)) else {
            return;
        };
        let options = format!("-t {test} --time 1s -D -0.2 --json");
        let document = bench.run(&options).document();
        let intervals = document["intervals"].as_array().expect("intervals");
        let sum: u64 = intervals
            .iter()
            .map(|one| count(&one["transactions"]))
            .sum();
        let total = count(&document["iterations"][0]["local"]["transactions"]);
        let claim = format!("{test} -D: sum of the transactions of all intervals");
        check(&claim, float(total), float(sum), Tolerance::Exact);
    }
}

/// Jain's index of fairness.
fn fairness(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (f64::from(u32::try_from(shares.len()).expect("few")) * squares)
}

/// Counts of packets in the listing of a set with a counter for each element.
fn counters(listed: &str) -> Vec<f64> {
    let counts = listed.split(" counter packets ").skip(1);
    let counts = counts.map(|rest| rest.split_whitespace().next()?.parse().ok());
    let counts: Option<_> = counts.collect();
    counts.unwrap_or_else(|| panic!("counters: {listed}"))
}

#[test]
fn each_flow_received_as_many_datagrams_as_the_kernel_counted_netns() {
    let Some(bench) = Bench::new(Bottleneck::new(10_000, 100)) else {
        return;
    };
    let rules = "nft 'table inet count {
            set flows { type inet_service; flags dynamic; counter; }
            chain input {
                type filter hook input priority filter;
                udp length > 100 add @flows { udp sport }
            }
        }'";
    bench.link.shell(LinkHost::Server, rules);
    bench
        .link
        .client_egress("tbf rate 20mbit burst 20000 limit 4000000");
    // Less than a receive buffer of each flow, whenever netserver reads it.
    let options = "-t UDP_STREAM --time 150ms --flows 4 --json -- -m 1000";
    let document = bench.run(options).document();
    let listed = bench
        .link
        .shell(LinkHost::Server, "nft list set inet count flows");
    let kernel = counters(&listed);
    let flows = &document["iterations"][0]["flows"];
    let each = flows["each"].as_array().expect("flows");
    assert_eq!((each.len(), kernel.len()), (4, 4), "{flows} {listed}");
    let sorted = |mut counts: Vec<f64>| {
        counts.sort_by(f64::total_cmp);
        counts
    };
    let kernel = sorted(kernel);
    let told = each
        .iter()
        .map(|flow| float(count(&flow["remote_received_bytes"])));
    for (number, (packets, told)) in (1..).zip(kernel.iter().zip(sorted(told.collect()))) {
        let claim = format!("UDP_STREAM --flows 4: bytes received, flow {number} in order of size");
        check(&claim, packets * 1000.0, told, Tolerance::Exact);
    }
    let told = flows["remote_fairness"].as_f64().expect("an index");
    let claim = "UDP_STREAM --flows 4: fairness at the receiver";
    check(claim, fairness(&kernel), told, Tolerance::Amount(0.001));
}

#[test]
fn transactions_are_the_frames_that_crossed_the_link_netns() {
    let Some(bench) = Bench::new(Bottleneck::new(10_000, 50)) else {
        return;
    };
    // One byte of data behind the header of 8 bytes.
    let rules = "nft 'table inet count {
            chain input {
                type filter hook input priority filter;
                meta l4proto udp udp length 9 counter
            }
        }'";
    bench.link.shell(LinkHost::Server, rules);
    let options = "-t UDP_RR --time 500ms -- -k LOCAL_RECV_CALLS";
    let told = bench.run(options).values().number("LOCAL_RECV_CALLS");
    let listed = bench
        .link
        .shell(LinkHost::Server, "nft list table inet count");
    // The last request may have no response.
    let claim = "UDP_RR: transactions";
    check(claim, counters(&listed)[0], told, Tolerance::Amount(1.0));
}
