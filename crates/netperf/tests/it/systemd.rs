//! The units in `dist/systemd` behave under systemd as the manual states: start directly or by
//! the first client, confinement, reload and stop, with every kind of test.
//!
//! systemd runs in the virtual machine of the lab, as the first process of separate namespaces,
//! with only the units that a journal needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use netperf_testkit::process::succeeds;
use netperf_testkit::{
    Finished, Invocation, Lab, Running, Scratch, eventually, note, procfs, require,
};

/// The machine is emulated.
const PATIENCE: Duration = Duration::from_secs(60);
/// Contents of the units.
const PORT: u16 = 12865;
/// Largest exposure that `systemd-analyze security` may report, in tenths; a service without
/// protection has 92.
const EXPOSURE: &str = "--threshold=20";
const NETPERF: &str = env!("CARGO_BIN_EXE_netperf");
const NETSERVER: &str = env!("CARGO_BIN_EXE_netserver");

/// Tests through the units: those whose data goes ways that the units could close.
const TESTS: [&str; 14] = [
    "-t TCP_RR",
    "-t TCP_STREAM",
    "-t TCP_CRR",
    "-t UDP_RR",
    "-t UDP_STREAM",
    "-t STREAM_STREAM",
    "-t DG_RR",
    "-t TCP_SENDFILE -F /usr/share/common-licenses/GPL-3 -- -m 1K",
    "-t TCP_MAERTS -F ,GPL-3",
    "-t TCP_RR -c -C -T 0,1",
    "-t TCP_RR --io epoll",
    "-t TCP_RR --flows 20 --threads 2",
    "-t TCP_STREAM --one-port",
    "-t UDP_RR --one-port",
];

fn units() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/systemd")
}

fn invocation(program: &str, words: &str) -> Invocation {
    Invocation::new(Path::new(program))
        .args(words.split_whitespace())
        .patience(PATIENCE)
}

#[test]
fn the_units_are_what_systemd_takes_and_leave_little_open() {
    let present = succeeds(Command::new("systemd-analyze").arg("--version"));
    if !require::require(present, "systemd-analyze", "install systemd") {
        return;
    }
    let folder = Scratch::new();
    // The program has to be where the unit says.
    let service = std::fs::read_to_string(units().join("netserver.service")).expect("a unit");
    let service = service.replace("/usr/local/bin/netserver", NETSERVER);
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("netserver.service"), service).expect("space for a unit");
    std::fs::copy(units().join("netserver.socket"), at("netserver.socket")).expect("a unit");
    let both = format!("{} {}", at("netserver.service"), at("netserver.socket"));
    let options = "verify --man=no --recursive-errors=no";
    let verified = invocation("systemd-analyze", &format!("{options} {both}")).run();
    let verified = verified.expect_exit(0);
    // Other units of the host, which are read as well, may get remarks.
    let remarks = [verified.stdout.lines(), verified.stderr.lines()];
    let own = remarks.into_iter().flatten();
    let own: Vec<&str> = own.filter(|line| line.contains("netserver")).collect();
    assert_eq!(own, [""; 0], "{}", verified.account());
    let security = format!("security --no-pager --offline=true {EXPOSURE}");
    let said = invocation(
        "systemd-analyze",
        &format!("{security} {}", at("netserver.service")),
    );
    note(&said.run().expect_exit(0).stdout);
}

/// Settings that the manual describes with their values.
const DESCRIBED: [&str; 9] = [
    "MemoryMax",
    "CPUQuota",
    "TasksMax",
    "OOMPolicy",
    "PrivateUsers",
    "DynamicUser",
    "PrivateTmp",
    "TimeoutStopSec",
    "LimitNOFILE",
];

