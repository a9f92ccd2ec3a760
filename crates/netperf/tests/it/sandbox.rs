//! Operations that the sandbox forbids, tried inside the sandbox of a session.
//!
//! The test starts itself again as a process that enters the sandbox with netserver's own
//! code and then tries. The shipped programs have no way in for this.

use std::fs;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use netperf_cli::SandboxArg;
use netperf_daemon::sandbox::{Means, SessionNeeds, confine};
use netperf_os::privileges::{self, User};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::uring::Uring;
use netperf_os::{Domain, Socket, Type};
use netperf_testkit::process::signal;
use netperf_testkit::{
    Invocation, LoopbackOnly, Netserver, Place, Scratch, environment, eventually, ours, require,
};

/// Returns true if this kernel has all mechanisms of the sandbox.
pub(crate) fn has_walls() -> bool {
    let missing = Means::find().missing();
    require::require(
        missing.is_none(),
        missing.unwrap_or("nothing"),
        "a kernel of Linux 6.12 or later with both compiled in has them",
    )
}

/// Variable with the folder of the probe, and that of a probe which is to be a user.
const FOLDER: &str = "SANDBOX_PROBE_FOLDER";
const USER: &str = "SANDBOX_PROBE_USER";

/// Attempts in a folder: name and result.
fn forbidden(
    folder: &Path,
    (port, abstract_name): (u16, &SocketAddr),
) -> Vec<(&'static str, io::Result<()>)> {
    let read = |path: &Path| fs::read(path).map(drop);
    vec![
        (
            "run a program",
            Command::new("/bin/true").status().map(drop),
        ),
        ("make a folder", fs::create_dir(folder.join("new"))),
        (
            "rename a file",
            fs::rename(folder.join("victim"), folder.join("other")),
        ),
        (
            "give a file away",
            std::os::unix::fs::chown(folder.join("victim"), Some(1), None),
        ),
        (
            "let others use a file",
            fs::set_permissions(folder.join("victim"), fs::Permissions::from_mode(0o666)),
        ),
        (
            "open a socket of the kernel's cryptography",
            Socket::new(Domain::from(38), Type::from(5), None).map(drop),
        ),
        (
            "open a socket of link level",
            Socket::new(Domain::PACKET, Type::RAW, None).map(drop),
        ),
        (
            "use a port below 1024",
            TcpListener::bind("127.0.0.1:801").map(drop),
        ),
        (
            "mark packets",
            UdpSocket::bind("127.0.0.1:0")
                .and_then(|socket| sockopt::set(socket.as_fd(), IntOption::Mark, 7)),
        ),
        ("set up io_uring", Uring::new(1, None).map(drop)),
        ("read the users", read(Path::new("/etc/passwd"))),
        (
            "read a file outside the folder",
            read(&folder.join("victim")),
        ),
        ("read another process", read(Path::new("/proc/1/status"))),
        ("make a file", fs::write(folder.join("made"), "x")),
        (
            "make a file for everybody",
            fs::write("/tmp/netperf-sandbox-probe", "x"),
        ),
        ("remove a file", fs::remove_file(folder.join("victim"))),
        ("write to a device", fs::write("/dev/kmsg", "x")),
        (
            "connect over TCP",
            TcpStream::connect(("127.0.0.1", port)).map(drop),
        ),
        (
            "connect over IPv6 and TCP",
            TcpStream::connect(("::1", port)).map(drop),
        ),
        (
            "connect to a socket without a file",
            UnixStream::connect_addr(abstract_name).map(drop),
        ),
    ]
}

/// Operations that the sandbox must permit: the sockets and the files of tests.
fn needs(allowed: &Path) -> io::Result<()> {
    assert_eq!(fs::read(allowed.join("fill"))?, b"fill");
    fs::read("/proc/stat")?;
    fs::read("/proc/self/maps")?;
    let (one, other) = (
        UdpSocket::bind("127.0.0.1:0")?,
        UdpSocket::bind("127.0.0.1:0")?,
    );
    one.connect(other.local_addr()?)?;
    one.send(b"x")?;
    other.set_read_timeout(Some(Duration::from_secs(5)))?;
    assert_eq!(other.recv(&mut [0; 8])?, 1);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    assert!(listener.accept().is_err(), "nobody connects");
    let path = std::env::temp_dir().join(format!("netpe-probe-{}", std::process::id()));
    drop(UnixListener::bind(&path)?);
    let mode = fs::metadata(&path)?.permissions().mode();
    assert_eq!(mode & 0o777, 0o666, "anybody may send to it");
    fs::remove_file(&path)?;
    std::thread::spawn(|| ()).join().expect("a thread");
    Ok(())
}

