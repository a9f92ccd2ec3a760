use super::*;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;

fn pair() -> (Socket, Socket) {
    netperf_testkit::watchdog::watch_unit();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client.into(), listener.accept().unwrap().0.into())
}

#[test]
fn a_question_and_its_answer_take_one_system_call_at_each_end() {
    let (client, server) = pair();
    let other = thread::spawn(move || {
        let mut server = ByRing::new(Tcp(server), None, true).unwrap();
        let mut buf = [0; 8];
        while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
            assert_eq!(server.send(&buf[..count]).unwrap(), Sent::Bytes(count));
        }
        server.counts().unwrap()
    });
    let mut client = ByRing::new(Tcp(client), None, true).unwrap();
    for _ in 0..10 {
        assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
        assert_eq!(client.recv(&mut [0; 3]).unwrap(), Received::Bytes(3));
    }
    let counts = client.counts().unwrap();
    assert_eq!((counts.send_calls, counts.recv_calls), (0, 10));
    drop(client.into_socket());
    // The last call receives the end.
    assert_eq!(other.join().unwrap().recv_calls, 11);
}

#[test]
fn deferred_send_is_submitted_before_the_socket_is_returned() {
    let (client, server) = pair();
    let mut client = ByRing::new(Tcp(client), None, true).unwrap();
    assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
    let _socket = client.into_socket();
    let mut buf = [0; 8];
    assert_eq!(Tcp(server).recv(&mut buf).unwrap(), Received::Bytes(3));
}

#[test]
fn both_ends_count_the_same_datagrams_and_bytes() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = server.local_addr().unwrap().into();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut client = RingSend::<true>::new(client.into(), Some(to), (8, 64), None).unwrap();
    let mut server = RingRecv::new(server.into(), (16, 2048), true, None).unwrap();
    assert_eq!(client.send(&[1; 500]).unwrap(), Sent::Bytes(500));
    assert_eq!(client.messages_sent(500), 8);
    drop(client.part());
    let (mut datagrams, mut bytes, mut buf) = (0, 0, [0; 2048]);
    while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
        bytes += count;
        datagrams += server.messages_received();
    }
    assert_eq!((datagrams, bytes), (8, 500));
    assert!(server.source.is_known());
}

#[test]
fn a_stream_crosses_by_many_sends_and_many_buffers_at_a_time() {
    let (client, server) = pair();
    let reader = thread::spawn(move || {
        let mut server = RingRecv::new(server, (4, 10_000), false, None).unwrap();
        let mut total = 0;
        while let Received::Bytes(count) = server.recv(&mut []).unwrap() {
            total += count;
        }
        total
    });
    let mut client = RingSend::<false>::new(client, None, (4, 50_000), None).unwrap();
    for _ in 0..20 {
        assert_eq!(client.send(&[7; 200_000]).unwrap(), Sent::Bytes(200_000));
    }
    drop(client.into_socket());
    assert_eq!(reader.join().unwrap(), 4_000_000);
}

#[test]
fn calls_of_a_flow_give_up_and_what_they_moved_is_counted() {
    let soon = Some(Duration::from_millis(5));
    for zero_copy in [false, true] {
        let (client, server) = pair();
        let mut server = RingRecv::new(server, (4, 1 << 16), false, soon).unwrap();
        assert_eq!(server.recv(&mut []).unwrap(), Received::Interrupted);
        // Nothing is read: the sends fill all buffers, and then give up.
        let sent = if zero_copy {
            fill(RingZeroCopy::new(client, 4, soon).unwrap())
        } else {
            fill(RingSend::<false>::new(client, None, (4, 1 << 18), soon).unwrap())
        };
        let mut total = 0;
        loop {
            match server.recv(&mut []).unwrap() {
                Received::Bytes(count) => total += count,
                Received::End => break,
                Received::Interrupted | Received::TimedOut => {}
            }
        }
        assert_eq!(total, sent);
    }
}

/// Sends until a send gives up; the bytes that the kernel took.
fn fill(mut endpoint: impl Endpoint + OnSocket) -> usize {
    let (data, mut total) = (vec![7; 1 << 20], 0);
    while let Sent::Bytes(count) = endpoint.send(&data).unwrap() {
        total += count;
    }
    calls::half_close(endpoint.fd()).unwrap();
    total
}

#[test]
fn calls_of_both_directions_never_wait() {
    let (client, server) = pair();
    let mut client = ByRing::of_both_ways(Tcp(client)).unwrap();
    assert_eq!(client.recv(&mut [0; 8]).unwrap(), Received::TimedOut);
    let (data, mut sent) = (vec![7; 1 << 20], 0);
    loop {
        match client.send(&data) {
            Ok(Sent::Bytes(count)) => sent += count,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                break;
            }
            Ok(other) => panic!("{other:?}"),
        }
    }
    drop(client.into_socket());
    let (mut server, mut buf, mut total) = (Tcp(server), vec![0; 1 << 20], 0);
    while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
        total += count;
    }
    assert_eq!(total, sent);
}

#[test]
fn no_more_sends_are_held_than_there_are_buffers_and_all_are_heard_of() {
    let (client, server) = pair();
    let reader = thread::spawn(move || {
        let (mut server, mut buf, mut total) = (Tcp(server), vec![0; 1 << 16], 0);
        while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
            total += count;
        }
        total
    });
    let mut client = RingZeroCopy::new(client, 4, None).unwrap();
    let (data, mut total) = (vec![7; 50_000], 0);
    for _ in 0..100 {
        if let Sent::Bytes(count) = client.send(&data).unwrap() {
            total += count;
        }
        assert!(client.ring.held().now <= 4);
    }
    client.reclaim();
    assert_eq!(client.ring.held().now, 0);
    assert_eq!(client.counts().unwrap().send_calls, 100);
    drop(client);
    assert_eq!(reader.join().unwrap(), total);
}
