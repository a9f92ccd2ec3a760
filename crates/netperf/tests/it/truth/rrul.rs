//! flent's rrul_be, eight streams and four pings, on slow links with long queues.

use std::time::Duration;

use netperf_testkit::{Bottleneck, LinkHost, RoutedLink, Scratch, machine, note, ours, peers};

use super::{Bench, SLOW_LINKS, Tolerance, at_once, check, shown};
use crate::flent::{self, RRUL_BE};

/// Runs on each link.
const RUNS: u32 = 5;

/// Runs flent's rrul_be some times. All runs but `spare` have no warning, and all series.
fn flent_is_content(link: &Bottleneck, runs: u32, spare: f64, seconds: &str) {
    let (Some(flent), Some(bench)) = (peers::flent(), Bench::new(*link)) else {
        return;
    };
    let mut content = 0;
    for _ in 0..runs {
        let folder = Scratch::new();
        let run = flent::command(&flent, &RRUL_BE, &ours!(), &folder, bench.server.port());
        let finished = run
            .args(["-H", RoutedLink::SERVER_V4, "-l", seconds])
            .within(&bench.link.place(LinkHost::Client))
            .patience(Duration::from_secs(60))
            .run();
        let quiet = flent::quiet(&finished);
        match quiet.and_then(|()| flent::complete(&RRUL_BE, folder.path(), 1)) {
            Ok(()) => content += 1,
            Err(why) => note(&why),
        }
    }
    let claim = format!("{}: complete runs of flent's rrul_be", shown(link));
    check(
        &claim,
        f64::from(runs),
        f64::from(content),
        Tolerance::Amount(spare),
    );
}

#[test]
#[ignore = "nightly: 16 s of nine streams on a slow link"]
fn flent_is_content_on_a_slow_link_netns() {
    flent_is_content(&Bottleneck::new(10_000, 300), 1, 0.0, "5");
}

#[test]
#[ignore = "nightly: five runs of flent on each of nine links, some two minutes"]
fn flent_is_content_on_all_links_netns() {
    let _machine = machine::whole();
    // One stream of nine may get nothing in a run, as with 2.7.0 in one of 45.
    at_once(&SLOW_LINKS, |link| flent_is_content(link, RUNS, 1.0, "10"));
}
