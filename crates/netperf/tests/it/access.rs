//! Access to netserver: each limit is reached, and both ends report it with a line and an exit
//! status.

mod limits;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use netperf_session::access::greeting;
use netperf_testkit::process::signal;
use netperf_testkit::server::free_port;
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Programs, Scratch, eventually, is_closed, ours, procfs,
    require,
};
use netperf_wire::FRAME_LEN;

fn server(options: &[&str]) -> Netserver {
    let all = [&["-D", "--log", "text"], options].concat();
    Netserver::start_with(&ours!(), &Place::Here, &all, &[])
}

fn client(server: &Netserver, words: &[&str]) -> Invocation {
    ours!().client_of(server).args(words)
}

const SHORT: [&str; 6] = ["-t", "TCP_RR", "-l", "-50", "-P", "0"];

fn is_noted(server: &Netserver, line: &str) {
    let noted = eventually(Duration::from_secs(5), || server.said().1.contains(line));
    assert!(noted, "{line}: {:?}", server.said());
}

fn assert_no_session_left(server: &Netserver) {
    let gone = eventually(Duration::from_secs(5), || server.sessions().is_empty());
    assert!(gone, "sessions are left");
}

#[track_caller]
fn is_refused(finished: &Finished, why: &str) {
    let line = format!("netperf: netserver refuses: {why}\n");
    assert_eq!(finished.stderr, line, "{}", finished.account());
    assert_eq!(finished.status.code(), Some(255), "{}", finished.account());
}

/// A session that holds its place until it is dropped.
fn idle(server: &Netserver) -> TcpStream {
    let before = server.sessions().len();
    let mut connected = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    // It takes a whole message; an unneeded passphrase is not answered.
    let mut message = [0; 656];
    message[3] = 6;
    connected.write_all(&message).expect("a connection");
    let begun = eventually(Duration::from_secs(5), || server.sessions().len() > before);
    assert!(begun, "{:?}", server.said());
    connected
}

/// A private file with this key.
fn key_file(folder: &Scratch, name: &str, key: &str) -> String {
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = folder.path().join(name);
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = file.open(&path).expect("a key file");
    writeln!(file, "{key}").expect("a key");
    path.to_str().expect("a name").to_owned()
}

/// Two keys in files.
fn keys(folder: &Scratch) -> (String, String) {
    (
        key_file(folder, "key", "0123456789abcdef0123456789abcdef"),
        key_file(folder, "other", "fedcba9876543210fedcba9876543210"),
    )
}

#[track_caller]
/// The manual quotes the message, with another host.
fn in_the_manual(line: &str) {
    let chapter = include_str!("../../../../docs/manual/src/access.md");
    let line = line.replace("127.0.0.1", "db1");
    assert!(chapter.contains(&line), "{line}");
}

fn fails(finished: &Finished, status: i32, line: &str) {
    assert_eq!(
        finished.status.code(),
        Some(status),
        "{}",
        finished.account()
    );
    assert!(finished.stderr.contains(line), "{}", finished.account());
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
}

#[test]
fn key_holders_are_served() {
    let folder = Scratch::new();
    let (key, _) = keys(&folder);
    let server = server(&["--key-file", &key]);
    for (test, amount) in [
        ("TCP_STREAM", "-1000000"),
        ("TCP_RR", "-50"),
        ("UDP_RR", "-50"),
        ("UDP_STREAM", "-100000"),
        ("REM_CPU", "1"),
    ] {
        client(&server, &["-t", test, "-l", amount, "--key-file", &key])
            .run()
            .expect_clean();
    }
    // Several control connections, several tests on one, and an unneeded passphrase.
    let words = [
        "--flows", "4", "--time", "300ms", "-i", "2,1", "-Z", "sesame",
    ];
    client(&server, &words)
        .env("NETPERF_KEY_FILE", &key)
        .run()
        .expect_clean();
    client(&server, &["--list"])
        .env("NETPERF_KEY", "0123456789abcdef0123456789abcdef")
        .run()
        .expect_clean();
    assert_no_session_left(&server);
}