#[test]
fn the_manual_describes_the_unit() {
    let unit = std::fs::read_to_string(units().join("netserver.service")).expect("a unit");
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/src/operations.md");
    let text = std::fs::read_to_string(book).expect("a chapter");
    // Text between backquotes, outside of blocks.
    let settings: Vec<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| {
            let name = code
                .split_once('=')
                .map_or("", |(name, value)| if value.is_empty() { "" } else { name });
            name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphabetic)
        })
        .collect();
    for setting in &settings {
        // Comments name what link-level tests need.
        let mut lines = unit.lines();
        let stands =
            lines.any(|line| line == *setting || line.starts_with('#') && line.contains(setting));
        assert!(stands, "{setting}");
    }
    for name in DESCRIBED {
        let described = settings
            .iter()
            .any(|one| one.split('=').next() == Some(name));
        assert!(described, "{name}: {settings:?}");
    }
}

/// systemd, and all it has started; they end with it.
struct Systemd {
    around: Running,
    first: u32,
}

impl Systemd {
    /// Boots it.
    fn boot() -> Self {
        let words = "--pid --fork --kill-child --mount --mount-proc --cgroup bash -c";
        let around = invocation("unshare", words)
            .arg(BOOT)
            .env("UNITS", units())
            .env("NETSERVER", NETSERVER)
            .patience(PATIENCE * 10)
            .spawn();
        let first = || procfs::children(around.pid()).first().copied();
        assert!(eventually(PATIENCE, || first().is_some()));
        let first = first().expect("a process");
        let systemd = Self { around, first };
        let up = || systemd.ctl("is-system-running").stdout == "running\n";
        let (out, err) = (systemd.around.stdout(), systemd.around.stderr());
        assert!(eventually(PATIENCE, up), "systemd is not up: {out}{err}");
        systemd
    }

    /// Runs a program where systemd is.
    fn run(&self, words: &str) -> Finished {
        let first = self.first;
        invocation("nsenter", &format!("-t {first} -m -p -C {words}")).run()
    }

    fn ctl(&self, words: &str) -> Finished {
        self.run(&format!("systemctl {words}"))
    }

    fn property(&self, name: &str) -> String {
        let shown = self.ctl(&format!("show --value -p {name} netserver.service"));
        shown.stdout.trim_end().to_owned()
    }

    fn journal(&self) -> String {
        self.run("journalctl --no-pager -o cat -u netserver.service")
            .stdout
    }

    #[track_caller]
    fn expect_logged(&self, text: &str) {
        let logged = eventually(PATIENCE, || self.journal().contains(text));
        assert!(logged, "{text} is not in the journal:\n{}", self.journal());
    }

    /// A netperf beside it. Sockets of datagrams are where both can reach them.
    fn netperf(&self, options: &str) -> Invocation {
        // There is no process between: ending the one ends the other.
        let words = format!("-t {} -m {NETPERF} -H 127.0.0.1 -P 0", self.first);
        invocation("nsenter", &words)
            .args(["-p", &PORT.to_string()])
            .args(options.split_whitespace())
            .env("TMPDIR", "/dev/shm")
    }

    /// The processes of netserver, as this test sees them.
    fn netservers(&self) -> Vec<u32> {
        let mut all = procfs::descendants(self.first);
        all.retain(|pid| procfs::name(*pid).as_deref() == Some("netserver"));
        all
    }
}

