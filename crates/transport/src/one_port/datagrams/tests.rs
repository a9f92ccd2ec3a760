use std::net::UdpSocket;
use std::sync::mpsc;

use netperf_model::{DataPeers, EndFlows, Family, Flow, Limit, Policy, TransportId, Workers};
use netperf_os::pass;

use super::super::{begins_preamble, send_message};
use super::*;

const TOKEN: Token = Token::new([3; Token::BYTES]);

fn job(flows: Option<u32>) -> EndJob {
    EndJob {
        request: Some(1),
        response: Some(1),
        flows: flows.map(|flows| EndFlows::new(flows, Workers::default())),
        token: Some(TOKEN),
        ..EndJob::new(TransportId::Udp, Family::V4, Flow::RR, Limit::UntilStopped)
    }
}

fn shared(at: &str) -> Socket {
    let socket = open().unwrap();
    socket
        .bind(&at.parse::<SocketAddr>().unwrap().into())
        .unwrap();
    socket
}

fn open() -> io::Result<Socket> {
    let socket = Socket::new(netperf_os::Domain::IPV4, netperf_os::Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

fn never() -> impl FnMut() -> bool {
    || false
}

/// Forwards datagrams from `port`, except the first `lost`, until it is told to stop.
fn announces(port: &Socket, handoff: &Socket, mut lost: usize, stop: &mpsc::Receiver<()>) {
    let to = port.local_addr().unwrap().as_socket().unwrap();
    while stop.try_recv().is_err() {
        if all_ready(&[port.as_fd()], LOOK).unwrap() != [true] {
            continue;
        }
        let mut bytes = [0; 64];
        let mut source = calls::Source::unknown();
        let count = calls::recv_from(port.as_fd(), &mut bytes, &mut source).unwrap();
        if lost > 0 {
            lost -= 1;
            continue;
        }
        let read = Preamble::read(&bytes[..count]).unwrap();
        let probe = Probe {
            token: read.token,
            number: read.number,
            from: source.address().unwrap(),
            to,
        };
        send_message(handoff, &HandoffMessage::Probe(probe)).unwrap();
    }
}

/// Runs both sides. Returns netperf's sockets and netserver's result.
fn find(
    flows: u32,
    lost: usize,
    first: impl Fn(&[Socket], &SockAddr) + Sync,
) -> (Vec<Socket>, FoundPeer) {
    let port = shared("127.0.0.1:0");
    let to = port.local_addr().unwrap();
    let (listener, session) = pass::pair().unwrap();
    let (tell, stop) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| announces(&port, &listener, lost, &{ stop }));
        let asks = scope.spawn(|| {
            let sockets: Vec<Socket> = (0..flows)
                .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap().into())
                .collect();
            // The probes of the last flows arrive first.
            let numbered = (0..).zip(&sockets).collect::<Vec<_>>().into_iter().rev();
            probe(numbered, &to, &TOKEN, &mut never()).unwrap();
            first(&sockets, &to);
            sockets
        });
        let job = job(Some(flows));
        let found = meet(&session, &job, (open().unwrap(), open), &mut never()).unwrap();
        tell.send(()).unwrap();
        (asks.join().unwrap(), found)
    })
}

#[test]
fn sockets_find_each_other_however_many_and_what_is_lost_is_repeated() {
    netperf_testkit::watchdog::watch_unit();
    for (flows, lost) in [(1, 0), (1, 2), (5, 3)] {
        let (asking, found) = find(flows, lost, |sockets, to| {
            let one = sockets.first().unwrap();
            calls::send_to(one.as_fd(), b"data", to).unwrap();
        });
        assert_eq!(found.sockets.len(), asking.len());
        let own = |socket: &Socket| socket.local_addr().unwrap().as_socket().unwrap();
        assert!(asking.iter().any(|socket| own(socket) == found.peer));
        // The order of flows, whichever probe arrived first.
        for (socket, theirs) in asking.iter().zip(&found.sockets) {
            let at = socket.local_addr().unwrap().as_socket();
            assert_eq!(theirs.peer_addr().unwrap().as_socket(), at);
            // No probe and no answer remains that could be taken for data.
            let mut buf = [0; 64];
            let came = calls::recv_now(theirs.as_fd(), &mut buf).unwrap_or(0);
            assert!(came == 0 || &buf[..came] == b"data");
            assert!(calls::recv_now(theirs.as_fd(), &mut buf).is_err());
            assert!(calls::recv_now(socket.as_fd(), &mut buf).is_err());
            calls::send(theirs.as_fd(), b"back").unwrap();
            assert_eq!(calls::recv(socket.as_fd(), &mut buf).unwrap(), 4);
        }
    }
}

#[test]
fn netperf_that_only_receives_says_so_until_something_comes() {
    netperf_testkit::watchdog::watch_unit();
    let (near, far) = (
        UdpSocket::bind("127.0.0.1:0").unwrap(),
        UdpSocket::bind("127.0.0.1:0").unwrap(),
    );
    let (at, to) = (near.local_addr().unwrap(), far.local_addr().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let near = Socket::from(near.try_clone().unwrap());
            await_first(&near, &to.into(), &TOKEN, &mut never()).unwrap();
        });
        let mut buf = [0; 64];
        for _ in 0..2 {
            let (count, from) = far.recv_from(&mut buf).unwrap();
            assert_eq!(from, at);
            let read = Preamble::read(&buf[..count]).unwrap();
            assert_eq!((read.kind, read.token), (PreambleKind::Go, TOKEN));
            // A late answer does not end the wait.
            let late = Preamble {
                kind: PreambleKind::Answer,
                ..read
            };
            far.send_to(&late.bytes(), at).unwrap();
        }
        far.send_to(b"first", at).unwrap();
    });
    let mut buf = [0; 64];
    assert_eq!(near.recv(&mut buf).unwrap(), 5);
    assert!(!begins_preamble(&buf[..5]));
}

#[test]
fn probe_of_a_stranger_or_with_another_token_is_not_answered() {
    netperf_testkit::watchdog::watch_unit();
    let policy = Policy {
        data_peers: DataPeers::Same,
        ..Policy::default()
    };
    let (listener, session) = pass::pair().unwrap();
    let probe = |token, from: &str| Probe {
        token,
        number: 0,
        from: from.parse().unwrap(),
        to: "127.0.0.1:9".parse().unwrap(),
    };
    let other = Token::new([4; Token::BYTES]);
    for probe in [probe(TOKEN, "192.0.2.1:5"), probe(other, "127.0.0.1:5")] {
        send_message(&listener, &HandoffMessage::Probe(probe)).unwrap();
    }
    let job = EndJob {
        sources: policy.sources(Some("127.0.0.1".parse().unwrap())),
        ..job(None)
    };
    let mut looks = 0;
    let mut over = || {
        looks += 1;
        looks > 2
    };
    let met = meet(&session, &job, (open().unwrap(), open), &mut over).unwrap_err();
    assert_eq!(met.kind(), io::ErrorKind::ConnectionAborted);
    drop(listener);
    let met = meet(&session, &job, (open().unwrap(), open), &mut never()).unwrap_err();
    assert_eq!(met.kind(), io::ErrorKind::BrokenPipe);
}
