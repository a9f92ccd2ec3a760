//! The client of iperf 2: against Debian's iperf 2.1.8 and against netserver, as `iperf` and with
//! `--iperf2`.

use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Scratch, eventually, ours, require, server::free_port,
};

use super::iperf2_served::Served;

const IPERF: &str = "/usr/bin/iperf";

/// A server of iperf 2.
enum Iperf2Server {
    Stock(Served),
    Ours { port: u16, _server: Netserver },
}

impl Iperf2Server {
    /// Debian's iperf; `None` if it is not here.
    fn stock(options: &[&str]) -> Option<Self> {
        let how = "apt-get install -y --no-install-recommends iperf";
        if !require::require(Path::new(IPERF).exists(), "iperf 2.1.8", how) {
            return None;
        }
        Some(Self::Stock(Served::start(Path::new(IPERF), options)))
    }

    fn ours() -> Self {
        let port = free_port();
        let words = ["-D", "--iperf2", &port.to_string()];
        let server = Netserver::start_with(&ours!(), &Place::Here, &words, &[]);
        Self::Ours {
            port,
            _server: server,
        }
    }

    const fn port(&self) -> u16 {
        match self {
            Self::Stock(Served { port, .. }) | Self::Ours { port, .. } => *port,
        }
    }

    /// Waits for a text in the output of the original.
    fn prints(&self, text: &str) -> bool {
        match self {
            Self::Stock(served) => eventually(Duration::from_secs(10), || {
                served.running.stdout().contains(text)
            }),
            Self::Ours { .. } => true,
        }
    }
}

/// A folder with the link `iperf`.
struct Link(Scratch);

impl Link {
    fn new() -> Self {
        let scratch = Scratch::new();
        symlink(&ours!().netperf, scratch.path().join("iperf")).expect("a link");
        Self(scratch)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("iperf")
    }

    /// A test in both directions.
    fn run_both_ways(&self, server: &Iperf2Server, kind: &str) {
        let back = free_port().to_string();
        let words = [kind, "-L", &back, "-t", "0.5", "-b", "8m", "-l", "8K"];
        let done = self.run(server, &words);
        let rows = done.stdout.lines().filter(|line| line.contains(" 0.0000-"));
        assert_eq!(rows.count(), 2, "{}", done.stdout);
    }

    fn begin(&self, server: &Iperf2Server, words: &[&str]) -> Finished {
        Invocation::new(&self.path())
            .args(["-c", "127.0.0.1", "-p", &server.port().to_string()])
            .args(words)
            .patience(Duration::from_secs(60))
            .run()
    }

    fn run(&self, server: &Iperf2Server, words: &[&str]) -> Finished {
        let done = self.begin(server, words);
        assert!(done.status.success(), "{words:?}: {done:?}");
        assert!(done.stderr.is_empty(), "{words:?}: {done:?}");
        done
    }
}

/// Options of a connection, and the number of final rows.
const STREAMS: [(&[&str], usize); 8] = [
    (&["-n", "300K"], 1),
    (&["-n", "300K", "-P", "8"], 9),
    (&["-X", "-n", "100K"], 1),
    (&["-C", "-n", "100K"], 1),
    (&["-R", "-n", "300K"], 1),
    (&["-t", "1", "-b", "8m", "-l", "8K", "--full-duplex"], 3),
    (
        &["-t", "1", "-l", "16000", "-w", "64000", "-N", "-b", "8m"],
        1,
    ),
    (&["-n", "300K", "-f", "m", "-M", "1000", "-S", "0x10"], 1),
];

#[test]
fn tcp_is_measured_to_our_server() {
    let link = Link::new();
    tcp_is_measured(&link, Iperf2Server::ours);
    let done = link.run(&Iperf2Server::ours(), &["-n", "300K", "-y", "C"]);
    let row: Vec<&str> = done.stdout.trim().split(',').collect();
    assert_eq!((row.len(), row[7]), (9, "307200"), "{}", done.stdout);
}