/// Body of the other test, which runs it in a separate process.
#[test]
fn inside() {
    let Some(folder) = environment(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let port = fs::read_to_string(folder.join("port")).expect("written by the parent");
    let port = port.parse().expect("a number");
    let allowed = folder.join("files");
    let session = SessionNeeds {
        files: Some(&allowed),
        ..SessionNeeds::default()
    };
    let abstract_name = SocketAddr::from_abstract_name(folder.as_os_str().as_encoded_bytes());
    let abstract_name = abstract_name.expect("a short name");
    // What a process may have from before it was confined: a folder, and a ring.
    let inherited = fs::File::open(folder).expect("a folder");
    let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", inherited.as_raw_fd()));
    let ring = Uring::new(1, None);
    let (one, other) = (
        UdpSocket::bind("127.0.0.1:0").expect("a socket"),
        UdpSocket::bind("127.0.0.1:0").expect("a socket"),
    );
    one.connect(other.local_addr().expect("its address"))
        .expect("an address");
    if environment(USER).is_some() {
        let user = User {
            user: 65534,
            group: 65534,
        };
        privileges::become_user(user, &[]).expect("root");
    }
    confine(SandboxArg::Require, session).expect("walls");
    needs(&allowed).expect("what tests need");
    // Landlock says EACCES or EPERM, seccomp EPERM.
    let is_refused = |name: &str, result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        other => panic!("{name}: {other:?}"),
    };
    for folder in [folder, &by_descriptor] {
        for (name, result) in forbidden(folder, (port, &abstract_name)) {
            is_refused(name, result);
        }
    }
    // Every call by a ring is one that submits to it.
    if let Ok(mut ring) = ring {
        is_refused("use a ring", ring.send_now(one.as_fd(), b"x").map(drop));
    }
    let mut stdout = io::stdout();
    writeln!(stdout, "walls held").expect("a pipe");
}

#[test]
fn threat_model_calls_files_and_addresses_that_no_test_needs_are_out_of_reach_from_inside() {
    if !has_walls() {
        return;
    }
    is_confined(false);
    // As a session of a netserver that root starts.
    if require::is_root() {
        is_confined(true);
    }
}

#[test]
fn forbidden_acts_are_those_of_the_threat_model() {
    let text = include_str!("../../../../docs/manual/src/threat-model.md");
    let (_, list) = text.split_once("tries these acts").expect("the list");
    let list = list.split_once("can still do").expect("its end").0;
    let listed: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("- "))
        .collect();
    let name = SocketAddr::from_abstract_name("netperf-no-such-name").expect("a name");
    let nowhere = Scratch::new();
    let tried = forbidden(&nowhere.path().join("absent"), (1, &name));
    let tried: Vec<&str> = tried.into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed, tried);
}

