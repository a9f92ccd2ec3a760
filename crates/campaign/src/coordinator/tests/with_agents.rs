//! Whole campaigns of a coordinator and of agents, with random delays, losses and signals.

use std::collections::BTreeMap;

use super::*;
use crate::agent::{Agent, AgentAction, AgentFacts, LineId, Quota};
use crate::outcome::CampaignDocument;

/// The connection of an agent.
const LINE: LineId = LineId(1);

/// Random numbers of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Something that is on its way.
enum Event {
    Order(usize, Box<Order>),
    Reply(usize, Reply),
    LoadEnds(usize, u32),
    Ends(usize),
    Interrupt,
    AgentTick(usize),
    Tick,
}

/// A coordinator, its agents, and what is between them.
struct World {
    coordinated: Coordinated,
    agents: Vec<Option<Agent>>,
    /// Events by time, and by their number.
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    /// Time at which the last message to or from an agent arrives: none overtakes another.
    last: Vec<[u64; 2]>,
    random: Random,
    /// A path that is slower than the others.
    slow: Option<(usize, usize)>,
    /// A preparation with which an agent is lost: its number, and the agent.
    lose_with_prepare: Option<(usize, usize)>,
    /// Preparations of all agents.
    prepared: usize,
}

impl World {
    fn new(plan: CampaignPlan, count: usize, seed: u64) -> Self {
        let hosts: String = (0..count).map(|index| format!("h{index}\n")).collect();
        let agent = |index: usize| {
            let facts = AgentFacts {
                program: "1".to_owned(),
                host: format!("h{index}"),
                port: "12865".to_owned(),
                cpus: 2,
                place: HostPlace::default(),
            };
            Some(Agent::new(facts, Quota::default()))
        };
        Self {
            coordinated: Coordinated::of(plan, &hosts, None),
            agents: (0..count).map(agent).collect(),
            events: BTreeMap::new(),
            count: 0,
            last: vec![[0; 2]; count],
            random: Random(seed),
            slow: None,
            lose_with_prepare: None,
            prepared: 0,
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    /// When a message arrives that is sent now.
    fn arrival(&mut self, index: usize, direction: usize) -> u64 {
        let delay = 20_000 + self.random.below(4_000_000);
        let last = &mut self.last[index][direction];
        *last = (self.coordinated.now + delay).max(*last);
        *last
    }

    fn act(&mut self, actions: Vec<CoordinatorAction>) {
        for action in actions {
            let input = match action {
                CoordinatorAction::Tell(member, order) => {
                    let time = self.arrival(member, 0);
                    let clock = *order == Order::Clock;
                    self.at(time, Event::Order(member, order));
                    CoordinatorInput::Asked { member, clock }
                }
                CoordinatorAction::Dial(wanted) => {
                    for (index, _) in wanted {
                        self.give(CoordinatorInput::Connected(index));
                    }
                    continue;
                }
                CoordinatorAction::FindSilent(members) => {
                    for index in members {
                        self.give(CoordinatorInput::Silent(index));
                    }
                    continue;
                }
                CoordinatorAction::DrawTokens(count) => {
                    let bytes = (0..count).map(|_| u8::try_from(self.random.below(256)).unwrap());
                    CoordinatorInput::Tokens(Ok(TokenBytes(Zeroizing::new(bytes.collect()))))
                }
                CoordinatorAction::Date(_) => CoordinatorInput::Dated(1e9),
                CoordinatorAction::MakeMatrices => {
                    let matrices = self.coordinated.coordinator.document().matrices();
                    CoordinatorInput::Matrices(Ok(matrices))
                }
                CoordinatorAction::Reset(_)
                | CoordinatorAction::Begin(_)
                | CoordinatorAction::Cell(..)
                | CoordinatorAction::Flush
                | CoordinatorAction::Say(_)
                | CoordinatorAction::State(_)
                | CoordinatorAction::Line(_)
                | CoordinatorAction::Hosts(..) => continue,
            };
            self.give(input);
        }
    }

    fn give(&mut self, input: CoordinatorInput) {
        let actions = self.coordinated.give(input);
        self.act(actions);
    }

    fn agent_acts(&mut self, index: usize, actions: Vec<AgentAction>) {
        for action in actions {
            match action {
                AgentAction::Reply(_, reply) => {
                    let time = self.arrival(index, 1);
                    self.at(time, Event::Reply(index, reply));
                }
                AgentAction::Close(_) => {
                    let time = self.arrival(index, 1);
                    self.at(time, Event::Ends(index));
                }
                AgentAction::Start(started) => {
                    let end = started.at + started.load.parts.total();
                    let time = end + self.random.below(400_000_000);
                    self.at(time, Event::LoadEnds(index, started.load.id));
                }
                AgentAction::Kill(id) => {
                    let time = self.coordinated.now + self.random.below(1_000_000);
                    self.at(time, Event::LoadEnds(index, id));
                }
                AgentAction::Admit(_) | AgentAction::Log(_) => {}
            }
        }
        let next = self.agents[index].as_ref().and_then(Agent::next_tick);
        if let Some(next) = next {
            self.at(next.max(self.coordinated.now + 1), Event::AgentTick(index));
        }
    }

    fn load_ends(&mut self, index: usize, id: u32) {
        let cell = self.coordinated.coordinator.cells.load(id);
        let slow = cell.is_some_and(|(_, cell)| self.slow == Some((cell.from, cell.to)));
        let now = self.coordinated.now;
        let rate = if slow { 1e8 } else { 1e9 } + self.random.below(1_000_000) as f64;
        let result = LoadResult {
            id,
            document: Some(document(now - SECOND, rate)),
            error: None,
        };
        if let Some(agent) = &mut self.agents[index] {
            let actions = agent.load_ended(result);
            self.agent_acts(index, actions);
        }
    }

    fn happen(&mut self, event: Event) {
        let now = self.coordinated.now;
        match event {
            Event::Order(index, order) => {
                if matches!(*order, Order::Prepare(_)) && index == 0 {
                    self.prepared += 1;
                    let lost = self.lose_with_prepare;
                    if let Some((_, lost)) = lost.filter(|(number, _)| *number == self.prepared) {
                        self.at(now, Event::Ends(lost));
                    }
                }
                if let Some(agent) = &mut self.agents[index] {
                    let actions = agent.order(LINE, *order, (now, 0), &|_| Ok(()));
                    self.agent_acts(index, actions);
                }
            }
            Event::AgentTick(index) => {
                if let Some(agent) = &mut self.agents[index] {
                    let actions = agent.tick(now);
                    if !actions.is_empty() {
                        self.agent_acts(index, actions);
                    }
                }
            }
            Event::LoadEnds(index, id) => self.load_ends(index, id),
            Event::Reply(index, reply) => self.give(CoordinatorInput::Reply(index, reply)),
            Event::Ends(index) => {
                self.agents[index] = None;
                self.give(CoordinatorInput::Lost(index, "it is gone".to_owned()));
            }
            Event::Interrupt => self.give(CoordinatorInput::Interrupt),
            Event::Tick => {}
        }
    }

    /// Does this, until the coordinator rests.
    fn run(&mut self, input: CoordinatorInput) {
        let limit = self.coordinated.now + 3600 * SECOND;
        self.give(input);
        while !self.coordinated.coordinator.is_resting() {
            let next = self.coordinated.coordinator.next_tick();
            self.at(next.max(self.coordinated.now), Event::Tick);
            let ((time, _), event) = self.events.pop_first().unwrap();
            self.coordinated.now = time.max(self.coordinated.now);
            assert!(self.coordinated.now < limit, "it does not end");
            self.happen(event);
            self.give(CoordinatorInput::Tick);
        }
    }

    /// A whole campaign; its document, or why there is none.
    fn campaign(&mut self) -> Result<CampaignDocument, String> {
        self.run(CoordinatorInput::Meet);
        let coordinator = &self.coordinated.coordinator;
        let members: Vec<_> = coordinator.entries().cloned().collect();
        let rounds = coordinator.facts.plan.rounds(&members).unwrap().rounds;
        self.run(CoordinatorInput::Measure(rounds));
        self.run(CoordinatorInput::Finish);
        let coordinator = &self.coordinated.coordinator;
        let document = coordinator.document();
        match coordinator.refusal() {
            Some(why) => Err(why.to_owned()),
            None => Ok(document),
        }
    }
}

fn pairs() -> CampaignPlan {
    plan("pattern = \"pairs\"\n")
}

#[test]
fn campaign_without_losses_measures_every_cell_once() {
    for seed in 0..5 {
        let document = World::new(pairs(), 5, seed).campaign().unwrap();
        assert!(document.complete, "{seed}: {document:?}");
        assert_eq!((document.cells_planned, document.cells_measured), (20, 20));
        assert!(document.members.iter().all(|one| one.clock.is_some()));
        assert_eq!(document.started_unix_seconds, 1e9);
    }
}

#[test]
fn campaign_measures_a_slow_path_three_times_more() {
    let mut world = World::new(pairs(), 6, 1);
    world.slow = Some((1, 2));
    let document = world.campaign().unwrap();
    let again: Vec<(usize, usize)> = document
        .cells_again
        .iter()
        .map(|one| (one.from, one.to))
        .collect();
    assert_eq!(again, [(1, 2); 3]);
    assert!(document.cells_again.iter().all(|one| one.missing.is_none()));
    let matrices = document.matrices();
    let judged = document.judged(&matrices, world.coordinated.coordinator.suspects());
    assert_eq!(judged[0].confirmed, Some(true));
}

#[test]
fn campaign_measures_a_slow_path_again_also_after_a_loss() {
    let mut world = World::new(pairs(), 7, 1);
    world.slow = Some((1, 2));
    world.at(BEGIN + 10 * SECOND, Event::Ends(6));
    let document = world.campaign().unwrap();
    assert_eq!(document.lost_members(), ["h6"]);
    let again = document.cells_again.iter();
    let again: Vec<_> = again
        .map(|one| (one.from, one.to, one.missing.as_deref()))
        .collect();
    assert_eq!(again, [(1, 2, None); 3], "{:?}", document.ended);
    // One that is lost then ends it.
    let mut world = World::new(pairs(), 7, 1);
    world.slow = Some((1, 2));
    world.at(BEGIN + 10 * SECOND, Event::Ends(6));
    world.lose_with_prepare = Some((2, 5));
    let document = world.campaign().unwrap();
    assert_eq!(document.lost_members(), ["h5", "h6"]);
    assert!(document.cells_again.iter().all(|one| one.missing.is_some()));
}

#[test]
fn campaign_ends_whenever_an_agent_is_lost_or_a_signal_comes() {
    losses_and_signals(30);
}

#[test]
#[ignore = "nightly: 500 campaigns"]
fn each_of_500_campaigns_ends_whenever_an_agent_is_lost_or_a_signal_comes() {
    losses_and_signals(500);
}

/// Interrupts so many campaigns at random times, or lets one or two agents of them end.
fn losses_and_signals(campaigns: u64) {
    let (mut none, mut incomplete) = (0, 0);
    for seed in 0..campaigns {
        let mut world = World::new(pairs(), 4, seed);
        for _ in 0..1 + seed % 2 {
            let time = BEGIN + world.random.below(30 * SECOND);
            let index = usize::try_from(world.random.below(4)).unwrap();
            let event = if world.random.below(4) == 0 {
                Event::Interrupt
            } else {
                Event::Ends(index)
            };
            world.at(time, event);
        }
        match world.campaign() {
            Ok(document) => {
                let whole = document.ended.is_none() && document.lost_members().is_empty();
                assert_eq!(
                    document.complete,
                    whole && document.cells_measured == 12,
                    "{seed}"
                );
                for cell in &document.cells {
                    let measured = cell.figures.bits_per_second.is_some();
                    assert_eq!(measured, cell.missing.is_none(), "{seed}: {cell:?}");
                }
                incomplete += u64::from(!document.complete);
            }
            Err(_) => none += 1,
        }
        let agents = world.agents.iter().flatten();
        assert!(
            agents.into_iter().all(Agent::is_idle),
            "{seed}: load is left"
        );
    }
    assert!(
        3 * incomplete > 2 * campaigns,
        "{incomplete} of {campaigns} ended early, {none} without a document"
    );
}
