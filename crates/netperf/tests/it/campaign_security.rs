//! Refusals of an agent, and the end of a campaign.

use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netperf_campaign::protocol::{
    CampaignLoad, LoadParts, LoadResult, OPENING, Order, PairToken, Preparation, Reply,
    RosterEntry, Start, TokenDigits, VERSION,
};
use netperf_model::Secret;
use netperf_testkit::{
    Invocation, Netserver, Place, Programs, Scratch, Stopwatch, environment, eventually, is_closed,
    note, ours, procfs, require,
};

use crate::campaign_line::{CampaignLine, secret};

const PATIENCE: Duration = Duration::from_secs(60);
const MILLISECOND: u64 = 1_000_000;
/// Silence that an agent permits, on a machine that does other things, too.
const PATIENT: u64 = 30_000 * MILLISECOND;

/// An agent, a netserver for its load, and the key.
pub(crate) struct Lab {
    pub(crate) folder: Scratch,
    pub(crate) agent: Netserver,
    pub(crate) target: Netserver,
    pub(crate) secret: Secret,
}

impl Lab {
    pub(crate) fn new(options: &[&str]) -> Self {
        let folder = Scratch::new();
        let made = Invocation::new(&ours!().netperf)
            .folder(folder.path())
            .args(["campaign", "key", "-o", "key"])
            .run();
        made.expect_clean();
        let file = folder.path().join("key");
        let secret = secret(&file);
        let file = file.to_str().expect("a path in UTF-8");
        let own = ["--agent", "--log", "text", "--key-file", file];
        let options = [&own, require::same_user(), options].concat();
        let agent = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
        let target = Netserver::start(&ours!(), &Place::Here);
        Self {
            folder,
            agent,
            target,
            secret,
        }
    }

    /// A coordinator that has greeted the agent.
    pub(crate) fn greeted(&self, campaign: &str) -> CampaignLine<Reply> {
        self.greeted_for(campaign, PATIENT)
    }

    /// The same with the silence, in nanoseconds, after which its campaign is over.
    fn greeted_for(&self, campaign: &str, silence: u64) -> CampaignLine<Reply> {
        let line = CampaignLine::to_agent(self.agent.port(), &self.secret);
        let mut line = line.expect("an agent");
        let hello = Order::Hello {
            version: VERSION,
            campaign: campaign.to_owned(),
            silence: Some(silence),
        };
        let reply = line.ask(&hello);
        assert!(matches!(reply, Some(Reply::Hello { .. })), "{reply:?}");
        line
    }

    /// Agent 0 sends to a netserver without a key, member 1.
    pub(crate) fn preparation(&self) -> Preparation {
        let member = |name: &str, port: u16, agent| RosterEntry {
            name: name.to_owned(),
            host: "127.0.0.1".to_owned(),
            port: port.to_string(),
            data: None,
            agent,
        };
        let words = ["-t", "TCP_RR", "--rate", "100"];
        Preparation {
            roster: vec![
                member("a", self.agent.port(), true),
                member("b", self.target.port(), false),
            ],
            own: 0,
            loads: vec![CampaignLoad {
                id: 0,
                to: 1,
                words: words.map(str::to_owned).to_vec(),
                parts: LoadParts {
                    warmup: 100 * MILLISECOND,
                    // A busy machine may run nothing for a second.
                    window: 2_000 * MILLISECOND,
                    cooldown: 100 * MILLISECOND,
                },
            }],
            accepts: Vec::new(),
            sends: Vec::new(),
        }
    }

    /// Number of lines of the agent's log with this text.
    fn logged(&self, text: &str) -> usize {
        let (stdout, stderr) = self.agent.said();
        stdout.matches(text).count() + stderr.matches(text).count()
    }
}

pub(crate) fn prepare(preparation: Preparation) -> Order {
    Order::Prepare(Box::new(preparation))
}

