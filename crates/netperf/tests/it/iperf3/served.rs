//! `iperf3 -s`: our server called as iperf3 against the original's, with the original's client.

use std::collections::BTreeSet;

use netperf_testkit::{eventually, procfs};

use super::shape::{masked, paths};
use super::*;
use crate::recorded_lines;

/// A server by name, and its output.
pub(super) struct Alone {
    pub(super) port: u16,
    pub(super) running: Running,
}

impl Alone {
    pub(super) fn start(program: &Path, options: &[&str]) -> Self {
        Self::start_by(program, |port| {
            let words = [&["-s", "-p", port], options].concat();
            words.into_iter().map(str::to_owned).collect()
        })
    }

    /// Starts a server with the words for a port. Another process may take the free port first, so
    /// a few are tried.
    pub(super) fn start_by(program: &Path, words: impl Fn(&str) -> Vec<String>) -> Self {
        let started = on_free_port(|port| {
            let mut running = Invocation::new(program)
                .args(words(&port.to_string()))
                .patience(PATIENCE)
                .spawn();
            // Nothing is connected: that would be a client.
            let listens = || running.ended() || procfs::is_bound(port, false);
            assert!(eventually(PATIENCE, listens), "no listener");
            (!running.ended()).then_some(Self { port, running })
        });
        started.expect("a server")
    }

    fn client(&self, program: &Path, options: &[&str]) -> Invocation {
        Invocation::new(program)
            .args(["-c", "127.0.0.1", "-p", &self.port.to_string()])
            .args(options)
            .patience(PATIENCE)
    }

    pub(super) fn interrupt(self) -> Finished {
        self.running.signal("INT");
        self.running.finish()
    }
}

/// Tests whose output at the server is compared, and options of the server.
const SHAPES: [(&[&str], &[&str]); 11] = [
    (&["-t", "2", "-b", "1M", "-l", "8K"], &[]),
    (
        &["-t", "1", "-b", "1M", "-l", "8K", "-P", "2"],
        &["-f", "k"],
    ),
    (&["-t", "1", "-b", "1M", "-l", "8K", "-R"], &["-V"]),
    (&["-t", "1", "-b", "1M", "-l", "8K"], &["-V"]),
    (
        &["-t", "1", "-b", "1M", "-l", "8K", "--bidir"],
        &["-f", "M"],
    ),
    (&["-t", "1", "-b", "400K", "-l", "500", "-u"], &["-V"]),
    (
        &["-t", "1", "-b", "400K", "-l", "500", "-u", "-R", "-P", "2"],
        &[],
    ),
    (
        &["-t", "1", "-b", "400K", "-l", "500", "-u", "--bidir"],
        &["-i", "0"],
    ),
    (&["-n", "64K", "-l", "8K", "-R"], &["-4", "--forceflush"]),
    (
        &["-t", "1", "-b", "1M", "-l", "8K", "--bidir", "-P", "2"],
        &["-V"],
    ),
    (
        &["-t", "1", "-b", "1M", "-l", "8K", "-R", "-P", "2"],
        &["-V"],
    ),
];

/// The lines; rows of intervals, and the lines between them, once each: how many there are depends
/// on the load of the host.
pub(super) fn lines(text: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for line in masked(text) {
        // The cookie, and percentages behind it.
        let named = [
            "Cookie: ",
            "CPU Utilization: local/sender",
            "CPU Utilization: local/receiver",
        ];
        let named = named.into_iter().find(|name| line.starts_with(name));
        let line = named.map_or(line.clone(), str::to_owned);
        let is_last = line.contains("sender") || line.contains("receiver");
        let is_row = line.contains(" sec ") && !is_last;
        let repeats = is_row || line.starts_with("- -");
        if !(repeats && kept.contains(&line)) {
            kept.push(line);
        }
    }
    kept
}

/// Keys and types.
fn keys(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let document: Value = serde_json::from_str(text).expect("a document");
    paths(&document, "", &mut found);
    found
}

/// Differences of the lines and keys of a server, with this client, from those of the original.
fn differences_of(server: &Path, client: &Path) -> Vec<String> {
    type Shape = (&'static [&'static str], &'static [&'static str]);
    let key = |(options, of_server): &Shape| [*of_server, &["|"], *options].concat().join(" ");
    let output = |(options, of_server): &Shape, more: &[&str]| {
        let of_server = [&["-1"], *of_server, more].concat();
        let server = Alone::start(server, &of_server);
        server.client(client, options).run().expect_clean();
        server.running.finish().expect_clean()
    };
    let of_lines = recorded_lines::differences("iperf3 server", &SHAPES, key, |case| {
        let finished = output(case, &[]);
        (lines(&finished.stdout), finished.account())
    });
    let of_keys = recorded_lines::differences("iperf3 server, keys", &SHAPES, key, |case| {
        let finished = output(&(case.0, &[]), &["-J"]);
        let keys = keys(&finished.stdout).into_iter().collect();
        (keys, finished.account())
    });
    [of_lines, of_keys].concat()
}

