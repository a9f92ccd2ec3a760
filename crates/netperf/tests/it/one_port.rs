//! Data through the port of the control connection: every kind of test, what cannot be,
//! strangers who try, and peers that know nothing of it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::Permissions;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use netperf_model::Token;
use netperf_testkit::server::{both_at_one_port, on_free_port};
use netperf_testkit::{
    BehindNat, Finished, Invocation, LoopbackOnly, Netserver, Place, Programs, Scratch, eventually,
    is_closed, ours, require,
};
use netperf_transport::one_port::{PREAMBLE, Preamble, PreambleKind};
use netperf_wire::messages::{Extension, ItemKind, OmniRequest};
use netperf_wire::{
    Direction, FRAME_LEN, Frame, Header, Message, RequestKind, Stage, WireFamily, WireProtocol,
    WireSocketType,
};

fn server(options: &[&str]) -> Netserver {
    let all = [&["-D", "--log", "text"], options].concat();
    Netserver::start_with(&ours!(), &Place::Here, &all, &[])
}

/// Transactions, or bytes; those of datagrams fit into the buffers of the sockets.
fn amount(words: &str) -> &'static str {
    if words.contains("TCP_MSS") {
        "1"
    } else if ["RR", "TCP_CC"].iter().any(|test| words.contains(test)) {
        "-200"
    } else if ["UDP", "-T udp"].iter().any(|test| words.contains(test)) {
        "-50000"
    } else {
        "-1000000"
    }
}

fn client(server: &Netserver, host: &str, words: &str) -> Invocation {
    Invocation::new(&ours!().netperf)
        .args(["-H", host, "-p", &server.port().to_string()])
        .args(["--one-port", "-l", amount(words), "-P", "0"])
        .args(words.split_whitespace())
}

fn is_noted(server: &Netserver, line: &str) {
    let noted = eventually(Duration::from_secs(10), || server.said().1.contains(line));
    assert!(noted, "{line}: {:?}", server.said());
}

/// Every kind of test over TCP and UDP, whichever way its data goes.
const KINDS: [&str; 21] = [
    "-t TCP_STREAM",
    "-t TCP_MAERTS",
    "-t TCP_SENDFILE",
    "-t TCP_RR -- -r 100,200",
    "-t TCP_RR -- -b 4",
    "-t TCP_CRR",
    "-t TCP_CC",
    "-t TCP_MSS",
    "-t TCP_STREAM --bidirectional same",
    "-t TCP_STREAM --flows 5",
    "-t TCP_MAERTS --flows 5 --threads 2",
    "-t TCP_CRR --flows 5",
    "-t OMNI -- -T tls -d send",
    "-t OMNI --flows 2 -- -T tls -d recv",
    "-t UDP_STREAM -- -m 1000",
    "-t UDP_RR",
    "-t UDP_RR -- -n",
    "-t OMNI -- -T udp -d recv -m 1000",
    "-t UDP_STREAM --flows 5 -- -m 1000",
    "-t UDP_RR --flows 5",
    "-t UDP_STREAM --bidirectional same -- -m 1000",
];

/// Runs some of them at the same time, as they take longer than they have to do.
fn all_run(kinds: &[&str], client: impl Fn(&str) -> Invocation) {
    for some in kinds.chunks(7) {
        let running: Vec<_> = some.iter().map(|words| client(words).spawn()).collect();
        for one in running {
            one.finish().expect_clean();
        }
    }
}

#[test]
fn every_kind_of_test_over_tcp_and_udp_passes_by_the_one_port() {
    let server = server(&[]);
    all_run(&KINDS, |words| client(&server, "127.0.0.1", words));
    for words in ["-t TCP_CRR", "-t UDP_RR", "-t UDP_STREAM -- -m 1000"] {
        client(&server, "::1", words).run().expect_clean();
    }
}