#[test]
#[ignore = "nightly: the server of the original, which has races of its own"]
fn tcp_is_measured_to_a_server_of_the_original() {
    if Iperf2Server::stock(&[]).is_some() {
        tcp_is_measured(&Link::new(), || {
            Iperf2Server::stock(&[]).expect("the original")
        });
    }
}

fn tcp_is_measured(link: &Link, server: impl Fn() -> Iperf2Server) {
    for (words, rows) in STREAMS {
        // The original may abort after parallel streams: each case has its own.
        let done = link.run(&server(), words);
        let found = done.stdout.lines().filter(|line| line.contains(" 0.0000-"));
        assert_eq!(found.count(), rows, "{words:?}: {}", done.stdout);
    }
}

#[test]
fn our_server_connects_back() {
    let (link, server) = (Link::new(), Iperf2Server::ours());
    for kind in ["-d", "-r"] {
        link.run_both_ways(&server, kind);
    }
}

/// The number of rows of comma-separated values that a test prints.
fn rows_of(done: &Finished) -> usize {
    assert!(done.status.success(), "{done:?}");
    done.stdout.lines().count()
}

#[test]
fn a_port_in_use_leaves_the_direction_of_the_client_alone() {
    let (link, server) = (Link::new(), Iperf2Server::ours());
    for kind in ["-d", "-r"] {
        let done = link.begin(&server, &[kind, "-n", "100K", "-y", "C"]);
        let refused = "listener bind failed: Address already in use\n";
        assert_eq!((rows_of(&done), &*done.stderr), (1, refused), "{done:?}");
    }
}

#[test]
fn a_client_that_measures_neither_direction_fails() {
    let link = Link::new();
    let busy = TcpListener::bind(("0.0.0.0", 0)).expect("a listener");
    let back = busy.local_addr().expect("an address").port().to_string();
    let done = Invocation::new(&link.path())
        .args(["-c", "127.0.0.1", "-p", &free_port().to_string()])
        .args(["-d", "-L", &back])
        .patience(Duration::from_secs(60))
        .run()
        .expect_exit(1);
    let lines =
        "listener bind failed: Address already in use\ntcp connect failed: Connection refused\n";
    assert_eq!(done.stderr, lines);
}

#[test]
fn datagrams_come_back_to_another_port_if_that_of_the_server_is_in_use() {
    datagrams_come_back(&Iperf2Server::ours());
}

#[test]
#[ignore = "nightly: the server of the original, which has races of its own"]
fn datagrams_of_the_original_come_back_to_another_port() {
    if let Some(server) = Iperf2Server::stock(&["-u"]) {
        datagrams_come_back(&server);
    }
}

fn datagrams_come_back(server: &Iperf2Server) {
    let link = Link::new();
    for kind in ["-d", "-r"] {
        let done = link.run(server, &["-u", kind, "-n", "3000", "-y", "C"]);
        assert_eq!(rows_of(&done), 2, "{}", done.stdout);
        let back = done.stdout.lines().next_back().unwrap_or_default();
        // The server has sent them to a port that is not its own.
        let port = back.split(',').nth(4).and_then(|port| port.parse().ok());
        assert!(
            port.is_some_and(|port: u16| port != server.port()),
            "{back}"
        );
    }
}

#[test]
#[ignore = "nightly: the server of the original, which has races of its own"]
fn a_server_of_the_original_connects_back() {
    let Some(server) = Iperf2Server::stock(&[]) else {
        return;
    };
    let link = Link::new();
    for kind in ["-d", "-r"] {
        link.run_both_ways(&server, kind);
    }
}

/// Options of a flow; datagrams that arrive in each flow, with the final one, if that is certain.
const FLOWS: [(&[&str], Option<u64>); 8] = [
    (&["-n", "15000"], Some(12)),
    (&["-n", "15000", "-b", "2m", "-P", "8"], Some(12)),
    (&["-l", "16", "-n", "160", "-b", "10k"], Some(8)),
    (&["-C", "-n", "6000"], Some(6)),
    (&["--trip-times", "-n", "6000"], Some(6)),
    (&["-t", "1", "-b", "10m", "-l", "1470", "-i", "1"], None),
    (&["-t", "1", "-b", "500k", "-R"], None),
    (&["-t", "1", "-b", "500k", "--full-duplex"], None),
];

