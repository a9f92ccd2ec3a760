//! The transports of the link level and of ATM, over real interfaces.
//!
//! Frames need root, and go over the loopback interface and over a cable in a private
//! network. LLC type 2 and ATM live in the first network namespace alone and need a kernel
//! that has them: the virtual machine of the lab has both (`NETPERF_LAB=vm`).

use std::io;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use netperf_model::{Address, Family, PlacePlan, SocketPlan, TransportId};
use netperf_os::Socket;
use netperf_testkit::lab::Lab;
use netperf_testkit::{environment, require};
use netperf_transport::atm::Atm;
use netperf_transport::frames::{FrameFormat, Frames, Llc1, Packet};
use netperf_transport::llc2::{self, Llc2, Llc2Endpoint};
use netperf_transport::meeting::{AcceptFilter, Addresses, Connects, Met, OnSocket, Parts};
use netperf_transport::place::{self, PlaceRequest};
use netperf_transport::{Endpoint, Received, Sent};
use netperf_transport::{largest, socket};

const SOON: Duration = Duration::from_secs(5);
const AT_ONCE: Duration = Duration::from_millis(200);

fn on(device: &str) -> PlacePlan {
    PlacePlan {
        device: Some(device.to_owned()),
        ..PlacePlan::default()
    }
}

fn wanted(transport: TransportId, place: &PlacePlan, asking: bool) -> PlaceRequest<'_> {
    PlaceRequest {
        transport,
        inet: ([0, 0, 0, 0], 0).into(),
        place,
        asking,
    }
}

/// A bound socket and its address.
fn bound(transport: TransportId, place: &PlacePlan, asking: bool) -> (Socket, Address) {
    let opened = socket::open(transport, Family::V4, &SocketPlan::default()).unwrap();
    opened.socket.set_read_timeout(Some(SOON)).unwrap();
    let placed = place::bind(&opened.socket, &wanted(transport, place, asking)).unwrap();
    (opened.socket, placed.address.unwrap())
}

/// Two ends of a transport that has no connections: the one that asks and the other.
fn ends<A: Addresses>(
    how: &A,
    transport: TransportId,
    (near, far): (&PlacePlan, &PlacePlan),
) -> (A::Asking, A::Answering) {
    let (answers, address) = bound(transport, far, false);
    let (asks, own) = bound(transport, near, true);
    assert_ne!(own, address);
    let to = place::sock_addr(transport, &address).unwrap();
    (
        how.asking(asks, to).unwrap(),
        how.answering(answers).unwrap(),
    )
}

fn question_and_answer(asking: &mut impl Endpoint, answering: &mut impl Endpoint, largest: usize) {
    let mut buf = vec![0; largest + 10];
    for length in [1, 2, 45, 46, 47, 100, largest] {
        let question: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        assert_eq!(asking.send(&question).unwrap(), Sent::Bytes(length));
        assert_eq!(answering.recv(&mut buf).unwrap(), Received::Bytes(length));
        assert_eq!(buf[..length], question[..]);
        assert_eq!(answering.send(&buf[..length]).unwrap(), Sent::Bytes(length));
        buf.fill(0xff);
        assert_eq!(asking.recv(&mut buf).unwrap(), Received::Bytes(length));
        assert_eq!(buf[..length], question[..]);
    }
    // A shorter buffer gets the beginning, and the rest is gone.
    asking.send(&[7; 100]).unwrap();
    assert_eq!(answering.recv(&mut buf[..10]).unwrap(), Received::Bytes(10));
    asking.send(&[8; 1]).unwrap();
    assert_eq!(answering.recv(&mut buf).unwrap(), Received::Bytes(1));
}

fn is_too_long(result: io::Result<Sent>) -> bool {
    result.is_err_and(|error| error.raw_os_error() == Some(netperf_os::io::MESSAGE_TOO_LONG))
}

fn frames_move<F: FrameFormat>(transport: TransportId, near: &str, far: &str) {
    let (near, far) = (on(near), on(far));
    let how = Frames::<F>::new();
    let (socket, _) = bound(transport, &near, true);
    let largest = largest::message(transport, &socket, None).unwrap();
    drop(socket);
    let largest = usize::try_from(largest).unwrap();
    let (mut asking, mut answering) = ends(&how, transport, (&near, &far));
    question_and_answer(&mut asking, &mut answering, largest);
    assert!(is_too_long(asking.send(&vec![0; largest + 1])));
    assert!(is_too_long(answering.send(&vec![0; largest + 1])));
    assert!(asking.part().mark().is_some());
    assert_eq!(answering.recv(&mut [0; 16]).unwrap(), Received::End);
}

