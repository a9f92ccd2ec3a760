//! Every example script works: each is run once against our own programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::{Invocation, Netserver, Place, Running, Scratch, ours};

/// The scripts, and the variables that keep each short.
const SCRIPTS: &[(&str, &[(&str, &str)])] = &[
    ("aggregate", &[("STREAMS", "2"), ("INTERVAL", "0.05")]),
    ("find_max_burst", &[("LIMIT", "1")]),
    (
        "interim_rrd",
        &[("RRD", "test.rrd"), ("NETPERF_LENGTH", "1")],
    ),
    ("packet_byte", &[("SIZES", "1 1024")]),
    ("sctp_stream", &[("SIZES", "1024"), ("ASSOCIATIONS", "2")]),
    ("tcp_range", &[("FIRST", "1024"), ("LAST", "2048")]),
    ("tcp_rr", &[("SIZES", "1,1 64,512")]),
    (
        "tcp_stream",
        &[("BUFFERS", "default 65536"), ("SIZES", "4096")],
    ),
    ("udp_rr", &[("SIZES", "1,1 64,512")]),
    ("udp_stream", &[("SIZES", "64 1472")]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples")
}

fn start(name: &str, variables: &[(&str, &str)], port: u16, place: &Path) -> Running {
    let mut script = Invocation::new(Path::new("sh"))
        .arg(folder().join(name))
        .args(["127.0.0.1", &port.to_string()])
        .env("NETPERF", env!("CARGO_BIN_EXE_netperf"))
        .env("NETPERF_LENGTH", "0.2")
        .folder(place)
        .patience(Duration::from_secs(60));
    for (variable, value) in variables {
        script = script.env(variable, value);
    }
    script.spawn()
}

#[test]
fn every_example_script_runs_cleanly() {
    let programs = ours!();
    let server = Netserver::start(&programs, &Place::Here);
    let scratch = Scratch::new();
    let started: Vec<Running> = SCRIPTS
        .iter()
        .map(|(name, variables)| start(name, variables, server.port(), scratch.path()))
        .collect();
    for (script, (name, _)) in started.into_iter().zip(SCRIPTS) {
        let finished = script.finish();
        // The lab's kernel has SCTP, this one need not have it.
        let excused = *name == "sctp_stream"
            && finished.status.code() == Some(3)
            && finished.stderr.contains("the kernel module sctp");
        if !excused {
            let finished = finished.expect_clean();
            assert!(!finished.stdout.is_empty(), "{}", finished.account());
        }
    }
}

#[test]
fn every_example_script_is_listed_here_and_in_their_readme() {
    let entries = std::fs::read_dir(folder()).expect("the examples");
    let found: BTreeSet<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name != "README.md")
        .collect();
    let listed: BTreeSet<String> = SCRIPTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
    let readme = std::fs::read_to_string(folder().join("README.md")).expect("their README");
    for name in found {
        assert!(readme.contains(&format!("| `{name}` |")), "{name}");
    }
}
