//! iperf 2 beside netperf at netserver: Debian's iperf 2.1.8 as the client.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Scratch, TwoHosts, eventually, ours, require,
    server::free_port,
};

const IPERF: &str = "/usr/bin/iperf";

/// True if Debian's iperf is here.
fn iperf() -> bool {
    let how = "apt-get install -y --no-install-recommends iperf";
    require::require(Path::new(IPERF).exists(), "iperf 2.1.8", how)
}

/// A netserver that serves iperf 2, too; its port and the log.
struct ServedIperf2 {
    server: Netserver,
    port: u16,
    log: std::path::PathBuf,
    _scratch: Scratch,
}

impl ServedIperf2 {
    fn start(options: &[&str]) -> Self {
        let scratch = Scratch::new();
        let log = scratch.path().join("log");
        let port = free_port();
        let (number, file) = (port.to_string(), log.display().to_string());
        let mut words = vec![
            "-D",
            "--iperf2",
            &number,
            "--log-file",
            &file,
            "--log",
            "json",
        ];
        words.extend(options);
        let server = Netserver::start_with(&ours!(), &Place::Here, &words, &[]);
        Self {
            server,
            port,
            log,
            _scratch: scratch,
        }
    }

    /// Runs iperf against it.
    fn iperf(&self, host: &str, words: &[&str]) -> Finished {
        let done = Invocation::new(Path::new(IPERF))
            .args(["-c", host, "-p", &self.port.to_string()])
            .args(words)
            .patience(Duration::from_secs(60))
            .run();
        assert!(done.status.success(), "{words:?}: {done:?}");
        done
    }

    /// The records of sessions so far.
    fn sessions(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines
            .filter(|line: &serde_json::Value| line["event"] == "session")
            .collect()
    }

    /// Waits for so many records.
    fn wait(&self, count: usize) -> Vec<serde_json::Value> {
        let there = eventually(Duration::from_secs(30), || self.sessions().len() >= count);
        let sessions = self.sessions();
        assert!(there, "{count} expected: {sessions:#?}");
        sessions
    }
}

