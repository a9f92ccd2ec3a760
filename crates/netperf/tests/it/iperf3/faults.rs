//! Clients that vanish or misbehave, limits, and signals.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};

use netperf_model::escape::is_unprintable;
use netperf_testkit::process::signal;
use netperf_testkit::{eventually, procfs};

use super::*;

const COOKIE: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";

/// A JSON message.
fn framed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

#[track_caller]
fn expect(stream: &mut TcpStream, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, expected);
}

/// A client whose cookie is accepted. The session of the client before may not be over yet.
fn admitted(server: &Server) -> TcpStream {
    let mut control = connect(server);
    let admitted = eventually(PATIENCE, || {
        control = connect(server);
        let (first, rest) = COOKIE.split_at(20);
        control.write_all(first).unwrap();
        control.write_all(rest).unwrap();
        let mut answer = [0];
        control.read_exact(&mut answer).unwrap();
        answer == [9]
    });
    assert!(admitted, "busy");
    control
}

/// A client that has come so far: 0 has connected, 1 sent a part of the cookie, 2 the cookie, 3
/// a part of the parameters, 4 the parameters, 5 half of its streams, 6 all, 7 ended its test.
fn come_so_far(server: &Server, steps: u32) -> Vec<TcpStream> {
    let mut control = connect(server);
    let parameters = framed(r#"{"tcp":true,"time":60,"parallel":2,"len":1000}"#);
    let mut open = Vec::new();
    for step in 1..=steps {
        match step {
            1 => control.write_all(&COOKIE[..20]).unwrap(),
            2 => control = admitted(server),
            3 => control.write_all(&parameters[..9]).unwrap(),
            4 => {
                control.write_all(&parameters[9..]).unwrap();
                expect(&mut control, &[10]);
            }
            5 | 6 => {
                let mut stream = connect(server);
                stream.write_all(COOKIE).unwrap();
                open.push(stream);
                if step == 6 {
                    expect(&mut control, &[1, 2]);
                }
            }
            _ => {
                control.write_all(&[4]).unwrap();
                expect(&mut control, &[13]);
            }
        }
    }
    open.push(control);
    open
}

#[test]
fn the_rest_of_an_amount_may_arrive_after_the_end_of_the_test() {
    let server = Server::ours(&[]);
    let mut control = admitted(&server);
    let parameters = framed(r#"{"tcp":true,"num":3000,"parallel":1,"len":1000}"#);
    control.write_all(&parameters).unwrap();
    expect(&mut control, &[10]);
    let mut stream = connect(&server);
    stream.write_all(COOKIE).unwrap();
    expect(&mut control, &[1, 2]);
    stream.write_all(&[0; 1000]).unwrap();
    control.write_all(&[4]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(&[0; 2000]).unwrap();
    expect(&mut control, &[13]);
    let own = r#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":1,"streams":[{"id":1,"bytes":3000,"retransmits":0,"jitter":0,"errors":0,"packets":0}]}"#;
    control.write_all(&framed(own)).unwrap();
    let mut length = [0; 4];
    control.read_exact(&mut length).unwrap();
    let mut results = vec![0; u32::from_be_bytes(length).try_into().unwrap()];
    control.read_exact(&mut results).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results["streams"][0]["bytes"], 3000, "{results:#}");
}

#[test]
fn streams_have_the_order_in_which_they_connected_whichever_cookie_comes_first() {
    let server = Server::ours(&[]);
    let mut control = admitted(&server);
    let parameters = framed(r#"{"tcp":true,"time":60,"bidirectional":1,"len":1000}"#);
    control.write_all(&parameters).unwrap();
    expect(&mut control, &[10]);
    let mut towards_server = connect(&server);
    let mut towards_client = connect(&server);
    towards_client.write_all(COOKIE).unwrap();
    towards_server.write_all(COOKIE).unwrap();
    expect(&mut control, &[1, 2]);
    towards_client.read_exact(&mut [0; 1000]).unwrap();
    towards_server.set_nonblocking(true).unwrap();
    let answer = towards_server.read(&mut [0; 1]).unwrap_err();
    assert_eq!(answer.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_client_that_vanishes_in_any_state_frees_its_seat() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&["--max-sessions", "1", "--max-session-rate", "1000"]);
    for steps in 0..=7 {
        drop(come_so_far(&server, steps));
        let served = eventually(Duration::from_secs(20), || {
            let next = client(&own, &server, "127.0.0.1", &["-n", "1K", "-l", "1K"]);
            next.run().status.success()
        });
        assert!(served, "after {steps} steps");
    }
}

#[test]
fn a_busy_server_says_so_and_goes_on_with_its_test() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&["--max-sessions", "1"]);
    let mut first = client(
        &stock,
        &server,
        "127.0.0.1",
        &["-t", "3", "-b", "1M", "--forceflush"],
    )
    .spawn();
    assert!(first.prints("connected to", PATIENCE));
    for program in [&stock, &own] {
        let second = client(program, &server, "127.0.0.1", &["-t", "1"]).run();
        let second = second.expect_exit(1);
        assert_eq!(
            second.stderr,
            "iperf3: error - the server is busy running a test. try again later\n"
        );
    }
    let document = client(&own, &server, "127.0.0.1", &["-J"])
        .run()
        .expect_exit(1);
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(
        document["error"],
        "the server is busy running a test. try again later"
    );
    first.finish().expect_clean();
}

#[test]
fn threat_model_absurd_messages_get_one_error_and_the_next_client_is_served() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&["--max-session-rate", "1000"]);
    let parameters: [Vec<u8>; 6] = [
        framed("{not json}"),
        framed(r#"{"tcp":true,"parallel":100000}"#),
        framed(r#"{"tcp":true,"len":-1}"#),
        framed(r#"{"udp":true,"len":4}"#),
        vec![0x7f, 0xff, 0xff, 0xff],
        vec![0, 1, 0, 1, b'{'],
    ];
    for (letter, message) in (b'a'..).zip(parameters) {
        let mut control = connect(&server);
        let mut cookie = *COOKIE;
        cookie[0] = letter;
        control.write_all(&cookie).unwrap();
        expect(&mut control, &[9]);
        control.write_all(&message).unwrap();
        let mut answer = Vec::new();
        control.read_to_end(&mut answer).unwrap();
        // A state that no client sends ends the session without a word.
        let expected: &[u8] = if message[0] == 0 {
            &[0xfe, 0, 0, 0, 114, 0, 0, 0, 0]
        } else {
            &[]
        };
        assert_eq!(answer, expected, "{message:?}");
    }
    // No cookie, and streams that no session expects.
    let mut none = connect(&server);
    none.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(none.read(&mut [0; 1]).unwrap_or(0), 0);
    client(&own, &server, "127.0.0.1", &["-n", "1K", "-l", "1K"])
        .run()
        .expect_clean();
}

#[test]
fn threat_model_a_key_from_the_environment_excludes_iperf3() {
    let refused = Invocation::new(&ours!().netserver)
        .args(["-D", "-p", &free_port().to_string(), "--iperf3"])
        .env("NETPERF_KEY", "0123456789abcdef0123456789abcdef")
        .run()
        .expect_exit(2);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(
        said.contains("iperf3 clients have neither key nor passphrase: leave out --iperf3"),
        "{said}"
    );
}

#[test]
fn the_cpu_for_the_server_is_in_force_or_the_test_is_refused() {
    let server = Server::ours(&[]);
    let asked = |control: &mut TcpStream, cpu: u32| {
        let text = format!(r#"{{"tcp":true,"time":1,"server_affinity":{cpu}}}"#);
        control.write_all(&framed(&text)).unwrap();
    };
    let mut control = admitted(&server);
    asked(&mut control, 1_000_000);
    // "unable to set CPU affinity", and EINVAL.
    expect(&mut control, &[0xfe, 0, 0, 0, 132, 0, 0, 0, 22]);
    let mut control = admitted(&server);
    asked(&mut control, 0);
    expect(&mut control, &[10]);
    let bound = || {
        let pids = server.ours.as_ref().expect("ours").sessions();
        pids.iter().any(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            status.is_ok_and(|text| text.contains("Cpus_allowed_list:\t0\n"))
        })
    };
    assert!(eventually(PATIENCE, bound));
}

#[test]
fn threat_model_one_source_leaves_places_to_others_at_a_server_of_one_test() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::stock(&own);
    // More than there are places. They stay connected, or are closed for their number.
    let crowd: Vec<TcpStream> = (0..400).map(|_| connect(&server)).collect();
    let options = ["-B", "127.0.0.9", "-n", "1K", "-l", "1K"];
    client(&own, &server, "127.0.0.1", &options)
        .run()
        .expect_clean();
    let is_open = |stream: &&TcpStream| {
        let mut stream = *stream;
        stream.set_nonblocking(true).unwrap();
        stream.read(&mut [0]).is_err()
    };
    let open = crowd.iter().filter(is_open).count();
    assert!((1..400).contains(&open), "{open}");
}

#[test]
fn threat_model_a_stream_that_is_not_expected_is_refused_and_the_test_goes_on() {
    let server = Server::ours(&[]);
    let mut open = come_so_far(&server, 6);
    let mut third = connect(&server);
    third.write_all(COOKIE).unwrap();
    expect(&mut third, &[0xff]);
    let mut control = open.pop().unwrap();
    for stream in &mut open {
        stream.write_all(&[0; 1000]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
    }
    control.write_all(&[4]).unwrap();
    expect(&mut control, &[13]);
    let results = r#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,
        "sender_has_retransmits":1,"streams":[{"id":1,"bytes":1000},{"id":3,"bytes":1000}]}"#;
    control.write_all(&framed(results)).unwrap();
    let mut length = [0; 4];
    control.read_exact(&mut length).unwrap();
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    control.read_exact(&mut text).unwrap();
    let results: Value = serde_json::from_slice(&text).unwrap();
    for (stream, id) in [(0, 1), (1, 3)] {
        assert_eq!(results["streams"][stream]["id"], id);
        assert_eq!(results["streams"][stream]["bytes"], 1000);
    }
    expect(&mut control, &[14]);
    control.write_all(&[16]).unwrap();
    assert_eq!(control.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn threat_model_a_datagram_that_no_session_expects_is_not_answered() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&[]);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.connect(("127.0.0.1", server.port())).unwrap();
    for datagram in [&b"9876"[..], b"6789", &[0; 1000], b""] {
        stranger.send(datagram).unwrap();
    }
    // A whole test later all of them have been looked at.
    client(&own, &server, "127.0.0.1", &["-u", "-n", "1K", "-l", "100"])
        .run()
        .expect_clean();
    stranger.set_nonblocking(true).unwrap();
    let answer = stranger.recv(&mut [0; 64]).unwrap_err();
    assert_eq!(answer.kind(), std::io::ErrorKind::WouldBlock);
}

/// A socket that has sent a connect word, as one with a forged source seems to have.
fn forged_word(server: &Server) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", server.port())).unwrap();
    socket.send(b"9876").unwrap();
    socket
}

