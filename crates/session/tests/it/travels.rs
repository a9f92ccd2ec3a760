//! The tests that travel as classic requests, from netperf's end: what both of our ends say
//! to each other in them.

use std::time::Duration;

use crate::common::{PATH, ScriptedLink, any_frame, local_end, much, plan, served};
use netperf_model::{
    Address, CpuMethod, CpuPlan, EndResult, Flow, Limit, Suite, Tally, TestId, TestPlan,
    TransportId,
};
use netperf_session::SessionError;
use netperf_session::driver::{Conversation, LinkEvent};
use netperf_session::offer::{self, LocalEnd, Travels};
use netperf_wire::{Frame, Header, RequestKind};
use proptest::prelude::*;

/// The tests that travel as classic requests.
const CLASSIC: [TestId; 8] = [
    TestId::StreamStream,
    TestId::StreamRr,
    TestId::DgStream,
    TestId::DgRr,
    TestId::SctpStream,
    TestId::SctpRr,
    TestId::SctpStreamMany,
    TestId::SctpRrMany,
];

fn named(test: TestId) -> TestPlan {
    let row = test.row();
    let sized = row.flow.is_request_response();
    TestPlan {
        test,
        transport: row.transport,
        flow: row.flow,
        request: sized.then_some(10),
        response: sized.then_some(20),
        ..plan()
    }
}

fn sending(size: u32) -> LocalEnd {
    LocalEnd {
        send_size: Some(size),
        ..local_end()
    }
}

fn kind_of(name: &str) -> RequestKind {
    let mut kinds = RequestKind::NAMED.iter();
    *kinds.find(|kind| kind.name() == name).unwrap()
}

#[test]
fn unix_and_sctp_tests_travel_as_their_classic_requests_and_all_others_as_omni() {
    for row in netperf_model::catalog::tests::TESTS {
        let expected = match row.suite {
            Suite::Unix | Suite::Sctp => Travels::Classic(kind_of(row.name)),
            Suite::Omni
            | Suite::Sockets
            | Suite::Sdp
            | Suite::Xti
            | Suite::Dlpi
            | Suite::Fore
            | Suite::Hippi
            | Suite::Control => Travels::Omni,
        };
        let plan = named(row.id);
        assert_eq!(offer::travels(&plan), expected, "{}", row.name);
        let classic = expected != Travels::Omni;
        let only_ours = !row.transport.row().stock && !classic;
        assert_eq!(offer::needs_extension(&plan), only_ours, "{}", row.name);
    }
    let packets = TestPlan {
        transport: TransportId::UnixSeqPacket,
        ..named(TestId::StreamStream)
    };
    assert_eq!(offer::travels(&packets), Travels::Omni);
    let connecting = TestPlan {
        flow: Flow::CRR,
        ..named(TestId::SctpRr)
    };
    assert_eq!(offer::travels(&connecting), Travels::Omni);
}

#[test]
fn a_plan_arrives_at_our_own_server_as_the_job_it_describes() {
    for test in CLASSIC {
        let mut plan = named(test);
        plan.remote.cpu = Some(CpuPlan {
            rate: Some(1.5),
            method: CpuMethod::Looper,
        });
        plan.remote.socket.recv_buffer = Some(60_000);
        plan.remote.recv.align = 64;
        plan.remote.bind = Some(3);
        let request = offer::request(&plan, &sending(1000)).unwrap();
        assert_eq!(request.affinity(), Some(3));
        let (_, job) = served(request, None);
        let job = job.unwrap();
        assert_eq!(
            (job.transport, job.test_flow()),
            (plan.transport, plan.flow)
        );
        assert_eq!(job.limit, plan.limit);
        assert_eq!((job.request, job.response), (plan.request, plan.response));
        assert_eq!(job.end.cpu, plan.remote.cpu);
        assert_eq!(job.end.socket.recv_buffer, Some(60_000));
        assert_eq!(job.end.recv.align, 64);
        let datagrams = (test == TestId::DgStream).then_some(1000);
        assert_eq!(job.end.recv.size, datagrams);
    }
}

#[test]
fn transactions_and_bytes_are_asked_for_as_a_stock_client_does() {
    let ask = |limit, test, at: usize| {
        let plan = TestPlan {
            limit,
            ..named(test)
        };
        let request = offer::request(&plan, &sending(1000)).unwrap();
        let bytes = request.as_bytes()[at..at + 4].try_into().unwrap();
        i32::from_be_bytes(bytes)
    };
    let length = |test, at| ask(Limit::Units(500), test, at);
    assert_eq!(length(TestId::StreamStream, 44), 500);
    assert_eq!(length(TestId::StreamRr, 56), -500);
    assert_eq!(length(TestId::DgStream, 32), 0);
    assert_eq!(length(TestId::DgRr, 48), -500);
    assert_eq!(length(TestId::SctpStream, 40), 500);
    assert_eq!(length(TestId::SctpRrMany, 52), -500);
    let messages = ask(Limit::Messages(500), TestId::SctpStreamMany, 40);
    assert_eq!(messages, 500_000);
}

