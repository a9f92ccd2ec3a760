use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use netperf_os::{Domain, SockAddr, Socket, Type};

use super::buffers::{BATCH, FRAGMENT};
use super::*;

fn listener() -> (Socket, SockAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    socket.bind(&any.into()).unwrap();
    socket.listen(8).unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

fn socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()
}

fn connected<E>(met: Met<E>) -> E {
    netperf_testkit::watchdog::watch_unit();
    match met {
        Met::Connected(endpoint) => endpoint,
        Met::GivenUp => panic!("given up"),
    }
}

fn patient() -> bool {
    false
}

/// A client here and a server made and run by `serve` in another thread.
fn with_server<T: Send + 'static>(
    cipher: Option<&'static str>,
    serve: impl FnOnce(Encrypted) -> T + Send + 'static,
) -> (Encrypted, thread::JoinHandle<T>) {
    let (listener, at) = listener();
    let server = thread::spawn(move || {
        let tls = Tls::new(None);
        serve(connected(
            tls.accept(AcceptFilter::open(&listener), &mut patient)
                .unwrap(),
        ))
    });
    let tls = Tls::new(cipher);
    let client = connected(tls.connect(socket(), &at, &mut patient).unwrap());
    (client, server)
}

fn send_all(end: &mut Encrypted, mut rest: &[u8]) {
    while !rest.is_empty() {
        match end.send(rest).unwrap() {
            Sent::Bytes(count) => rest = &rest[count..],
            Sent::Interrupted => {}
            Sent::Dropped => panic!("a stream drops nothing"),
        }
    }
}

