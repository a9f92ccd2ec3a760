use std::net::{TcpListener, TcpStream, UdpSocket};

use netperf_testkit::eventually;

use super::*;

/// A number and a time of eight bytes each.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plain;

impl DatagramFormat for Plain {
    fn write(self, datagram: &mut [u8], number: u64, nanos: u64) {
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        datagram[8..16].copy_from_slice(&nanos.to_be_bytes());
    }

    fn read(self, datagram: &[u8]) -> Option<(u64, u64)> {
        let (number, rest) = datagram.split_first_chunk()?;
        let time = rest.first_chunk()?;
        Some((u64::from_be_bytes(*number), u64::from_be_bytes(*time)))
    }
}

fn plan(size: usize) -> StreamsPlan<Plain> {
    StreamsPlan {
        size,
        rate: None,
        burst: 1,
        datagrams: None,
        zerocopy: false,
        digits: true,
    }
}

fn tcp_pair() -> (Socket, Socket) {
    netperf_testkit::watchdog::watch_unit();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client.into(), listener.accept().unwrap().0.into())
}

fn udp_pair() -> (Socket, Socket) {
    netperf_testkit::watchdog::watch_unit();
    let [one, two] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    one.connect(two.local_addr().unwrap()).unwrap();
    two.connect(one.local_addr().unwrap()).unwrap();
    (one.into(), two.into())
}

fn stream(socket: Socket, sends: bool, amount: Option<u64>) -> StreamSocket {
    StreamSocket {
        socket,
        sends,
        amount,
        file: None,
    }
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn an_amount_arrives_whole_on_each_stream() {
    for zerocopy in [false, true] {
        let pairs: Vec<_> = (0..3).map(|_| tcp_pair()).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let plan = StreamsPlan {
            zerocopy,
            ..plan(1000)
        };
        let of = |sockets: Vec<Socket>, sends, amount| {
            let all = sockets.into_iter();
            let all = all.map(|socket| stream(socket, sends, amount)).collect();
            Streams::prepare(plan, all).unwrap()
        };
        let mut receivers = of(receivers, false, None);
        let mut senders = of(senders, true, Some(50_000));
        receivers.start();
        senders.start();
        let done = |streams: &Streams| streams.read().iter().all(|one| one.ended > 0);
        assert!(eventually(LONG, || done(&senders)));
        let all = |streams: &Streams| streams.read().iter().map(|one| one.bytes).sum::<u64>();
        assert!(eventually(LONG, || all(&receivers) == 150_000));
        for reading in senders.finish(true).iter().chain(&receivers.finish(true)) {
            assert_eq!((reading.bytes, reading.errno), (50_000, 0), "{zerocopy}");
        }
    }
}

#[test]
fn streams_end_when_they_are_told_whatever_blocks_them() {
    let (sender, peer) = tcp_pair();
    let (receiver, silent) = tcp_pair();
    let both = vec![stream(sender, true, None), stream(receiver, false, None)];
    let mut streams = Streams::prepare(plan(100_000), both).unwrap();
    streams.start();
    let mut before = 0;
    // The peer does not read: at some time the sender is blocked.
    let blocked = eventually(LONG, || {
        let now = streams.read()[0].bytes;
        let same = now == before && now > 0;
        before = now;
        std::thread::sleep(PATIENCE);
        same
    });
    assert!(blocked);
    let counts = streams.finish(true);
    assert!(counts[0].bytes > 0 && counts[1].bytes == 0);
    drop((peer, silent));
}

#[test]
fn datagrams_are_numbered_and_counted_at_any_rate() {
    for rate in [None, Some(1e6), Some(2e9)] {
        let (sender, receiver) = udp_pair();
        receiver.set_recv_buffer_size(1 << 20).unwrap();
        let plan = StreamsPlan {
            datagrams: Some(Plain),
            rate,
            ..plan(100)
        };
        let receivers = vec![stream(receiver, false, None)];
        let mut receivers = Streams::prepare(plan, receivers).unwrap();
        let senders = vec![stream(sender, true, Some(1950))];
        let mut senders = Streams::prepare(plan, senders).unwrap();
        receivers.start();
        senders.start();
        assert!(eventually(LONG, || senders.read()[0].ended > 0));
        let sent = senders.finish(true)[0];
        // Whole datagrams: 1950 bytes are 20 of 100.
        assert_eq!((sent.bytes, sent.messages), (2000, 20), "{rate:?}");
        assert!(eventually(LONG, || receivers.read()[0].messages == 20));
        let arrived = receivers.finish(true)[0];
        assert_eq!(arrived.bytes, 2000);
        let counts = arrived.datagrams.order;
        assert_eq!(
            (counts.highest, counts.lost, counts.out_of_order),
            (20, 0, 0)
        );
    }
}

#[test]
fn a_receiver_takes_what_has_arrived_when_it_is_to_finish() {
    let (sender, receiver) = udp_pair();
    let plan = StreamsPlan {
        datagrams: Some(Plain),
        ..plan(100)
    };
    let mut datagram = [0; 100];
    for number in [1, 3, 2, 5] {
        Plain.write(&mut datagram, number, 0);
        sender.send(&datagram).unwrap();
    }
    let mut receivers = Streams::prepare(plan, vec![stream(receiver, false, None)]).unwrap();
    receivers.start();
    assert!(eventually(LONG, || receivers.read()[0].messages > 0));
    let counts = receivers.finish(true)[0].datagrams.order;
    assert_eq!((counts.arrived, counts.highest), (4, 5));
    assert_eq!((counts.lost, counts.out_of_order), (1, 1));
}

#[test]
fn a_receiver_that_starts_late_takes_what_has_arrived() {
    let (sender, receiver) = udp_pair();
    let plan = StreamsPlan {
        datagrams: Some(Plain),
        ..plan(100)
    };
    let mut datagram = [0; 100];
    Plain.write(&mut datagram, 1, 0);
    sender.send(&datagram).unwrap();
    let mut receivers = Streams::prepare(plan, vec![stream(receiver, false, None)]).unwrap();
    // The end comes before any thread has seen the start.
    let counts = receivers.finish(true)[0];
    assert_eq!((counts.bytes, counts.datagrams.order.arrived), (100, 1));
}

#[test]
fn a_rate_is_kept() {
    let (sender, receiver) = tcp_pair();
    let plan = StreamsPlan {
        rate: Some(8e5),
        ..plan(1000)
    };
    let mut receivers = Streams::prepare(plan, vec![stream(receiver, false, None)]).unwrap();
    let mut senders = Streams::prepare(plan, vec![stream(sender, true, Some(30_000))]).unwrap();
    let begin = clock::now();
    receivers.start();
    senders.start();
    assert!(eventually(LONG, || senders.read()[0].ended > 0));
    // A block is due every 10 milliseconds, the first at once.
    assert!(begin.elapsed() >= Duration::from_millis(290));
    senders.finish(true);
    receivers.finish(true);
}

#[test]
fn streams_that_never_start_end() {
    let (sender, _peer) = tcp_pair();
    let mut streams = Streams::prepare(plan(10), vec![stream(sender, true, None)]).unwrap();
    assert_eq!(streams.finish(false)[0].bytes, 0);
}
