//! Requests without a response.

use std::thread;
use std::time::Duration;

use netperf_testkit::{Bottleneck, Finished, LinkHost, eventually};

use super::{Bench, Tolerance, at_once, check};

const FAST: Bottleneck = Bottleneck::new(100_000, 1000);
/// Requests of UDP_RR; end marks are empty.
const REQUESTS: &str = "udp length > 8";
/// A number of packets that no run reaches.
const ONCE: u32 = 1_000_000;

#[track_caller]
fn warns(finished: &Finished, words: &str) {
    assert!(finished.stderr.contains(words), "{}", finished.account());
}

#[test]
fn a_lost_datagram_stops_a_test_and_is_told_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    for flows in ["", "--flows 2"] {
        bench.link.lose(LinkHost::Server, REQUESTS, ONCE, &[3, 4]);
        let words = format!("-t UDP_RR -l 1 {flows} -- -k MAX_LATENCY,TRANSACTION_RATE");
        let finished = bench.client(&words).run().expect_exit(0);
        warns(&finished, "no response at the end of the test");
        warns(&finished, "unless -e gives up requests");
        // Three requests before the loss take less than 0.3 s, also on a loaded machine.
        let claim = format!("UDP_RR {flows}: the latency of a lost request lasts to the end");
        let longest = finished.values().number("MAX_LATENCY") / 1e6;
        check(&claim, 0.7, longest, Tolerance::AtLeast);
    }
}

#[test]
fn requests_that_are_given_up_are_counted_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    for flows in ["", "--flows 2"] {
        bench.link.lose(LinkHost::Server, REQUESTS, 50, &[49]);
        let words = format!("--json -t UDP_RR --count 120 {flows} -- --recv-timeout 1");
        let finished = bench.client(&words).run().expect_exit(0);
        warns(&finished, "within 1 s (-e)");
        let document = finished.document();
        let told = &document["iterations"][0]["local"]["unanswered_requests"];
        let told = told.as_f64().expect("a count");
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let lost = bench.link.lost() as f64;
        // A loaded machine may delay a response by more than the time-out.
        let claim = format!("UDP_RR -e {flows}: requests that were lost");
        check(&claim, lost, told, Tolerance::AtLeast);
        check(&claim, lost + 3.0, told, Tolerance::AtMost);
    }
}

#[test]
fn requests_at_a_rate_that_are_given_up_are_counted_and_replaced_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    for flows in ["", "--flows 2"] {
        // Silence follows: the last requests of every flow are lost.
        let row: Vec<u32> = (190..200).collect();
        bench.link.lose(LinkHost::Server, REQUESTS, ONCE, &row);
        let words =
            format!("--json -t UDP_RR --rate 1k --count 200 {flows} -- --recv-timeout 0.25");
        let finished = bench.client(&words).run().expect_exit(0);
        let document = finished.document();
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let rate = &document["rate"];
        let lost = number(&rate["unanswered_requests"]);
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let dropped = bench.link.lost() as f64;
        let claim = format!("UDP_RR --rate -e {flows}");
        // A loaded machine may delay a response by more than the time-out.
        let all = format!("{claim}: requests that were lost");
        check(&all, dropped, lost, Tolerance::AtLeast);
        let answered = number(&document["iterations"][0]["local"]["transactions"]);
        let all = format!("{claim}: transactions of the amount");
        check(&all, 200.0, answered, Tolerance::Exact);
        let all = format!("{claim}: requests with a response and without one");
        let sent = number(&rate["sent"]);
        check(&all, sent, answered + lost, Tolerance::Exact);
    }
}

