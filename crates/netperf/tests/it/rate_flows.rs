//! Keeping to a rate with many flows, and in tests that open a connection each time.

use netperf_testkit::{Finished, Netserver, Place, Programs, ours};
use serde_json::Value;

fn run(server: &Netserver, words: &str) -> Finished {
    ours!()
        .client_of(server)
        .args(words.split_whitespace())
        .run()
}

fn document(server: &Netserver, words: &str) -> Value {
    let finished = run(server, &format!("--json --flows 4 --threads 2 {words}"));
    // A machine that is busy is late, which is said on standard error.
    assert!(finished.status.success(), "{}", finished.account());
    finished.document()
}

fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn flows_share_a_rate_of_requests_and_each_has_its_part() {
    let server = ours!().serve();
    for words in [
        "-t TCP_RR",
        "-t UDP_RR --arrival poisson",
        "-t UDP_RR -- -e 30",
        "-t TCP_RR --io poll,epoll",
    ] {
        let found = document(&server, &format!("--rate 2k --count 200 {words}"));
        let rate = &found["rate"];
        assert_eq!(
            (count(&rate["due"]), count(&rate["sent"])),
            (200, 200),
            "{words}"
        );
        assert_eq!(count(&rate["unanswered_requests"]), 0, "{words}");
        assert_eq!(count(&found["latency"]["count"]), 200, "{words}");
        assert_eq!(count(&found["lateness"]["count"]), 200, "{words}");
        let each = found["iterations"][0]["flows"]["each"]
            .as_array()
            .expect("flows");
        let done = each.iter().map(|flow| count(&flow["transactions"]));
        assert_eq!(done.collect::<Vec<_>>(), [50; 4], "{words}");
    }
}

#[test]
fn connections_are_opened_at_a_rate_by_whichever_flow_is_free() {
    let server = ours!().serve();
    for test in ["TCP_CRR", "TCP_CC"] {
        let found = document(&server, &format!("-t {test} --rate 1k --count 100"));
        let rate = &found["rate"];
        assert_eq!(
            (count(&rate["sent"]), count(&rate["unanswered_requests"])),
            (100, 0)
        );
        assert!(count(&rate["most_in_flight_requests"]) <= 4, "{rate}");
        assert_eq!(count(&found["latency"]["count"]), 100, "{test}");
    }
    let refused = run(&server, "-t TCP_CRR --rate 1k").expect_exit(3);
    assert!(
        refused.stderr.contains("only with --flows"),
        "{}",
        refused.account()
    );
}

#[test]
fn flows_that_send_one_way_share_a_rate_at_whichever_end_sends() {
    let server = ours!().serve();
    for (test, unit) in [
        ("TCP_STREAM", "8M"),
        ("TCP_MAERTS", "8M"),
        ("UDP_STREAM", "1kpps"),
    ] {
        let words = format!("-t {test} --rate {unit} --time 300ms -- -m 1000");
        let found = document(&server, &words);
        let (due, sent) = (count(&found["rate"]["due"]), count(&found["rate"]["sent"]));
        assert!(sent > 0 && sent <= due + due / 2, "{test}: {sent} of {due}");
        let each = found["iterations"][0]["flows"]["each"]
            .as_array()
            .expect("flows");
        assert_eq!(each.len(), 4);
    }
}

#[test]
fn a_stock_netserver_serves_flows_at_a_rate() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let found = document(&server, "-t TCP_RR --rate 1k -l 1");
    assert!(count(&found["rate"]["sent"]) > 0, "{found}");
}
