//! `iperf -s`: our server called as iperf against the original's, with the original's client.

use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::recorded_lines;
use netperf_testkit::{
    Finished, Invocation, Running, Scratch, Stopwatch, eventually, ours, procfs, require,
    server::{free_port, on_free_port},
};

/// Longest time of a command.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Debian's iperf. `None`, after saying so, when the test is to be skipped.
pub(super) fn stock() -> Option<PathBuf> {
    let path = Path::new("/usr/bin/iperf");
    let how = "apt-get install -y --no-install-recommends iperf";
    require::require(path.exists(), "iperf 2.1.8", how).then(|| path.to_owned())
}

/// Our netperf under the name iperf.
pub(super) fn link(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("iperf");
    symlink(ours!().netperf, &path).expect("a link");
    path
}

/// A server by name, and its output.
pub(super) struct Served {
    pub(super) port: u16,
    pub(super) running: Running,
}

impl Served {
    /// Starts a server. Another process may take the free port first, so a few are tried.
    pub(super) fn start(program: &Path, options: &[&str]) -> Self {
        let started = on_free_port(|port| {
            let mut running = Invocation::new(Path::new("/usr/bin/stdbuf"))
                .arg("-oL")
                .arg(program)
                .args(["-s", "-p", &port.to_string()])
                .args(options)
                .patience(PATIENCE)
                .spawn();
            listens(&mut running, port, options).then_some(Self { port, running })
        });
        started.unwrap_or_else(|| panic!("{} -s {options:?} did not start", program.display()))
    }

    pub(super) fn client(&self, program: &Path, options: &[&str]) -> Finished {
        let host = if options.contains(&"-V") {
            "::1"
        } else {
            "127.0.0.1"
        };
        Invocation::new(program)
            .args(["-c", host, "-p", &self.port.to_string()])
            .args(options)
            .patience(PATIENCE)
            .run()
    }

    pub(super) fn interrupt(self) -> Finished {
        self.running.signal("INT");
        self.running.finish()
    }
}

/// Waits until a server listens. Returns false if it has ended.
fn listens(running: &mut Running, port: u16, options: &[&str]) -> bool {
    if !options.contains(&"-y") {
        return running.prints("Server listening", PATIENCE);
    }
    // Nothing is printed before the first test.
    let is_udp = options.contains(&"-u");
    eventually(PATIENCE, || {
        running.ended() || procfs::is_bound(port, is_udp)
    });
    !running.ended()
}

/// Words in which the times behind these options are divided.
pub(super) fn with_part_of(words: Vec<String>, options: &[&str], by: f64) -> Vec<String> {
    let mut is_time = false;
    let part = |word: String| {
        let was_time = std::mem::replace(&mut is_time, options.contains(&word.as_str()));
        match word.parse::<f64>() {
            Ok(seconds) if was_time => (seconds / by).to_string(),
            _ => word,
        }
    };
    words.into_iter().map(part).collect()
}

