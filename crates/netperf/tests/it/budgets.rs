//! Attacks on the host of netserver: what sessions may take from it is limited, and refused in a
//! line that names the limit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use netperf_testkit::{Finished, Netserver, Place, Running, eventually, ours};
use netperf_wire::messages::OmniRequest;
use netperf_wire::{
    Direction, FRAME_LEN, Frame, Header, Message, RequestKind, WireFamily, WireSocketType,
};

/// `EDQUOT`.
const QUOTA: i32 = 122;

fn server(options: &[&str]) -> Netserver {
    let all = [&["-D", "--log", "text"], options].concat();
    Netserver::start_with(&ours!(), &Place::Here, &all, &[])
}

fn run(server: &Netserver, words: &str) -> Finished {
    let client = ours!().client_of(server);
    client.args(words.split_whitespace()).run()
}

#[track_caller]
fn is_refused(server: &Netserver, words: &str, why: &str) {
    let finished = run(server, words);
    assert!(finished.stderr.contains(why), "{}", finished.account());
    assert_eq!(finished.status.code(), Some(255), "{}", finished.account());
}

/// A request of a test with buffers of this size.
pub(crate) fn request(size: i32) -> Frame {
    let request = OmniRequest {
        send_buf_size: -1,
        send_size: size,
        send_alignment: 8,
        send_width: 1,
        request_size: -1,
        recv_buf_size: -1,
        receive_size: -1,
        recv_alignment: 8,
        response_size: -1,
        test_length: 10,
        ipfamily: WireFamily::Inet,
        socket_type: WireSocketType::Stream,
        direction: Direction::TRANSMIT,
        socket_prio: -1,
        socket_tos: -1,
        ..OmniRequest::default()
    };
    request.encode(Header::request(RequestKind::Omni))
}

/// A session whose test has buffers of this size, and the error number.
fn buffers(server: &Netserver, size: i32) -> (TcpStream, i32) {
    let frame = request(size);
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    let patience = Some(Duration::from_secs(30));
    stream.set_read_timeout(patience).expect("a limit");
    stream.write_all(frame.as_bytes()).expect("space");
    let mut answer = [0; FRAME_LEN];
    stream.read_exact(&mut answer).expect("an answer");
    (stream, Frame::from_bytes(answer).errno().0)
}

#[test]
fn threat_model_buffers_of_records_are_limited_for_each_session_and_for_all() {
    let server = server(&["--max-memory", "1M,2M"]);
    // A ring has at least two buffers.
    let each = 300 << 10;
    assert_eq!(buffers(&server, 2 * each).1, QUOTA);
    let mut held: Vec<_> = (0..6).map(|_| buffers(&server, each)).collect();
    let granted = |held: &[(TcpStream, i32)]| held.iter().filter(|(_, errno)| *errno == 0).count();
    assert_eq!(granted(&held), 3);
    is_refused(
        &server,
        "-t TCP_MAERTS -l 1 -- -m ,300K",
        "the buffers of all sessions may take 2097152 bytes (--max-memory)",
    );
    // The end of a session gives its memory back.
    held.clear();
    let gone = eventually(Duration::from_secs(20), || server.sessions().is_empty());
    assert!(gone, "{:?}", server.sessions());
    let (_held, errno) = buffers(&server, each);
    assert_eq!(errno, 0);
}

#[test]
fn budgets_have_room_for_32_tests_of_large_messages_by_default() {
    let server = server(&[]);
    let held: Vec<_> = (0..32).map(|_| buffers(&server, 4 << 20)).collect();
    assert!(held.iter().all(|(_, errno)| *errno == 0));
}

#[test]
fn budgets_take_buffers_from_tests_that_ask_for_no_number_of_them() {
    let server = server(&["--max-memory", "1M,2M"]);
    let test = "-t TCP_MAERTS -l -1 -P 0 -- -m ,700K -k REMOTE_SEND_WIDTH,REMOTE_SEND_SIZE";
    let values = run(&server, test).expect_exit(0).values();
    assert_eq!(values.text("REMOTE_SEND_SIZE"), "716800");
    assert_eq!(values.text("REMOTE_SEND_WIDTH"), "1");
}

