//! Throughput of links whose rate is known.

use netperf_testkit::Bottleneck;

use super::{Bench, Tolerance, check};

/// A run of 4 seconds. The bucket adds 10 ms of the rate, which is 0.25 %, and two frames are
/// 0.6 % at 1 Mbit/s; TCP starts in less than a tenth of a second.
const TOLERANCE: Tolerance = Tolerance::Percents(3.0, 1.0);

#[test]
fn tcp_fills_a_link_netns() {
    for kbit in [10_000, 50_000] {
        let link = Bottleneck::new(kbit, 30);
        let Some(bench) = Bench::new(link) else {
            return;
        };
        let values = bench.run("-t TCP_STREAM -l 4 -- -k THROUGHPUT").values();
        let claim = format!("TCP_STREAM tells the goodput of {} Mbit/s", link.rate());
        let told = values.number("THROUGHPUT");
        check(&claim, link.tcp_goodput(), told, TOLERANCE);
    }
}