/// More requests in a row than the number of a request of one byte can tell.
#[test]
#[ignore = "nightly: a median on a machine that is not busy"]
fn a_response_is_matched_with_its_request_after_a_row_of_losses_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    for (flows, size) in [("", 1), ("", 8), ("--flows 2", 8)] {
        let row: Vec<u32> = (100..500).collect();
        bench.link.lose(LinkHost::Server, REQUESTS, ONCE, &row);
        let words = format!("--json -t UDP_RR -l 2 --rate 1k -j {flows} -- -r {size},{size}");
        let finished = bench.client(&words).run().expect_exit(0);
        warns(&finished, "requests were lost");
        let document = finished.document();
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let rate = &document["rate"];
        let claim = format!("UDP_RR --rate of {size} bytes {flows}");
        // A full receive buffer drops more.
        let lost = number(&rate["unanswered_requests"]);
        check(
            &format!("{claim}: requests that were lost"),
            400.0,
            lost,
            Tolerance::AtLeast,
        );
        let answered = number(&document["iterations"][0]["local"]["transactions"]);
        let all = format!("{claim}: requests with a response and without one");
        check(
            &all,
            number(&rate["sent"]),
            answered + lost,
            Tolerance::Exact,
        );
        // A response that is taken for that of an earlier request reads 400 ms.
        let median = number(&document["latency"]["percentiles"][0]["nanoseconds"]) / 1e9;
        check(
            &format!("{claim}: the median after losses, s"),
            0.1,
            median,
            Tolerance::AtMost,
        );
    }
}

#[test]
fn a_peer_that_stops_is_seen_in_the_latency_netns() {
    peer_that_stops_is_seen(&["TCP_RR", "TCP_CRR --flows 2"]);
}

#[test]
#[ignore = "nightly: all kinds of transactions"]
fn a_peer_that_stops_is_seen_in_the_latency_of_every_test_netns() {
    peer_that_stops_is_seen(&["TCP_RR", "TCP_CRR", "TCP_RR --flows 2", "TCP_CRR --flows 2"]);
}

fn peer_that_stops_is_seen(tests: &[&str]) {
    at_once(tests, |test| {
        let Some(bench) = Bench::new(FAST) else {
            return;
        };
        let words = format!("-t {test} -l 4 -- -k MAX_LATENCY");
        let packets = || bench.link.arrived(LinkHost::Server).0;
        let before = packets();
        let running = bench.client(&words).spawn();
        let flows = eventually(Duration::from_secs(10), || packets() > before + 100);
        assert!(flows, "no transactions");
        bench.signal_sessions("STOP");
        // Until some time after the end: a response that comes then is late, or was given up.
        thread::sleep(Duration::from_millis(5500));
        bench.signal_sessions("CONT");
        let finished = running.finish().expect_exit(0);
        warns(&finished, "no response at the end of the test");
        // The transactions before take some 0.1 s, and more than 1 s on a loaded machine.
        let claim =
            format!("{test} of 4 s: the latency, where a peer stops soon, lasts to the end");
        let longest = finished.values().number("MAX_LATENCY") / 1e6;
        check(&claim, 0.5, longest, Tolerance::AtLeast);
    });
}

#[test]
#[ignore = "nightly: a signal within 2 s after an end"]
fn a_netserver_that_reads_nothing_at_the_end_is_told_netns() {
    at_once(&["", "--flows 2"], |flows| {
        let Some(bench) = Bench::new(FAST) else {
            return;
        };
        let words = format!("-t TCP_STREAM -l 5 {flows} -- -k MAX_LATENCY");
        let running = bench.client(&words).spawn();
        let flows_data = || bench.link.arrived(LinkHost::Server).0 > 200;
        assert!(eventually(Duration::from_secs(10), flows_data), "no data");
        bench.signal_sessions("STOP");
        // Until after the end, and less than 2 s after it, also if a loaded machine saw the data
        // a second late.
        thread::sleep(Duration::from_millis(5300));
        bench.signal_sessions("CONT");
        let finished = running.finish().expect_exit(0);
        warns(&finished, "netserver read nothing in the last ");
        if flows.is_empty() {
            // The receive buffer takes data for half a second.
            let longest = finished.values().number("MAX_LATENCY") / 1e6;
            let claim = "TCP_STREAM of 5 s: the time of a send, where netserver stops reading, s";
            check(claim, 1.5, longest, Tolerance::AtLeast);
        }
    });
}

