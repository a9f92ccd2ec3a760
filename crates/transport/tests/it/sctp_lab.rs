//! SCTP, DCCP and MPTCP over loopback, in the virtual machine whose kernel has them
//! (`NETPERF_LAB=vm`, see lab/vm).

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use netperf_model::{Address, Family, PlacePlan, SocketPlan, TransportId};
use netperf_os::io::MESSAGE_TOO_LONG;
use netperf_os::{SockAddr, Socket};
use netperf_testkit::{Lab, Stopwatch};
use netperf_transport::dccp::Dccp;
use netperf_transport::meeting::{AcceptFilter, Addresses, Connects, Met, OnSocket, Parted, Parts};
use netperf_transport::non_blocking::NonBlockingly;
use netperf_transport::place::{self, PlaceRequest};
use netperf_transport::registry::Asked;
use netperf_transport::sctp::{Sctp, SctpMany};
use netperf_transport::{Endpoint, Received, Sent, largest, meeting, socket, tcp};

const HOSTS: [&str; 2] = ["127.0.0.1", "::1"];

fn family(host: &str) -> Family {
    if host.contains(':') {
        Family::V6
    } else {
        Family::V4
    }
}

fn open(transport: TransportId, host: &str, plan: &SocketPlan) -> Socket {
    let opened = socket::open(transport, family(host), plan).unwrap();
    // No test may hang: a minute is far more than any of them takes.
    let minute = Some(Duration::from_secs(60));
    opened.socket.set_read_timeout(minute).unwrap();
    opened.socket
}

/// An open socket, bound to the host, and its address.
fn bound(transport: TransportId, host: &str, plan: &SocketPlan) -> (Socket, SockAddr) {
    let socket = open(transport, host, plan);
    let place = PlacePlan::default();
    let wanted = PlaceRequest {
        transport,
        inet: (host.parse::<std::net::IpAddr>().unwrap(), 0).into(),
        place: &place,
        asking: false,
    };
    let placed = place::bind(&socket, &wanted).unwrap();
    let Some(Address::Inet(address)) = placed.address else {
        panic!("{placed:?}");
    };
    (socket, address.into())
}

fn connected<T>(met: io::Result<Met<T>>) -> T {
    match met.unwrap() {
        Met::Connected(endpoint) => endpoint,
        Met::GivenUp => panic!("nobody gives up here"),
    }
}

/// Both ends of a connection: netperf's and netserver's.
fn pair<C: Connects>(how: &C, transport: TransportId, host: &str) -> (C::Endpoint, C::Endpoint) {
    pair_with(how, transport, host, &SocketPlan::default())
}

/// The same, netperf's socket as `asking` has it.
fn pair_with<C: Connects>(
    how: &C,
    transport: TransportId,
    host: &str,
    asking: &SocketPlan,
) -> (C::Endpoint, C::Endpoint) {
    let plan = SocketPlan::default();
    let (listener, to) = bound(transport, host, &plan);
    socket::listen(&listener, &plan).unwrap();
    let client = connected(how.connect(open(transport, host, asking), &to, &mut || false));
    let server = connected(how.accept(AcceptFilter::open(&listener), &mut || false));
    (client, server)
}

fn receive_to_the_end(endpoint: &mut impl Endpoint) -> u64 {
    let mut buf = vec![0; 300_000];
    let mut total = 0;
    loop {
        match endpoint.recv(&mut buf).unwrap() {
            Received::Bytes(count) => total += count as u64,
            Received::End => return total,
            Received::Interrupted => {}
            Received::TimedOut => panic!("no end after {total} bytes"),
        }
    }
}

fn send_whole(endpoint: &mut impl Endpoint, message: &[u8]) {
    loop {
        match endpoint.send(message).unwrap() {
            Sent::Bytes(count) => return assert_eq!(count, message.len()),
            Sent::Interrupted => {}
            Sent::Dropped => panic!("nothing is dropped here"),
        }
    }
}

/// Receives exactly this much, in however many parts.
fn receive(endpoint: &mut impl Endpoint, buf: &mut [u8]) {
    let mut got = 0;
    while got < buf.len() {
        match endpoint.recv(&mut buf[got..]).unwrap() {
            Received::Bytes(count) => got += count,
            Received::Interrupted => {}
            other @ (Received::End | Received::TimedOut) => panic!("{other:?} after {got} bytes"),
        }
    }
}

