//! Datagrams: their size by default, the fragments that they travel in, and where they are lost.

use std::time::Duration;

use netperf_testkit::{Bottleneck, Finished, Invocation, LinkHost, Netserver, RoutedLink, ours};
use serde_json::Value;

/// A path with an MTU of 1500 bytes.
struct Path {
    link: RoutedLink,
    server: Netserver,
}

impl Path {
    /// `None` where root is missing.
    fn new() -> Option<Self> {
        let link = RoutedLink::new(Bottleneck::new(100_000, 50))?;
        let server = link.serve(&ours!());
        Some(Self { link, server })
    }

    fn run(&self, options: &str) -> Finished {
        let port = self.server.port().to_string();
        Invocation::new(&ours!().netperf)
            .args(["-H", RoutedLink::SERVER_V4, "-p", &port])
            .args(options.split_whitespace())
            .within(&self.link.place(LinkHost::Client))
            .run()
    }

    fn json(&self, options: &str) -> Value {
        self.run(options).document()
    }
}

fn bytes_per_send(document: &Value) -> &Value {
    &document["iterations"][0]["local"]["bytes_per_send"]
}

fn codes(document: &Value) -> Vec<&str> {
    let warnings = document["warnings"].as_array().expect("warnings");
    let codes = warnings.iter().map(|warning| warning["code"].as_str());
    codes.flatten().collect()
}

#[test]
fn datagrams_fit_the_mtu_unless_the_command_line_is_classic() {
    let Some(path) = Path::new() else { return };
    for options in [
        "--json -t UDP_STREAM -l -100K",
        "--json --udp --rate 10M --time 100ms",
        "--json --udp --sequence --rate 10M --time 100ms",
        "--json --udp --reverse --rate 10M --time 1",
    ] {
        let document = path.json(options);
        let iteration = &document["iterations"][0];
        let sender = if options.contains("--reverse") {
            &iteration["remote"]
        } else {
            &iteration["local"]
        };
        assert_eq!(sender["bytes_per_send"], 1472.0, "{options}: {document}");
        assert!(!codes(&document).contains(&"fragments"), "{options}");
        let packets = &sender["sent_packets_per_second"];
        assert!(packets.as_f64() > Some(0.0), "{options}: {document}");
    }
    // Names of options make the difference, and no more than that.
    let classic = path
        .run("-t UDP_STREAM -l -200K -- -k LOCAL_SEND_SIZE")
        .expect_clean();
    assert!(
        classic.stdout.contains("LOCAL_SEND_SIZE=65507"),
        "{}",
        classic.stdout
    );
}

#[test]
fn fragments_of_datagrams_have_a_warning_with_their_number() {
    let Some(path) = Path::new() else { return };
    let document = path.json("--json --udp --rate 10M --time 100ms -- -m 8000");
    assert_eq!(bytes_per_send(&document), 8000.0);
    assert!(codes(&document).contains(&"fragments"), "{document}");
    let finished = path.run("--udp --rate 10M --time 100ms -- -m 8000");
    let said = "netperf: each datagram of 8000 bytes travels in 6 fragments, and is lost if one \
                of them is: 1472 bytes fit the path's MTU of 1500 (--send-size 1472)\n";
    assert!(finished.stderr.contains(said), "{}", finished.account());
    // Requests and responses, each way.
    for sizes in ["9000", "9000,100", "100,9000"] {
        let words = format!("--time 100ms -t UDP_RR --rate 50 -- -r {sizes}");
        let finished = path.run(&format!("--human {words}"));
        let said = "each request or response of 9000 bytes travels in 7 fragments";
        let shown = finished
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(shown.contains(said), "{}", finished.account());
        let document = path.json(&format!("--json {words}"));
        assert!(codes(&document).contains(&"fragments"), "{document}");
    }
    let document = path.json("--json --time 100ms -t UDP_RR --rate 50 -- -r 1400");
    assert!(!codes(&document).contains(&"fragments"), "{document}");
}