#[test]
fn width_of_the_ring_that_netserver_does_not_use_is_netperfs() {
    let server = server(&[]);
    for (test, used, unused) in [
        ("TCP_MAERTS", "LOCAL_RECV_WIDTH", "REMOTE_RECV_WIDTH"),
        ("TCP_STREAM", "LOCAL_SEND_WIDTH", "REMOTE_SEND_WIDTH"),
    ] {
        for width in ["", "-W 5,5 "] {
            let test = format!("{width}-t {test} -l -1 -P 0 -- -k {used},{unused}");
            let values = run(&server, &test).expect_exit(0).values();
            assert_eq!(values.text(unused), values.text(used), "{test}");
            assert_ne!(values.text(used), "0", "{test}");
        }
    }
}

#[test]
fn threat_model_an_address_has_all_sessions_until_another_needs_one() {
    let server = server(&["--max-sessions", "60", "--log", "text"]);
    let mut held: Vec<_> = (0..60).map(|_| buffers(&server, 1024)).collect();
    assert!(held.iter().all(|(_, errno)| *errno == 0));
    let elsewhere = "-L 127.0.0.2,4 -4 -t TCP_RR --count 1 -P 0";
    // Sessions whose test waits for its data are not idle.
    is_refused(
        &server,
        elsewhere,
        "all its sessions are in use (--max-sessions 60)",
    );
    // One without a test is, after ten seconds.
    let (stream, _) = held.pop().expect("a session");
    drop(stream);
    let free = eventually(Duration::from_secs(20), || server.sessions().len() == 59);
    assert!(free, "{:?}", server.said());
    let mut quiet = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    let mut message = [0; FRAME_LEN];
    message[3] = 6;
    quiet.write_all(&message).expect("space");
    let served = || {
        // Asked a few times a second.
        std::thread::sleep(Duration::from_millis(250));
        run(&server, elsewhere).status.success()
    };
    assert!(
        eventually(Duration::from_secs(40), served),
        "no session made way"
    );
    let displaced = || server.said().1.contains("end=displaced");
    assert!(
        eventually(Duration::from_secs(5), displaced),
        "no line says so"
    );
}

#[test]
fn a_test_gives_back_what_it_took() {
    let server = server(&["--max-memory", "1M,1M", "--max-ports", "1,1"]);
    for _ in 0..3 {
        run(&server, "-t UDP_RR --count 1 -P 0").expect_clean();
    }
    // Several tests of one session.
    run(&server, "-t TCP_MAERTS -l -100000 -i 3,2 -P 0 -- -m 64K").expect_exit(0);
}

#[test]
fn threat_model_flows_threads_and_ports_of_a_test_are_limited() {
    let server = server(&[
        "--max-flows",
        "4",
        "--max-threads",
        "2",
        "--max-ports",
        "3,4",
    ]);
    run(&server, "-t TCP_RR --flows 4 -l -40 -P 0").expect_clean();
    is_refused(
        &server,
        "-t TCP_RR --flows 5 --time 50ms",
        "4 flows (--max-flows)",
    );
    let threads = "-t TCP_RR --flows 4 --threads 1,3 --time 50ms";
    is_refused(&server, threads, "2 threads of netserver (--max-threads)");
    is_refused(
        &server,
        "-t UDP_RR --flows 4 --time 50ms",
        "3 data ports (--max-ports)",
    );
    // Two sessions that wait for their data have a port each.
    let held: Vec<_> = (0..2).map(|_| buffers(&server, 1024)).collect();
    assert!(held.iter().all(|(_, errno)| *errno == 0));
    let all = "all sessions may have 4 data ports (--max-ports)";
    is_refused(&server, "-t UDP_RR --flows 3 --time 50ms", all);
    drop(held);
}

#[test]
fn sessions_that_start_faster_than_the_rate_are_refused() {
    // Ten at once, on average over ten seconds.
    let server = server(&["--max-session-rate", "1"]);
    let started = std::iter::repeat_with(|| buffers(&server, 1024).1);
    let refused = started.take(1000).position(|errno| errno == QUOTA);
    assert!(refused.is_some_and(|count| count >= 10), "{refused:?}");
    // One may begin each second, and twelve take less than twelve.
    let client = || {
        ours!()
            .client_of(&server)
            .args(["-t", "TCP_RR", "--count", "1"])
    };
    let running: Vec<_> = (0..12).map(|_| client().spawn()).collect();
    let finished = running.into_iter().map(Running::finish);
    let refused: Vec<Finished> = finished.filter(|one| !one.status.success()).collect();
    assert!(!refused.is_empty());
    for one in refused {
        assert!(
            one.stderr.contains("(--max-session-rate)"),
            "{}",
            one.account()
        );
        assert_eq!(one.status.code(), Some(255), "{}", one.account());
    }
}
