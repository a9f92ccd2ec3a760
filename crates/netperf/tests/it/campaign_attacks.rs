//! Attacks on campaigns: by a coordinator, by an agent, and by a file with hosts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use netperf_campaign::protocol::{
    CampaignLoad, CampaignMessage as _, HostPlace, Order, Preparation, Reply, Start, VERSION,
    encode,
};
use netperf_testkit::{Invocation, Scratch, Stopwatch, eventually, ours, procfs, server};
use serde_json::{Value, json};

use crate::campaign_line::CampaignLine;
use crate::campaign_security::{Lab, prepare};

const PATIENCE: Duration = Duration::from_secs(60);

/// Loads of an agent that differ from those before and behind, so many.
fn many(mut preparation: Preparation, count: u32) -> Preparation {
    let first = preparation.loads.remove(0);
    let load = |id: u32| {
        let mut words = first.words.clone();
        words.extend(["--flows".to_owned(), (1 + id % 100).to_string()]);
        CampaignLoad {
            id,
            words,
            ..first.clone()
        }
    };
    preparation.loads = (0..count).map(load).collect();
    preparation
}

#[test]
fn threat_model_a_long_preparation_does_not_keep_an_agent_busy() {
    let lab = Lab::new(&[]);
    let mut line = lab.greeted("c");
    let order = prepare(many(lab.preparation(), 100_000));
    let length = encode(&order).expect("an order").len();
    assert!(length > 12 << 20, "{length} bytes");
    let Some(Reply::Refused { reason }) = line.ask(&order) else {
        panic!("{:?}", lab.agent.said());
    };
    assert_eq!(reason, "more than 64 different tests");
    // Lists that are too long are refused by name.
    let mut wrong = lab.preparation();
    wrong.loads[0].words = vec!["-t".to_owned(); 65];
    let mut line = lab.greeted("d");
    let Some(Reply::Refused { reason }) = line.ask(&prepare(wrong)) else {
        panic!("{:?}", lab.agent.said());
    };
    assert_eq!(reason, "65 words of a load, more than 64");
}

#[test]
fn threat_model_an_agent_begins_no_more_loads_at_a_time_than_it_may() {
    let lab = Lab::new(&[]);
    let mut line = lab.greeted("c");
    let mut preparation = many(lab.preparation(), 580);
    for load in &mut preparation.loads {
        load.words = lab.preparation().loads[0].words.clone();
    }
    assert_eq!(line.ask(&prepare(preparation)), Some(Reply::Prepared));
    let Some(Reply::Clock { sent, .. }) = line.ask(&Order::Clock) else {
        panic!("no clock");
    };
    let at = sent + 60_000_000_000;
    let starts = (0..580).map(|id| Start { id, at }).collect();
    let Some(Reply::Refused { reason }) = line.ask(&Order::Commit { starts }) else {
        panic!("{:?}", lab.agent.said());
    };
    let said = "580 loads at the same time, more than 256: measure with the pattern pairs, or with \
                fewer members";
    assert_eq!(reason, said);
    assert!(procfs::descendants(lab.agent.pid()).len() <= 2);
}

#[test]
fn threat_model_connections_without_an_order_keep_no_coordinator_away() {
    let lab = Lab::new(&[]);
    let connect = || CampaignLine::to_agent(lab.agent.port(), &lab.secret).expect("an agent");
    let mut silent: Vec<CampaignLine<Reply>> = Vec::new();
    silent.resize_with(12, connect);
    let mut line = lab.greeted("c");
    silent.resize_with(24, connect);
    assert_eq!(line.ask(&prepare(lab.preparation())), Some(Reply::Prepared));
}

#[test]
fn threat_model_a_roster_leads_to_no_host_but_one_over_ip() {
    let lab = Lab::new(&[]);
    for (host, data) in [
        ("vsock:1", None),
        ("224.0.0.1", None),
        ("127.0.0.1", Some("224.0.0.1")),
        ("127.0.0.1", Some("ff02::1")),
        ("127.0.0.1", Some("-oProxyCommand=x")),
    ] {
        let mut line = lab.greeted("c");
        let mut wrong = lab.preparation();
        host.clone_into(&mut wrong.roster[1].host);
        wrong.roster[1].data = data.map(str::to_owned);
        let reply = line.ask(&prepare(wrong));
        let Some(Reply::Refused { reason }) = reply else {
            panic!("{host} {data:?}: {reply:?}");
        };
        assert!(reason.starts_with("b: its "), "{reason}");
        assert_eq!(line.hear(), None);
    }
}

/// Takes part as an agent, and sends these bytes as a result when all have agreed about the begin.
fn send_when_agreed(line: &mut CampaignLine<Order>, bytes: &[u8]) {
    let since = Stopwatch::start();
    // Heartbeats since it agreed: when the second comes, all others have agreed as well.
    let mut beats = None;
    while let Some(order) = line.hear() {
        let now = u64::try_from(since.elapsed().as_nanos()).expect("a time");
        match order {
            Order::Hello { .. } => line.tell(&Reply::Hello {
                version: VERSION,
                program: "test".to_owned(),
                host: "evil".to_owned(),
                port: "1".to_owned(),
                cpus: 1,
                place: HostPlace::default(),
            }),
            Order::Clock => line.tell(&Reply::Clock {
                received: now,
                sent: now,
            }),
            Order::Prepare(_) => line.tell(&Reply::Prepared),
            Order::Commit { .. } => {
                line.tell(&Reply::Committed { margin: 1 });
                beats = Some(0);
            }
            Order::Alive => {
                line.tell(&Reply::Alive {
                    running: 0,
                    done: 0,
                    stepped: 0,
                });
                beats = beats.map(|count| count + 1);
                if beats == Some(2) {
                    line.send(bytes);
                }
            }
            Order::Abort => line.tell(&Reply::Stopped),
            Order::Collect | Order::Without { .. } | Order::Bye => {}
        }
    }
}

