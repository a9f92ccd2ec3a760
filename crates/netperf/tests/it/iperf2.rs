//! iperf 2 beside netperf at netserver: Debian's iperf 2.1.8 as the client.

mod sources;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use netperf_iperf2::messages::WireTime;
use netperf_iperf2::states::client::udp_header;
use netperf_model::iperf2::{Iperf2Direction, Iperf2Plan};
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Scratch, TwoHosts, eventually, ours, process::signal,
    require, server::free_port,
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

#[test]
fn requests_of_a_stock_client_are_returned() {
    if !iperf() {
        return;
    }
    let served = ServedIperf2::start(&[]);
    let _done = served.iperf("127.0.0.1", &["--bounceback", "-t", "1"]);
    let record = &served.wait(1)[0];
    let [received, sent] = ["bytes_received", "bytes_sent"].map(|name| number(record, name));
    // On a busy host the time is over before all ten messages of the burst are sent.
    assert!(received > 0 && received == sent, "{record}");
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

#[test]
fn a_client_that_is_late_with_its_first_bytes_is_connected_back_to() {
    let served = ServedIperf2::start(&[]);
    let back = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = back.local_addr().expect("its address").port();
    let mut client = TcpStream::connect(("127.0.0.1", served.port)).expect("a connection");
    // The session of the connection has begun long before.
    sleep(Duration::from_millis(700));
    // A header of version 1: run now, one stream, the port, sizes, 0.1 s.
    let words: [i32; 6] = [i32::MIN + 1, 1, port.into(), 8192, 0, -10];
    let header: Vec<u8> = words.into_iter().flat_map(i32::to_be_bytes).collect();
    client.write_all(&header).expect("a header");
    client.write_all(&[b'0'; 8192]).expect("data");
    back.set_nonblocking(true).expect("an option");
    let connected = eventually(Duration::from_secs(20), || back.accept().is_ok());
    assert!(connected, "the server does not connect back");
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
    // Side by side: a client waits for most of its time.
    std::thread::scope(|scope| {
        for host in [("127.0.0.1", &[][..]), ("::1", &["-V"])] {
            for options in FLOWS {
                scope.spawn(move || measure_flows(host, options));
            }
        }
    });
}

/// Runs a client of datagrams and compares what it prints with the records of its flows.
fn measure_flows((host, families): (&str, &[&str]), options: &[&str]) {
    let served = ServedIperf2::start(&[]);
    let words = [&["-u"], options, families].concat();
    let done = served.iperf(host, &words);
    let streams = if options.contains(&"-P") { 8 } else { 1 };
    let records = served.wait(streams);
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
    assert_eq!(records.len(), streams, "{words:?}: {records:#?}");
    for record in records {
        assert_eq!(record["end"], "finished", "{words:?}: {record}");
        // Nothing arrives before the first datagram, and the time of a test is its least.
        let seconds = record["seconds"].as_f64().expect("a number");
        let least = if options.contains(&"-t") { 0.9 } else { 0.0 };
        assert!(seconds > least, "{words:?}: {record}");
    }
    if let Some(count) = sent_datagrams(text).filter(|_| reports == 1) {
        // The original prints one more than it sends.
        assert!(
            text.contains(&format!(" 0/{} ", count - 1)),
            "{words:?}: {text}"
        );
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
    let sent = eventually(Duration::from_secs(10), || {
        socket.send_to(&numbered(1), to).is_ok()
    });
    assert!(sent);
    let records = served.wait(1);
    assert_eq!(records[0]["end"], "silent", "{records:?}");
    assert!(served.server.alive());
}

/// A datagram of iperf 2 with this number and no header.
fn numbered(number: i64) -> [u8; 16] {
    let number = number.to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number[4..]);
    bytes[12..].copy_from_slice(&number[..4]);
    bytes
}

/// Sockets of an address that have sent these datagrams each.
fn flows(from: &str, count: usize, to: (&str, u16), datagrams: &[&[u8]]) -> Vec<UdpSocket> {
    let begun = (0..count).map(|_| {
        let socket = UdpSocket::bind((from, 0)).expect("a socket");
        for datagram in datagrams {
            socket.send_to(datagram, to).expect("a datagram");
        }
        socket
    });
    begun.collect()
}

/// A datagram of a client that asks for this.
fn asking(direction: Iperf2Direction, number: i64) -> Vec<u8> {
    let plan = Iperf2Plan {
        udp: true,
        direction,
        listen_port: Some(9),
        ..Iperf2Plan::default()
    };
    let mut bytes = numbered(number).to_vec();
    bytes.extend(udp_header(&plan, WireTime::from_micros(1)));
    bytes.resize(1470, 0);
    bytes
}

#[test]
fn threat_model_a_source_leaves_senders_of_datagrams_to_others() {
    let served = ServedIperf2::start(&["--max-threads", "8"]);
    let to = ("127.0.0.1", served.port);
    let asked: Vec<Vec<u8>> = (1..=5)
        .map(|number| asking(Iperf2Direction::FullDuplex, number))
        .collect();
    let asked: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
    let _held = flows("127.0.0.2", 20, to, &asked);
    let refused = eventually(Duration::from_secs(20), || {
        let sessions = served.sessions();
        let refused = sessions.iter().filter(|one| one["denied"] == "threads");
        refused.count() >= 16
    });
    assert!(refused, "{:#?}", served.sessions());
    let other = flows("127.0.0.3", 1, to, &asked);
    let limit = Some(Duration::from_secs(20));
    other[0].set_read_timeout(limit).expect("a limit");
    let got = other[0].recv(&mut [0; 2000]);
    assert!(got.is_ok(), "{got:?}: {:#?}", served.sessions());
}

#[test]
fn threat_model_limits_of_sources_and_rates_hold_for_flows_of_datagrams() {
    for options in [
        &["--max-session-rate", "1,1000"][..],
        &["--max-peer-sessions", "10"],
    ] {
        // Addresses of an IPv6 link are one source.
        let served = ServedIperf2::start(options);
        let to = ("127.0.0.1", served.port);
        let begun = [&numbered(1)[..], &numbered(2)];
        let _own = flows("127.0.0.2", 30, to, &begun);
        let denied = eventually(Duration::from_secs(20), || {
            let sessions = served.sessions();
            sessions.iter().filter(|one| one["refused"] == 1).count() >= 20
        });
        assert!(denied, "{options:?}: {:#?}", served.sessions());
        let other = [&numbered(1)[..], &numbered(2), &numbered(-3)];
        let _other = flows("127.0.0.3", 1, to, &other);
        let finished = eventually(Duration::from_secs(20), || {
            let sessions = served.sessions();
            let mut own = sessions.iter();
            own.any(|one| {
                let peer = one["peer"].as_str().unwrap_or_default();
                peer.starts_with("127.0.0.3") && one["end"] == "finished"
            })
        });
        assert!(finished, "{options:?}: {:#?}", served.sessions());
    }
}

#[test]
fn flows_that_a_reload_or_the_end_of_netserver_ends_are_logged() {
    for name in ["HUP", "TERM"] {
        let served = ServedIperf2::start(&[]);
        let to = ("127.0.0.1", served.port);
        let _begun = flows("127.0.0.1", 5, to, &[&numbered(1), &numbered(2)]);
        // Flows that end tell that all datagrams before them have been read.
        let _last = flows(
            "127.0.0.1",
            1,
            to,
            &[&numbered(1), &numbered(2), &numbered(-3)],
        );
        served.wait(1);
        signal(served.server.pid(), name);
        let records = served.wait(6);
        let drained = records.iter().filter(|one| one["end"] == "drained");
        let drained: Vec<_> = drained.collect();
        assert_eq!(drained.len(), 5, "{name}: {records:#?}");
        assert!(drained.iter().all(|one| one["bytes_received"] == 32));
        if name == "HUP" {
            let _next = flows(
                "127.0.0.1",
                1,
                to,
                &[&numbered(1), &numbered(2), &numbered(-3)],
            );
            served.wait(7);
        }
    }
}

#[test]
fn threat_model_a_header_that_comes_byte_by_byte_ends_in_its_time() {
    let served = ServedIperf2::start(&["--log-level", "debug"]);
    let mut client = TcpStream::connect(("127.0.0.1", served.port)).expect("a connection");
    // A header of 120 bytes, each of which comes in time.
    let mut header = [0; 120];
    header[..4].copy_from_slice(&0x4001_0078_u32.to_be_bytes());
    let (word, rest) = header.split_at(4);
    client.write_all(word).expect("a word");
    let mut bytes = rest.iter();
    let ended = eventually(Duration::from_secs(60), || {
        std::thread::sleep(Duration::from_millis(700));
        let byte = bytes.next().expect("the header has a time limit");
        client.write_all(&[*byte]).is_err() || !served.sessions().is_empty()
    });
    assert!(ended);
    let records = served.wait(1);
    assert_eq!(records[0]["end"], "silent", "{records:?}");
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
        line.contains("iperf2 clients have a process each: leave out -f"),
        "{line}"
    );
    let without = "iperf2 clients have neither key nor passphrase: leave out --iperf2";
    for credential in [["-Z", "secret"], ["--require", "key"]] {
        let line = refusal(&["-D", credential[0], credential[1], "--iperf2", "5001"]);
        assert!(line.contains(without), "{line}");
    }
}

