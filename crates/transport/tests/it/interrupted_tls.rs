//! Signals that come in the middle of TLS records.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use netperf_os::{Domain, SockAddr, Socket, Type};
use netperf_transport::meeting::{AcceptFilter, Connects, Met, OnSocket};
use netperf_transport::tls::{Encrypted, Tls};
use netperf_transport::{Endpoint, Received, Sent};

use crate::heartbeat::Heartbeat;

fn connected(met: Met<Encrypted>) -> Encrypted {
    match met {
        Met::Connected(endpoint) => endpoint,
        Met::GivenUp => panic!("given up"),
    }
}

/// Receives slowly, by this much at a time; all that came before the end.
fn receive_slowly(listener: &Socket, size: usize) -> Vec<u8> {
    let met = Tls::new(None)
        .accept(AcceptFilter::open(listener), &mut || false)
        .unwrap();
    let mut end = connected(met);
    let (mut all, mut buf) = (Vec::new(), vec![0; size]);
    loop {
        thread::sleep(Duration::from_millis(1));
        match end.recv(&mut buf).unwrap() {
            Received::Bytes(count) => all.extend_from_slice(&buf[..count]),
            Received::End => return all,
            other @ (Received::Interrupted | Received::TimedOut) => panic!("{other:?}"),
        }
    }
}

/// Sends `data` by this much at a time to a slow receiver, with a signal every millisecond,
/// until `enough` is counted; what was counted, how often a send was cut short, and what
/// arrived.
fn send_under_fire(data: &[u8], size: usize, enough: usize) -> (usize, usize, Vec<u8>) {
    let listener = Socket::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let at: SockAddr = listener.local_addr().unwrap();
    let receiver = thread::spawn(move || receive_slowly(&listener, 70_000));
    let heartbeat = Heartbeat::start();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    // Small, so that a send blocks in the middle of a record.
    socket.set_send_buffer_size(5_000).unwrap();
    let mut end = connected(Tls::new(None).connect(socket, &at, &mut || false).unwrap());
    let (mut sent, mut cut) = (0, 0);
    while sent < enough {
        let buf = &data[sent..data.len().min(sent + size)];
        match end.send(buf).unwrap() {
            Sent::Bytes(count) => {
                sent += count;
                cut += usize::from(count < buf.len());
            }
            Sent::Interrupted => cut += 1,
            Sent::Dropped => panic!("a stream drops nothing"),
        }
    }
    netperf_os::io::half_close(end.fd()).unwrap();
    // The timer is this thread's, and the wait below is not to be interrupted.
    drop(heartbeat);
    (sent, cut, receiver.join().unwrap())
}

#[test]
fn interrupted_tls_call_resumes_where_it_was_cut_and_counts_agree() {
    let data: Vec<u8> = (0..6_000_000_u32)
        .map(|index| (index % 251) as u8)
        .collect();
    for size in [1_000, 16_384, 50_000, 300_000] {
        let (sent, cut, got) = send_under_fire(&data, size, data.len());
        assert!(cut > 0, "{size}: nothing was cut");
        assert_eq!(sent, data.len());
        assert!(got == data, "{size}");
    }
    // A cut send is not completed: the receiver has as much as the sender counted.
    for enough in [100_000, 1_234_567, 2_000_001] {
        let (sent, _, got) = send_under_fire(&data, 300_000, enough);
        assert_eq!(got.len(), sent);
        assert!(got == data[..sent]);
    }
}