#[test]
fn lines_and_keys_of_a_server_are_those_of_the_original() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    recorded_lines::expect_at_most(0, &differences_of(&own, &own));
}

#[test]
#[ignore = "nightly: the original, which needs a free UDP port and a machine that is not busy"]
fn lines_and_keys_of_a_server_are_those_of_the_original_that_runs() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for server in [&stock, &own] {
        recorded_lines::expect_at_most(0, &differences_of(server, &stock));
    }
}

#[test]
fn a_second_client_is_busy_and_tests_follow_each_other() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let mut server = Alone::start(&own, &["-f", "m"]);
    for program in [&stock, &own] {
        let mut first = server
            .client(
                program,
                &["-t", "20", "-b", "1M", "-l", "8K", "--forceflush"],
            )
            .spawn();
        assert!(first.prints("connected to", PATIENCE), "{}", first.stdout());
        let text = "iperf3: error - the server is busy running a test. try again later\n";
        let second = server.client(&stock, &["-t", "1"]).run().expect_exit(1);
        assert_eq!(second.stderr, text);
        let second = server.client(&own, &["-t", "1"]).run().expect_exit(1);
        assert_eq!(second.stderr, text);
        first.signal("INT");
        let first = first.finish().expect_exit(1);
        assert!(
            first
                .stderr
                .contains("interrupt - the client has terminated")
        );
        // The next one is served as soon as the first is gone.
        assert!(netperf_testkit::eventually(PATIENCE, || {
            server.client(&stock, &["-n", "64K"]).run().status.success()
        }));
    }
    assert!(server.running.prints("(test #5)", PATIENCE));
    let finished = server.interrupt().expect_exit(1);
    let told = finished
        .stderr
        .matches("iperf3: the client has terminated")
        .count();
    assert_eq!(told, 2, "{}", finished.account());
    assert!(
        finished
            .stderr
            .ends_with("iperf3: interrupt - the server has terminated\n"),
        "{}",
        finished.account()
    );
    assert!(finished.stdout.contains("Mbits/sec"));
}

#[test]
fn a_server_that_is_stopped_tells_its_client() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for (program, signal) in [(&stock, "INT"), (&own, "TERM"), (&own, "HUP")] {
        let server = Alone::start(&own, &["-J"]);
        let mut client = server
            .client(
                program,
                &["-t", "20", "-b", "1M", "-l", "8K", "--forceflush"],
            )
            .spawn();
        assert!(client.prints(" sec ", PATIENCE), "{}", client.stdout());
        server.running.signal(signal);
        let stopped = server.running.finish().expect_exit(1);
        let document: Value = serde_json::from_str(&stopped.stdout).unwrap();
        assert_eq!(document["error"], "interrupt - the server has terminated");
        assert!(count(&document, "/end/sum_received/bytes") > 0);
        let client = client.finish().expect_exit(1);
        assert!(
            client.stderr.contains("error - the server has terminated"),
            "{}",
            client.account()
        );
    }
}

#[test]
fn server_without_a_test_ends_with_a_document() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Alone::start(&own, &["-J"]);
    let port = server.port.to_string();
    let second = Invocation::new(&own).args(["-s", "-J", "-p", &port]).run();
    let ended = [second.expect_exit(1), server.interrupt().expect_exit(1)];
    let errors = ended.map(|finished| {
        let document: Value = serde_json::from_str(&finished.stdout).expect("a document");
        assert_eq!(document["start"]["connected"], serde_json::json!([]));
        document["error"].as_str().expect("an error").to_owned()
    });
    let taken = "error - unable to start listener for connections: Address already in use";
    assert_eq!(errors, [taken, "interrupt - the server has terminated"]);
}

#[test]
fn idle_timeout_ends_a_server_of_one_test() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    // It may be over before a busy machine has looked whether it listens.
    let ended = on_free_port(|port| {
        let ended = Invocation::new(&own)
            .args(["-s", "-p", &port.to_string(), "-1", "--idle-timeout", "1"])
            .patience(PATIENCE)
            .run();
        (!ended.stderr.contains("already in use")).then_some(ended)
    });
    ended.expect("a free port").expect_exit(0);
}

