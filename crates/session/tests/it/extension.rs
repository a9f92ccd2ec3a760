//! Extension between two ends of ours, and its effect on a stock program at the other end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::common::{Engine, ScriptedLink, facts, local_end, plan, ready};
use netperf_model::host::{
    FactsWanted, HostFacts, InterfaceFacts, PciIds, SecurityFacts, SecurityKind, SecurityMode,
};
use netperf_model::{
    CpuMethod, CpuPlan, EndFlows, EndResult, Flow, Limit, Many, Placement, TestPlan, TransportId,
    WorkerThreads, Workers,
};
use netperf_session::dialect::{Dialect, Ready};
use netperf_session::driver::serve;
use netperf_session::offer::{self, LocalEnd};
use netperf_wire::messages::{CpuCalibrateReply, Extension, ItemKind, OmniResponse, OmniResults};
use netperf_wire::{FRAME_LEN, Frame, Header, Message, RequestKind, Stage};
use proptest::prelude::*;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn asking(address: IpAddr) -> Frame {
    let local = LocalEnd {
        facts_of: Some(address),
        ..local_end()
    };
    offer::request(&plan(), &local).unwrap()
}

/// The response to `request` of a netserver of ours that knows `facts`.
fn answer(request: &Frame, facts: Option<HostFacts>) -> Frame {
    let (dialect, job) = Dialect::understand(request, None).unwrap();
    dialect.response(&Ready {
        token: None,
        host: facts.filter(|_| job.facts.is_some()).map(Box::new),
        ..ready()
    })
}

#[test]
fn data_goes_to_the_host_that_was_asked_whatever_its_netserver_names() {
    let naming = |plan: &TestPlan, address: &str| {
        let mut frame = answer(&offer::request(plan, &local_end()).unwrap(), None);
        let mut told = Extension::default();
        told.push(ItemKind::Transport, plan.transport.row().option.as_bytes());
        told.push(ItemKind::SocketAddress, address.as_bytes());
        told.encode_over(Stage::Response, &mut frame).unwrap();
        offer::agreement(plan, &frame)
    };
    let mut plan = plan();
    for elsewhere in ["inet:192.0.2.9:7", "unix:/run/its.sock"] {
        assert_eq!(naming(&plan, elsewhere).unwrap().address, None);
    }
    plan.transport = TransportId::UnixStream;
    plan.flow = Flow::RECEIVE;
    assert!(naming(&plan, "inet:192.0.2.9:7").is_err());
    assert!(naming(&plan, "unix:/tmp/netpe1").unwrap().address.is_some());
}

fn told(response: &Frame) -> Option<HostFacts> {
    let agreement = offer::agreement(&plan(), response).unwrap();
    agreement.host.map(|facts| *facts)
}

fn text(length: usize) -> Option<String> {
    Some("x".repeat(length))
}

fn known(length: usize) -> HostFacts {
    HostFacts {
        settings: None,
        sysname: text(length),
        release: text(length),
        version: text(length),
        machine: text(length),
        system_model: text(length),
        cpu_model: text(length),
        cpu_frequency: Some(2700),
        interface: InterfaceFacts {
            name: text(length),
            pci: Some(PciIds {
                vendor: 0x8086,
                device: 0x1572,
                subvendor: 0xffff,
                subdevice: 1,
            }),
            slot: text(length),
            driver: text(length),
            driver_version: text(length),
            firmware: text(length),
            bus: text(length),
        },
        security: SecurityFacts {
            kind: Some(SecurityKind::SeLinux),
            mode: Some(SecurityMode::Enforcing),
            specific: text(length),
        },
    }
}

/// A response of a stock netserver that is right where a stock client looks, and
/// residue elsewhere.
fn stock_response(residue: &[u8]) -> Frame {
    let mut bytes = <[u8; FRAME_LEN]>::try_from(residue).unwrap();
    bytes[..8].copy_from_slice(&[0, 0, 0, 98, 0, 0, 0, 0]);
    bytes[52..56].copy_from_slice(&4242_u32.to_be_bytes());
    Frame::from_bytes(bytes)
}

#[test]
fn our_netserver_tells_our_netperf_the_facts_that_it_asks_for() {
    let known = known(10);
    assert_eq!(
        told(&answer(&asking(HERE), Some(known.clone()))),
        Some(known)
    );
}

#[test]
fn facts_that_are_not_known_stay_unknown() {
    let nothing = HostFacts::default();
    let response = answer(&asking(HERE), Some(nothing.clone()));
    assert_eq!(told(&response), Some(nothing));
}

#[test]
fn facts_that_are_too_long_are_cut_and_none_is_lost() {
    let told = told(&answer(&asking(HERE), Some(known(300)))).unwrap();
    assert_eq!(told.release, text(64));
    assert_eq!(told.version, text(72));
    assert_eq!(told.system_model, text(32));
    assert_eq!(told.cpu_model, text(79));
    assert_eq!(told.security.specific, text(15));
    assert_eq!(told.interface.bus, text(32));
    assert_eq!(told.interface.pci, known(1).interface.pci);
}

