//! Every attack of a client against three kinds of netserver: started by root, started by a user,
//! and hardened with a key, limits and the sandbox.

mod rates;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use netperf_model::Token;
use netperf_session::access::greeting;
use netperf_testkit::{
    Invocation, Netserver, Place, Programs, Scratch, Stopwatch, eventually, machine, note, ours,
    procfs, require,
};
use netperf_transport::one_port::{Preamble, PreambleKind};
use netperf_wire::{FRAME_LEN, WireSocketType};

use crate::admission::{KEY, attack};
use crate::{budgets, guard, hostile, sandbox};

/// Largest memory of netserver and its sessions, kB.
const MOST_MEMORY: u64 = 200_000;
/// Connections that an attacker keeps open.
const HELD: usize = 60;
/// Time after which nothing of an attack is left; a second usually. A session without data
/// connection may last for 60 s, which only the end of its control connection shortens.
const GONE: Duration = Duration::from_secs(20);
/// Rounds of an attack before it is under way.
const ROUNDS: usize = 8;
/// Share of their quiet rate that honest clients keep under an attack, at least.
const RATE_KEPT: f64 = 0.9;
/// Time until 99 of 100 first answers under an attack, at most.
const FIRST_ANSWER: Duration = Duration::from_millis(100);
/// Interval between the rounds of an attacker.
const INTERVAL: Duration = Duration::from_millis(20);
/// The same in a landing: a machine that other tests keep busy starts a session of an honest client
/// beside these.
const LONG_INTERVAL: Duration = Duration::from_millis(200);
/// Addresses of the attackers.
const SOURCES: [&str; 8] = [
    "127.0.0.2",
    "127.0.0.3",
    "127.0.0.4",
    "127.0.0.5",
    "127.1.0.6",
    "127.2.0.7",
    "127.3.0.8",
    "127.4.0.9",
];

/// A kind of attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attack {
    /// A connection without a message.
    Silent,
    /// Half of a first message.
    Half,
    /// A first message, a byte at a time.
    Drip,
    /// A first message without meaning, and more.
    Noise,
    /// A greeting without a proof.
    Greeting,
    /// A greeting and a wrong proof.
    WrongProof,
    /// A connection with an invented token.
    Token,
    /// A datagram with an invented token.
    Datagram,
    /// A record whose data connection never comes.
    Idle,
    /// A record of a test that makes a socket file.
    File,
    /// A record with buffers of a gigabyte.
    Buffers,
    /// A record of a test below IP.
    Link,
}

/// Attacks before a client has proven anything.
const ON_GREETING: [Attack; 8] = [
    Attack::Silent,
    Attack::Half,
    Attack::Drip,
    Attack::Noise,
    Attack::Greeting,
    Attack::WrongProof,
    Attack::Token,
    Attack::Datagram,
];

/// The other attacks.
const BY_RECORDS: [Attack; 4] = [Attack::Idle, Attack::File, Attack::Buffers, Attack::Link];

/// First messages of the attacks.
struct Messages {
    idle: Vec<u8>,
    file: Vec<u8>,
}

impl Messages {
    fn new() -> Self {
        let caught = |test| {
            hostile::request(&["-t", test, "-l", "30"])
                .as_bytes()
                .to_vec()
        };
        Self {
            idle: caught("TCP_STREAM"),
            file: caught("STREAM_STREAM"),
        }
    }

    fn of(&self, kind: Attack, round: usize) -> Vec<u8> {
        let token = Token::new([u8::try_from(round % 251).expect("a byte"); 16]);
        let invented = |kind| Preamble {
            kind,
            ..Preamble::connection(token)
        };
        match kind {
            Attack::Silent | Attack::Drip => Vec::new(),
            Attack::Half => vec![0; 100],
            Attack::Noise => vec![0xa5; 2 * FRAME_LEN],
            Attack::Greeting => greeting().as_bytes().to_vec(),
            Attack::WrongProof => {
                let mut message = greeting().as_bytes().to_vec();
                // A TLS record of a handshake.
                message.extend([0x16, 3, 3, 0, 200]);
                message.extend([7; 200]);
                message
            }
            Attack::Token => invented(PreambleKind::Connection).bytes().to_vec(),
            Attack::Datagram => invented(PreambleKind::Probe).bytes().to_vec(),
            Attack::Idle => self.idle.clone(),
            Attack::File => self.file.clone(),
            Attack::Buffers => budgets::request(1 << 28).as_bytes().to_vec(),
            Attack::Link => {
                let address = "link:ff:ff:ff:ff:ff:ff/84";
                let record = guard::record("packet", WireSocketType::Datagram, address);
                record.as_bytes().to_vec()
            }
        }
    }
}