/// Prepares a load and agrees about its begin, as soon as the agent can.
fn commit(line: &mut CampaignLine<Reply>, preparation: Preparation) {
    let prepared: Option<Reply> = line.ask(&prepare(preparation));
    assert_eq!(prepared, Some(Reply::Prepared));
    let Some(Reply::Clock { sent, .. }) = line.ask(&Order::Clock) else {
        panic!("no clock");
    };
    let at = sent + OPENING + 2_000 * MILLISECOND;
    let starts = vec![Start { id: 0, at }];
    let committed: Option<Reply> = line.ask(&Order::Commit { starts });
    assert!(
        matches!(committed, Some(Reply::Committed { .. })),
        "{committed:?}"
    );
}

/// The result of the load, with heartbeats meanwhile.
fn result(line: &mut CampaignLine<Reply>) -> LoadResult {
    loop {
        match line.hear_within(Duration::from_millis(300)) {
            Ok(Some(Reply::Result(result))) => return *result,
            Ok(Some(_)) => {}
            Ok(None) => panic!("the agent closed the connection"),
            Err(()) => line.tell(&Order::Alive),
        }
    }
}

#[test]
fn threat_model_an_agent_sends_only_to_its_roster_with_permitted_words_and_times() {
    let lab = Lab::new(&[]);
    let refused = |campaign: &str, change: &dyn Fn(&mut Preparation)| {
        let mut line = lab.greeted(campaign);
        let mut wrong = lab.preparation();
        change(&mut wrong);
        let reply = line.ask(&prepare(wrong));
        let Some(Reply::Refused { reason }) = reply else {
            panic!("{campaign}: {reply:?}, {:?}", lab.agent.said());
        };
        // The agent closes the connection.
        assert_eq!(line.hear(), None);
        let noted = || lab.logged(&format!("refused: {reason}")) > 0;
        assert!(
            eventually(PATIENCE, noted),
            "{reason}: {:?}",
            lab.agent.said()
        );
        reason
    };
    // One campaign at a time: a refused one is over when its coordinator is silent.
    let cases: [Case<'_>; 6] = [
        (
            &|one| one.loads[0].to = 2,
            "its target is not in the roster",
        ),
        (
            &|one| one.loads[0].words = own(&["-t", "TCP_RR", "-H", "192.0.2.7"]),
            "-H is not for",
        ),
        (
            &|one| one.loads[0].words = own(&["-t", "NOTHING"]),
            "there is no such test",
        ),
        (
            &|one| one.loads[0].parts.window = 90_000_000 * MILLISECOND,
            "s of load, more than 86400",
        ),
        (
            &|one| one.roster = vec![one.roster[0].clone(); 5_000],
            "5000 members, more than 4096",
        ),
        (
            &|one| one.roster[1].agent = true,
            "there is no token for its target",
        ),
    ];
    for (change, said) in cases {
        let reason = refused("c", change);
        assert!(reason.contains(said), "{reason}");
    }
    assert!(
        procfs::descendants(lab.agent.pid()).len() <= 2,
        "a load was started"
    );
}

/// A change of a preparation, and what the refusal of it says.
type Case<'a> = (&'a dyn Fn(&mut Preparation), &'a str);