#[test]
fn an_association_carries_messages_as_large_as_the_send_buffer_and_ends_whole() {
    if !Lab::Vm.is_here() {
        return;
    }
    for host in HOSTS {
        let (client, mut server) = pair(&Sctp, TransportId::Sctp, host);
        let tcp::Tcp(data) = client;
        let largest = data.send_buffer_size().unwrap();
        let mut client = tcp::Tcp(data);
        let receiving = thread::spawn(move || (receive_to_the_end(&mut server), server));
        for _ in 0..5 {
            send_whole(&mut client, &vec![7; largest]);
        }
        let error = client.send(&vec![7; largest + 1]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(MESSAGE_TOO_LONG));
        let segment = socket::segment_size(TransportId::Sctp, client.fd());
        assert!(segment.is_some_and(|size| size > 1000), "{segment:?}");
        let facts = socket::facts(TransportId::Sctp, &client.0);
        assert!(facts.retransmissions.is_some());
        assert_eq!((facts.tcp, facts.congestion), (None, None));
        client.0.shutdown(std::net::Shutdown::Write).unwrap();
        let (total, server) = receiving.join().unwrap();
        assert_eq!(total, 5 * largest as u64);
        // The other end has nothing left to say, and knows it.
        let error = tcp::Tcp(server.into_socket()).send(b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

/// While its data is still on the way, an association that the other end ends is neither
/// up nor gone, and refuses with another error than afterwards.
#[test]
fn sender_over_an_ending_association_learns_that_it_is_gone() {
    // Far more than the receive buffer has space for, less than the send buffer has.
    const MESSAGE: usize = 100_000;
    let small = SocketPlan {
        recv_buffer: Some(4096),
        ..SocketPlan::default()
    };
    if !Lab::Vm.is_here() {
        return;
    }
    for host in HOSTS {
        let (client, mut server) = pair_with(&Sctp, TransportId::Sctp, host, &small);
        send_whole(&mut server, &[7; MESSAGE]);
        client.0.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(receive_to_the_end(&mut server), 0);
        let error = server.send(b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{error}");
    }
}

#[test]
fn no_delay_is_set_on_an_association() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan {
        nodelay: true,
        ..SocketPlan::default()
    };
    for transport in [TransportId::Sctp, TransportId::SctpMany] {
        let socket = open(transport, "127.0.0.1", &plan);
        let option = netperf_os::sockopt::IntOption::SctpNoDelay;
        assert_eq!(
            netperf_os::sockopt::fetch(socket.as_fd(), option).unwrap(),
            1
        );
    }
}

fn many(plan: &SocketPlan, associations: u32) -> SctpMany {
    SctpMany::new(Asked {
        socket: plan,
        associations,
        exchange: false,
    })
}

/// As [`many`], for requests and responses.
fn many_asking(plan: &SocketPlan, associations: u32) -> SctpMany {
    SctpMany::new(Asked {
        socket: plan,
        associations,
        exchange: true,
    })
}

/// Requests of this size and answers of that, so many times; then the end.
fn questions_and_answers(
    mut asking: impl Parts,
    mut answering: impl Parts + Send + 'static,
    (request, response): (usize, usize),
    times: usize,
) {
    let serving = thread::spawn(move || {
        let (mut question, answer) = (vec![0; request], vec![1; response]);
        let mut count = 0;
        'all: loop {
            let mut got = 0;
            while got < request {
                match answering.recv(&mut question[got..]).unwrap() {
                    Received::Bytes(part) => got += part,
                    Received::Interrupted => {}
                    Received::End => break 'all,
                    Received::TimedOut => panic!("no end after {count} questions"),
                }
            }
            send_whole(&mut answering, &answer);
            count += 1;
        }
        (count, answering.waited_in_vain())
    });
    let mut answer = vec![0; response];
    for _ in 0..times {
        send_whole(&mut asking, &vec![2; request]);
        receive(&mut asking, &mut answer);
        assert!(answer.iter().all(|byte| *byte == 1));
    }
    assert!(asking.part().mark().is_none());
    assert_eq!(serving.join().unwrap(), (times, Duration::ZERO));
}

#[test]
fn every_one_of_many_associations_asks_in_turn_and_is_answered() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan::default();
    for (host, count) in HOSTS.into_iter().zip([1, 4]) {
        for sizes in [(1, 1), (100_000, 150_000)] {
            let how = many_asking(&plan, count);
            let (server, to) = bound(TransportId::SctpMany, host, &plan);
            let answering = how.answering(server).unwrap();
            let (client, _) = bound(TransportId::SctpMany, host, &plan);
            let asking = how.asking(client, to).unwrap();
            questions_and_answers(asking, answering, sizes, 10);
        }
    }
}

#[test]
fn long_requests_of_many_associations_at_once_are_each_answered_whole() {
    if !Lab::Vm.is_here() {
        return;
    }
    const LENGTH: usize = 100_000;
    let plan = SocketPlan::default();
    let how = many_asking(&plan, 4);
    let (server, to) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let mut answering = how.answering(server).unwrap();
    let serving = thread::spawn(move || {
        // As for a netperf whose requests are longer than it said: a message is a request.
        let mut question = vec![0; 1000];
        let mut count = 0;
        loop {
            match answering.recv(&mut question).unwrap() {
                Received::Bytes(1000) => send_whole(&mut answering, &[1; 3000]),
                Received::End => return count,
                Received::Interrupted => continue,
                other @ (Received::Bytes(_) | Received::TimedOut) => panic!("{other:?}"),
            }
            count += 1;
        }
    });
    let (client, _) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let mut asking = how.asking(client, to).unwrap();
    for _ in 0..8 {
        send_whole(&mut asking, &[2; LENGTH]);
    }
    for _ in 0..8 {
        receive(&mut asking, &mut [0; 3000]);
    }
    assert!(asking.part().mark().is_none());
    assert_eq!(serving.join().unwrap(), 8);
}

#[test]
fn associations_that_never_wait_are_answered_all_the_same() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan::default();
    let how = NonBlockingly(many_asking(&plan, 3));
    let (server, to) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let answering = how.answering(server).unwrap();
    let (client, _) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let asking = how.asking(client, to).unwrap();
    questions_and_answers(asking, answering, (10, 10), 20);

    let (mut client, mut server) = pair(&NonBlockingly(Sctp), TransportId::Sctp, "127.0.0.1");
    let receiving = thread::spawn(move || receive_to_the_end(&mut server));
    for _ in 0..20 {
        send_whole(&mut client, &[7; 50_000]);
    }
    drop(client);
    assert_eq!(receiving.join().unwrap(), 20 * 50_000);
}

