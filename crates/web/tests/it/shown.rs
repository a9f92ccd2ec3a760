//! All values of a result are shown: on the page, in Markdown and in CSV.

use netperf_web::{Record, csv, figures, markdown, page};
use serde_json::{Value, json};

use crate::common::sample;

fn read(name: &str, document: &Value) -> Record {
    netperf_web::read(name, document.to_string().as_bytes()).expect("a result")
}

/// A result of `UDP_STREAM --sequence`.
fn numbered(rate: f64) -> Value {
    let end = |sent: u64, received: u64| {
        json!({"sent_bits_per_second": 2.0 * rate, "datagrams": {
            "sent": sent, "received": received, "lost": (received > 0).then_some(500 - received),
            "duplicated": 3, "reordered": 7, "reordering_extent": 4,
            "jitter_microseconds": 12.5, "mean_delay_variation_microseconds": 30.0,
            "max_delay_variation_microseconds": 90.0}})
    };
    json!({
        "schema": "netperf-1",
        "test": {"name": "UDP_STREAM", "socket_type": "Datagram", "sends": true, "receives": false},
        "result": {"throughput_bits_per_second": rate, "elapsed_seconds": 1.0},
        "iterations": [{"number": 1, "local": end(500, 0), "remote": end(0, 490)}],
    })
}

/// A result whose times are those of `sends` and `receives`.
fn timed(name: &str, sends: bool, receives: bool) -> Value {
    json!({
        "schema": "netperf-1",
        "test": {"name": name, "sends": sends, "receives": receives},
        "result": {"throughput_bits_per_second": 1e9},
        "latency": {"count": 10, "mean_nanoseconds": 2000.0,
            "buckets": [{"from": 1000, "to": 1010, "count": 10}]},
    })
}

/// The row of a table in Markdown that begins with a name.
fn row<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let begin = format!("| {name} |");
    let found = text.lines().find(|line| line.starts_with(&begin));
    let cells = found.unwrap_or_else(|| panic!("{name}: {text}")).split('|');
    cells
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

fn plain(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ")
}

#[test]
fn loss_order_and_jitter_of_numbered_datagrams_are_on_the_page_in_markdown_and_in_csv() {
    let record = read("udp.json", &numbered(1e9));
    let records = std::slice::from_ref(&record);
    let said = plain(&markdown(records));
    for (name, value) in [
        ("datagrams sent", "500 datagrams"),
        ("datagrams received", "490 datagrams"),
        ("datagrams lost", "10 datagrams"),
        ("datagrams lost, share", "2.00 %"),
        ("datagrams duplicated", "3 datagrams"),
        ("datagrams out of order", "7 datagrams"),
        ("largest extent of reordering", "4 datagrams"),
        ("jitter", "12.5 µs"),
        ("delay variation, mean", "30.0 µs"),
        ("delay variation, largest", "90.0 µs"),
    ] {
        assert_eq!(row(&said, name), [name, value]);
    }
    let sentence = "10 datagrams did not arrive (2.00 %), 7 datagrams arrived out of order; \
                    the jitter was 12.5 µs.";
    assert!(said.contains(sentence), "{said}");
    let page = plain(&page(records).unwrap());
    assert!(page.contains(sentence) && page.contains("datagrams out of order"));
    let rows = csv(records);
    assert!(
        rows.contains("\"metrics\",\"jitter\",,\"\",0.0000125,\"s\""),
        "{rows}"
    );
    assert!(rows.contains("\"metrics\",\"datagrams out of order\",,\"\",7,\"datagrams\""));
}

#[test]
fn the_time_in_a_call_and_the_latency_share_no_chart_and_no_table() {
    let records = [
        read("rr.json", &timed("TCP_RR", true, true)),
        read("stream.json", &timed("TCP_STREAM", true, false)),
        read("maerts.json", &timed("TCP_MAERTS", false, true)),
    ];
    let all = figures(&records);
    let figure = all.iter().find(|figure| figure.id == "latency").unwrap();
    let titles: Vec<&str> = figure
        .charts
        .iter()
        .map(|(chart, _)| chart.title.as_str())
        .collect();
    let wanted = [
        "Latency by percentile",
        "Time in send by percentile",
        "Time in receive by percentile",
    ];
    assert_eq!(titles, wanted);
    for ((_, table), label) in figure.charts.iter().zip(["rr", "stream", "maerts"]) {
        let of: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(of, [label]);
    }
    let said = plain(&markdown(&records));
    assert_eq!(row(&said, "latency, mean")[1..4], ["2.00 µs", "–", "–"]);
    assert_eq!(
        row(&said, "time in send, mean")[1..4],
        ["–", "2.00 µs", "–"]
    );
    assert!(csv(&records).contains("\"stream\",\"time in send\","));
}

