//! Runs with `--until` on links of constant rate.

use netperf_testkit::{Bottleneck, machine, note};
use serde_json::Value;

use super::{Bench, Tolerance, at_once, check};

/// Slow links, with queues that TCP fills and empties.
const LINKS: [Bottleneck; 3] = [
    Bottleneck::new(1_000, 300),
    Bottleneck::new(2_000, 100),
    Bottleneck::new(10_000, 60),
];

/// Three times the shortest run of 6 s that the rule judges. By theory, the rate is then known
/// to within two segments, or 0.4 % at 1 Mbit/s.
const LONGEST: f64 = 18.0;

/// The interval of the mean is 1 %, and covers the truth 95 times of 100: twice that.
const TOLERANCE: Tolerance = Tolerance::Percent(2.0);

#[test]
#[ignore = "nightly: three runs of up to 40 s on each link"]
fn a_constant_link_is_soon_known_netns() {
    let _machine = machine::whole();
    at_once(&LINKS, |link| {
        let Some(bench) = Bench::new(*link) else {
            return;
        };
        let claim = |what| format!("--until 1% at {} Mbit/s: {what}", link.rate());
        // A host that is busy for seconds keeps one run from its precision; its warning says so.
        let run = || {
            let words = "-t TCP_STREAM -l 40 --until 1% --json";
            let finished = bench.client(words).run();
            note(&finished.account());
            let document = finished.expect_exit(0).document();
            let until = &document["until"];
            let is_reached = until["end"] == "reached";
            let unmet = |warning: &Value| warning["code"] == "imprecise";
            let warned = document["warnings"]
                .as_array()
                .is_some_and(|all| all.iter().any(unmet));
            assert_ne!(is_reached, warned, "{document}");
            let rate = until["throughput"]["value"].as_f64().expect("a rate");
            let claim = claim("goodput, 10^6 bits/s");
            check(&claim, link.tcp_goodput(), rate, TOLERANCE);
            assert_eq!(until["course"], "stable", "{until}");
            (until["seconds"].as_f64().expect("a time"), is_reached)
        };
        let mut runs = [(); 3].map(|()| run());
        runs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let reached = runs.iter().filter(|one| one.1).count();
        let median = runs[1].0;
        assert!(reached >= 2, "{reached} of 3 runs reached their precision");
        let claim = claim("duration, median of 3, s");
        check(&claim, LONGEST, median, Tolerance::AtMost);
    });
}
