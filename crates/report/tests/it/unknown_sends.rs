//! Both directions, without the count of what netserver sent.

use netperf_model::{EndResult, Tally};
use netperf_report::final_report;
use serde_json::Value;

use crate::common::{outcome, run};

/// The report of a run of two seconds in which 1 MB arrived in each direction.
fn report(options: &str) -> String {
    let run = run(&format!(
        "netperf -t TCP_STREAM --bidirectional separate {options}"
    ));
    let mut outcome = outcome(&run, 2.0);
    let iteration = &mut outcome.iterations[0];
    iteration.local.tally = Tally {
        bytes_sent: 1_000_000,
        bytes_received: 1_000_000,
        send_calls: 10,
        recv_calls: 10,
        ..Tally::default()
    };
    iteration.remote = Some(EndResult {
        tally: Tally {
            bytes_received: 1_000_000,
            recv_calls: 10,
            ..Tally::default()
        },
        sends_unknown: true,
        ..EndResult::default()
    });
    final_report(&outcome, &run.report).expect("a report")
}

#[test]
fn the_table_shows_a_dash_and_the_sum_of_what_arrived() {
    let table = report("-P 0");
    let columns = |name: &str| -> Vec<&str> {
        let line = table.lines().find(|line| line.starts_with(name));
        line.unwrap().split_whitespace().collect()
    };
    assert_eq!(columns("to netserver")[4..], ["4.00", "4.00"], "{table}");
    assert_eq!(columns("from netserver")[4..], ["-", "4.00"], "{table}");
    assert_eq!(columns("sum")[2..], ["8.00"], "{table}");
}

#[test]
fn selectors_of_sends_have_no_value() {
    let selected = report(
        "-- -k THROUGHPUT,REMOTE_SEND_THROUGHPUT,REMOTE_RECV_THROUGHPUT,REMOTE_SEND_CALLS,\
         REMOTE_BYTES_PER_SEND,REMOTE_BYTES_SENT,REMOTE_BYTES_XFERD,REMOTE_BYTES_RECVD",
    );
    let values: Vec<&str> = selected.lines().filter(|line| line.contains('=')).collect();
    assert_eq!(
        values,
        [
            "THROUGHPUT=8.00",
            "REMOTE_SEND_THROUGHPUT=-1.00",
            "REMOTE_RECV_THROUGHPUT=4.00",
            "REMOTE_SEND_CALLS=-1",
            "REMOTE_BYTES_PER_SEND=-1.00",
            "REMOTE_BYTES_SENT=-1",
            "REMOTE_BYTES_XFERD=-1",
            "REMOTE_BYTES_RECVD=1000000",
        ]
    );
}

#[test]
fn the_document_has_null() {
    let document: Value = serde_json::from_str(&report("--json")).expect("JSON");
    assert_eq!(crate::json::SCHEMA.faults(&document), [""; 0]);
    let remote = &document["iterations"][0]["remote"];
    for key in [
        "sent_bytes",
        "send_calls",
        "failed_sends",
        "sent_bits_per_second",
        "sent_bytes_per_second",
        "bytes_per_send",
    ] {
        assert!(remote[key].is_null(), "{key}: {remote}");
    }
    assert_eq!(remote["received_bytes"], 1_000_000);
    let sum = document["result"]["throughput_bits_per_second"].as_f64();
    assert_eq!(sum, Some(8e6));
}