fn own(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn threat_model_an_agent_carries_out_no_begin_that_it_has_not_agreed_to() {
    let lab = Lab::new(&[]);
    let starts = vec![Start {
        id: 0,
        at: u64::MAX,
    }];
    let early = Order::Commit {
        starts: starts.clone(),
    };
    // Without a greeting, without a preparation, and with the number of another load.
    let mut line = CampaignLine::to_agent(lab.agent.port(), &lab.secret).expect("an agent");
    let reply: Option<Reply> = line.ask(&early);
    assert!(matches!(&reply, Some(Reply::Refused { reason }) if reason.contains("hello")));
    let mut line = lab.greeted("c");
    let reply: Option<Reply> = line.ask(&early);
    assert!(matches!(&reply, Some(Reply::Refused { reason }) if reason.contains("not prepared")));
    let mut line = lab.greeted("c");
    assert_eq!(line.ask(&prepare(lab.preparation())), Some(Reply::Prepared));
    let starts = vec![Start {
        id: 1,
        at: u64::MAX,
    }];
    let reply: Option<Reply> = line.ask(&Order::Commit { starts });
    assert!(matches!(&reply, Some(Reply::Refused { reason }) if reason.contains("not prepared")));
}

/// Forwards connections to a port and records what the client sends in each.
fn recorder(to: u16) -> (u16, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let all = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&all);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).expect("a netserver");
            let number = {
                let mut all = shared.lock().expect("no thread panics");
                all.push(Vec::new());
                all.len() - 1
            };
            let mut ways = [
                (
                    client.try_clone().expect("a socket"),
                    server.try_clone().expect("a socket"),
                ),
                (server, client),
            ];
            for (way, (from, into)) in ways.iter_mut().enumerate() {
                let (mut from, mut into) = (
                    from.try_clone().expect("a socket"),
                    into.try_clone().expect("a socket"),
                );
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || {
                    let mut buf = vec![0; 65_536];
                    while let Ok(count @ 1..) = from.read(&mut buf) {
                        if way == 0 {
                            let mut all = shared.lock().expect("no thread panics");
                            all[number].extend_from_slice(&buf[..count]);
                        }
                        if into.write_all(&buf[..count]).is_err() {
                            break;
                        }
                    }
                    into.shutdown(std::net::Shutdown::Write).ok();
                });
            }
        }
    });
    (port, all)
}

#[test]
fn threat_model_a_recorded_campaign_cannot_be_repeated() {
    let lab = Lab::new(&[]);
    let (port, recorded) = recorder(lab.agent.port());
    let hosts = format!(
        "127.0.0.1:{port} name=a\n127.0.0.1:{} name=b agent=no\n",
        lab.target.port()
    );
    let plan = "pattern = \"mesh\"\ntest = \"TCP_RR\"\noptions = [\"--rate\", \"100\"]\n\
                window = 2\nwarmup = 2\ncooldown = 0.1\nsilence = 30\n";
    std::fs::write(lab.folder.path().join("hosts"), hosts).expect("a file");
    std::fs::write(lab.folder.path().join("plan.toml"), plan).expect("a file");
    let run = Invocation::new(&ours!().netperf)
        .folder(lab.folder.path())
        .args([
            "campaign",
            "run",
            "plan.toml",
            "--inventory",
            "hosts",
            "--key-file",
            "key",
        ])
        .patience(PATIENCE)
        .run();
    run.expect_exit(0);
    let campaigns = || lab.logged("loads of this agent");
    assert!(eventually(PATIENCE, || campaigns() == 1));
    let bytes = recorded.lock().expect("no thread panics").concat();
    assert!(bytes.len() > 2_000, "{} bytes", bytes.len());
    let mut again = TcpStream::connect(("127.0.0.1", lab.agent.port())).expect("an agent");
    // The connection may be closed in the middle.
    let _closed = again.write_all(&bytes);
    assert!(eventually(PATIENCE, || is_closed(&again)));
    assert_eq!(campaigns(), 1, "{:?}", lab.agent.said());
}

