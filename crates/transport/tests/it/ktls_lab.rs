//! TLS records by the kernel, against its own kind and against rustls. Needs a kernel with
//! TLS: the lab in the virtual machine has one.

use std::io::{Seek as _, Write as _};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

use netperf_model::{Family, SocketPlan, TransportId};
use netperf_os::Socket;
use netperf_testkit::{Lab, Stopwatch};
use netperf_transport::meeting::{AcceptFilter, Connects, Met, OnSocket};
use netperf_transport::tcp::{FromFile, Spliced};
use netperf_transport::tls::{Ktls, Tls, ciphers};
use netperf_transport::{Endpoint, Received, Sent, socket};

fn connected<E>(met: Met<E>) -> E {
    match met {
        Met::Connected(endpoint) => endpoint,
        Met::GivenUp => panic!("given up"),
    }
}

/// Two ends, the server's made by `accepting` and used by `serve` in a separate thread.
fn pair<C: Connects, S: Connects + Send + 'static, T: Send + 'static>(
    connecting: &C,
    accepting: S,
    serve: impl FnOnce(S::Endpoint) -> T + Send + 'static,
) -> (C::Endpoint, JoinHandle<T>) {
    let listener = Socket::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let at = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let met = accepting
            .accept(AcceptFilter::open(&listener), &mut || false)
            .unwrap();
        serve(connected(met))
    });
    let plan = SocketPlan::default();
    let opened = socket::open(TransportId::Ktls, Family::V4, &plan).unwrap();
    let met = connecting.connect(opened.socket, &at, &mut || false);
    (connected(met.unwrap()), server)
}

fn send_all(end: &mut impl Endpoint, mut rest: &[u8]) {
    while !rest.is_empty() {
        match end.send(rest).unwrap() {
            Sent::Bytes(count) => rest = &rest[count..],
            Sent::Interrupted | Sent::Dropped => panic!("nothing may come between"),
        }
    }
}

fn recv_to_end(end: &mut impl Endpoint) -> Vec<u8> {
    let (mut all, mut buf) = (Vec::new(), vec![0; 100_000]);
    while let Received::Bytes(count) = end.recv(&mut buf).unwrap() {
        all.extend_from_slice(&buf[..count]);
    }
    all
}

/// Sends back whatever comes, until the end.
fn echo<E: Endpoint + OnSocket>(mut end: E) -> Option<String> {
    let mut buf = vec![0; 100_000];
    while let Received::Bytes(count) = end.recv(&mut buf).unwrap() {
        send_all(&mut end, &buf[..count]);
    }
    end.cipher()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

/// Requests and answers, then a lot in one direction, then the end.
fn converse<C: Connects, S: Connects + Send + 'static>(how: &C, other: S, cipher: &str) {
    let (mut client, server) = pair(how, other, echo);
    let mut buf = vec![0; 100_000];
    for size in [1, 100, 16_384] {
        send_all(&mut client, &pattern(size));
        let mut got = Vec::new();
        while got.len() < size {
            let Received::Bytes(count) = client.recv(&mut buf).unwrap() else {
                panic!("an end")
            };
            got.extend_from_slice(&buf[..count]);
        }
        assert!(got == pattern(size), "{cipher} {size}");
    }
    let expected = Some(format!("TLSv1.3 {cipher}"));
    assert_eq!(client.cipher(), expected);
    netperf_os::io::half_close(client.fd()).unwrap();
    assert_eq!(client.recv(&mut buf).unwrap(), Received::End);
    assert_eq!(server.join().unwrap(), expected);
}

#[test]
fn the_kernel_speaks_with_itself_and_with_rustls_by_every_cipher() {
    if !Lab::Vm.is_here() {
        return;
    }
    for name in ciphers() {
        let cipher = Some(name.as_str());
        converse(&Ktls::new(cipher), Ktls::new(None), &name);
        converse(&Ktls::new(None), Tls::new(cipher), &name);
        converse(&Tls::new(cipher), Ktls::new(None), &name);
    }
}

#[test]
fn data_right_after_the_handshake_arrives_whole() {
    if !Lab::Vm.is_here() {
        return;
    }
    let data = pattern(20_000_000);
    for _ in 0..3 {
        let (mut client, server) = pair(&Tls::new(None), Ktls::new(None), |mut end| {
            recv_to_end(&mut end)
        });
        send_all(&mut client, &data);
        netperf_os::io::half_close(client.fd()).unwrap();
        assert!(server.join().unwrap() == data);
    }
}

#[test]
fn data_before_an_immediate_close_is_received() {
    if !Lab::Vm.is_here() {
        return;
    }
    for size in [0, 1, 50_000] {
        let (mut client, server) = pair(&Ktls::new(None), Ktls::new(None), move |mut end| {
            send_all(&mut end, &pattern(size));
        });
        server.join().unwrap();
        assert!(recv_to_end(&mut client) == pattern(size));
    }
}

#[test]
fn a_first_request_waits_for_no_delayed_acknowledgement() {
    if !Lab::Vm.is_here() {
        return;
    }
    // Connections of one request each; what a delayed acknowledgement takes is 40 ms.
    let mut in_time = 0;
    for _ in 0..10 {
        let (mut client, server) = pair(&Ktls::new(None), Ktls::new(None), echo);
        let waiting = Stopwatch::start();
        send_all(&mut client, &[1; 64]);
        assert_eq!(client.recv(&mut [0; 64]).unwrap(), Received::Bytes(64));
        in_time += u32::from(waiting.elapsed() < std::time::Duration::from_millis(35));
        drop(client);
        server.join().unwrap();
    }
    assert!(in_time >= 7, "{in_time} of 10");
}

#[test]
fn a_file_is_sent_and_what_comes_is_spliced_away() {
    if !Lab::Vm.is_here() {
        return;
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&pattern(300_000)).unwrap();
    file.rewind().unwrap();
    let (client, server) = pair(&Ktls::new(None), Ktls::new(None), |end| {
        let mut end = Spliced::new(end.into_socket()).unwrap();
        let (mut total, mut buf) = (0, vec![0; 65_536]);
        while let Received::Bytes(count) = end.recv(&mut buf).unwrap() {
            total += count;
        }
        total
    });
    let mut client = FromFile::new(client.into_socket(), file, 0, 3);
    let mut sent = 0;
    for _ in 0..30 {
        let Sent::Bytes(count) = client.send(&[0; 100_000]).unwrap() else {
            panic!("not a byte")
        };
        sent += count;
    }
    drop(client);
    assert_eq!(server.join().unwrap(), sent);
    assert!(sent > 0);
}
