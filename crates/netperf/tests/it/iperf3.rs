//! iperf3: our server and client with Debian's iperf3 and with each other.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod documents;
mod doubts;
mod faults;
mod files;
mod golden;
mod live;
mod scripts;
mod served;
mod shape;
mod users;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::require::require;
use netperf_testkit::server::{free_port, on_free_port};
use netperf_testkit::{Finished, Invocation, Netserver, Place, Running, Scratch, ours};
use serde_json::Value;

/// Longest time of a command.
const PATIENCE: Duration = Duration::from_secs(60);

/// Debian's iperf3. `None`, after saying so, when the test is to be skipped.
fn stock() -> Option<PathBuf> {
    let found = Path::new("/usr/bin/iperf3");
    require(found.exists(), "iperf3", "install Debian's iperf3").then(|| found.to_owned())
}

/// Our netperf under the name iperf3.
fn link(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("iperf3");
    symlink(ours!().netperf, &path).expect("a link");
    path
}

/// A server of either make, on its own port. It ends when dropped.
struct Server {
    port: u16,
    ours: Option<Netserver>,
    _stock: Option<Running>,
}

impl Server {
    fn ours(options: &[&str]) -> Self {
        let port = free_port();
        let text = port.to_string();
        let mut all = vec!["-D", "--iperf3", &text];
        all.extend(options);
        let netserver = Netserver::start_with(&ours!(), &Place::Here, &all, &[]);
        Self {
            port,
            ours: Some(netserver),
            _stock: None,
        }
    }

    /// Another process may take the free port first, so a few are tried.
    fn stock(program: &Path) -> Self {
        let started = on_free_port(|port| {
            let mut running = Invocation::new(program)
                .args(["-s", "--forceflush", "-p", &port.to_string()])
                .patience(PATIENCE)
                .spawn();
            running.prints("Server listening", PATIENCE).then(|| Self {
                port,
                ours: None,
                _stock: Some(running),
            })
        });
        started.expect("a server of the original")
    }

    const fn port(&self) -> u16 {
        self.port
    }
}

/// A client's command.
fn client(program: &Path, server: &Server, host: &str, options: &[&str]) -> Invocation {
    Invocation::new(program)
        .args(["-c", host, "-p", &server.port().to_string()])
        .args(options)
        .patience(PATIENCE)
}

/// The document that a client printed; without a failure.
#[track_caller]
fn document(finished: &Finished) -> Value {
    assert_eq!(finished.status.code(), Some(0), "{}", finished.account());
    let document: Value = serde_json::from_str(&finished.stdout).expect("a document");
    assert!(document.get("error").is_none(), "{}", finished.account());
    document
}

/// A count in a document.
#[track_caller]
fn count(document: &Value, path: &str) -> u64 {
    let value = document.pointer(path);
    let count = value.and_then(Value::as_u64);
    count.unwrap_or_else(|| panic!("no {path} in {document:#}"))
}
