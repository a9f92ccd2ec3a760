//! Campaigns over agents of this host.

use netperf_testkit::documents::number;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use netperf_testkit::process::signal;
use netperf_testkit::{
    Invocation, Netserver, Place, Programs, Running, Scratch, eventually, ours, procfs, require,
};
use serde_json::Value;

use crate::campaign_hosts::document;

/// Time for anything that takes a few seconds on an idle host.
const PATIENCE: Duration = Duration::from_secs(60);

/// Agents with a key, and a folder for files.
pub(crate) struct Agents {
    folder: Scratch,
    agents: Vec<Netserver>,
}

/// The key file in a folder.
fn key(folder: &Scratch) -> PathBuf {
    let path = folder.path().join("key");
    if !path.exists() {
        let finished = Invocation::new(&ours!().netperf)
            .args(["campaign", "key", "-o"])
            .arg(&path)
            .run();
        finished.expect_clean();
    }
    path
}

fn start(folder: &Scratch, options: &[&str]) -> Netserver {
    start_of(&ours!(), folder, options, &[])
}

fn start_of(
    programs: &Programs,
    folder: &Scratch,
    options: &[&str],
    env: &[(String, OsString)],
) -> Netserver {
    let key = key(folder);
    let key = key.to_str().expect("a path in UTF-8");
    let all = [
        &["--key-file", key, "--log", "text"],
        require::same_user(),
        options,
    ]
    .concat();
    Netserver::start_with(programs, &Place::Here, &all, env)
}

impl Agents {
    pub(crate) fn new(count: usize) -> Self {
        Self::of(&ours!(), Scratch::new(), count)
    }

    fn of(programs: &Programs, folder: Scratch, count: usize) -> Self {
        let agent = |_| start_of(programs, &folder, &["--agent"], &[]);
        let agents: Vec<_> = (0..count).map(agent).collect();
        let agents = Self { folder, agents };
        let line = |(number, agent): (usize, &Netserver)| {
            format!("127.0.0.1:{} name=h{number}\n", agent.port())
        };
        let lines: String = agents.agents.iter().enumerate().map(line).collect();
        agents.write("hosts", &lines);
        agents
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("a file");
    }

    fn command(&self, words: &[&str]) -> Invocation {
        Invocation::new(&ours!().netperf)
            .folder(self.folder.path())
            .arg("campaign")
            .args(words)
            .args(["--key-file", "key"])
            .patience(Duration::from_secs(250))
    }

    pub(crate) fn campaign(&self, plan: &str) -> Invocation {
        self.write("plan.toml", plan);
        self.command(&["run", "plan.toml", "--inventory", "hosts", "--json"])
    }

    /// Processes of loads to or from these agents.
    fn loads(&self) -> Vec<u32> {
        let ports = self.agents.iter().map(|agent| agent.port().to_string());
        let ports: Vec<String> = ports.collect();
        let is_load = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<_> = line.split(|byte| *byte == 0).collect();
            let has = |word: &str| words.contains(&word.as_bytes());
            has("--begin-at") && ports.iter().any(|port| has(port))
        };
        let all = std::fs::read_dir("/proc").expect("/proc");
        let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(is_load).collect()
    }

    pub(crate) fn assert_no_process_left(&self) {
        let ended = eventually(PATIENCE, || self.loads().is_empty());
        assert!(ended, "loads are left");
        for agent in self.agents.iter().filter(|agent| agent.alive()) {
            // The agent itself stays.
            let only = || procfs::descendants(agent.pid()).len() == 1;
            assert!(eventually(PATIENCE, only), "{:?}", agent.said());
        }
    }

    /// Waits until this many loads run.
    fn wait_for_loads(&self, count: usize, running: &Running) {
        let there = eventually(PATIENCE, || self.loads().len() >= count);
        assert!(there, "{} {}", running.stdout(), running.stderr());
    }
}

