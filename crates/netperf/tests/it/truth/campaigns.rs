//! Campaigns: offsets of clocks that are known by construction, windows on one time line, and
//! rates of links.

use std::time::Duration;

use netperf_testkit::process::signal;
use netperf_testkit::{Bottleneck, Invocation, Netserver, Running, eventually, machine, ours};
use serde_json::Value;

use super::{Tolerance, check};
use crate::campaign_hosts::{APART, CampaignHosts, PATIENCE, document, number};

/// Absolute error and bound of the offset of each member's clock, seconds.
pub(crate) fn offsets(hosts: &CampaignHosts) -> Vec<(f64, f64)> {
    let checked = hosts.command(&["check", "--json"]).run().expect_clean();
    let members: Value = serde_json::from_str(&checked.stdout).expect("members");
    let members = members.as_array().expect("members");
    assert_eq!(members.len(), hosts.agents.len());
    let found = members.iter().enumerate().map(|(index, member)| {
        let truth = f64::from(APART) * (index as f64 + 1.0);
        let clock = &member["clock"];
        let error = number(&clock["offset_seconds"]) - truth;
        (error.abs(), number(&clock["bound_seconds"]))
    });
    found.collect()
}

/// Largest distance of an offset from the truth beyond its bound; negative within it.
fn beyond(offsets: &[(f64, f64)]) -> f64 {
    let beyond = offsets.iter().map(|(error, bound)| error - bound);
    beyond.fold(f64::NEG_INFINITY, f64::max)
}

pub(crate) fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1).expect("values");
    values.get(last * percent / 100).copied().expect("a value")
}

#[test]
fn offsets_of_clocks_lie_within_their_bounds_netns() {
    let Some(hosts) = CampaignHosts::in_other_times(4) else {
        return;
    };
    let all: Vec<_> = (0..2).flat_map(|_| offsets(&hosts)).collect();
    let claim = "Error of 8 offsets of clocks beyond their bounds, s";
    check(claim, 0.0, beyond(&all), Tolerance::AtMost);
}

#[test]
#[ignore = "nightly: 1,024 synchronisations of 32 agents"]
fn a_thousand_offsets_of_clocks_lie_within_their_bounds_netns() {
    let _machine = machine::whole();
    let Some(hosts) = CampaignHosts::in_other_times(32) else {
        return;
    };
    let all: Vec<_> = (0..32).flat_map(|_| offsets(&hosts)).collect();
    let claim = "Error of 1,024 offsets of clocks beyond their bounds, s";
    check(claim, 0.0, beyond(&all), Tolerance::AtMost);
    let mut bounds: Vec<f64> = all.iter().map(|(_, bound)| *bound).collect();
    netperf_testkit::note(&format!("median bound {:?} s", percentile(&mut bounds, 50)));
}

/// A TCP stream that fills the queue in front of the coordinator until it is dropped. Reno leaves
/// half of it behind a loss; BBR empties it now and then.
fn flood(hosts: &CampaignHosts) -> (Netserver, Running) {
    let coordinator = hosts.agents.len();
    let sink = Netserver::start(&ours!(), &hosts.star.place(coordinator));
    let before = hosts.star.bytes();
    let stream = Invocation::new(&ours!().netperf)
        .args(["-H", &hosts.star.address(coordinator)])
        .args(["-p", &sink.port().to_string(), "-l", "600"])
        .args(["--congestion", "reno"])
        .within(&hosts.star.place(0))
        .patience(Duration::from_secs(280))
        .spawn();
    let flows = || hosts.star.bytes() > before + 500_000;
    assert!(eventually(PATIENCE, flows), "{}", stream.stderr());
    (sink, stream)
}

#[test]
#[ignore = "nightly: a sender that keeps a queue full needs a processor"]
fn a_queue_in_one_direction_makes_bounds_larger_and_not_wrong_netns() {
    let _machine = machine::whole();
    let Some(hosts) = CampaignHosts::in_other_times(2) else {
        return;
    };
    let idle = offsets(&hosts);
    // 40 ms in front of the coordinator: answers of agents wait there, questions do not.
    let coordinator = hosts.agents.len();
    let queue = Bottleneck::new(5_000, 40);
    hosts.star.limit_receiving(coordinator, queue);
    let (_sink, stream) = flood(&hosts);
    let claim = "Error of offsets behind a queue of 40 ms beyond their bounds, s";
    let loaded: Vec<_> = (0..3).flat_map(|_| offsets(&hosts)).collect();
    check(claim, 0.0, beyond(&loaded), Tolerance::AtMost);
    let claim = "Bound of offsets behind a queue of 40 ms, median, ms";
    let mut bounds: Vec<f64> = loaded.iter().map(|(_, bound)| bound * 1e3).collect();
    // Half of the queue is left behind a loss.
    let bound = percentile(&mut bounds, 50);
    check(claim, 5.0, bound, Tolerance::AtLeast);
    netperf_testkit::note(&format!("idle {idle:?}, loaded {loaded:?}"));
    // The campaign says so. Its own load does not pass the queue.
    let plan = "pattern = \"list\"\npairs = [[\"h0\", \"h1\"]]\ntest = \"TCP_RR\"\n\
                options = [\"--rate\", \"100\"]\nwindow = 0.5\nwarmup = 2\ncooldown = 0.1\n";
    let finished = hosts.campaign(plan).run();
    let said = "netperf campaign: warning: h0: its clock is known to within ";
    assert!(finished.stderr.contains(said), "{}", finished.account());
    let document = document(finished, 0);
    let window = &document["cells"][0]["window"];
    let bound = number(&document["members"][0]["clock"]["bound_seconds"]);
    assert!(
        number(&window["cut_error_seconds"]) >= bound,
        "{document:#}"
    );
    drop(stream);
}

