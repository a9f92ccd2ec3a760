//! The processes of netserver, as the threat model lists them, found in /proc.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use netperf_testkit::process::signal;
use netperf_testkit::{
    Invocation, LoopbackOnly, Netserver, Place, Programs, Running, Scratch, TwoHosts, eventually,
    ours, procfs, require,
};

use crate::sandbox::{has_walls, status};

/// Flag of a descriptor that opens nothing (`O_PATH`).
const PATH_ONLY: u32 = 0o10_000_000;
/// `O_CLOEXEC`.
const CLOSED_ON_EXEC: u32 = 0o2_000_000;

/// A row of the threat model: process, name, user, capabilities, calls, sockets of IP.
struct Row([String; 6]);

fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/src/threat-model.md");
    let text = fs::read_to_string(path).expect("the threat model");
    let (_, table) = text.split_once("| process | name |").expect("the table");
    let table = table.split("\n\n").next().expect("its rows");
    let lines = table.lines().skip(2);
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|').map(str::trim);
        let cells: Vec<String> = cells.map(|cell| cell.replace('`', "")).collect();
        Row(cells.try_into().expect("six cells"))
    };
    lines.map(cells).collect()
}

/// A netserver alone in a network namespace, and the resources of its start.
struct Started {
    alone: LoopbackOnly,
    server: Netserver,
    user: &'static str,
    _folder: Scratch,
}

impl Started {
    fn new(is_root: bool, options: &[&str]) -> Self {
        let (folder, alone) = (Scratch::new(), LoopbackOnly::new());
        let own = folder.path().join("netserver");
        // A user may not reach the folder in which they were built.
        let beside = folder.path().join("netperf");
        fs::copy(ours!().netserver, &own).expect("space");
        fs::copy(ours!().netperf, &beside).expect("space");
        for path in [folder.path(), &own, &beside] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("own file");
        }
        let name = own.to_str().expect("a name");
        let as_user = [
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
            name,
        ];
        let (program, before): (&str, &[&str]) = if is_root {
            (name, &[])
        } else {
            ("/usr/bin/setpriv", &as_user)
        };
        let programs = Programs {
            netserver: program.into(),
            ..ours!()
        };
        let options = [before, &["-D"], options].concat();
        let server = Netserver::start_with(&programs, &alone.place(), &options, &[]);
        Self {
            alone,
            server,
            user: if is_root { "0" } else { "65534" },
            _folder: folder,
        }
    }

    fn client(&self, port: u16, words: &str) -> Running {
        let client = Invocation::new(&ours!().netperf).within(&self.alone.place());
        let client = client.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        client.args(words.split_whitespace()).spawn()
    }

    /// Inodes of the sockets of IP here, also of those that listen or receive from any host.
    fn sockets(&self) -> HashSet<String> {
        let tables = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"];
        let read = |table| fs::read_to_string(format!("/proc/{}/net/{table}", self.server.pid()));
        let texts = tables.map(|table| read(table).unwrap_or_default());
        let lines = texts.iter().flat_map(|text| text.lines().skip(1));
        let inode = |line: &str| line.split_whitespace().nth(9).map(str::to_owned);
        lines.filter_map(inode).collect()
    }

    /// Checks a process against its row.
    fn check(&self, pid: u32, role: &str) {
        let rows = rows();
        let row = rows.iter().find(|Row(cells)| cells[0] == role);
        let Row([_, name, user, capabilities, calls, sockets]) =
            row.unwrap_or_else(|| panic!("no row for {role}"));
        let account = format!("{role}: {}", procfs::words(pid).join(" "));
        let real = procfs::name(pid).unwrap_or_default();
        assert!(
            name.starts_with(&real) && !real.is_empty(),
            "{real}: {account}"
        );
        let own = status(pid, "Uid:");
        let own = own.split_whitespace().next().unwrap_or_default();
        let wanted = if user == "that of the start" {
            self.user
        } else {
            "65534"
        };
        assert_eq!(own, wanted, "user of {account}");
        let held = u64::from_str_radix(&status(pid, "CapPrm:"), 16).expect("a set");
        match capabilities.as_str() {
            "none" => assert_eq!(held, 0, "{account}"),
            "CAP_NET_BIND_SERVICE" => assert_eq!(held, 1 << 10, "{account}"),
            "those of the start" => assert_eq!(held > 0, self.user == "0", "{account}"),
            other => panic!("{other}"),
        }
        let filter = if calls == "filtered" { "2" } else { "0" };
        assert_eq!(status(pid, "Seccomp:"), filter, "{account}");
        // A listener of a user has none, and starts programs as that user.
        if self.user == "0" || calls == "filtered" {
            assert_eq!(status(pid, "NoNewPrivs:"), "1", "{account}");
        }
        let here = self.sockets();
        let own = inodes(pid);
        let of_ip: HashSet<_> = own.intersection(&here).cloned().collect();
        let shared: HashSet<_> = inodes(self.server.pid())
            .intersection(&of_ip)
            .cloned()
            .collect();
        match sockets.as_str() {
            "none" => assert!(of_ip.is_empty(), "{of_ip:?}: {account}"),
            "its client's" => assert!(shared.is_empty(), "{shared:?}: {account}"),
            "one that receives" => assert_eq!(shared.len(), 1, "{account}"),
            "those that listen" => assert!(!of_ip.is_empty(), "{account}"),
            other => panic!("{other}"),
        }
        if calls == "filtered" {
            assert_eq!(opened_files(pid), Vec::<String>::new(), "{account}");
            // It takes some after its calls are filtered.
            let all_taken = || not_taken(pid).is_empty();
            let in_time = eventually(Duration::from_secs(20), all_taken);
            assert!(in_time, "{:?}: {account}", not_taken(pid));
        }
    }
}