#[test]
fn both_ends_count_the_same_and_options_of_netservers_socket_are_in_force() {
    let server = server(&[]);
    let words = "-t OMNI -- -d send -T tcp -S 30000,30000 -D \
                 -k LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,RSR_SIZE_END,REMOTE_NODELAY";
    let run = client(&server, "127.0.0.1", words).run().expect_clean();
    let values = run.values();
    let sent = values.number("LOCAL_BYTES_SENT");
    assert!(sent > 0.0, "{}", run.account());
    assert!(
        (sent - values.number("REMOTE_BYTES_RECVD")).abs() < 0.5,
        "{}",
        run.account()
    );
    assert!(
        (values.number("RSR_SIZE_END") - 60_000.0).abs() < 0.5,
        "{}",
        run.account()
    );
}

#[track_caller]
fn is_refused(finished: &Finished, status: i32, why: &str) {
    assert!(finished.stderr.contains(why), "{}", finished.account());
    assert_eq!(
        finished.status.code(),
        Some(status),
        "{}",
        finished.account()
    );
}

#[test]
fn one_port_refuses_tests_that_need_more() {
    let open = server(&[]);
    let not_its_own = "netserver's port is not the test's own";
    for (words, why) in [
        ("-t TCP_RR -- -P ,5555", "--data-port"),
        ("-t TCP_RR -- -H 127.0.0.2", "--data-host"),
        ("-t TCP_RR -- -F", not_its_own),
        ("-t UDP_RR -- -B", not_its_own),
        (
            "-t TCP_STREAM --bidirectional separate",
            "--bidirectional same",
        ),
        ("-t OMNI -- -T mptcp -d send", "only over TCP, TLS and UDP"),
    ] {
        is_refused(&client(&open, "127.0.0.1", words).run(), 3, why);
    }
    let takes = "it takes a listener of its own";
    for options in [["-f"].as_slice(), &["--one-port", "off"]] {
        let closed = server(options);
        is_refused(&client(&closed, "127.0.0.1", "-t TCP_RR").run(), 3, takes);
    }
    let connections = server(&["--one-port", "tcp"]);
    client(&connections, "127.0.0.1", "-t TCP_RR")
        .run()
        .expect_clean();
    let why = "no datagrams come in by its port (--one-port tcp)";
    is_refused(
        &client(&connections, "127.0.0.1", "-t UDP_RR").run(),
        255,
        why,
    );
    is_noted(&connections, "denied=one-port");
    // The port is closed.
    let probe = UdpSocket::bind("127.0.0.1:0").unwrap();
    probe.connect(("127.0.0.1", connections.port())).unwrap();
    let refused = (0..3).find_map(|_| probe.send(b"?").and_then(|_| probe.recv(&mut [0; 1])).err());
    assert_eq!(
        refused.map(|error| error.kind()),
        Some(ErrorKind::ConnectionRefused)
    );
}

/// A port that is free for TCP and that this socket has for UDP.
fn taken_by_udp(host: &str) -> (UdpSocket, String) {
    // Another process may have it for UDP, so a few are tried.
    let taken = on_free_port(|port| Some((UdpSocket::bind((host, port)).ok()?, port)));
    let (socket, port) = taken.expect("a free port");
    (socket, port.to_string())
}

#[test]
fn a_netserver_whose_port_of_udp_is_taken_goes_without() {
    let (_taken, port) = taken_by_udp("0.0.0.0");
    let mut server = Invocation::new(&ours!().netserver)
        .args(["-D", "-4", "--log", "text", "-p", &port])
        .spawn();
    let starts = server.prints("Starting netserver", Duration::from_secs(30));
    assert!(starts, "{}", server.stderr());
    let netperf = |test: &str| {
        Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port])
            .args(["--one-port", "-t", test])
            .args(["-l", "-50", "-P", "0"])
            .run()
    };
    netperf("TCP_RR").expect_clean();
    is_refused(&netperf("UDP_RR"), 255, "(--one-port tcp)");
    assert!(
        server.stderr().contains("one_port=tcp"),
        "{}",
        server.stderr()
    );
}

#[test]
fn a_netserver_that_is_told_to_take_datagrams_takes_them_or_does_not_start() {
    let (_taken, port) = taken_by_udp("127.0.0.1");
    let line = Invocation::new(&ours!().netserver)
        .args(["-D", "-L", "127.0.0.1", "--one-port", "on", "-p", &port])
        .run()
        .expect_exit(3)
        .stderr;
    assert_eq!(
        line,
        format!(
            "netserver: --one-port on: port {port} cannot receive datagrams: Address already in \
             use; use a port that is free, or --one-port tcp\n"
        )
    );
}

