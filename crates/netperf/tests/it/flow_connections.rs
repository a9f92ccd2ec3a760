//! Many flows with a connection for each transaction, over transports that set connections up.

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
    // A connection with a handshake takes long on the emulated processors of the lab.
    let window = if Lab::Vm.is_here() {
        "--time 5s --warmup 1s"
    } else {
        "--time 500ms --warmup 100ms"
    };
    for transport in transports() {
        let kind = format!("-- -T {transport} -c -d rr -r 20,30");
        let rated = measured(
            &server,
            &format!("-t OMNI --rate 30 --count 20 --flows 2 {kind}"),
        );
        assert_eq!(rated["rate"]["sent"], 20, "{transport}: {rated}");
        assert_eq!(rated["rate"]["unanswered_requests"], 0, "{transport}");
        let timed = format!("-t OMNI {window} -b 1 -w 5 --flows 2 {kind}");
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