#[test]
fn threat_model_a_long_reply_of_an_agent_loses_that_agent_alone() {
    let lab = Lab::new(&[]);
    let hosts = format!(
        "127.0.0.1:{} name=a\n127.0.0.1:{} name=b agent=no\n",
        lab.agent.port(),
        lab.target.port()
    );
    fs::write(lab.folder.path().join("hosts"), hosts).expect("a file");
    let plan = "pattern = \"pairs\"\ntest = \"TCP_RR\"\noptions = [\"--rate\", \"100\"]\n\
                window = 2\nwarmup = 2\ncooldown = 0.1\nsilence = 30\n";
    fs::write(lab.folder.path().join("plan.toml"), plan).expect("a file");
    let port = server::free_port();
    let mut running = Invocation::new(&ours!().netperf)
        .folder(lab.folder.path())
        .args(["campaign", "run", "plan.toml", "--inventory", "hosts"])
        .args(["--key-file", "key", "--expect", "3", "--json"])
        .args(["--join-listen", &format!("127.0.0.1:{port}")])
        .patience(PATIENCE)
        .spawn();
    let mut line = None;
    assert!(eventually(PATIENCE, || {
        line = CampaignLine::to_coordinator(port, &lab.secret).ok();
        line.is_some()
    }));
    let document = "[],".repeat(20 << 20);
    let text = format!("{{\"reply\":\"result\",\"id\":1,\"document\":[{document}0]}}");
    let length = u32::try_from(text.len()).expect("a length");
    let bytes = [&length.to_be_bytes()[..], text.as_bytes()].concat();
    assert!(bytes.len() > 60 << 20);
    send_when_agreed(&mut line.expect("a coordinator"), &bytes);
    assert!(
        eventually(PATIENCE, || running.ended()),
        "{}",
        running.stderr()
    );
    let finished = running.finish().expect_exit(1);
    let document: Value = serde_json::from_str(&finished.stdout).expect("a document");
    let lost: Vec<&str> = document["members"]
        .as_array()
        .expect("members")
        .iter()
        .filter(|one| one["lost"].is_object())
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(lost, ["evil"], "{}", finished.stderr);
    let cells = document["cells"].as_array().expect("cells");
    let measured: Vec<(&Value, &Value)> = cells
        .iter()
        .filter(|cell| cell["missing"].is_null())
        .map(|cell| (&cell["from"], &cell["to"]))
        .collect();
    assert_eq!(measured, [(&json!(0), &json!(1))], "a to b: {document:#}");
    let most = Reply::LONGEST;
    assert!(
        finished.stderr.contains(&format!("more than {most}")),
        "{}",
        finished.stderr
    );
}

/// A program in a folder.
fn program(folder: &Scratch, name: &str, script: &str) {
    let path = folder.path().join(name);
    fs::write(&path, script).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// Arguments with which the script calls ssh for this file of hosts, a word a line, and its output.
fn called_with(hosts: &str) -> (Vec<String>, String) {
    let folder = Scratch::new();
    let netperf = ours!().netperf;
    let manifest = Invocation::new(&netperf)
        .folder(folder.path())
        .args(["campaign", "manifest", "ssh"])
        .run()
        .expect_clean();
    program(&folder, "campaign-ssh", &manifest.stdout);
    fs::write(folder.path().join("hosts"), hosts).expect("a file");
    program(
        &folder,
        "netperf",
        &format!("#!/bin/sh\nexec {} \"$@\"\n", netperf.display()),
    );
    // Its standard input is the key, which has to be read.
    program(
        &folder,
        "ssh",
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >>called\nhead -n 1 >/dev/null\nexit 255\n",
    );
    let path = format!("PATH={}:/usr/bin:/bin", folder.path().display());
    let finished = Invocation::new("/usr/bin/env".as_ref())
        .folder(folder.path())
        .args([path.as_str(), "bash", "campaign-ssh", "hosts"])
        .patience(PATIENCE)
        .run();
    assert_ne!(finished.status.code(), Some(0), "{}", finished.account());
    let called = fs::read_to_string(folder.path().join("called")).unwrap_or_default();
    let words = called.lines().map(str::to_owned).collect();
    (words, finished.stderr)
}

#[test]
fn threat_model_a_line_of_hosts_gives_ssh_no_option() {
    for line in [
        "-oProxyCommand=CMD@127.0.0.1",
        "-lroot@127.0.0.1",
        "h1\n-oProxyCommand=CMD@127.0.0.1",
        "-oProxyCommand=CMD",
    ] {
        let (words, said) = called_with(&format!("{line}\n"));
        assert!(words.is_empty(), "{line}: {words:?}");
        assert!(
            said.contains("netperf campaign inventory: hosts: line"),
            "{line}: {said}"
        );
    }
    let (words, said) = called_with("root@127.0.0.1:1 # a comment\nb agent=no\n");
    let begin = words.iter().position(|word| word == "-l");
    let begin = begin.unwrap_or_else(|| panic!("{words:?} {said}"));
    assert_eq!(words[begin..begin + 4], ["-l", "root", "--", "127.0.0.1"]);
    let command = &words[begin + 4];
    assert!(command.ends_with(" 1"), "its port: {command}");
    assert!(
        !words.iter().any(|word| word == "b"),
        "it has no agent: {words:?}"
    );
}
