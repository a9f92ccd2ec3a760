//! `--json` and `--json-stream` of real runs: what they print follows the schema.

use std::time::Duration;

use netperf_testkit::schema::Schema;
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Programs, congestion, eventually, ours,
};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../docs/schema/netperf-1.schema.json");

/// The whole catalogue, and OMNI in each direction.
const TESTS: &[&str] = &[
    "-t TCP_STREAM",
    "-t TCP_MAERTS",
    "-t TCP_SENDFILE",
    "-t TCP_RR",
    // By a time, netserver waits for more connections for a second.
    "-l -50 -t TCP_CRR",
    "-l -50 -t TCP_CC",
    "-t TCP_MSS",
    "-t UDP_STREAM",
    "-t UDP_RR",
    "-t OMNI",
    "-t OMNI -- -d recv -T udp",
    "-t OMNI -- -d rr -K cubic -k all",
    "-t LOC_CPU",
    "-t REM_CPU",
    "-t UUID",
];

/// A run against a server of ours.
fn client(server: &Netserver, options: &str) -> Invocation {
    let options = congestion::instead_of_cubic(options);
    ours!()
        .client_of(server)
        .args(["--time", "200ms"])
        .args(options.split(' '))
}

#[track_caller]
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn document(finished: &Finished) -> Value {
    let document = read(&finished.stdout);
    let faults = Schema::parse(SCHEMA).faults(&document);
    assert_eq!(faults, [""; 0], "{}", finished.account());
    document
}

#[track_caller]
fn events(finished: &Finished) -> Vec<Value> {
    let schema = Schema::parse(SCHEMA);
    let event = |line: &str| {
        let event = read(line);
        let faults = schema.faults_of("event", &event);
        assert_eq!(faults, [""; 0], "{}", finished.account());
        event
    };
    finished.stdout.lines().map(event).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let kind = |event: &'_ Value| event["event"].as_str().is_some();
    assert!(events.iter().all(kind));
    let named = events.iter().filter_map(|event| event["event"].as_str());
    named.collect()
}

/// The kind of a test: with data or without, and its length.
fn has_result(options: &str) -> bool {
    !["LOC_CPU", "REM_CPU", "UUID"]
        .iter()
        .any(|name| options.contains(name))
}

#[test]
fn every_test_of_the_catalogue_prints_a_valid_document() {
    let server = ours!().serve();
    for test in TESTS {
        let finished = client(&server, &format!("--json -j -c -C -D 0.08 {test}"))
            .run()
            .expect_clean();
        let document = document(&finished);
        let account = finished.account();
        assert_eq!(document["error"], Value::Null, "{account}");
        assert_eq!(
            document["result"].is_object(),
            has_result(test),
            "{account}"
        );
        let found = document["calibration"].is_object() || document["uuid"].is_string();
        assert!(found, "{account}");
    }
}

#[test]
fn every_test_of_the_catalogue_streams_valid_events_with_the_result_last() {
    let server = ours!().serve();
    for test in TESTS {
        let finished = client(&server, &format!("--json-stream -D 0.08 {test}"))
            .run()
            .expect_clean();
        let events = events(&finished);
        let kinds = kinds(&events);
        assert_eq!(kinds.first(), Some(&"start"), "{}", finished.account());
        assert_eq!(kinds.last(), Some(&"result"), "{}", finished.account());
        let iterations = kinds.iter().filter(|kind| **kind == "iteration").count();
        assert_eq!(iterations, usize::from(has_result(test)));
        let last = events.last().expect("a result");
        let kept = last["document"]["intervals"].as_array().expect("a list");
        let told = events.iter().filter(|event| event["event"] == "interim");
        let told = told.map(|event| without_arrival(&event["interval"]));
        assert!(told.eq(kept.iter().map(without_arrival)));
    }
}

/// An interval without what arrived in it, which is only known after the run.
fn without_arrival(interval: &Value) -> Value {
    let mut interval = interval.clone();
    let fields = interval.as_object_mut().expect("an object");
    fields.retain(|name, _| !name.starts_with("arrived_"));
    interval
}