/// netserver's kernel answers, and nothing moves. netperf once waited for 45 s.
#[test]
#[ignore = "nightly: ends are judged to 2 s"]
fn a_netserver_that_is_stopped_ends_a_stream_soon_netns() {
    at_once(&["", "--flows 2", "--bidirectional same"], |flows| {
        let Some(bench) = Bench::new(FAST) else {
            return;
        };
        let running = bench
            .client(&format!("--json -t TCP_STREAM -l 4 {flows}"))
            .spawn();
        let flows_data = || bench.link.arrived(LinkHost::Server).0 > 200;
        assert!(eventually(Duration::from_secs(10), flows_data), "no data");
        bench.signal_sessions("STOP");
        let finished = running.finish().expect_exit(1);
        bench.signal_sessions("CONT");
        // 2 s without progress and two time-outs of TCP; a loaded machine is 2 s late.
        let claim = format!("TCP_STREAM {flows} of 4 s ends after netserver stops, seconds");
        check(&claim, 9.0, finished.took.as_secs_f64(), Tolerance::AtMost);
        let document = finished.document();
        let told = document["partial"]["elapsed_seconds"].as_f64();
        let claim = format!("TCP_STREAM {flows} of 4 s: time of what was measured, seconds");
        // The alarm of a loaded machine is late; the wait for netserver takes 2 s more.
        check(
            &claim,
            4.0,
            told.expect("a figure"),
            Tolerance::Percents(1.0, 15.0),
        );
    });
}

/// The end of it, whenever that is, before the limit of a run.
#[test]
#[ignore = "nightly: half a minute of waiting for the result; chaos.rs stops the sessions of all kinds"]
fn a_netserver_that_is_stopped_ends_a_stream_as_a_failure_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    let running = bench.client("--json -t TCP_STREAM -l 1").spawn();
    let flows_data = || bench.link.arrived(LinkHost::Server).0 > 100;
    assert!(eventually(Duration::from_secs(10), flows_data), "no data");
    bench.signal_sessions("STOP");
    let finished = running.finish().expect_exit(1);
    bench.signal_sessions("CONT");
    let document = finished.document();
    let told = document["partial"]["elapsed_seconds"].as_f64();
    let claim = "TCP_STREAM of 1 s: time of what was measured where netserver stops, seconds";
    check(claim, 0.99, told.expect("a figure"), Tolerance::AtLeast);
}

/// Without numbers, each response after a loss counts for an earlier request.
#[test]
#[ignore = "nightly: a median of 20 ms"]
fn a_response_at_a_rate_belongs_to_its_request_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    for words in ["", "--flows 2", "-- -r 100,200", "-- -N"] {
        bench.link.lose(LinkHost::Server, REQUESTS, 20, &[10]);
        let words = format!("--json -t UDP_RR --rate 100 -l 2 {words}");
        let finished = bench.client(&words).run().expect_exit(0);
        let run = finished.document();
        let told = run["rate"]["unanswered_requests"].as_f64();
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let lost = bench.link.lost() as f64;
        let claim = format!("{words}: requests that were lost");
        check(&claim, lost, told.expect("a count"), Tolerance::Exact);
        // Some are in flight at the end, on a loaded machine more.
        let claim = format!("{words}: requests with a response");
        let sent = run["rate"]["sent"].as_f64().expect("a count");
        let answered = run["latency"]["count"].as_f64().expect("a count");
        let tolerance = Tolerance::Percents(5.0, 0.0);
        check(&claim, sent - lost, answered, tolerance);
        // Without numbers it is some 50 ms, the time of 5 requests.
        let all = run["latency"]["percentiles"]
            .as_array()
            .expect("percentiles");
        let median = all
            .iter()
            .find(|one| one["percent"] == 50.0)
            .expect("a median");
        let median = median["nanoseconds"].as_f64().expect("a time") / 1e6;
        check(
            &format!("{words}: P50 below 20 ms"),
            20.0,
            median,
            Tolerance::AtMost,
        );
    }
}

/// A path whose MTU is smaller than both ends know, and which does not tell them: small packets
/// pass, and full ones do not. The rest of the path is idle.
#[test]
#[ignore = "nightly: netperf infers from round trips that nothing else is on the path"]
fn a_path_that_loses_all_full_packets_is_a_failure_netns() {
    for (to, options) in [
        (LinkHost::Client, "-t TCP_MAERTS -l 3"),
        (LinkHost::Client, "-t TCP_MAERTS -l 3 --flows 2"),
        (LinkHost::Server, "-t TCP_STREAM -l 3"),
    ] {
        let Some(bench) = Bench::new(Bottleneck::new(10_000, 100)) else {
            return;
        };
        bench.link.lose(to, "ip length > 1200", 2, &[0, 1]);
        let finished = bench.client(options).run().expect_exit(1);
        assert!(bench.link.lost() > 0, "{}", finished.account());
        let stderr = &finished.stderr;
        assert!(stderr.contains("its MTU"), "{}", finished.account());
    }
}