#[test]
fn a_rate_above_the_limit_ends_the_test() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Alone::start(&own, &["--server-bitrate-limit", "1M/1"]);
    // By what the client asks for, and by what it sends.
    for options in [
        &["-t", "10", "-b", "8M", "-l", "8K"][..],
        &["-t", "10", "-l", "8K"],
    ] {
        let refused = server.client(&stock, options).run();
        assert_eq!(refused.status.code(), Some(1), "{}", refused.account());
    }
    server
        .client(&stock, &["-t", "1", "-b", "500K", "-l", "1K"])
        .run()
        .expect_clean();
    let finished = server.interrupt().expect_exit(1);
    let line = "iperf3: error - total required bandwidth is larger than server limit\n";
    assert_eq!(
        finished.stderr.matches(line).count(),
        2,
        "{}",
        finished.account()
    );
    let server = Alone::start(&own, &["--server-max-duration", "5"]);
    let refused = server.client(&own, &["-t", "6"]).run().expect_exit(1);
    assert!(
        refused.stderr.contains("maximum permitted"),
        "{}",
        refused.account()
    );
}

#[test]
fn a_daemon_writes_its_number_and_its_log() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let file = |name: &str| scratch.path().join(name).display().to_string();
    let (pid, log) = (file("pid"), file("log"));
    let port = free_port().to_string();
    Invocation::new(&own)
        .args(["-s", "-D", "-p", &port, "-I", &pid, "--logfile", &log])
        .args(["--timestamps=%Y> "])
        .patience(PATIENCE)
        .run()
        .expect_clean();
    let number = || std::fs::read_to_string(&pid).ok();
    let written =
        netperf_testkit::eventually(PATIENCE, || number().is_some_and(|text| !text.is_empty()));
    assert!(written);
    let number: u32 = number().unwrap().parse().expect("digits alone");
    let copy = file("copy");
    Invocation::new(&own)
        .args(["-c", "127.0.0.1", "-p", &port, "-n", "64K", "-T", "ttl"])
        .args(["--logfile", &copy, "--timestamps=%Y ", "--dscp", "cs1"])
        .patience(PATIENCE)
        .run()
        .expect_clean();
    Invocation::new(&stock)
        .args(["-c", "127.0.0.1", "-p", &port, "-n", "64K"])
        .patience(PATIENCE)
        .run()
        .expect_clean();
    let text = std::fs::read_to_string(&copy).unwrap();
    assert!(
        text.lines().all(|line| line.get(4..11) == Some(" ttl:  ")),
        "{text}"
    );
    assert!(text.contains("iperf Done."), "{text}");
    netperf_testkit::process::signal(number, "INT");
    // The file is removed at the end.
    assert!(netperf_testkit::eventually(PATIENCE, || !Path::new(&pid).exists()));
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(
        text.lines().all(|line| line.get(4..6) == Some("> ")),
        "{text}"
    );
    assert!(text.contains("(test #3)") && text.contains("the server has terminated"));
}

#[test]
fn a_stream_of_events_has_an_object_per_line() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Alone::start(&own, &["-1", "--json-stream"]);
    let options = ["-t", "2", "-b", "1M", "-l", "8K", "--json-stream"];
    let client = server.client(&own, &options).run().expect_clean();
    let served = server.running.finish().expect_clean();
    for text in [&client.stdout, &served.stdout] {
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("an object");
            assert!(line["data"].is_object(), "{line}");
            line["event"].as_str().expect("a name").to_owned()
        });
        let names: Vec<String> = lines.collect();
        assert_eq!(names.first().map(String::as_str), Some("start"));
        assert_eq!(names.last().map(String::as_str), Some("end"));
        assert!(names.iter().filter(|name| *name == "interval").count() >= 1);
    }
}

#[test]
fn results_of_256_streams_are_exchanged() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Alone::start(&own, &["-1", "-J"]);
    let options = [
        "-k", "256", "-l", "1K", "-b", "1M", "-P", "128", "--bidir", "-J",
    ];
    let options = [&options[..], &["--get-server-output", "--fq-rate", "20G"]].concat();
    let client = server.client(&own, &options).run();
    let document = document(&client);
    let streams = document["end"]["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 256);
    let of_server = &document["server_output_json"]["end"]["streams"];
    assert_eq!(of_server.as_array().map(Vec::len), Some(256));
    // Buffers are those of a stream, which both documents name.
    assert!(count(&document, "/start/sndbuf_actual") > 0);
}

#[test]
fn a_port_in_use_and_a_wrong_option_are_one_line() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Alone::start(&own, &[]);
    let second = Invocation::new(&own)
        .args(["-s", "-p", &server.port.to_string()])
        .patience(PATIENCE)
        .run()
        .expect_exit(1);
    assert_eq!(
        second.stderr,
        "iperf3: error - unable to start listener for connections: Address already in use\n"
    );
    let wrong = Invocation::new(&own)
        .args(["-s", "-t", "5"])
        .run()
        .expect_exit(1);
    assert!(wrong.stderr.contains("client only"), "{}", wrong.account());
}
