//! `iperf3 -F`: data from a file, and data that is stored in one.

use super::*;

/// Contents whose order shows.
fn contents(bytes: usize) -> Vec<u8> {
    let numbers = (0_u32..).flat_map(u32::to_be_bytes);
    numbers.take(bytes).collect()
}

/// Servers of both makes.
fn servers() -> Vec<Server> {
    let stock = stock().map(|program| Server::stock(&program));
    stock.into_iter().chain([Server::ours(&[])]).collect()
}

#[test]
fn file_is_sent_once_by_all_streams_together_and_ends_the_test() {
    let scratch = Scratch::new();
    let program = link(&scratch);
    let file = scratch.path().join("data");
    std::fs::write(&file, contents(300_000)).unwrap();
    let name = file.to_str().unwrap();
    for server in servers() {
        let command = client(&program, &server, "127.0.0.1", &["-F", name]);
        let text = command.run().expect_exit(0);
        let row = format!("        Sent  293 KByte /  293 KByte (100%) of {name}\n");
        assert!(text.stdout.contains(&row), "{}", text.account());
        let options = ["-F", name, "-P", "2", "-J"];
        let command = client(&program, &server, "127.0.0.1", &options);
        let found = document(&command.run());
        let sent = |stream: u32| count(&found, &format!("/end/streams/{stream}/diskfile/sent"));
        assert_eq!(sent(0) + sent(1), 300_000);
        let file = &found["end"]["streams"][0]["diskfile"];
        assert_eq!(file["size"], 300_000);
        assert_eq!(file["percent_sent"], sent(0) * 100 / 300_000);
        assert_eq!(file["filename"], name);
    }
}

#[test]
fn file_arrives_byte_for_byte_at_the_original() {
    let Some(stock) = stock() else {
        return;
    };
    let scratch = Scratch::new();
    let program = link(&scratch);
    let [data, sink] = ["data", "sink"].map(|name| scratch.path().join(name));
    std::fs::write(&data, contents(1_000_000)).unwrap();
    let port = free_port().to_string();
    let words = ["-s", "-1", "--forceflush", "-p", &port, "-F"];
    let mut server = Invocation::new(&stock).args(words).arg(&sink).spawn();
    assert!(server.prints("Server listening", PATIENCE));
    // Buffers that hold less than the file: the server has read most of it when all is sent.
    let words = ["-c", "127.0.0.1", "-p", &port, "-w", "64K", "-F"];
    let sent = Invocation::new(&program).args(words).arg(&data).run();
    sent.expect_exit(0);
    server.finish();
    let stored = std::fs::read(&sink).unwrap();
    // The original stops reading when the client ends the test.
    assert!(!stored.is_empty() && contents(1_000_000).starts_with(&stored));
}

#[test]
fn file_stores_what_a_server_sends() {
    let scratch = Scratch::new();
    let program = link(&scratch);
    let file = scratch.path().join("sink");
    let name = file.to_str().unwrap();
    let server = Server::ours(&[]);
    let options = ["-R", "-n", "1M", "--repeating-payload", "-F", name, "-J"];
    let found = document(&client(&program, &server, "127.0.0.1", &options).run());
    let stored = std::fs::read(&file).unwrap();
    let received = count(&found, "/end/streams/0/receiver/bytes");
    assert_eq!(stored.len() as u64, received);
    assert!(stored.starts_with(b"0123456789"));
    assert_eq!(count(&found, "/end/streams/0/diskfile/received"), received);
}

#[test]
fn file_that_is_not_there_or_not_for_the_test_is_named() {
    let scratch = Scratch::new();
    let program = link(&scratch);
    let server = Server::ours(&[]);
    for (options, line) in [
        (
            &["-F", "/nonexistent"][..],
            "iperf3: error - unable to open -F file: No such file or directory\n",
        ),
        (
            &["-F", "/dev/null", "-u"],
            "iperf3: parameter error - -F, --file is served with TCP alone, not with -u\n",
        ),
        (
            &["-F", "/dev/null", "--bidir"],
            "iperf3: parameter error - -F, --file is served in one direction, not with --bidir\n",
        ),
    ] {
        let refused = client(&program, &server, "127.0.0.1", options).run();
        let refused = refused.expect_exit(1);
        assert!(refused.stderr.contains(line), "{}", refused.account());
    }
}
