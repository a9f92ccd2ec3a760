//! Tests over slow links whose queues still hold data at the end of the time.

use netperf_testkit::{Bottleneck, Finished};

use super::{Bench, Tolerance, check};

/// The link is 1 Mbit/s, and 1 s of data fits into its queue.
const LINK: Bottleneck = Bottleneck::new(1000, 1000);
/// netperf waits 0.4 s for data on its way. netserver's results wait 1 s in the queue, and 1 s
/// more where the queue dropped them. A loaded machine is half a second late.
const AFTER: f64 = 2.9;

fn seconds(finished: &Finished) -> f64 {
    finished.took.as_secs_f64()
}

#[test]
fn a_receiving_test_ends_with_its_time_netns() {
    let Some(bench) = Bench::new(LINK) else {
        return;
    };
    let finished = bench.run("-t TCP_MAERTS -l 4 --json");
    check(
        "TCP_MAERTS ends with its time, seconds",
        4.0 + AFTER,
        seconds(&finished),
        Tolerance::AtMost,
    );
    let document = finished.document();
    let run = &document["iterations"][0];
    // The queue fills at the beginning, and the alarm may come late.
    let told = run["throughput_bytes_per_second"].as_f64();
    let told = told.expect("a figure") * 8e-6;
    check(
        "TCP_MAERTS tells the goodput of a link with a queue",
        LINK.tcp_goodput(),
        told,
        Tolerance::Percents(4.0, 1.0),
    );
    assert_eq!(document["warnings"][0]["code"], "queue_discarded");
    let count = |end: &str, name: &str| run[end][name].as_u64().expect("a count");
    assert!(count("remote", "sent_bytes") > count("local", "received_bytes"));
}

#[test]
fn both_directions_of_a_slow_connection_end_netns() {
    let link = Bottleneck::new(1000, 300);
    let Some(bench) = Bench::new(link) else {
        return;
    };
    let finished = bench.run("-l 3 --bidirectional same -- -k THROUGHPUT");
    // netperf's own data arrives within 6 s.
    check(
        "--bidirectional same ends within 6 s of its time, seconds",
        3.0 + 6.0 + AFTER,
        seconds(&finished),
        Tolerance::AtMost,
    );
    check(
        "--bidirectional same tells the goodput of both directions",
        2.0 * link.tcp_goodput(),
        finished.values().number("THROUGHPUT"),
        // Acknowledgements take 5 % and wait behind data, so that windows open slowly.
        Tolerance::Percents(30.0, 1.0),
    );
}

#[test]
fn flows_of_a_slow_link_end_with_their_time_netns() {
    let Some(bench) = Bench::new(LINK) else {
        return;
    };
    let finished = bench.run("-t TCP_MAERTS -l 4 --flows 3 --json");
    check(
        "TCP_MAERTS --flows 3 ends with its time, seconds",
        4.0 + AFTER,
        seconds(&finished),
        Tolerance::AtMost,
    );
    assert_eq!(
        finished.document()["warnings"][0]["code"],
        "queue_discarded"
    );
}