/// Ends an attack, also when its test fails.
struct AttackEnd<'a>(&'a AtomicBool);

impl Drop for AttackEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Connections of an attacker.
struct Attacker<'a> {
    sources: &'a [&'a str],
    held: VecDeque<TcpStream>,
}

impl Attacker<'_> {
    fn strike(&mut self, server: &Netserver, message: &[u8], (kind, round): (Attack, usize)) {
        let from = self.sources[round % self.sources.len()];
        if kind == Attack::Datagram {
            let socket = UdpSocket::bind((from, 0)).expect("a loopback address");
            // A full buffer drops it.
            let _dropped = socket.send_to(message, ("127.0.0.1", server.port()));
            return;
        }
        for mut stream in &self.held {
            if kind == Attack::Drip {
                let _closed = stream.write_all(&[0]);
            }
        }
        self.held.push_back(attack(server, from, message));
        if self.held.len() > HELD {
            self.held.pop_front();
        }
    }
}

/// Kinds of attacks at the same time, from addresses in turn.
#[derive(Clone, Copy)]
struct Campaign<'a> {
    messages: &'a Messages,
    kinds: &'a [Attack],
    sources: &'a [&'a str],
    interval: Duration,
}

/// Runs `work` while attackers are at work.
fn under<T>(server: &Netserver, campaign: Campaign<'_>, work: impl FnOnce() -> T) -> T {
    let (done, struck) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let end = AttackEnd(&done);
        scope.spawn(|| {
            let mut attacker = Attacker {
                sources: campaign.sources,
                held: VecDeque::new(),
            };
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                for kind in campaign.kinds {
                    let message = campaign.messages.of(*kind, round);
                    attacker.strike(server, &message, (*kind, round));
                }
                if round >= ROUNDS {
                    struck.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(campaign.interval);
            }
        });
        let is_under_way = || struck.load(Ordering::Relaxed);
        assert!(eventually(Duration::from_secs(60), is_under_way));
        let result = work();
        drop(end);
        result
    })
}

/// A kind of netserver.
struct Target {
    server: Netserver,
    /// Folder for its socket files.
    folder: Scratch,
    /// Clients have the key.
    has_key: bool,
    descriptors: usize,
}

impl Target {
    fn new(programs: &Programs, options: &[&str], has_key: bool) -> Self {
        let folder = Scratch::new();
        // netserver may be another user.
        let open = Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).expect("own folder");
        let mut environment = vec![("TMPDIR".to_owned(), OsString::from(folder.path()))];
        if has_key {
            environment.push(("NETPERF_KEY".to_owned(), KEY.into()));
        }
        let server = Netserver::start_with(programs, &Place::Here, options, &environment);
        let mut target = Self {
            server,
            folder,
            has_key,
            descriptors: 0,
        };
        // It has allocated all that it needs when it has served one client.
        target.serves();
        target.descriptors = target.quiet_descriptors();
        target
    }

    /// Started by this user: root, usually.
    fn of_root() -> Self {
        Self::new(&ours!(), &["-D"], false)
    }

    /// Started by a user without rights.
    fn of_user() -> Self {
        if !require::root() {
            return Self::of_root();
        }
        let folder = Scratch::new();
        let program = folder.path().join("netserver");
        std::fs::copy(ours!().netserver, &program).expect("space");
        for path in [folder.path(), &program] {
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("own file");
        }
        let programs = Programs {
            netserver: "/usr/bin/setpriv".into(),
            ..ours!()
        };
        let name = program.to_str().expect("a name");
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        Self::new(&programs, &[&user[..], &["--", name, "-D"]].concat(), false)
    }

    /// With a key, limits and the sandbox.
    fn hardened() -> Self {
        let sandbox = if sandbox::has_walls() {
            "require"
        } else {
            "auto"
        };
        let options = [
            "-D",
            "--sandbox",
            sandbox,
            "--require",
            "key",
            "--max-sessions",
            "20",
            "--max-memory",
            "16M,64M",
        ];
        Self::new(&ours!(), &options, true)
    }

    fn honest(&self, words: &[&str]) -> Invocation {
        let client = ours!()
            .client_of(&self.server)
            .args(words)
            .args(["-P", "0"]);
        if self.has_key {
            client.env("NETPERF_KEY", KEY)
        } else {
            client
        }
    }

    #[track_caller]
    fn serves(&self) {
        self.honest(&["-t", "TCP_RR", "--count", "1"])
            .run()
            .expect_clean();
    }

    /// Descriptors of netserver without sessions.
    fn quiet_descriptors(&self) -> usize {
        let gone = || self.server.sessions().is_empty();
        assert!(
            eventually(GONE, gone),
            "sessions are left: {:?}",
            self.server.sessions()
        );
        procfs::descriptors(self.server.pid())
    }

    /// Memory of netserver and its sessions, kB, as far as it can be read.
    fn memory(&self) -> u64 {
        let mut sessions = self.server.sessions();
        sessions.push(self.server.pid());
        sessions.into_iter().filter_map(proportional_memory).sum()
    }

    /// Nothing of the attacks is left.
    fn is_as_before(&self) {
        self.quiet_descriptors();
        let closed = || procfs::descriptors(self.server.pid()) <= self.descriptors;
        assert!(
            eventually(GONE, closed),
            "{} descriptors, and {} before",
            procfs::descriptors(self.server.pid()),
            self.descriptors
        );
        let files = || std::fs::read_dir(self.folder.path()).map_or(0, Iterator::count);
        assert!(eventually(GONE, || files() == 0));
        assert!(self.server.alive());
        self.serves();
    }
}