#[test]
fn threat_model_a_session_shows_no_secret_and_inherits_nothing() {
    let (key, phrase) = ("0123456789abcdef0123456789abcdef", "open sesame");
    let hidden = [
        key,
        phrase,
        &netperf_model::Secret::new(key.as_bytes()).unwrap().to_hex(),
    ];
    let folder = Scratch::new();
    let config = folder.path().join("netserver.toml");
    std::fs::write(&config, format!("passphrase = '{phrase}'\n")).unwrap();
    let port = free_port().to_string();
    // Descriptor 9 is open, as a shell or a supervisor may leave one.
    let mut listener = Invocation::new(Path::new("/bin/sh"))
        .args(["-c", "exec 9</dev/full; exec \"$0\" \"$@\""])
        .arg(&ours!().netserver)
        .args(["-D", "-L", "127.0.0.1", "-p", &port, "--config"])
        .arg(&config)
        .env("NETPERF_KEY", key)
        .env("UNUSED", "setting")
        .spawn();
    assert!(listener.prints("Starting netserver", Duration::from_secs(10)));
    let _idle = TcpStream::connect(format!("127.0.0.1:{port}")).and_then(|mut idle| {
        idle.write_all(greeting().as_bytes())?;
        Ok(idle)
    });
    let session = || procfs::children(listener.pid()).first().copied();
    assert!(eventually(Duration::from_secs(10), || {
        session().is_some_and(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap_or_default()
                == "1000\n"
        })
    }));
    let pid = session().expect("a session");
    for file in ["cmdline", "environ"] {
        let text = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("netserver") || file == "environ", "{text}");
        assert!(!text.contains("UNUSED"), "{text}");
        for secret in hidden {
            assert!(!text.contains(secret), "{file}: {text}");
        }
    }
    // No core file, and nothing that others of its user could read.
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("limits");
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let words: Vec<_> = core.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words.get(4..6), Some(&["0", "0"][..]), "{limits}");
    let owner = std::fs::metadata(format!("/proc/{pid}/environ")).expect("a process");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&owner), 0, "dumpable");
    if !require::root_for("descriptors of a process that shows its user nothing") {
        return;
    }
    let opened = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("descriptors");
    for fd in opened.flatten() {
        let target = std::fs::read_link(fd.path()).unwrap_or_default();
        assert_ne!(target, Path::new("/dev/full"));
        assert!(!target.to_string_lossy().contains("memfd"), "{target:?}");
    }
}

#[test]
fn a_wrong_key_is_a_line_at_both_ends() {
    let folder = Scratch::new();
    let (key, other) = keys(&folder);
    // Without --log: this is worth a line in any case.
    let options = ["-D", "--key-file", &key];
    let server = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
    let run = client(&server, &SHORT).args(["--key-file", &other]).run();
    let line = "netserver on 127.0.0.1 rejects this key";
    fails(&run, 255, line);
    in_the_manual(line);
    is_noted(&server, "denied=wrong-key");
    assert_no_session_left(&server);
    client(&server, &SHORT)
        .args(["--key-file", &key])
        .run()
        .expect_clean();
}