/// Targets of the descriptors of a process.
fn descriptors(pid: u32) -> Vec<(String, String)> {
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let target = |entry: fs::DirEntry| {
        let number = entry.file_name().to_string_lossy().into_owned();
        let target = fs::read_link(entry.path()).ok()?;
        Some((number, target.to_string_lossy().into_owned()))
    };
    entries.filter_map(target).collect()
}

/// Inodes of the sockets that a process has.
fn inodes(pid: u32) -> HashSet<String> {
    let all = descriptors(pid).into_iter();
    let of_socket = |target: String| {
        let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(inode.to_owned())
    };
    all.filter_map(|(_, target)| of_socket(target)).collect()
}

/// Descriptors that a process inherited and knows nothing of: it closes on exec what it takes.
fn not_taken(pid: u32) -> Vec<String> {
    let standard = |number: &str| ["0", "1", "2"].contains(&number);
    let all = descriptors(pid).into_iter();
    all.filter(|(number, _)| !standard(number) && flags(pid, number) & CLOSED_ON_EXEC == 0)
        .map(|(number, target)| format!("{number}: {target}"))
        .collect()
}

/// The flags of a descriptor. One that is closed already has all.
fn flags(pid: u32, number: &str) -> u32 {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.unwrap_or(u32::MAX)
}

/// Open files of a process other than sockets, the null device and names.
fn opened_files(pid: u32) -> Vec<String> {
    let is_name = |number: &str| flags(pid, number) & PATH_ONLY != 0;
    let all = descriptors(pid).into_iter();
    let is_other = |target: &str| !target.starts_with("socket:") && target != "/dev/null";
    all.filter(|(number, target)| is_other(target) && !is_name(number))
        .map(|(_, target)| target)
        .collect()
}

