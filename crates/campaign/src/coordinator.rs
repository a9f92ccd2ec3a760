//! The coordinator's side of a campaign, without input or output: what the driver is to do, replies
//! and losses of agents, and the passing of time go in, and actions come out.

mod action;
mod agreement;
mod cells;
mod clock_reader;
mod document;
mod failures;
mod following;
mod meeting;
mod member;
mod question;
mod shares;

use std::collections::BTreeSet;

pub use action::{CellTurn, CoordinatorAction, CoordinatorInput, TokenBytes};

use crate::inventory::InventoryMember;
use crate::outcome::RoundSums;
use crate::outliers::Suspect;
use crate::pattern::Cell;
use crate::plan::CampaignPlan;
use crate::protocol::{HEARTBEAT, Order, Reply};

use cells::{CampaignCells, CellResult};
use clock_reader::{ClockReader, LONG};
use member::MemberRuns;
use question::{BeginAttempt, Question};

/// Longest time between ticks, and time between looks for silent agents, nanoseconds.
const LOOK: u64 = 100_000_000;
/// Time between looks for agents that join, nanoseconds.
const LOOK_FOR_JOINED: u64 = 20_000_000;
/// Time to read all clocks, at least: so many silences.
const READ_ALL: u64 = 10;

/// Fixed parameters of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignFacts {
    /// Identifier.
    pub id: String,
    /// The plan.
    pub plan: CampaignPlan,
    /// Begin by the system clock, seconds since 1970.
    pub started_unix: f64,
    /// Name of the file of the cells, if there is one.
    pub cells_file: Option<String>,
}

/// Stage of the campaign.
#[derive(Debug)]
enum CoordinatorPhase {
    /// The driver says what comes next.
    Resting,
    /// Agents join, until there are so many, or until the end of so much time.
    Joining {
        count: usize,
        until: u64,
        within: u64,
    },
    /// These are being connected to.
    Connecting(BTreeSet<usize>),
    /// Agents answer an order.
    Asking(Question),
    /// Clocks are read, before the loads or after them.
    ReadingClocks(ClockReader, ClockPurpose),
    /// Tokens are drawn.
    Drawing(BeginAttempt),
    /// Loads run; their results have to be there at this time.
    Following { end: u64, again: bool },
    /// Matrices are made of the cells.
    Judging,
    /// Loads stop. Time counts once all were told.
    Stopping {
        waiting: Vec<usize>,
        until: Option<u64>,
        then: AfterStop,
    },
    /// Agents close their connections. Time counts once all were told.
    Parting(Option<u64>),
}

/// Purpose of a clock reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockPurpose {
    Before,
    After,
}

/// Next stage once nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterStop {
    /// The end of the loads.
    Rest,
    /// Another attempt: the last begin was too early by this much.
    Retry(BeginAttempt, u64),
}

/// The coordinator of a campaign.
#[derive(Debug)]
pub struct CampaignCoordinator {
    facts: CampaignFacts,
    members: MemberRuns,
    cells: CampaignCells,
    phase: CoordinatorPhase,
    /// The rounds of the plan, if they may be repeated as a whole.
    rounds: Vec<Vec<Cell>>,
    /// Results that came before the begin was agreed, if it is not: agent, number of the load, and
    /// what came.
    early: Option<Vec<(usize, u32, CellResult)>>,
    /// Begin of the first load.
    begin: u64,
    /// Why the campaign ended early.
    ended: Option<String>,
    /// Why the agents were not met, until it is told.
    unmet: Option<String>,
    /// Why there is nothing to tell about the campaign.
    refusal: Option<String>,
    /// Why the file of the cells cannot be written.
    broken: Option<String>,
    /// Largest error of a window whose cell is in that file, seconds.
    cut: Option<f64>,
    /// Sums of the cells that are in that file.
    sums: RoundSums,
    /// Suspected outliers.
    suspects: Vec<Suspect>,
    /// A signal came that was not obeyed yet.
    interrupted: bool,
    /// Time of the next heartbeat.
    next_beat: u64,
    /// Time of the next look for silent agents.
    next_look: u64,
    /// Time of the next tick.
    next_tick: u64,
    actions: Vec<CoordinatorAction>,
}

impl CampaignCoordinator {
    /// The coordinator of a campaign of these members.
    #[must_use]
    pub fn new(facts: CampaignFacts, members: Vec<InventoryMember>) -> Self {
        Self {
            facts,
            members: MemberRuns::new(members),
            cells: CampaignCells::default(),
            phase: CoordinatorPhase::Resting,
            rounds: Vec::new(),
            early: Some(Vec::new()),
            begin: 0,
            ended: None,
            unmet: None,
            refusal: None,
            broken: None,
            cut: None,
            sums: RoundSums::default(),
            suspects: Vec::new(),
            interrupted: false,
            next_beat: 0,
            next_look: 0,
            next_tick: 0,
            actions: Vec::new(),
        }
    }