/// The streams of a client that asks for one after the other and waits for each answer.
fn datagram_streams(server: &Server, count: usize) -> Vec<UdpSocket> {
    let open = (0..count).map(|_| {
        let socket = forged_word(server);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = [0; 64];
        assert_eq!(socket.recv(&mut answer).unwrap(), 4);
        socket
    });
    open.collect()
}

/// A client whose test of datagrams awaits its streams.
fn awaiting_datagrams(server: &Server, direction: &str) -> TcpStream {
    let mut control = admitted(server);
    let text =
        format!(r#"{{"udp":true,"time":60,"parallel":2,"len":1000,"bandwidth":80000{direction}}}"#);
    control.write_all(&framed(&text)).unwrap();
    expect(&mut control, &[10]);
    control
}

#[test]
fn threat_model_forged_connect_words_do_not_take_the_streams_of_a_test() {
    let server = Server::ours(&[]);
    let mut control = awaiting_datagrams(&server, "");
    // The ports of some are closed, those of others are open and send nothing.
    let forged: Vec<UdpSocket> = (0..20).map(|_| forged_word(&server)).collect();
    let streams = datagram_streams(&server, 2);
    expect(&mut control, &[1, 2]);
    let mut datagram = [0; 1000];
    datagram[11] = 1;
    for stream in &streams {
        stream.send(&datagram).unwrap();
    }
    // The server counts what came before it has chosen.
    control.write_all(&[4]).unwrap();
    expect(&mut control, &[13]);
    let results = r#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,
        "sender_has_retransmits":0,"streams":[{"id":1,"bytes":1000,"packets":1},
        {"id":3,"bytes":1000,"packets":1}]}"#;
    control.write_all(&framed(results)).unwrap();
    let mut length = [0; 4];
    control.read_exact(&mut length).unwrap();
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    control.read_exact(&mut text).unwrap();
    let results: Value = serde_json::from_slice(&text).unwrap();
    for stream in [0, 1] {
        assert_eq!(results["streams"][stream]["bytes"], 1000, "{results}");
    }
    drop(forged);
}

