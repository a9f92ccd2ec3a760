//! Hosts for the engines of campaigns: a head and members at one bridge.
//!
//! Each host has its own network, host name, processes, home of root and folders for temporary
//! files, in anonymous namespaces that end with their first process. That process ends with its
//! standard input, which this process holds: nothing remains, even if this process is killed.
//!
//! The folder `/srv` is the same on all hosts. The programs under test are in `/usr/local/bin`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::{Invocation, Programs, Running, Scratch, eventually, net, procfs, require};

/// Time for what takes a second on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Folder of the lab on each host.
const LAB: &str = "/run/lab";
/// The search path of a new login.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// The first process of a host: `$1` is the folder of the lab outside, `$2` the name.
///
/// All that is outside is reached before a new folder hides it. bash takes over processes
/// whose parents have ended.
const FIRST_PROCESS: &str = r#"
set -e
hostname "$2"
ip link set lo up
mount -t tmpfs -o mode=0755 run /run
mkdir /run/lab /run/sshd
mount --bind "$1" /run/lab
mount --bind "$1/bin" /usr/local/bin
mount --bind "$1/shared" /srv
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/shadow" /etc/shadow
[ ! -d /etc/slurm ] || mount --bind "$1/slurm" /etc/slurm
mount -t tmpfs -o mode=0700 home /root
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 tmp /var/tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
mkdir -m 700 /root/.ssh
cp /run/lab/ssh/id_ed25519 /run/lab/ssh/authorized_keys /run/lab/ssh/known_hosts /root/.ssh
cd /
true &
echo ready
while read -r _; do :; done
"#;

/// Programs that every cluster needs, and the Debian packages that have them.
const BASE: [(&str, &str); 5] = [
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("ip", "iproute2"),
    ("hostname", "hostname"),
    ("ssh-keygen", "openssh-client"),
];

/// A head and members. They end when dropped.
#[derive(Debug)]
pub struct Cluster {
    hosts: Vec<ClusterHost>,
    folder: Scratch,
}

/// A host of a cluster.
#[derive(Debug)]
pub struct ClusterHost {
    /// Its name.
    pub name: String,
    /// Its IPv4 address.
    pub address: String,
    /// Its first process, as this process sees it.
    first: u32,
    unshare: Running,
}

/// Processes, sockets and files of a host, by names that do not depend on chance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Words of each process, except the first one.
    pub processes: BTreeSet<String>,
    /// Listening TCP ports, bound UDP ports, and paths of UNIX sockets.
    pub sockets: BTreeSet<String>,
    /// Files in home and in the folders for temporary files.
    pub files: BTreeSet<String>,
}

impl Cluster {
    /// Creates a head and `members` members, which know each other by `head`, `h1`, `h2` and so
    /// on, and log in to each other with ssh as root.
    ///
    /// # Panics
    /// When root or one of the `needed` programs is missing: the message names the Debian
    /// package.
    pub fn new(members: usize, programs: &Programs, needed: &[(&str, &str)]) -> Self {
        assert!(require::is_root(), "root is missing: namespaces need it");
        for (program, package) in BASE.iter().chain(needed) {
            assert!(
                installed(program),
                "{program} is missing: install {package}"
            );
        }
        let folder = Scratch::new();
        let names = (0..=members).map(|number| match number {
            0 => "head".to_owned(),
            member => format!("h{member}"),
        });
        let hosts: Vec<_> = names
            .zip(10..)
            .map(|(name, number)| (name, format!("198.18.9.{number}")))
            .collect();
        fill(folder.path(), programs, &hosts);
        let hosts = hosts.into_iter();
        let hosts = hosts.map(|(name, address)| ClusterHost::new(folder.path(), name, address));
        let cluster = Self {
            hosts: hosts.collect(),
            folder,
        };
        cluster.join();
        cluster
    }

    /// The host of the user.
    pub fn head(&self) -> &ClusterHost {
        self.hosts.first().expect("a head")
    }

    /// The hosts of the agents.
    pub fn members(&self) -> &[ClusterHost] {
        self.hosts.get(1..).expect("members")
    }

    /// All hosts.
    pub fn hosts(&self) -> &[ClusterHost] {
        &self.hosts
    }

    /// The folder that all hosts have as `/srv`.
    pub fn shared(&self) -> PathBuf {
        self.folder.path().join("shared")
    }

