//! Commands end when they are told to, and know programs that are no netserver.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use netperf_measure::clock;
use netperf_testkit::{Finished, Invocation, Netserver, Scratch, TwoHosts, ours};
use serde_json::Value;

/// Far less than the wait for a netserver that is only late.
const SOON: Duration = Duration::from_secs(8);

fn netperf(words: &str) -> Invocation {
    Invocation::new(&ours!().netperf).args(words.split_whitespace())
}

/// A listener that answers each connection in its own way.
fn program(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = std::sync::Arc::clone(&answer);
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

/// Reads until the other end closes.
fn drain(mut stream: &TcpStream) {
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
}

/// A program that reads and never answers, and a line for each connection that sent something.
fn mute() -> (u16, mpsc::Receiver<()>) {
    let (heard, hears) = mpsc::channel();
    let port = program(move |mut stream| {
        let mut first = [0; 1];
        if stream.read_exact(&mut first).is_ok() {
            let _sent = heard.send(());
        }
        drain(&stream);
    });
    (port, hears)
}

/// A program that says this when it got something, and then is silent.
fn says(words: &'static [u8]) -> u16 {
    program(move |mut stream| {
        let mut bytes = [0; 4096];
        let _got = stream.read(&mut bytes);
        let _sent = stream.write_all(words);
        drain(&stream);
    })
}

/// A program that says this to those who begin with `begin`, and nothing to others.
fn answers(begin: &'static [u8], words: &'static [u8]) -> u16 {
    program(move |mut stream| {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).unwrap_or(0);
        if bytes[..count].starts_with(begin) {
            let _sent = stream.write_all(words);
        }
        drain(&stream);
    })
}

