use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use netperf_os::{Domain, Type};

use super::*;
use crate::endpoint::{Endpoint, Received, Sent};
use crate::meeting::{AcceptFilter, Addresses, Connects, Met, Parts};

impl XtiError {
    /// The name that the standard has for it, which its text begins with.
    fn name(&self) -> String {
        let text = self.to_string();
        text.split(':').next().unwrap_or_default().to_owned()
    }
}

fn bound(kind: Type) -> (Socket, SockAddr) {
    let socket = Socket::new(Domain::IPV4, kind, None).unwrap();
    socket
        .bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
        .unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

fn opened() -> Xti {
    Xti::t_open(
        Provider::Tcp,
        Socket::new(Domain::IPV4, Type::STREAM, None).unwrap(),
    )
}

fn listening() -> (Xti, SockAddr) {
    let mut endpoint = opened();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into();
    endpoint.t_bind(Some(&any), 8).unwrap();
    let at = endpoint.socket.local_addr().unwrap();
    (endpoint, at)
}

/// Two connected endpoints.
fn pair() -> (Xti, Xti) {
    netperf_testkit::watchdog::watch_unit();
    let (mut listening, at) = listening();
    let mut active = opened();
    active.t_bind(None, 0).unwrap();
    active.t_connect(&at).unwrap();
    let indicated = listening.t_listen().unwrap();
    let passive = listening.t_accept(indicated).unwrap();
    (active, passive)
}

#[test]
fn every_call_in_every_state_does_what_the_standard_says() {
    let mut matrix = format!("{:14}", "");
    for state in State::ALL {
        matrix += &format!("{state:21}");
    }
    for call in Call::ALL {
        matrix = format!("{}\n{call:14}", matrix.trim_end());
        for state in State::ALL {
            let to: Vec<&str> = call
                .events()
                .iter()
                .filter_map(|event| next(*state, *event))
                .map(State::name)
                .collect();
            let cell = match (to.is_empty(), call.allowed().have(*state)) {
                (false, _) => to.join("|"),
                (true, true) => state.name().to_owned(),
                (true, false) if *state == State::Uninit => "TBADF".to_owned(),
                (true, false) => "TOUTSTATE".to_owned(),
            };
            matrix += &format!("{cell:21}");
        }
    }
    insta::assert_snapshot!(matrix.trim_end());
}

#[test]
fn each_event_makes_one_state_of_each_and_every_event_is_somebodys() {
    for (index, (event, from, _)) in TABLE.iter().enumerate() {
        let twice = TABLE[index + 1..]
            .iter()
            .any(|(other, state, _)| other == event && state == from);
        assert!(!twice, "{event} in {from}");
        // The other endpoint's `t_accept` causes this event.
        let known = Call::ALL.iter().any(|call| call.events().contains(event));
        assert!(known || *event == Event::PassCon, "{event}");
    }
}

/// Makes a call on a real endpoint.
fn made(endpoint: &mut Xti, call: Call) -> XtiResult<()> {
    let (_, at) = bound(Type::DGRAM);
    let mut source = Source::unknown();
    match call {
        Call::Open => Ok(()),
        Call::Bind => endpoint.t_bind(None, 0),
        Call::Unbind => endpoint.t_unbind(),
        Call::Close => endpoint.t_close(),
        Call::Look => endpoint.t_look().map(drop),
        Call::GetState => endpoint.t_getstate().map(drop),
        Call::Connect => endpoint.t_connect(&at),
        Call::RcvConnect => endpoint.t_rcvconnect(Duration::ZERO),
        Call::Listen => endpoint.t_listen().map(drop),
        Call::Accept => {
            let (socket, peer) = bound(Type::STREAM);
            endpoint.t_accept(Indicated { socket, peer }).map(drop)
        }
        Call::Snd => endpoint.t_snd(b"x").map(drop),
        Call::Rcv => endpoint.t_rcv(&mut [0; 8]).map(drop),
        Call::SndRel => endpoint.t_sndrel(),
        Call::RcvRel => endpoint.t_rcvrel(),
        Call::RcvDis => endpoint.t_rcvdis().map(drop),
        Call::SndUData => endpoint.t_sndudata(&at, b"x").map(drop),
        Call::RcvUData => endpoint.t_rcvudata(&mut [0; 8], &mut source).map(drop),
    }
}

#[test]
fn a_call_that_the_state_does_not_allow_is_refused_and_changes_nothing() {
    // Datagram endpoints have no connection states.
    let without_connection = &State::ALL[..3];
    for (provider, states) in [
        (Provider::Tcp, State::ALL),
        (Provider::Udp, without_connection),
    ] {
        for state in states {
            for call in Call::ALL {
                let mut endpoint = opened();
                (endpoint.provider, endpoint.state) = (provider, *state);
                let allowed = call.allowed().have(*state) && endpoint.provides(*call);
                if allowed || *call == Call::Open {
                    continue;
                }
                let error = made(&mut endpoint, *call).unwrap_err();
                let expected = match (state, endpoint.provides(*call)) {
                    (State::Uninit, _) => "TBADF",
                    (_, false) => "TNOTSUPPORT",
                    (_, true) => "TOUTSTATE",
                };
                assert_eq!(error.name(), expected, "{call} in {state}");
                assert_eq!(endpoint.state, *state, "{call}");
            }
        }
    }
}

#[test]
fn a_connection_goes_through_its_states_and_is_released_in_order() {
    let (mut active, mut passive) = pair();
    assert_eq!(active.t_getstate().unwrap(), State::DataXfer);
    assert_eq!(active.t_look().unwrap(), None);
    assert_eq!(active.t_snd(b"ask").unwrap(), 3);
    let mut buf = [0; 8];
    assert_eq!(passive.t_rcv(&mut buf).unwrap(), 3);
    assert_eq!(passive.t_rcvrel().unwrap_err().name(), "TNOREL");
    active.t_sndrel().unwrap();
    assert_eq!(active.t_getstate().unwrap(), State::OutRel);
    assert_eq!(active.t_snd(b"x").unwrap_err().name(), "TOUTSTATE");
    let error = passive.t_rcv(&mut buf).unwrap_err();
    assert!(matches!(error, XtiError::Look(Indication::OrdRel)));
    passive.t_rcvrel().unwrap();
    assert_eq!(passive.t_getstate().unwrap(), State::InRel);
    // The other direction is still there.
    assert_eq!(passive.t_snd(b"answer").unwrap(), 6);
    assert_eq!(active.t_look().unwrap(), Some(Indication::Data));
    assert_eq!(active.t_rcv(&mut buf).unwrap(), 6);
    passive.t_sndrel().unwrap();
    assert_eq!(passive.t_getstate().unwrap(), State::Idle);
    assert_eq!(active.t_look().unwrap(), Some(Indication::OrdRel));
    active.t_rcvrel().unwrap();
    active.t_unbind().unwrap();
    active.t_close().unwrap();
    assert_eq!(active.t_getstate().unwrap_err().name(), "TBADF");
}

#[test]
fn several_may_ask_before_any_is_accepted() {
    let (mut listening, at) = listening();
    assert_eq!(listening.t_look().unwrap(), None);
    let mut active = [opened(), opened()];
    for endpoint in &mut active {
        endpoint.t_bind(None, 0).unwrap();
        endpoint.t_connect(&at).unwrap();
    }
    assert_eq!(listening.t_look().unwrap(), Some(Indication::Listen));
    let first = listening.t_listen().unwrap();
    let second = listening.t_listen().unwrap();
    let asks = active[0].socket.local_addr().unwrap();
    assert_eq!(first.peer().as_socket(), asks.as_socket());
    listening.t_accept(second).unwrap();
    assert_eq!(listening.t_getstate().unwrap(), State::InCon);
    listening.t_accept(first).unwrap();
    assert_eq!(listening.t_getstate().unwrap(), State::Idle);
}

#[test]
fn a_connection_that_is_refused_or_reset_tells_why() {
    let (nobody, at) = bound(Type::STREAM);
    let mut endpoint = opened();
    endpoint.t_bind(None, 0).unwrap();
    assert_eq!(endpoint.t_connect(&at).unwrap_err().name(), "TLOOK");
    assert_eq!(endpoint.t_getstate().unwrap(), State::OutCon);
    assert_eq!(endpoint.t_look().unwrap(), Some(Indication::Disconnect));
    let reason = endpoint.t_rcvdis().unwrap();
    assert_eq!(reason.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(endpoint.t_getstate().unwrap(), State::Idle);
    assert_eq!(endpoint.t_bind(None, 0).unwrap_err().name(), "TOUTSTATE");
    drop(nobody);

    let (mut active, passive) = pair();
    passive.socket.set_linger(Some(Duration::ZERO)).unwrap();
    assert_eq!(active.t_rcvdis().unwrap_err().name(), "TNODIS");
    drop(passive);
    assert_eq!(active.t_rcv(&mut [0; 8]).unwrap_err().name(), "TLOOK");
    let reason = active.t_rcvdis().unwrap();
    assert_eq!(reason.kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn an_address_in_use_and_data_that_is_none_are_told_by_their_names() {
    let (taken, at) = listening();
    let error = opened().t_bind(Some(&at), 0).unwrap_err();
    assert_eq!(error.name(), "TADDRBUSY");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::AddrInUse);
    drop(taken);
    let (mut active, _passive) = pair();
    assert_eq!(active.t_snd(&[]).unwrap_err().name(), "TBADDATA");
}

#[test]
fn a_device_that_is_no_provider_of_the_transport_is_refused_by_its_name() {
    for (transport, device) in [
        (TransportId::XtiTcp, None),
        (TransportId::XtiTcp, Some("/dev/tcp")),
        (TransportId::XtiUdp, Some("udp")),
        (TransportId::Tcp, Some("eth0")),
    ] {
        check(transport, device).unwrap();
    }
    for (transport, device) in [
        (TransportId::XtiTcp, "/dev/udp"),
        (TransportId::XtiUdp, "/dev/tcp"),
        (TransportId::XtiTcp, "/dev/ticots"),
    ] {
        let error = check(transport, Some(device)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let expected = format!("TBADNAME: {device} is not a transport provider for this test");
        assert_eq!(error.to_string(), expected);
    }
}

fn connected(met: Met<XtiConnection>) -> XtiConnection {
    match met {
        Met::Connected(endpoint) => endpoint,
        Met::GivenUp => panic!("given up"),
    }
}

#[test]
fn a_test_runs_over_connections_and_every_byte_is_counted_at_both_ends() {
    let (listener, at) = bound(Type::STREAM);
    listener.listen(8).unwrap();
    let server = thread::spawn(move || {
        let mut end = connected(
            XtiTcp
                .accept(AcceptFilter::open(&listener), &mut || false)
                .unwrap(),
        );
        let (mut total, mut buf) = (0, vec![0; 65_536]);
        while let Received::Bytes(count) = end.recv(&mut buf).unwrap() {
            total += count;
        }
        // The end stays the end.
        assert_eq!(end.recv(&mut buf).unwrap(), Received::End);
        assert_eq!(end.send(b"done").unwrap(), Sent::Bytes(4));
        total
    });
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let mut end = connected(XtiTcp.connect(socket, &at, &mut || false).unwrap());
    let (mut sent, data) = (0, vec![7; 100_000]);
    for _ in 0..500 {
        let Sent::Bytes(count) = end.send(&data).unwrap() else {
            panic!("not a byte")
        };
        sent += count;
    }
    end.0.t_sndrel().unwrap();
    let mut buf = [0; 8];
    assert_eq!(end.recv(&mut buf).unwrap(), Received::Bytes(4));
    assert_eq!(end.recv(&mut buf).unwrap(), Received::End);
    assert_eq!(server.join().unwrap(), sent);
}

#[test]
fn a_connection_that_nobody_takes_is_refused_as_it_is_without_xti() {
    let (_nobody, at) = bound(Type::STREAM);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let error = XtiTcp.connect(socket, &at, &mut || false).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn datagrams_are_answered_and_an_empty_one_is_the_end() {
    let (server, at) = bound(Type::DGRAM);
    let (client, _) = bound(Type::DGRAM);
    let mut client = XtiUdp.asking(client, at).unwrap();
    let mut server = XtiUdp.answering(server).unwrap();
    let mut buf = [0; 8];
    assert_eq!(client.send(b"abc").unwrap(), Sent::Bytes(3));
    assert_eq!(server.recv(&mut buf).unwrap(), Received::Bytes(3));
    assert_eq!(server.send(b"defg").unwrap(), Sent::Bytes(4));
    assert_eq!(client.recv(&mut buf).unwrap(), Received::Bytes(4));
    let again = client.part();
    assert_eq!(server.recv(&mut buf).unwrap(), Received::End);
    assert!(again.mark().is_some());
}