    /// Writes a file that only root can read to the folder of the lab. Its path on each host.
    pub fn file(&self, name: &str, text: &[u8]) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("a file of the lab");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
        format!("{LAB}/{name}")
    }

    /// Joins the hosts with a bridge in the head.
    fn join(&self) {
        let head = self.head();
        head.ip(&["link", "add", "lab", "type", "bridge"]);
        head.ip(&["link", "set", "lab", "up"]);
        head.ip(&["addr", "add", &format!("{}/24", head.address), "dev", "lab"]);
        for host in self.members() {
            let (name, first) = (host.name.as_str(), host.first.to_string());
            let ends = ["link", "add", name, "type", "veth", "peer", "name"];
            head.ip(&[&ends[..], &["eth0", "netns", &first]].concat());
            head.ip(&["link", "set", name, "master", "lab", "up"]);
            host.ip(&[
                "addr",
                "add",
                &format!("{}/24", host.address),
                "dev",
                "eth0",
            ]);
            host.ip(&["link", "set", "eth0", "up"]);
        }
        for host in self.members() {
            let up = || host.ip(&["link", "show", "eth0"]).contains("state UP");
            assert!(eventually(PATIENCE, up), "{}: no link", host.name);
        }
    }

    /// Processes, sockets and files of each host, in the order of the hosts.
    pub fn state(&self) -> Vec<HostState> {
        self.hosts.iter().map(ClusterHost::state).collect()
    }

    /// Waits until nothing is there that was not there `before`.
    ///
    /// # Panics
    /// When something remains: the message names it.
    pub fn assert_no_process_left(&self, before: &[HostState]) {
        let mut left = String::new();
        let gone = eventually(PATIENCE, || {
            let hosts = self.hosts.iter().zip(before);
            left = hosts.map(|(host, before)| host.left(before)).collect();
            left.is_empty()
        });
        assert!(gone, "left over:\n{left}");
    }
}

impl ClusterHost {
    fn new(folder: &Path, name: String, address: String) -> Self {
        let namespaces = "--net --uts --ipc --mount --pid --mount-proc --fork --kill-child";
        let mut unshare = Invocation::new(Path::new("unshare"))
            .args(namespaces.split(' '))
            .args(["bash", "-c", FIRST_PROCESS, "first"])
            .arg(folder)
            .arg(&name)
            .stdin(Stdio::piped())
            .spawn();
        let ready = unshare.prints("ready", PATIENCE);
        assert!(ready, "{name} did not start: {}", unshare.stderr());
        let children = procfs::children(unshare.pid());
        Self {
            name,
            address,
            first: *children.first().expect("its first process"),
            unshare,
        }
    }

    /// Runs `ip` of the machine in the network of this host.
    fn ip(&self, words: &[&str]) -> String {
        let network = format!("--net=/proc/{}/ns/net", self.first);
        net::run("nsenter", &[&[network.as_str(), "ip"], words].concat())
    }

    /// A command line of bash on this host, in the folder `/srv`, as after a login. A process
    /// outside waits for it; its end does not end the command.
    pub fn shell(&self, command: &str) -> Invocation {
        self.shell_with(&[], command)
    }

    /// The same with variables.
    pub fn shell_with(&self, variables: &[(&str, &str)], command: &str) -> Invocation {
        let set = variables.iter();
        let set = set.map(|(name, value)| format!("{name}={value}"));
        Invocation::new(Path::new("nsenter"))
            .arg("--target")
            .arg(self.first.to_string())
            .args("--net --uts --ipc --mount --pid --".split(' '))
            .args(["env", "-i", "HOME=/root", "USER=root", "LC_ALL=C.UTF-8"])
            .arg(format!("PATH={PATH}"))
            .args(set)
            .args(["bash", "-c"])
            .arg(format!("cd /srv || exit\n{command}"))
            .patience(PATIENCE)
    }

    /// Processes of this host, as this process sees them, except the first one.
    pub fn processes(&self) -> Vec<u32> {
        let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let own = namespace(self.first).expect("a namespace");
        let all = fs::read_dir("/proc").expect("/proc");
        let all = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let here = all.filter(|&pid| pid != self.first && namespace(pid).as_ref() == Some(&own));
        here.filter(|&pid| procfs::alive(pid)).collect()
    }

    fn state(&self) -> HostState {
        let processes = self.processes().into_iter();
        let root = PathBuf::from(format!("/proc/{}/root", self.first));
        let mut files = BTreeSet::new();
        for folder in ["root", "tmp", "var/tmp", "dev/shm"] {
            list(&root, &root.join(folder), &mut files);
        }
        HostState {
            processes: processes.map(|pid| procfs::words(pid).join(" ")).collect(),
            sockets: self.sockets(),
            files,
        }
    }