#[test]
fn udp_is_measured_to_our_server_and_both_ends_count_the_same_datagrams() {
    udp_is_measured(|_| Some(Iperf2Server::ours()));
}

#[test]
#[ignore = "nightly: the server of the original, which has races of its own"]
fn udp_is_measured_to_a_server_of_the_original_and_both_ends_count_the_same_datagrams() {
    // The original mixes up the first datagrams of flows that begin at the same moment.
    udp_is_measured(|is_parallel| {
        let server = || Iperf2Server::stock(&["-u"]);
        (!is_parallel).then(server).flatten()
    });
}

/// Measures with the server for each case, if there is one; the word tells whether flows are parallel.
fn udp_is_measured(server: impl Fn(bool) -> Option<Iperf2Server>) {
    let link = Link::new();
    for (words, count) in FLOWS {
        let is_parallel = words.contains(&"-P");
        let Some(server) = server(is_parallel) else {
            continue;
        };
        let words = [&["-u"], words].concat();
        let done = link.run(&server, &words);
        let streams = if is_parallel { 8 } else { 1 };
        let complete = done.stdout.lines().filter(|line| line.contains(" 0/"));
        assert_eq!(complete.count(), streams, "{words:?}: {}", done.stdout);
        if let Some(count) = count {
            let total = format!(" 0/{count} (0%)");
            assert_eq!(
                done.stdout.matches(&total).count(),
                streams,
                "{}",
                done.stdout
            );
            assert!(server.prints(&total), "{words:?}");
        }
    }
}

#[test]
fn connections_alone_are_so_many_or_one_after_each_interval() {
    let (link, server) = (Link::new(), Iperf2Server::ours());
    // Counts of iperf 2.1.8.
    for (words, connections) in [
        ("--connect-only", 10),
        ("--connect-only -t 0.1", 10),
        ("--connect-only=3 -t 2", 3),
        ("--connect-only=3 -P 2", 6),
        ("--connect-only -i 0.1 -t 0.35", 4),
        ("--connect-only=2 -i 0.2 -t 0.6", 3),
        ("--connect-only -P 2 -i 0.1 -t 0.2", 4),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let done = link.run(&server, &words);
        let lines = done.stdout.lines();
        let opened = lines.filter(|line| line.contains(" connected with "));
        assert_eq!(opened.count(), connections, "{}", done.account());
    }
}

#[test]
fn data_that_starts_later_has_a_line_for_each_stream() {
    let (link, server) = (Link::new(), Iperf2Server::ours());
    let words = "-n 8K -l 8K -P 2 --txdelay-time";
    for (delay, lines, csv) in [("0.05", 2, ""), ("0", 0, ""), ("0.05", 0, " -y C")] {
        let words = format!("{words} {delay}{csv}");
        let words: Vec<&str> = words.split(' ').collect();
        let done = link.run(&server, &words);
        let said = done.stdout.lines();
        let said = said.filter(|line| line.contains("] Client traffic to start in 1 seconds at "));
        assert_eq!(said.count(), lines, "{}", done.account());
    }
}

#[test]
fn the_commands_of_the_manual_run_with_our_server() {
    commands_run(|_| Iperf2Server::ours());
}

#[test]
#[ignore = "nightly: the server of the original, which has races of its own"]
fn the_commands_of_the_manual_run_with_the_server_of_the_original() {
    if Iperf2Server::stock(&[]).is_some() {
        commands_run(|options| Iperf2Server::stock(options).expect("the original"));
    }
}

fn commands_run(server: impl Fn(&[&str]) -> Iperf2Server) {
    let manual = include_str!("../../../../docs/manual/src/iperf2.md");
    let commands = manual
        .lines()
        .filter_map(|line| line.strip_prefix("$ iperf -c server "));
    let link = Link::new();
    let mut ran = 0;
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let options: &[&str] = if words.contains(&"-u") { &["-u"] } else { &[] };
        // Less time than in the manual.
        let mut words = words.clone();
        words.extend(["-t", "0.2"]);
        let done = link.run(&server(options), &words);
        assert!(done.stdout.contains("[  1] 0.0000-"), "{}", done.stdout);
        ran += 1;
    }
    assert!(ran >= 3, "{ran}");
}

