//! Private networks made of Linux network namespaces.
//!
//! Names carry the process id of the test, so that concurrent runs do not meet
//! and what a killed run left behind can be told and removed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::{Place, eventually, procfs, start, watchdog};

/// Begins the name of every namespace of ours.
const PREFIX: &str = "npt-";
/// Number of the next one of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// One namespace with its loopback interface up; deleted when dropped.
#[derive(Debug)]
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) fn new() -> Self {
        watchdog::watch();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        ip(&["netns", "add", &name]);
        let namespace = Self(name);
        namespace.know_localhost();
        namespace.ip(&["link", "set", "lo", "up"]);
        namespace
    }

    /// Writes the file that `ip netns exec` shows as `/etc/hosts` inside: that of the machine
    /// may lack either family.
    fn know_localhost(&self) {
        let folder = etc(&self.0);
        std::fs::create_dir_all(&folder).expect("a folder in /etc/netns");
        let hosts = "127.0.0.1 localhost\n::1 localhost\n";
        std::fs::write(folder.join("hosts"), hosts).expect("a hosts file");
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// Runs `ip` inside.
    pub(crate) fn ip(&self, words: &[&str]) -> String {
        let mut all = vec!["-n", &self.0];
        all.extend(words);
        ip(&all)
    }

    /// Sets what the packets it sends into its cable go through first, in the
    /// words of `tc(8)`.
    fn queue(&self, discipline: &[&str]) {
        let mut words = vec![
            "-n",
            &self.0,
            "qdisc",
            "replace",
            "dev",
            TwoHosts::CABLE,
            "root",
        ];
        words.extend(discipline);
        run("tc", &words);
    }

    /// Runs a shell script inside, and panics if a command of it fails. Its output.
    pub(crate) fn shell(&self, script: &str) -> String {
        let script = format!("set -e\n{script}");
        ip(&["netns", "exec", &self.0, "sh", "-c", &script])
    }

    /// Adds rules of nft(8) inside.
    pub(crate) fn nft(&self, rules: &str) {
        ip(&["netns", "exec", &self.0, "nft", rules]);
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        let shown = ip(&["netns", "exec", &self.0, "nstat", "-asz", name]);
        let mut fields = shown.split_whitespace().skip_while(|&word| word != name);
        let count = fields.nth(1).unwrap_or_default();
        count.parse().expect("a counter's value")
    }

    pub(crate) fn place(&self) -> Place {
        Place::Namespace(self.0.clone())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        delete(&self.0);
    }
}

/// A machine whose only interface is loopback.
#[derive(Debug)]
pub struct LoopbackOnly(Namespace);

impl LoopbackOnly {
    /// Makes it.
    pub fn new() -> Self {
        sweep();
        Self(Namespace::new())
    }

    /// To run things there.
    pub fn place(&self) -> Place {
        self.0.place()
    }

    /// Every process that runs there.
    pub fn processes(&self) -> Vec<u32> {
        let listed = ip(&["netns", "pids", &self.0.0]);
        listed.lines().filter_map(|pid| pid.parse().ok()).collect()
    }
}

impl Default for LoopbackOnly {
    fn default() -> Self {
        Self::new()
    }
}

/// Which families the two hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// IPv4 and IPv6.
    Both,
    /// IPv6 alone, not even 127.0.0.1.
    OnlyV6,
}

/// Two machines and a cable: the interface is called `cable` at both ends.
#[derive(Debug)]
pub struct TwoHosts {
    client: Namespace,
    server: Namespace,
}

impl TwoHosts {
    /// Address of the client's end.
    pub const CLIENT_V4: &str = "198.18.0.1";
    /// Address of the server's end.
    pub const SERVER_V4: &str = "198.18.0.2";
    /// Address of the client's end.
    pub const CLIENT_V6: &str = "fd00:5ca1::1";
    /// Address of the server's end.
    pub const SERVER_V6: &str = "fd00:5ca1::2";
    /// Link-local address of the server's end.
    pub const SERVER_LINK_LOCAL: &str = "fe80::5ca1:2";
    /// Interface at either end.
    pub const CABLE: &str = "cable";