#[test]
fn loss_of_datagrams_is_told_by_place() {
    let Some(path) = Path::new() else { return };
    // Every fiftieth datagram is lost on the path.
    path.link
        .lose(LinkHost::Server, "meta l4proto udp", 50, &[7]);
    let document = path.json("--json --udp --sequence --rate 1000pps --time 1");
    let counted = &document["iterations"][0]["remote"]["datagrams"];
    assert_eq!(counted["dropped_by_socket"], 0, "{document}");
    let (lost, sent) = (
        counted["lost"].as_u64(),
        &document["iterations"][0]["local"]["send_calls"],
    );
    let lost = lost.expect("a number");
    assert!(
        (1..=sent.as_u64().expect("a number") / 25).contains(&lost),
        "{document}"
    );
    let shown = path
        .run("--human --udp --sequence --rate 1000pps --time 1")
        .stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "datagrams of 1472 bytes",
        "packets/s; arrived ",
        "UDP sent ",
        "; lost ",
        "0 in the receiver's socket buffer",
        "on the path",
        "reordered",
        "jitter",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn datagrams_that_the_receiver_has_no_space_for_are_counted_at_its_socket() {
    let server = ours!().serve();
    let document = ours!()
        .client_of(&server)
        .args("--json --udp --sequence --time 1".split(' '))
        .args("-- -m 60000 -S 1 -R 1".split(' '))
        .run()
        .document();
    let counted = &document["iterations"][0]["remote"]["datagrams"];
    let (lost, dropped) = (
        counted["lost"].as_u64(),
        counted["dropped_by_socket"].as_u64(),
    );
    // A socket buffer with space for one datagram overflows; loopback loses none itself.
    assert!(lost > Some(0) && dropped > Some(0), "{document}");
    assert!(dropped >= lost, "{document}");
}

/// A run whose netserver is stopped for 0.9 s once netperf has printed this.
fn with_a_stop(words: &str, sign: &str) -> Finished {
    let server = ours!().serve();
    let mut running = ours!().client_of(&server).args(words.split(' ')).spawn();
    assert!(running.prints(sign, Duration::from_secs(20)));
    server.signal_sessions("STOP");
    std::thread::sleep(Duration::from_millis(900));
    server.signal_sessions("CONT");
    running.finish().expect_exit(0)
}

/// The document of a run that prints events and has a stop.
fn document_with_a_stop(words: &str) -> Value {
    let words = format!("--json-stream --udp --time 3 -D 0.1 {words}");
    let finished = with_a_stop(&words, "\"event\":\"interim\"");
    let last = finished.stdout.lines().last().unwrap_or_default();
    let event: Value = serde_json::from_str(last).expect("JSON");
    event["document"].clone()
}

#[test]
fn a_time_without_arrivals_has_a_warning() {
    let document = document_with_a_stop("--rate 500pps");
    assert!(codes(&document).contains(&"stalled"), "{document}");
}

#[test]
fn datagrams_that_only_waited_for_a_stopped_netserver_are_no_stall() {
    let document = document_with_a_stop("--rate 50pps -- -m 100");
    assert_eq!(document["iterations"][0]["remote"]["datagrams"]["lost"], 0);
    assert!(!codes(&document).contains(&"stalled"), "{document}");
}

#[test]
fn a_time_without_arrivals_has_a_warning_in_a_classic_run() {
    let words = "-t UDP_STREAM -l 3 -b 10 -w 1 -D 0.2 -- -m 1000";
    let finished = with_a_stop(words, "Interim result");
    let said = "nothing arrived at netserver for";
    assert!(finished.stderr.contains(said), "{}", finished.account());
}

/// A run over a connection whose netserver is stopped for a time, and the warnings of its document.
fn warnings_of_a_connection_with_a_stop(words: &str) -> Vec<String> {
    let words = format!("--json-stream -l 2 -D 0.1 {words}");
    let finished = with_a_stop(&words, "\"event\":\"interim\"");
    let last = finished.stdout.lines().last().unwrap_or_default();
    let event: Value = serde_json::from_str(last).expect("JSON");
    let all = event["document"]["warnings"].as_array();
    let all = all.into_iter().flatten();
    let stalled = all.filter(|one| one["code"] == "stalled");
    stalled.map(|one| one.to_string()).collect()
}

#[test]
fn a_time_in_which_nothing_moves_over_a_connection_has_a_warning() {
    // Small buffers, which are full soon after the stop.
    let sizes = "-- -m 1K -s 8K -S 8K";
    for (test, said) in [
        ("TCP_STREAM", "nothing arrived at netserver for "),
        ("TCP_MAERTS", "nothing arrived from netserver for "),
    ] {
        let found = warnings_of_a_connection_with_a_stop(&format!("-t {test} {sizes}"));
        assert_eq!(found.len(), 1, "{test}: {found:?}");
        assert!(found[0].contains(said), "{test}: {found:?}");
    }
}

#[test]
fn classic_runs_with_interim_results_tell_of_a_time_in_which_nothing_moves() {
    let finished = with_a_stop(
        "-t TCP_STREAM -l 2 -D 0.2 -- -m 1K -s 8K -S 8K",
        "Interim result",
    );
    let said = "nothing arrived at netserver for";
    assert!(finished.stderr.contains(said), "{}", finished.account());
}