#[test]
fn threat_model_a_member_serves_others_only_with_the_token_of_the_campaign() {
    let lab = Lab::new(&[]);
    // It has to look generated.
    let token = "5c1e09d7a2f84b3690ed7c15f2a8634b0d97be41c6f3528a1e7049bd5f38c2a6".to_owned();
    std::fs::write(lab.folder.path().join("token"), &token).expect("a file");
    let mode = Permissions::from_mode(0o600);
    std::fs::set_permissions(lab.folder.path().join("token"), mode).expect("our file");
    let client = |seconds: &str| {
        ours!()
            .client_of(&lab.agent)
            .folder(lab.folder.path())
            .args(["--key-file", "token", "-t", "TCP_RR", "-l", seconds])
    };
    let no = client("1").run();
    assert!(no.stderr.contains("rejects this key"), "{}", no.account());
    let mut line = lab.greeted("c");
    let mut preparation = lab.preparation();
    preparation.accepts = vec![PairToken {
        member: 1,
        token: TokenDigits(token),
    }];
    assert_eq!(line.ask(&prepare(preparation)), Some(Reply::Prepared));
    client("0.2").run().expect_exit(0);
    // The session of a load that is still there ends with the campaign.
    let mut running = client("100").spawn();
    assert!(running.works(PATIENCE), "{}", running.stderr());
    line.tell(&Order::Bye);
    assert!(
        eventually(PATIENCE, || running.ended()),
        "the session goes on"
    );
    let no = client("1").run();
    assert!(no.stderr.contains("rejects this key"), "{}", no.account());
}

/// Processor time that the processes of an agent have used, those that have ended included.
fn processor_time(agent: &Netserver) -> Duration {
    let pid = agent.pid();
    // A session has ended when it is reaped: until then it would be missing.
    let alone = || procfs::descendants(pid).len() == 1;
    assert!(eventually(PATIENCE, alone), "{:?}", agent.said());
    let there = procfs::descendants(pid).into_iter().chain([pid]);
    let there: Duration = there.map(procfs::processor_time).sum();
    there + procfs::processor_time_of_ended(pid)
}

#[test]
fn threat_model_wrong_keys_cost_little_and_fill_no_log() {
    const COUNT: u8 = 250;
    let lab = Lab::new(&[]);
    let wrong = Secret::new("cd".repeat(32).as_bytes()).expect("a key");
    let lines = || {
        let (stdout, stderr) = lab.agent.said();
        stdout.lines().count() + stderr.lines().count()
    };
    let since = Stopwatch::start();
    // From one address, all but a few are refused before the key, until its penalty is over. With
    // a separate address, each costs a process and a handshake, which is only to be bounded:
    // both depend on the build.
    let stand_in = environment("NETPERF_STAND_IN_DIR").unwrap_or_default();
    let is_optimised = stand_in.ends_with("release");
    let penalised = if is_optimised { 1.0 } else { 3.0 };
    for (third, most) in [(0, penalised), (1, 50.0)] {
        let before = processor_time(&lab.agent);
        for number in 1..=COUNT {
            let last = if third == 0 { 1 } else { number };
            let from = [127, 9, third, last].into();
            let line = CampaignLine::to_agent_from(from, lab.agent.port(), &wrong);
            assert!(line.is_err());
        }
        let used = processor_time(&lab.agent).saturating_sub(before) / u32::from(COUNT);
        let used = used.as_secs_f64() * 1e3;
        note(&format!(
            "{used:.3} ms of processor time for each wrong key"
        ));
        assert!(used <= most, "{used} ms");
    }
    // In each 10 s a hundred of wrong keys and a hundred of penalties, and those of the start.
    let tens = usize::try_from(since.elapsed().as_secs() / 10 + 1).expect("a time");
    let count = lines();
    let account = format!("{count} lines of log in {:?}", since.elapsed());
    note(&account);
    assert!(count <= 200 * tens + 20, "{account}");
    // The agent itself has noticed nothing: it serves others.
    assert!(CampaignLine::to_agent(lab.agent.port(), &lab.secret).is_ok());
}

