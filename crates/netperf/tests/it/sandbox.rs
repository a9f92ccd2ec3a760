//! The sandbox of sessions: what it leaves to them, and when they have it. `sandbox_routes` tries
//! what it forbids.
//!
//! The test starts itself again as a process that enters the sandbox with netserver's own
//! code and then tries. The shipped programs have no way in for this.

use std::fs;
use std::io::{self, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use netperf_cli::SandboxArg;
use netperf_daemon::sandbox::{Means, SessionNeeds, confine};
use netperf_os::privileges::{self, User};
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
    let allowed = Path::new(&folder).join("files");
    let session = SessionNeeds {
        files: Some(&allowed),
        ..SessionNeeds::default()
    };
    if environment(USER).is_some() {
        let user = User {
            user: 65534,
            group: 65534,
        };
        privileges::become_user(user, &[]).expect("root");
    }
    confine(SandboxArg::Require, session).expect("walls");
    needs(&allowed).expect("what tests need");
    let program = Command::new("/bin/true").status();
    let error = program.expect_err("no process");
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    writeln!(io::stdout(), "walls held").expect("a pipe");
}

#[test]
fn sandbox_leaves_a_session_what_tests_need_and_no_processes() {
    if !has_walls() {
        return;
    }
    is_confined(false);
    // As a session of a netserver that root starts.
    if require::is_root() {
        is_confined(true);
    }
}

/// Runs a session's needs in a separate process.
fn is_confined(becomes_user: bool) {
    // Not where temporary files are: there, sockets of tests are made and removed.
    let name = format!("netperf-needs-{}-{becomes_user}", std::process::id());
    let folder = &Path::new("/var/tmp").join(name);
    let _left = fs::remove_dir_all(folder);
    for one in ["files", "tmp"] {
        fs::create_dir_all(folder.join(one)).expect("a folder");
    }
    fs::set_permissions(folder.join("tmp"), fs::Permissions::from_mode(0o777)).expect("own folder");
    fs::write(folder.join("files/fill"), "fill").expect("own folder");
    let me = std::env::current_exe().expect("this program");
    let mut inside = Invocation::new(&me)
        .args(["sandbox::inside", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env("TMPDIR", folder.join("tmp"));
    if becomes_user {
        inside = inside.env(USER, "1");
    }
    let finished = inside.run().expect_exit(0);
    let held = finished.stdout.contains("walls held");
    assert!(held, "{}", finished.account());
    fs::remove_dir_all(folder).expect("own folder");
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