    fn sockets(&self) -> BTreeSet<String> {
        let table = |name: &str| {
            let path = format!("/proc/{}/net/{name}", self.first);
            fs::read_to_string(path).unwrap_or_default()
        };
        let mut found = BTreeSet::new();
        for (name, state) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
            for line in table(name).lines().skip(1) {
                let fields: Vec<_> = line.split_whitespace().collect();
                let port = fields.get(1).and_then(|local| local.rsplit(':').next());
                let port = port.and_then(|port| u16::from_str_radix(port, 16).ok());
                if let Some(port) = port.filter(|_| fields.get(3) == Some(&state)) {
                    found.insert(format!("{name} {port}"));
                }
            }
        }
        let paths = table("unix");
        let paths = paths
            .lines()
            .filter_map(|line| line.split_whitespace().nth(7));
        found.extend(paths.map(|path| format!("unix {path}")));
        found
    }

    /// New entries, a line each.
    fn left(&self, before: &HostState) -> String {
        let now = self.state();
        let kinds = [
            ("process", &now.processes, &before.processes),
            ("socket", &now.sockets, &before.sockets),
            ("file", &now.files, &before.files),
        ];
        let mut left = String::new();
        for (kind, now, before) in kinds {
            for item in now.difference(before) {
                left.push_str(&format!("{} {kind} {item}\n", self.name));
            }
        }
        left
    }
}

impl Drop for ClusterHost {
    /// Ends all processes, and waits until none of them writes to the folder any more.
    fn drop(&mut self) {
        self.unshare.signal("KILL");
        eventually(PATIENCE, || !procfs::alive(self.first));
    }
}

/// Adds the files below a folder, which may change meanwhile.
fn list(root: &Path, folder: &Path, files: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        let Ok(kind) = kind else { continue };
        if kind.is_dir() {
            list(root, &path, files);
        } else {
            let shown = path.strip_prefix(root).unwrap_or(&path).display();
            let mark = if kind.is_socket() { " (socket)" } else { "" };
            files.insert(format!("/{shown}{mark}"));
        }
    }
}

/// Writes the files of the lab.
fn fill(folder: &Path, programs: &Programs, hosts: &[(String, String)]) {
    for name in ["bin", "shared", "ssh", "slurm", "munge"] {
        fs::create_dir(folder.join(name)).expect("a folder of the lab");
    }
    // Copies: the agent's user may not have the right to enter the folder of the build.
    for (program, name) in [
        (&programs.netperf, "netperf"),
        (&programs.netserver, "netserver"),
    ] {
        fs::copy(program, folder.join("bin").join(name)).expect("space for a program");
    }
    let lines = hosts
        .iter()
        .map(|(name, address)| format!("{address} {name}\n"));
    let lines: String = lines.collect();
    fs::write(
        folder.join("hosts"),
        format!("127.0.0.1 localhost\n{lines}"),
    )
    .expect("names");
    // An account without a password, and not a locked one, which sshd refuses.
    let shadow = fs::read_to_string("/etc/shadow").unwrap_or_default();
    let others = shadow.lines().filter(|line| !line.starts_with("root:"));
    let others: String = others.map(|line| format!("{line}\n")).collect();
    fs::write(
        folder.join("shadow"),
        format!("root:*:19000:0:99999:7:::\n{others}"),
    )
    .expect("accounts");
    fs::set_permissions(folder.join("shadow"), fs::Permissions::from_mode(0o600)).expect("mode");
    let ssh = folder.join("ssh");
    for name in ["id_ed25519", "host_key"] {
        let path = ssh.join(name);
        let path = path.to_str().expect("a path in UTF-8");
        net::run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", path]);
    }
    let public = |name: &str| fs::read_to_string(ssh.join(name)).expect("a public key");
    fs::write(ssh.join("authorized_keys"), public("id_ed25519.pub")).expect("a file");
    let key = public("host_key.pub");
    let known = hosts
        .iter()
        .map(|(name, address)| format!("{name},{address} {key}"));
    fs::write(ssh.join("known_hosts"), known.collect::<String>()).expect("a file");
}

/// True if a program is in the search path or at its path.
fn installed(program: &str) -> bool {
    let mut folders = PATH.split(':').map(Path::new);
    folders.any(|folder| folder.join(program).exists())
}
