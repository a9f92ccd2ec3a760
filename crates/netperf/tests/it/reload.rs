//! SIGHUP: settings and keys are read again by a process that may be slow, while clients prove keys.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use netperf_model::Secret;
use netperf_session::access::greeting;
use netperf_testkit::process::signal;
use netperf_testkit::{Finished, Invocation, Netserver, Place, Scratch, eventually, ours, procfs};
use netperf_transport::secure::Channel;
use netperf_wire::FRAME_LEN;

const OLD: &str = "0123456789abcdef0123456789abcdef";
const NEW: &str = "fedcba9876543210fedcba9876543210";
/// A text of settings without a space at its ends, as long as a key has to be.
const SETTINGS: &str = "max-sessions = 7\nidle-time = 77";
const PATIENCE: Duration = Duration::from_secs(60);

fn private(path: &Path, text: &str) {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = file.open(path).expect("a private file");
    writeln!(file, "{text}").expect("a private file");
}

/// A netserver with a key file and a file of settings.
struct Target {
    folder: Scratch,
    server: Netserver,
}

impl Target {
    fn new(keys: &str, options: &[&str]) -> Self {
        let folder = Scratch::new();
        let (keys_at, settings_at) = (folder.path().join("keys"), folder.path().join("settings"));
        private(&keys_at, keys);
        private(&settings_at, SETTINGS);
        let words = [
            &["-D", "--log", "text", "--log-level", "debug"][..],
            &["--key-file", text(&keys_at), "--config", text(&settings_at)],
            options,
        ];
        let server = Netserver::start_with(&ours!(), &Place::Here, &words.concat(), &[]);
        Self { folder, server }
    }

    fn set_keys(&self, keys: &str) {
        private(&self.folder.path().join("keys"), keys);
    }

    fn reload(&self) {
        signal(self.server.pid(), "HUP");
    }

    fn notes(&self, line: &str) {
        let noted = eventually(PATIENCE, || self.server.said().1.contains(line));
        assert!(noted, "{line}: {:?}", self.server.said());
    }

    /// The process that reads files.
    fn reader(&self) -> u32 {
        let port = self.server.port().to_string();
        let all = procfs::with_words(&["-p", &port]);
        let reader = |pid: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name.trim() == "netserver-files")
        };
        all.into_iter()
            .find(reader)
            .expect("a process that reads files")
    }

    fn client(&self, key: &str, words: &[&str]) -> Invocation {
        let client = ours!().client_of(&self.server).env("NETPERF_KEY", key);
        client.args(["-t", "TCP_RR", "-P", "0"]).args(words)
    }

    fn short(&self, key: &str) -> Finished {
        self.client(key, &["-l", "-1"]).run()
    }

    /// A client that has been greeted and has not proven its key.
    fn greeted(&self) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.server.port())).expect("a port");
        stream
            .write_all(greeting().as_bytes())
            .expect("a connection");
        stream.read_exact(&mut [0; FRAME_LEN]).expect("an answer");
        stream
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name")
}

#[test]
fn threat_model_reload_takes_no_late_answer_for_a_later_request() {
    let target = Target::new(&format!("old measure {OLD}"), &[]);
    let reader = target.reader();
    signal(reader, "STOP");
    target.set_keys(&format!("new measure {NEW}"));
    target.reload();
    // Clients are served while it does not answer.
    target.short(OLD).expect_clean();
    target.notes("could not be read in time");
    target.short(OLD).expect_clean();
    signal(reader, "CONT");
    target.reload();
    target.notes("reloaded keys=new");
    target.short(NEW).expect_clean();
    for refused in [OLD, SETTINGS] {
        let run = target.short(refused);
        assert!(!run.status.success(), "{}", run.account());
    }
}

#[test]
fn threat_model_reload_ends_sessions_and_proofs_of_a_removed_key() {
    for require in ["key", "none"] {
        let keys = format!("old measure {OLD}\nnew measure {NEW}");
        let target = Target::new(&keys, &["--require", require]);
        let long = ["-l", "60", "-D", "0.1"];
        let mut removed = target.client(OLD, &long).spawn();
        let mut kept = target.client(NEW, &long).spawn();
        for running in [&mut removed, &mut kept] {
            assert!(running.prints("Interim", PATIENCE));
        }
        let proving = target.greeted();
        target.set_keys(&format!("new measure {NEW}"));
        target.reload();
        target.notes("reloaded keys=new");
        let run = removed.finish();
        assert!(!run.status.success(), "{}", run.account());
        assert!(!kept.ended(), "{}", kept.stderr());
        // The proof is valid for the keys from before.
        let secret = Secret::new(OLD.as_bytes()).expect("a key");
        let proven = Channel::connect(proving.as_fd(), &secret, PATIENCE);
        assert!(proven.is_ok(), "{proven:?}");
        let left = eventually(PATIENCE, || target.server.sessions().len() == 1);
        assert!(left, "{:?}", target.server.said());
    }
}

