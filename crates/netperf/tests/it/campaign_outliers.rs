//! Hosts, one of which sends slowly, or to one other only: what campaigns report of it.
//!
//! `just campaign-outliers` repeats campaigns of 16 hosts and counts what is reported.

use std::collections::BTreeMap;

use netperf_testkit::{Bottleneck, environment, eventually, machine, note};
use serde_json::Value;

use crate::campaign_hosts::{CampaignHosts, PATIENCE, document};

/// A host whose own rate, or the rate to one other host, is lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slow {
    Sender(usize),
    Path(usize, usize),
}

/// Hosts that send at a rate.
fn hosts(count: u8, rate: Bottleneck) -> Option<CampaignHosts> {
    let hosts = CampaignHosts::new(count)?;
    for host in 0..usize::from(count) {
        hosts.star.limit_sending(host, rate);
    }
    Some(hosts)
}

/// Limits what a host sends, or what it sends to one host, to `slower` of the rate that it has
/// otherwise.
fn slow_down(hosts: &CampaignHosts, slow: Slow, rate: Bottleneck, slower: Bottleneck) {
    let (from, to) = match slow {
        Slow::Sender(host) => return hosts.star.limit_sending(host, slower),
        Slow::Path(from, to) => (from, to),
    };
    // Classes by the receiver's address. Their queues have space for a few packets before they are
    // divided, of 64 KiB each.
    let class = |number: u32, rate: u32| {
        let (burst, limit) = ((rate * 10 / 8).max(3_028), 200_000);
        format!(
            "tc class add dev cable parent 1: classid 1:{number} htb rate {rate}kbit \
             burst {burst} cburst {burst}\n\
             tc qdisc add dev cable parent 1:{number} bfifo limit {limit}\n"
        )
    };
    hosts.star.shell(
        from,
        &format!(
            "tc qdisc del dev cable root\n\
             tc qdisc add dev cable root handle 1: htb default 10\n{}{}\
             tc filter add dev cable parent 1: protocol ip u32 match ip dst {}/32 flowid 1:20",
            class(10, rate.kbit),
            class(20, slower.kbit),
            hosts.star.address(to)
        ),
    );
}

/// The outliers of a document with the result of their second measurement.
fn outliers(document: &Value) -> Vec<(Slow, Option<bool>)> {
    let index = |value: &Value| usize::try_from(value.as_u64().expect("an index")).expect("small");
    let all = document["outliers"].as_array().expect("outliers").iter();
    let outlier = |one: &Value| {
        let slow = match one["kind"].as_str() {
            Some("sender") => Slow::Sender(index(&one["from"])),
            Some("path") => Slow::Path(index(&one["from"]), index(&one["to"])),
            other => panic!("{other:?}: {one}"),
        };
        (slow, one["confirmed"].as_bool())
    };
    all.map(outlier).collect()
}

/// The second measurement begins once the coordinator has said so: a path that is as fast as the
/// others from then on was slow for a moment. It becomes so within the second of load before the
/// window, if the machine is idle.
#[test]
#[ignore = "nightly: some 60 s of load whose rates are compared, on an idle machine"]
fn outliers_that_last_are_reported_and_short_ones_are_not_netns() {
    const RATE: Bottleneck = Bottleneck::new(4_000, 50);
    let _machine = machine::whole();
    let Some(hosts) = hosts(8, RATE) else { return };
    let (sender, path) = (Slow::Sender(1), Slow::Path(3, 4));
    slow_down(&hosts, sender, RATE, Bottleneck::new(2_000, 50));
    slow_down(&hosts, path, RATE, Bottleneck::new(1_000, 50));
    let plan = "pattern = \"pairs\"\ntest = \"TCP_STREAM\"\nwindow = 0.8\nwarmup = 1\n\
                cooldown = 0.1\n";
    let running = hosts.campaign(plan).spawn();
    let again = || running.stderr().contains(" again that look wrong");
    let measured = eventually(PATIENCE * 3, again);
    assert!(measured, "{}{}", running.stdout(), running.stderr());
    hosts.star.limit_sending(3, RATE);
    let document = document(running.finish(), 0);
    let found = outliers(&document);
    assert!(found.contains(&(sender, Some(true))), "{found:?}");
    assert!(found.contains(&(path, Some(false))), "{found:?}");
    // Its cells were measured a second time.
    let again = document["cells_again"].as_array().expect("cells");
    let has = |from: usize, to: usize| {
        again
            .iter()
            .any(|one| one["from"] == from && one["to"] == to)
    };
    assert!(has(3, 4), "{again:?}");
    let to_others = (0..8).filter(|to| has(1, *to)).count();
    assert!(to_others >= 5, "{again:?}");
    // The text has what holds.
    hosts.write("r.json", &document.to_string());
    let shown = netperf_testkit::Invocation::new(&netperf_testkit::ours!().netperf)
        .folder(hosts.folder.path())
        .args(["campaign", "show", "r.json"])
        .run()
        .expect_exit(0)
        .stdout;
    assert!(shown.contains("Outlier   sender h1: "), "{shown}");
    assert!(shown.contains("Not shown: "), "{shown}");
    assert!(!shown.contains("path h3 to h4"), "{shown}");
}