/// A plan for a machine that does other things as well: a process has seconds to start, and an agent
/// more of them to answer.
pub(crate) fn plan(pattern: &str, window: f64, more: &str) -> String {
    let silence = if more.contains("silence") {
        ""
    } else {
        "silence = 30\n"
    };
    format!(
        "pattern = \"{pattern}\"\ntest = \"TCP_RR\"\noptions = [\"--rate\", \"200\"]\n\
         window = {window}\nwarmup = 2\ncooldown = 0.1\n{silence}{more}"
    )
}

#[test]
fn every_pair_is_measured_in_a_window_of_the_common_time_line() {
    every_pair_is_measured(2);
}

#[test]
#[ignore = "nightly: six rounds of three hosts, some 25 s"]
fn every_pair_of_three_is_measured_in_a_window_of_the_common_time_line() {
    every_pair_is_measured(3);
}

fn every_pair_is_measured(count: usize) {
    let agents = Agents::new(count);
    let finished = agents.campaign(&plan("pairs", 1.0, "")).run();
    let document = document(finished, 0);
    assert_eq!(document["complete"], true, "{document:#}");
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), count * (count - 1));
    for cell in cells {
        assert!(number(&cell["metrics"]["transactions_per_second"]) > 0.0);
        assert!(
            number(&cell["metrics"]["latency_p99_seconds"]) > 0.0,
            "{cell}"
        );
        let window = &cell["window"];
        let error = number(&window["cut_error_seconds"]);
        assert!(error > 0.0 && error < 1.0, "{window}");
        // Never before the agreed begin, whatever the host does.
        assert!(number(&window["late_seconds"]) >= -error, "{window}");
        assert!(number(&window["seconds"]) > 0.0, "{window}");
    }
    for member in document["members"].as_array().expect("members") {
        assert!(
            number(&member["clock"]["bound_after_seconds"]) > 0.0,
            "{member}"
        );
        assert_eq!(member["clock"]["method"], "inband");
    }
    agents.assert_no_process_left();
    // The keys of the pairs are gone: no other client is served.
    let client = ours!().client_of(&agents.agents[0]);
    let client = client.args(["-t", "TCP_RR", "-l", "1"]).run();
    assert!(
        client.stderr.contains("prove its key"),
        "{}",
        client.account()
    );
}

/// The container image has one program with two names.
#[test]
fn agents_are_netperf_under_the_name_netserver() {
    let folder = Scratch::new();
    let mut programs = ours!();
    let netserver = folder.path().join("netserver");
    std::os::unix::fs::symlink(&programs.netperf, &netserver).expect("a link");
    programs.netserver = netserver;
    let agents = Agents::of(&programs, folder, 2);
    let finished = agents.campaign(&plan("pairs", 1.0, "")).run();
    assert_eq!(document(finished, 0)["complete"], true);
    agents.assert_no_process_left();
}

#[test]
fn a_member_that_dies_ends_a_mesh_and_is_named() {
    let agents = Agents::new(3);
    let mut running = agents.campaign(&plan("mesh", 60.0, "")).spawn();
    agents.wait_for_loads(6, &running);
    signal(agents.agents[1].pid(), "KILL");
    let ended = eventually(PATIENCE, || running.ended());
    assert!(ended, "the campaign goes on");
    let finished = running.finish();
    let said = finished.stderr.clone();
    let document = document(finished, 1);
    assert!(said.contains("h1 is lost"), "{said}");
    assert_eq!(document["complete"], false);
    assert_eq!(document["ended"], "h1 is lost");
    assert_eq!(
        document["members"][1]["lost"]["reason"]
            .as_str()
            .map(str::is_empty),
        Some(false)
    );
    assert!(document["members"][0]["lost"].is_null());
    agents.assert_no_process_left();
}