#[test]
fn data_of_many_associations_has_arrived_when_they_have_ended() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan::default();
    let how = many(&plan, 3);
    let (server, to) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let mut answering = how.answering(server).unwrap();
    let receiving = thread::spawn(move || {
        let total = receive_to_the_end(&mut answering);
        (total, answering.waited_in_vain())
    });
    let (client, _) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let mut asking = how.asking(client, to).unwrap();
    for _ in 0..31 {
        send_whole(&mut asking, &[7; 65_536]);
    }
    let facts = asking.facts().unwrap();
    assert!(facts.retransmissions.is_some() && facts.segment_size.is_some());
    assert!(asking.part().mark().is_none());
    assert_eq!(receiving.join().unwrap(), (31 * 65_536, Duration::ZERO));
}

#[test]
fn a_silence_after_two_ends_is_no_end_of_the_third() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan::default();
    let (server, to) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let one = many(&plan, 1);
    let mut answering = one.answering(server).unwrap();
    let ask = || one.asking(open(TransportId::SctpMany, "127.0.0.1", &plan), to.clone());
    let mut asking = [ask().unwrap(), ask().unwrap(), ask().unwrap()];
    for end in &mut asking {
        send_whole(end, &[7; 1000]);
    }
    let receiving = thread::spawn(move || {
        let total = receive_to_the_end(&mut answering);
        (total, answering.waited_in_vain())
    });
    let [first, second, mut third] = asking;
    assert!(first.part().mark().is_none() && second.part().mark().is_none());
    // Longer than the shortest silence that ends a test, as after two lost retransmissions.
    thread::sleep(Duration::from_secs(3));
    send_whole(&mut third, &[7; 30]);
    assert!(third.part().mark().is_none());
    assert_eq!(receiving.join().unwrap(), (3030, Duration::ZERO));
}

#[test]
fn a_silence_after_the_first_end_is_the_end_of_the_others_and_does_not_count() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan::default();
    let (server, to) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    // As for another implementation of netperf: nothing is known of how many there will be.
    let mut answering = many(&plan, 1).answering(server).unwrap();
    let one = many(&plan, 1);
    let ask = || one.asking(open(TransportId::SctpMany, "127.0.0.1", &plan), to.clone());
    let (mut first, mut second) = (ask().unwrap(), ask().unwrap());
    send_whole(&mut first, &[7; 1000]);
    send_whole(&mut second, &[7; 500]);
    assert!(matches!(first.part(), Parted::Done));
    send_whole(&mut second, &[7; 30]);
    let waiting = Stopwatch::start();
    assert_eq!(receive_to_the_end(&mut answering), 1530);
    let (vain, waited) = (answering.waited_in_vain(), waiting.elapsed());
    assert!(
        vain > Duration::from_secs(1) && vain <= waited,
        "{vain:?} of {waited:?}"
    );
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    drop(second);
}