#[test]
fn changes_are_those_from_the_first_result() {
    let records = [
        read("a.json", &numbered(1e9)),
        read("b.json", &numbered(1.1e9)),
        read("rr.json", &timed("TCP_RR", true, true)),
    ];
    let said = plain(&markdown(&records));
    let result = row(&said, "result");
    // The third is of another test.
    let values = ["1.00 Gbit/s", "1.10 Gbit/s", "1.00 Gbit/s"];
    assert_eq!(result[1..], [&values[..], &["+10.0 %"]].concat());
    let share = row(&said, "datagrams lost, share");
    assert_eq!(share[1..], ["2.00 %", "2.00 %", "–", "0 points"]);
    assert!(said.contains("Changes are from a."), "{said}");
    let rows = csv(&records);
    let changes = rows
        .lines()
        .filter(|row| row.starts_with("\"b\",\"change\",\"result\""));
    let changes: Vec<&str> = changes.collect();
    assert_eq!(changes.len(), 1, "{rows}");
    assert!(!rows.contains("\"a\",\"change\"") && !rows.contains("\"rr\",\"change\""));
    let different = [records[0].clone(), records[2].clone()];
    let said = plain(&markdown(&different));
    assert!(!said.contains("Changes are"), "{said}");
    assert_eq!(row(&said, "result")[1..], ["1.00 Gbit/s", "1.00 Gbit/s"]);
    // A single result, and results in different units, have no changes.
    assert!(!markdown(&records[..1]).contains("Changes are"));
}

#[test]
fn figures_that_both_programs_have_stand_in_one_row() {
    let theirs = netperf_web::read("iperf3.json", &sample("iperf3-udp.json")).unwrap();
    let records = [read("udp.json", &numbered(1e9)), theirs];
    let said = markdown(&records);
    for name in [
        "result",
        "length",
        "sent",
        "datagrams sent",
        "datagrams received",
        "datagrams lost",
        "datagrams lost, share",
        "datagrams out of order",
        "jitter",
    ] {
        let row = row(&said, name);
        assert!(!row[1..3].contains(&"–"), "{row:?}");
    }
    let tcp = netperf_web::read("tcp.json", &sample("iperf3-tcp.json")).unwrap();
    let ours = netperf_web::read("ours.jsonl", &sample("tcp_stream.jsonl")).unwrap();
    let said = markdown(&[ours, tcp]);
    for name in [
        "sent",
        "segments retransmitted",
        "congestion window, largest",
        "round trip of TCP, largest",
    ] {
        let row = row(&said, name);
        assert!(!row[1..3].contains(&"–"), "{row:?}");
    }
}

#[test]
fn flows_that_netperf_alone_sends_are_shown_as_they_arrived() {
    let flow = |arrived: Option<f64>| {
        json!({"sent_bytes": 4_000_000, "sent_bits_per_second": 32e6,
            "received_bits_per_second": 0.0, "arrived_bits_per_second": arrived})
    };
    let rates = |second: Option<f64>| {
        let document = json!({
            "schema": "netperf-1",
            "test": {"name": "UDP_STREAM", "sends": true},
            "iterations": [{"flows": {"each": [flow(Some(8e6)), flow(second)]}}],
        });
        let record = read("udp.json", &document);
        let flows = record.flows.iter();
        flows.map(|(_, rate)| rate.value).collect::<Vec<_>>()
    };
    assert_eq!(rates(Some(24e6)), [8e6, 24e6]);
    assert_eq!(rates(None), [8e6, 32e6]);
}

#[test]
fn both_ways_parts_of_transactions_and_encryption_are_shown() {
    let end = |rate: f64| json!({"received_bits_per_second": rate});
    let document = json!({
        "schema": "netperf-1",
        "test": {"name": "TCP_STREAM", "sends": true, "receives": true, "bidirectional": "same"},
        "result": {"throughput_bits_per_second": 3e9},
        "iterations": [{"local": end(1e9), "remote": end(2e9), "cipher": "TLSv1.3 SUITE",
            "one_way": {"wire_there": {"median_nanoseconds": 5000.0}}}],
    });
    let said = plain(&markdown(&[read("both.json", &document)]));
    assert!(said.contains(", both ways at once."), "{said}");
    assert_eq!(row(&said, "received, one way")[1], "2.00 Gbit/s");
    assert_eq!(row(&said, "received, other way")[1], "1.00 Gbit/s");
    assert_eq!(row(&said, "wire to netserver, median")[1], "5.00 µs");
    assert!(said.contains("| encryption of the data | TLSv1.3 SUITE |"));
}