#[test]
fn threat_model_a_credential_that_a_reload_adds_is_refused_while_iperf_ports_are_open() {
    let scratch = Scratch::new();
    let [config, log, key] = ["netserver.toml", "log", "key"].map(|name| scratch.path().join(name));
    let write = |file: &Path, text: &str| {
        std::fs::write(file, text).expect("space");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(file, mode).expect("own file");
    };
    write(&key, "0123456789abcdef0123456789abcdef\n");
    write(&config, &format!("iperf2 = \"{}\"\n", free_port()));
    let name = |path: &Path| path.display().to_string();
    let words = ["-D", "--config", &name(&config), "--log-file", &name(&log)];
    let server = Netserver::start_with(&ours!(), &Place::Here, &words, &[]);
    // Neither file has the port, which is open.
    let credentials = [
        "passphrase = \"secret\"\n".to_owned(),
        format!("key-file = \"{}\"\n", name(&key)),
    ];
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    let refusals = || {
        said()
            .matches("iperf2 clients have neither key nor passphrase")
            .count()
    };
    for (before, text) in credentials.iter().enumerate() {
        write(&config, text);
        signal(server.pid(), "HUP");
        let refused = eventually(Duration::from_secs(20), || refusals() > before);
        assert!(refused, "{}", said());
    }
    assert!(!said().contains("reloaded"), "{}", said());
}