#[test]
fn netserver_sends_over_the_association_that_netperf_made_or_makes_it() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan::default();
    let how = many(&plan, 1);
    let (server, to_server) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let (client, to_client) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    let sending = thread::spawn(move || {
        let mut end = many(&SocketPlan::default(), 1)
            .asking(server, to_client)
            .unwrap();
        for _ in 0..10 {
            send_whole(&mut end, &[7; 65_536]);
        }
        end.part().mark().is_none()
    });
    let mut receiving = how.asking(client, to_server).unwrap();
    assert_eq!(receive_to_the_end(&mut receiving), 10 * 65_536);
    assert!(receiving.facts().unwrap().segment_size.is_some());
    assert!(sending.join().unwrap());
}

#[test]
fn closed_port_is_reported_at_once() {
    if !Lab::Vm.is_here() {
        return;
    }
    let plan = SocketPlan::default();
    let (gone, to) = bound(TransportId::SctpMany, "127.0.0.1", &plan);
    drop(gone);
    let client = open(TransportId::SctpMany, "127.0.0.1", &plan);
    let error = many(&plan, 1).asking(client, to).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_dccp_sender_waits_for_room_and_its_end_is_heard() {
    if !Lab::Vm.is_here() {
        return;
    }
    for host in HOSTS {
        let (client, mut server) = pair(&Dccp, TransportId::Dccp, host);
        let receiving = thread::spawn(move || receive_to_the_end(&mut server));
        let peer = host.parse().ok();
        let largest = largest::message(TransportId::Dccp, &client.0, peer).unwrap();
        let largest = usize::try_from(largest).unwrap();
        let mut client = client;
        send_whole(&mut client, &vec![7; largest]);
        let error = client.send(&[7; 65_536]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(MESSAGE_TOO_LONG));
        let mut sent = largest as u64;
        for _ in 0..300 {
            // Never interrupted, never refused: it waits.
            assert_eq!(client.send(&[7; 1000]).unwrap(), Sent::Bytes(1000));
            sent += 1000;
        }
        let mut mark = client.part().mark().unwrap();
        while !receiving.is_finished() {
            mark.send();
            thread::sleep(Duration::from_millis(10));
        }
        let received = receiving.join().unwrap();
        assert!(received > 0 && received <= sent, "{received} of {sent}");
    }
}

#[test]
fn before_it_is_connected_a_dccp_message_is_as_large_as_every_path_takes() {
    if !Lab::Vm.is_here() {
        return;
    }
    let socket = open(TransportId::Dccp, "127.0.0.1", &SocketPlan::default());
    let largest = largest::message(TransportId::Dccp, &socket, None);
    assert!(
        largest.is_some_and(|size| (500..1500).contains(&size)),
        "{largest:?}"
    );
}

#[test]
fn mptcp_says_whether_it_fell_back() {
    if !Lab::Vm.is_here() {
        return;
    }
    let transport = TransportId::Mptcp;
    let how = meeting::Plain::<tcp::Tcp>::new();
    let (mut client, mut server) = pair(&how, transport, "127.0.0.1");
    let receiving = thread::spawn(move || (receive_to_the_end(&mut server), server));
    send_whole(&mut client, &[7; 10_000]);
    client.0.shutdown(std::net::Shutdown::Write).unwrap();
    let (total, server) = receiving.join().unwrap();
    assert_eq!(total, 10_000);
    // After the end, too, as that is when netperf asks.
    drop(server);
    assert_eq!(client.recv(&mut [0; 10]).unwrap(), Received::End);
    let facts = socket::facts(transport, &client.0);
    assert_eq!(facts.fallback, Some(false));
    assert!(facts.tcp.is_some());
    let segment = socket::segment_size(transport, client.fd());
    assert!(segment.is_some_and(|size| size > 0));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().into();
    let plain = open(transport, "127.0.0.1", &SocketPlan::default());
    let mut client = connected(how.connect(plain, &to, &mut || false));
    let (server, _) = listener.accept().unwrap();
    send_whole(&mut client, b"abc");
    assert_eq!(socket::facts(transport, &client.0).fallback, Some(true));
    drop(server);
}