#[test]
fn a_port_that_takes_root_takes_no_datagrams_for_another_user_netns() {
    if !require::root() {
        return;
    }
    // There is no other host.
    let alone = LoopbackOnly::new();
    let line = Invocation::new(&ours!().netserver)
        .args(["-D", "--user", "nobody", "--one-port", "on", "-p", "865"])
        .within(&alone.place())
        .run()
        .expect_exit(3)
        .stderr;
    assert!(
        line.contains(
            "Permission denied (as this user); use a port from 1024 on, or --one-port tcp"
        ),
        "{line}"
    );
}

#[test]
fn the_control_connection_may_be_encrypted() {
    let scratch = Scratch::new();
    let key = scratch.path().join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("our file");
    let key = key.to_str().unwrap();
    let server = server(&["--key-file", key]);
    for words in ["-t TCP_CRR", "-t UDP_RR"] {
        let words = format!("--key-file {key} {words}");
        client(&server, "127.0.0.1", &words).run().expect_clean();
    }
    let plain = client(&server, "127.0.0.1", "-t TCP_RR").run();
    assert_eq!(plain.status.code(), Some(255), "{}", plain.account());
}

#[test]
fn stock_clients_use_the_port_beside_those_that_have_all_their_data_there() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = server(&[]);
    let running: Vec<_> = ["-t TCP_STREAM", "-t UDP_RR", "-t TCP_CRR"]
        .map(|words| {
            client(&server, "127.0.0.1", words)
                .args(["-l", "60"])
                .spawn()
        })
        .into_iter()
        .collect();
    for (test, amount) in [
        ("TCP_STREAM", "-1000000"),
        ("TCP_CRR", "-50"),
        ("UDP_RR", "-50"),
        ("UDP_STREAM", "-1000000"),
    ] {
        let run = Invocation::new(&stock.netperf)
            .args(["-H", "127.0.0.1", "-p", &server.port().to_string()])
            .args(["-t", test, "-l", amount, "-P", "0"])
            .run();
        assert!(run.status.success(), "{}", run.account());
    }
    for one in running {
        one.signal("INT");
        one.finish().expect_clean();
    }
}

/// A control connection that has a test ready, and the test's token.
fn asked(server: &Netserver, kind: WireSocketType, protocol: WireProtocol) -> (TcpStream, Token) {
    let request = OmniRequest {
        send_buf_size: -1,
        send_size: -1,
        send_alignment: 8,
        request_size: -1,
        recv_buf_size: -1,
        receive_size: -1,
        recv_alignment: 8,
        response_size: -1,
        test_length: 30,
        ipfamily: WireFamily::Inet,
        socket_type: kind,
        protocol,
        direction: Direction::RECEIVE,
        socket_prio: -1,
        socket_tos: -1,
        ..OmniRequest::default()
    };
    let mut frame = request.encode(Header::request(RequestKind::Omni));
    let mut block = Extension::default();
    block.push(ItemKind::OnePort, &[1]);
    block.encode_over(Stage::Request, &mut frame).unwrap();
    let mut control = connected(server);
    control.write_all(frame.as_bytes()).unwrap();
    let mut answer = [0; FRAME_LEN];
    control.read_exact(&mut answer).unwrap();
    let answer = Frame::from_bytes(answer);
    assert!(answer.errno().is_ok(), "{:?}", answer.errno());
    let block = Extension::decode(Stage::Response, &answer)
        .unwrap()
        .unwrap();
    let token = block.value(ItemKind::Token).unwrap().try_into().unwrap();
    (control, Token::new(token))
}

fn connected(server: &Netserver) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    let limit = Some(Duration::from_secs(20));
    stream.set_read_timeout(limit).unwrap();
    stream
}

/// A connection that says this first.
fn said(server: &Netserver, bytes: &[u8]) -> TcpStream {
    let mut stream = connected(server);
    stream.write_all(bytes).unwrap();
    stream
}

