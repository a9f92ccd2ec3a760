//! One coordinator and many agents.

use std::io::BufReader;
use std::sync::Mutex;
use std::time::Duration;

use netperf_campaign::agent::{Agent, AgentAction, AgentFacts, LineId, Quota};
use netperf_campaign::matrix::CellReader;
use netperf_campaign::protocol::{HostPlace, Order};
use netperf_testkit::{Invocation, Scratch, Stopwatch, eventually, machine, note, ours, server};

use crate::campaign_line::{CampaignLine, secret};
use crate::scripted::ScriptedCampaign;

const PATIENCE: Duration = Duration::from_secs(100);

/// When agents were greeted and had agreed to the begin.
#[derive(Debug, Default)]
struct Seen {
    greeted: Vec<Duration>,
    committed: Vec<Duration>,
}

/// An agent without processes: it agrees to everything until its connection ends.
fn agree(line: &mut CampaignLine<Order>, number: usize, since: Stopwatch, seen: &Mutex<Seen>) {
    let facts = AgentFacts {
        program: "test".to_owned(),
        host: format!("h{number}"),
        port: (20_000 + number).to_string(),
        cpus: 1,
        place: HostPlace::default(),
    };
    let mut agent = Agent::new(facts, Quota::default());
    while let Some(order) = line.hear() {
        let now = since.elapsed();
        let hello = matches!(order, Order::Hello { .. });
        let commit = matches!(order, Order::Commit { .. });
        let reading = (u64::try_from(now.as_nanos()).expect("a time"), 0);
        for action in agent.order(LineId(0), order, reading, &|_| Ok(())) {
            if let AgentAction::Reply(_, reply) = action {
                line.tell(&reply);
            }
        }
        let mut seen = seen.lock().expect("no thread panics");
        if hello {
            seen.greeted.push(now);
        }
        if commit {
            seen.committed.push(since.elapsed());
        }
    }
}

/// Most memory that a process has had, bytes.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024)
}

/// Time from the first greeting to the last agreement, and memory of the coordinator.
fn agreement(count: usize) -> (Duration, u64) {
    let folder = Scratch::new();
    let netperf = || Invocation::new(&ours!().netperf).folder(folder.path());
    netperf()
        .args(["campaign", "key", "-o", "key"])
        .run()
        .expect_clean();
    let plan = "pattern = \"ring\"\ntest = \"TCP_RR\"\nwindow = 60\nsilence = 60\n";
    std::fs::write(folder.path().join("plan.toml"), plan).expect("a file");
    let secret = secret(&folder.path().join("key"));
    let at = format!("127.0.0.1:{}", server::free_port());
    let port = at
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let running = netperf()
        .args([
            "campaign",
            "run",
            "plan.toml",
            "--key-file",
            "key",
            "--join-listen",
            &at,
        ])
        .args(["--expect", &count.to_string()])
        .patience(Duration::from_secs(200))
        .spawn();
    let (since, seen) = (Stopwatch::start(), Mutex::new(Seen::default()));
    let mut memory = 0;
    std::thread::scope(|scope| {
        for number in 0..count {
            let (secret, seen) = (&secret, &seen);
            scope.spawn(move || {
                let mut line = None;
                eventually(PATIENCE, || {
                    line = CampaignLine::to_coordinator(port, secret).ok();
                    line.is_some()
                });
                let mut line = line.expect("a coordinator");
                agree(&mut line, number, since, seen);
            });
        }
        let all = || seen.lock().expect("no thread panics").committed.len() >= count;
        let agreed = eventually(PATIENCE, all);
        memory = peak(running.pid());
        running.signal("KILL");
        assert!(agreed, "{}", running.stderr());
    });
    let seen = seen.into_inner().expect("no thread panics");
    assert_eq!(seen.greeted.len(), count);
    let first = seen.greeted.iter().min().expect("a greeting");
    let last = seen.committed.iter().max().expect("an agreement");
    (last.saturating_sub(*first), memory)
}

#[test]
fn a_hundred_agents_agree_about_a_begin() {
    let _slot = machine::slot();
    let (took, memory) = agreement(100);
    note(&format!("{took:?}, {memory} bytes"));
    assert!(memory <= 64 << 20, "{memory} bytes");
}

#[test]
#[ignore = "just campaign-scale: 500 agents on an idle machine"]
fn five_hundred_agents_agree_about_a_begin_within_five_seconds() {
    let _machine = machine::whole();
    let (took, memory) = agreement(500);
    note(&format!("{took:?}, {memory} bytes"));
    assert!(memory <= 64 << 20, "{memory} bytes");
    assert!(took <= Duration::from_secs(5), "{took:?}");
}

/// Most memory of the coordinator of this many agents whose cells go to a file and a history.
fn streamed(count: usize) -> u64 {
    let plan = "pattern = \"pairs\"\ntest = \"TCP_STREAM\"\nwindow = 1\n";
    let campaign = ScriptedCampaign::new(count, plan);
    let rate = |from: usize, to: usize, _| {
        let noise = u32::try_from((from * 31 + to * 17) % 101).expect("small");
        1e9 * (1.0 + 1e-4 * f64::from(noise))
    };
    let options = [
        "-o",
        "r.json",
        "--cells",
        "cells.jsonl",
        "--history",
        "h.sqlite",
    ];
    let (memory, finished) = campaign.run(&options, &rate, |mut running, _| {
        let mut memory = 0;
        let ended = eventually(Duration::from_secs(280), || {
            memory = memory.max(peak(running.pid()));
            running.ended()
        });
        assert!(ended, "{}", running.stderr());
        (memory, running.finish())
    });
    let finished = finished.expect_exit(0);
    let cells = count * (count - 1);
    let said = format!("Cells: {cells} of {cells} measured");
    assert!(finished.stdout.contains(&said), "{}", finished.stdout);
    let file = std::fs::File::open(campaign.path("cells.jsonl")).expect("cells");
    let mut reader = CellReader::new(BufReader::new(file)).expect("a head");
    assert_eq!(reader.by_ref().filter(Result::is_ok).count(), cells);
    assert!(reader.end().complete);
    memory
}

#[test]
fn the_cells_of_sixty_agents_are_streamed_in_little_memory() {
    let _slot = machine::slot();
    let memory = streamed(60);
    note(&format!("{memory} bytes"));
    assert!(memory <= 48 << 20, "{memory} bytes");
}

#[test]
#[ignore = "nightly: 300 agents and 89,700 cells, half a minute of processor time"]
fn the_cells_of_three_hundred_agents_are_streamed_in_little_memory() {
    let _slot = machine::slot();
    let memory = streamed(300);
    note(&format!("{memory} bytes"));
    assert!(memory <= 96 << 20, "{memory} bytes");
}

#[test]
#[ignore = "just campaign-scale: a thousand agents, a million cells"]
fn the_cells_of_a_thousand_agents_are_streamed_in_a_quarter_of_a_gigabyte() {
    let _machine = machine::whole();
    let memory = streamed(1000);
    note(&format!("{memory} bytes"));
    assert!(memory <= 256 << 20, "{memory} bytes");
}
