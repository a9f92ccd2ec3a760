//! Counts of netserver on each of many flows.

use netperf_testkit::{Netserver, Place, Programs, TwoHosts, Values, ours, require};
use serde_json::Value;

/// The flows of a run of 70, over 2 threads at netperf and 3 at netserver.
fn flows(server: &Netserver, words: &str) -> Value {
    let finished = ours!()
        .client_of(server)
        .args(["--json"])
        .args(["--flows", "70", "--threads", "2,3"])
        .args(words.split_whitespace())
        .run();
    finished.expect_clean().document()["iterations"][0]["flows"].take()
}

fn of_each(flows: &Value, name: &str) -> Vec<Option<u64>> {
    let each = flows["each"].as_array().expect("flows");
    each.iter().map(|flow| flow[name].as_u64()).collect()
}

#[test]
fn both_ends_counted_the_same_on_each_connection() {
    let server = ours!().serve();
    for (test, here, there) in [
        (
            "TCP_STREAM --count 9m",
            "sent_bytes",
            "remote_received_bytes",
        ),
        (
            "TCP_MAERTS --count 9m",
            "received_bytes",
            "remote_sent_bytes",
        ),
        ("TCP_RR --count 500", "transactions", "remote_transactions"),
        ("UDP_RR --count 500", "transactions", "remote_transactions"),
        // The first flows have one more than the others.
        (
            "UDP_RR --count 500 --one-port",
            "transactions",
            "remote_transactions",
        ),
        (
            "UDP_STREAM --count 500 --one-port -- -m 1",
            "sent_bytes",
            "remote_received_bytes",
        ),
    ] {
        let flows = flows(&server, &format!("-t {test}"));
        let (ours, theirs) = (of_each(&flows, here), of_each(&flows, there));
        assert_eq!(ours, theirs, "{test}");
        assert!(
            ours.iter().all(|count| *count > Some(0)),
            "{test}: {ours:?}"
        );
        assert!(flows["remote_fairness"].as_f64() > Some(0.5), "{test}");
    }
}

#[test]
fn flows_without_ports_are_not_guessed_and_places_are_no_flows() {
    let server = ours!().serve();
    let unix = flows(&server, "-t STREAM_RR --count 500");
    assert_eq!(of_each(&unix, "remote_transactions"), [None; 70]);
    assert!(unix["remote_fairness"].as_f64() > Some(0.9), "{unix}");
    let connections = flows(&server, "-t TCP_CRR --count 500");
    assert_eq!(of_each(&connections, "remote_transactions"), [None; 70]);
    assert!(connections["remote_fairness"].is_null());
}

#[test]
fn sessions_of_a_stock_netserver_are_the_counts_of_flows() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let finished = ours!()
        .client_of(&server)
        .args(["-P", "0", "--count", "30"])
        .args([
            "-t",
            "TCP_RR",
            "--flows",
            "3",
            "--",
            "-k",
            "REMOTE_FAIRNESS",
        ])
        .run();
    let values = Values::parse(&finished.expect_clean().stdout);
    assert!(
        (values.number("REMOTE_FAIRNESS") - 1.0).abs() < 1e-9,
        "{values:?}"
    );
}

#[test]
fn datagrams_of_an_amount_are_as_many_with_several_flows_as_with_one() {
    let server = ours!().serve();
    for words in [
        "-t UDP_STREAM --count 1000 -- -m 100",
        "-t UDP_STREAM --reverse --count 1000 -- -m ,100",
    ] {
        for flows in ["1", "3", "7"] {
            let finished = ours!()
                .client_of(&server)
                .args(["--flows", flows, "-P", "0"])
                .args(words.split_whitespace())
                .args(["-k", "LOCAL_BYTES_SENT,REMOTE_BYTES_SENT"])
                .run();
            let values = Values::parse(&finished.expect_clean().stdout);
            let sent = values.count("LOCAL_BYTES_SENT") + values.count("REMOTE_BYTES_SENT");
            assert_eq!(sent, 1000, "{flows} flows, {words}");
        }
    }
}

#[test]
fn an_amount_over_a_path_that_duplicates_has_its_figures_netns() {
    if !require::root() || !require::nft() {
        return;
    }
    let hosts = TwoHosts::new();
    hosts.duplicate();
    let server = Netserver::start_with(&ours!(), &hosts.server(), &["-D"], &[]);
    for (words, amount) in [
        ("-t UDP_STREAM --count 20000 -- -m 1000", 20_000),
        ("-t UDP_RR --count 20 --", 20),
        ("-t UDP_STREAM --flows 3 --count 20000 -- -m 1000", 20_000),
    ] {
        let finished = ours!()
            .client_of(&server)
            .within(&hosts.client())
            .args(["-H", TwoHosts::SERVER_V4, "-P", "0"])
            .args(words.split_whitespace())
            .args(["-k", "LOCAL_BYTES_SENT"])
            .run();
        assert!(finished.status.success(), "{}", finished.account());
        let sent = Values::parse(&finished.stdout).count("LOCAL_BYTES_SENT");
        // A duplicate at netserver is not requested again, and a message says so.
        let is_short = finished.stderr.contains("the path duplicated datagrams");
        assert!(sent == amount || is_short, "{}", finished.account());
    }
}
