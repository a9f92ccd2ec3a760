//! The captured exchanges, replayed: what a stock client said, said to our server.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::{Path, PathBuf};

use common::{Engine, ScriptedLink, facts};
use netperf_session::driver::serve;
use netperf_wire::{Frame, RequestKind};
use serde_json::Value;

/// Requests that this netserver does not have yet: answered as unknown.
const NOT_OURS: [RequestKind; 4] = [
    RequestKind::StreamStream,
    RequestKind::StreamRr,
    RequestKind::DgStream,
    RequestKind::DgRr,
];

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/vectors");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

fn frame(record: &Value) -> Frame {
    let hex = record["hex"].as_str().unwrap();
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    Frame::try_from(bytes.as_slice()).unwrap()
}

fn records(capture: &Value, from: &str) -> Vec<Frame> {
    let records = capture["records"].as_array().unwrap();
    records
        .iter()
        .filter(|record| record["from"] == from)
        .map(frame)
        .collect()
}

#[test]
fn a_stock_client_gets_as_many_answers_of_the_same_kind_as_from_a_stock_server() {
    let captures = captures();
    assert_eq!(captures.len(), 42);
    for path in captures {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let capture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let requests = records(&capture, "client");
        if requests
            .iter()
            .any(|request| NOT_OURS.contains(&request.request()))
        {
            continue;
        }
        let passphrase = passphrase_of(&capture);
        let (mut link, mut engine) = (ScriptedLink::frames(requests), Engine::default());
        serve(&mut link, &mut engine, &facts(), passphrase);
        let kinds = |frames: &[Frame]| {
            // The number on a later answer depends on what the original's buffer held.
            frames
                .iter()
                .map(|frame| frame.header().kind)
                .take(1)
                .collect::<Vec<u32>>()
        };
        let stock = records(&capture, "server");
        assert_eq!(kinds(&link.sent), kinds(&stock), "{name}");
        // TCP_MSS leaves before its results.
        let missing = usize::from(name == "tcp_mss" && stock.len() < link.sent.len());
        assert_eq!(link.sent.len() - missing, stock.len(), "{name}");
    }
}

#[test]
fn tests_of_families_that_are_not_here_are_unknown_requests() {
    for kind in NOT_OURS {
        let capture = captures()
            .into_iter()
            .map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap())
            .find(|capture| {
                records(capture, "client")
                    .iter()
                    .any(|frame| frame.request() == kind)
            });
        let requests = records(&capture.unwrap(), "client");
        let (mut link, mut engine) = (ScriptedLink::frames(requests), Engine::default());
        serve(&mut link, &mut engine, &facts(), None);
        assert_eq!(link.sent[0].errno().0, 998, "{kind}");
    }
}

/// What `-Z` the captured server was started with.
fn passphrase_of(capture: &Value) -> Option<String> {
    let command = capture["server_command"].as_array()?;
    let at = command.iter().position(|word| word == "-Z")?;
    Some(command[at + 1].as_str()?.to_string())
}