    /// Makes both, joined and addressed.
    pub fn new() -> Self {
        Self::with(Families::Both)
    }

    /// The same, choosing the families.
    pub fn with(families: Families) -> Self {
        sweep();
        let hosts = Self {
            client: Namespace::new(),
            server: Namespace::new(),
        };
        let (cable, far) = (Self::CABLE, hosts.server.0.as_str());
        let ends = [
            "link", "add", cable, "type", "veth", "peer", "name", cable, "netns", far,
        ];
        hosts.client.ip(&ends);
        hosts.address(
            &hosts.client,
            families,
            Self::CLIENT_V4,
            &[Self::CLIENT_V6, "fe80::5ca1:1"],
        );
        let server_v6 = [Self::SERVER_V6, Self::SERVER_LINK_LOCAL];
        hosts.address(&hosts.server, families, Self::SERVER_V4, &server_v6);
        assert!(hosts.cable_is_up(), "the veth pair did not come up");
        hosts
    }

    fn address(&self, host: &Namespace, families: Families, v4: &str, v6: &[&str]) {
        host.ip(&["link", "set", Self::CABLE, "addrgenmode", "none"]);
        if families == Families::Both {
            host.ip(&["addr", "add", &format!("{v4}/24"), "dev", Self::CABLE]);
        } else {
            host.ip(&["-4", "addr", "flush", "dev", "lo"]);
        }
        for address in v6 {
            self.add_v6(host, address);
        }
        host.ip(&["link", "set", Self::CABLE, "up"]);
    }

    fn cable_is_up(&self) -> bool {
        eventually(Duration::from_secs(5), || {
            self.client
                .ip(&["link", "show", Self::CABLE])
                .contains("state UP")
        })
    }

    /// Place for clients.
    pub fn client(&self) -> Place {
        self.client.place()
    }

    /// Place for servers.
    pub fn server(&self) -> Place {
        self.server.place()
    }

    /// Makes the cable carry no more than `rate` (`20mbit`), both ways.
    pub fn limit(&self, rate: &str) {
        let bucket = ["tbf", "rate", rate, "burst", "32k", "latency", "50ms"];
        self.client.queue(&bucket);
        self.server.queue(&bucket);
    }

    /// Emulates a network between the hosts, the same both ways, in the words
    /// of `tc-netem(8)`. Again changes it.
    pub fn emulate(&self, words: &[&str]) {
        let words = [&["netem"], words].concat();
        self.client.queue(&words);
        self.server.queue(&words);
    }

    /// The same, for what the client sends alone.
    pub fn emulate_upstream(&self, words: &[&str]) {
        self.client.queue(&[&["netem"], words].concat());
    }

    /// Packets the client's end of the cable has thrown away.
    pub fn dropped_upstream(&self) -> u64 {
        let words = [
            "-n",
            &self.client.0,
            "-s",
            "qdisc",
            "show",
            "dev",
            Self::CABLE,
        ];
        let shown = run("tc", &words);
        let (_, rest) = shown.split_once("(dropped ").expect("tc -s shows drops");
        let count = rest.split(',').next().unwrap_or_default();
        count.parse().expect("a count of drops")
    }

    /// A counter of the client's network stack since it was made, by the name
    /// `nstat(8)` has for it.
    pub fn client_counter(&self, name: &str) -> u64 {
        self.client.counter(name)
    }

    /// The same of the server's.
    pub fn server_counter(&self, name: &str) -> u64 {
        self.server.counter(name)
    }

    /// Pulls the cable out: neither end hears the other any more.
    pub fn cut(&self) {
        self.server.ip(&["link", "set", Self::CABLE, "down"]);
    }