/// Counts, of so many campaigns, what was reported, and what was found and not repeated.
fn reported(slow: Option<Slow>, runs: usize) -> Option<(Vec<Vec<Slow>>, usize)> {
    const RATE: Bottleneck = Bottleneck::new(20_000, 200);
    let hosts = hosts(16, RATE)?;
    if let Some(slow) = slow {
        slow_down(&hosts, slow, RATE, Bottleneck::new(10_000, 200));
    }
    let mut not_repeated = 0;
    let mut run = |_| {
        // The data of a socket fits in the queue: a lost packet would move data that waits behind
        // it into the window, or out of it.
        let plan = "pattern = \"pairs\"\ntest = \"TCP_STREAM\"\nwindow = 0.5\nwarmup = 0.5\n\
                    cooldown = 0.1\noptions = [\"--\", \"-s\", \"16K\"]\n";
        let document = document(hosts.campaign(plan).run(), 0);
        let found = outliers(&document);
        let (held, others): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|(_, again)| *again != Some(false));
        not_repeated += others.len();
        let held: Vec<Slow> = held.into_iter().map(|(slow, _)| slow).collect();
        note(&format!("{slow:?}: reported {held:?}"));
        held
    };
    let all = (0..runs).map(&mut run).collect();
    Some((all, not_repeated))
}

#[test]
#[ignore = "just campaign-outliers: 60 campaigns of 240 cells, on an idle machine"]
fn one_slow_host_or_path_of_sixteen_is_reported_and_nothing_else_netns() {
    let runs = environment("NETPERF_CAMPAIGN_OUTLIERS").and_then(|count| count.parse().ok());
    let runs: usize = runs.unwrap_or(20);
    let cases = [Some(Slow::Sender(5)), Some(Slow::Path(3, 9)), None];
    // At the same time: most of the time of a campaign is waiting.
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads = cases.map(|slow| scope.spawn(move || reported(slow, runs)));
        let joined = threads.into_iter();
        joined
            .map(|one| one.join().expect("no campaign fails"))
            .collect()
    });
    note("| slow | campaigns | it is reported | others that are reported | not repeated |");
    note("|---|---|---|---|---|");
    let mut wrong = BTreeMap::new();
    for (slow, result) in cases.into_iter().zip(all) {
        let Some((reports, not_repeated)) = result else {
            return;
        };
        let is_it = |one: &Slow| Some(*one) == slow;
        let hits = reports.iter().filter(|one| one.iter().any(is_it)).count();
        let others = reports.iter().flatten().filter(|one| !is_it(one)).count();
        note(&format!(
            "| {slow:?} | {runs} | {hits} | {others} | {not_repeated} |"
        ));
        let most = if slow.is_none() { runs.div_ceil(20) } else { 0 };
        let wanted = if slow.is_none() { 0 } else { runs };
        if hits != wanted || others > most {
            wrong.insert(slow, reports);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
