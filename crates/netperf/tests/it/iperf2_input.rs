//! The client of iperf 2 with `-F` and `-I`: data of a file, a pipe or standard input.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use netperf_testkit::{Finished, Invocation, Scratch};

use super::iperf2_served::{PATIENCE, Served, link, stock};

/// Bytes of the header in front of the data.
const HEADER: usize = 60;

/// Contents whose order shows. Servers read the zeros at their start as a header without flags.
fn contents(bytes: usize) -> Vec<u8> {
    let numbers = (0_u32..).flat_map(u32::to_be_bytes);
    numbers.take(bytes).collect()
}

/// Accepts connections and returns the data of each.
fn sink(connections: usize) -> (String, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let receive = |connection: std::io::Result<std::net::TcpStream>| {
        let mut all = Vec::new();
        let mut connection = connection.expect("a connection");
        connection.read_to_end(&mut all).expect("data");
        all
    };
    let accept = move || {
        let connections: Vec<_> = listener.incoming().take(connections).collect();
        connections.into_iter().map(receive).collect()
    };
    (port.to_string(), std::thread::spawn(accept))
}

/// Sends an input to a sink, and returns the data of each connection and the bytes of each row.
fn sent(
    client: &Path,
    words: &[&str],
    stdin: impl Into<Stdio>,
    streams: usize,
) -> (Vec<Vec<u8>>, Vec<usize>) {
    let (port, sink) = sink(streams);
    let done = Invocation::new(client)
        .args(["-c", "127.0.0.1", "-p", &port, "-y", "C"])
        .args(words)
        .stdin(stdin)
        .patience(PATIENCE)
        .run();
    assert!(done.status.success(), "{words:?}: {}", done.account());
    assert_eq!(done.stderr, "", "{words:?}");
    (sink.join().expect("a sink"), bytes_of_rows(&done))
}

/// Bytes in the lines of comma-separated values.
fn bytes_of_rows(done: &Finished) -> Vec<usize> {
    let rows = done.stdout.lines();
    rows.filter_map(|row| row.split(',').nth(7)?.parse().ok())
        .collect()
}

/// Standard input that gets its data in several writes.
fn written_in_pieces(data: &[u8]) -> OwnedFd {
    let (reader, mut writer) = UnixStream::pair().expect("a pair of sockets");
    let data = data.to_vec();
    std::thread::spawn(move || {
        for piece in data.chunks(data.len() / 3 + 1) {
            writer.write_all(piece).expect("a client that reads");
        }
    });
    reader.into()
}

#[test]
fn file_and_standard_input_are_sent_to_their_end() {
    let scratch = Scratch::new();
    let client = link(&scratch);
    let [data, small, empty, fifo] =
        ["data", "small", "empty", "fifo"].map(|name| scratch.path().join(name));
    let [whole, part] = [contents(1_000_003), contents(300_000)];
    std::fs::write(&data, &whole).expect("a file");
    std::fs::write(&small, b"12345").expect("a file");
    std::fs::write(&empty, b"").expect("a file");
    let name = |path: &Path| path.to_str().expect("text").to_owned();
    let check = |words: &[&str], stdin: Stdio, expected: &[u8]| {
        let (found, rows) = sent(&client, words, stdin, 1);
        assert!(found == [expected], "{words:?}: other data");
        assert_eq!(rows, [expected.len()], "{words:?}");
    };
    let none = Stdio::null;
    check(&["-C", "-F", &name(&data)], none(), &whole);
    check(
        &["-C", "-l", "1000", "--fileinput", &name(&data)],
        none(),
        &whole,
    );
    check(
        &["-C", "-l", "7", "-n", "20", "-F", &name(&data)],
        none(),
        &whole[..20],
    );
    check(&["-C", "-F", &name(&small)], none(), b"12345");
    check(&["-C", "-F", &name(&empty)], none(), b"");
    let file = || std::fs::File::open(&data).expect("a file");
    check(&["-C", "-I"], file().into(), &whole);
    check(
        &["-C", "--stdin", "-l", "9K"],
        written_in_pieces(&part).into(),
        &part,
    );
    check(&["-C", "-I", "-F", "/nonexistent"], none(), b"");
    // A pipe has its data once: the client opens it once.
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .is_ok_and(|made| made.success())
    );
    let writer = std::thread::spawn({
        let (fifo, part) = (fifo.clone(), part.clone());
        move || std::fs::write(fifo, part)
    });
    check(&["-C", "-F", &name(&fifo)], none(), &part);
    writer.join().expect("a writer").expect("all is read");
    let (found, rows) = sent(&client, &["-F", &name(&data)], none(), 1);
    assert!(found[0][HEADER..] == whole[..] && rows == [HEADER + whole.len()]);
}

#[test]
fn each_stream_sends_the_whole_file_and_streams_share_standard_input() {
    let scratch = Scratch::new();
    let client = link(&scratch);
    let data = scratch.path().join("data");
    let whole = contents(300_001);
    std::fs::write(&data, &whole).expect("a file");
    let words = [
        "-C",
        "-P",
        "2",
        "-l",
        "1000",
        "-F",
        data.to_str().expect("text"),
    ];
    let (found, rows) = sent(&client, &words, Stdio::null(), 2);
    assert!(found == [&*whole, &*whole]);
    assert_eq!(rows, [300_001; 2]);
    let stdin = std::fs::File::open(&data).expect("a file");
    let (found, rows) = sent(&client, &["-C", "-P", "2", "-l", "1000", "-I"], stdin, 2);
    assert_eq!(found.iter().map(Vec::len).sum::<usize>(), whole.len());
    assert_eq!(rows[0] + rows[1], whole.len());
}

#[test]
fn servers_count_each_byte_of_a_file() {
    let scratch = Scratch::new();
    let client = link(&scratch);
    let data = scratch.path().join("data");
    std::fs::write(&data, contents(300_001)).expect("a file");
    let data = data.to_str().expect("text");
    for program in [stock(), Some(client.clone())].into_iter().flatten() {
        let mut server = Served::start(&program, &["-y", "C"]);
        let done = server.client(&client, &["-y", "C", "-F", data]);
        assert_eq!(done.status.code(), Some(0), "{}", done.account());
        assert_eq!(bytes_of_rows(&done), [HEADER + 300_001]);
        assert!(
            server
                .running
                .prints(&format!(",{},", HEADER + 300_001), PATIENCE)
        );
    }
}

#[test]
fn input_that_cannot_be_read_is_named_before_the_connection() {
    let scratch = Scratch::new();
    let client = link(&scratch);
    for (name, why) in [
        ("/nonexistent", "No such file or directory"),
        ("/", "Is a directory"),
    ] {
        let done = Invocation::new(&client)
            .args(["-c", "127.0.0.1", "-p", "1", "-F", name])
            .run()
            .expect_exit(1);
        assert_eq!(done.stderr, format!("iperf: -F {name}: {why}\n"));
        assert_eq!(done.stdout, "");
    }
}

#[test]
fn time_that_is_given_ends_a_silent_input_with_success() {
    let scratch = Scratch::new();
    let client = link(&scratch);
    let (reader, writer) = UnixStream::pair().expect("a pair of sockets");
    let words = ["-C", "-I", "-t", "0.3"];
    let (found, rows) = sent(&client, &words, OwnedFd::from(reader), 1);
    assert!(found == [b""] && rows == [0]);
    drop(writer);
}
