//! Runs with `--until` on links of constant rate.

use netperf_testkit::Bottleneck;

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
    at_once(&LINKS, |link| {
        let Some(bench) = Bench::new(*link) else {
            return;
        };
        let claim = |what| format!("--until 1% at {} Mbit/s: {what}", link.rate());
        // A host that is busy for seconds keeps one run from its precision.
        let mut times = [(); 3].map(|()| {
            let document = bench
                .run("-t TCP_STREAM -l 40 --until 1% --json")
                .document();
            let until = &document["until"];
            let rate = until["throughput"]["value"].as_f64().expect("a rate");
            let claim = claim("goodput, 10^6 bits/s");
            check(&claim, link.tcp_goodput(), rate, TOLERANCE);
            assert_eq!(until["course"], "stable", "{until}");
            until["seconds"].as_f64().expect("a time")
        });
        times.sort_by(f64::total_cmp);
        let claim = claim("duration, median of 3, s");
        check(&claim, LONGEST, times[1], Tolerance::AtMost);
    });
}
