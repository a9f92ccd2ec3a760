//! Orders to an agent of a campaign, in pieces and at any time: no input panics, no more loads run
//! than may, and each load that was started is asked to end once no order asks for it.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use netperf_campaign::agent::{Agent, AgentAction, AgentFacts, LineId, Quota};
use netperf_campaign::protocol::{HostPlace, Inbox, LoadResult, Order};

/// The connection of the coordinator.
const LINE: LineId = LineId(1);
/// An hour, nanoseconds: after it a campaign is over.
const HOUR: u64 = 3_600_000_000_000;

fuzz_target!(|bytes: &[u8]| {
    let (step, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    let facts = AgentFacts {
        program: "1".to_owned(),
        host: "h".to_owned(),
        port: "12865".to_owned(),
        cpus: 1,
        place: HostPlace::default(),
    };
    let quota = Quota::default();
    let mut agent = Agent::new(facts, quota);
    let mut inbox = Inbox::default();
    let (mut now, mut running) = (0, BTreeSet::new());
    for piece in bytes.chunks(usize::from(*step).max(1) * 16) {
        inbox.add(piece);
        while let Ok(Some(order)) = inbox.take::<Order>() {
            now += u64::from(*step) * 1_000_000;
            let orders = agent.order(LINE, order, (now, 0), &|_| Ok(()));
            act(&mut agent, orders, &mut running);
            let due = agent.tick(now);
            act(&mut agent, due, &mut running);
            assert!(running.len() <= quota.at_once);
        }
    }
    let due = agent.tick(now + HOUR);
    act(&mut agent, due, &mut running);
    assert!(agent.is_idle() && running.is_empty(), "{running:?}");
});

/// Starts loads, and ends those that are killed.
fn act(agent: &mut Agent, mut actions: Vec<AgentAction>, running: &mut BTreeSet<u32>) {
    while let Some(action) = actions.pop() {
        match action {
            AgentAction::Start(started) => {
                assert!(running.insert(started.load.id));
            }
            AgentAction::Kill(id) => {
                running.remove(&id);
                actions.extend(agent.load_ended(LoadResult {
                    id,
                    document: None,
                    error: None,
                }));
            }
            AgentAction::Reply(..)
            | AgentAction::Close(_)
            | AgentAction::Admit(_)
            | AgentAction::Log(_) => {}
        }
    }
}
