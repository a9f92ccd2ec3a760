//! `netperf --iperf2`: results of tests to servers of iperf 2 as documents of netperf.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::schema::Schema;
use netperf_testkit::server::free_port;
use netperf_testkit::{Invocation, Netserver, Place, Running, ours, require};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../docs/schema/netperf-1.schema.json");
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of iperf 2.
struct Server {
    port: u16,
    ours: Option<Netserver>,
    _stock: Option<Running>,
}

/// Ours, and Debian's where it is installed.
fn servers(words: &[&str]) -> Vec<Server> {
    let port = free_port();
    let ours = Netserver::start_with(
        &ours!(),
        &Place::Here,
        &["-D", "--iperf2", &port.to_string()],
        &[],
    );
    let mut all = vec![Server {
        port,
        ours: Some(ours),
        _stock: None,
    }];
    if require::require(
        Path::new("/usr/bin/iperf").exists(),
        "iperf",
        "install iperf",
    ) {
        let port = free_port();
        let mut running = Invocation::new(Path::new("/usr/bin/stdbuf"))
            .args(["-oL", "/usr/bin/iperf", "-s", "-p", &port.to_string()])
            .args(words)
            .patience(PATIENCE)
            .spawn();
        assert!(running.prints("listening", PATIENCE));
        all.push(Server {
            port,
            ours: None,
            _stock: Some(running),
        });
    }
    all
}

fn netperf(server: &Server, options: &[&str]) -> Invocation {
    Invocation::new(&ours!().netperf)
        .args([
            "--iperf2",
            "-H",
            "127.0.0.1",
            "-p",
            &server.port.to_string(),
        ])
        .args(options)
        .patience(PATIENCE)
}

/// The document of a test; valid by the schema.
#[track_caller]
fn result(server: &Server, options: &[&str]) -> Value {
    let command = netperf(server, &[&["--json"], options].concat());
    document_of_peer(command, "iperf2")
}

/// The document that a command prints of a test to this program; valid by the schema.
#[track_caller]
pub(crate) fn document_of_peer(command: Invocation, program: &str) -> Value {
    let finished = command.run();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.account());
    let document: Value = serde_json::from_str(&finished.stdout).expect("a document");
    let faults = Schema::parse(SCHEMA).faults(&document);
    assert_eq!(faults, [""; 0], "{}", finished.account());
    assert_eq!(document["peer"]["program"], program);
    document
}

#[test]
fn flows_intervals_and_cpu_of_tcp_are_in_the_document() {
    for server in servers(&[]) {
        let options = [
            "-l", "1", "--flows", "3", "--rate", "24M", "-D", "0.25", "-c", "--", "-m", "8K",
        ];
        let document = result(&server, &options);
        assert_eq!(document["peer"]["version"], "2.1.8");
        let run = &document["iterations"][0];
        let flows = run["flows"]["each"].as_array().expect("flows");
        let sent = |value: &Value| value["sent_bytes"].as_u64();
        let sum: Option<u64> = flows.iter().map(sent).sum();
        assert_eq!((flows.len(), sum), (3, sent(&run["local"])), "{run:#}");
        let intervals = document["intervals"].as_array().expect("intervals");
        assert!(intervals.len() >= 2, "{document:#}");
        let bytes: Option<u64> = intervals.iter().map(sent).sum();
        assert_eq!(bytes, sent(&run["local"]), "{document:#}");
        let local = &run["local"];
        assert!(local["cpu"]["busy_percent"].as_f64().is_some(), "{run:#}");
        assert!(local["process_cpu"]["total_percent"].as_f64().is_some());
        assert!(local["retransmitted_segments"].is_u64(), "{run:#}");
        assert!(local["congestion_control"].is_string(), "{run:#}");
        assert_eq!(run["remote"], Value::Null);
    }
}

#[test]
fn flows_of_datagrams_have_the_reports_of_the_server() {
    // The original mixes up the first datagrams of flows that begin together.
    for server in servers(&["-u"])
        .iter()
        .filter(|server| server.ours.is_some())
    {
        let options = [
            "--udp", "-l", "-20000", "--flows", "2", "--rate", "4M", "--", "-m", "500",
        ];
        let document = result(server, &options);
        let run = &document["iterations"][0];
        // 20 datagrams and a final one in each flow.
        assert_eq!(run["local"]["datagrams"]["sent"], 42, "{run:#}");
        assert_eq!(run["remote"]["datagrams"]["received"], 42, "{run:#}");
        assert_eq!(run["remote"]["datagrams"]["reordered"], 0, "{run:#}");
        assert_eq!(run["remote"]["datagrams"]["duplicated"], Value::Null);
        assert_eq!(run["remote"]["received_bytes"], run["local"]["sent_bytes"]);
    }
}

#[test]
fn tests_are_repeated_for_confidence() {
    // Side by side: they wait for most of their time.
    std::thread::scope(|scope| {
        for server in servers(&[]) {
            scope.spawn(move || figures_are_repeated(&server));
        }
    });
}

fn figures_are_repeated(server: &Server) {
    let options = [
        "-l", "0.3", "--rate", "8M", "-I", "99,50", "-i", "4,3", "-r", "--", "-m", "8K",
    ];
    let document = result(server, &options);
    let runs = document["iterations"].as_array().expect("iterations");
    assert!((3..=4).contains(&runs.len()), "{document:#}");
}

#[test]
fn the_output_of_iperf2_is_printed_on_request() {
    for server in servers(&[]) {
        let options = ["-l", "0.5", "-D", "0.25", "--rate", "8M", "--", "-m", "8K"];
        let lines = netperf(&server, &[&["--output", "iperf2"], &options[..]].concat());
        let lines = lines.run().expect_clean().stdout;
        assert!(
            lines.contains("Client connecting to 127.0.0.1, TCP port"),
            "{lines}"
        );
        assert!(lines.contains("[  1] 0.0000-0.2500 sec"), "{lines}");
        // The first interval and the whole, whose end is late on a busy machine.
        assert_eq!(lines.matches("[  1] 0.0000-").count(), 2, "{lines}");
        let csv = netperf(
            &server,
            &[&["--output", "iperf2-csv"], &options[..]].concat(),
        );
        let csv = csv.run().expect_clean().stdout;
        for row in csv.lines() {
            assert_eq!(row.split(',').count(), 9, "{csv}");
        }
        assert!(csv.lines().count() >= 2, "{csv}");
    }
}
