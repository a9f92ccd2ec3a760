//! The captured exchanges, replayed: what a stock client said, said to our server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{Engine, ScriptedLink, facts, local_end, plan};
use netperf_model::{
    Address, CpuMethod, CpuPlan, EndResult, Limit, PassphraseText, Tally, TestId, TestPlan,
};
use netperf_session::SessionError;
use netperf_session::driver::{Conversation, serve};
use netperf_session::offer::{self, Agreement};
use netperf_wire::{Frame, RemoteErrno};
use serde_json::Value;

/// STREAM_STREAM asked of a server that was built without the Unix-domain tests.
const LACKING: &str = "unknown_request";

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
        if name == LACKING {
            continue;
        }
        let capture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let requests = records(&capture, "client");
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

fn capture(name: &str) -> Value {
    let path = captures()
        .into_iter()
        .find(|path| path.file_stem().is_some_and(|stem| stem == name));
    serde_json::from_slice(&std::fs::read(path.unwrap()).unwrap()).unwrap()
}

/// The plan of a test over Unix-domain sockets that runs for a second, as its name says.
fn unix(test: TestId) -> TestPlan {
    TestPlan {
        test,
        transport: test.row().transport,
        flow: test.row().flow,
        limit: Limit::Time(Duration::from_secs(1)),
        ..plan()
    }
}

/// The captured tests over Unix-domain sockets: what they were asked by their command lines.
fn unix_captures() -> [(&'static str, TestPlan); 5] {
    let sizes = |plan| TestPlan {
        request: Some(10),
        response: Some(20),
        ..plan
    };
    let mut cpu = unix(TestId::StreamStream);
    cpu.remote.cpu = Some(CpuPlan::default());
    cpu.remote.socket.send_buffer = Some(50_000);
    cpu.remote.socket.recv_buffer = Some(60_000);
    cpu.remote.recv.size = Some(3333);
    let mut datagrams = unix(TestId::DgStream);
    datagrams.local.send.size = Some(1000);
    [
        ("stream_stream", unix(TestId::StreamStream)),
        ("stream_stream_cpu", cpu),
        ("stream_rr", sizes(unix(TestId::StreamRr))),
        ("dg_stream", datagrams),
        ("dg_rr", sizes(unix(TestId::DgRr))),
    ]
}

#[test]
fn a_stock_server_without_the_unix_tests_refuses_them() {
    let plan = unix(TestId::StreamStream);
    let answers = records(&capture(LACKING), "server");
    let mut talk = Conversation::open(&plan, ScriptedLink::frames(answers), None).unwrap();
    let answer = talk.agree(offer::request(&plan, &local_end()).unwrap());
    let unknown = SessionError::Remote(RemoteErrno::UNKNOWN_REQUEST);
    assert_eq!(answer, Err(unknown));
}

#[test]
fn the_unix_tests_ask_byte_for_byte_what_a_stock_client_asks() {
    for (name, plan) in unix_captures() {
        let stock = records(&capture(name), "client");
        let ours = offer::request(&plan, &local_end()).unwrap();
        assert_eq!(ours.as_bytes(), stock[0].as_bytes(), "{name}");
    }
}

/// Answer of a stock server, as netperf decodes it.
fn understood(name: &str, plan: &TestPlan) -> (Agreement, EndResult) {
    let answers = records(&capture(name), "server");
    let mut talk = Conversation::open(plan, ScriptedLink::frames(answers), None).unwrap();
    let agreement = talk
        .agree(offer::request(plan, &local_end()).unwrap())
        .unwrap();
    (agreement, talk.results(Duration::from_secs(9)).unwrap())
}

#[test]
fn captured_answers_to_the_unix_tests_are_decoded() {
    let paths = [
        "/tmp/netpesWj3ms",
        "/tmp/netpeHyPZNt",
        "/tmp/netpeZuPQ8A",
        "/tmp/netpeIdBV9v",
        "/tmp/netpe3lXS9s",
    ];
    let sizes = [
        (2304, 4608, Some(2304)),
        (120_000, 100_000, Some(3333)),
        (2304, 4608, Some(10)),
        (2304, 4608, None),
        (2304, 4608, Some(10)),
    ];
    let tallies = [
        (1_581_268_992, 2_550_612, 0),
        (1_652_091_968, 1_784_414, 0),
        (1_396_770, 139_677, 139_677),
        (838_640_999, 838_641, 0),
        (1_721_540, 172_154, 172_154),
    ];
    for (((name, plan), path), (sizes, tallies)) in unix_captures()
        .into_iter()
        .zip(paths)
        .zip(sizes.into_iter().zip(tallies))
    {
        let (agreement, result) = understood(name, &plan);
        assert_eq!(
            agreement.address,
            Some(Address::Unix(path.into())),
            "{name}"
        );
        let setup = agreement.setup;
        let (recv, send) = (setup.recv_buffer, setup.send_buffer);
        assert_eq!(
            (recv, send, setup.recv_size),
            (Some(sizes.0), Some(sizes.1), sizes.2),
            "{name}"
        );
        let tally = result.tally;
        let counts = (tally.bytes_received, tally.recv_calls, tally.transactions);
        assert_eq!(counts, tallies, "{name}");
        assert!((result.elapsed - 1.0).abs() < 0.01, "{name}");
    }
}

#[test]
fn a_stock_servers_residue_is_not_taken_for_its_number_of_cpus() {
    let [plain, measured, ..] = unix_captures();
    assert_eq!(understood(plain.0, &plain.1).1.cpu, None);
    let cpu = understood(measured.0, &measured.1).1.cpu.unwrap();
    assert!((cpu.busy - 98.494_949).abs() < 1e-5);
    assert_eq!((cpu.cpus, cpu.method), (0, CpuMethod::Other(0)));
}

#[test]
fn the_byte_that_a_stock_server_takes_off_datagrams_is_put_back() {
    let [.., (name, plan), _] = unix_captures();
    let own = Tally {
        bytes_sent: 900_000_000,
        send_calls: 900_000,
        ..Tally::default()
    };
    let result = offer::reconciled(&plan, &own, understood(name, &plan).1);
    assert_eq!(result.tally.bytes_received, 838_641_000);
}

/// Passphrase (`-Z`) of the captured server.
fn passphrase_of(capture: &Value) -> Option<PassphraseText> {
    let command = capture["server_command"].as_array()?;
    let at = command.iter().position(|word| word == "-Z")?;
    Some(command[at + 1].as_str()?.into())
}