/// Runs the attempts in a process of their own.
fn is_confined(becomes_user: bool) {
    // Not where temporary files are: there, sockets of tests are made and removed.
    let name = format!("netperf-walls-{}-{becomes_user}", std::process::id());
    let folder = Path::new("/var/tmp").join(name);
    fs::create_dir_all(folder.join("files")).expect("a folder for all");
    let folder = folder.as_path();
    fs::create_dir(folder.join("tmp")).expect("what the attempts need");
    for open in [folder.to_owned(), folder.join("tmp")] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o777))
            .expect("what the attempts need");
    }
    fs::write(folder.join("files/fill"), "fill").expect("what the attempts need");
    fs::write(folder.join("victim"), "x").expect("what the attempts need");
    let listener = TcpListener::bind("[::]:0").expect("what the attempts need");
    let port = listener
        .local_addr()
        .expect("what the attempts need")
        .port();
    fs::write(folder.join("port"), port.to_string()).expect("what the attempts need");
    let name = SocketAddr::from_abstract_name(folder.as_os_str().as_encoded_bytes())
        .expect("what the attempts need");
    let _abstract = UnixListener::bind_addr(&name).expect("what the attempts need");
    // Without the sandbox everything that is about to be forbidden can be done.
    let outside = Command::new("/bin/true")
        .status()
        .expect("what the attempts need");
    assert!(outside.success() && fs::read(folder.join("victim")).is_ok());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(UnixStream::connect_addr(&name).is_ok());
    let me = std::env::current_exe().expect("what the attempts need");
    let mut inside = Invocation::new(&me)
        .args(["sandbox::inside", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env("TMPDIR", folder.join("tmp"));
    if becomes_user {
        inside = inside.env(USER, "1");
    }
    let finished = inside.run().expect_exit(0);
    assert!(
        finished.stdout.contains("walls held"),
        "{}",
        finished.account()
    );
    assert!(folder.join("victim").exists());
    fs::remove_dir_all(folder).expect("what the attempts need");
}

/// A line of `/proc/PID/status`.
pub(crate) fn status(pid: u32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.unwrap_or_default().trim().to_owned()
}

fn server(options: &[&str]) -> Netserver {
    let options: Vec<&str> = ["-D"].into_iter().chain(options.iter().copied()).collect();
    Netserver::start_with(&ours!(), &Place::Here, &options, &[])
}

fn client(server: &Netserver, words: &[&str]) -> Invocation {
    ours!()
        .client_of(server)
        .args(["-P", "0", "-v", "0"])
        .args(words)
}

#[test]
fn sessions_are_confined_unless_told_otherwise() {
    if !has_walls() {
        return;
    }
    // A listener that changes its user has no new privileges.
    let off = if status(std::process::id(), "Uid:").starts_with('0') {
        "1"
    } else {
        "0"
    };
    for (option, filtered) in [("auto", "2"), ("require", "2"), ("off", "0")] {
        let server = server(&["--sandbox", option]);
        let running = client(&server, &["-t", "TCP_RR", "-l", "30"]).spawn();
        assert!(eventually(Duration::from_secs(10), || {
            let session = server.sessions().first().copied();
            session.is_some_and(|session| status(session, "Seccomp:") == filtered)
        }));
        let session = server.sessions()[0];
        let privileges = if option == "off" { off } else { "1" };
        assert!(eventually(Duration::from_secs(10), || {
            status(session, "NoNewPrivs:") == privileges
        }));
        // A session sets its limits one after the other.
        assert!(eventually(Duration::from_secs(10), || {
            let limits = fs::read_to_string(format!("/proc/{session}/limits")).unwrap();
            let core = limits.lines().find(|line| line.contains("core file"));
            let core: Vec<&str> = core.unwrap().split_whitespace().collect();
            core[4..6] == ["0", "0"]
        }));
        signal(server.pid(), "KILL");
        drop(running);
    }
}

#[test]
fn threat_model_a_file_that_a_client_names_is_read_from_the_folder_that_is_allowed_and_no_other() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    fs::create_dir(folder.join("files")).unwrap();
    fs::write(folder.join("files/fill"), "fill").unwrap();
    let allowed = folder.join("files");
    let none = server(&[]);
    let some = server(&["--files", allowed.to_str().unwrap()]);
    let maerts = |server: &Netserver, name: &str| {
        let words = ["-t", "TCP_MAERTS", "-l", "-64K", "-F", name];
        client(server, &words).run()
    };
    maerts(&some, ",fill").expect_clean();
    for (server, name) in [
        (&none, ",fill"),
        (&some, ",/etc/passwd"),
        (&some, ",../files"),
    ] {
        let refused = maerts(server, name);
        assert!(!refused.status.success(), "{}", refused.account());
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(said.contains("ermission denied"), "{}", refused.account());
    }
    // netserver does not read a file that it does not send.
    let words = ["-t", "TCP_STREAM", "-l", "-64K", "-F", ",fill"];
    let unread = client(&none, &words).run().expect_exit(0);
    let why = "fill file (-F) at netserver: not in force, because netserver sends no data";
    assert!(unread.stderr.contains(why), "{}", unread.account());
}

#[test]
fn a_netserver_that_cannot_have_what_it_must_does_not_start() {
    let netserver = |words: &[&str]| Invocation::new(&ours!().netserver).args(words).run();
    for (words, line) in [
        (
            &["-D", "-f", "--sandbox", "require"][..],
            "netserver: --sandbox require takes a process for each session, and -f has none\n",
        ),
        (
            &["-D", "--user", "nobody-of-this-name"],
            "netserver: --user: no user nobody-of-this-name\n",
        ),
        (
            &["-D", "--files", "/dev/null"],
            "netserver: --files: /dev/null is not a folder\n",
        ),
    ] {
        let finished = netserver(words).expect_exit(1);
        assert_eq!(finished.stderr, line, "{}", finished.account());
    }
    let version = netserver(&["-V"]).expect_clean();
    assert!(
        version
            .stdout
            .starts_with("Netperf version 2.7.0\nsandbox: "),
        "{}",
        version.account()
    );
}

