//! Exactness of the clocks of agents, and of the common begin of loads. Both
//! depend on the speed of the machine: `just campaign-clocks` runs optimised programs on an idle one.

use netperf_testkit::{machine, note};

use crate::campaign_hosts::CampaignHosts;
use crate::truth::campaigns::{many_skews, offsets, percentile};

#[test]
#[ignore = "nightly: 1,024 synchronisations on an idle machine"]
fn offsets_of_the_clocks_of_32_agents_are_exact_to_microseconds_netns() {
    let _machine = machine::whole();
    let Some(hosts) = CampaignHosts::in_other_times(32) else {
        return;
    };
    let all: Vec<_> = (0..32).flat_map(|_| offsets(&hosts)).collect();
    let mut bounds: Vec<f64> = all.iter().map(|(_, bound)| bound * 1e6).collect();
    let mut errors: Vec<f64> = all.iter().map(|(error, _)| error * 1e6).collect();
    let late = percentile(&mut errors, 99);
    note(&format!(
        "errors of offsets: P50 {:.1} us, P99 {late:.1} us; bounds: P50 {:.1} us",
        percentile(&mut errors, 50),
        percentile(&mut bounds, 50)
    ));
    assert!(late <= 5.0, "P99 {late} us");
}

#[test]
#[ignore = "nightly: the skew of 32 loads on an idle machine"]
fn windows_of_many_hosts_begin_together_netns() {
    let _machine = machine::whole();
    for (count, pattern, most) in [(4, "mesh", 1.0), (32, "ring", 3.0)] {
        let Some(late) = many_skews(count, pattern) else {
            return;
        };
        let mut late: Vec<f64> = late.iter().map(|(late, _)| late * 1e3).collect();
        let most_late = percentile(&mut late, 99);
        note(&format!(
            "{count} hosts: P50 {:.3} ms, P99 {most_late:.3} ms",
            percentile(&mut late, 50)
        ));
        assert!(most_late <= most, "P99 {most_late} ms");
    }
}
