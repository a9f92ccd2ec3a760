//! A campaign ends cleanly whatever fails in it: an agent that is killed, stands still or is cut
//! off, and a coordinator that is killed, in each state of the campaign.
//!
//! `just campaign-failures 200` runs so many cases and prints how long load went on.

use std::time::Duration;

use netperf_testkit::process::signal;
use netperf_testkit::{
    Bottleneck, Running, Stopwatch, environment, eventually, machine, note, procfs,
};
use serde_json::Value;

use crate::campaign_hosts::{CampaignHosts, PATIENCE};

/// Kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    /// netserver of host 1 is killed.
    Netserver,
    /// The agent beside it is killed.
    Agent,
    /// The agent stands still, but not its loads.
    AgentStops,
    /// All processes of host 1 stand still.
    HostStops,
    /// The cable of host 1 is pulled out.
    Cut,
    /// The coordinator is killed.
    Coordinator,
}

/// State of the campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// An agent is connected and has not answered.
    Init,
    /// The begin is agreed.
    Idle,
    /// Load, before the window.
    Load,
    /// In the window.
    Window,
}

const FAILED: [Failed; 6] = [
    Failed::Netserver,
    Failed::AgentStops,
    Failed::Cut,
    Failed::Coordinator,
    Failed::Agent,
    Failed::HostStops,
];
const PHASES: [Phase; 4] = [Phase::Init, Phase::Idle, Phase::Load, Phase::Window];
/// The host that fails.
const VICTIM: usize = 1;
/// Time of load before the window, seconds.
const WARMUP: f64 = 2.0;
/// Bytes of control messages in a look's time, at most.
const QUIET: u64 = 20_000;
/// A load that was committed begins 2 s later: none has if nothing moves for so long.
const NO_LOAD: Duration = Duration::from_secs(3);
/// Interval of looks at the counters of the switch.
const LOOK: Duration = Duration::from_millis(100);

/// Outcome of a case.
#[derive(Debug)]
struct Case {
    failed: Failed,
    phase: Phase,
    /// Time from the failure to the end of the load.
    load: Duration,
    /// Time from the failure to the end of the coordinator.
    coordinator: Duration,
}

/// Silence of a member after which it is lost, seconds, on a machine that does other things, too.
/// What a landing has fail ends its connections, and nothing waits for a silence.
const PATIENT: u32 = 20;
/// The default of plans.
const DEFAULT: u32 = 2;

impl Case {
    fn run(hosts: &mut CampaignHosts, (failed, phase): (Failed, Phase), silence: u32) -> Self {
        hosts.revive();
        let agents = hosts.agents.iter().map(netperf_testkit::Netserver::pid);
        let agents: Vec<u32> = agents.collect();
        let beside = hosts.beside(VICTIM);
        if phase == Phase::Init {
            signal(beside, "STOP");
        }
        let plan = format!(
            "pattern = \"mesh\"\ntest = \"TCP_STREAM\"\nwindow = 60\nwarmup = {WARMUP}\n\
             cooldown = 0.1\nsilence = {silence}\n"
        );
        let (_, said) = hosts.agents[VICTIM].said();
        let prepared = said.matches("loads of this agent").count();
        let mut running = hosts.campaign(&plan).spawn();
        wait_for(hosts, &running, phase, prepared);
        let stopped = fail(hosts, &running, failed, beside);
        let since = Stopwatch::start();
        let coordinator = if failed == Failed::Coordinator {
            assert!(eventually(PATIENCE, || running.ended()));
            None
        } else {
            Some(&mut running)
        };
        let (load, ended) = follow(hosts, since, coordinator);
        if failed != Failed::Coordinator {
            check_document(running, failed, phase);
        }
        if failed == Failed::Cut {
            hosts.star.mend(VICTIM);
        }
        for pid in stopped.into_iter().chain([beside]) {
            signal(pid, "CONT");
        }
        hosts.assert_no_process_left();
        let killed = [Failed::Netserver, Failed::Agent].contains(&failed);
        for (number, pid) in agents.into_iter().enumerate() {
            let alive = !(killed && number == VICTIM);
            assert!(
                eventually(PATIENCE, || procfs::alive(pid) == alive),
                "host {number}"
            );
        }
        hosts.revive();
        // The agents are free again.
        let free = eventually(PATIENCE, || {
            hosts.command(&["check"]).run().status.success()
        });
        assert!(free, "{:?}", hosts.command(&["check"]).run());
        Self {
            failed,
            phase,
            load,
            coordinator: ended,
        }
    }
}