/// Receives to the end with buffers of this size.
fn recv_to_end(end: &mut Encrypted, size: usize) -> Vec<u8> {
    let (mut all, mut buf) = (Vec::new(), vec![0; size]);
    loop {
        match end.recv(&mut buf).unwrap() {
            Received::Bytes(count) => all.extend_from_slice(&buf[..count]),
            Received::End => return all,
            other @ (Received::Interrupted | Received::TimedOut) => panic!("{other:?}"),
        }
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

fn half_close(end: &Encrypted) {
    netperf_os::io::half_close(end.fd()).unwrap();
}

#[test]
fn requests_are_answered_and_the_end_of_the_connection_is_seen_by_both() {
    let (mut client, server) = with_server(None, |mut end| {
        let (mut buf, mut answered) = ([0; 64], 0);
        while let Received::Bytes(count) = end.recv(&mut buf).unwrap() {
            send_all(&mut end, &buf[..count]);
            answered += 1;
        }
        answered
    });
    let mut buf = [0; 64];
    for size in [1, 64, 2, 33] {
        assert_eq!(
            client.send(&pattern(size)).unwrap(),
            Sent::Bytes(size),
            "{size}"
        );
        assert_eq!(client.recv(&mut buf).unwrap(), Received::Bytes(size));
        assert_eq!(buf[..size], pattern(size));
    }
    half_close(&client);
    assert_eq!(client.recv(&mut buf).unwrap(), Received::End);
    assert_eq!(server.join().unwrap(), 4);
}

#[test]
fn sends_of_every_size_arrive_whole_whatever_the_size_of_the_receives() {
    for receive in [1_000, FRAGMENT, 100_000] {
        let (mut client, server) = with_server(None, move |mut end| recv_to_end(&mut end, receive));
        let mut all = Vec::new();
        for size in [
            1,
            FRAGMENT - 1,
            FRAGMENT,
            FRAGMENT + 1,
            BATCH,
            BATCH + 1,
            1_000_000,
        ] {
            let data = pattern(size);
            assert_eq!(client.send(&data).unwrap(), Sent::Bytes(size));
            all.extend(data);
        }
        half_close(&client);
        assert!(server.join().unwrap() == all, "receives of {receive}");
    }
}

#[test]
fn sixty_four_megabytes_are_counted_alike_at_both_ends() {
    const TOTAL: usize = 64 << 20;
    let (mut client, server) = with_server(None, |mut end| {
        let (mut total, mut buf) = (0, vec![0; 131_072]);
        while let Received::Bytes(count) = end.recv(&mut buf).unwrap() {
            total += count;
        }
        total
    });
    let data = pattern(65_536);
    let mut sent = 0;
    while sent < TOTAL {
        let Sent::Bytes(count) = client.send(&data).unwrap() else {
            panic!("not a byte")
        };
        sent += count;
    }
    half_close(&client);
    assert_eq!(server.join().unwrap(), sent);
}

#[test]
fn data_that_comes_along_with_the_handshake_is_not_lost() {
    let (listener, at) = listener();
    let client = thread::spawn(move || {
        let mut end = connected(Tls::new(None).connect(socket(), &at, &mut patient).unwrap());
        send_all(&mut end, &pattern(40_000));
        half_close(&end);
        recv_to_end(&mut end, 64)
    });
    // The client has sent everything before the server begins the handshake.
    let server = config::server(None).unwrap();
    let Met::Connected(socket) =
        meeting::accept(AcceptFilter::open(&listener), &mut patient).unwrap()
    else {
        panic!("given up")
    };
    let mut session = Session::server(server).unwrap();
    let fd = socket.as_fd();
    let mut calls = 0;
    let mut late = || {
        calls += 1;
        false
    };
    connected(session.handshake(fd, Intake::Greedy, &mut late).unwrap());
    thread::sleep(Duration::from_millis(50));
    let mut end = Encrypted { socket, session };
    assert_eq!(recv_to_end(&mut end, 30_000), pattern(40_000));
    half_close(&end);
    assert!(client.join().unwrap().is_empty());
}

#[test]
fn each_cipher_can_be_asked_for_and_is_reported_by_both_ends() {
    for name in ciphers() {
        let name: &'static str = name.leak();
        let (mut client, server) = with_server(Some(name), |end| end.cipher());
        assert_eq!(client.recv(&mut [0; 8]).unwrap(), Received::End);
        let expected = Some(format!("TLSv1.3 {name}"));
        assert_eq!(client.cipher(), expected);
        assert_eq!(server.join().unwrap(), expected);
    }
}

#[test]
fn a_first_request_does_not_wait_for_the_handshake_to_be_acknowledged() {
    let (listener, at) = listener();
    let server = thread::spawn(move || {
        let tls = Tls::new(None);
        for _ in 0..20 {
            let mut end = connected(
                tls.accept(AcceptFilter::open(&listener), &mut patient)
                    .unwrap(),
            );
            let mut buf = [0; 8];
            assert_eq!(end.recv(&mut buf).unwrap(), Received::Bytes(8));
            send_all(&mut end, &buf);
        }
    });
    let tls = Tls::new(None);
    let waiting = netperf_testkit::Stopwatch::start();
    for _ in 0..20 {
        let mut end = connected(tls.connect(socket(), &at, &mut patient).unwrap());
        send_all(&mut end, &[1; 8]);
        assert_eq!(end.recv(&mut [0; 8]).unwrap(), Received::Bytes(8));
    }
    // A delayed acknowledgement takes at least 40 ms.
    assert!(waiting.elapsed() < Duration::from_millis(20 * 40));
    server.join().unwrap();
}

#[test]
fn ends_that_have_no_cipher_in_common_both_say_so() {
    let (listener, at) = listener();
    let server = thread::spawn(move || {
        let tls = Tls::new(Some("TLS_AES_128_GCM_SHA256"));
        tls.accept(AcceptFilter::open(&listener), &mut patient)
            .map(drop_met)
    });
    let tls = Tls::new(Some("TLS_CHACHA20_POLY1305_SHA256"));
    let error = tls.connect(socket(), &at, &mut patient).unwrap_err();
    assert!(error.to_string().contains("HandshakeFailure"), "{error}");
    let error = server.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
}

fn drop_met(met: Met<Encrypted>) {
    drop(met);
}

#[test]
fn a_peer_that_does_not_speak_tls_is_an_error_and_no_hang() {
    let (listener, at) = listener();
    let plain = thread::spawn(move || {
        let socket = socket();
        socket.connect(&at).unwrap();
        netperf_os::io::send(socket.as_fd(), b"GET / HTTP/1.0\r\n\r\n").unwrap();
        // Waits until the other end has seen it.
        netperf_os::io::recv(socket.as_fd(), &mut [0; 64])
    });
    let error = Tls::new(None)
        .accept(AcceptFilter::open(&listener), &mut patient)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    drop(listener);
    let _answered = plain.join().unwrap();
}