#[test]
fn threat_model_a_token_is_good_for_its_own_test_and_no_longer() {
    let server = server(&[]);
    let (mut control, token) = asked(&server, WireSocketType::Stream, WireProtocol::Tcp);
    let guessed = Preamble::connection(Token::new([0x5a; Token::BYTES])).bytes();
    assert!(is_closed(&said(&server, &guessed)));
    is_noted(&server, "denied=token");
    let probe = Preamble {
        kind: PreambleKind::Probe,
        ..Preamble::connection(token)
    };
    assert!(is_closed(&said(
        &server,
        &[probe.bytes().as_slice(), b"x"].concat()
    )));
    // In pieces, and with data right behind.
    let preamble = Preamble::connection(token).bytes();
    let mut data = said(&server, &preamble[..5]);
    data.write_all(&preamble[5..20]).unwrap();
    data.write_all(&[&preamble[20..], &[7; 1000]].concat())
        .unwrap();
    data.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(is_closed(&data));
    // The results: all of the data, and nothing else, has arrived.
    let mut results = [0; FRAME_LEN];
    control.read_exact(&mut results).unwrap();
    let results = netperf_wire::messages::OmniResults::decode(&Frame::from_bytes(results)).unwrap();
    assert_eq!(results.bytes_received, 1000);
    // The test is over, and the session is not.
    assert!(is_closed(&said(&server, &preamble)));
    drop(control);
    let gone = eventually(Duration::from_secs(10), || server.sessions().is_empty());
    assert!(gone, "a session is left");
    assert!(is_closed(&said(&server, &preamble)));
    client(&server, "127.0.0.1", "-t TCP_RR")
        .run()
        .expect_clean();
}

#[test]
fn threat_model_who_says_half_a_preamble_and_then_nothing_is_closed_and_others_are_served_meanwhile()
 {
    // Less than a word that arrives after accept(2) counts as silence, which has its own limit.
    let server = server(&["--log-level", "debug", "--idle-time", "5"]);
    let preamble = Preamble::connection(Token::new([1; Token::BYTES])).bytes();
    let halves: Vec<TcpStream> = [1, 8, PREAMBLE - 1]
        .into_iter()
        .map(|length| said(&server, preamble.get(..length).unwrap()))
        .collect();
    client(&server, "127.0.0.1", "-t TCP_CRR")
        .run()
        .expect_clean();
    assert!(halves.iter().all(is_closed));
    is_noted(&server, "end=silent");
}

#[test]
fn threat_model_a_probe_is_answered_with_no_more_than_it_has_and_only_with_the_token() {
    let server = server(&[]);
    let (_control, token) = asked(&server, WireSocketType::Datagram, WireProtocol::Udp);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", server.port())).unwrap();
    let probe = |token| Preamble {
        kind: PreambleKind::Probe,
        token,
        number: 1,
    };
    let wrong = probe(Token::new([1; Token::BYTES])).bytes();
    let right = probe(token).bytes();
    let longer = [right.as_slice(), b"x"].concat();
    for unanswered in [wrong.as_slice(), &right[..PREAMBLE - 1], &longer, b"x", b""] {
        socket.send(unanswered).unwrap();
    }
    let metrics = Duration::from_millis(200);
    socket.set_read_timeout(Some(metrics)).unwrap();
    let mut answer = [0; 100];
    let nothing = socket.recv(&mut answer).unwrap_err().kind();
    assert_eq!(nothing, ErrorKind::WouldBlock);
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.send(&right).unwrap();
    let count = socket.recv(&mut answer).unwrap();
    assert_eq!(count, PREAMBLE);
    let read = Preamble::read(answer.get(..count).unwrap()).unwrap();
    assert_eq!(
        (read.kind, read.token, read.number),
        (PreambleKind::Answer, token, 1)
    );
}

