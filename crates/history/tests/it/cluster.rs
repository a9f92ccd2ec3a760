//! A private PostgreSQL server for a test, in a temporary directory.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::require::require;
use netperf_testkit::server::on_free_port;
use netperf_testkit::{Finished, Invocation, Running, Scratch, eventually};

/// Time limit for the start of the server on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// User of the server's programs if the test runs as root, which they refuse.
const NOBODY: &str = "nobody";
/// Its administrator, and the password, which needs escaping in a URL.
pub(crate) const USER: &str = "keeper";
pub(crate) const PASSWORD: &str = "p@ss/word";
pub(crate) const ESCAPED: &str = "p%40ss%2Fword";

/// A running server.
pub(crate) struct Cluster {
    server: Option<Running>,
    port: u16,
    programs: PathBuf,
    folder: Scratch,
}

impl Cluster {
    /// Starts a server; `None` if PostgreSQL is not installed, which is a failure in
    /// continuous integration.
    pub(crate) fn start() -> Option<Self> {
        let programs = programs();
        let way = "install Debian's package postgresql";
        if !require(programs.is_some(), "a PostgreSQL server", way) {
            return None;
        }
        let mut cluster = Self {
            server: None,
            port: 0,
            programs: programs?,
            folder: Scratch::new(),
        };
        cluster.initialise();
        cluster.certify();
        // Another process may take the port before the server does.
        let up = on_free_port(|port| cluster.serve(port).then_some(()));
        assert!(up.is_some(), "the server does not come up");
        Some(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn initialise(&self) {
        let password = self.path("password");
        std::fs::write(&password, PASSWORD).expect("a file");
        give(&password);
        for name in ["data", "sockets"] {
            let folder = self.path(name);
            std::fs::create_dir(&folder).expect("a folder");
            give(&folder);
        }
        let words = [
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--no-locale",
            "-N",
            "-U",
            USER,
        ];
        self.run("initdb", |program| {
            program
                .arg("-D")
                .arg(self.path("data"))
                .arg("--pwfile")
                .arg(&password)
                .args(words)
        });
        // Users with one kind of authentication each.
        let rules = self.path("data/pg_hba.conf");
        let text = std::fs::read_to_string(&rules).expect("the rules");
        let text = format!(
            "host all older 127.0.0.1/32 md5\nhost all plain 127.0.0.1/32 password\n{text}"
        );
        std::fs::write(&rules, text).expect("the rules");
    }

    /// A certificate for localhost, signed by itself, and another one.
    fn certify(&self) {
        for name in ["server", "other"] {
            let (key, certificate) = (
                self.path(&format!("{name}.key")),
                self.path(&format!("{name}.crt")),
            );
            let subject = [
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost",
            ];
            let made = Invocation::new(Path::new("openssl"))
                .args([
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                ])
                .args(subject)
                .args(["-addext", "basicConstraints=critical,CA:FALSE"])
                .arg("-keyout")
                .arg(&key)
                .arg("-out")
                .arg(&certificate)
                .run();
            assert!(made.status.success(), "{}", made.account());
            let secret = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&key, secret).expect("permissions");
            give(&key);
        }
    }

    fn serve(&mut self, port: u16) -> bool {
        self.port = port;
        let setting = |name: &str, file: PathBuf| format!("{name}={}", file.display());
        let server = self
            .program("postgres")
            .arg("-D")
            .arg(self.path("data"))
            .arg("-k")
            .arg(self.path("sockets"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            // No durability is needed.
            .args(["-c", "fsync=off", "-c", "ssl=on"])
            .args(["-c", &setting("ssl_cert_file", self.path("server.crt"))])
            .args(["-c", &setting("ssl_key_file", self.path("server.key"))])
            .patience(Duration::from_secs(600))
            .spawn();
        let server = self.server.insert(server);
        eventually(PATIENCE, || {
            server.ended() || server.stderr().contains("ready to accept connections")
        });
        !server.ended()
    }

    /// A program of the server, not run as root.
    fn program(&self, name: &str) -> Invocation {
        let program = self.programs.join(name);
        if !is_root() {
            return Invocation::new(&program).folder(self.folder.path());
        }
        Invocation::new(Path::new("setpriv"))
            .args(["--reuid", NOBODY, "--regid", "nogroup", "--clear-groups"])
            .arg(program)
            .folder(self.folder.path())
    }

    fn run(&self, name: &str, words: impl FnOnce(Invocation) -> Invocation) -> Finished {
        let program = words(self.program(name)).env("PGPASSWORD", PASSWORD);
        let finished = program.patience(PATIENCE).run();
        assert!(finished.status.success(), "{}", finished.account());
        finished
    }

    /// Runs a statement in a database, as the administrator.
    pub(crate) fn says(&self, database: &str, statement: &str) -> String {
        let finished = self.run("psql", |psql| {
            psql.arg("-h")
                .arg(self.path("sockets"))
                .args(["-p", &self.port.to_string(), "-U", USER, "-X", "-A", "-t"])
                .args(["-v", "ON_ERROR_STOP=1", "-d", database, "-c", statement])
        });
        finished.stdout
    }

    /// The URL of a database over TCP, with these options.
    pub(crate) fn over_tcp(&self, database: &str, options: &str) -> String {
        let port = self.port;
        format!("postgres://{USER}:{ESCAPED}@localhost:{port}/{database}{options}")
    }

    /// The same over the local socket.
    pub(crate) fn over_socket(&self, database: &str) -> String {
        let folder = self.path("sockets");
        let (port, folder) = (self.port, folder.display());
        format!("postgresql://{USER}:{ESCAPED}@:{port}/{database}?host={folder}")
    }

    /// A certificate's file.
    pub(crate) fn certificate(&self, name: &str) -> String {
        self.path(&format!("{name}.crt")).display().to_string()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            // An immediate shutdown of all its processes.
            server.signal("QUIT");
            eventually(Duration::from_secs(10), || server.ended());
        }
    }
}

/// Debian keeps the programs of each version in a separate folder.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<PathBuf> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
        .collect();
    folders.sort();
    folders.pop()
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("Uid:"));
    line.is_some_and(|line| line.split_whitespace().nth(2) == Some("0"))
}

/// Gives a file to the server's user.
fn give(path: &Path) {
    if is_root() {
        // The numbers of the unprivileged user and group on Debian.
        chown(path, Some(65_534), Some(65_534)).expect("a new owner");
    }
}