#[test]
fn threat_model_forged_connect_words_of_closed_ports_are_no_streams() {
    let server = Server::ours(&[]);
    let mut control = awaiting_datagrams(&server, r#","reverse":true"#);
    // The ports are closed before the session answers the words, and it finds all words at once.
    let sessions = server.ours.as_ref().expect("ours").sessions();
    assert_eq!(sessions.len(), 1);
    signal(sessions[0], "STOP");
    for _ in 0..20 {
        drop(forged_word(&server));
    }
    let forwarded = || procfs::datagrams_queued(server.port()) == 0;
    assert!(eventually(PATIENCE, forwarded));
    signal(sessions[0], "CONT");
    let streams = datagram_streams(&server, 2);
    expect(&mut control, &[1, 2]);
    for stream in &streams {
        let mut datagram = [0; 2000];
        assert_eq!(stream.recv(&mut datagram).unwrap(), 1000);
    }
}

#[test]
fn threat_model_the_policy_of_netserver_holds_for_iperf3_clients() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let limited = Server::ours(&["--max-test-time", "2", "--transports", "tcp"]);
    let denied = Server::ours(&["--deny", "127.0.0.0/8"]);
    for program in [&stock, &own] {
        let run =
            |server: &Server, options: &[&str]| client(program, server, "127.0.0.1", options).run();
        let long = run(&limited, &["-t", "5"]).expect_exit(1);
        let amount = run(&limited, &["-n", "1K"]).expect_exit(1);
        let udp = run(&limited, &["-u", "-t", "1"]).expect_exit(1);
        for (finished, text) in [
            (&long, "requested duration"),
            (&amount, "requested duration"),
            (&udp, "unable to receive parameters from client"),
        ] {
            // Debian's 3.12 does not know the code of the newer version for durations.
            let known = finished.stderr.contains(text);
            assert!(known || program == &stock, "{}", finished.account());
            assert!(finished.stderr.starts_with("iperf3: error - "));
        }
        run(&limited, &["-t", "1", "-b", "1M"]).expect_clean();
        run(&denied, &["-t", "1"]).expect_exit(1);
    }
    let log = Netserver::start_with(&ours!(), &Place::Here, &["-D"], &[]);
    drop(log);
    for words in [
        &["--iperf3", "-Z", "phrase"][..],
        &["--iperf3", "--require", "key"],
        &["--iperf3", "-f"],
    ] {
        let finished = Invocation::new(&ours!().netserver)
            .args(["-D"])
            .args(words)
            .run();
        assert!(!finished.status.success(), "{}", finished.account());
        assert!(finished.stderr.contains("iperf3"), "{}", finished.account());
    }
}