#[test]
fn threat_model_keys_with_names_have_limits_and_roles_and_are_rotated() {
    let folder = Scratch::new();
    let keys = ["0123456789abcdef", "fedcba9876543210", "02468ace13579bdf"];
    let [old, new, fleet] = keys.map(|half| half.repeat(2));
    let lines = format!("ci measure {old} max-sessions=1\nfleet agent {fleet}");
    let path = key_file(&folder, "keys", &lines);
    // A netserver of root changes to a user that cannot read the file again.
    let server = server(&["--key-file", path.as_str()]);
    let with = |key: &str, words: &[&str]| {
        let all = [&["-t", "TCP_RR", "-P", "0"], words].concat();
        client(&server, &all).env("NETPERF_KEY", key)
    };
    let short = |key: &str| with(key, &["-l", "-1"]).run();
    let mut longer = with(&old, &["-l", "60", "-D", "0.2"]).spawn();
    assert!(longer.prints("Interim", Duration::from_secs(20)));
    is_refused(
        &short(&old),
        "this key uses all sessions that it may have (max-sessions 1 in the key file)",
    );
    is_noted(&server, "denied=key-sessions");
    is_refused(
        &short(&fleet),
        "its key file permits no tests with this key (role agent)",
    );
    is_noted(&server, "key=fleet");
    // Both keys are valid for a time, then the new one alone.
    let rotate = |lines: &str, times| {
        key_file(&folder, "keys", lines);
        signal(server.pid(), "HUP");
        let read = || server.said().1.matches(" reloaded").count() == times;
        let read = eventually(Duration::from_secs(10), read);
        assert!(read, "{:?}", server.said());
    };
    rotate(&format!("ci measure {old}\nci2 measure {new}"), 1);
    short(&old).expect_clean();
    short(&new).expect_clean();
    rotate(&format!("ci2 measure {new}"), 2);
    short(&new).expect_clean();
    fails(&short(&old), 255, "rejects this key");
    is_noted(&server, "key=ci2");
    // A wrong file changes nothing.
    rotate(&format!("ci2 measure {new}\nci2 measure {old}"), 3);
    is_noted(&server, "line 2: an earlier line has this name or this key");
    short(&new).expect_clean();
    drop(longer);
    // The process that opens the file for it ends with netserver.
    let port = server.port().to_string();
    let left = || procfs::with_words(&["-p", &port]);
    // One of root keeps the rights to low ports in another.
    let helpers = 1 + usize::from(require::is_root());
    assert_eq!(left().len(), 1 + helpers);
    drop(server);
    let gone = eventually(Duration::from_secs(10), || left().is_empty());
    assert!(gone, "{:?}", left());
}

#[test]
fn threat_model_netperf_proves_no_key_that_can_be_guessed() {
    let folder = Scratch::new();
    let server = server(&["--key-file", &keys(&folder).0]);
    let key = key_file(&folder, "words", "the measuring space in Berlin");
    let run = client(&server, &SHORT).args(["--key-file", &key]).run();
    fails(&run, 1, "could be guessed by a man in the middle");
    in_the_manual("the key is not a generated one");
    // netperf did not connect.
    assert_no_session_left(&server);
}

#[test]
fn a_client_that_is_gone_before_it_has_shown_the_key_is_cut_and_breaks_no_rule() {
    let folder = Scratch::new();
    let (key, _) = keys(&folder);
    let server = server(&["--log-level", "debug", "--key-file", &key]);
    for (last, end) in [(&b""[..], "end=cut"), (b"nonsense", "end=broken")] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(greeting().as_bytes()).unwrap();
        stream.read_exact(&mut [0; FRAME_LEN]).unwrap();
        stream.write_all(last).unwrap();
        drop(stream);
        is_noted(&server, end);
    }
}

#[test]
fn without_the_key_nothing_is_answered_but_that_it_is_required() {
    let folder = Scratch::new();
    let (key, _) = keys(&folder);
    let server = server(&["--key-file", &key]);
    let why = "it serves only clients that prove its key (--require): use --key-file";
    is_refused(&client(&server, &SHORT).run(), why);
    is_refused(&client(&server, &["-Z", "sesame"]).run(), why);
    is_noted(&server, "denied=key-required");
    if let Some(stock) = Programs::stock() {
        let run = Invocation::new(&stock.netperf)
            .args(["-H", "127.0.0.1", "-p", &server.port().to_string()])
            .run();
        assert!(run.stdout.contains("remote error 126"), "{}", run.account());
    }
    assert_no_session_left(&server);
}

#[test]
fn requirements_can_be_less_than_the_key() {
    let folder = Scratch::new();
    let (key, _) = keys(&folder);
    let open = server(&["--key-file", &key, "--require", "none"]);
    client(&open, &SHORT).run().expect_clean();
    client(&open, &SHORT)
        .args(["--key-file", &key])
        .run()
        .expect_clean();
    let options = [
        "--key-file",
        &key,
        "--require",
        "passphrase",
        "-Z",
        "sesame",
    ];
    let guarded = server(&options);
    for words in [["-Z", "sesame"], ["--key-file", &key]] {
        client(&guarded, &SHORT).args(words).run().expect_clean();
    }
    let none = client(&guarded, &SHORT).run();
    assert!(!none.status.success(), "{}", none.account());
}

