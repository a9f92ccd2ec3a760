//! Figures of runs in which data is lost, stopped, counted or late at the end.

use std::thread;
use std::time::Duration;

use netperf_testkit::{Bottleneck, LinkHost, machine};
use serde_json::Value;

use super::{Bench, Tolerance, check};

const FAST: Bottleneck = Bottleneck::new(100_000, 1000);
const SLOW: Bottleneck = Bottleneck::new(2_000, 300);
/// Datagrams of UDP_STREAM; end marks are empty.
const DATA: &str = "udp length > 8";

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn number(value: &Value) -> f64 {
    let count = value.as_u64().map(|count| count as f64);
    count.or(value.as_f64()).expect("a number")
}

#[test]
#[ignore = "nightly: a run of 20 s"]
fn until_judges_datagrams_by_those_that_arrive_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    bench.link.lose(LinkHost::Server, DATA, 5, &[3]);
    let words = "-t UDP_STREAM --rate 2M --until 5% --time 20 --json -- -m 1000";
    let document = bench.client(words).run().expect_exit(0).document();
    let until = &document["until"];
    assert_eq!(until["end"], "reached", "{until}");
    let claim = "--until 5% of 2 Mbit/s of which a fifth is lost: throughput, 10^6 bits/s";
    let rate = number(&until["throughput"]["value"]);
    check(claim, 1.6, rate, Tolerance::Percent(5.0));
}

#[test]
fn a_stop_of_netserver_at_the_end_has_a_warning_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    let mut running = bench
        .client("-t UDP_STREAM -l 3 -b 10 -w 1 -D 0.2 -- -m 1000")
        .spawn();
    assert!(running.prints("Interim result", Duration::from_secs(20)));
    bench.signal_sessions("STOP");
    // Until netperf's time is over.
    thread::sleep(Duration::from_secs(3));
    bench.signal_sessions("CONT");
    let finished = running.finish();
    let warnings = finished.stderr.matches("nothing arrived at netserver for");
    let warnings = f64::from(u32::try_from(warnings.count()).expect("few"));
    let claim = "UDP_STREAM: warnings about a netserver that stands at the end";
    check(claim, 1.0, warnings, Tolerance::Exact);
}

#[test]
fn datagrams_of_an_amount_are_exact_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    let words = "-t UDP_STREAM --flows 3 --count 1000 --json -- -m 1";
    let document = bench.run(words).document();
    let sent = number(&document["iterations"][0]["local"]["sent_bytes"]);
    let claim = "UDP_STREAM --flows 3 --count 1000: bytes sent";
    check(claim, 1000.0, sent, Tolerance::Exact);
}

#[test]
fn interim_results_add_up_over_a_queue_netns() {
    let Some(bench) = Bench::new(SLOW) else {
        return;
    };
    for test in ["TCP_STREAM", "TCP_STREAM --flows 2"] {
        let words = format!("-t {test} -D 0.5 -l 2 --json");
        let document = bench.run(&words).document();
        let lines = document["intervals"].as_array().expect("intervals");
        let arrived: f64 = lines
            .iter()
            .map(|line| number(&line["arrived_bytes"]))
            .sum();
        let sent = number(&document["iterations"][0]["local"]["sent_bytes"]);
        let claim = format!("{test} at 2 Mbit/s: bytes of all interim results");
        // The last line may be too short to be shown.
        check(&claim, sent, arrived, Tolerance::Percent(5.0));
    }
}

/// The figure of a run that is interrupted after some seconds, 10^6 bits/s.
fn interrupted(bench: &Bench, options: &str) -> f64 {
    let words = format!("-l 60 -D 0.5 {options}");
    let mut running = bench.client(&words).spawn();
    assert!(running.prints("NETPERF_INTERIM_RESULT", Duration::from_secs(20)));
    thread::sleep(Duration::from_secs(4));
    running.signal("INT");
    let selected = options.rsplit(' ').next().expect("a selector");
    running.finish().values().number(selected)
}

#[test]
#[ignore = "nightly: the rate of a link"]
fn interrupted_runs_have_the_rate_of_the_link_netns() {
    let _machine = machine::whole();
    // The processors may be late at the beginning and at the end.
    let tolerance = Tolerance::Percents(3.0, 2.0);
    let datagrams = "-t UDP_STREAM -- -m 1472 -s 4096 -k REMOTE_RECV_THROUGHPUT";
    for (options, truth) in [
        (datagrams, SLOW.udp_goodput()),
        ("-t TCP_STREAM -- -k THROUGHPUT", SLOW.tcp_goodput()),
        ("-t TCP_MAERTS -- -k THROUGHPUT", SLOW.tcp_goodput()),
    ] {
        let Some(bench) = Bench::new(SLOW) else {
            return;
        };
        // The device of the client blocks the sender of datagrams at three times the rate.
        let bucket = format!("tbf rate {}kbit burst 20000 limit 2000000", 3 * SLOW.kbit);
        bench.link.client_egress(&bucket);
        let claim = format!("{options}, interrupted: 10^6 bits/s at 2 Mbit/s");
        check(&claim, truth, interrupted(&bench, options), tolerance);
    }
}
