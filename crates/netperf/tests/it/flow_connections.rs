//! Many flows with a connection for each transaction, over transports that set connections up.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use netperf_testkit::{Finished, Invocation, Lab, Netserver, ours};
use serde_json::Value;

/// The virtual machine is slow.
const PATIENCE: Duration = Duration::from_secs(120);

/// Reliable transports whose connections are more than a socket: all that this kernel has.
fn transports() -> &'static [&'static str] {
    if Lab::Vm.is_here() {
        &["tls", "xti-tcp", "ktls", "sctp"]
    } else {
        &["tls", "xti-tcp"]
    }
}

fn run(port: u16, words: &str) -> Finished {
    Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port.to_string(), "--json"])
        .args(words.split_whitespace())
        .patience(PATIENCE)
        .run()
}

fn measured(server: &Netserver, words: &str) -> Value {
    // A busy or emulated machine is late, which is said on standard error.
    run(server.port(), words).expect_exit(0).document()
}

fn transactions(each: &Value) -> Vec<u64> {
    let each = each.as_array().expect("flows").iter();
    each.map(|flow| flow["transactions"].as_u64().expect("a count"))
        .collect()
}

#[test]
fn both_ends_count_the_transactions_of_every_flow() {
    let server = ours!().serve();
    for transport in transports() {
        for (kind, sent, received) in [("-c -d rr -r 200,3000", 200, 3000), ("-c -d 0", 0, 0)] {
            let words = format!("-t OMNI --count 31 --flows 3 -- -T {transport} {kind}");
            let document = measured(&server, &words);
            let run = &document["iterations"][0];
            for (end, out, back) in [("local", sent, received), ("remote", received, sent)] {
                let counts = &run[end];
                assert_eq!(counts["transactions"], 31, "{words}: {run}");
                assert_eq!(counts["sent_bytes"], 31 * out, "{words}: {run}");
                assert_eq!(counts["received_bytes"], 31 * back, "{words}: {run}");
                assert_eq!(counts["workers"]["threads"], 3, "{words}: {run}");
            }
            let each = transactions(&run["flows"]["each"]);
            assert_eq!(each, [11, 10, 10], "{words}: {run}");
            let encrypted = ["tls", "ktls"].contains(transport);
            assert_eq!(run["cipher"].is_string(), encrypted, "{words}: {run}");
        }
    }
}

#[test]
fn a_time_a_rate_and_a_warm_up_hold_for_connections_that_are_set_up() {
    let server = ours!().serve();
    for transport in transports() {
        let kind = format!("-- -T {transport} -c -d rr -r 20,30");
        let rated = measured(
            &server,
            &format!("-t OMNI --rate 30 --count 20 --flows 2 {kind}"),
        );
        assert_eq!(rated["rate"]["sent"], 20, "{transport}: {rated}");
        assert_eq!(rated["rate"]["unanswered_requests"], 0, "{transport}");
        let timed = format!("-t OMNI --time 500ms --warmup 100ms -b 1 -w 5 --flows 2 {kind}");
        let timed = &measured(&server, &timed)["iterations"][0];
        let all = timed["local"]["transactions"].as_u64();
        assert!(all > Some(0), "{transport}: {timed}");
        assert_eq!(timed["remote"]["transactions"].as_u64(), all, "{timed}");
        let counted: u64 = transactions(&timed["flows"]["each"]).iter().sum();
        assert!(counted > 0 && Some(counted) < all, "{transport}: {timed}");
    }
}

#[test]
fn connections_of_dccp_have_flows_where_the_kernel_has_dccp() {
    let server = ours!().serve();
    let kind = "--flows 2 -- -T dccp -c -d rr -r 20,30";
    let refused = run(server.port(), &format!("-t OMNI --rate 30 {kind}")).expect_exit(3);
    assert!(
        refused.stderr.contains("a response that DCCP loses"),
        "{}",
        refused.account()
    );
    if !Lab::Vm.is_here() {
        return;
    }
    let run = &measured(&server, &format!("-t OMNI --time 500ms {kind}"))["iterations"][0];
    let [asked, answered] = ["local", "remote"].map(|end| run[end]["transactions"].as_u64());
    assert!(asked > Some(0) && asked <= answered, "{run}");
    assert_eq!(run["local"]["workers"]["threads"], 2, "{run}");
}

/// A relay to a netserver that changes a word of its answers.
pub(crate) fn relay(server: &Netserver, word: &'static str, other: &'static str) -> u16 {
    assert_eq!(word.len(), other.len());
    let to = ("127.0.0.1", server.port());
    let to = std::net::ToSocketAddrs::to_socket_addrs(&to)
        .expect("an address")
        .next()
        .expect("an address");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(to).expect("netserver");
            let (mut from, mut back) = (
                near.try_clone().expect("a socket"),
                far.try_clone().expect("a socket"),
            );
            std::thread::spawn(move || std::io::copy(&mut from, &mut back));
            std::thread::spawn(move || changed(far, near, word, other));
        }
    });
    port
}

/// Passes on what comes. A message is short enough to come whole.
fn changed(mut from: TcpStream, mut to: TcpStream, word: &str, other: &str) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let message = &mut buffer[..count];
        let found = message
            .windows(word.len())
            .position(|part| part == word.as_bytes());
        if let Some(at) = found {
            message[at..at + word.len()].copy_from_slice(other.as_bytes());
        }
        if to.write_all(message).is_err() {
            return;
        }
    }
    let _gone = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn an_older_netserver_is_not_asked_for_them() {
    let server = ours!().serve();
    let port = relay(&server, "flows-2", "flows-x");
    let kind = "-c -d rr";
    let refused = run(port, &format!("-t OMNI --flows 2 -- -T tls {kind}")).expect_exit(3);
    assert_eq!(
        refused.stderr.trim(),
        "netperf: netserver on 127.0.0.1 cannot do --flows in this test: it takes a newer netserver"
    );
    for words in [
        format!("-t OMNI --count 8 --flows 2 -- -T tcp {kind}"),
        "-t OMNI --count 8 --flows 2 -- -T tls -d rr".to_owned(),
    ] {
        let document = run(port, &words).expect_clean().document();
        assert_eq!(document["iterations"][0]["remote"]["transactions"], 8);
    }
}