/// Sum of the rates of all cells, 10^6 bits per second.
fn sum(document: &Value) -> f64 {
    let cells = document["cells"].as_array().expect("cells");
    let rate = |cell: &Value| number(&cell["metrics"]["bits_per_second"]) / 1e6;
    cells.iter().map(rate).sum()
}

/// Two senders and one receiver, which is host 2.
fn incast() -> Option<(CampaignHosts, Bottleneck)> {
    let hosts = CampaignHosts::new(3)?;
    let port = Bottleneck::new(50_000, 50);
    hosts.star.limit_receiving(2, port);
    Some((hosts, port))
}

/// Deficit allowed on a loaded machine, percent. A link that two loads
/// share would lack half.
const LOADED: f64 = 40.0;
/// Excess that a late look at a counter may cause there, percent: the rate of 100 ms in a window
/// of 2 s, and the queue.
const LATE: f64 = 10.0;

#[test]
#[ignore = "nightly: 16 s of load whose rate is judged"]
fn a_sender_that_is_late_makes_no_sum_of_windows_larger_netns() {
    a_sender_is_late(Tolerance::Percents(LOADED, LATE));
}

#[test]
#[ignore = "nightly: the exact rate needs an idle machine"]
fn a_sender_that_is_late_changes_no_sum_of_windows_netns() {
    let _machine = machine::whole();
    a_sender_is_late(Tolerance::Percent(2.0));
}

fn a_sender_is_late(tolerance: Tolerance) {
    let Some((hosts, port)) = incast() else {
        return;
    };
    // 3 s of load before the window, and one sender begins 2 s late.
    let plan = "pattern = \"incast\"\nhub = \"h2\"\ntest = \"TCP_STREAM\"\nwindow = 6\n\
                warmup = 3\ncooldown = 0.5\n";
    let running = hosts.campaign(plan).spawn();
    let late = || {
        hosts
            .loads()
            .into_iter()
            .find(|pid| hosts.star.runs(1, *pid))
    };
    assert!(
        eventually(PATIENCE, || late().is_some()),
        "{}",
        running.stderr()
    );
    let late = late().expect("a load");
    // Its connections are open; the load has not begun.
    let open = || hosts.star.connections(1).lines().count() >= 3;
    assert!(eventually(PATIENCE, open), "{}", hosts.star.connections(1));
    let before = hosts.star.bytes();
    signal(late, "STOP");
    let begun = eventually(PATIENCE, || hosts.star.bytes() > before + 500_000);
    std::thread::sleep(Duration::from_secs(2));
    signal(late, "CONT");
    assert!(begun, "no load");
    let document = document(running.finish(), 0);
    netperf_testkit::note(&format!("{:#}", document["cells"]));
    let claim = "Sum of two senders in common windows, one of them 2 s late, Mbit/s";
    check(claim, port.tcp_goodput(), sum(&document), tolerance);
}

#[test]
#[ignore = "nightly: 8 s of load to show the error of another method"]
fn a_sum_of_averages_of_their_own_times_is_wrong_netns() {
    let Some((hosts, port)) = incast() else {
        return;
    };
    let sink = Netserver::start(&ours!(), &hosts.star.place(2));
    let sender = |host: usize| {
        Invocation::new(&ours!().netperf)
            .args(["-H", &hosts.star.address(2), "-p", &sink.port().to_string()])
            .args(["-l", "6", "--json"])
            .within(&hosts.star.place(host))
            .spawn()
    };
    let first = sender(0);
    std::thread::sleep(Duration::from_secs(2));
    let second = sender(1);
    let rates = [first, second].map(|one| {
        let document = one.finish().document();
        number(&document["result"]["throughput_bits_per_second"]) / 1e6
    });
    let claim = "Sum of averages of two senders 2 s apart, as a share of the link's rate";
    let share = rates.iter().sum::<f64>() / port.tcp_goodput();
    // Theory: 4/3 of the rate, if both have equal parts at once.
    check(claim, 1.1, share, Tolerance::AtLeast);
}

/// Rates of cells by sender and receiver, 10^6 bits per second.
fn rates(document: &Value) -> Vec<(usize, usize, f64)> {
    let index = |value: &Value| usize::try_from(value.as_u64().expect("an index")).expect("small");
    let cells = document["cells"].as_array().expect("cells").iter();
    let rate = |cell: &Value| {
        let rate = number(&cell["metrics"]["bits_per_second"]) / 1e6;
        (index(&cell["from"]), index(&cell["to"]), rate)
    };
    cells.map(rate).collect()
}

