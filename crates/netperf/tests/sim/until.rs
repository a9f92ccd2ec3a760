//! Going on until figures are known: the run ends before its time, and both ends count the same.
//! The rule itself is tested with the values that it judges.

use netperf_testkit::documents::{assert_reached, assert_same_at_both_ends, number};
use netperf_testkit::sim::{self, SimRun};
use netperf_testkit::{SimLink, SimProcess, Simulation, ours};
use serde_json::Value;

use crate::links::stock;

/// The longest time: a judgement takes about half of it at least.
const LONGEST: &str = "5s";
const LONGEST_SECONDS: f64 = 5.0;

/// netperf with these words and a netserver.
fn simulated(server: SimProcess, words: &str) -> SimRun {
    let words = format!("-4 -H server --json {words}");
    let client = SimProcess::new(&ours!().netperf, &words);
    let run = Simulation::of_two(SimLink::lossless(100, 1), server, client).run();
    let status = run.of("client").end.status();
    assert_eq!(status, Some(0), "{}", run.account());
    run
}

fn server() -> SimProcess {
    SimProcess::new(&ours!().netserver, "-D -4 --log json")
}

fn document(run: &SimRun) -> Value {
    serde_json::from_str(&run.of("client").stdout).expect("a document")
}

fn codes(document: &Value) -> Vec<&str> {
    let all = document["warnings"].as_array().expect("warnings");
    all.iter().filter_map(|one| one["code"].as_str()).collect()
}

/// A run of which so little is asked that it ends as soon as it is judged.
fn reached_with(server: SimProcess, words: &str) -> (Value, SimRun) {
    let run = simulated(server, &format!("--time {LONGEST} --until 90% {words}"));
    let document = document(&run);
    assert_reached(&document, LONGEST_SECONDS, &run.account());
    (document, run)
}

fn reached(words: &str) -> Value {
    reached_with(server(), words).0
}

#[test]
fn stream_ends_before_its_time_and_every_byte_of_it_arrives() {
    if !sim::available() {
        return;
    }
    let document = reached("-t TCP_STREAM --rate 20M");
    assert_same_at_both_ends(&document, "sent_bytes", "received_bytes");
    // netserver was told the longest time, and measured the real one.
    let elapsed = number(&document["iterations"][0]["remote"]["elapsed_seconds"]);
    assert!(elapsed < LONGEST_SECONDS, "{elapsed}");
}

/// A percentile that was asked for has its interval, wide as it may be here.
fn with_percentiles(words: &str) -> Value {
    let run = simulated(server(), &format!("--time 1500ms {words}"));
    let document = document(&run);
    let all = document["until"]["percentiles"].as_array();
    for one in all.expect("percentiles") {
        let seconds = &one["seconds"];
        let value = number(&seconds["value"]);
        assert!(value > 0.0, "{}", run.account());
        assert!((0.0..10_000.0 * value).contains(&number(&seconds["half_width"])));
        assert!(seconds["batches"].as_u64() >= Some(15), "{seconds}");
    }
    document
}

#[test]
fn percentiles_are_printed_with_their_intervals_whoever_keeps_the_times() {
    if !sim::available() {
        return;
    }
    let document = with_percentiles("-t TCP_RR --until 1%,p50,p90 -b 2 -w 2ms");
    assert_same_at_both_ends(&document, "transactions", "transactions");
    let all = document["until"]["percentiles"].as_array();
    let percents = all.expect("percentiles").iter();
    let percents: Vec<f64> = percents.map(|one| number(&one["percent"])).collect();
    assert_eq!(percents, [50.0, 90.0]);
    with_percentiles("-t TCP_RR --until 1%,p50 --flows 4 --threads 2 -b 2 -w 2ms");
    with_percentiles("-t TCP_RR --until 1%,p50 --rate 1k");
}

#[test]
fn datagrams_end_before_their_time() {
    if !sim::available() {
        return;
    }
    reached("-t UDP_RR --rate 1k");
    reached("-t UDP_STREAM --rate 20M -- -m 1000");
}

#[test]
fn many_flows_end_before_their_time() {
    if !sim::available() {
        return;
    }
    let paced = "--flows 4 --threads 2 -b 1 -w 20ms";
    let document = reached(&format!("-t TCP_STREAM {paced}"));
    assert_same_at_both_ends(&document, "sent_bytes", "received_bytes");
    let document = reached(&format!("-t TCP_RR {paced}"));
    assert_same_at_both_ends(&document, "transactions", "transactions");
}

#[test]
fn datagrams_that_netserver_alone_sends_end_before_their_time() {
    if !sim::available() {
        return;
    }
    let document = reached("-t OMNI --rate 5M -- -d recv -T udp -m ,1000");
    let iteration = &document["iterations"][0];
    let (came, went) = (
        number(&iteration["local"]["received_bytes"]),
        number(&iteration["remote"]["sent_bytes"]),
    );
    assert!(came > 0.0 && came <= went, "{came} of {went}");
    // It heard of the end, and did not go on for as long as it was told at first.
    assert!(number(&iteration["remote"]["elapsed_seconds"]) < LONGEST_SECONDS);
}

#[test]
fn data_both_ways_ends_before_its_time() {
    if !sim::available() {
        return;
    }
    let paced = "--bidirectional same -b 1,1 -w 20ms,20ms";
    let document = reached(&format!("-t TCP_STREAM {paced} -- -m 4K,4K"));
    assert_same_at_both_ends(&document, "received_bytes", "sent_bytes");
    assert_same_at_both_ends(&document, "sent_bytes", "received_bytes");
}

#[test]
fn longest_time_that_is_over_ends_what_netserver_alone_sends_as_ever() {
    if !sim::available() {
        return;
    }
    let words = "--time 1s -t TCP_MAERTS --rate 4M --until 0.0001%";
    let document = document(&simulated(server(), words));
    assert_ne!(document["until"]["end"], "reached", "{document}");
    assert!(codes(&document).contains(&"imprecise"), "{document}");
    assert_same_at_both_ends(&document, "received_bytes", "sent_bytes");
}

#[test]
fn requests_at_a_rate_end_before_their_time() {
    if !sim::available() {
        return;
    }
    let document = reached("-t TCP_RR --rate 1k");
    let rate = number(&document["until"]["throughput"]["value"]);
    assert!((rate - 1000.0).abs() < 10.0, "{rate}");
}

#[test]
fn netserver_of_another_make_sees_the_end_by_the_data_connection() {
    if !sim::available() {
        return;
    }
    let stock = || SimProcess::new(&stock("netserver"), "-D -4");
    let (document, _) = reached_with(stock(), "-t TCP_STREAM --rate 20M");
    assert_same_at_both_ends(&document, "sent_bytes", "received_bytes");
    reached_with(stock(), "-t UDP_STREAM --rate 20M -- -m 1000");
    let (document, _) = reached_with(stock(), "-t TCP_RR --rate 1k");
    assert_same_at_both_ends(&document, "transactions", "transactions");
}
