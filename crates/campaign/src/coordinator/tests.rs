//! Events of a campaign in orders that programs meet only by luck.

mod events;
mod transitions;
mod with_agents;

use zeroize::Zeroizing;

use super::*;
use crate::inventory::{self, InventoryOptions};
use crate::protocol::{HostPlace, LoadResult, VERSION};

const SECOND: u64 = 1_000_000_000;
/// Time at which tests begin.
const BEGIN: u64 = 100 * SECOND;
/// Silence of the plan.
const SILENCE: u64 = 2 * SECOND;

/// A coordinator of agents, which the test plays.
struct Coordinated {
    coordinator: CampaignCoordinator,
    now: u64,
}

fn plan(more: &str) -> CampaignPlan {
    let text = format!("test = \"TCP_STREAM\"\nwindow = 1\nwarmup = 0\ncooldown = 0.01\n{more}");
    CampaignPlan::read(&text).unwrap()
}

/// A to b, and then b to c.
fn two_rounds() -> CampaignPlan {
    plan("pattern = \"list\"\npairs = [[\"a\", \"b\"], [\"b\", \"c\"]]\n")
}

fn members(text: &str) -> Vec<InventoryMember> {
    inventory::read(text.as_bytes(), &InventoryOptions::default()).unwrap()
}

impl Coordinated {
    fn of(plan: CampaignPlan, hosts: &str, cells_file: Option<&str>) -> Self {
        let facts = CampaignFacts {
            id: "c".to_owned(),
            plan,
            started_unix: 0.0,
            cells_file: cells_file.map(str::to_owned),
        };
        Self {
            coordinator: CampaignCoordinator::new(facts, members(hosts)),
            now: BEGIN,
        }
    }

    /// Three agents that measure in two rounds.
    fn new() -> Self {
        Self::of(two_rounds(), "a\nb\nc\n", None)
    }

    fn give(&mut self, input: CoordinatorInput) -> Vec<CoordinatorAction> {
        self.coordinator.step(input, self.now)
    }

    fn reply(&mut self, index: usize, reply: Reply) -> Vec<CoordinatorAction> {
        self.give(CoordinatorInput::Reply(index, reply))
    }

    /// Lets time pass.
    fn after(&mut self, time: u64) -> Vec<CoordinatorAction> {
        self.now += time;
        self.give(CoordinatorInput::Tick)
    }

    /// The orders of all ticks that are due at once.
    fn orders(&mut self) -> Vec<CoordinatorAction> {
        let mut all = self.after(0);
        while !self.coordinator.is_resting() && self.coordinator.next_tick() <= self.now {
            all.extend(self.after(0));
        }
        all
    }

    fn greeting() -> Self {
        let mut one = Self::new();
        one.give(CoordinatorInput::Meet);
        for index in 0..3 {
            one.give(CoordinatorInput::Connected(index));
        }
        one.orders();
        one
    }

    fn hello(&mut self, index: usize) -> Vec<CoordinatorAction> {
        let host = format!("h{index}");
        self.reply(index, hello(&host))
    }

    /// All agents have answered the greeting; the questions about clocks.
    fn greeted() -> (Self, Vec<CoordinatorAction>) {
        let mut one = Self::greeting();
        for index in 0..3 {
            one.hello(index);
        }
        let asked = one.after(0);
        (one, asked)
    }

    fn reading_clocks() -> Self {
        Self::greeted().0
    }

    /// Answers the questions about clocks among these actions, and those that follow, until no
    /// clock is read any more.
    fn answer_clocks(&mut self, mut open: Vec<CoordinatorAction>) {
        while matches!(self.coordinator.phase, CoordinatorPhase::ReadingClocks(..)) {
            self.now += 1_000;
            let (received, sent) = (self.now, self.now);
            let mut next = Vec::new();
            for (index, order) in told(&open) {
                if *order == Order::Clock {
                    next.extend(self.reply(index, Reply::Clock { received, sent }));
                }
            }
            if next.is_empty() {
                next = self.after(0);
            }
            open = next;
        }
    }

    fn met() -> Self {
        let (mut one, asked) = Self::greeted();
        one.answer_clocks(asked);
        one
    }

    fn drawing() -> Self {
        let mut one = Self::met();
        let plan = one.coordinator.facts.plan.clone();
        let members: Vec<_> = one.coordinator.entries().cloned().collect();
        let rounds = plan.rounds(&members).unwrap().rounds;
        one.give(CoordinatorInput::Measure(rounds));
        one
    }

    fn draw(&mut self) -> Vec<CoordinatorAction> {
        let bytes = TokenBytes(Zeroizing::new(vec![7; 64]));
        let mut all = self.give(CoordinatorInput::Tokens(Ok(bytes)));
        all.extend(self.orders());
        all
    }

    fn preparing() -> Self {
        let mut one = Self::drawing();
        one.draw();
        one
    }

    fn prepared(&mut self) -> Vec<CoordinatorAction> {
        for index in 0..3 {
            self.reply(index, Reply::Prepared);
        }
        self.orders()
    }

    fn committing() -> Self {
        let mut one = Self::preparing();
        one.prepared();
        one
    }

    fn commit(&mut self, reply: &Reply) -> Vec<CoordinatorAction> {
        for index in 0..2 {
            self.reply(index, reply.clone());
        }
        self.orders()
    }

    fn following() -> Self {
        let mut one = Self::committing();
        one.commit(&committed());
        one
    }

    fn judging() -> Self {
        let mut one = Self::following();
        one.reply(0, result(0));
        one.reply(1, result(1));
        one.orders();
        one
    }

    fn stopping() -> Self {
        let mut one = Self::following();
        one.give(CoordinatorInput::Interrupt);
        one.orders();
        one
    }

    /// The end of a campaign of which all was measured; the questions about clocks.
    fn finished() -> (Self, Vec<CoordinatorAction>) {
        let mut one = Self::judging();
        one.give(CoordinatorInput::Matrices(Ok(Vec::new())));
        let asked = one.give(CoordinatorInput::Finish);
        (one, asked)
    }

    fn parting() -> Self {
        let (mut one, asked) = Self::finished();
        one.answer_clocks(asked);
        one.after(0);
        one
    }
}

fn hello(host: &str) -> Reply {
    Reply::Hello {
        version: VERSION,
        program: "1".to_owned(),
        host: host.to_owned(),
        port: "12865".to_owned(),
        cpus: 2,
        place: HostPlace::default(),
    }
}

const fn committed() -> Reply {
    Reply::Committed { margin: SECOND }
}

fn document(begin: u64, rate: f64) -> serde_json::Value {
    serde_json::json!({
        "result": {"throughput_bits_per_second": rate},
        "test": {"socket_type": "Stream"},
        "iterations": [{"flows": {"window_begin_nanoseconds": begin, "counted_seconds": 1.0}}],
    })
}

fn result(id: u32) -> Reply {
    Reply::Result(Box::new(LoadResult {
        id,
        document: Some(document(BEGIN, 1e9)),
        error: None,
    }))
}

/// The orders among actions.
fn told(actions: &[CoordinatorAction]) -> Vec<(usize, &Order)> {
    let mut told = Vec::new();
    for action in actions {
        if let CoordinatorAction::Tell(index, order) = action {
            told.push((*index, &**order));
        }
    }
    told
}