#[test]
fn sigint_ends_our_client_with_its_results() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for server in [Server::ours(&[]), Server::stock(&stock)] {
        let options = ["-t", "60", "-b", "1M", "-i", "0.5"];
        let mut running = client(&own, &server, "127.0.0.1", &options).spawn();
        assert!(running.prints("   0.00-", PATIENCE));
        running.signal("INT");
        let finished = running.finish().expect_exit(1);
        assert_eq!(
            finished.stderr,
            "iperf3: interrupt - the client has terminated\n"
        );
        assert!(
            finished.stdout.contains(" sender\n"),
            "{}",
            finished.account()
        );
        // The server is free again.
        let next = eventually(Duration::from_secs(20), || {
            let next = client(&own, &server, "127.0.0.1", &["-n", "1K", "-l", "1K"]);
            next.run().status.success()
        });
        assert!(next);
    }
}

/// A client's output to a server that sends characters that a terminal obeys or does not show, or
/// lines that look like results.
fn spoken_to(fault: &str, command: impl Fn(u16) -> Invocation) -> Finished {
    hostile(&[fault, "0"], command).expect_exit(0)
}

/// A client's output to a server with this fault.
pub(super) fn hostile(words: &[&str], command: impl Fn(u16) -> Invocation) -> Finished {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/hostile_iperf.py");
    let mut server = Invocation::new(Path::new("/usr/bin/python3"))
        .arg(script)
        .arg("iperf3")
        .args(words)
        .patience(PATIENCE)
        .spawn();
    assert!(server.prints("\n", PATIENCE), "no server");
    let port = server.stdout().trim().rsplit(' ').next().map(str::parse);
    command(port.expect("a word").expect("a port")).run()
}