fn frames_for_others_stay_away<F: FrameFormat>(transport: TransportId, device: &str) {
    let how = Frames::<F>::new();
    let place = on(device);
    let elsewhere = PlacePlan {
        sap: Some(0x70),
        ..place.clone()
    };
    let (mut asking, mut answering) = ends(&how, transport, (&place, &place));
    let (other, _) = bound(transport, &elsewhere, false);
    other.set_read_timeout(Some(AT_ONCE)).unwrap();
    let mut other = how.answering(other).unwrap();
    asking.send(&[1; 10]).unwrap();
    assert_eq!(other.recv(&mut [0; 16]).unwrap(), Received::TimedOut);
    // It was not asked, so there is no peer to tell of an end.
    assert!(other.part().mark().is_none());
    // Over a cable the frame went to the other side, and to no host there.
    if device == "lo" {
        let got = answering.recv(&mut [0; 16]).unwrap();
        assert_eq!(got, Received::Bytes(10));
    }
}

#[test]
fn frames_go_over_the_loopback_interface() {
    if !require::root() {
        return;
    }
    frames_move::<Llc1>(TransportId::Llc1, "lo", "lo");
    frames_move::<Packet>(TransportId::Packet, "lo", "lo");
    frames_for_others_stay_away::<Llc1>(TransportId::Llc1, "lo");
    frames_for_others_stay_away::<Packet>(TransportId::Packet, "lo");
}

/// Interfaces joined by a cable, where there are any.
fn cable() -> Option<(String, String)> {
    let ends = environment("LAB_LLC")?;
    let (near, far) = ends.split_once(',').expect("two interfaces in LAB_LLC");
    Some((near.to_owned(), far.to_owned()))
}

