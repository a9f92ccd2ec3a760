use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;
use crate::address::Address;
use crate::catalog::transports::TransportId;
use crate::end_job::EndFlows;
use crate::plan::{Duplex, Family, Flow};

fn network(text: &str) -> Network {
    text.parse().unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn policy(allow: &[&str], deny: &[&str]) -> Policy {
    let networks = |words: &[&str]| words.iter().map(|word| network(word)).collect();
    Policy {
        allow: networks(allow),
        deny: networks(deny),
        ..Policy::default()
    }
}

fn job(transport: TransportId, flow: Flow, limit: Limit) -> EndJob {
    EndJob::new(transport, Family::V4, flow, limit)
}

fn seconds(count: u64) -> Limit {
    Limit::Time(Duration::from_secs(count))
}

#[test]
fn a_network_holds_the_addresses_that_begin_like_it_and_no_others() {
    for (text, inside, outside) in [
        ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
        ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
        ("0.0.0.0/0", "255.255.255.255", "::1"),
        ("10.0.0.0/8", "::ffff:10.1.1.1", "::10.1.1.1"),
        ("::ffff:10.0.0.0/104", "10.9.9.9", "9.9.9.9"),
        ("2001:db8::/32", "2001:db8:ffff::", "2001:db9::"),
        ("fe80::1", "fe80::1", "fe80::2"),
        ("::/0", "2001::", "10.0.0.1"),
    ] {
        assert!(network(text).contains(ip(inside)), "{text} {inside}");
        assert!(!network(text).contains(ip(outside)), "{text} {outside}");
    }
}

#[test]
fn every_prefix_of_every_address_is_the_network_that_holds_it() {
    let v4 = IpAddr::V4(Ipv4Addr::new(203, 113, 255, 1));
    let v6 = IpAddr::V6(Ipv6Addr::from_bits(
        0x2001_0db8_ffff_ffff_8000_0000_dead_beef,
    ));
    for (address, most) in [(v4, 32), (v6, 128)] {
        for bits in 0..=most {
            // With bits behind, what is meant is named, and reads as what it is.
            let text = format!("{address}/{bits}");
            let meant = match text.parse::<Network>() {
                Ok(network) => network,
                Err(BadNetwork::BitsBehind(_, network)) => network,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(meant.prefix(), bits);
            assert!(meant.contains(address), "{text}");
            assert_eq!(network(&meant.to_string()), meant);
        }
        let beyond = format!("{address}/{}", most + 1);
        assert!(beyond.parse::<Network>().is_err(), "{beyond}");
    }
}

#[test]
fn invalid_network_is_refused_with_a_valid_example() {
    for text in [
        "",
        "10",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "10.0.0.0/+8",
        "a/8",
        "10.0.0.0/8/8",
    ] {
        let error = text.parse::<Network>().unwrap_err();
        assert!(error.to_string().contains("10.0.0.0/8"), "{error}");
    }
    let error = "10.1.2.3/8".parse::<Network>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "'10.1.2.3/8' is an address in a network; did you mean 10.0.0.0/8?"
    );
}

#[test]
fn the_smallest_network_decides_and_a_tie_is_denied() {
    let lists = policy(
        &["10.0.0.0/8", "10.1.2.0/24"],
        &["10.1.0.0/16", "10.1.2.0/24"],
    );
    for (address, admitted) in [
        ("10.2.0.1", true),
        ("10.1.3.1", false),
        ("10.1.2.1", false),
        ("192.0.2.1", false),
    ] {
        assert_eq!(lists.admits(Some(ip(address))), admitted, "{address}");
    }
    assert!(
        !lists.admits(None),
        "a peer without an address is in no network"
    );
}

#[test]
fn client_in_no_list_may_connect_unless_some_are_allowed() {
    let lists = policy(&[], &["10.0.0.0/8"]);
    assert!(lists.admits(Some(ip("192.0.2.1"))));
    assert!(lists.admits(None));
    assert!(!lists.admits(Some(ip("::ffff:10.0.0.1"))));
    assert!(Policy::default().admits(Some(ip("2001:db8::1"))));
}

#[test]
fn there_are_as_many_sessions_as_the_limits_say_and_no_more() {
    let mut limited = Policy::default();
    limited.limits.sessions = Some(3);
    limited.limits.peer_sessions = Some(2);
    let (soon, later) = (Some(Duration::from_secs(3)), None);
    let admit = |all, of_peer| {
        let load = SessionLoad {
            all,
            of_peer,
            until_end: soon,
            until_peer_end: later,
        };
        limited.admit(Some(ip("::1")), load)
    };
    assert_eq!(admit(2, 1), Ok(()));
    assert_eq!(admit(3, 0), Err(Denied::Sessions(3, soon)));
    assert_eq!(admit(2, 2), Err(Denied::PeerSessions(2, later)));
    let told = |denied: Result<(), Denied>| denied.expect_err("a refusal").to_string();
    assert!(told(admit(3, 0)).ends_with(": try again in about 4 s"));
    assert!(told(admit(2, 2)).ends_with(": try again when one has ended"));
}

#[test]
fn a_test_that_is_too_long_or_has_no_time_is_refused_where_time_is_limited() {
    let most = Duration::from_secs(10);
    let mut limited = Policy::default();
    limited.limits.test_time = Some(most);
    let permit = |limit| limited.permit(Some(ip("::1")), job(TransportId::Tcp, Flow::SEND, limit));
    assert!(permit(seconds(10)).is_ok());
    assert_eq!(permit(seconds(11)), Err(Denied::TestTime(most)));
    for limit in [Limit::Units(1), Limit::Messages(1), Limit::UntilStopped] {
        assert_eq!(permit(limit), Err(Denied::TestWithoutTime(most)));
    }
}

#[test]
fn data_goes_to_the_clients_address_alone_unless_the_policy_says_otherwise() {
    let to = |address: &str, flow: Flow| EndJob {
        peer: Some(Address::Inet((ip(address), 5000).into())),
        ..job(TransportId::Udp, flow, seconds(1))
    };
    let peer = Some(ip("::ffff:192.0.2.1"));
    let with = |peers: &str| Policy {
        data_peers: peers.parse().unwrap(),
        ..Policy::default()
    };
    for (peers, address, allowed) in [
        ("same", "192.0.2.1", true),
        ("same", "192.0.2.2", false),
        ("198.51.100.0/24,10.0.0.0/8", "198.51.100.9", true),
        ("198.51.100.0/24", "192.0.2.1", true),
        ("198.51.100.0/24", "192.0.2.2", false),
        ("any", "203.0.113.1", true),
    ] {
        for flow in [Flow::RECEIVE, Flow::both_ways(Duplex::Same)] {
            let permitted = with(peers).permit(peer, to(address, flow));
            assert_eq!(
                permitted.is_ok(),
                allowed,
                "{peers} {address}: {permitted:?}"
            );
        }
    }
    let loopback = with("same").permit(Some(ip("::1")), to("127.0.0.1", Flow::RECEIVE));
    assert!(loopback.is_ok(), "a host that talks to itself");
    let nobody = with("same").permit(None, job(TransportId::Udp, Flow::RR, seconds(1)));
    assert_eq!(nobody, Err(Denied::DataPeerUnknown));
}

#[test]
fn consent_to_data_is_given_by_a_handshake_by_receiving_alone_or_with_the_key() {
    let (peer, other, third) = (ip("192.0.2.1"), ip("198.51.100.2"), ip("203.0.113.3"));
    let permitted = |policy: &Policy, transport, flow, bind: Option<IpAddr>| {
        let asked = EndJob {
            data_from: Some(other),
            bind,
            ..job(transport, flow, seconds(1))
        };
        let sources = policy.permit(Some(peer), asked).unwrap().sources;
        [peer, other, third].map(|from| sources.allow(from))
    };
    let stranger = Policy::default();
    let (tcp, udp, bind) = (TransportId::Tcp, TransportId::Udp, Some(third));
    for (transport, flow) in [
        (tcp, Flow::RR),
        (tcp, Flow::SEND),
        (tcp, Flow::RECEIVE),
        (udp, Flow::SEND),
    ] {
        let of = |bind| permitted(&stranger, transport, flow, bind);
        assert_eq!(of(None), [true, true, false], "{transport:?} {flow:?}");
        assert_eq!(of(bind), [true, true, true], "{transport:?} {flow:?}");
    }
    for bind in [None, bind] {
        assert_eq!(
            permitted(&stranger, udp, Flow::RR, bind),
            [true, false, false]
        );
    }
    let holder = stranger.clone().for_client(true, false);
    assert_eq!(permitted(&holder, udp, Flow::RR, None), [true, true, false]);
    let flood = |policy: &Policy, to: &str| {
        let asked = EndJob {
            peer: Some(Address::Inet((ip(to), 5000).into())),
            ..job(udp, Flow::RECEIVE, seconds(1))
        };
        policy.permit(Some(peer), asked).is_ok()
    };
    let to = ["192.0.2.1", "203.0.113.3", "224.0.0.1", "255.255.255.255"];
    assert_eq!(
        to.map(|to| flood(&stranger, to)),
        [true, false, false, false]
    );
    assert_eq!(to.map(|to| flood(&holder, to)), [true, true, false, false]);
}

#[test]
fn the_networks_of_permitted_sources_hold_the_addresses_that_are_permitted() {
    let contains = |(address, bits): (IpAddr, u8), other: IpAddr| {
        let network: Network = format!("{address}/{bits}").parse().unwrap();
        network.contains(other)
    };
    for peers in ["same", "198.51.100.0/24,2001:db8::/32"] {
        for peer in [
            "192.0.2.1",
            "::ffff:192.0.2.1",
            "127.0.0.1",
            "::1",
            "2001:db9::1",
        ] {
            let policy = Policy {
                data_peers: peers.parse().unwrap(),
                ..Policy::default()
            };
            let sources = policy.sources(Some(ip(peer)));
            let networks = sources.networks().unwrap();
            for other in [
                "192.0.2.1",
                "127.0.0.9",
                "::1",
                "198.51.100.9",
                "2001:db8::7",
                "::2",
            ] {
                let is_in = networks.iter().any(|one| contains(*one, ip(other)));
                assert_eq!(is_in, sources.allow(ip(other)), "{peers} {peer} {other}");
            }
        }
    }
    assert_eq!(Sources::default().networks(), None);
}

#[test]
fn datagrams_go_to_a_socket_file_only_for_a_client_on_the_same_host() {
    let to_a_file = |transport, flow| EndJob {
        peer: Some(Address::Unix("/run/somebody.sock".into())),
        ..job(transport, flow, seconds(1))
    };
    let (unix, both) = (TransportId::UnixDatagram, Flow::both_ways(Duplex::Same));
    for (transport, flow, goes) in [
        (unix, Flow::RECEIVE, false),
        (unix, both, false),
        (unix, Flow::SEND, true),
        (unix, Flow::RR, true),
        (TransportId::UnixStream, Flow::RECEIVE, true),
    ] {
        let asked = || to_a_file(transport, flow);
        let policy = Policy::default();
        let permitted = policy.keep_from_files(false, asked());
        assert_eq!(permitted.is_ok(), goes, "{transport:?} {flow:?}");
        assert!(policy.keep_from_files(true, asked()).is_ok());
        let any = Policy {
            data_peers: DataPeers::Any,
            ..policy
        };
        assert!(any.keep_from_files(false, asked()).is_ok());
    }
}

#[test]
fn tests_below_ip_are_refused_until_the_policy_names_them() {
    for (transport, list) in [
        (TransportId::Packet, "ip,local,link"),
        (TransportId::Llc1, "ip,local,link"),
        (TransportId::Llc2, "ip,local,link"),
        (TransportId::Atm, "ip,local,link"),
        (TransportId::Tcp, "tcp"),
        (TransportId::UnixStream, "unix"),
    ] {
        let permitted = |transports: &str| {
            let policy = Policy {
                transports: transports.parse().unwrap(),
                ..Policy::default()
            };
            policy.permit(
                Some(ip("192.0.2.1")),
                job(transport, Flow::RECEIVE, seconds(1)),
            )
        };
        let denied = permitted("udp").unwrap_err();
        assert_eq!(denied, Denied::Transport(transport));
        assert_eq!(denied.errno(), 93);
        let line = denied.to_string();
        let way_out = format!("netserver --transports {list} permits");
        assert!(line.contains(&way_out), "{line}");
        assert!(line.contains(transport.row().option), "{line}");
        assert!(permitted(list).is_ok(), "{transport:?}");
    }
}

#[test]
fn a_stranger_has_no_key_and_is_not_on_this_host() {
    let mut asked = job(TransportId::Tcp, Flow::RECEIVE, seconds(1));
    asked.end.socket.priority = Some(7);
    let asks = |policy: &Policy| policy.permit(Some(ip("192.0.2.1")), asked.clone());
    let same = Policy::default();
    let any = Policy {
        data_peers: DataPeers::Any,
        ..Policy::default()
    };
    for (policy, has_key, here, permitted) in [
        (&same, false, false, false),
        (&same, false, true, true),
        (&same, true, false, true),
        (&any, false, true, false),
        (&any, true, false, true),
    ] {
        let of_client = policy.clone().for_client(has_key, here);
        let answer = asks(&of_client);
        assert_eq!(answer.is_ok(), permitted, "{has_key} {here}");
    }
    let named = Policy {
        features: "priority".parse().unwrap(),
        ..Policy::default()
    };
    assert!(asks(&named.for_client(false, false)).is_ok());
    let denied = asks(&same).unwrap_err();
    assert_eq!(denied, Denied::Feature(GuardedFeature::Priority));
    assert_eq!(denied.errno(), 13);
}

#[test]
fn an_address_that_a_client_names_is_of_its_transport_and_of_one_station() {
    let to = |transport, address: &str| {
        let policy = Policy {
            transports: TransportSet::all(),
            ..Policy::default()
        };
        let asked = EndJob {
            peer: Some(address.parse().unwrap()),
            ..job(transport, Flow::RECEIVE, seconds(1))
        };
        policy.permit(Some(ip("192.0.2.1")), asked)
    };
    for transport in [TransportId::Packet, TransportId::Llc1] {
        for group in ["link:ff:ff:ff:ff:ff:ff/84", "link:01:00:5e:00:00:01/84"] {
            assert_eq!(to(transport, group), Err(Denied::DataGroup));
        }
        assert!(to(transport, "link:02:00:00:00:00:01/84").is_ok());
    }
    for (transport, address) in [
        (TransportId::Packet, "inet:192.0.2.1:5"),
        (TransportId::Udp, "link:02:00:00:00:00:01/84"),
        (TransportId::Udp, "unix:/run/systemd/notify"),
        (TransportId::UnixDatagram, "vsock:2:1024"),
        (TransportId::Udp, "vsock:2:1024"),
    ] {
        let denied = to(transport, address);
        assert_eq!(denied, Err(Denied::DataPeerUnknown), "{address}");
    }
}

#[test]
fn private_address_of_a_client_behind_nat_is_no_reason_to_refuse_it() {
    let peer = Some(ip("203.0.113.1"));
    for (transport, flow) in [
        (TransportId::Udp, Flow::SEND),
        (TransportId::Udp, Flow::RR),
        (TransportId::Tcp, Flow::RECEIVE),
    ] {
        let job = EndJob {
            peer: Some(Address::Inet((ip("192.168.0.2"), 5000).into())),
            ..job(transport, flow, seconds(1))
        };
        let permitted = Policy::default().permit(peer, job).unwrap();
        assert!(permitted.sources.allow(ip("203.0.113.1")));
        assert!(!permitted.sources.allow(ip("192.168.0.2")));
    }
}

#[test]
fn data_peer_is_the_clients_address_unless_the_policy_permits_others() {
    let tied = |peers: &str| {
        let policy = Policy {
            data_peers: peers.parse().unwrap(),
            ..Policy::default()
        };
        let job = job(TransportId::Tcp, Flow::SEND, seconds(1));
        policy.permit(Some(ip("192.0.2.1")), job).unwrap().sources
    };
    let other = ip("198.51.100.1");
    assert!(tied("same").allow(ip("::ffff:192.0.2.1")));
    assert!(!tied("same").allow(other));
    assert!(tied("198.51.100.0/24").allow(other));
    assert!(tied("any").is_anybody() && tied("any").allow(other));
}

#[test]
fn the_kernel_or_the_loop_holds_what_is_sent_to_the_rate() {
    let mut limited = Policy::default();
    limited.limits.send_rate = Some(8_000_000);
    let permit = |job| limited.permit(Some(ip("::1")), job);
    let pacing = |job: &EndJob| job.end.socket.settings.number(Setting::PacingRate);
    let tcp = permit(job(TransportId::Tcp, Flow::RECEIVE, seconds(1))).unwrap();
    assert_eq!(pacing(&tcp), Some(1_000_000));
    let flows = EndJob {
        flows: Some(EndFlows::new(4, Default::default())),
        ..job(TransportId::Tcp, Flow::RECEIVE, seconds(1))
    };
    let flows = permit(flows).unwrap();
    assert_eq!(pacing(&flows), Some(250_000));
    let udp = permit(job(TransportId::Udp, Flow::RECEIVE, seconds(1))).unwrap();
    assert_eq!((udp.most_bits, pacing(&udp)), (Some(8_000_000), None));
    let only_receives = permit(job(TransportId::Tcp, Flow::SEND, seconds(1))).unwrap();
    assert_eq!(pacing(&only_receives), None);
    for (flow, held) in [(Flow::CRR, false), (Flow::CC, true)] {
        let permitted = permit(job(TransportId::Tcp, flow, seconds(1)));
        assert_eq!(permitted.is_ok(), held, "{flow:?}");
    }
    let mut batches = job(TransportId::Udp, Flow::RECEIVE, seconds(1));
    batches.end.io.segments = true;
    assert_eq!(permit(batches), Err(Denied::SendRate(8_000_000)));
}

#[test]
fn words_and_what_they_mean_are_the_same_there_and_back() {
    for word in Require::WORDS {
        assert_eq!(Require::named(word).unwrap().label(), *word);
    }
    for text in ["same", "any", "10.0.0.0/8,2001:db8::/32"] {
        assert_eq!(text.parse::<DataPeers>().unwrap().to_string(), text);
    }
    assert!("10.0.0.0/8,".parse::<DataPeers>().is_err());
}

#[test]
fn one_port_admits_only_data_that_the_operator_permits() {
    let policy = |one_port| Policy {
        one_port,
        ..Policy::default()
    };
    let asked = |transport| {
        let mut job = job(transport, Flow::RECEIVE, seconds(1));
        job.end.one_port = true;
        job.peer = Some(Address::Inet((ip("192.168.0.2"), 5000).into()));
        job
    };
    let peer = Some(ip("203.0.113.1"));
    let permit = |one_port, transport| policy(one_port).permit(peer, asked(transport));
    for transport in [TransportId::Tcp, TransportId::Udp] {
        let permitted = permit(OnePort::On, transport).unwrap();
        // Nothing goes to where a client behind a router says that it is.
        assert_eq!(permitted.peer, None);
        // A connection shows the token of its test; a source of datagrams can be forged.
        let from_elsewhere = permitted.sources.allow(ip("192.168.0.2"));
        assert_eq!(from_elsewhere, transport == TransportId::Tcp);
        assert_eq!(permit(OnePort::Off, transport), Err(Denied::OnePort));
    }
    assert!(permit(OnePort::Tcp, TransportId::Tcp).is_ok());
    let datagrams = permit(OnePort::Tcp, TransportId::Udp);
    assert_eq!(datagrams, Err(Denied::OnePortDatagrams));
    for word in OnePort::WORDS {
        assert_eq!(OnePort::named(word).unwrap().label(), *word);
    }
}