/// Waits until the campaign is in this state.
fn wait_for(hosts: &CampaignHosts, running: &Running, phase: Phase, prepared: usize) {
    let until = |what: &str, done: &mut dyn FnMut() -> bool| {
        let came = eventually(PATIENCE, done);
        assert!(came, "no {what}: {}{}", running.stdout(), running.stderr());
    };
    let count = hosts.agents.len();
    if phase == Phase::Init {
        let all = || hosts.star.connections(count).lines().count() >= count;
        until("connections", &mut { all });
        // The keys are proven.
        return std::thread::sleep(Duration::from_millis(500));
    }
    let log = || hosts.agents[VICTIM].said().1;
    let all = || log().matches("loads of this agent").count() > prepared;
    until("preparation", &mut { all });
    if phase == Phase::Idle {
        return std::thread::sleep(Duration::from_millis(200));
    }
    until("loads", &mut || hosts.loads().len() == count * (count - 1));
    let before = hosts.star.bytes();
    until("load", &mut || hosts.star.bytes() > before + 500_000);
    if phase == Phase::Window {
        std::thread::sleep(Duration::from_secs_f64(WARMUP + 0.2));
    }
}

/// Makes it fail. Processes that stand still then.
fn fail(hosts: &CampaignHosts, running: &Running, failed: Failed, beside: u32) -> Vec<u32> {
    let netserver = hosts.agents[VICTIM].pid();
    let tree = || [vec![netserver], procfs::descendants(netserver)].concat();
    match failed {
        Failed::Netserver => signal(netserver, "KILL"),
        Failed::Agent => signal(beside, "KILL"),
        Failed::Coordinator => signal(running.pid(), "KILL"),
        Failed::Cut => hosts.star.cut(VICTIM),
        Failed::AgentStops => {
            signal(beside, "STOP");
            return vec![beside];
        }
        Failed::HostStops => {
            let all = tree();
            all.iter().for_each(|pid| signal(*pid, "STOP"));
            return all;
        }
    }
    Vec::new()
}

/// Follows the counters of the switch until no load moves any more, and the coordinator until its
/// end. The times of both.
fn follow(
    hosts: &CampaignHosts,
    since: Stopwatch,
    mut coordinator: Option<&mut Running>,
) -> (Duration, Duration) {
    let (mut last, mut moved, mut ended) = (hosts.star.bytes(), Duration::ZERO, Duration::ZERO);
    let mut quiet_since = Stopwatch::start();
    let over = eventually(PATIENCE, || {
        std::thread::sleep(LOOK);
        let now = hosts.star.bytes();
        if now > last + QUIET {
            moved = since.elapsed();
            quiet_since = Stopwatch::start();
        }
        last = now;
        if coordinator.as_mut().is_some_and(|one| one.ended()) {
            ended = since.elapsed();
            coordinator = None;
        }
        coordinator.is_none() && quiet_since.elapsed() > NO_LOAD
    });
    assert!(
        over,
        "the campaign or its load goes on: {:?}",
        hosts.loads()
    );
    (moved, ended)
}

/// The document is valid, and names the member.
fn check_document(running: Running, failed: Failed, phase: Phase) {
    let finished = running.finish();
    let account = finished.account();
    if phase == Phase::Init && finished.status.code() == Some(2) {
        // It had not proven its key yet: nothing was begun.
        let line = &finished.stderr;
        assert!(line.contains("netperf campaign: h1"), "{account}");
        return;
    }
    assert_eq!(finished.status.code(), Some(1), "{account}");
    let document: Value = serde_json::from_str(&finished.stdout).expect("a document");
    assert_eq!(document["complete"], false, "{account}");
    let reason = document["members"][VICTIM]["lost"]["reason"].as_str();
    assert!(
        reason.is_some_and(|why| !why.is_empty()),
        "{phase:?}: {account}"
    );
    let others = [0, 2].map(|one| &document["members"][one]["lost"]);
    assert!(others.iter().all(|lost| lost.is_null()), "{account}");
    let why = document["ended"].as_str().unwrap_or_default();
    assert!(why.contains("h1 is lost"), "{account}");
    assert!(finished.stderr.contains("h1 is lost"), "{account}");
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 6, "{account}");
    assert!(
        cells.iter().all(|cell| cell["missing"].is_string()),
        "{account}"
    );
    let silent = matches!(failed, Failed::AgentStops | Failed::HostStops | Failed::Cut);
    let said = reason.is_some_and(|why| why.contains("silent"));
    assert_eq!(said, silent, "{account}");
}