/// Runs a test of this file again in a private network with a cable.
fn again_with_a_cable(test: &str) {
    let own = std::env::current_exe().unwrap();
    let script = "ip link set lo up && ip link add one type veth peer name other \
                  && ip link set one up && ip link set other up && exec \"$0\" \"$@\"";
    let output = Command::new("unshare")
        .args(["--net", "sh", "-c", script])
        .arg(own)
        .args(["--exact", test, "--nocapture"])
        .env("LAB_LLC", "one,other")
        .output()
        .expect("unshare");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn frames_go_over_a_cable() {
    if !require::root() {
        return;
    }
    let Some((near, far)) = cable() else {
        return again_with_a_cable("link::frames_go_over_a_cable");
    };
    frames_move::<Llc1>(TransportId::Llc1, &near, &far);
    frames_move::<Packet>(TransportId::Packet, &near, &far);
    frames_for_others_stay_away::<Llc1>(TransportId::Llc1, &near);
}

fn never() -> impl FnMut() -> bool {
    || panic!("interrupted")
}

fn connected(met: io::Result<Met<Llc2Endpoint>>) -> Llc2Endpoint {
    match met.unwrap() {
        Met::Connected(records) => records,
        Met::GivenUp => panic!("given up"),
    }
}

/// A connection of LLC type 2 over the cable.
fn llc2_pair(
    listener: &Socket,
    address: &Address,
    near: &PlacePlan,
) -> (Llc2Endpoint, Llc2Endpoint) {
    let to = place::sock_addr(TransportId::Llc2, address).unwrap();
    let (socket, own) = bound(TransportId::Llc2, near, true);
    assert_ne!(&own, address);
    let near = connected(Llc2.connect(socket, &to, &mut never()));
    let far = connected(Llc2.accept(AcceptFilter::open(listener), &mut never()));
    (near, far)
}

fn llc2_listener(place: &PlacePlan) -> (Socket, Address) {
    let (listener, address) = bound(TransportId::Llc2, place, false);
    socket::listen(&listener, &SocketPlan::default()).unwrap();
    (listener, address)
}

fn received_in_all(mut end: Llc2Endpoint) -> usize {
    let (mut total, mut buf) = (0, vec![0; 65_536]);
    loop {
        match end.recv(&mut buf).unwrap() {
            Received::Bytes(count) => total += count,
            Received::End => return total,
            other @ (Received::Interrupted | Received::TimedOut) => {
                panic!("{other:?} after {total} bytes")
            }
        }
    }
}

fn send_some(end: &mut Llc2Endpoint) -> usize {
    let mut total = 0;
    for _ in 0..2000 {
        match end.send(&[7; 4096]).unwrap() {
            Sent::Bytes(count) => total += count,
            other @ (Sent::Dropped | Sent::Interrupted) => panic!("{other:?}"),
        }
    }
    total
}

#[test]
fn every_byte_that_llc_type_2_takes_arrives_before_the_end_in_either_direction() {
    if !Lab::Vm.is_here() {
        return;
    }
    let (near, far) = cable().unwrap();
    let near = on(&near);
    let far = PlacePlan {
        sap: Some(0x24),
        ..on(&far)
    };
    let (listener, address) = llc2_listener(&far);
    for _ in 0..3 {
        // netperf sends, tells the end and waits for the close.
        let (mut near_end, far_end) = llc2_pair(&listener, &address, &near);
        let reader = thread::spawn(move || received_in_all(far_end));
        let sent = send_some(&mut near_end);
        let socket = near_end.into_socket();
        llc2::send_end(&socket).unwrap();
        assert_eq!(reader.join().unwrap(), sent);
        // Before the close there may be a last word of how much was read.
        let mut rest = [0; 64];
        while netperf_os::io::recv(socket.as_fd(), &mut rest).unwrap() > 0 {}
        // Nothing is lost when the other end takes its time.
        let (mut near_end, far_end) = llc2_pair(&listener, &address, &near);
        let reader = thread::spawn(move || {
            // The delay of the other end.
            thread::sleep(AT_ONCE);
            received_in_all(far_end)
        });
        let sent = send_some(&mut near_end);
        near_end.settle();
        assert_eq!(reader.join().unwrap(), sent);
        // netserver sends and is the first to close.
        let (near_end, mut far_end) = llc2_pair(&listener, &address, &near);
        let reader = thread::spawn(move || received_in_all(near_end));
        let sent = send_some(&mut far_end);
        far_end.settle();
        drop(far_end);
        assert_eq!(reader.join().unwrap(), sent);
    }
}

#[test]
fn llc_type_2_answers_questions_and_opens_one_connection_after_another() {
    if !Lab::Vm.is_here() {
        return;
    }
    let (near, far) = cable().unwrap();
    let near = on(&near);
    let far = PlacePlan {
        sap: Some(0x34),
        ..on(&far)
    };
    let (listener, address) = llc2_listener(&far);
    for _ in 0..50 {
        let (mut asks, mut answers) = llc2_pair(&listener, &address, &near);
        let mut buf = [0; 128];
        assert_eq!(asks.send(&[1; 128]).unwrap(), Sent::Bytes(128));
        assert_eq!(answers.recv(&mut buf).unwrap(), Received::Bytes(128));
        assert_eq!(answers.send(&buf).unwrap(), Sent::Bytes(128));
        let closer = thread::spawn(move || answers.settle());
        assert_eq!(asks.recv(&mut buf).unwrap(), Received::Bytes(128));
        assert_eq!(asks.recv(&mut buf).unwrap(), Received::End);
        drop(asks);
        closer.join().unwrap();
    }
}

#[test]
fn llc_type_2_over_loopback_is_refused_with_a_reason_and_nobody_listening_is_an_error() {
    if !Lab::Vm.is_here() {
        return;
    }
    let opened = socket::open(TransportId::Llc2, Family::V4, &SocketPlan::default()).unwrap();
    let loopback = on("lo");
    let at = wanted(TransportId::Llc2, &loopback, false);
    let error = place::bind(&opened.socket, &at).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(error.to_string().contains("'lo'"), "{error}");
    let (near, far) = cable().unwrap();
    let (gone, address) = llc2_listener(&on(&far));
    drop(gone);
    let (socket, _) = bound(TransportId::Llc2, &on(&near), true);
    let to = place::sock_addr(TransportId::Llc2, &address).unwrap();
    let refused = Llc2.connect(socket, &to, &mut never()).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionAborted);
}

#[test]
fn messages_go_over_a_circuit_and_the_end_is_told() {
    if !Lab::Vm.is_here() {
        return;
    }
    let interfaces = environment("LAB_ATM").expect("LAB_ATM");
    let (near, far) = interfaces.split_once(',').expect("two interfaces");
    let (near, far) = (on(&format!("{near}.0.100")), on(&format!("{far}.0.100")));
    let (mut asking, mut answering) = ends(&Atm, TransportId::Atm, (&near, &far));
    question_and_answer(&mut asking, &mut answering, 65_535);
    assert!(is_too_long(asking.send(&vec![0; 65_536])));
    assert!(asking.part().mark().is_some());
    assert_eq!(answering.recv(&mut [0; 4]).unwrap(), Received::End);
    drop(answering);
    // The circuit is free again, and the other way round ends as well.
    let (asking, mut answering) = ends(&Atm, TransportId::Atm, (&far, &near));
    drop(asking.part());
    assert_eq!(answering.recv(&mut [0; 400]).unwrap(), Received::End);
}
