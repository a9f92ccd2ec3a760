//! Networks, numbers of sessions, passphrases and limits of tests.

use super::*;

#[test]
fn a_network_that_is_denied_is_told_so() {
    let server = server(&["--deny", "127.0.0.0/8,::1"]);
    let why = "your address is not allowed here (--allow, --deny)";
    is_refused(&client(&server, &SHORT).run(), why);
    is_noted(&server, "denied=network");
    assert_no_session_left(&server);
}

#[test]
fn the_smaller_network_that_is_allowed_is_served() {
    let server = server(&["--deny", "127.0.0.0/8", "--allow", "127.0.0.1,::1"]);
    client(&server, &SHORT).run().expect_clean();
}

#[test]
fn threat_model_there_are_no_more_sessions_than_the_limits_say() {
    for (options, why) in [
        (
            ["--max-sessions", "1"],
            "all its sessions are in use (--max-sessions 1): try again when one has ended",
        ),
        (
            ["--max-peer-sessions", "1"],
            "your address uses all sessions that it may have (--max-peer-sessions 1): try again when \
             one has ended",
        ),
    ] {
        let server = server(&options);
        let held = idle(&server);
        is_refused(&client(&server, &SHORT).run(), why);
        drop(held);
        assert_no_session_left(&server);
        client(&server, &SHORT).run().expect_clean();
    }
}

/// A test of our client that runs for a minute.
fn long_test(server: &Netserver, words: &[&str]) -> netperf_testkit::Running {
    let running = client(server, &["-t", "TCP_RR", "-l", "60"])
        .args(words)
        .spawn();
    let begun = eventually(Duration::from_secs(10), || !server.sessions().is_empty());
    assert!(begun, "{:?}", server.said());
    running
}

#[test]
fn a_client_is_told_when_to_try_again_unless_netserver_requires_a_credential() {
    let open = server(&["--max-sessions", "1"]);
    let _running = long_test(&open, &[]);
    let mut told = String::new();
    // The session reports its test to the listener when it begins.
    let timed = eventually(Duration::from_secs(10), || {
        told = client(&open, &SHORT).run().stderr;
        told.contains("(--max-sessions 1): try again in about ")
    });
    assert!(timed, "{told}");
    let (_, seconds) = told.split_once("about ").unwrap();
    let seconds: u32 = seconds.trim_end_matches(" s\n").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{told}");
    let guarded = server(&["--max-peer-sessions", "1", "-Z", "sesame"]);
    let _running = long_test(&guarded, &["-Z", "sesame"]);
    let why = "your address uses all sessions that it may have (--max-peer-sessions 1): try again \
               when one has ended";
    is_refused(&client(&guarded, &SHORT).run(), why);
}

#[test]
fn a_client_without_the_passphrase_is_told_so_and_nothing_else() {
    let server = server(&["-Z", "sesame"]);
    let why = "netserver refuses: it serves only clients that send its passphrase (-Z)";
    for test in ["TCP_RR", "UDP_STREAM", "REM_CPU"] {
        for words in [&[][..], &["-Z", "mustard"]] {
            let run = client(&server, &["-t", test, "-l", "1", "--json"])
                .args(words)
                .run();
            let message = run.document()["error"]["message"].to_string();
            assert!(message.contains(why), "{}", run.account());
            let other = message.contains("; the one that was sent is another");
            assert_eq!(other, !words.is_empty(), "{message}");
            assert_eq!(run.status.code(), Some(1), "{}", run.account());
            // Behind the original's words.
            let plain = client(&server, &["-t", test, "-l", "1"]).args(words).run();
            assert!(plain.stderr.contains(why), "{}", plain.account());
        }
    }
    is_noted(&server, "denied=passphrase");
    assert_no_session_left(&server);
}

#[test]
fn threat_model_reports_repeat_the_command_line_without_the_passphrase() {
    let server = server(&["-Z", "sesame"]);
    let one = ["-t", "TCP_RR", "-l", "-1", "-P", "0", "-Z", "sesame"];
    for output in [&["--", "-o", "COMMAND_LINE"][..], &["--json"]] {
        let run = client(&server, &one).args(output).run();
        assert_eq!(run.status.code(), Some(0), "{}", run.account());
        assert!(run.stdout.contains("-Z ***"), "{}", run.account());
        assert!(!run.stdout.contains("sesame"), "{}", run.account());
    }
    assert!(!format!("{:?}", server.said()).contains("sesame"));
}

#[test]
fn a_stock_client_without_the_passphrase_sees_a_closed_connection() {
    let server = server(&["-Z", "sesame"]);
    // A calibration of a stock client, and a passphrase.
    for (kind, guess) in [(5, ""), (6, "mustard")] {
        let mut message = [0; FRAME_LEN];
        message[3] = kind;
        message[8..8 + guess.len()].copy_from_slice(guess.as_bytes());
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(&message).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"");
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
    assert_no_session_left(&server);
}

#[test]
fn max_send_rate_limits_what_netserver_sends() {
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
fn a_connection_for_each_transaction_which_no_rate_holds_is_refused_where_there_is_one() {
    let server = server(&["--max-send-rate", "8M"]);
    let run = |test| client(&server, &["-t", test, "-l", "-20", "-P", "0"]).run();
    let why = "this test cannot be held to 8000000 bits per second (--max-send-rate)";
    is_refused(&run("TCP_CRR"), why);
    is_noted(&server, "denied=send-rate");
    // netserver sends nothing there.
    run("TCP_CC").expect_clean();
}

#[test]
fn a_client_that_says_nothing_is_not_kept() {
    let server = server(&["--idle-time", "1"]);
    let silent = idle(&server);
    silent
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    assert!(is_closed(&silent));
    assert_no_session_left(&server);
}

#[test]
fn a_refused_client_that_never_reads_and_one_that_never_stops_talking_are_let_go() {
    let server = server(&["--max-sessions", "1"]);
    let held = idle(&server);
    let _never_reads = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let mut talker = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let let_go = eventually(Duration::from_secs(20), || {
        talker.write_all(&[0; 656]).is_err()
    });
    assert!(let_go);
    let why = "all its sessions are in use (--max-sessions 1): try again when one has ended";
    is_refused(&client(&server, &SHORT).run(), why);
    drop(held);
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
    let server = Netserver::start_with(&ours!(), &Place::Here, &["--config", name], &[]);
    let refused = client(&server, &["-l", "5"]).run();
    is_refused(&refused, "a test may take 1 s at most (--max-test-time)");
    let check = || {
        Invocation::new(&ours!().netserver)
            .args(["--check-config", name])
            .run()
    };
    assert_eq!(check().status.code(), Some(0));
    std::fs::write(&file, "foreground = true\nmax-tets-time = '1s'\n").unwrap();
    let said = ":2: max-tets-time: there is no such setting; did you mean max-test-time?";
    for wrong in [
        check(),
        Invocation::new(&ours!().netserver)
            .args(["--config", name])
            .run(),
    ] {
        assert_eq!(wrong.status.code(), Some(1), "{}", wrong.account());
        assert_eq!(wrong.stderr.lines().count(), 1, "{}", wrong.account());
        assert!(wrong.stderr.contains(said), "{}", wrong.account());
    }
}