/// The distinct lines, which threads print in any order, masked, without those that contain one of
/// these texts.
pub(crate) fn distinct(text: &str, left_out: &[&str]) -> Vec<String> {
    let is_kept = |line: &&str| !line.is_empty() && !left_out.iter().any(|one| line.contains(one));
    let mut lines: Vec<String> = text.lines().filter(is_kept).map(masked).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Replaces figures by N and prefixes of units by nothing.
pub(super) fn masked(line: &str) -> String {
    if line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(',') {
        let fields = line.split(',').count();
        return format!("CSV of {fields}");
    }
    let words = line.split_whitespace().map(masked_word);
    words.collect::<Vec<_>>().join(" ")
}

fn masked_word(word: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_unit = ["Bytes", "Byte", "bits/sec", "Bytes/sec"]
        .into_iter()
        .find(|unit| word.ends_with(unit) && word.len() <= unit.len() + 1);
    if let Some(unit) = is_unit {
        return unit.to_owned();
    }
    match (word.starts_with(is_digit), word.matches(':').count()) {
        // Reads by their size, and the time of day.
        (true, 7) => "DIST".to_owned(),
        (true, 2) => "T".to_owned(),
        (true, 0) => "N".to_owned(),
        _ => match word.split_once('=') {
            Some((name @ ("(icwnd/mss/irtt" | "(sock" | "(ct"), _)) => name.to_owned(),
            _ if word
                .strip_prefix('(')
                .is_some_and(|rest| rest.starts_with(is_digit)) =>
            {
                "(N)".to_owned()
            }
            _ => word.to_owned(),
        },
    }
}

/// The lines in the order of their streams, which threads may change, without what depends on the
/// moment: a row of the rest of an interval, and sizes of buffers.
fn lines(text: &str) -> Vec<String> {
    let kept = text.lines().filter(|line| {
        let is_whole = line.contains("] 0.0000-") || line.contains(".0000 sec ");
        is_whole || !line.contains(" sec ")
    });
    let mut kept: Vec<String> = kept.map(masked).collect();
    let is_size = |line: &String| line.contains("window size:") || line.contains("Read buffer");
    kept.retain(|line| !is_size(line) && !line.is_empty());
    kept.sort_unstable();
    kept
}

/// Options of the server and of the client. A test is a little longer than its intervals, so that a
/// busy machine changes no number of rows.
const SHAPES: [Shape; 30] = [
    (&["-P", "1"], &["-n", "256K"]),
    (
        &["-P", "1", "-i", "1"],
        &["-t", "2.5", "-b", "8m", "-l", "8K"],
    ),
    (&["-P", "1", "-f", "k"], &["-n", "256K", "-w", "64K"]),
    (
        &["-P", "2"],
        &["-P", "2", "-t", "1", "-b", "8m", "-l", "8K"],
    ),
    (&["-P", "1"], &["-n", "256K", "-R"]),
    (
        &["-P", "1"],
        &["-t", "1", "-b", "8m", "-l", "8K", "--full-duplex"],
    ),
    (&["-P", "1", "-y", "C"], &["-n", "256K"]),
    (&["-P", "1", "-1"], &["-n", "256K", "-C"]),
    (&["-P", "1", "-V"], &["-n", "256K", "-V"]),
    (&["-P", "1"], &["-n", "256K", "-S", "0x10"]),
    (
        &["-P", "1", "-B", "127.0.0.1", "-w", "64K"],
        &["-n", "256K"],
    ),
    (&["-P", "1", "-u"], &["-u", "-t", "1", "-b", "1m"]),
    (
        &["-P", "1", "-u", "-i", "1"],
        &["-u", "-t", "2.5", "-b", "1m", "-l", "500"],
    ),
    (&["-P", "1", "-u"], &["-u", "-t", "1", "-b", "1m", "-R"]),
    (
        &["-P", "1", "-u", "-y", "C"],
        &["-u", "-t", "1", "-b", "1m"],
    ),
    (
        &["-P", "1", "-u"],
        &["-u", "-t", "1", "-b", "1m", "--full-duplex"],
    ),
    (
        &["-P", "1", "-u", "--sum-only"],
        &["-u", "-t", "1", "-b", "1m"],
    ),
    (
        &["-P", "1", "-e", "-i", "1"],
        &["-t", "2.5", "-b", "8m", "-l", "8K"],
    ),
    (
        &["-P", "2", "-e"],
        &["-P", "2", "-t", "1", "-b", "8m", "-l", "8K"],
    ),
    (&["-P", "1", "-e", "-B", "127.0.0.1"], &["-n", "256K", "-R"]),
    (&["-P", "1", "-e", "--sum-only"], &["-n", "256K"]),
    (
        &["-P", "1", "-e"],
        &["-t", "1", "-b", "8m", "-l", "8K", "--full-duplex"],
    ),
    (
        &["-P", "1", "-u", "-e"],
        &["-u", "-t", "1", "-b", "1m", "--full-duplex"],
    ),
    (&["-P", "1", "-e", "-y", "C"], &["-n", "256K"]),
    (
        &["-P", "1", "-u", "-e", "-i", "1"],
        &["-u", "-t", "2.5", "-b", "1m", "-l", "500"],
    ),
    (
        &["-P", "1", "-u", "-e"],
        &["-u", "-t", "1", "-b", "1m", "-R"],
    ),
    (
        &["-P", "1"],
        &["-t", "1", "-b", "8m", "-l", "8K", "--trip-times"],
    ),
    (
        &["-P", "1", "-e"],
        &["-t", "1", "-b", "8m", "-l", "8K", "--trip-times", "-R"],
    ),
    (
        &["-P", "1", "-i", "1"],
        &["-t", "2.6", "-b", "8m", "-l", "8K", "--trip-times", "-R"],
    ),
    (
        &["-P", "1", "-i", "1"],
        &[
            "-t",
            "2.6",
            "-b",
            "8m",
            "-l",
            "8K",
            "--trip-times",
            "--full-duplex",
        ],
    ),
];

type Shape = (&'static [&'static str], &'static [&'static str]);

/// Differences of the lines of a server, with this client, from those of the original.
fn differences_of(server: &Path, client: &Path) -> Vec<String> {
    let key = |(of_server, options): &Shape| [*of_server, &["|"], *options].concat().join(" ");
    recorded_lines::differences("iperf2 server", &SHAPES, key, |(of_server, options)| {
        let served = Served::start(server, of_server);
        let client = served.client(client, options);
        assert_eq!(client.status.code(), Some(0), "{}", client.account());
        let finished = served.running.finish();
        assert_eq!(finished.status.code(), Some(0), "{}", finished.account());
        (lines(&finished.stdout), finished.account())
    })
}

