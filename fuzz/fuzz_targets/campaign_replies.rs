//! Replies of agents to a coordinator, at any time and in any order: no input panics, and the
//! campaign comes to its end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_campaign::coordinator::{
    CampaignCoordinator, CampaignFacts, CoordinatorAction, CoordinatorInput, TokenBytes,
};
use netperf_campaign::inventory::{self, InventoryOptions};
use netperf_campaign::plan::CampaignPlan;
use netperf_campaign::protocol::{Inbox, Order, Reply};
use zeroize::Zeroizing;

/// A minute, nanoseconds: longer than any wait but that for a begin.
const MINUTE: u64 = 60_000_000_000;

fuzz_target!(|bytes: &[u8]| {
    let (step, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    let plan = "pattern = \"pairs\"\ntest = \"TCP_RR\"\nwindow = 1\n";
    let facts = CampaignFacts {
        id: "c".to_owned(),
        plan: CampaignPlan::read(plan).expect("a plan"),
        started_unix: 0.0,
        cells_file: None,
    };
    let members = inventory::read(b"a\nb\nc\n", &InventoryOptions::default()).expect("members");
    let rounds = facts.plan.rounds(&members).expect("rounds").rounds;
    let mut world = World {
        coordinator: CampaignCoordinator::new(facts, members),
        inbox: Inbox::default(),
        now: 0,
        step: u64::from(*step) * 1_000_000,
        index: 0,
    };
    world.inbox.add(bytes);
    world.run(CoordinatorInput::Meet);
    world.run(CoordinatorInput::Measure(rounds));
    world.run(CoordinatorInput::Finish);
    let document = world.coordinator.document();
    assert!(document.cells_measured <= document.cells_planned);
    serde_json::to_string(&document).expect("a document");
});

struct World {
    coordinator: CampaignCoordinator,
    inbox: Inbox,
    now: u64,
    step: u64,
    index: usize,
}

impl World {
    fn give(&mut self, input: CoordinatorInput) {
        for action in self.coordinator.step(input, self.now) {
            self.act(action);
        }
    }

    fn act(&mut self, action: CoordinatorAction) {
        match action {
            CoordinatorAction::Dial(wanted) => {
                for (index, _) in wanted {
                    self.give(CoordinatorInput::Connected(index));
                }
            }
            CoordinatorAction::Tell(member, order) => {
                let clock = *order == Order::Clock;
                self.give(CoordinatorInput::Asked { member, clock });
            }
            CoordinatorAction::FindSilent(members) => {
                for index in members {
                    self.give(CoordinatorInput::Silent(index));
                }
            }
            CoordinatorAction::DrawTokens(count) => {
                let bytes = TokenBytes(Zeroizing::new(vec![0; count]));
                self.give(CoordinatorInput::Tokens(Ok(bytes)));
            }
            CoordinatorAction::Date(_) => self.give(CoordinatorInput::Dated(1.0)),
            CoordinatorAction::MakeMatrices => {
                let matrices = self.coordinator.document().matrices();
                self.give(CoordinatorInput::Matrices(Ok(matrices)));
            }
            CoordinatorAction::Reset(_)
            | CoordinatorAction::Begin(_)
            | CoordinatorAction::Cell(..)
            | CoordinatorAction::Flush
            | CoordinatorAction::Say(_)
            | CoordinatorAction::State(_)
            | CoordinatorAction::Line(_)
            | CoordinatorAction::Hosts(..) => {}
        }
    }

    /// Gives replies of all agents in turn, until the coordinator rests.
    fn run(&mut self, input: CoordinatorInput) {
        self.give(input);
        let mut silent = 0;
        while !self.coordinator.is_resting() {
            if let Ok(Some(reply)) = self.inbox.take::<Reply>() {
                self.index = (self.index + 1) % 3;
                self.give(CoordinatorInput::Reply(self.index, reply));
            } else {
                silent += 1;
                assert!(silent < 1000, "it does not end");
                self.now += MINUTE;
            }
            self.now += self.step;
            self.give(CoordinatorInput::Tick);
        }
    }
}