#[test]
fn through_a_router_that_translates_and_lets_one_port_through_every_kind_of_test_passes() {
    if !netperf_testkit::require::root() {
        return;
    }
    let Some(network) = BehindNat::new() else {
        return;
    };
    let server = Netserver::start_with(&ours!(), &network.server(), &["-D"], &[]);
    network.only(server.port());
    let run = |host: &str, words: &str| {
        let run = client(&server, host, words).within(&network.client());
        run.run().expect_clean();
    };
    all_run(&KINDS, |words| {
        client(&server, BehindNat::SERVER[0], words).within(&network.client())
    });
    for words in [
        "-t TCP_CRR",
        "-t TCP_MAERTS",
        "-t UDP_RR",
        "-t UDP_STREAM -- -m 1000",
    ] {
        run(BehindNat::SERVER[1], words);
    }
    assert_eq!(network.dropped(), 0, "something went elsewhere");
    // The router does what it is there for.
    let elsewhere = Invocation::new(&ours!().netperf)
        .args(["-H", BehindNat::SERVER[0], "-p", &server.port().to_string()])
        .args(["-t", "UDP_RR", "--time", "300ms", "-P", "0"])
        .within(&network.client())
        .run();
    assert!(network.dropped() > 0, "{}", elsewhere.account());
    stock_clients_beside(&network, &server);
}

/// Clients of the original, which are not translated, while ours is.
fn stock_clients_beside(network: &BehindNat, server: &Netserver) {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let host = BehindNat::SERVER[0];
    let ours = client(server, host, "-t TCP_CRR").within(&network.client());
    let ours = ours.args(["-l", "60"]).spawn();
    for (test, amount) in [
        ("TCP_STREAM", "-1000000"),
        ("TCP_MAERTS", "-1000000"),
        ("TCP_CRR", "-50"),
        ("UDP_RR", "-50"),
    ] {
        let run = Invocation::new(&stock.netperf)
            .args(["-H", host, "-p", &server.port().to_string()])
            .args(["-t", test, "-l", amount, "-P", "0"])
            .within(&network.router())
            .run();
        assert!(run.status.success(), "{}", run.account());
    }
    ours.signal("INT");
    ours.finish().expect_clean();
}

/// A way to netserver where datagrams are swallowed, and the second connection, that for
/// data, waits for so long.
fn detour(server: &Netserver, data_after: Duration) -> (u16, UdpSocket) {
    let (listener, hole) = both_at_one_port();
    let port = listener.local_addr().unwrap().port();
    hole.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let beyond = server.port();
    std::thread::spawn(move || {
        for after in [Duration::ZERO, data_after] {
            let (near, _) = listener.accept().unwrap();
            // The delay of the detour.
            std::thread::sleep(after);
            let far = TcpStream::connect(("127.0.0.1", beyond)).unwrap();
            let (from, to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || passed_on(from, to));
            std::thread::spawn(move || passed_on(far, near));
        }
    });
    (port, hole)
}

fn passed_on(mut from: TcpStream, mut to: TcpStream) {
    // Whichever end goes first, the other one is told.
    drop(std::io::copy(&mut from, &mut to));
    drop(to.shutdown(Shutdown::Write));
}

#[test]
fn a_signal_while_datagrams_look_for_netserver_ends_the_test() {
    let server = server(&[]);
    for words in ["UDP_STREAM", "UDP_RR", "UDP_RR --flows 2"] {
        let (port, hole) = detour(&server, Duration::ZERO);
        let running = Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port.to_string(), "--one-port"])
            .arg("-t")
            .args(words.split_whitespace())
            .spawn();
        hole.recv(&mut [0; 64]).expect("a probe");
        running.signal("INT");
        let finished = running.finish().expect_exit(1);
        let said = finished.stderr.contains("a signal ended the test before");
        assert!(said, "{}", finished.account());
    }
}

#[test]
fn the_time_of_a_test_waits_for_its_connection() {
    let server = server(&[]);
    for words in ["send", "rr"] {
        // Longer than the test and what it may take to end.
        let wait = Duration::from_millis(800);
        let (port, _hole) = detour(&server, wait);
        let run = Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port.to_string(), "--one-port"])
            .args(["--time", "100ms", "-t", "OMNI", "--", "-T", "tls"])
            .args([
                "-d",
                words,
                "-k",
                "LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,ELAPSED_TIME",
            ])
            .run()
            .expect_clean();
        let sent = run.values().number("LOCAL_BYTES_SENT");
        assert!(sent > 0.0, "{}", run.account());
        assert_eq!(sent, run.values().number("REMOTE_BYTES_RECVD"));
        let elapsed = Duration::from_secs_f64(run.values().number("ELAPSED_TIME"));
        assert!(elapsed + wait <= run.took, "{}", run.account());
    }
}