#[test]
fn lines_of_a_server_are_those_of_the_original() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    recorded_lines::expect_at_most(0, &differences_of(&own, &own));
}

// Tolerance: three of the thirty cases may differ. The original loses parallel streams and the
// answer to a final datagram now and then.
#[test]
#[ignore = "nightly: the original, which has races of its own, on a machine that is not busy"]
fn lines_of_a_server_are_those_of_the_original_that_runs() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for server in [&stock, &own] {
        recorded_lines::expect_at_most(3, &differences_of(server, &stock));
    }
}

#[test]
fn counts_of_both_ends_agree() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for client in [&stock, &own] {
        let mut tcp = Served::start(&own, &["-f", "B"]);
        for _ in 0..2 {
            // The header counts.
            let sent = tcp.client(client, &["-n", "300K"]);
            assert_eq!(sent.status.code(), Some(0), "{}", sent.account());
        }
        assert!(tcp.running.prints("[  2] 0.0000", PATIENCE));
        let tcp = tcp.interrupt();
        assert_eq!(tcp.status.code(), Some(0), "{}", tcp.account());
        let rows = tcp.stdout.matches("307200 Bytes").count();
        assert_eq!(rows, 2, "{}", tcp.account());

        let udp = Served::start(&own, &["-u", "-P", "2", "-f", "B"]);
        let sent = udp.client(client, &["-u", "-n", "14700", "-P", "2", "-f", "B"]);
        assert_eq!(sent.status.code(), Some(0), "{}", sent.account());
        assert_eq!(sent.stdout.matches("Server Report").count(), 2);
        let udp = udp.running.finish();
        // Ten datagrams and the final one of each flow.
        let rows = udp.stdout.matches("16170 Bytes").count();
        assert_eq!(rows, 2, "{}", udp.account());
        assert!(udp.stdout.contains("[SUM]"), "{}", udp.account());

        for (way, directions) in [("-R", 1), ("--full-duplex", 2)] {
            let udp = Served::start(&own, &["-u", "-P", "1", "-f", "B"]);
            let options = [
                "-u", "-n", "8000", "-l", "800", "-b", "400k", "-f", "B", way,
            ];
            let sent = udp.client(client, &options);
            assert_eq!(sent.status.code(), Some(0), "{}", sent.account());
            // Ten datagrams and the final one of each direction.
            let rows = |text: &str| text.matches(" 8800 Bytes").count();
            let udp = udp.running.finish();
            assert_eq!(rows(&sent.stdout), directions, "{}", sent.account());
            assert_eq!(rows(&udp.stdout), directions, "{}", udp.account());
        }
    }
}

#[test]
fn tests_in_both_directions_have_lines_of_their_own() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let back = free_port().to_string();
    for way in ["-d", "-r"] {
        let served = Served::start(&own, &["-P", "1"]);
        let options = ["-t", "1", "-b", "8m", "-l", "8K", way, "-L", &back];
        let client = served.client(&stock, &options);
        assert_eq!(client.status.code(), Some(0), "{}", client.account());
        let finished = served.running.finish();
        let text = &finished.stdout;
        let head = format!("Client connecting to 127.0.0.1, TCP port {back}\n");
        assert!(text.contains(&head), "{}", finished.account());
        assert!(text.contains("[  1] 0.0000-"), "{}", finished.account());
        assert!(text.contains("[ *2] 0.0000-"), "{}", finished.account());
        assert_eq!(
            text.contains("[SUM]"),
            way == "-d",
            "{}",
            finished.account()
        );
    }
}

#[test]
fn requests_are_returned_to_a_client_of_the_original() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for (options, size, remark) in [
        (&[][..], 100, " (bb w/quickack len/hold=100/0) ("),
        (
            &["-l", "64K"],
            65_536,
            " (bb w/quickack len/hold=65536/0) (",
        ),
        (
            &["--bounceback-hold", "1", "--bounceback-no-quickack"],
            100,
            " (bb len/hold=100/1000) (",
        ),
        (
            &["--trip-times"],
            100,
            " (bb w/quickack len/hold=100/0) (trip-times) (",
        ),
    ] {
        let served = Served::start(&own, &["-P", "1", "-f", "B"]);
        let words = [&["--bounceback", "-t", "1"], options].concat();
        let client = served.client(&stock, &words);
        assert_eq!(client.status.code(), Some(0), "{}", client.account());
        let finished = served.running.finish();
        let text = &finished.stdout;
        assert!(text.contains(remark), "{}", finished.account());
        // Whole messages.
        let row = text.lines().rfind(|line| line.contains(" 0.0000-"));
        let amount = row.and_then(|row| row.split_whitespace().nth(4)?.parse::<u64>().ok());
        let is_whole = |amount: u64| amount > 0 && amount % size == 0;
        assert!(amount.is_some_and(is_whole), "{}", finished.account());
        assert!(client.stdout.contains("BB cnt="), "{}", client.account());
    }
}

