//! The quality of a path: the side that queues, and the direction in which probes are lost.

use std::time::Duration;

use netperf_testkit::{Bottleneck, Finished, Invocation, LinkHost, RoutedLink, note, ours};
use serde_json::Value;

use super::{Bench, Tolerance, check};

/// A link with a queue of so many milliseconds in one direction, and a hundredth of that in the
/// other one.
const SLOW: Bottleneck = Bottleneck::new(10_000, 200);
/// A direction without a queue that counts.
const FAST: Bottleneck = Bottleneck::new(40_000, 10);

/// A check at the client, with options in one line.
fn quality(bench: &Bench, options: &str) -> Finished {
    let port = bench.server.port().to_string();
    let finished = Invocation::new(&ours!().netperf)
        .args([
            "check",
            RoutedLink::SERVER_V4,
            "-p",
            &port,
            "--no-history",
            "--json",
        ])
        .args(options.split_whitespace())
        .within(&bench.link.place(LinkHost::Client))
        .patience(Duration::from_secs(90))
        .run();
    note(&finished.account());
    finished
}

fn summary(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{}", finished.account()))
}

fn phase<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let phases = summary["phases"].as_array().expect("phases");
    let found = phases.iter().find(|phase| phase["phase"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {summary}"))
}

/// The queue is a fifth of a second, and any other delay some milliseconds of a loaded machine.
#[test]
fn the_side_that_queues_is_the_one_with_the_bottleneck_netns() {
    std::thread::scope(|scope| {
        for (slow, side) in [(LinkHost::Server, "up"), (LinkHost::Client, "down")] {
            scope.spawn(move || queue_is_found(slow, side));
        }
    });
}

fn queue_is_found(slow: LinkHost, side: &str) {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    bench.link.set(slow, SLOW);
    // Each direction alone is judged by its own phase.
    let words = "--length 4s --profile phases --congestion reno";
    let summary = summary(&quality(&bench, words).expect_exit(0));
    let loaded = phase(&summary, side);
    assert_eq!(loaded["queue"], side, "{loaded}");
    let latency = &loaded["latency"][0];
    let way = |name: &str| latency[name]["p50_seconds"].as_f64().unwrap_or(f64::NAN);
    let (own, other) = match side {
        "up" => (way("up_increase"), way("down_increase")),
        _ => (way("down_increase"), way("up_increase")),
    };
    assert!(own > 4.0 * other.abs(), "{side}: {own} and {other}");
    let answer = summary["answer"].as_str().unwrap_or_default();
    assert!(answer.contains(&format!("on the way {side}")), "{answer}");
}

/// Probes are datagrams of 60 bytes, and nothing else of a check is one.
const PROBES: &str = "udp length 68";

#[test]
fn lost_probes_are_counted_in_the_direction_in_which_they_were_lost_netns() {
    for (to, lost, other) in [
        (LinkHost::Server, "up_loss", "down_loss"),
        (LinkHost::Client, "down_loss", "up_loss"),
    ] {
        let Some(bench) = Bench::new(FAST) else {
            return;
        };
        bench.link.lose(to, PROBES, 50, &[20, 41]);
        // A load that no queue drops.
        let words = "--length 1s --profile rrul_be --load udp:400k";
        let summary = summary(&quality(&bench, words).expect_exit(0));
        let phases = summary["phases"].as_array().expect("phases");
        let count = |way: &str| -> f64 {
            let each = phases
                .iter()
                .map(|phase| phase["latency"][0][way]["lost"].as_f64());
            each.map(|lost| lost.expect("a count")).sum()
        };
        let claim = format!("{lost} of probes is what the router dropped");
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let dropped = bench.link.lost() as f64;
        check(&claim, dropped, count(lost), Tolerance::Exact);
        let claim = format!("{other} of probes is nothing");
        check(&claim, 0.0, count(other), Tolerance::Exact);
    }
}

/// Datagrams at a hundredth of the rate of the link.
#[test]
fn a_link_that_was_not_filled_has_no_grade_and_the_reason_netns() {
    let Some(bench) = Bench::new(Bottleneck::new(40_000, 100)) else {
        return;
    };
    let words = "--length 1s --profile rrul_be --load udp:400k --expect F";
    let finished = quality(&bench, words).expect_exit(1);
    let summary = summary(&finished);
    let both = phase(&summary, "both");
    let reason = both["not_filled"].as_str().unwrap_or_default();
    assert!(reason.contains("the rate that was asked for"), "{both}");
    assert_eq!(summary["verdict"]["grade"], Value::Null, "{summary}");
    assert!(
        finished.stderr.contains("the grade is unknown"),
        "{}",
        finished.account()
    );
}

/// Classes with a codepoint that the router clears on the way up.
#[test]
fn a_cleared_codepoint_is_named_with_its_direction_netns() {
    let Some(bench) = Bench::new(FAST) else {
        return;
    };
    let rules = "nft add table ip clear; \
                 nft 'add chain ip clear forward { type filter hook forward priority mangle; }'; \
                 nft add rule ip clear forward oifname server ip dscp set cs0";
    bench.link.shell(LinkHost::Router, rules);
    let words = "--length 300ms --profile rrul --classes be,ef --load udp:1M";
    let summary = summary(&quality(&bench, words).expect_exit(0));
    let ef = &phase(&summary, "idle")["latency"][1];
    assert_eq!(ef["up_dscp"]["fate"], "bleached", "{ef}");
    assert_eq!(ef["down_dscp"]["fate"], "kept", "{ef}");
}