/// Hosts that send 20 Mbit/s at most.
fn limited(count: u8) -> Option<(CampaignHosts, f64)> {
    let hosts = CampaignHosts::new(count)?;
    let link = Bottleneck::new(20_000, 50);
    (0..usize::from(count)).for_each(|host| hosts.star.limit_sending(host, link));
    Some((hosts, link.tcp_goodput()))
}

fn pairs_do_not_share_a_link(count: u8, window: f64, tolerance: Tolerance) {
    let Some((hosts, goodput)) = limited(count) else {
        return;
    };
    let plan = format!(
        "pattern = \"pairs\"\ntest = \"TCP_STREAM\"\nwindow = {window}\nwarmup = 2\n\
         cooldown = 0.2\n"
    );
    let rates = rates(&document(hosts.campaign(&plan).run(), 0));
    assert_eq!(rates.len(), usize::from(count) * (usize::from(count) - 1));
    let far = |rate: f64| (rate - goodput).abs();
    let worst = rates.into_iter().map(|cell| cell.2);
    let worst = worst.max_by(|one, other| far(*one).total_cmp(&far(*other)));
    let claim = format!("Rate of the worst pair of {count} hosts in disjoint rounds, Mbit/s");
    check(&claim, goodput, worst.expect("a rate"), tolerance);
}

fn rows_of_a_mesh_have_the_rate_of_the_link(count: u8, window: f64, tolerance: Tolerance) {
    let Some((hosts, goodput)) = limited(count) else {
        return;
    };
    let plan = format!(
        "pattern = \"mesh\"\ntest = \"TCP_STREAM\"\nwindow = {window}\nwarmup = 2\ncooldown = 0.5\n"
    );
    let cells = rates(&document(hosts.campaign(&plan).run(), 0));
    for host in 0..usize::from(count) {
        let row = cells.iter().filter(|one| one.0 == host);
        let row = row.map(|one| one.2).sum();
        let claim = format!("Sum of the row of host {host} in a mesh of {count}, Mbit/s");
        check(&claim, goodput, row, tolerance);
    }
}

#[test]
#[ignore = "nightly: the rates of six rounds of load"]
fn pairs_of_three_hosts_do_not_share_a_link_netns() {
    let _machine = machine::whole();
    pairs_do_not_share_a_link(3, 2.0, Tolerance::Percents(LOADED, LATE));
}

#[test]
#[ignore = "nightly: 14 rounds of 8 hosts"]
fn pairs_of_eight_hosts_do_not_share_a_link_netns() {
    let _machine = machine::whole();
    pairs_do_not_share_a_link(8, 5.0, Tolerance::Percent(2.0));
}

#[test]
#[ignore = "nightly: the rates of 12 loads"]
fn rows_of_a_mesh_of_four_have_the_rate_of_the_link_netns() {
    let _machine = machine::whole();
    rows_of_a_mesh_have_the_rate_of_the_link(4, 4.0, Tolerance::Percents(LOADED, LATE));
}

#[test]
#[ignore = "nightly: 56 flows"]
fn rows_of_a_mesh_of_eight_have_the_rate_of_the_link_netns() {
    let _machine = machine::whole();
    rows_of_a_mesh_have_the_rate_of_the_link(8, 10.0, Tolerance::Percent(3.0));
}

/// Distances of at least 100 windows from the agreed begin, and their largest possible errors,
/// seconds; `None` where no hosts can be made.
pub(crate) fn many_skews(count: u8, pattern: &str) -> Option<Vec<(f64, f64)>> {
    let hosts = CampaignHosts::in_other_times(count)?;
    let mut late = Vec::new();
    while late.len() < 100 {
        late.extend(skews(&hosts, pattern));
    }
    Some(late)
}

/// Distance of the begin of each window from the agreed one, and the largest possible error, seconds.
fn skews(hosts: &CampaignHosts, pattern: &str) -> Vec<(f64, f64)> {
    let plan = format!(
        "pattern = \"{pattern}\"\ntest = \"TCP_RR\"\noptions = [\"--rate\", \"20\"]\n\
         window = 1\nwarmup = 1\ncooldown = 0.5\n"
    );
    let document = document(hosts.campaign(&plan).run(), 0);
    let cells = document["cells"].as_array().expect("cells").iter();
    let window = |cell: &Value| {
        let window = &cell["window"];
        let error = number(&window["cut_error_seconds"]);
        (number(&window["late_seconds"]), error)
    };
    cells.map(window).collect()
}

#[test]
#[ignore = "nightly: 100 windows of 4 and of 32 hosts"]
fn no_window_of_many_hosts_begins_before_the_agreed_time_netns() {
    for (count, pattern) in [(4, "mesh"), (32, "ring")] {
        let Some(late) = many_skews(count, pattern) else {
            return;
        };
        let early = late.iter().map(|(late, error)| -late - error);
        let claim = format!("Begin of windows of {count} hosts before the agreed one, s");
        let early = early.fold(f64::MIN, f64::max);
        check(&claim, 0.0, early, Tolerance::AtMost);
    }
}