#[test]
fn threat_model_a_member_that_stands_still_ends_a_mesh_and_its_load_ends() {
    let agents = Agents::new(2);
    let text = plan("mesh", 60.0, "silence = 8\n");
    let mut running = agents.campaign(&text).spawn();
    agents.wait_for_loads(2, &running);
    // The agent stands still, not its load: only the other end can stop it.
    let agent = procfs::children(agents.agents[1].pid());
    let is_agent = |pid: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
        line.is_ok_and(|line| line.contains("campaign\0agent"))
    };
    let agent = agent.into_iter().find(is_agent).expect("an agent");
    signal(agent, "STOP");
    assert!(
        eventually(PATIENCE, || running.ended()),
        "the campaign goes on"
    );
    let document = document(running.finish(), 1);
    assert_eq!(
        document["members"][1]["lost"]["reason"],
        "it is silent for 8 s"
    );
    let zombies_too = |pid: &u32| procfs::alive(*pid);
    let ended = eventually(PATIENCE, || !agents.loads().iter().any(zombies_too));
    assert!(ended, "loads are left");
    signal(agent, "CONT");
    agents.assert_no_process_left();
}

#[test]
fn pairs_go_on_without_a_member() {
    let agents = Agents::new(3);
    let running = agents
        .campaign(&plan("pairs", 1.0, "min-members = 2\n"))
        .spawn();
    agents.wait_for_loads(1, &running);
    signal(agents.agents[2].pid(), "KILL");
    let document = document(running.finish(), 1);
    assert!(document["ended"].is_null(), "{document:#}");
    let cells = document["cells"].as_array().expect("cells");
    for cell in cells {
        let with_lost = cell["from"] == 2 || cell["to"] == 2;
        let measured = cell["missing"].is_null();
        // The first rounds may have been measured before.
        assert!(measured || with_lost, "{cell}");
    }
    assert!(
        cells.iter().any(|cell| !cell["missing"].is_null()),
        "{document:#}"
    );
    agents.assert_no_process_left();
}

#[test]
fn loads_end_without_their_coordinator_and_the_agents_are_free_again() {
    let agents = Agents::new(2);
    let text = plan("mesh", 60.0, "silence = 8\n");
    let running = agents.campaign(&text).spawn();
    agents.wait_for_loads(2, &running);
    drop(running);
    agents.assert_no_process_left();
    let said = || {
        agents.agents[0]
            .said()
            .1
            .contains("the coordinator is silent")
    };
    assert!(eventually(PATIENCE, said), "{:?}", agents.agents[0].said());
    let again = agents.campaign(&plan("mesh", 1.0, "")).run();
    assert_eq!(document(again, 0)["complete"], true);
}

#[test]
fn an_interrupted_campaign_ends_its_loads_and_says_what_is_missing() {
    let agents = Agents::new(2);
    let running = agents.campaign(&plan("mesh", 60.0, "")).spawn();
    agents.wait_for_loads(2, &running);
    running.signal("TERM");
    let document = document(running.finish(), 1);
    assert_eq!(document["ended"], "interrupted");
    assert_eq!(document["complete"], false);
    agents.assert_no_process_left();
}

#[test]
fn agents_join_their_coordinator() {
    let folder = Scratch::new();
    let port = netperf_testkit::server::free_port();
    let at = format!("127.0.0.1:{port}");
    let env = |number: usize| {
        let labels = format!("rack=r{number} zone=z");
        let all = [
            ("NETPERF_LABELS", labels),
            ("NODE_NAME", "node-1".to_owned()),
            ("POD_UID", format!("uid-{number}")),
        ];
        all.map(|(name, value)| (name.to_owned(), OsString::from(value)))
    };
    let agents: Vec<_> = (0..2)
        .map(|number| {
            let options = ["--agent", "--join", &at];
            start_of(&ours!(), &folder, &options, &env(number))
        })
        .collect();
    let agents = Agents { folder, agents };
    agents.write("plan.toml", &plan("pairs", 1.0, ""));
    let words = [
        "run",
        "plan.toml",
        "--join-listen",
        &at,
        "--expect",
        "2",
        "--json",
    ];
    let document = document(agents.command(&words).run(), 0);
    assert_eq!(document["complete"], true, "{document:#}");
    let members = document["members"].as_array().expect("members");
    assert_eq!(members.len(), 2);
    let of_member = |member: &Value| {
        let labels = &member["labels"];
        assert_eq!(
            (&labels["node"], &labels["zone"]),
            (&"node-1".into(), &"z".into())
        );
        let source = &member["source"];
        assert_eq!(source["engine"], "join");
        let text = |value: &Value| value.as_str().map(str::to_owned).expect("a text");
        (text(&labels["rack"]), text(&source["uid"]))
    };
    let mut found: Vec<_> = members.iter().map(of_member).collect();
    found.sort();
    let wanted = [("r0", "uid-0"), ("r1", "uid-1")];
    assert_eq!(
        found,
        wanted.map(|(rack, uid)| (rack.to_owned(), uid.to_owned()))
    );
}