#[test]
fn intervals_and_iterations_add_up_to_the_result() {
    let server = ours!().serve();
    let options = "--json -t TCP_RR -D 0.25 -i 3,3 -j -- -r 32,1024";
    let document = document(&client(&server, options).run().expect_clean());
    let iterations = document["iterations"].as_array().expect("a list");
    assert_eq!(iterations.len(), 3);
    let total = |rows: &[Value], pick: fn(&Value) -> &Value| -> u64 {
        rows.iter().filter_map(|row| pick(row).as_u64()).sum()
    };
    let counted = total(iterations, |run| &run["local"]["transactions"]);
    let intervals = document["intervals"].as_array().expect("a list");
    assert_eq!(total(intervals, |row| &row["transactions"]), counted);
    assert_eq!(document["latency"]["count"].as_u64(), Some(counted));
    let buckets = document["latency"]["buckets"].as_array().expect("a list");
    assert_eq!(total(buckets, |row| &row["count"]), counted);
    let first = &iterations[0];
    assert!(first["tcp"]["path_mtu_bytes"].as_u64() > Some(0));
    let sent = first["local"]["sent_bytes"].as_u64();
    assert_eq!(
        sent,
        first["local"]["transactions"].as_u64().map(|n| n * 32)
    );
    for end in ["local", "remote"] {
        assert_eq!(document[end]["host"]["system"], "Linux");
    }
}

#[test]
fn every_interval_of_one_tcp_connection_says_what_tcp_knew() {
    let server = ours!().serve();
    for (test, has_one) in [
        ("TCP_STREAM -- -G 1000", true),
        ("TCP_MAERTS -- -V", true),
        ("TCP_SENDFILE", true),
        ("TCP_RR -- -r 100", true),
        ("TCP_CRR -l -50", false),
        ("UDP_RR", false),
    ] {
        // At a pace, with which something moves in each interval.
        let options = format!("--json -i 2,2 -D 0.04 -b 2 -w 1ms -t {test}");
        let finished = client(&server, &options).run().expect_clean();
        let document = document(&finished);
        let intervals = document["intervals"].as_array().expect("a list");
        // An interval may end before netperf could ask.
        let known: Vec<&Value> = intervals
            .iter()
            .map(|interval| &interval["tcp"])
            .filter(|tcp| !tcp.is_null())
            .collect();
        assert_eq!(known.len() >= 3, has_one, "{}", finished.account());
        for tcp in known {
            let window = tcp["congestion_window_segments"].as_u64();
            assert!(window > Some(0), "{}", finished.account());
        }
        if test.ends_with("-G 1000") {
            let mut sizes = intervals
                .iter()
                .map(|row| &row["tcp"]["send_segment_bytes"])
                .filter(|size| !size.is_null());
            assert!(sizes.clone().all(|size| size.as_u64() < Some(1001)));
            assert_eq!(
                sizes.next_back(),
                Some(&document["iterations"][1]["tcp"]["send_segment_bytes"])
            );
        }
    }
}

#[test]
fn a_run_that_fails_prints_a_document_with_the_reason() {
    let port = netperf_testkit::server::free_port().to_string();
    let run = |format: &str| {
        Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port])
            .args([format])
            .run()
            .expect_exit(255)
    };
    let plain = run("-P0");
    let failed = run("--json");
    let document = document(&failed);
    let message = document["error"]["message"].as_str().expect("a reason");
    assert_eq!(document["error"]["exit_status"], 255);
    // Cause and remedy, without the lines of the original.
    assert!(
        message.starts_with("netperf: connect to 127.0.0.1 port "),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(plain.stdout.starts_with("establish control: "));
    assert_eq!(plain.stderr.trim_end(), message);
    assert_eq!(failed.stderr.trim_end(), message);
    let events = events(&run("--json-stream"));
    assert_eq!(kinds(&events), ["start", "error"]);
    assert_eq!(events[1]["error"]["message"], message);
}

#[test]
fn a_stream_whose_server_dies_ends_with_an_error() {
    let server = ours!().serve();
    let mut running = client(&server, "--json-stream -D 0.2 -l 30 -t TCP_RR").spawn();
    assert!(running.prints("\"interim\"", Duration::from_secs(10)));
    kill_sessions(&server);
    assert!(eventually(Duration::from_secs(10), || running.ended()));
    let finished = running.finish().expect_exit(1);
    let events = events(&finished);
    assert_eq!(
        kinds(&events).last(),
        Some(&"error"),
        "{}",
        finished.account()
    );
    let partial = &events.last().expect("an event")["partial"];
    assert!(partial["local"]["transactions"].as_u64() > Some(0));
}

