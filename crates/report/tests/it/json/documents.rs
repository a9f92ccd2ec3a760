//! Documents, their schema and the manual.

use super::*;

#[test]
fn no_unit_of_the_tables_changes_a_document() {
    let document = |test: &str, option: &str| {
        let run = run(&format!("netperf -t {test} --json -D 1{option}"));
        let mut outcome = full(&run, 7.0);
        outcome.iterations[0].local.tally.transactions = 1000;
        outcome.intervals[0].counts = outcome.iterations[0].local.tally;
        let mut document = valid(&final_report(&outcome, &run.report).expect("a document"));
        document["command_line"] = Value::Null;
        document
    };
    for (test, unit) in [
        ("TCP_STREAM", "10^6bits/s"),
        ("UDP_STREAM", "10^6bits/s"),
        ("TCP_RR", "Trans/s"),
        ("TCP_CC", "Trans/s"),
    ] {
        let plain = document(test, "");
        assert_eq!(plain["result"]["throughput_unit"], unit);
        assert_eq!(plain["intervals"][0]["throughput_unit"], unit);
        for letter in "GMKBgmkbxu".chars() {
            assert_eq!(
                document(test, &format!(" -f {letter}")),
                plain,
                "{test} -f {letter}"
            );
        }
    }
}

#[test]
fn figures_are_in_the_units_that_their_names_say() {
    let run = run("netperf -f G --json");
    let mut outcome = outcome(&run, 2.0);
    let remote = outcome.iterations[0].remote.as_mut().expect("a peer");
    remote.tally.bytes_received = 2_000_000;
    let document = valid(&final_report(&outcome, &run.report).expect("a document"));
    let result = &document["result"];
    assert_eq!(result["throughput_bits_per_second"], 8e6);
    assert_eq!(result["throughput_bytes_per_second"], 1e6);
    assert_eq!(result["throughput_unit"], "10^6bits/s");
    assert_eq!(result["transactions_per_second"], Value::Null);
    let remote = &document["iterations"][0]["remote"];
    assert_eq!(remote["received_bits_per_second"], 8e6);
    assert_eq!(remote["received_bytes"], 2_000_000);
}

#[test]
fn a_document_needs_facts_of_the_hosts_but_no_times_unless_asked() {
    let run = run("netperf --json -v 2");
    let wanted = needs(&run.plan, &run.report).expect("needs");
    assert!(wanted.hosts && wanted.congestion && !wanted.latency);
    let run = self::run("netperf --json -j");
    let wanted = needs(&run.plan, &run.report).expect("needs");
    assert!(wanted.latency);
}

#[test]
fn a_list_of_what_can_run_is_valid() {
    let row = |here, there| SupportRow {
        name: "SCTP_RR",
        transport: "sctp",
        needs: "",
        here,
        there,
    };
    let missing = Support::Missing("no such protocol".to_owned());
    let listed = list::json(&List {
        host: Some("db1"),
        tests: vec![row(Support::Supported, Some(missing))],
        transports: vec![row(Support::Unknown, None)],
    });
    for schema in [&SCHEMA, &PUBLISHED] {
        let faults = schema.faults_of("list", &read(&listed));
        assert_eq!(faults, [""; 0], "{listed}");
    }
}

#[test]
fn the_histogram_has_the_operations_of_the_old_one() {
    let run = run("netperf -t TCP_RR -j --json");
    let outcome = full(&run, 1.0);
    let document = valid(&final_report(&outcome, &run.report).expect("a document"));
    let counted = document["latency"]["buckets"][0]["count"].as_u64();
    let Decades { beyond, .. } = longest().decades();
    assert_eq!(counted, Some(beyond));
}

#[test]
fn a_document_without_newer_fields_has_their_defaults() {
    let old = r#"{"schema": "netperf-1", "test": {"name": "TCP_RR"}, "local": {},
        "iterations": [{"number": 1, "local": {"cpu": {"busy_percent": 5.0}}}],
        "added_later": 1}"#;
    let document: Document = serde_json::from_str(old).expect("a document");
    assert_eq!(document.test.name, "TCP_RR");
    assert_eq!(
        document.iterations[0].local.cpu.map(|cpu| cpu.busy),
        Some(5.0)
    );
    assert_eq!(document.result, None);
}

#[test]
fn a_document_of_an_earlier_version_is_read() {
    let text = include_str!("../../../../web/tests/samples/tcp_rr.json");
    let document: Document = serde_json::from_str(text).expect("a document");
    assert_eq!(document.test.many, None);
    let cpu = document.iterations[0].local.cpu.expect("CPU utilisation");
    assert_eq!(cpu.method.letter(), 'S');
    assert!(
        document
            .result
            .is_some_and(|mean| mean.throughput.throughput.0 > Some(1.0))
    );
    assert_eq!(document.intervals.len(), 6);
}

#[test]
fn the_examples_of_the_manual_are_valid() {
    let mut blocks = CHAPTER.split("```json\n").skip(1);
    let document = blocks.next().expect("an example of a document");
    valid(document.split("```").next().unwrap_or_default());
    let events = blocks.next().expect("an example of a stream");
    let events = events.split("```").next().unwrap_or_default();
    let mut kinds = events
        .split_inclusive('\n')
        .map(|line| valid_event(line)["event"].clone());
    assert_eq!(kinds.next_back(), Some("error".into()));
}