#[test]
fn the_address_that_data_goes_to_reaches_netserver() {
    let wanted = |address| {
        let (_, job) = Dialect::understand(&asking(address), None).unwrap();
        job.facts
    };
    for address in [HERE, Ipv6Addr::LOCALHOST.into()] {
        let reached_at = Some(address);
        assert_eq!(
            wanted(address),
            Some(FactsWanted {
                reached_at,
                settings: true
            })
        );
    }
}

#[test]
fn a_request_that_asks_for_no_facts_has_nothing_behind_it() {
    let request = offer::request(&plan(), &local_end()).unwrap();
    assert!(request.as_bytes()[208..].iter().all(|byte| *byte == 0));
    let (_, job) = Dialect::understand(&request, None).unwrap();
    assert_eq!(job.facts, None);
}

#[test]
fn a_client_that_did_not_ask_gets_a_response_with_nothing_behind_it() {
    let request = offer::request(&plan(), &local_end()).unwrap();
    let response = answer(&request, Some(known(10)));
    assert!(response.as_bytes()[80..].iter().all(|byte| *byte == 0));
    assert_eq!(told(&response), None);
}

#[test]
fn extension_leaves_what_a_stock_client_reads_unchanged() {
    let plain = answer(&offer::request(&plan(), &local_end()).unwrap(), None);
    let extended = answer(&asking(HERE), Some(known(300)));
    let mut plain = OmniResponse::decode(&plain).unwrap();
    let extended = OmniResponse::decode(&extended).unwrap();
    plain.cpu_frequency = extended.cpu_frequency;
    plain.security_info = extended.security_info;
    plain.system_model = extended.system_model;
    plain.cpu_model = extended.cpu_model;
    plain.security_string = extended.security_string;
    assert_eq!(plain, extended);
}

#[test]
fn a_peer_cannot_make_the_terminal_obey() {
    let mut evil = known(3);
    evil.sysname = Some("a\u{1b}[2J\nb".to_owned());
    let told = told(&answer(&asking(HERE), Some(evil))).unwrap();
    assert_eq!(told.sysname.as_deref(), Some("a [2J b"));
}

#[test]
fn residue_of_earlier_results_is_not_taken_for_facts() {
    let results = OmniResults {
        bytes_received: u64::MAX,
        cong_control: netperf_wire::FixedStr::from_str_truncated("cubic"),
        ..OmniResults::default()
    };
    let residue = results.encode(Header::results(RequestKind::Omni));
    assert_eq!(told(&stock_response(residue.as_bytes())), None);
}

/// A plan that measures netserver's CPU with loops.
fn looping() -> TestPlan {
    let mut plan = plan();
    plan.remote.cpu = Some(CpuPlan {
        rate: None,
        method: CpuMethod::Looper,
    });
    plan
}

#[test]
fn the_cpu_method_that_netperf_asks_for_reaches_netserver() {
    let (_, job) =
        Dialect::understand(&offer::request(&looping(), &local_end()).unwrap(), None).unwrap();
    assert_eq!(job.end.cpu.map(|cpu| cpu.method), Some(CpuMethod::Looper));
    assert_eq!(job.facts, None);
}