/// Sessions of many clients are started by a process that has read the settings.
#[test]
fn threat_model_reload_gives_a_starter_of_sessions_no_settings_from_before() {
    let options = ["--max-sessions", "100"];
    let target = Target::new(&format!("old measure {OLD}"), &options);
    let slow = ["-l", "60", "--rate", "2"];
    let mut clients = Vec::new();
    let has_starter = eventually(PATIENCE, || {
        clients.push(target.client(OLD, &slow).spawn());
        target.server.starter().is_some()
    });
    assert!(has_starter, "{:?}", target.server.said());
    target.set_keys(&format!("new measure {NEW}"));
    target.reload();
    target.notes("reloaded keys=new");
    let run = target.short(OLD);
    assert!(!run.status.success(), "{}", run.account());
    target.short(NEW).expect_clean();
}

#[test]
fn threat_model_reload_admits_no_client_by_settings_from_before() {
    let target = Target::new(&format!("old measure {OLD}"), &[]);
    let proving = target.greeted();
    target.reload();
    target.notes("reloaded keys=old");
    let secret = Secret::new(OLD.as_bytes()).expect("a key");
    let proven = Channel::connect(proving.as_fd(), &secret, PATIENCE);
    assert!(proven.is_ok(), "{proven:?}");
    target.notes("denied=reloaded");
    target.short(OLD).expect_clean();
}

#[test]
fn threat_model_reload_and_start_take_generated_keys_alone() {
    let target = Target::new(OLD, &[]);
    target.set_keys(SETTINGS);
    target.reload();
    target.notes("this is not a generated key");
    target.notes("reloaded keys=without-name keys_kept=true");
    target.short(OLD).expect_clean();
    let file = target.folder.path().join("keys");
    for (keys, named) in [
        (SETTINGS.to_owned(), "this is not a generated key"),
        (
            format!("ci measure {OLD}\ntheirs measure correct-horse-battery-staple"),
            "the key theirs is not a generated one",
        ),
    ] {
        private(&file, &keys);
        let start = Invocation::new(&ours!().netserver).args(["-D", "--key-file", text(&file)]);
        let start = start.run();
        assert!(start.stderr.contains(named), "{}", start.account());
        assert_eq!(start.status.code(), Some(1), "{}", start.account());
    }
}

#[test]
fn sighup_reopens_a_log_that_only_root_can_write() {
    if !netperf_testkit::require::root() {
        return;
    }
    let folder = Scratch::new();
    let logs = folder.path().join("logs");
    std::fs::create_dir(&logs).expect("a folder");
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(&logs, mode(0o755)).expect("own folder");
    let (log, rotated) = (logs.join("log"), logs.join("log.1"));
    let words = ["-D", "--log-file", text(&log)];
    let server = Netserver::start_with(&ours!(), &Place::Here, &words, &[]);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let serves = eventually(PATIENCE, || read(&log).contains(" listening "));
    assert!(serves, "{:?}", server.said());
    std::fs::rename(&log, &rotated).expect("a log");
    signal(server.pid(), "HUP");
    let reopened = eventually(PATIENCE, || log.exists());
    assert!(reopened, "{}", read(&rotated));
    // The file is there before netserver has it: a signal until then is told of in the old one.
    let told = eventually(PATIENCE, || {
        signal(server.pid(), "HUP");
        read(&log).contains(" reloaded ")
    });
    assert!(told, "{}", read(&log));
    // No other file is opened in its place.
    std::fs::rename(&log, logs.join("log.2")).expect("a log");
    let other = folder.path().join("other");
    std::fs::write(&other, "").expect("space");
    std::os::unix::fs::symlink(&other, &log).expect("a link");
    signal(server.pid(), "HUP");
    let told = eventually(PATIENCE, || read(&logs.join("log.2")).contains("log-file"));
    assert!(told, "{}", read(&logs.join("log.2")));
    assert_eq!(read(&other), "");
}