#[test]
fn a_document_keeps_what_was_measured_before_the_server_died() {
    let server = ours!().serve();
    // Debug text says when the second iteration begins; the document comes last.
    let options = "-d --json -D 0.1 -i 3,3 -j -t TCP_RR -b 1 -w 10 --time 2s";
    let mut running = client(&server, options).spawn();
    let begins = "About to start a timer";
    let second = || running.stderr().matches(begins).count() == 2;
    assert!(eventually(Duration::from_secs(30), second));
    let begun = running.age();
    let under_way = || running.age() > begun + Duration::from_millis(300);
    assert!(eventually(Duration::from_secs(30), under_way));
    assert!(!running.ended());
    kill_sessions(&server);
    let finished = running.finish().expect_exit(1);
    let document = document(&finished);
    assert!(document["error"]["message"].is_string());
    assert_eq!(document["result"], Value::Null);
    let iterations = document["iterations"].as_array().expect("a list");
    assert_eq!(iterations.len(), 1, "{}", finished.account());
    let counted = &iterations[0]["local"]["transactions"];
    assert_eq!(document["complete"], false);
    let partial = &document["partial"];
    assert_eq!(partial["number"], 2);
    assert_eq!(partial["remote"], Value::Null);
    let begun = partial["local"]["transactions"].as_u64().expect("a count");
    assert!(begun > 0, "{}", finished.account());
    let both = counted.as_u64().map(|counted| counted + begun);
    assert_eq!(document["latency"]["count"].as_u64(), both);
    let last = finished.stderr.lines().last().unwrap_or_default();
    let expected = format!("netperf: incomplete: {begun} transactions in ");
    assert!(last.starts_with(&expected), "{}", finished.account());
    let intervals = document["intervals"].as_array().expect("a list");
    let of = |number: u64| {
        intervals
            .iter()
            .filter(move |row| row["iteration"] == number)
    };
    let total: u64 = of(1).filter_map(|row| row["transactions"].as_u64()).sum();
    assert_eq!(Some(total), counted.as_u64());
    assert!(of(2).count() > 0, "{}", finished.account());
}

fn kill_sessions(server: &Netserver) {
    for session in server.sessions() {
        netperf_testkit::process::signal(session, "KILL");
    }
}

#[test]
fn standard_output_holds_nothing_else() {
    let server = ours!().serve();
    // Debug text, a family that is none, a test that cannot be confident.
    let options = "-d --json -L 0.0.0.0,nonsense -i 3,3 -I 99,0.01 -t UDP_RR";
    let finished = client(&server, options).run().expect_exit(0);
    document(&finished);
    assert!(
        finished.stderr.contains("WARNING! nonsense"),
        "{}",
        finished.account()
    );
    let unknown = client(&server, "--json -t NO_SUCH").run().expect_exit(1);
    assert_eq!(unknown.stdout, "");
    assert!(unknown.stderr.contains("NO_SUCH"), "{}", unknown.account());
}

#[test]
fn refused_runs_leave_standard_output_empty() {
    let port = netperf_testkit::server::free_port().to_string();
    for (options, said) in [
        ("-I 90 --json", "95% and 99%"),
        ("--json-stream -N -t SCTP_STREAM", "no control tests"),
        ("--json -N -t OMNI -- -c", "No default port"),
        ("--json -t NO_SUCH", "connect to 127.0.0.1 port"),
        ("--json --list", "connect to 127.0.0.1 port"),
    ] {
        let finished = Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port])
            .args(options.split(' '))
            .run()
            .expect_exit(255);
        assert_eq!(finished.stdout, "", "{}", finished.account());
        assert!(finished.stderr.contains(said), "{}", finished.account());
    }
}

#[test]
fn a_stock_netserver_serves_a_document_too() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for test in ["-t TCP_STREAM -c -C", "-t UDP_RR", "-t TCP_MAERTS"] {
        let finished = client(&server, &format!("--json {test}"))
            .run()
            .expect_exit(0);
        let document = document(&finished);
        assert_eq!(document["remote"]["host"], Value::Null);
        assert!(document["iterations"][0]["remote"].is_object());
        // It keeps the time of what it alone sends.
        let told = "in whole seconds: 1 s";
        let warnings = document["warnings"].to_string();
        let is_right = if test.ends_with("MAERTS") {
            finished.stderr.contains(told) && warnings.contains(told)
        } else {
            finished.stderr.is_empty()
        };
        assert!(is_right, "{}", finished.account());
    }
}

#[test]
fn comma_separated_values_by_name_are_a_table_alone() {
    let server = ours!().serve();
    for (words, banner) in [
        ("-l -50 -t TCP_RR --csv THROUGHPUT,ELAPSED_TIME", 0),
        ("-l -50 -t TCP_RR -- -o THROUGHPUT,ELAPSED_TIME", 1),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let finished = ours!().client_of(&server).args(words).run().expect_exit(0);
        let lines: Vec<&str> = finished.stdout.lines().skip(banner).collect();
        assert_eq!(
            lines[0],
            "Throughput,Elapsed Time (sec)",
            "{}",
            finished.account()
        );
        assert_eq!(lines.len(), 2, "{}", finished.account());
    }
}