#[test]
fn labels_that_are_none_end_an_agent() {
    let folder = Scratch::new();
    let key = key(&folder);
    let finished = Invocation::new(&ours!().netserver)
        .arg("--agent")
        .args(require::same_user())
        .arg("--key-file")
        .arg(&key)
        .args(["-p", &netperf_testkit::server::free_port().to_string()])
        .env("NETPERF_LABELS", "rack")
        .patience(PATIENCE)
        .run();
    assert!(!finished.status.success(), "{}", finished.account());
    let said = "NETPERF_LABELS: rack: expected label=value";
    assert!(finished.stderr.contains(said), "{}", finished.account());
}

#[test]
fn a_netserver_without_a_key_can_be_a_target() {
    let mut agents = Agents::new(1);
    let target = Netserver::start(&ours!(), &Place::Here);
    let (own, other) = (agents.agents[0].port(), target.port());
    agents.write(
        "hosts",
        &format!("127.0.0.1:{own} name=a\n127.0.0.1:{other} name=b agent=no\n"),
    );
    agents.agents.push(target);
    let document = document(agents.campaign(&plan("mesh", 1.0, "")).run(), 0);
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(1));
    assert!(document["members"][1]["clock"].is_null());
}

#[test]
fn campaign_names_a_server_that_is_no_agent() {
    let agents = Agents::new(1);
    let plain = start(&agents.folder, &["-D"]);
    let port = plain.port();
    let check = |hosts: &str, key: &str| {
        agents.write("others", hosts);
        Invocation::new(&ours!().netperf)
            .folder(agents.folder.path())
            .args([
                "campaign",
                "check",
                "--inventory",
                "others",
                "--key-file",
                key,
            ])
            .run()
            .expect_exit(2)
            .stderr
    };
    let line = check(&format!("127.0.0.1:{port} name=x\n"), "key");
    assert!(line.starts_with("netperf campaign: x refuses: "), "{line}");
    assert!(
        line.contains("--agent") && line.lines().count() == 1,
        "{line}"
    );
    let own = agents.agents[0].port();
    let made = Invocation::new(&ours!().netperf)
        .folder(agents.folder.path())
        .args(["campaign", "key", "-o", "other"])
        .run();
    made.expect_clean();
    let line = check(&format!("127.0.0.1:{own}\n"), "other");
    assert!(line.contains("rejects this key"), "{line}");
    let line = check("127.0.0.1:1 name=y\n", "key");
    assert!(line.starts_with("netperf campaign: y: "), "{line}");
    let line = check("127.0.0.1:1 name\n", "key");
    assert!(
        line.contains("others: line 1: name: expected label=value"),
        "{line}"
    );
    let line = check("h\n", "nowhere");
    assert!(line.contains("the key file nowhere"), "{line}");
}

#[test]
fn words_that_agents_would_refuse_are_refused_before_an_agent_is_asked() {
    let agents = Agents::new(2);
    let said = |from: &str, to: &str| {
        let text = plan("mesh", 0.2, "").replace(from, to);
        let line = agents.campaign(&text).run().expect_exit(2).stderr;
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(
            line.starts_with("netperf campaign: plan.toml: test = "),
            "{line}"
        );
        line
    };
    let line = said("\"--rate\", \"200\"", "\"-F\", \"/etc/passwd\"");
    assert!(line.contains("-F is not for campaigns"), "{line}");
    let line = said("TCP_RR", "TCP_STREM");
    assert!(
        line.contains("\"TCP_STREM\" and its options: there is no such test"),
        "{line}"
    );
}

