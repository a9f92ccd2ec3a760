//! netservers whose results cannot be: netperf doubts them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use netperf_testkit::{Finished, Invocation, Netserver, ours};
use netperf_wire::{FRAME_LEN, Frame, Header, RequestKind};
use serde_json::Value;

/// Offset of the bytes that netserver received in its results.
const BYTES_RECEIVED: usize = 8;

/// A way to netserver that changes the count of received bytes in its results.
fn liar(server: &Netserver, lie: fn(u64) -> u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let beyond = server.port();
    let results = Frame::new(Header::results(RequestKind::Omni));
    std::thread::spawn(move || {
        let (near, _) = listener.accept().expect("netperf");
        let far = TcpStream::connect(("127.0.0.1", beyond)).expect("netserver");
        let mut asks = (
            near.try_clone().expect("space"),
            far.try_clone().expect("space"),
        );
        std::thread::spawn(move || {
            drop(std::io::copy(&mut asks.0, &mut asks.1));
            drop(asks.1.shutdown(std::net::Shutdown::Write));
        });
        let (mut near, mut far) = (near, far);
        let mut bytes = [0; FRAME_LEN];
        while far.read_exact(&mut bytes).is_ok() {
            if bytes[..4] == results.as_bytes()[..4] {
                let place = &mut bytes[BYTES_RECEIVED..BYTES_RECEIVED + 8];
                let count = u64::from_be_bytes((&*place).try_into().expect("eight"));
                place.copy_from_slice(&lie(count).to_be_bytes());
            }
            if near.write_all(&bytes).is_err() {
                return;
            }
        }
    });
    port
}

fn run(port: u16, words: &str) -> Finished {
    Invocation::new(&ours!().netperf)
        .args([
            "-H",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "--time",
            "100ms",
        ])
        .args(words.split_whitespace())
        .run()
}

#[test]
fn threat_model_counts_that_cannot_be_are_a_failure_with_its_reason() {
    let server = ours!().serve();
    for words in ["-t UDP_STREAM", "-t TCP_STREAM", "-t OMNI -- -d send"] {
        let finished = run(liar(&server, |count| count * 1000 + 1), words).expect_exit(1);
        let doubts = finished.stderr.contains("its result cannot be right");
        assert!(doubts, "{}", finished.account());
        run(liar(&server, |count| count), words).expect_exit(0);
    }
    let finished = run(liar(&server, |_| u64::MAX), "-t UDP_STREAM --json").expect_exit(1);
    let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let codes: Vec<&Value> = document["warnings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|warning| &warning["code"])
        .collect();
    assert!(codes.contains(&&Value::from("implausible")), "{codes:?}");
    assert_eq!(document["complete"], false);
}

/// A port at which an end sends responses whatever comes.
fn eager(most: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        let (mut near, _) = listener.accept().expect("netperf");
        let mut requests = near.try_clone().expect("space");
        std::thread::spawn(move || drop(std::io::copy(&mut requests, &mut std::io::sink())));
        let _sent = near.write_all(&vec![0; most]);
        // netperf ends the connection.
        std::thread::park();
    });
    port
}

#[test]
fn threat_model_responses_that_no_request_asked_for_are_a_failure() {
    let run = |most: usize, requests: u32| {
        let port = eager(most);
        Invocation::new(&ours!().netperf)
            .args(["-N", "-H", "127.0.0.1", "-t", "TCP_RR", "--count"])
            .args([&requests.to_string(), "--", "-P", &format!(",{port}")])
            .run()
    };
    let finished = run(5000, 100).expect_exit(1);
    let (before, _) = finished
        .stderr
        .split_once(" bytes that no request asked for")
        .expect("a reason");
    let unasked = before.rsplit(' ').next().expect("a number");
    // The start and the end of a connection are acknowledged like a byte each.
    let near = ["4898", "4899", "4900"].contains(&unasked);
    assert!(near, "{}", finished.account());
    run(100, 100).expect_exit(0);
}