/// Makes a place for systemd that has nothing in it, and becomes it.
const BOOT: &str = r#"
set -e
mount -t tmpfs run /run
mount -t tmpfs bin /usr/local/bin
mount -t tmpfs lib /var/lib
install "$NETSERVER" /usr/local/bin/netserver
mkdir -p /run/units/netserver.service.d /run/none
cp "$UNITS"/* /run/units
cd /run/units
start=$(grep ^ExecStart= netserver.service)
printf '[Service]\nExecStart=\n%s --log-level debug --files /usr/share/common-licenses\n' "$start" \
    >netserver.service.d/files.conf
for target in sysinit basic sockets shutdown network; do
    printf '[Unit]\nDefaultDependencies=no\n' >$target.target
done
for unit in systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket; do
    cp /lib/systemd/system/$unit .
done
printf '[Unit]\nDefaultDependencies=no\nWants=systemd-journald.service\n' >lab.target
exec env -i container=lab PATH="$PATH" SYSTEMD_UNIT_PATH=/run/units \
    SYSTEMD_GENERATOR_PATH=/run/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/run/none \
    /lib/systemd/systemd --system --unit=lab.target --show-status=false \
    --log-target=console --log-level=notice
"#;

#[test]
fn netserver_is_started_used_read_again_and_stopped_by_systemd_vm() {
    if !Lab::Vm.is_here() {
        return;
    }
    let systemd = Systemd::boot();
    systemd
        .ctl("start netserver.socket netserver.service")
        .expect_clean();
    starts_as_it_would_by_itself(&systemd);
    every_test_works(&systemd);
    sessions_are_confined(&systemd);
    systemd.ctl("reload netserver.service").expect_clean();
    systemd.expect_logged(" info reloaded");
    a_stop_lets_tests_finish(&systemd);
    the_next_client_starts_it(&systemd);
    systemd
        .ctl("stop netserver.socket netserver.service")
        .expect_clean();
    assert_eq!(systemd.property("Result"), "success");
    assert!(systemd.netservers().is_empty());
    assert!(!procfs::is_bound(PORT, false));
    note(&systemd.journal());
}

/// The units leave all mechanisms of the sandbox available.
fn starts_as_it_would_by_itself(systemd: &Systemd) {
    let version = invocation(NETSERVER, "-V").run().stdout;
    let (_, sandbox) = version.split_once("sandbox: ").expect("its walls");
    let sandbox = format!("sandbox=\"{}\" one_port=on", sandbox.trim_end());
    systemd.expect_logged(&sandbox);
    assert_eq!(systemd.property("StatusText"), "serving");
    let health = invocation(NETSERVER, "--health 127.0.0.1:9465").run();
    health.expect_exit(0);
}

fn every_test_works(systemd: &Systemd) {
    for test in TESTS {
        let (global, specific) = test.split_once(" -- ").unwrap_or((test, ""));
        let finished = systemd
            .netperf(&format!("--time 300ms {global} -- {specific}"))
            .run();
        note(&finished.account());
        assert!(
            finished.status.success(),
            "{}\n{}",
            finished.account(),
            systemd.journal()
        );
    }
    // The folder that is allowed, and no other.
    let other = systemd
        .netperf("--time 300ms -t TCP_MAERTS -F ,/etc/hostname")
        .run();
    assert!(
        other.stderr.contains("Permission denied"),
        "{}",
        other.account()
    );
}

fn sessions_are_confined(systemd: &Systemd) {
    let mut running = systemd
        .netperf("--time 600s -t TCP_RR --json-stream -D 0.2")
        .spawn();
    assert!(
        running.prints("\"interval\"", PATIENCE),
        "{}",
        running.stderr()
    );
    let all = systemd.netservers();
    assert_eq!(all.len(), 2, "the listener and a session");
    for pid in all {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
        for line in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.contains(line), "not {line}:\n{status}");
        }
        assert!(!status.contains("Uid:\t0"), "root:\n{status}");
    }
    drop(running);
    let gone = eventually(PATIENCE, || systemd.netservers().len() == 1);
    assert!(gone, "a session is left");
}

fn a_stop_lets_tests_finish(systemd: &Systemd) {
    let mut running = systemd
        .netperf("--time 2s -t TCP_RR --json-stream -D 0.2")
        .spawn();
    assert!(
        running.prints("\"interval\"", PATIENCE),
        "{}",
        running.stderr()
    );
    systemd.ctl("--quiet stop netserver.service").expect_exit(0);
    running.finish().expect_clean();
    systemd.expect_logged(" info draining sessions=1");
    systemd.expect_logged(" info stopped");
    assert_eq!(systemd.property("Result"), "success");
    assert!(systemd.netservers().is_empty());
}

fn the_next_client_starts_it(systemd: &Systemd) {
    assert_eq!(systemd.property("ActiveState"), "inactive");
    systemd
        .netperf("--time 300ms -t TCP_RR")
        .run()
        .expect_clean();
    assert_eq!(systemd.property("ActiveState"), "active");
}