#[test]
fn netperf_itself_measures_to_servers_of_iperf_2() {
    let server = Iperf2Server::ours();
    let port = server.port().to_string();
    for (test, unit) in [
        (&["-t", "TCP_STREAM"][..], "sent"),
        (&["--reverse"], "received"),
        (&["--udp", "--rate", "10M"], "sent"),
    ] {
        let done = Invocation::new(&ours!().netperf)
            .args([
                "--iperf2",
                "-H",
                "127.0.0.1",
                "-p",
                &port,
                "-l",
                "0.5",
                "--json",
            ])
            .args(test)
            .run();
        assert!(done.status.success(), "{test:?}: {done:?}");
        let json: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
        let text = json.to_string();
        assert!(text.contains(unit), "{test:?}: {text}");
        assert!(done.stderr.is_empty(), "{test:?}: {}", done.stderr);
    }
    let refused = Invocation::new(&ours!().netperf)
        .args(["--iperf2", "-H", "127.0.0.1", "-p", &port, "-C"])
        .run();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("-C (--remote-cpu): not served with --iperf2"),
        "{refused:?}"
    );
}

#[test]
fn failures_have_the_lines_and_statuses_of_the_original() {
    let link = Link::new();
    let port = free_port().to_string();
    let run = |words: &[&str]| {
        let done = Invocation::new(&link.path())
            .args(words)
            .patience(Duration::from_secs(30))
            .run();
        (done.status.code(), done.stderr)
    };
    let (code, stderr) = run(&["-c", "127.0.0.1", "-p", &port]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(stderr, "tcp connect failed: Connection refused\n");
    let (code, stderr) = run(&["-c", "127.0.0.1", "-p", &port, "-u", "-n", "3000"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("did not receive ack of last datagram"),
        "{stderr}"
    );
    let (code, stderr) = run(&["-c", "nowhere.invalid"]);
    assert_eq!(
        (code, &*stderr),
        (Some(1), "nowhere.invalid: Unknown host\n")
    );
    let (code, stderr) = run(&["-c", "127.0.0.1", "--isochronous=10:1m,0"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.starts_with("iperf: option --isochronous is not supported"),
        "{stderr}"
    );
    let (code, stderr) = run(&["-v"]);
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("iperf version 2.1.8"), "{stderr}");
}

#[test]
fn datagrams_that_a_server_does_not_send_are_a_failure_with_its_reasons() {
    let link = Link::new();
    // As a server whose policy refuses to send: it does not answer.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("its address").port().to_string();
    for direction in ["-R", "--full-duplex"] {
        let done = Invocation::new(&link.path())
            .args(["-c", "127.0.0.1", "-p", &port, "-u", "-t", "1", direction])
            .patience(Duration::from_secs(60))
            .run()
            .expect_exit(1);
        let said = &done.stderr;
        assert_eq!(said.lines().count(), 1, "{}", done.account());
        let told = said.starts_with("iperf: no datagram of the server arrived: ");
        assert!(told && said.contains("--data-peers"), "{}", done.account());
    }
}

#[test]
fn options_of_the_send_queue_run_and_are_shown() {
    let (link, server) = (Link::new(), Iperf2Server::ours());
    let done = link.run(&server, &["--tcp-write-prefetch", "128K", "-n", "300K"]);
    for text in [
        "\nEvent based writes (pending queue watermark at 131072 bytes)\n",
        " (prefetch=131072) (sock=",
        "Write/Err",
    ] {
        assert!(done.stdout.contains(text), "{text}: {}", done.stdout);
    }
    let done = link.begin(&server, &["--near-congestion", "-n", "300K"]);
    assert!(done.status.success(), "{done:?}");
    let warning = "option --near-congestion has no effect";
    assert!(done.stderr.contains(warning), "{}", done.stderr);
    assert!(done.stdout.contains(" 0.0000-"), "{}", done.stdout);
}