#[test]
fn campaign_names_unusable_hosts_before_it_measures() {
    let folder = Scratch::new();
    key(&folder);
    std::fs::write(folder.path().join("plan.toml"), plan("mesh", 0.2, "")).expect("a file");
    std::fs::write(folder.path().join("hosts"), "127.0.0.1:1 name=y\n").expect("a file");
    let said = |words: &str| {
        let finished = Invocation::new(&ours!().netperf)
            .folder(folder.path())
            .args(["campaign"])
            .args(words.split(' '))
            .run()
            .expect_exit(2);
        let line = finished.stderr;
        assert_eq!(line.lines().count(), 1, "{line}");
        line
    };
    let run = "run plan.toml --key-file key";
    let line = said(&format!("{run} --inventory hosts -o nowhere/r.json"));
    let wanted = "netperf campaign: nowhere/r.json: its folder does not exist\n";
    assert_eq!(line, wanted);
    for at in ["15009", "127.0.0.1:x"] {
        let line = said(&format!("{run} --join-listen {at} --expect 2"));
        let wanted = format!("--join-listen {at}: expected a host and a port");
        assert!(line.contains(&wanted), "{line}");
    }
    let line = said("show nowhere.json");
    let wanted = "netperf campaign: nowhere.json: No such file or directory\n";
    assert_eq!(line, wanted);
}

#[test]
fn agent_process_that_ends_at_once_is_named_with_how_it_ended() {
    let agents = Agents::new(1);
    let netserver = &agents.agents[0];
    // A child that has not begun its program yet has the command line of netserver.
    let is_agent = |pid: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
        line.is_ok_and(|line| line.contains("campaign\0agent"))
    };
    let mut agent = None;
    let runs = eventually(Duration::from_secs(20), || {
        agent = procfs::children(netserver.pid()).into_iter().find(is_agent);
        agent.is_some()
    });
    assert!(runs, "{:?}", netserver.said());
    signal(agent.expect("an agent"), "KILL");
    let line = "netserver: the agent process of --agent has ended: killed by signal 9";
    let said = eventually(Duration::from_secs(20), || {
        netserver.said().1.contains(line)
    });
    assert!(said, "{:?}", netserver.said());
}

#[test]
fn an_agent_needs_its_key_and_ends_with_its_engine() {
    let folder = Scratch::new();
    let finished = Invocation::new(&ours!().netserver)
        .args(["--agent", "-p", "1"])
        .run()
        .expect_exit(1);
    assert!(
        finished.stderr.contains("--agent takes --key-file"),
        "{}",
        finished.stderr
    );
    let agent = start(&folder, &["--agent", "--log-level", "info"]);
    // From then on it watches signals, also those that were ignored when it was started.
    let listens = || agent.said().1.contains("listening");
    assert!(eventually(PATIENCE, listens), "{:?}", agent.said());
    signal(agent.pid(), "HUP");
    assert!(eventually(PATIENCE, || !agent.alive()));
    let key = key(&folder);
    let with = |stdin: Stdio| {
        Invocation::new(&ours!().netserver)
            .args(["--agent", "--exit-on-eof"])
            .args(require::same_user())
            .arg("--key-file")
            .arg(&key)
            .args(["-p", &netperf_testkit::server::free_port().to_string()])
            .stdin(stdin)
            .spawn()
    };
    let (inside, outside) = UnixStream::pair().expect("a pair of sockets");
    let mut running = with(OwnedFd::from(inside).into());
    assert!(running.prints("Starting netserver", PATIENCE));
    assert!(!running.ended());
    drop(outside);
    assert!(eventually(PATIENCE, || running.ended()));
    running.finish().expect_exit(0);
    let refused = with(Stdio::null()).finish().expect_exit(1).stderr;
    assert!(
        refused.contains("--exit-on-eof needs a pipe, a socket or a terminal"),
        "{refused}"
    );
}
