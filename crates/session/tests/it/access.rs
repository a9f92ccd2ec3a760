//! Requests that the policy refuses.

use std::time::Duration;

use crate::common::{Engine, ScriptedLink, facts, local_end, plan};
use netperf_model::{DataPeers, Denied, Flow, Policy, TransportId};
use netperf_session::driver::{Conversation, serve};
use netperf_session::server::{self, ServerEffect, ServerState};
use netperf_session::{SessionError, offer};
use netperf_wire::Frame;

fn request() -> Frame {
    offer::request(&plan(), &local_end()).unwrap()
}

fn limited() -> server::Facts {
    let mut facts = facts();
    facts.policy.limits.test_time = Some(Duration::from_secs(5));
    facts
}

#[test]
fn a_test_that_is_too_long_is_refused_with_a_number_and_a_line_and_the_next_is_served() {
    let short = netperf_model::TestPlan {
        limit: netperf_model::Limit::Time(Duration::from_secs(5)),
        ..plan()
    };
    let requests = [request(), offer::request(&short, &local_end()).unwrap()];
    let (mut link, mut engine) = (ScriptedLink::frames(requests), Engine::default());
    serve(&mut link, &mut engine, &limited(), None);
    let errnos: Vec<i32> = link.sent.iter().map(|frame| frame.errno().0).collect();
    assert_eq!(errnos, [34, 0, 0]);
    assert_eq!(engine.runs, 1);
    assert_eq!(engine.denied, [Denied::TestTime(Duration::from_secs(5))]);

    let plan = plan();
    let mut talk = Conversation::open(&plan, ScriptedLink::frames(link.sent), None).unwrap();
    let error = talk.agree(request()).unwrap_err();
    let line = "netserver refuses: a test may take 5 s at most (--max-test-time)";
    assert_eq!(error.to_string(), line);
    assert!(matches!(error, SessionError::Denied(_)));
}

#[test]
fn datagrams_to_another_address_than_the_clients_are_refused() {
    let receive = netperf_model::TestPlan {
        transport: TransportId::Udp,
        flow: Flow::RECEIVE,
        ..plan()
    };
    let to = |address: &str| {
        let address = address.parse().unwrap();
        let local = offer::LocalEnd {
            address: Some(address),
            socket: Some(netperf_model::Address::Inet((address, 5000).into())),
            ..local_end()
        };
        offer::request(&receive, &local).unwrap()
    };
    let served = |peers: DataPeers, address: &str| {
        let mut facts = facts();
        facts.peer = Some("192.0.2.1".parse().unwrap());
        facts.policy = Policy {
            data_peers: peers,
            ..Policy::default()
        };
        let (mut link, mut engine) = (ScriptedLink::frames([to(address)]), Engine::default());
        serve(&mut link, &mut engine, &facts, None);
        (link.sent[0].errno().0, engine.jobs.len())
    };
    assert_eq!(served(DataPeers::Same, "192.0.2.1"), (0, 1));
    assert_eq!(served(DataPeers::Same, "203.0.113.5"), (13, 0));
    assert_eq!(served(DataPeers::Any, "203.0.113.5"), (0, 1));
}

#[test]
fn a_client_may_be_silent_for_as_long_as_the_policy_says() {
    let mut facts = facts();
    facts.policy.limits.idle_time = Duration::from_secs(7);
    let (state, effects) = server::start(&facts, None);
    assert!(matches!(state, ServerState::Idle(_)));
    assert_eq!(effects, [ServerEffect::Expect(Duration::from_secs(7))]);
}