fn talked(plan: &TestPlan, ran: EndResult) -> (offer::Agreement, EndResult) {
    let request = || offer::request(plan, &sending(1000)).unwrap();
    let (answers, _) = served(request(), Some(ran));
    let mut talk = Conversation::open(plan, ScriptedLink::frames(answers), None).unwrap();
    let agreement = talk.agree(request()).unwrap();
    (agreement, talk.results(Duration::from_secs(1)).unwrap())
}

#[test]
fn our_own_server_tells_our_own_client_where_its_socket_is_and_what_it_counted() {
    for test in CLASSIC {
        let mut plan = named(test);
        plan.remote.cpu = Some(CpuPlan::default());
        let (agreement, result) = talked(&plan, much());
        assert!(agreement.measures_cpu);
        let unix = !plan.transport.is_inet();
        let path = unix.then(|| Address::Unix(PATH.into()));
        assert_eq!(agreement.address, path);
        assert_eq!(agreement.data_port, if unix { 0 } else { 4242 });
        let tally = result.tally;
        if plan.flow.is_request_response() {
            assert_eq!((tally.transactions, tally.bytes_received), (13, 130));
            assert_eq!(tally.bytes_sent, 260);
        } else {
            assert_eq!(tally.recv_calls, 7);
        }
        let cpu = result.cpu.unwrap();
        assert!((cpu.busy - 50.0).abs() < 1e-9);
        assert_eq!(cpu.cpus, if unix { 0 } else { 4 });
    }
}

#[test]
fn bytes_that_wrapped_are_known_again_by_what_was_sent() {
    let plan = named(TestId::StreamStream);
    let (_, told) = talked(&plan, much());
    assert_eq!(told.tally.bytes_received, 5_000_000_000 - (1 << 32));
    let own = Tally {
        bytes_sent: 5_000_004_096,
        ..Tally::default()
    };
    let result = offer::reconciled(&plan, &own, told);
    assert_eq!(result.tally.bytes_received, 5_000_000_000);
}

#[test]
fn cpu_that_nobody_asked_for_is_residue() {
    for test in CLASSIC {
        let plan = named(test);
        let (agreement, result) = talked(&plan, much());
        assert!(!agreement.measures_cpu);
        assert_eq!(result.cpu, None);
    }
}

#[test]
fn a_server_that_does_not_say_where_its_socket_is_breaks_the_protocol() {
    for test in CLASSIC {
        let plan = named(test);
        let nothing = Frame::new(Header::default());
        let link = ScriptedLink {
            arriving: [LinkEvent::Frame(Box::new(nothing))].into(),
            ..ScriptedLink::default()
        };
        let mut talk = Conversation::open(&plan, link, None).unwrap();
        let answer = talk.agree(offer::request(&plan, &sending(1000)).unwrap());
        assert!(matches!(answer, Err(SessionError::Malformed(_))));
    }
}

#[test]
fn netserver_may_go_by_the_time_alone() {
    for test in CLASSIC {
        assert!(offer::ends_late(&named(test)));
    }
}

proptest! {
    #[test]
    fn no_answer_makes_netperf_panic(
        frame in any_frame(),
        test in proptest::sample::select(CLASSIC.to_vec()),
        own: (u64, u64),
        cpu: bool,
    ) {
        let mut plan = named(test);
        plan.remote.cpu = cpu.then(CpuPlan::default);
        let port_or_path = offer::agreement(&plan, &frame);
        if let Ok(agreement) = port_or_path {
            prop_assert!(agreement.address.is_some() != (agreement.data_port > 0));
        }
        let result = offer::results(&plan, cpu, &frame).unwrap();
        prop_assert_eq!(result.cpu.is_some(), cpu);
        let own = Tally { bytes_sent: own.0, send_calls: own.1, ..Tally::default() };
        let told = result.tally;
        let known = offer::reconciled(&plan, &own, result).tally;
        prop_assert_eq!(known.transactions, told.transactions);
    }

    #[test]
    fn every_limit_and_size_can_be_asked_for(
        test in proptest::sample::select(CLASSIC.to_vec()),
        units: u64,
        time: Duration,
        size: u32,
        timed: bool,
    ) {
        let mut plan = named(test);
        plan.limit = if timed { Limit::Time(time) } else { Limit::Units(units) };
        plan.remote.socket.send_buffer = Some(size);
        plan.remote.touch.dirty = size;
        let request = offer::request(&plan, &sending(size.max(1))).unwrap();
        let (sent, job) = served(request, None);
        prop_assert!(job.is_some() && sent.len() == 2);
    }
}