#[test]
fn results_are_collected_by_a_second_connection_of_the_same_campaign() {
    let lab = Lab::new(&[]);
    let mut line = lab.greeted("c");
    commit(&mut line, lab.preparation());
    let first = result(&mut line);
    assert!(
        first.error.is_none() && first.document.is_some(),
        "{first:?}"
    );
    drop(line);
    let mut again = CampaignLine::to_agent(lab.agent.port(), &lab.secret).expect("an agent");
    // The agent may not have seen the end of the first one yet.
    let hello = Order::Hello {
        version: VERSION,
        campaign: "c".to_owned(),
        silence: Some(PATIENT),
    };
    let greeted = eventually(PATIENCE, || {
        let reply = again.ask(&hello);
        let welcome = matches!(reply, Some(Reply::Hello { .. }));
        if !welcome {
            again = CampaignLine::to_agent(lab.agent.port(), &lab.secret).expect("an agent");
        }
        welcome
    });
    assert!(greeted);
    let Some(Reply::Result(kept)) = again.ask(&Order::Collect) else {
        panic!("no result");
    };
    assert_eq!(*kept, first);
    assert_eq!(again.hear(), Some(Reply::Collected));
    again.tell(&Order::Bye);
    // Nothing is kept after that: another campaign is welcome.
    assert!(eventually(PATIENCE, || {
        let line = CampaignLine::to_agent(lab.agent.port(), &lab.secret);
        let hello = Order::Hello {
            version: VERSION,
            campaign: "d".to_owned(),
            silence: Some(PATIENT),
        };
        line.is_ok_and(|mut line| matches!(line.ask(&hello), Some(Reply::Hello { .. })))
    }));
}

#[test]
fn threat_model_a_load_ends_when_its_coordinator_is_silent() {
    let lab = Lab::new(&[]);
    // Every step until then is shorter, also on a machine that does other things.
    let mut line = lab.greeted_for("c", 8_000 * MILLISECOND);
    let mut preparation = lab.preparation();
    preparation.loads[0].parts.window = 100_000 * MILLISECOND;
    commit(&mut line, preparation);
    // Silent, but connected: the agent itself ends it.
    let sessions = || lab.target.sessions().len();
    let served = eventually(PATIENCE, || {
        if sessions() == 0 {
            line.tell(&Order::Alive);
            std::thread::sleep(Duration::from_millis(100));
        }
        sessions() > 0
    });
    assert!(served, "{:?}", lab.agent.said());
    let mut said = Vec::new();
    while let Some(reply) = line.hear() {
        if let Reply::Result(result) = reply {
            said.push(result.error.clone());
        }
    }
    assert!(eventually(PATIENCE, || sessions() == 0), "the load goes on");
    assert!(
        said.is_empty() || said == [Some("it was stopped".to_owned())],
        "{said:?}"
    );
    assert!(lab.logged("the coordinator is silent") > 0);
}

#[test]
fn stock_programs_are_targets_and_get_one_clear_line_of_a_busy_agent() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let mut lab = Lab::new(&[]);
    lab.target = stock.serve();
    let mut line = lab.greeted("c");
    let mut preparation = lab.preparation();
    // netperf 2.7 paces nothing that it receives; this end does.
    preparation.loads[0].words = own(&["-t", "TCP_STREAM"]);
    preparation.loads[0].parts.window = 1_000 * MILLISECOND;
    commit(&mut line, preparation);
    let busy = stock
        .client_of(&lab.agent)
        .args(["-t", "TCP_RR", "-l", "1"])
        .run();
    assert!(busy.stdout.contains("remote error"), "{}", busy.account());
    let result = result(&mut line);
    assert!(result.error.is_none(), "{result:?}");
    let document = result.document.expect("a document");
    let rate = document["result"]["throughput_bits_per_second"].as_f64();
    assert!(rate.is_some_and(|rate| rate > 0.0), "{document:#}");
    line.tell(&Order::Bye);
    // An agent that requires no key of others serves them, also while it is busy.
    let open = Lab::new(&["--require", "none"]);
    let _line = open.greeted("c");
    let served = stock
        .client_of(&open.agent)
        .args(["-t", "TCP_RR", "-l", "1"])
        .run();
    served.expect_clean();
}