#[test]
fn a_server_in_the_background_says_so_on_standard_error() {
    let scratch = Scratch::new();
    let port = free_port().to_string();
    // It ends itself.
    let started = Invocation::new(&link(&scratch))
        .args(["-s", "-D", "-t", "1", "-p", &port])
        .patience(PATIENCE)
        .run()
        .expect_exit(0);
    assert_eq!(started.stderr, "Running Iperf Server as a daemon\n");
    assert!(!started.stdout.contains("daemon"), "{}", started.account());
}

#[test]
fn a_server_ends_when_it_should() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let mut limited = Served::start(&own, &["-t", "1"]);
    let mut idle = Served::start(&own, &["-u", "-t", "1"]);
    assert!(eventually(PATIENCE, || limited.running.ended()));
    assert!(eventually(PATIENCE, || idle.running.ended()));
    let served = Served::start(&own, &[]);
    // A connection that is opened and closed, and one of which the user stops the client.
    let connection = std::net::TcpStream::connect(format!("127.0.0.1:{}", served.port));
    drop(connection.expect("a connection"));
    let second = Invocation::new(&own)
        .args(["-s", "-p", &served.port.to_string()])
        .patience(PATIENCE)
        .run();
    assert_eq!(second.status.code(), Some(0));
    assert_eq!(
        second.stderr,
        "listener bind failed: Address already in use\n"
    );
    let finished = served.interrupt();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.account());
    assert!(finished.stderr.is_empty(), "{}", finished.account());
}

/// A datagram with a number and a time that begins no test in the other direction.
const DATAGRAM: [u8; 16] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
#[ignore = "nightly: 500 flows have to begin beside other tests"]
fn threat_model_refused_datagrams_print_a_limited_number_of_lines() {
    /// Flows of a network, of 1000 in all.
    const MOST: usize = 500;
    /// Lines of refusals in an interval of ten seconds.
    const MOST_LINES: usize = 100;
    let scratch = Scratch::new();
    let served = Served::start(&link(&scratch), &["-u", "-x", "CD"]);
    let server = format!("127.0.0.1:{}", served.port);
    let socket = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let flows: Vec<UdpSocket> = (0..MOST).map(|_| socket()).collect();
    let send = |from: &UdpSocket| {
        let sent = from.send_to(&DATAGRAM, &server);
        sent.expect("sent");
    };
    // A flow counts from its second datagram on. On a busy machine some are lost, so that each is
    // sent again, a few at a time.
    let mut some = flows.chunks(50).cycle();
    // One source is refused a few times a second.
    let further: Vec<UdpSocket> = (0..MOST_LINES + 20).map(|_| socket()).collect();
    let since = Stopwatch::start();
    // The rest is told when the interval of the limit is over.
    let tells_rest = || {
        let flows = some.next().expect("flows");
        flows.iter().for_each(&send);
        further
            .iter()
            .for_each(|from| (0..2).for_each(|_| send(from)));
        served
            .running
            .stderr()
            .contains(" further flows were refused\n")
    };
    // 500 flows take a busy machine a while.
    assert!(eventually(3 * PATIENCE, tells_rest));
    let said = served.running.stderr();
    let refused = |line: &&str| line.starts_with("iperf: 127.0.0.1:");
    let lines = said.lines().filter(refused).count();
    let intervals = usize::try_from(since.elapsed().as_secs() / 10).expect("a number") + 1;
    assert!(
        (1..=MOST_LINES * intervals).contains(&lines),
        "{lines} lines: {said}"
    );
    served.interrupt();
}

#[test]
fn threat_model_a_server_that_is_stopped_does_not_wait_for_a_header() {
    let scratch = Scratch::new();
    let mut served = Served::start(&link(&scratch), &[]);
    let server = format!("127.0.0.1:{}", served.port);
    let mut incomplete = TcpStream::connect(&server).expect("a connection");
    incomplete.write_all(&[0x10]).expect("sent");
    // Another client is served, so the first one has a thread.
    let mut complete = TcpStream::connect(&server).expect("a connection");
    complete.write_all(b"0123456789").expect("sent");
    drop(complete);
    assert!(served.running.prints("10.0 Bytes", PATIENCE));
    served.running.signal("INT");
    // The time limit of a header is 10 s: the end must not be that of this limit.
    let since = Stopwatch::start();
    let finished = served.running.finish();
    assert!(since.elapsed() < Duration::from_secs(8));
    assert_eq!(finished.status.code(), Some(0), "{}", finished.account());
    drop(incomplete);
}