    /// True if the driver has to say what comes next.
    #[must_use]
    pub const fn is_resting(&self) -> bool {
        matches!(self.phase, CoordinatorPhase::Resting)
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Time of the next [`CoordinatorInput::Tick`].
    #[must_use]
    pub const fn next_tick(&self) -> u64 {
        self.next_tick
    }

    /// Why the agents were not met, or why there is nothing to tell about the campaign: the command
    /// line, the plan or a host is wrong.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Why the agents that are connected do not take part.
    #[must_use]
    pub fn unmet(&self) -> Option<&str> {
        self.unmet.as_deref()
    }

    /// Takes what happened at this time.
    #[must_use]
    pub fn step(&mut self, input: CoordinatorInput, now: u64) -> Vec<CoordinatorAction> {
        match input {
            CoordinatorInput::Join { count, within } => self.wait_for(count, within, now),
            CoordinatorInput::Joined(address) => self.join(&address, now),
            CoordinatorInput::Meet => self.meet(now),
            CoordinatorInput::Connected(index) => self.connected(index, now),
            CoordinatorInput::NotConnected(index, why) => self.not_connected(index, why),
            CoordinatorInput::Measure(rounds) => self.measure(rounds, now),
            CoordinatorInput::Finish => self.finish(now),
            CoordinatorInput::Asked { member, clock } => self.asked(member, clock, now),
            CoordinatorInput::Reply(index, reply) => self.reply(index, reply, now),
            CoordinatorInput::Lost(index, why) => self.lose(index, why, now),
            CoordinatorInput::Silent(index) => self.silent(index, now),
            CoordinatorInput::Tokens(tokens) => self.drawn(tokens, now),
            CoordinatorInput::Dated(unix) => self.facts.started_unix = unix,
            CoordinatorInput::Matrices(matrices) => self.judge(matrices, now),
            CoordinatorInput::FileFailed(why) => drop(self.broken.get_or_insert(why)),
            CoordinatorInput::Interrupt => self.interrupted = true,
            CoordinatorInput::Tick => self.tick(now),
        }
        std::mem::take(&mut self.actions)
    }

    fn tick(&mut self, now: u64) {
        self.next_tick = now.saturating_add(LOOK);
        let phase = std::mem::replace(&mut self.phase, CoordinatorPhase::Resting);
        self.phase = match phase {
            CoordinatorPhase::Joining {
                count,
                until,
                within,
            } => self.look_for_joined(count, (until, within), now),
            CoordinatorPhase::Connecting(wanted) => self.connect(wanted, now),
            CoordinatorPhase::Asking(question) => self.ask(question, now),
            CoordinatorPhase::ReadingClocks(reader, purpose) => {
                self.read_clocks(reader, purpose, now)
            }
            CoordinatorPhase::Following { end, again } => self.follow((end, again), now),
            CoordinatorPhase::Stopping {
                waiting,
                until,
                then,
            } => self.stop(waiting, until, then, now),
            CoordinatorPhase::Parting(until) => self.part(until, now),
            CoordinatorPhase::Resting
            | CoordinatorPhase::Drawing(_)
            | CoordinatorPhase::Judging => phase,
        };
    }

    fn act(&mut self, action: CoordinatorAction) {
        self.actions.push(action);
    }

    fn line(&mut self, text: String) {
        self.act(CoordinatorAction::Line(text));
    }

    fn state(&mut self, text: String) {
        self.act(CoordinatorAction::State(text));
    }

    /// Sends an order to a member that is there.
    fn tell(&mut self, index: usize, order: Order) {
        if self.members.is_there(index) {
            self.act(CoordinatorAction::Tell(index, Box::new(order)));
        }
    }

    /// The next tick is due at once.
    const fn hurry(&mut self, now: u64) {
        self.next_tick = now;
    }

    /// Silence of a member after which it counts as lost, nanoseconds.
    #[must_use]
    pub fn silence(&self) -> u64 {
        self.facts.plan.silence()
    }

    /// Time for an agent to answer an order, nanoseconds.
    fn answer(&self) -> u64 {
        5 * self.silence()
    }

    fn asked(&mut self, index: usize, clock: bool, now: u64) {
        self.members.asked(index, now);
        if let (CoordinatorPhase::ReadingClocks(reader, _), true) = (&mut self.phase, clock) {
            reader.asked(index, now);
        }
    }

    fn reply(&mut self, index: usize, reply: Reply, now: u64) {
        self.members.heard(index, now);
        self.hurry(now);
        let used = match &mut self.phase {
            CoordinatorPhase::Asking(question) => {
                let member = self.members.get_mut(index);
                member.is_none_or(|member| question.take(index, member, &reply))
            }
            CoordinatorPhase::ReadingClocks(reader, _) => {
                if let Reply::Clock { received, sent } = reply {
                    if reader.answered(index, (received, sent), now) {
                        self.tell(index, Order::Clock);
                    }
                    return;
                }
                false
            }
            CoordinatorPhase::Stopping { waiting, .. } if reply == Reply::Stopped => {
                waiting.retain(|one| *one != index);
                true
            }
            CoordinatorPhase::Parting(_) => true,
            CoordinatorPhase::Resting
            | CoordinatorPhase::Joining { .. }
            | CoordinatorPhase::Connecting(_)
            | CoordinatorPhase::Drawing(_)
            | CoordinatorPhase::Following { .. }
            | CoordinatorPhase::Judging
            | CoordinatorPhase::Stopping { .. } => false,
        };
        if !used {
            self.take(index, reply, now);
        }
    }

    /// Takes a reply that answers no question.
    fn take(&mut self, index: usize, reply: Reply, now: u64) {
        match reply {
            Reply::Result(result) => self.result(index, &result),
            Reply::Alive {
                stepped, running, ..
            } => {
                if let Some(member) = self.members.get_mut(index) {
                    member.alive(running, stepped);
                }
            }
            Reply::Refused { reason } => {
                let reason = netperf_web::escape::line(&reason);
                self.lose(index, format!("it refuses: {reason}"), now);
            }
            Reply::Hello { .. }
            | Reply::Clock { .. }
            | Reply::Prepared
            | Reply::Committed { .. }
            | Reply::Late { .. }
            | Reply::Collected
            | Reply::Stopped => {}
        }
    }

    /// Sends a heartbeat to all greeted agents when it is due, and returns true then.
    fn beat(&mut self, now: u64) -> bool {
        if now < self.next_beat {
            return false;
        }
        self.next_beat = now + HEARTBEAT;
        for index in self.members.greeted() {
            self.tell(index, Order::Alive);
        }
        true
    }

    /// Has the driver look for members that give no sign of life.
    fn watch(&mut self, now: u64) {
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        let limit = self.members.silence_limit(self.silence());
        let silent = self.members.silent(limit, now);
        if !silent.is_empty() {
            // Unread data counts as a sign of life.
            self.act(CoordinatorAction::FindSilent(silent));
        }
    }

    /// Begins to read the clocks of all agents.
    fn begin_to_read_clocks(&mut self, purpose: ClockPurpose, now: u64) -> CoordinatorPhase {
        let present = self.members.present();
        let each = self.answer() / 100 * present.len() as u64;
        let until = now + READ_ALL * self.silence() + each;
        let reader = ClockReader::new(present, self.members.len(), (now, until));
        self.read_clocks(reader, purpose, now)
    }

    fn read_clocks(
        &mut self,
        mut reader: ClockReader,
        purpose: ClockPurpose,
        now: u64,
    ) -> CoordinatorPhase {
        self.watch(now);
        reader.forget(|index| self.members.is_there(index));
        if reader.is_late(now) {
            return self.clocks_are_read(None, purpose, now);
        }
        while let Some(index) = reader.next(now) {
            self.tell(index, Order::Clock);
        }
        if reader.is_over() {
            return self.clocks_are_read(Some(&reader), purpose, now);
        }
        self.beat(now);
        if reader.has_waiting() {
            self.next_tick = now + LONG;
        }
        CoordinatorPhase::ReadingClocks(reader, purpose)
    }

    /// Goes on with the offsets of the clocks, or without them.
    fn clocks_are_read(
        &mut self,
        reader: Option<&ClockReader>,
        purpose: ClockPurpose,
        now: u64,
    ) -> CoordinatorPhase {
        for (index, offset) in reader.iter().flat_map(|one| one.offsets()).enumerate() {
            if let Some(member) = self.members.get_mut(index) {
                match purpose {
                    ClockPurpose::Before => member.before = offset,
                    ClockPurpose::After => member.after = offset,
                }
            }
        }
        match purpose {
            ClockPurpose::After => self.begin_to_part(now),
            ClockPurpose::Before => {
                let late = || "the clocks of the agents could not be read in time".to_owned();
                let late = reader.is_none().then(late);
                self.unmet = late.or_else(|| self.members.first_loss());
                CoordinatorPhase::Resting
            }
        }
    }
}

#[cfg(test)]
mod tests;
