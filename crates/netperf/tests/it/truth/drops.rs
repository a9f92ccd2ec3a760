//! Datagrams that the sender's own kernel drops were not sent.

use netperf_testkit::{Bottleneck, LinkHost};
use serde_json::Value;

use super::{Bench, Tolerance, check};

/// The device of the sender is the bottleneck, with a queue of a few frames.
const SLOW: &str = "tbf rate 10mbit burst 8k limit 8k";
/// The router drops nothing.
const FAST: Bottleneck = Bottleneck::new(100_000, 1000);

/// A flow marks its end with a few empty datagrams, and repeats them until the other end is
/// done. The kernel may drop those as well; they are not sends of the test.
const END_MARKS: f64 = 40.0;

fn slow(bench: &Bench, sender: LinkHost) {
    let script = format!("tc qdisc replace dev cable root {SLOW}");
    bench.link.shell(sender, &script);
}

fn run(bench: &Bench, options: &str) -> Value {
    let finished = bench.client(&format!("--json {options}")).run();
    finished.expect_clean().document()["iterations"][0].take()
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn count(value: &Value) -> f64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}")) as f64
}

/// Datagrams that a host's kernel has dropped for want of space in a queue.
fn errors(bench: &Bench, host: LinkHost) -> f64 {
    sum(bench, host, ["UdpSndbufErrors", "UdpLiteSndbufErrors"])
}

/// Datagrams that a receiver read too late.
fn overflows(bench: &Bench, host: LinkHost) -> f64 {
    sum(bench, host, ["UdpRcvbufErrors", "UdpLiteRcvbufErrors"])
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn sum(bench: &Bench, host: LinkHost, names: [&str; 2]) -> f64 {
    let counts = names.map(|name| bench.link.counter(host, name) as f64);
    counts.iter().sum()
}

/// The data that one end sends with these options equals the output of its kernel.
fn local_drops_are_failed_sends(bench: &Bench, options: &str) {
    let before = errors(bench, LinkHost::Client);
    let late = overflows(bench, LinkHost::Server);
    let run = run(bench, options);
    let dropped = errors(bench, LinkHost::Client) - before;
    let late = overflows(bench, LinkHost::Server) - late;
    assert!(dropped > 100.0, "{options}: the queue was never full");
    let (local, remote) = (&run["local"], &run["remote"]);
    let claim = format!("{options}: failed sends are SndbufErrors");
    let failed = count(&local["failed_sends"]);
    check(&claim, dropped, failed, Tolerance::Amount(END_MARKS));
    // A receiver that had to wait for a CPU may have dropped end marks as well.
    let tolerance = if late > 0.0 {
        Tolerance::Amount(END_MARKS)
    } else {
        Tolerance::Exact
    };
    let claim = format!("{options}: what was sent has arrived, or was dropped at a full socket");
    let arrived = count(&remote["recv_calls"]) + late;
    check(&claim, arrived, count(&local["send_calls"]), tolerance);
}

#[test]
fn datagrams_that_the_own_queue_drops_are_failed_sends_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    slow(&bench, LinkHost::Client);
    for options in [
        "-t UDP_STREAM --time 300ms -- -m 1472",
        "-t UDP_STREAM --time 300ms -- -n -m 1472",
        "-t UDP_STREAM --time 300ms --flows 4 -- -m 1472",
        "-t UDP_STREAM --time 300ms --batch 8 -- -m 1472",
        "-t UDP_STREAM --time 300ms --batch 8 --flows 2 -- -m 1472",
        "-t UDP_STREAM --time 300ms --io epoll -- -m 1472",
        "-t UDP_STREAM --time 300ms --io uring -- -m 1472",
        "-t UDP_STREAM --time 300ms --io uring --batch 8 -- -m 1472",
        "-t omni --time 300ms -- -T udplite -d send -m 1472",
    ] {
        local_drops_are_failed_sends(&bench, options);
    }
}

/// The requester keeps more responses in flight than fit into netserver's queue.
#[test]
fn a_response_that_the_own_queue_drops_is_sent_again_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    slow(&bench, LinkHost::Server);
    for options in [
        "-t UDP_RR --count 300 -- -r 20,1400 -b 60",
        "-t UDP_RR --count 300 --flows 2 -- -r 20,1400 -b 30",
        "-t UDP_RR --count 300 -- -N -r 20,1400 -b 60",
    ] {
        let before = errors(&bench, LinkHost::Server);
        let run = run(&bench, options);
        assert!(errors(&bench, LinkHost::Server) > before, "{options}");
        let claim = format!("{options}: each request is answered");
        let answered = count(&run["local"]["transactions"]);
        check(&claim, 300.0, answered, Tolerance::Exact);
    }
}

#[test]
fn a_rate_that_the_own_queue_cannot_carry_is_missed_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    slow(&bench, LinkHost::Client);
    let options = "--json -t UDP_STREAM --time 300ms --flows 4 --rate 40M -- -m 1472";
    let document = bench.client(options).run().document();
    let warnings = document["warnings"].as_array().expect("warnings");
    assert!(
        warnings.iter().any(|one| one["code"] == "rate_missed"),
        "{document}"
    );
}

/// A queue that drops its oldest packet lets the call that sends another succeed.
#[test]
fn drops_that_no_call_reports_are_named_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    slow(&bench, LinkHost::Client);
    let oldest = "tc qdisc replace dev cable parent 1: handle 2: pfifo_head_drop limit 5";
    let script = format!("tc qdisc replace dev cable root handle 1: {SLOW}; {oldest}");
    bench.link.shell(LinkHost::Client, &script);
    let document = bench
        .client("--json -t UDP_STREAM --time 300ms -- -m 1472")
        .run()
        .document();
    let run = &document["iterations"][0];
    assert_eq!(count(&run["local"]["failed_sends"]), 0.0, "{run}");
    let warnings = document["warnings"].as_array().expect("warnings");
    let named = |one: &Value| {
        one["message"]
            .as_str()
            .is_some_and(|text| text.contains("cable"))
    };
    assert!(warnings.iter().any(named), "{document}");
}

#[test]
fn drops_of_netservers_queue_are_reported_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    slow(&bench, LinkHost::Server);
    for options in [
        "-t UDP_STREAM --bidirectional same --time 300ms --flows 2 -- -m 1472,1472",
        "-t omni --time 300ms -- -T udp -d recv -m ,1472",
    ] {
        let before = errors(&bench, LinkHost::Server);
        let told = run(&bench, options);
        let dropped = errors(&bench, LinkHost::Server) - before;
        assert!(dropped > 100.0, "{options}: the queue was never full");
        let claim = format!("{options}: netserver's failed sends are its SndbufErrors");
        let failed = count(&told["remote"]["failed_sends"]);
        check(&claim, dropped, failed, Tolerance::Amount(END_MARKS));
    }
}