/// Memory of a process, with its share of pages that others have too, kB. Zero for a process that
/// has ended.
fn proportional_memory(pid: u32) -> Option<u64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return (!Path::new(&path).exists()).then_some(0);
    };
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let words = line.map_or("0", |line| line.trim().trim_end_matches(" kB"));
    words.parse().ok()
}

/// All attacks, those of a group at the same time, with honest clients that are served under each
/// group, and nothing left after it.
fn withstands(target: &Target, groups: &[&[Attack]], interval: Duration) {
    let messages = Messages::new();
    let mut most = 0;
    for kinds in groups {
        let campaign = Campaign {
            messages: &messages,
            kinds,
            sources: &SOURCES[..2],
            interval,
        };
        under(&target.server, campaign, || {
            target.serves();
            most = most.max(target.memory());
            target.serves();
        });
    }
    note(&format!("{most} kB"));
    assert!(most < MOST_MEMORY, "{most} kB");
    target.is_as_before();
}

fn withstands_all(target: &Target) {
    let _slot = machine::slot();
    let all = [&ON_GREETING[..], &BY_RECORDS].concat();
    withstands(target, &[&all], LONG_INTERVAL);
}

#[test]
fn a_default_netserver_of_root_withstands_all_attacks() {
    withstands_all(&Target::of_root());
}

#[test]
fn a_default_netserver_of_a_user_withstands_all_attacks() {
    withstands_all(&Target::of_user());
}

#[test]
fn a_hardened_netserver_withstands_all_attacks() {
    withstands_all(&Target::hardened());
}

#[test]
#[ignore = "nightly: twelve attacks on three kinds of netserver, some minute"]
fn every_kind_of_netserver_withstands_each_attack() {
    let _slot = machine::slot();
    let all = [&ON_GREETING[..], &BY_RECORDS].concat();
    let each: Vec<&[Attack]> = all.chunks(1).chain([&all[..]]).collect();
    for target in [Target::of_root(), Target::of_user(), Target::hardened()] {
        withstands(&target, &each, INTERVAL);
    }
}

/// Serves so many clients with the key under each group of attacks.
fn key_holders_are_served(
    count: usize,
    groups: &[&[Attack]],
    (sources, interval): (&[&str], Duration),
) {
    let _slot = machine::slot();
    let target = Target::hardened();
    let messages = Messages::new();
    for kinds in groups {
        let campaign = Campaign {
            messages: &messages,
            kinds,
            sources,
            interval,
        };
        let client = || target.honest(&["-t", "TCP_RR", "--count", "1"]).run();
        let refused: Vec<_> = under(&target.server, campaign, || {
            let all = (0..count).map(|_| client());
            all.filter(|run| !run.status.success()).collect()
        });
        let accounts: Vec<_> = refused.iter().map(|run| run.account()).collect();
        assert!(accounts.is_empty(), "{kinds:?}: {accounts:?}");
    }
}

#[test]
fn ten_of_ten_key_holders_are_served_under_attacks_on_the_greeting() {
    key_holders_are_served(10, &[&ON_GREETING], (&SOURCES[..2], LONG_INTERVAL));
}

#[test]
#[ignore = "nightly: 800 clients"]
fn a_hundred_of_a_hundred_key_holders_are_served_under_each_attack_on_the_greeting() {
    let each: Vec<&[Attack]> = ON_GREETING.chunks(1).collect();
    key_holders_are_served(100, &each, (&SOURCES, INTERVAL));
}