/// All processes of a netserver are those of the threat model.
fn are_as_listed(is_root: bool) {
    let (iperf3, iperf2) = (5201, 5001);
    let started = Started::new(is_root, &["--iperf3", "--iperf2", "--sandbox", "require"]);
    let server = &started.server;
    let workers = || procfs::children(server.pid());
    assert!(eventually(Duration::from_secs(20), || workers().len() == 1));
    let worker = workers()[0];
    let _clients = [
        started.client(server.port(), "-t TCP_RR -l 60"),
        started.client(iperf3, "--iperf3 -l 60 --rate 1M"),
        started.client(iperf2, "--iperf2 -l 60 --rate 1M"),
    ];
    let sessions = || {
        let all = server.sessions().into_iter();
        let confined = all.filter(|pid| *pid != worker && status(*pid, "Seccomp:") == "2");
        confined.collect::<Vec<_>>()
    };
    assert!(eventually(Duration::from_secs(30), || sessions().len() == 3));
    started.check(server.pid(), "listener");
    started.check(worker, "datagrams of iperf 2");
    for session in sessions() {
        started.check(session, "session");
    }
    helpers_are_as_listed(&started, is_root);

    let folder = Scratch::new();
    let key = folder.path().join("key");
    Invocation::new(&ours!().netperf)
        .args(["campaign", "key", "-o", key.to_str().expect("a name")])
        .run()
        .expect_clean();
    if !is_root {
        std::os::unix::fs::chown(&key, Some(65534), Some(65534)).expect("root");
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("own folder");
    let options = ["--agent", "--key-file", key.to_str().expect("a name")];
    let started = Started::new(is_root, &options);
    let agents = || procfs::children(started.server.pid());
    assert!(eventually(Duration::from_secs(20), || {
        agents()
            .iter()
            .any(|pid| procfs::name(*pid).as_deref() == Some("netperf"))
    }));
    started.check(started.server.pid(), "listener");
    started.check(agents()[0], "agent");
    helpers_are_as_listed(&started, is_root);
}

/// Processes that are no children are helpers, and each of them is listed.
fn helpers_are_as_listed(started: &Started, is_root: bool) {
    let own = procfs::descendants(started.server.pid());
    let mut found = HashSet::new();
    for pid in started.alone.processes() {
        let name = procfs::name(pid).unwrap_or_default();
        if own.contains(&pid) || !name.starts_with("netserver-") {
            continue;
        }
        let role = match name.as_str() {
            "netserver-files" => "reader of files",
            _ => "helper for rights",
        };
        // It has its name before it has given up what it does not need.
        let done = || status(pid, "NoNewPrivs:") == "1";
        assert!(eventually(Duration::from_secs(20), done), "{role}");
        started.check(pid, role);
        found.insert(role);
    }
    assert_eq!(found.contains("helper for rights"), is_root);
}

#[test]
fn threat_model_a_stranger_after_a_local_client_has_the_descriptors_of_one_before_netns() {
    if !(require::root() && has_walls()) {
        return;
    }
    let hosts = TwoHosts::new();
    let server = Netserver::start_with(&ours!(), &hosts.server(), &["-D"], &[]);
    let session_of = |place: Place, address: &str| {
        let client = Invocation::new(&ours!().netperf).within(&place);
        let words = format!(
            "-H {address} -p {} -t TCP_RR -l 60 -b 1 -w 10ms -D 0.2",
            server.port()
        );
        let mut running = client.args(words.split_whitespace()).spawn();
        assert!(running.prints("Interim result", Duration::from_secs(20)));
        let mut session = None;
        let is_confined = || {
            session = (server.sessions().into_iter()).find(|pid| status(*pid, "Seccomp:") == "2");
            session.is_some_and(|pid| not_taken(pid).is_empty())
        };
        assert!(eventually(Duration::from_secs(20), is_confined));
        let kinds = descriptors(session.expect("one")).into_iter();
        let kind = |target: String| match target.split_once(":[") {
            Some(("socket", _)) => "socket".to_owned(),
            // Its own folder.
            _ => target.replace(
                &session.map(|pid| pid.to_string()).unwrap_or_default(),
                "PID",
            ),
        };
        let mut kinds: Vec<String> = kinds.map(|(_, target)| kind(target)).collect();
        kinds.sort_unstable();
        running.signal("INT");
        running.finish();
        let ended = eventually(Duration::from_secs(20), || server.sessions().is_empty());
        assert!(ended, "{:?}", server.said());
        kinds
    };
    let before = session_of(hosts.client(), TwoHosts::SERVER_V4);
    session_of(hosts.server(), "127.0.0.1");
    assert_eq!(session_of(hosts.client(), TwoHosts::SERVER_V4), before);
}

/// Many sessions are started by a process of the threat model, which ends when it is idle or a session
/// crashes.
fn starter_is_as_listed(is_root: bool) {
    let started = Started::new(is_root, &["--sandbox", "require"]);
    let server = &started.server;
    let starter = || server.starter();
    assert_eq!(starter(), None);
    let variables = |pid: u32| fs::read_to_string(format!("/proc/{pid}/environ"));
    let is_by_starter =
        |pid: &u32| variables(*pid).is_ok_and(|text| text.contains("NETSERVER_STARTER"));
    let is_confined = |pid: &u32| status(*pid, "Seccomp:") == "2";
    let confined = || {
        let sessions = server.sessions().into_iter();
        sessions.filter(is_confined).collect::<Vec<u32>>()
    };
    let client = || started.client(server.port(), "-t TCP_RR -l 60 --rate 2");
    let _few: Vec<Running> = (0..16).map(|_| client()).collect();
    let all_run = || confined().len() == 16;
    assert!(eventually(Duration::from_secs(60), all_run));
    assert_eq!(confined().into_iter().find(is_by_starter), None);
    let (mut clients, mut last) = (Vec::new(), None);
    let has_one = eventually(Duration::from_secs(60), || {
        clients.push(client());
        // The first ones are started without it, until it is ready.
        let all_run = || confined().len() == 16 + clients.len();
        assert!(eventually(Duration::from_secs(20), all_run));
        let session = confined().into_iter().find(is_by_starter);
        // A listener that is stopped ends none that is idle.
        signal(server.pid(), "STOP");
        last = session.zip(starter());
        if last.is_none() {
            signal(server.pid(), "CONT");
        }
        last.is_some()
    });
    assert!(has_one, "{:?}", server.said());
    let (session, first) = last.expect("both");
    started.check(session, "session");
    started.check(first, "starter of sessions");
    signal(session, "ABRT");
    signal(server.pid(), "CONT");
    // Not because it is idle.
    let is_another = || {
        clients.push(client());
        starter() != Some(first)
    };
    assert!(eventually(Duration::from_secs(20), is_another));
    // A starter that does not answer delays a client by a second at most.
    let mut stopped = None;
    let is_stopped = || {
        clients.push(client());
        stopped = starter().inspect(|pid| signal(*pid, "STOP"));
        stopped.is_some()
    };
    assert!(eventually(Duration::from_secs(20), is_stopped));
    let served = started.client(server.port(), "-t REM_CPU").finish();
    assert!(served.status.success(), "{served:?}");
    assert!(eventually(Duration::from_secs(20), || starter() != stopped));
    assert!(eventually(Duration::from_secs(20), || starter().is_none()));
}

#[test]
fn threat_model_the_starter_of_sessions_of_root_is_as_listed_netns() {
    if require::root() && has_walls() {
        starter_is_as_listed(true);
    }
}

#[test]
fn threat_model_the_starter_of_sessions_of_a_user_is_as_listed_netns() {
    if require::root() && has_walls() {
        starter_is_as_listed(false);
    }
}

#[test]
fn threat_model_processes_of_root_are_those_of_the_list_netns() {
    if require::root() && has_walls() {
        are_as_listed(true);
    }
}

#[test]
fn threat_model_processes_of_a_user_are_those_of_the_list_netns() {
    if require::root() && has_walls() {
        are_as_listed(false);
    }
}