#[test]
fn a_netserver_started_as_root_becomes_another_user_for_good() {
    if !require::root() {
        return;
    }
    let server = server(&["--user", "nobody"]);
    let ids = status(server.pid(), "Uid:");
    let ids: Vec<&str> = ids.split_whitespace().collect();
    assert!(ids.iter().all(|id| *id == ids[0] && *id != "0"), "{ids:?}");
    assert_eq!(status(server.pid(), "Groups:"), "");
    assert_eq!(status(server.pid(), "CapEff:"), "0000000000000000");
    assert_eq!(status(server.pid(), "NoNewPrivs:"), "1");
    client(&server, &["-t", "TCP_RR", "-l", "-50"])
        .run()
        .expect_clean();
}

/// No capability.
const NONE: &str = "0000000000000000";

#[test]
fn threat_model_a_netserver_of_root_becomes_a_user_without_rights_by_default_netns() {
    if !require::root() {
        return;
    }
    let alone = LoopbackOnly::new();
    let start = |options: &[&str]| {
        Netserver::start_with(&ours!(), &alone.place(), &[&["-D"], options].concat(), &[])
    };
    let client = |server: &Netserver, words: &[&str]| {
        let client = Invocation::new(&ours!().netperf).within(&alone.place());
        let port = server.port().to_string();
        client.args(["-H", "127.0.0.1", "-p", &port]).args(words)
    };
    let users = |pid: u32| -> Vec<String> {
        let ids = status(pid, "Uid:");
        ids.split_whitespace().map(str::to_owned).collect()
    };
    let server = start(&[]);
    let running = client(&server, &["-t", "TCP_RR", "-l", "60"]).spawn();
    let session = || server.sessions().first().copied();
    let confined = || session().is_some_and(|pid| status(pid, "Seccomp:") == "2");
    assert!(eventually(Duration::from_secs(20), confined));
    for pid in [server.pid(), session().expect("a session")] {
        assert!(users(pid).iter().all(|id| id != "0"), "{:?}", users(pid));
        for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
            assert_eq!(status(pid, set), NONE, "{set}");
        }
        assert_eq!(status(pid, "NoNewPrivs:"), "1");
    }
    drop(running);
    // A client of netperf 2.7 may choose a low port for its data.
    let low = ["-t", "TCP_RR", "-l", "-50", "--", "-P", "0,801"];
    client(&server, &low).run().expect_clean();
    let root = start(&["--user", "root"]);
    assert!(users(root.pid()).iter().all(|id| id == "0"));
    client(&root, &low).run().expect_clean();
    let _running = client(&root, &["-t", "TCP_RR", "-l", "60"]).spawn();
    let session = || root.sessions().first().copied();
    let bare = || session().is_some_and(|pid| status(pid, "CapPrm:") == NONE);
    assert!(eventually(Duration::from_secs(20), bare));
}

/// An algorithm of congestion control that users may not choose, if this host has one.
fn restricted_algorithm() -> Option<String> {
    let list = |name: &str| {
        let file = format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control");
        fs::read_to_string(file).unwrap_or_default()
    };
    let (available, allowed) = (list("available"), list("allowed"));
    let is_allowed = |one: &&str| allowed.split_whitespace().any(|other| other == *one);
    let mut all = available.split_whitespace();
    all.find(|one| !is_allowed(one)).map(str::to_owned)
}

#[test]
fn threat_model_congestion_control_that_users_may_not_choose_is_refused_by_name() {
    let Some(name) = restricted_algorithm() else {
        return;
    };
    let server = server(&[]);
    let options = ["-t", "TCP_STREAM", "-l", "-1M", "--", "-K"];
    let refused = client(&server, &options).args([&format!(",{name}")]).run();
    if require::is_root() {
        let line = format!("its host does not permit users the congestion control '{name}'");
        assert!(refused.stderr.contains(&line), "{}", refused.account());
    }
    let one = format!(
        ",{}",
        fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")
            .unwrap()
            .trim()
    );
    client(&server, &options).args([&one]).run().expect_clean();
}