#[test]
fn threat_model_a_netserver_that_cannot_prove_that_it_has_the_key_is_refused() {
    let folder = Scratch::new();
    let (key, _) = keys(&folder);
    let line = "netserver on 127.0.0.1 has no key, or is a stock netserver";
    in_the_manual(line);
    let keyless = server(&[]);
    let guarded = server(&["-Z", "sesame"]);
    for server in [&keyless, &guarded] {
        let run = client(server, &SHORT).args(["--key-file", &key]).run();
        fails(&run, 3, line);
    }
    if let Some(stock) = Programs::stock() {
        let stock = Netserver::start(&stock, &Place::Here);
        let run = client(&stock, &SHORT).args(["--key-file", &key]).run();
        fails(&run, 3, line);
    }
}

#[test]
fn threat_model_a_key_that_others_can_read_or_that_is_missing_ends_either_program() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Scratch::new();
    let (key, _) = keys(&folder);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&key, open).unwrap();
    let line = format!("the key file {key}: others can read or change it: chmod 600 {key}");
    let start = |words: &[&str]| Invocation::new(&ours!().netserver).args(words).run();
    fails(&start(&["-D", "-p", "0", "--key-file", &key]), 1, &line);
    let run = Invocation::new(&ours!().netperf)
        .args(["--key-file", &key])
        .run();
    fails(&run, 1, &line);
    let line = "netserver: --require key needs a key: give its file with --key-file";
    fails(&start(&["-D", "-p", "0", "--require", "key"]), 1, line);
}

/// A connection that has said the greeting and heard the answer.
fn greeted(server: &Netserver) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    let patience = Duration::from_secs(30);
    stream.set_read_timeout(Some(patience)).expect("a limit");
    let greeting = netperf_session::access::greeting();
    stream.write_all(greeting.as_bytes()).expect("a greeting");
    let mut answer = [0; netperf_wire::FRAME_LEN];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(answer, *netperf_session::access::answer().as_bytes());
    stream
}

#[test]
fn handshakes_that_are_no_handshakes_end_the_session_and_nothing_else() {
    let folder = Scratch::new();
    let (key, _) = keys(&folder);
    let server = server(&["--key-file", &key]);
    let hello = [0x16, 3, 1, 0x40, 0, 1, 0, 0x3f];
    for said in [&[0xff; 700][..], &hello[..], &[][..]] {
        let mut stream = greeted(&server);
        stream.write_all(said).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // Perhaps an alert, and the end.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).ok();
        assert!(rest.len() < 64, "{rest:?}");
    }
    // One that says nothing more is not waited for; others are served meanwhile.
    let silent = greeted(&server);
    client(&server, &SHORT)
        .args(["--key-file", &key])
        .run()
        .expect_clean();
    assert!(is_closed(&silent));
    assert_no_session_left(&server);
}

#[test]
fn a_checked_file_is_one_that_netserver_starts_with() {
    let folder = Scratch::new();
    let file = folder.path().join("netserver.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).expect("space");
        Invocation::new(&ours!().netserver)
            .arg("--check-config")
            .arg(&file)
            .run()
    };
    for (text, line) in [
        ("metrics = 'here'\n", "netserver: --metrics here: "),
        (
            "user = 'no-user-of-this-name'\n",
            "netserver: --user: no user",
        ),
        (
            "files = '/dev/null'\n",
            "netserver: --files: /dev/null is not a folder",
        ),
        ("key-file = '/dev/null/key'\n", "/dev/null/key"),
        (
            "require = 'key'\n",
            "netserver: --require key needs a key: give its file with --key-file",
        ),
        (
            "log-file = '/dev/null/log'\n",
            "netserver: cannot write the log to /dev/null/log",
        ),
        ("listen = '192.0.2.1'\n", "listen at 192.0.2.1"),
    ] {
        let wrong = check(text).expect_exit(1);
        assert!(wrong.stderr.contains(line), "{}", wrong.account());
        assert_eq!(wrong.stdout, "", "{}", wrong.account());
    }
    // All that is wrong is shown at once.
    let wrong = check("metrics = 'here'\nfiles = '/dev/null'\n").expect_exit(1);
    assert_eq!(wrong.stderr.lines().count(), 2, "{}", wrong.account());
    // A running netserver has the ports.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("its address");
    let log = folder.path().join("log");
    let text = format!("metrics = '{at}'\nlog-file = '{}'\n", log.display());
    check(&text).expect_exit(0);
    assert!(!log.exists(), "the check creates nothing");
}