#[test]
fn programs_that_are_no_netserver_are_named() {
    let iperf2 = b"\0\0\0\x02\0\0\0\x1c\0\0\0\0\0\x02\0\x01";
    let programs = [
        (says(b"\x09"), "an iperf3 server answers", "--iperf3"),
        (
            says(b"SSH-2.0-OpenSSH_9.2\r\n"),
            "an SSH server answers",
            "-p",
        ),
        (
            says(b"\x15\x03\x01\0\x02\x02\x46"),
            "a TLS server answers",
            "-p",
        ),
        (
            says(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            "an HTTP server answers",
            "-p",
        ),
        (
            answers(b"GET ", b"HTTP/1.0 200 OK\r\n\r\n"),
            "an HTTP server answers",
            "-p",
        ),
        (
            answers(b"\x40\x01", iperf2),
            "an iperf 2 server answers",
            "--iperf2",
        ),
    ];
    // A check says the same.
    let running = programs.map(|(port, said, way)| {
        let commands = [
            format!("-H 127.0.0.1 -p {port} -l 1"),
            format!("check 127.0.0.1 -p {port} --no-history"),
        ];
        (commands.map(|words| netperf(&words).spawn()), said, way)
    });
    for (running, said, way) in running {
        for running in running {
            let finished = running.finish().expect_exit(1);
            let line = finished.stderr.lines().next().unwrap_or_default();
            assert!(
                line.contains(said) && line.contains(way),
                "{}",
                finished.account()
            );
        }
    }
}

#[test]
fn an_answer_of_a_few_zeros_is_of_another_program_and_no_iperf3() {
    let port = says(&[0; 10]);
    let commands = [
        format!("-H 127.0.0.1 -p {port} -l 1"),
        format!("check 127.0.0.1 -p {port} --no-history"),
    ];
    let running = commands.map(|words| netperf(&words).spawn());
    for running in running {
        let finished = running.finish().expect_exit(1);
        let said = finished.stderr.lines().next().unwrap_or_default();
        assert!(
            said.contains("only 10 bytes") && said.contains("another program is there"),
            "{}",
            finished.account()
        );
        assert!(!said.contains("iperf3"), "{}", finished.account());
    }
}

#[test]
fn programs_that_are_no_server_of_iperf_are_named_by_their_first_bytes() {
    for (banner, program) in [
        (&b"SSH-2.0-OpenSSH_9.2\r\n"[..], "an SSH server"),
        (b"220 mail.example.org ESMTP\r\n", "another program"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server"),
    ] {
        // One that speaks first, and closes when it is not understood.
        let port = program_that_closes(banner);
        for (option, server) in [("--iperf3", "iperf3"), ("--iperf2", "iperf 2")] {
            let words = format!("-H 127.0.0.1 -p {port} {option} -l 1");
            let finished = netperf(&words).run().expect_exit(1);
            let said = format!("{program} answers, not {server}");
            assert!(finished.stderr.contains(&said), "{}", finished.account());
        }
    }
}

/// A program that says this to everybody, and closes when it has got something.
fn program_that_closes(banner: &'static [u8]) -> u16 {
    program(move |mut stream| {
        let _sent = stream.write_all(banner);
        drain_some(&stream);
    })
}

/// Reads once.
fn drain_some(mut stream: &TcpStream) {
    let _got = stream.read(&mut [0; 4096]);
}

#[test]
fn a_signal_ends_a_client_of_iperf3_at_once_before_a_mute_port() {
    let (port, hears) = mute();
    let running = netperf(&format!("-H 127.0.0.1 --iperf3 -p {port} -l 1")).spawn();
    hears
        .recv_timeout(Duration::from_secs(20))
        .expect("a cookie");
    let told = clock::now();
    running.signal("INT");
    let finished = running.finish().expect_exit(1);
    assert!(told.elapsed() < SOON, "{}", finished.account());
    assert!(
        finished.stderr.contains("the client has terminated"),
        "{}",
        finished.account()
    );
}

#[test]
fn a_port_that_is_mute_or_takes_nothing_costs_a_client_of_iperf_seconds() {
    let port = program(|stream| {
        // Nothing is read, and nothing closed, as long as the test goes on.
        std::thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    let began = clock::now();
    let running = ["--iperf3", "--iperf2"]
        .map(|option| netperf(&format!("-H 127.0.0.1 -p {port} {option} -l 1")).spawn());
    for running in running {
        let finished = running.finish().expect_exit(1);
        // Ten seconds, and what a loaded machine adds; it was half a minute.
        assert!(
            began.elapsed() < Duration::from_secs(25),
            "{}",
            finished.account()
        );
    }
}

#[test]
fn a_signal_ends_a_run_over_a_dead_path_with_what_was_measured_netns() {
    if !netperf_testkit::require::root() {
        return;
    }
    for (words, figure) in [
        ("-t TCP_STREAM", "throughput"),
        ("-t TCP_STREAM --flows 2", "throughput"),
        ("-t TCP_RR", "transactions_per_second"),
    ] {
        let hosts = TwoHosts::new();
        let server = Netserver::start(&ours!(), &hosts.server());
        let to = format!("-H {} -p {}", TwoHosts::SERVER_V4, server.port());
        let words = format!("{to} -l 60 --json-stream -D 0.05 {words}");
        let mut running = netperf(&words).within(&hosts.client()).spawn();
        let interval = "\"event\":\"interim\"";
        assert!(running.prints(interval, Duration::from_secs(20)));
        hosts.cut();
        let told = clock::now();
        running.signal("INT");
        let finished = running.finish().expect_exit(0);
        assert!(told.elapsed() < SOON, "{}", finished.account());
        let last = finished.stdout.lines().last().unwrap_or_default();
        let last: Value = serde_json::from_str(last).expect("an event");
        let document = &last["document"];
        assert_eq!(document["complete"], false, "{}", finished.account());
        assert!(
            document
                .to_string()
                .contains("result did not come after the signal"),
            "{}",
            finished.account()
        );
        // What arrived is unknown; each transaction was complete here.
        let measured = document["result"][figure].as_f64();
        assert_eq!(
            measured.is_some_and(|rate| rate > 0.0),
            figure != "throughput",
            "{}",
            finished.account()
        );
    }
}

#[test]
fn a_signal_ends_each_command_before_a_mute_port() {
    let (port, hears) = mute();
    let (other, _hears) = mute();
    let folder = Scratch::new();
    let commands = [
        format!("-H 127.0.0.1 -p {port} -l 1"),
        format!("check 127.0.0.1 -p {port} --no-history"),
        format!("run -- -H 127.0.0.1 -p {port} --vs -H 127.0.0.1 -p {port} -- -m 1K"),
        format!("sweep -o s --over send-size=1,2 -- -H 127.0.0.1 -p {port} -- -m {{send-size}}"),
        "campaign check --inventory hosts --key-file key".to_owned(),
        "campaign run plan.toml --inventory hosts --key-file key".to_owned(),
    ];
    netperf("campaign key -o key")
        .folder(folder.path())
        .run()
        .expect_clean();
    let plan = "pattern = \"mesh\"\ntest = \"TCP_RR\"\nwindow = 1\n";
    let hosts = format!("127.0.0.1:{port} name=a\n127.0.0.1:{other} name=b\n");
    for (name, text) in [("plan.toml", plan), ("hosts", &hosts)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    for command in commands {
        let running = netperf(&command).folder(folder.path()).spawn();
        hears.recv_timeout(Duration::from_secs(20)).expect(&command);
        let told = clock::now();
        running.signal("INT");
        let finished = running.finish();
        assert!(told.elapsed() < SOON, "{}", finished.account());
        assert!(!finished.status.success(), "{}", finished.account());
        if command.starts_with("check") {
            let said = "netperf check: interrupted before anything was measured\n";
            assert_eq!(finished.stderr, said, "{}", finished.account());
        }
    }
}

#[test]
fn a_check_of_a_mute_port_ends_within_seconds_and_says_so() {
    let port = program(|stream| drain(&stream));
    let told = clock::now();
    let finished = netperf(&format!("check 127.0.0.1 -p {port} --no-history"))
        .run()
        .expect_exit(255);
    // Five seconds, and what a loaded machine adds; netperf itself waits for a minute.
    assert!(
        told.elapsed() < Duration::from_secs(40),
        "{}",
        finished.account()
    );
    assert!(
        finished.stderr.contains("did not answer as a netserver"),
        "{}",
        finished.account()
    );
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
}

#[test]
fn a_member_of_a_campaign_that_is_mute_or_no_netserver_is_named_within_seconds() {
    let folder = Scratch::new();
    netperf("campaign key -o key")
        .folder(folder.path())
        .run()
        .expect_clean();
    let mute = program(|stream| drain(&stream));
    let ssh = says(b"SSH-2.0-OpenSSH_9.2\r\n");
    for (port, said) in [
        (mute, "no answer from netserver within 5 s"),
        (ssh, "an SSH server"),
    ] {
        let hosts = format!("127.0.0.1:{port} name=a\n");
        std::fs::write(folder.path().join("hosts"), hosts).expect("a file");
        let finished = netperf("campaign check --inventory hosts --key-file key")
            .folder(folder.path())
            .run()
            .expect_exit(2);
        assert!(finished.stderr.contains(said), "{}", finished.account());
    }
}

#[test]
fn a_second_signal_ends_a_check_at_once() {
    let (port, hears) = mute();
    let running = netperf(&format!("check 127.0.0.1 -p {port} --no-history")).spawn();
    hears
        .recv_timeout(Duration::from_secs(20))
        .expect("netperf");
    let told = clock::now();
    running.signal("INT");
    running.signal("INT");
    let finished = running.finish();
    assert!(told.elapsed() < SOON, "{}", finished.account());
    assert!(!finished.status.success(), "{}", finished.account());
}

#[test]
fn an_interrupted_check_keeps_its_finished_parts() {
    let server = ours!().serve();
    let port = server.port();
    let mut running = netperf(&format!(
        "check 127.0.0.1 -p {port} --no-history --length 30s --json"
    ))
    .spawn();
    // The load of the second phase has begun once there are three sessions at a time.
    assert!(netperf_testkit::eventually(Duration::from_secs(20), || {
        server.sessions().len() >= 3
    }));
    assert!(!running.ended());
    running.signal("INT");
    let finished = running.finish().expect_exit(1);
    let summary: Value = serde_json::from_str(&finished.stdout).expect("a document");
    assert_eq!(summary["complete"], false, "{summary}");
    let idle = &summary["phases"][0]["latency"][0]["round_trip"];
    assert!(idle["p50_seconds"].is_number(), "{summary}");
    assert!(
        summary["error"]["message"]
            .as_str()
            .is_some_and(|why| why.contains("interrupted"))
    );
}

#[test]
fn a_failed_check_and_a_failed_comparison_have_a_document() {
    let port = netperf_testkit::server::free_port();
    let to = format!("-H 127.0.0.1 -p {port}");
    for command in [
        format!("check 127.0.0.1 -p {port} --no-history --json"),
        format!("run --json -- {to} --vs {to} -- -m 1K"),
    ] {
        let finished: Finished = netperf(&command).run().expect_exit(255);
        let document: Value = serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|_| panic!("{}", finished.account()));
        assert_eq!(document["error"]["exit_status"], 255, "{document}");
        let message = document["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("Connection refused"), "{document}");
        assert_eq!(document["complete"], false, "{document}");
    }
}

#[test]
fn a_closed_pipe_ends_a_run_as_sigpipe_does() {
    let server = ours!().serve();
    for options in ["-D 0.05", "--json-stream -D 0.05", "--json-stream"] {
        let command = format!(
            "{} -H 127.0.0.1 -p {} -l 600 {options} | head -1; exit ${{PIPESTATUS[0]}}",
            ours!().netperf.display(),
            server.port()
        );
        let finished = Invocation::new(std::path::Path::new("/bin/bash"))
            .args(["-c", &command])
            .run();
        assert_eq!(finished.status.code(), Some(141), "{}", finished.account());
    }
}

#[test]
fn netserver_in_place_of_a_server_of_iperf_is_asked_about() {
    let server = ours!().serve();
    for (words, said) in [
        (
            "--iperf3 -l 1",
            "is it a server of iperf3? With netserver no --iperf3 is needed",
        ),
        ("--iperf2 -l 1", "is it a server of iperf 2?"),
    ] {
        let words = format!("-H 127.0.0.1 -p {} {words}", server.port());
        let finished = netperf(&words).run().expect_exit(1);
        assert!(finished.stderr.contains(said), "{}", finished.account());
    }
}