#[test]
fn the_usual_cpu_method_is_not_asked_for() {
    let mut plan = plan();
    plan.remote.cpu = Some(CpuPlan::default());
    for frame in [
        offer::request(&plan, &local_end()).unwrap(),
        offer::calibration(&plan, None).unwrap(),
    ] {
        assert!(frame.as_bytes()[208..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_method_that_nobody_has_leaves_netserver_with_its_own() {
    let mut plan = looping();
    plan.remote.cpu = Some(CpuPlan {
        rate: None,
        method: CpuMethod::Other(9),
    });
    let (_, job) =
        Dialect::understand(&offer::request(&plan, &local_end()).unwrap(), None).unwrap();
    assert_eq!(job.end.cpu.map(|cpu| cpu.method), Some(CpuMethod::ProcStat));
}

#[test]
fn a_calibration_is_of_the_method_that_is_asked_for() {
    let rate_of = |plan: &TestPlan| {
        let mut link = ScriptedLink::frames([offer::calibration(plan, None).unwrap()]);
        serve(&mut link, &mut Engine::default(), &facts(), None);
        CpuCalibrateReply::decode(&link.sent[0]).unwrap().cpu_rate
    };
    assert!((rate_of(&plan()) - 100.0).abs() < f32::EPSILON);
    assert!((rate_of(&looping()) - 5e8).abs() < f32::EPSILON);
}

/// A plan with many flows, and netserver's threads as asked for.
fn many(remote: Workers) -> TestPlan {
    TestPlan {
        many: Some(Many {
            flows: 64,
            warmup: Duration::from_millis(1500),
            cooldown: Duration::from_secs(1),
            begin_at: None,
            lead: Duration::ZERO,
            local: Workers::default(),
            remote,
        }),
        ..plan()
    }
}

fn all_flows() -> LocalEnd {
    LocalEnd {
        all_flows: true,
        ..local_end()
    }
}

#[test]
fn many_flows_and_their_threads_reach_netserver() {
    for remote in [
        Workers::default(),
        Workers {
            threads: Some(3),
            cpus: vec![0, 1, 2, 5],
            place: None,
        },
        Workers {
            threads: None,
            cpus: Vec::new(),
            place: Some(Placement::Node(1)),
        },
    ] {
        let request = offer::request(&many(remote.clone()), &all_flows()).unwrap();
        let (_, job) = Dialect::understand(&request, None).unwrap();
        assert_eq!(job.flows, Some(EndFlows::new(64, remote)));
    }
}

#[test]
fn one_session_of_many_is_asked_for_one_flow_with_the_time_of_all() {
    let request = offer::request(&many(Workers::default()), &local_end()).unwrap();
    assert!(request.as_bytes()[208..].iter().all(|byte| *byte == 0));
    let (_, job) = Dialect::understand(&request, None).unwrap();
    assert_eq!(job.flows, None);
    let Limit::Time(counted) = plan().limit else {
        panic!("a test with a time");
    };
    // Warm-up and cool-down are added, in whole seconds.
    assert_eq!(job.limit, Limit::Time(counted + Duration::from_secs(3)));
}

#[test]
fn flows_that_make_no_sense_are_refused() {
    for (kind, value) in [
        (ItemKind::Flows, [0; 4].as_slice()),
        (ItemKind::Cpus, b"3-1"),
        (ItemKind::Placement, b"sideways"),
    ] {
        let mut asked = Extension::default();
        asked.push(kind, value);
        asked.push(ItemKind::Flows, &[0, 0, 0, 2]);
        let mut request = offer::request(&plan(), &local_end()).unwrap();
        asked.encode_over(Stage::Request, &mut request).unwrap();
        assert!(Dialect::understand(&request, None).is_err(), "{kind:?}");
    }
}

#[test]
fn results_tell_of_the_threads_and_those_of_a_stock_netserver_do_not() {
    let crews = [
        (2, Vec::new()),
        (3, vec![0, 1, 7]),
        // A list that does not fit is left out, not cut.
        (1000, (0..1000).map(|cpu| cpu * 2).collect()),
    ];
    let request = offer::request(&many(Workers::default()), &all_flows()).unwrap();
    let (dialect, _) = Dialect::understand(&request, None).unwrap();
    for (threads, cpus) in crews {
        let result = EndResult {
            worker_threads: Some(WorkerThreads {
                threads,
                cpus: cpus.clone(),
            }),
            ..EndResult::default()
        };
        let told = offer::results(&plan(), false, &dialect.results(&result)).unwrap();
        let worker_threads = told.worker_threads.unwrap();
        assert_eq!(worker_threads.threads, threads);
        assert_eq!(
            worker_threads.cpus,
            if cpus.len() > 100 { Vec::new() } else { cpus }
        );
    }
    let stock = OmniResults::default().encode(Header::results(RequestKind::Omni));
    assert_eq!(
        offer::results(&plan(), false, &stock)
            .unwrap()
            .worker_threads,
        None
    );
}

#[test]
fn a_greeting_is_answered_with_the_most_flows() {
    let mut link = ScriptedLink::frames([offer::greeting().unwrap()]);
    serve(&mut link, &mut Engine::default(), &facts(), None);
    let answer = Extension::decode(Stage::Response, &link.sent[0]);
    let answer = answer.unwrap().unwrap();
    assert_eq!(
        answer.value(ItemKind::MostFlows),
        Some(4000_u32.to_be_bytes().as_slice())
    );
}

proptest! {
    #[test]
    fn no_residue_is_taken_for_facts(bytes in prop::collection::vec(any::<u8>(), FRAME_LEN)) {
        prop_assert_eq!(told(&stock_response(&bytes)), None);
    }

    #[test]
    fn no_residue_behind_a_request_asks_for_facts(bytes in prop::collection::vec(any::<u8>(), FRAME_LEN - 208)) {
        let mut request = offer::request(&plan(), &local_end()).unwrap();
        request.as_mut_bytes()[208..].copy_from_slice(&bytes);
        let (_, job) = Dialect::understand(&request, None).unwrap();
        prop_assert_eq!(job.facts, None);
    }

    /// The mark and a whole block, the rest anything.
    #[test]
    fn whatever_stands_behind_the_mark_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), FRAME_LEN)) {
        let mut response = answer(&asking(HERE), Some(known(8)));
        response.as_mut_bytes()[80..209].copy_from_slice(&bytes[80..209]);
        response.as_mut_bytes()[222..].copy_from_slice(&bytes[222..]);
        let _facts = told(&response);
    }
}
