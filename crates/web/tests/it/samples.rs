//! Files of every program that is understood, and what is read of them.

use crate::common::{SAMPLES, sample};
use netperf_web::unit::{Quantity, Unit};
use netperf_web::{Record, page};

fn read(name: &str) -> Record {
    netperf_web::read(name, &sample(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn said(quantity: Option<&Quantity>) -> String {
    let said = quantity.map(ToString::to_string).unwrap_or_default();
    said.replace(['\u{a0}', '\u{202f}'], " ")
}

fn figure(record: &Record, name: &str) -> String {
    let found = record.figures.iter().find(|(known, _)| known == name);
    said(found.map(|(_, value)| value))
}

#[test]
fn a_document_of_netperf_is_read_whole() {
    let record = read("tcp_rr.json");
    assert_eq!(record.label, "tcp_rr");
    assert_eq!(record.test.as_deref(), Some("TCP_RR"));
    assert_eq!(record.direction.as_deref(), Some("requests and responses"));
    assert_eq!(record.limit.as_deref(), Some("for 1\u{a0}s"));
    assert_eq!(
        record.commands[0].1,
        "netperf -t TCP_RR -l 1 -D 0.2 -c -C -j --json"
    );
    let headline = record.headline.as_ref().unwrap();
    assert_eq!(headline.unit, Unit::TransactionsPerSecond);
    let [rates] = &record.rates[..] else {
        panic!("one track")
    };
    assert_eq!(rates.samples.len(), 6);
    assert!(rates.samples.iter().skip(1).all(|sample| sample.joined));
    assert!(!rates.samples[0].joined);
    let [spread] = &record.spreads[..] else {
        panic!("one spread")
    };
    // The percentiles of the file agree with its own histogram.
    for (percent, seconds) in &spread.percentiles {
        let alone = netperf_web::record::Distribution {
            percentiles: Vec::new(),
            ..spread.clone()
        };
        if let Some(own) = alone.percentile(*percent) {
            assert!(
                (own - seconds).abs() < seconds * 0.02,
                "{percent}: {own} {seconds}"
            );
        }
    }
    let cpu = record.local.cpu.as_ref().unwrap();
    let parts: f64 = cpu.parts.iter().flatten().sum::<f64>() + cpu.rest().unwrap();
    assert!((parts - cpu.busy.unwrap()).abs() < 1e-6);
    assert_eq!(record.windows[0].unit, Unit::Bytes);
    assert!(
        record
            .doubts
            .iter()
            .any(|doubt| doubt.contains("on one host"))
    );
}

#[test]
fn intervals_of_datagrams_are_said_to_be_what_was_sent() {
    let second = |at: u32| {
        serde_json::json!({"iteration": 1, "ended_unix_seconds": 1e9 + f64::from(at),
            "elapsed_seconds": 1.0, "sent_bits_per_second": 5e9, "received_bits_per_second": 0.0})
    };
    let document = serde_json::json!({
        "schema": "netperf-1",
        "test": {"name": "UDP_STREAM", "socket_type": "Datagram", "sends": true, "receives": false},
        "result": {"throughput_bits_per_second": 1e9},
        "intervals": [second(0), second(1)],
    });
    let record = netperf_web::read("udp.json", document.to_string().as_bytes()).unwrap();
    assert_eq!(record.rates[0].name, "sent");
    let said = netperf_web::markdown(&[record]);
    assert!(
        said.contains("Its 2 intervals, as sent, were between 5"),
        "{said}"
    );
}

#[test]
fn the_wildcard_address_is_neither_a_host_nor_an_address() {
    let document = serde_json::json!({
        "schema": "netperf-1",
        "test": {"name": "TCP_STREAM"},
        "local": {"name": "0.0.0.0", "address": "0.0.0.0"},
        "remote": {"name": "db1", "address": "192.0.2.1"},
    });
    let record = netperf_web::read("tcp.json", document.to_string().as_bytes()).unwrap();
    assert_eq!(
        (record.local.name.clone(), record.local.address.clone()),
        (None, None)
    );
    let said = netperf_web::markdown(&[record]);
    assert!(!said.contains("0.0.0.0"), "{said}");
    assert!(said.contains("| address | 192.0.2.1 |"), "{said}");
}

#[test]
fn documents_of_checks_and_campaigns_are_refused_with_a_way_out() {
    for (key, form, way) in [
        ("schema", "netperf-check-1", "netperf history show"),
        (
            "format",
            "netperf-campaign-1",
            "netperf campaign show FILE --page PAGE",
        ),
    ] {
        let document = serde_json::json!({key: form}).to_string();
        let refused = netperf_web::read("x.json", document.as_bytes()).unwrap_err();
        let line = refused.to_string();
        assert!(line.contains(way) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn intervals_of_a_stream_are_what_arrived_if_all_are_known() {
    let interval = |at: u32, sent: f64, arrived: Option<f64>| {
        serde_json::json!({"iteration": 1, "ended_unix_seconds": 1e9 + f64::from(at),
            "elapsed_seconds": 1.0, "sent_bits_per_second": sent,
            "received_bits_per_second": 0.0, "arrived_bits_per_second": arrived})
    };
    let rates = |second: Option<f64>| {
        let document = serde_json::json!({
            "schema": "netperf-1",
            "test": {"name": "TCP_STREAM", "socket_type": "Stream", "sends": true},
            "intervals": [interval(0, 5e8, Some(2e8)), interval(1, 3e8, second)],
        });
        let record = netperf_web::read("tcp.json", document.to_string().as_bytes()).unwrap();
        let [track] = &record.rates[..] else {
            panic!("{:?}", record.rates);
        };
        let values = track.samples.iter().map(|sample| sample.value);
        (track.name.clone(), values.collect::<Vec<f64>>())
    };
    assert_eq!(rates(Some(2.5e8)), (String::new(), vec![2e8, 2.5e8]));
    assert_eq!(rates(None), ("sent".to_owned(), vec![5e8, 3e8]));
}

#[test]
fn a_log_is_read_as_the_document_it_ends_in_and_without_its_end() {
    let whole = read("tcp_stream.jsonl");
    assert!(whole.headline.is_some() && whole.error.is_none());
    let text = sample("tcp_stream.jsonl");
    let text = String::from_utf8(text).unwrap();
    let last = text.trim_end().rfind('\n').unwrap();
    // Killed in the middle of the last line.
    let cut = netperf_web::read("cut.jsonl", &text.as_bytes()[..last + 100]).unwrap();
    assert_eq!(cut.rates, whole.rates);
    assert_eq!(cut.headline, None);
    assert!(
        cut.error
            .as_deref()
            .unwrap()
            .contains("in the middle of a line")
    );
    let stopped = netperf_web::read("cut.jsonl", &text.as_bytes()[..last]).unwrap();
    assert!(
        stopped
            .error
            .as_deref()
            .unwrap()
            .ends_with("did: there is no result.")
    );
}

#[test]
fn a_run_that_failed_says_why() {
    let record = read("failed.json");
    assert!(record.headline.is_none());
    assert!(record.error.as_deref().unwrap().contains("port 1"));
}

#[test]
fn iperf3_over_tcp_has_flows_and_what_tcp_knew() {
    let record = read("iperf3-tcp.json");
    assert_eq!(said(record.headline.as_ref()), "22.5 Gbit/s");
    assert_eq!(figure(&record, "segments retransmitted"), "14 segments");
    let names: Vec<&str> = record.flows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["flow 1", "flow 2"]);
    assert_eq!(record.windows.len(), 2);
    assert_eq!(record.round_trips[0].samples[0].value, 106e-6);
    assert!(record.commands.is_empty() && record.spreads.is_empty());
    assert_eq!(
        record.local.cpu.as_ref().unwrap().of,
        "one CPU, iperf3 alone"
    );
}

#[test]
fn iperf3_both_ways_has_a_track_for_each() {
    let record = read("iperf3-bidir.json");
    let names: Vec<&str> = record
        .rates
        .iter()
        .map(|track| track.name.as_str())
        .collect();
    assert_eq!(names, ["", "reverse"]);
    assert_eq!(record.direction.as_deref(), Some("both ways at once"));
    assert_eq!(record.flows[1].0, "flow 2, reverse");
    // The result is that of both ways, as netperf's.
    assert_eq!(said(record.headline.as_ref()), "7.83 Gbit/s");
    assert_eq!(figure(&record, "received, one way"), "4.07 Gbit/s");
    assert_eq!(figure(&record, "received, other way"), "3.76 Gbit/s");
}

#[test]
fn iperf3_over_udp_shows_what_arrived_and_doubts_what_was_lost() {
    let record = read("iperf3-udp.json");
    assert_eq!(said(record.headline.as_ref()), "41.5 Mbit/s");
    assert_eq!(figure(&record, "jitter"), "152 µs");
    assert!(
        record.doubts[0].contains("16.8\u{a0}%"),
        "{:?}",
        record.doubts
    );
    assert_eq!(
        read("iperf3-err.json").error.as_deref(),
        Some("iperf3: unable to connect to server: Connection refused")
    );
}

#[test]
fn flent_has_sums_flows_pings_and_its_commands() {
    let record = read("two_up.flent.gz");
    assert_eq!(record.label, "two_up");
    assert_eq!(said(record.headline.as_ref()), "58.3 Gbit/s");
    let rates: Vec<&str> = record
        .rates
        .iter()
        .map(|track| track.name.as_str())
        .collect();
    assert_eq!(rates, ["TCP upload sum"]);
    assert_eq!(record.flows.len(), 2);
    assert_eq!(record.spreads[0].name, "Ping (ms) ICMP");
    assert_eq!(record.spreads[0].count(), 65.0);
    let seen: usize = record.heat[0]
        .columns
        .iter()
        .map(|column| column.2.len())
        .sum();
    assert_eq!(seen, 65);
    assert_eq!(record.commands.len(), 3);
    assert!(
        record
            .local
            .facts
            .iter()
            .any(|(name, _)| name == "net.ipv4.tcp_rmem")
    );
}

#[test]
fn files_without_a_result_are_named_with_the_expected_formats() {
    let problem = |bytes: &[u8]| {
        netperf_web::read("a/b.json", bytes)
            .unwrap_err()
            .to_string()
    };
    for (bytes, wanted) in [
        (&b""[..], "empty"),
        (b"MIGRATED TCP STREAM TEST", "not JSON"),
        (b"[1, 2]", "JSON, but no result"),
        (b"{}", "JSON, but no result"),
        (b"\xff\xfe", "not text"),
        (b"\x1f\x8bnothing", "its compression is damaged"),
        (
            b"{\"schema\": \"netperf-2\"}",
            "a document of the schema \"netperf-2\", not netperf-1",
        ),
        (
            b"{\"schema\": \"netperf-1\", \"tests\": []}",
            "a list of tests, not a result",
        ),
        (
            b"{\"metadata\": {}, \"results\": {}, \"version\": 9}",
            "version 9 of its format",
        ),
        (b"{\"event\": \"interim\"}", "JSON, but no result"),
    ] {
        let said = problem(bytes);
        assert!(
            said.starts_with("a/b.json: ") && said.contains(wanted),
            "{said}"
        );
        assert!(said.contains("iperf3 -J") && !said.contains('\n'), "{said}");
    }
}

#[test]
fn every_sample_makes_a_page_with_others_and_alone() {
    let mut records: Vec<Record> = SAMPLES.iter().map(|name| read(name)).collect();
    for record in &records {
        let page = page(std::slice::from_ref(record)).unwrap();
        assert!(page.len() < 400_000, "{}: {}", record.label, page.len());
    }
    netperf_web::tell_apart(&mut records);
    let page = page(&records).unwrap();
    assert!(page.len() < 1_000_000);
}

#[test]
fn records_of_one_name_are_numbered() {
    let mut records = vec![read("tcp_rr.json"); 4];
    netperf_web::tell_apart(&mut records);
    let labels: Vec<&str> = records.iter().map(|record| record.label.as_str()).collect();
    assert_eq!(labels, ["tcp_rr", "tcp_rr (2)", "tcp_rr (3)", "tcp_rr (4)"]);
    assert!(page(&records).unwrap().len() <= 1_000_000);
}

#[test]
#[ignore = "nightly: 400 results are drawn before they are refused"]
fn records_that_are_too_many_are_refused() {
    let many = vec![read("tcp_rr.json"); 400];
    assert!(
        page(&many)
            .unwrap_err()
            .to_string()
            .contains("fewer results")
    );
}

#[test]
fn csv_has_every_interval_and_markdown_every_table() {
    let record = read("tcp_rr.json");
    let csv = netperf_web::csv(std::slice::from_ref(&record));
    let rows = |figure: &str| {
        csv.lines()
            .filter(|row| row.contains(&format!(",\"{figure}\",")))
            .count()
    };
    assert_eq!(rows("throughput"), record.rates[0].samples.len());
    assert_eq!(rows("latency"), record.spreads[0].ranges.len());
    assert!(
        csv.lines()
            .all(|row| row.split("\",").count() > 3 || row.starts_with("result,"))
    );
    let markdown = netperf_web::markdown(std::slice::from_ref(&record));
    for heading in [
        "# Results",
        "## Results",
        "## CPU utilisation of client and server",
        "### Congestion window",
        "## Hosts and commands",
    ] {
        assert!(markdown.lines().any(|line| line == heading), "{heading}");
    }
}
