//! Who may use netserver, and for what: each limit met, with the line and the status that
//! tell of it, at both ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs, Scratch, eventually};

fn ours() -> Programs {
    Programs::ours(
        env!("CARGO_BIN_EXE_netperf"),
        env!("CARGO_BIN_EXE_netserver"),
    )
}

fn server(options: &[&str]) -> Netserver {
    let all = [&["-D", "--log", "text"], options].concat();
    Netserver::start_with(&ours(), &Place::Here, &all, &[])
}

fn client(server: &Netserver, words: &[&str]) -> Invocation {
    Invocation::new(&ours().netperf)
        .args(["-H", "127.0.0.1", "-p", &server.port().to_string()])
        .args(words)
}

const SHORT: [&str; 6] = ["-t", "TCP_RR", "-l", "1", "-P", "0"];

fn is_noted(server: &Netserver, line: &str) {
    let noted = eventually(Duration::from_secs(5), || server.said().1.contains(line));
    assert!(noted, "{line}: {:?}", server.said());
}

fn nothing_is_left(server: &Netserver) {
    let gone = eventually(Duration::from_secs(5), || server.sessions().is_empty());
    assert!(gone, "sessions are left");
}

#[track_caller]
fn is_refused(finished: &Finished, why: &str) {
    let line = format!("netperf: netserver refuses: {why}\n");
    assert_eq!(finished.stderr, line, "{}", finished.account());
    assert_eq!(finished.status.code(), Some(255), "{}", finished.account());
}

/// A session that holds its place until it is dropped.
fn idle(server: &Netserver) -> TcpStream {
    let before = server.sessions().len();
    let mut connected = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    connected.write_all(&[0]).expect("a connection");
    let begun = eventually(Duration::from_secs(5), || server.sessions().len() > before);
    assert!(begun, "{:?}", server.said());
    connected
}

#[test]
fn a_network_that_is_denied_is_told_so() {
    let server = server(&["--deny", "127.0.0.0/8,::1"]);
    let why = "your address is not allowed here (--allow, --deny)";
    is_refused(&client(&server, &SHORT).run(), why);
    is_noted(&server, "denied=network");
    nothing_is_left(&server);
}

#[test]
fn the_smaller_network_that_is_allowed_is_served() {
    let server = server(&["--deny", "127.0.0.0/8", "--allow", "127.0.0.1,::1"]);
    client(&server, &SHORT).run().expect_clean();
}

#[test]
fn there_are_no_more_sessions_than_the_limits_say() {
    for (options, why) in [
        (
            ["--max-sessions", "1"],
            "it has 1 sessions and may have no more (--max-sessions)",
        ),
        (
            ["--max-peer-sessions", "1"],
            "your address has 1 sessions and may have no more (--max-peer-sessions)",
        ),
    ] {
        let server = server(&options);
        let held = idle(&server);
        is_refused(&client(&server, &SHORT).run(), why);
        drop(held);
        nothing_is_left(&server);
        client(&server, &SHORT).run().expect_clean();
    }
}

#[test]
fn a_test_that_is_too_long_or_has_no_time_is_told_so_and_another_is_served() {
    let server = server(&["--max-test-time", "2"]);
    let run = |length: &str| client(&server, &["-t", "TCP_RR", "-P", "0", "-l", length]).run();
    let most = "2 s at most (--max-test-time)";
    is_refused(&run("3"), &format!("a test may take {most}"));
    is_refused(&run("-10"), &format!("a test needs a time (-l), of {most}"));
    run("1").expect_clean();
    is_noted(&server, "denied=test-time");
    nothing_is_left(&server);
}

#[test]
fn what_netserver_sends_is_held_to_the_rate() {
    let server = server(&["--max-send-rate", "8M"]);
    for test in ["TCP_MAERTS", "UDP_STREAM"] {
        let mut words = vec!["-t", test, "-l", "1", "--"];
        if test == "UDP_STREAM" {
            words[1] = "OMNI";
            words.extend([
                "-T",
                "udp",
                "-d",
                "recv",
                "-M",
                "1000,1000",
                "-m",
                "1000,1000",
            ]);
        }
        words.extend(["-k", "REMOTE_BYTES_SENT"]);
        let run = client(&server, &words).run().expect_clean();
        let sent = run.values().number("REMOTE_BYTES_SENT");
        // A million bytes in a second, and what the sockets queue; it would be billions.
        assert!(sent > 0.0 && sent < 2e7, "{}", run.account());
    }
}

#[test]
fn a_client_that_says_nothing_is_not_kept() {
    let server = server(&["--idle-time", "1"]);
    let mut silent = idle(&server);
    silent
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    nothing_is_left(&server);
}

#[test]
fn a_refused_client_that_never_reads_and_one_that_never_stops_talking_are_let_go() {
    let server = server(&["--max-sessions", "0"]);
    let _never_reads = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let mut talker = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let let_go = eventually(Duration::from_secs(20), || {
        talker.write_all(&[1; 656]).is_err()
    });
    assert!(let_go);
    let why = "it has 0 sessions and may have no more (--max-sessions)";
    is_refused(&client(&server, &SHORT).run(), why);
}

#[test]
fn a_stock_client_is_refused_with_a_number_that_it_prints() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = server(&["--max-test-time", "1"]);
    let run = Invocation::new(&stock.netperf)
        .args(["-H", "127.0.0.1", "-p", &server.port().to_string()])
        .args(["-t", "TCP_STREAM", "-l", "5"])
        .run();
    assert!(run.stdout.contains("remote error 34"), "{}", run.account());
    let closed = self::server(&["--deny", "127.0.0.0/8,::1"]);
    let run = Invocation::new(&stock.netperf)
        .args(["-H", "127.0.0.1", "-p", &closed.port().to_string()])
        .run();
    assert!(run.stdout.contains("remote error 13"), "{}", run.account());
}

#[test]
fn netserver_starts_with_a_file_of_settings_and_not_with_a_wrong_one() {
    let folder = Scratch::new();
    let file = folder.path().join("netserver.toml");
    std::fs::write(&file, "max-test-time = '1s'\nforeground = true\n").unwrap();
    let name = file.to_str().unwrap();
    let server = Netserver::start_with(&ours(), &Place::Here, &["--config", name], &[]);
    let refused = client(&server, &["-l", "5"]).run();
    is_refused(&refused, "a test may take 1 s at most (--max-test-time)");
    let check = || {
        Invocation::new(&ours().netserver)
            .args(["--check-config", name])
            .run()
    };
    assert_eq!(check().status.code(), Some(0));
    std::fs::write(&file, "foreground = true\nmax-tets-time = '1s'\n").unwrap();
    let said = ":2: max-tets-time: there is no such setting; did you mean max-test-time?";
    for wrong in [
        check(),
        Invocation::new(&ours().netserver)
            .args(["--config", name])
            .run(),
    ] {
        assert_eq!(wrong.status.code(), Some(1), "{}", wrong.account());
        assert_eq!(wrong.stderr.lines().count(), 1, "{}", wrong.account());
        assert!(wrong.stderr.contains(said), "{}", wrong.account());
    }
}