/// Hosts with slow cables, so that load costs little.
fn hosts() -> Option<CampaignHosts> {
    let hosts = CampaignHosts::new(3)?;
    for host in 0..3 {
        hosts.star.limit_sending(host, Bottleneck::new(5_000, 50));
    }
    Some(hosts)
}

/// A member that is killed in a state. The night has all failures in all states.
fn killed_in(phase: Phase) {
    let Some(mut hosts) = hosts() else { return };
    let case = Case::run(&mut hosts, (Failed::Netserver, phase), PATIENT);
    note(&format!("{case:?}"));
}

#[test]
fn members_and_coordinators_that_fail_before_the_preparation_leave_nothing_netns() {
    killed_in(Phase::Init);
}

#[test]
fn members_and_coordinators_that_fail_before_the_load_leave_nothing_netns() {
    killed_in(Phase::Idle);
}

#[test]
fn members_and_coordinators_that_fail_before_the_window_leave_nothing_netns() {
    killed_in(Phase::Load);
}

#[test]
fn members_and_coordinators_that_fail_in_the_window_leave_nothing_netns() {
    killed_in(Phase::Window);
}

/// Threads, each with its own hosts.
const AT_ONCE: usize = 3;

#[test]
#[ignore = "nightly: just campaign-failures, on a machine that does nothing else"]
fn two_hundred_failures_leave_nothing_netns() {
    let _machine = machine::whole();
    let count = environment("NETPERF_CAMPAIGN_FAILURES").and_then(|count| count.parse().ok());
    let count: usize = count.unwrap_or(200);
    let kinds = FAILED.len() * PHASES.len();
    let part = |thread: usize| {
        let mut hosts = hosts()?;
        let numbers = (thread..count).step_by(AT_ONCE);
        let run = |number: usize| {
            let kind = number % kinds;
            let (failed, phase) = (FAILED[kind % FAILED.len()], PHASES[kind / FAILED.len()]);
            Case::run(&mut hosts, (failed, phase), DEFAULT)
        };
        Some(numbers.map(run).collect::<Vec<_>>())
    };
    let cases: Vec<Case> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|one| scope.spawn(move || part(one)))
            .collect();
        let joined = threads
            .into_iter()
            .map(|one| one.join().expect("no case fails"));
        joined.flatten().flatten().collect()
    });
    note(
        "| failure | state | runs | load went on, s: median, most | coordinator ended after, s: most |",
    );
    note("|---|---|---|---|---|");
    for failed in FAILED {
        for phase in PHASES {
            let of_kind = cases
                .iter()
                .filter(|one| one.failed == failed && one.phase == phase);
            let of_kind: Vec<&Case> = of_kind.collect();
            let mut loads: Vec<f64> = of_kind.iter().map(|one| one.load.as_secs_f64()).collect();
            loads.sort_by(f64::total_cmp);
            let ended = of_kind.iter().map(|one| one.coordinator.as_secs_f64());
            note(&format!(
                "| {failed:?} | {phase:?} | {} | {:.1}, {:.1} | {:.1} |",
                loads.len(),
                loads.get(loads.len() / 2).copied().unwrap_or_default(),
                loads.last().copied().unwrap_or_default(),
                ended.fold(0.0, f64::max)
            ));
        }
    }
    note(&format!("{} cases", cases.len()));
    let slow: Vec<&Case> = cases
        .iter()
        .filter(|one| one.load.as_secs_f64() > 3.0)
        .collect();
    assert!(slow.is_empty(), "load went on for more than 3 s: {slow:?}");
}