    /// Puts it back. Going down takes IPv6 addresses away.
    pub fn mend(&self) {
        let v6 = [Self::SERVER_V6, Self::SERVER_LINK_LOCAL];
        self.server.ip(&["link", "set", Self::CABLE, "up"]);
        for address in v6 {
            self.add_v6(&self.server, address);
        }
        assert!(self.cable_is_up(), "the cable did not come up again");
    }

    /// Has nothing pass between the hosts any more that is TCP to or from this port of the
    /// server: what it sends, and what it is sent, is thrown away without a word.
    pub fn swallow(&self, port: u16) {
        let port = port.to_string();
        for (host, end) in [(&self.client, "dport"), (&self.server, "sport")] {
            host.ip(&["rule", "add", "ipproto", "tcp", end, &port, "blackhole"]);
        }
    }

    /// Sends every datagram of the client twice from now on.
    pub fn duplicate(&self) {
        let device = Self::CABLE;
        self.client.nft(&format!(
            "table netdev twice {{ chain copies {{ type filter hook egress device {device} priority 0; \
             ip protocol udp meta mark 0 meta mark set 1 dup to {device}; }}; }}"
        ));
    }

    /// Takes the client's IPv4 address away.
    pub fn take_address(&self) {
        let address = format!("{}/24", Self::CLIENT_V4);
        self.client
            .ip(&["addr", "del", &address, "dev", Self::CABLE]);
    }

    /// Gives it back.
    pub fn give_address(&self) {
        let address = format!("{}/24", Self::CLIENT_V4);
        self.client
            .ip(&["addr", "add", &address, "dev", Self::CABLE]);
    }

    /// `nodad`: an address on probation could not be bound yet.
    fn add_v6(&self, host: &Namespace, address: &str) {
        let address = format!("{address}/64");
        host.ip(&["addr", "replace", &address, "dev", Self::CABLE, "nodad"]);
    }
}

impl Default for TwoHosts {
    fn default() -> Self {
        Self::new()
    }
}

/// True if namespaces can be made.
pub(crate) fn available() -> bool {
    let listed = start::output(Command::new("ip").args(["netns", "list"]));
    listed.is_ok_and(|output| output.status.success())
}

/// True if a program can be started.
pub(crate) fn runs(program: &str, option: &str) -> bool {
    let mut command = Place::Here.command(program.as_ref());
    start::output(command.arg(option)).is_ok()
}

/// Packets of the first counter in a listing by nft(8).
pub(crate) fn nft_counter(listed: &str) -> u64 {
    let count = listed.split("counter packets ").nth(1);
    let count = count.and_then(|rest| rest.split(' ').next()?.parse().ok());
    count.unwrap_or_else(|| panic!("a counter: {listed}"))
}

/// Removes the namespaces of test processes that no longer live.
pub(crate) fn sweep() {
    let listed = ip(&["netns", "list"]);
    for name in listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
    {
        let owner = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        if owner
            .and_then(|pid| pid.parse().ok())
            .is_some_and(|pid| !procfs::alive(pid))
        {
            delete(name);
        }
    }
}

/// Folder in which `ip` looks for the files of a namespace.
fn etc(name: &str) -> PathBuf {
    Path::new("/etc/netns").join(name)
}

/// Deletes a namespace. Not with `ip()`: this may run while a test panics.
fn delete(name: &str) {
    start::output(Command::new("ip").args(["netns", "del", name])).ok();
    std::fs::remove_dir_all(etc(name)).ok();
}

/// Runs `ip`; panics if it fails.
pub(crate) fn ip(words: &[&str]) -> String {
    run("ip", words)
}

pub(crate) fn run(program: &str, words: &[&str]) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = start::output(Command::new(program).args(words))
        .unwrap_or_else(|error| panic!("{program}, from the package iproute2: {error}"));
    let complaint = String::from_utf8_lossy(&stderr);
    assert!(
        status.success(),
        "{program} {} failed: {complaint}",
        words.join(" ")
    );
    String::from_utf8_lossy(&stdout).into_owned()
}