#[test]
fn threat_model_text_of_a_server_steers_no_terminal_and_stays_readable_in_json() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let program = ours!().netperf;
    let log = scratch.path().join("log");
    let as_iperf3 = |words: &'static str| {
        let (own, log) = (own.clone(), log.display().to_string());
        move |port: u16| {
            let words = words.replace("LOG", &log);
            Invocation::new(&own)
                .args([
                    "-c",
                    "127.0.0.1",
                    "-n",
                    "8K",
                    "-l",
                    "4K",
                    "-p",
                    &port.to_string(),
                ])
                .args(words.split_whitespace())
                .patience(PATIENCE)
        }
    };
    let as_netperf = |words: &'static str| {
        let program = program.clone();
        move |port: u16| {
            Invocation::new(&program)
                .args(["--iperf3", "-H", "127.0.0.1", "-p", &port.to_string()])
                .args(["-l", "-8192"])
                .args(words.split_whitespace())
                .patience(PATIENCE)
        }
    };
    let mut outputs = vec![
        spoken_to("speaks", as_iperf3("--get-server-output")),
        spoken_to("speaks", as_iperf3("--get-server-output -V -d")),
        spoken_to("speaks", as_iperf3("--get-server-output -J")),
        spoken_to("speaks", as_iperf3("--get-server-output --logfile LOG")),
        spoken_to("speaks", as_netperf("--json")),
    ];
    outputs[3].stdout = std::fs::read_to_string(&log).expect("a log");
    let steers = |letter: char| is_unprintable(letter) && !"\n\t".contains(letter);
    for output in &outputs {
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(!text.contains(steers), "{text:?}");
    }
    assert!(
        outputs[0].stdout.contains("\\u202e"),
        "{}",
        outputs[0].account()
    );
    let document: Value = serde_json::from_str(&outputs[2].stdout).expect("JSON");
    let text = document["server_output_text"].as_str().expect("a text");
    assert!(
        text.contains('\u{202e}') && text.contains('\u{9b}'),
        "{text:?}"
    );
}

#[test]
fn threat_model_a_value_of_a_server_forges_no_line_of_results() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let program = ours!().netperf;
    let as_iperf3 = |port: u16| {
        Invocation::new(&own)
            .args(["-c", "127.0.0.1", "-p", &port.to_string()])
            .args(["-n", "8K", "-l", "4K", "-V"])
            .patience(PATIENCE)
    };
    let as_netperf = |format: &'static str| {
        let program = program.clone();
        move |port: u16| {
            Invocation::new(&program)
                .args(["--iperf3", "-H", "127.0.0.1", "-p", &port.to_string()])
                .args(["-l", "-8192", "-P", "0", "-t", "OMNI", "--", format])
                .arg("REMOTE_CONG_CONTROL,THROUGHPUT")
                .patience(PATIENCE)
        }
    };
    for output in [
        spoken_to("forges", as_iperf3),
        spoken_to("forges", as_netperf("-k")),
        spoken_to("forges", as_netperf("-o")),
    ] {
        let text = &output.stdout;
        assert!(!text.contains("9999"), "{}", output.account());
        assert!(!text.contains("99.9 GBytes"), "{}", output.account());
    }
}