fn number(record: &serde_json::Value, name: &str) -> u64 {
    record[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: {record}"))
}

/// The line of iperf's CSV with the result of a receiver or sender.
fn csv(done: &Finished) -> Vec<Vec<String>> {
    let lines = done.stdout.lines();
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    lines.map(fields).collect()
}

/// Options of a connection, and which directions there are.
const STREAMS: [(&[&str], bool, bool); 10] = [
    (&["-n", "300K"], true, false),
    (&["-n", "300K", "-P", "8"], true, false),
    (&["-t", "1", "-b", "8m", "-l", "8K"], true, false),
    (&["-X", "-n", "100K"], true, false),
    (&["-C", "-n", "100K"], true, false),
    (&["--trip-times", "-n", "300K"], true, false),
    (&["-n", "300K", "-R"], false, true),
    (
        &["-t", "1", "-b", "8m", "-l", "8K", "-R", "-P", "8"],
        false,
        true,
    ),
    (
        &["-t", "1", "-b", "8m", "-l", "8K", "--full-duplex"],
        true,
        true,
    ),
    (
        &[
            "-t", "1", "-l", "16000", "-w", "64000", "-N", "-i", "1", "-b", "8m",
        ],
        true,
        false,
    ),
];

#[test]
fn a_stock_client_measures_tcp_and_both_ends_count_the_same_bytes() {
    if !iperf() {
        return;
    }
    for (host, families) in [("127.0.0.1", &[][..]), ("::1", &["-V"])] {
        let served = ServedIperf2::start(&[]);
        let mut expected = 0;
        for (options, receives, sends) in STREAMS {
            let words = [options, families, &["-y", "C"]].concat();
            let done = served.iperf(host, &words);
            let streams = if options.contains(&"8") { 8 } else { 1 };
            expected += streams;
            let records = served.wait(expected);
            let records = &records[expected - streams..];
            let both = usize::from(receives) + usize::from(sends);
            let rows = csv(&done);
            // Rows of intervals precede the final ones.
            let rows = rows.iter().rev().take(streams);
            let counted: u64 = rows.map(|row| row[7].parse::<u64>().expect("bytes")).sum();
            let total = |name| records.iter().map(|one| number(one, name)).sum::<u64>();
            let (received, sent) = (total("bytes_received"), total("bytes_sent"));
            assert_eq!((received > 0, sent > 0), (receives, sends), "{words:?}");
            if both == 1 {
                assert_eq!(received + sent, counted, "{words:?}: {records:#?}");
            }
            for record in records {
                assert_eq!(record["end"], "finished", "{words:?}: {record}");
            }
        }
    }
}

#[test]
fn threat_model_a_stock_client_is_connected_back_to() {
    if !iperf() {
        return;
    }
    let served = ServedIperf2::start(&[]);
    for (at, (kind, tests)) in [("-d", 1), ("-r", 2)].into_iter().enumerate() {
        let back = free_port().to_string();
        let words = [kind, "-L", &back, "-t", "1", "-b", "8m", "-l", "8K"];
        let done = served.iperf("127.0.0.1", &words);
        let rows = done.stdout.lines().filter(|line| line.contains("0.0000-"));
        assert_eq!(rows.count(), 2, "{}", done.stdout);
        assert!(done.stderr.is_empty(), "{}", done.stderr);
        let record = &served.wait(at + 1)[at];
        assert_eq!(number(record, "tests"), tests, "{record}");
        assert!(number(record, "bytes_sent") > 0, "{record}");
        assert!(number(record, "bytes_received") > 0, "{record}");
    }
}

/// Options of a flow: its name and the datagrams that the server reports, if it does.
const FLOWS: [&[&str]; 9] = [
    &["-n", "15000"],
    &["-n", "15000", "-b", "2m", "-P", "8"],
    &["-t", "1", "-b", "50pps"],
    &["-l", "16", "-n", "160", "-b", "10k"],
    &["-C", "-n", "6000"],
    &["--trip-times", "-n", "6000"],
    &["-t", "1", "-b", "10m", "-l", "1470", "-i", "1"],
    &["-t", "1", "-b", "500k", "-R"],
    &["-t", "1", "-b", "500k", "--full-duplex"],
];

#[test]
fn a_stock_client_measures_udp_and_both_ends_count_the_same_datagrams() {
    if !iperf() {
        return;
    }
    for (host, families) in [("127.0.0.1", &[][..]), ("::1", &["-V"])] {
        let served = ServedIperf2::start(&[]);
        let mut expected = 0;
        for options in FLOWS {
            let words = [&["-u"], options, families].concat();
            let done = served.iperf(host, &words);
            let streams = if options.contains(&"-P") { 8 } else { 1 };
            expected += streams;
            let records = served.wait(expected);
            let records = &records[expected - streams..];
            let text = &done.stdout;
            assert!(done.stderr.is_empty(), "{words:?}: {}", done.stderr);
            let lines = |part: &str| text.lines().filter(|line| line.contains(part)).count();
            let two_way = options.contains(&"-R") || options.contains(&"--full-duplex");
            let reports = if two_way { 0 } else { streams };
            assert_eq!(lines("Server Report"), reports, "{words:?}: {text}");
            assert_eq!(
                lines(" 0/"),
                reports + usize::from(two_way),
                "{words:?}: {text}"
            );
            for record in records {
                assert_eq!(record["end"], "finished", "{words:?}: {record}");
            }
            if let Some(count) = sent_datagrams(text).filter(|_| reports == 1) {
                // The original prints one more than it sends.
                assert!(
                    text.contains(&format!(" 0/{} ", count - 1)),
                    "{words:?}: {text}"
                );
            }
        }
    }
}

/// Number in `Sent N datagrams` of the first stream.
fn sent_datagrams(text: &str) -> Option<u64> {
    let (_, behind) = text.split_once("Sent ")?;
    behind.split(' ').next()?.parse().ok()
}

#[test]
fn threat_model_a_client_that_vanishes_frees_its_seat() {
    let served = ServedIperf2::start(&["--max-peer-sessions", "1"]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = ("127.0.0.1", served.port);
    let datagram = |number: u32| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    let sent = eventually(Duration::from_secs(10), || {
        socket.send_to(&datagram(1), to).is_ok()
    });
    assert!(sent);
    let records = served.wait(1);
    assert_eq!(records[0]["end"], "silent", "{records:?}");
    assert!(served.server.alive());
}

#[test]
fn threat_model_a_source_that_proves_nothing_gets_no_more_than_it_sent() {
    let served = ServedIperf2::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a limit");
    let to = ("127.0.0.1", served.port);
    let stamp = |number: i64| {
        let number = number.to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number[4..]);
        bytes[12..].copy_from_slice(&number[..4]);
        bytes
    };
    // A final datagram of an unknown source has no answer, and 32 bytes are less than a report.
    for number in [-2, 1, -2] {
        socket.send_to(&stamp(number), to).expect("a datagram");
    }
    let mut answer = [0; 2048];
    let early = socket.recv(&mut answer);
    assert!(early.is_err(), "{early:?}");
    let mut sent = 48;
    let report = (3..30).find_map(|number| {
        socket.send_to(&stamp(-number), to).expect("a datagram");
        sent += 16;
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .expect("a limit");
        socket.recv(&mut answer).ok()
    });
    assert!(
        report.is_some_and(|length| length <= sent),
        "{report:?} after {sent}"
    );
}

#[test]
fn threat_model_datagrams_in_reverse_go_only_to_permitted_networks_netns() {
    if !iperf() || !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    for (peers, is_permitted) in [
        ("same", false),
        (&*format!("{}/32", TwoHosts::CLIENT_V4), true),
    ] {
        let port = free_port().to_string();
        let words = ["-D", "--iperf2", &port, "--data-peers", peers];
        let _server = Netserver::start_with(&ours!(), &hosts.server(), &words, &[]);
        let done = Invocation::new(Path::new(IPERF))
            .args([
                "-c",
                TwoHosts::SERVER_V4,
                "-p",
                &port,
                "-u",
                "-R",
                "-t",
                "1",
                "-b",
                "500k",
            ])
            .within(&hosts.client())
            .patience(Duration::from_secs(60));
        let running = done.spawn();
        let row = |running: &netperf_testkit::Running| running.stdout().contains(" 0/4");
        let seconds = if is_permitted { 30 } else { 3 };
        let got = eventually(Duration::from_secs(seconds), || row(&running));
        assert_eq!(got, is_permitted, "{peers}: {}", running.stdout());
    }
}

#[test]
fn threat_model_absurd_headers_end_their_connection_only() {
    let served = ServedIperf2::start(&[]);
    let address = ("127.0.0.1", served.port);
    for word in [0x4001_fffe_u32, 0x4001_0000] {
        let mut client = TcpStream::connect(address).expect("a connection");
        let mut bytes = [0x30; 1024];
        bytes[..4].copy_from_slice(&word.to_be_bytes());
        client.write_all(&bytes).expect("a header");
        client
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a limit");
        let mut rest = Vec::new();
        // The end, or a reset because of unread bytes.
        let _end = client.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{rest:?}");
    }
    let records = served.wait(2);
    assert!(
        records.iter().all(|one| one["refused"] == 1),
        "{records:#?}"
    );
    // A header that is not complete ends its own connection within the time limit of headers.
    let mut half = TcpStream::connect(address).expect("a connection");
    half.write_all(&0x4001_0078_u32.to_be_bytes())
        .expect("a word");
    let mut other = TcpStream::connect(address).expect("a connection");
    other.write_all(&[0x30; 100]).expect("payload");
    drop(other);
    let records = served.wait(3);
    assert_eq!(records[2]["bytes_received"], 100, "{records:#?}");
    drop(half);
}

#[test]
fn options_that_exclude_each_other_are_refused_in_a_line() {
    let refusal = |words: &[&str]| {
        let done = Invocation::new(&ours!().netserver).args(words).run();
        assert!(!done.status.success(), "{done:?}");
        format!("{}{}", done.stdout, done.stderr)
    };
    let line = refusal(&["-D", "-f", "--iperf2", "1"]);
    assert!(
        line.contains("--iperf2 1: each iperf 2 client has a process: leave out -f"),
        "{line}"
    );
    let line = refusal(&["-D", "-Z", "secret", "--iperf2", "5001"]);
    assert!(line.contains("have neither key nor passphrase"), "{line}");
}
