//! The driver of a campaign's coordinator.

use std::net::TcpListener;
use std::time::Duration;

use netperf_campaign::coordinator::{
    CampaignCoordinator, CampaignFacts, CellTurn, CoordinatorAction, CoordinatorInput, TokenBytes,
};
use netperf_campaign::inventory::InventoryMember;
use netperf_campaign::matrix::{CellsHead, Matrix};
use netperf_campaign::outcome::CampaignCell;
use netperf_campaign::plan::CampaignPlan;
use netperf_campaign::protocol::Order;
use netperf_measure::clock;
use netperf_model::{KeyRing, Secret};
use netperf_os::signals::Signals;
use netperf_program::output::system_text;
use zeroize::Zeroizing;

use super::links::AgentLinks;
use super::meet::{JoiningAgents, dial};
use super::peer::AgentLink;
use super::progress::Progress;
use super::sink::CellFile;

/// A campaign in progress.
pub(super) struct CampaignRun<'a> {
    coordinator: CampaignCoordinator,
    links: AgentLinks,
    /// Proves to agents that are connected to.
    secret: Option<Secret>,
    /// The file of the cells.
    sink: Option<CellFile>,
    signals: &'a Signals,
    pub(super) progress: Progress,
}

/// Fills a buffer with random bytes.
fn draw(bytes: &mut [u8]) -> Result<(), String> {
    netperf_os::system::random(bytes).map_err(|error| system_text(&error))
}

/// The time of the system clock at a reading of the monotonic one, seconds since 1970.
fn date(at: u64) -> f64 {
    let ahead = Duration::from_nanos(at.saturating_sub(clock::monotonic()));
    clock::since_epoch().as_secs_f64() + ahead.as_secs_f64()
}

impl<'a> CampaignRun<'a> {
    /// A coordinator of these members.
    ///
    /// # Errors
    /// One line.
    pub(super) fn new(
        plan: &CampaignPlan,
        members: Vec<InventoryMember>,
        (signals, sink): (&'a Signals, Option<CellFile>),
    ) -> Result<Self, String> {
        let mut id = [0; 8];
        draw(&mut id)?;
        let facts = CampaignFacts {
            id: base16ct::lower::encode_string(&id),
            plan: plan.clone(),
            started_unix: clock::since_epoch().as_secs_f64(),
            cells_file: sink.as_ref().map(CellFile::name),
        };
        Ok(Self {
            coordinator: CampaignCoordinator::new(facts, members),
            links: AgentLinks::default(),
            secret: None,
            sink,
            signals,
            progress: Progress::default(),
        })
    }

    /// State of the campaign.
    pub(super) const fn coordinator(&self) -> &CampaignCoordinator {
        &self.coordinator
    }

    /// Waits until agents have joined at this socket and there are so many members.
    ///
    /// # Errors
    /// One line.
    pub(super) fn wait_for(
        &mut self,
        (listener, count): (&TcpListener, usize),
        keys: &KeyRing,
        within: Duration,
    ) -> Result<(), String> {
        let within = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        std::thread::scope(|scope| {
            let agents = JoiningAgents::new(scope, listener, keys);
            let mut agents = agents.map_err(|error| system_text(&error))?;
            self.give(CoordinatorInput::Join { count, within });
            while !self.coordinator.is_resting() {
                let accepted = agents.accept().map_err(|error| system_text(&error))?;
                if !accepted {
                    std::thread::sleep(self.left());
                }
                while self.coordinator.count() < count {
                    let Some(link) = agents.next() else { break };
                    self.joined(link);
                }
                self.pass_on();
            }
            self.refused()
        })
    }

    fn joined(&mut self, link: AgentLink) {
        let (address, since) = (link.address().unwrap_or_default(), link.came);
        let index = self.coordinator.count();
        self.links.set(index, link);
        self.give_at(CoordinatorInput::Joined(address), since);
    }

    /// Connects to the agents that have not joined, greets all and reads their clocks.
    ///
    /// # Errors
    /// One line that names the member.
    pub(super) fn meet(&mut self, secret: Secret) -> Result<(), String> {
        self.secret = Some(secret);
        self.run(CoordinatorInput::Meet);
        self.refused()
    }

    /// Does this, and what happens until the coordinator rests.
    pub(super) fn run(&mut self, input: CoordinatorInput) {
        self.give(input);
        while !self.coordinator.is_resting() {
            self.hear(self.left());
            self.pass_on();
        }
    }

    /// Time until the next tick.
    fn left(&self) -> Duration {
        let next = self.coordinator.next_tick();
        Duration::from_nanos(next.saturating_sub(clock::monotonic()))
    }

    /// Tells of signals, and that time has passed.
    fn pass_on(&mut self) {
        if self.signals.next().is_some() {
            self.give(CoordinatorInput::Interrupt);
        }
        self.give(CoordinatorInput::Tick);
    }

    /// Why there is nothing to tell about the campaign.
    pub(super) fn refused(&self) -> Result<(), String> {
        let why = self.coordinator.refusal();
        why.map_or(Ok(()), |why| Err(why.to_owned()))
    }

    /// Lets the agents go.
    pub(super) fn finish(&mut self) {
        self.run(CoordinatorInput::Finish);
        self.progress.end();
    }

    fn give(&mut self, input: CoordinatorInput) {
        self.give_at(input, clock::monotonic());
    }

    fn give_at(&mut self, input: CoordinatorInput, now: u64) {
        for action in self.coordinator.step(input, now) {
            self.act(action);
        }
    }

    /// Takes what agents have sent, in this time.
    fn hear(&mut self, within: Duration) {
        for (index, heard) in self.links.hear(within) {
            match heard {
                Ok((replies, came)) => {
                    for reply in replies {
                        self.give_at(CoordinatorInput::Reply(index, reply), came);
                    }
                }
                Err(why) => self.give(CoordinatorInput::Lost(index, why)),
            }
        }
    }

    fn act(&mut self, action: CoordinatorAction) {
        match action {
            CoordinatorAction::Dial(wanted) => self.dial(wanted),
            CoordinatorAction::Tell(index, order) => self.tell(index, &order),
            CoordinatorAction::Reset(index) => self.links.reset(index),
            CoordinatorAction::FindSilent(members) => {
                for index in self.links.silent(&members) {
                    self.give(CoordinatorInput::Silent(index));
                }
            }
            CoordinatorAction::DrawTokens(count) => {
                let mut bytes = Zeroizing::new(vec![0; count]);
                let drawn = draw(&mut bytes).map(|()| TokenBytes(bytes));
                self.give(CoordinatorInput::Tokens(drawn));
            }
            CoordinatorAction::Date(at) => self.give(CoordinatorInput::Dated(date(at))),
            CoordinatorAction::MakeMatrices => {
                let matrices = self.matrices();
                self.give(CoordinatorInput::Matrices(matrices));
            }
            CoordinatorAction::Begin(head) => self.begin(&head),
            CoordinatorAction::Cell(cell, turn) => self.cell(&cell, turn),
            CoordinatorAction::Flush => {
                let flushed = self.sink.as_mut().map(CellFile::flush);
                self.written(flushed);
            }
            CoordinatorAction::Say(text) => self.progress.say(&text),
            CoordinatorAction::State(text) => self.progress.state(&text),
            CoordinatorAction::Line(text) => self.progress.line(&text),
            CoordinatorAction::Hosts(states, rounds, left) => {
                self.progress.hosts(&states, rounds, left);
            }
        }
    }

    fn dial(&mut self, wanted: Vec<(usize, String)>) {
        let Some(secret) = &self.secret else { return };
        let interrupted = || self.signals.next().is_some();
        let Some(dialled) = dial(wanted, secret, interrupted) else {
            return self.give(CoordinatorInput::Interrupt);
        };
        for (index, link) in dialled {
            match link {
                Ok(link) => {
                    let since = link.came;
                    self.links.set(index, link);
                    self.give_at(CoordinatorInput::Connected(index), since);
                }
                Err(why) => self.give(CoordinatorInput::NotConnected(index, why)),
            }
        }
    }

    fn tell(&mut self, index: usize, order: &Order) {
        if order.has_reply() {
            let clock = *order == Order::Clock;
            let member = index;
            self.give(CoordinatorInput::Asked { member, clock });
        }
        let within = Duration::from_nanos(self.coordinator.silence());
        if let Err(why) = self.links.tell(index, order, within) {
            self.give(CoordinatorInput::Lost(index, why));
        }
    }

    fn begin(&mut self, head: &CellsHead) {
        self.progress.begin(head);
        let begun = self.sink.as_mut().map(|sink| sink.begin(|| head.clone()));
        self.written(begun);
    }

    fn cell(&mut self, cell: &CampaignCell, turn: CellTurn) {
        if !turn.is_again() {
            self.progress.cell(cell.cell(), &cell.figures);
        }
        let written = self
            .sink
            .as_mut()
            .map(|sink| sink.write(cell, turn.is_again()));
        self.written(written);
    }

    fn written(&mut self, written: Option<Result<(), String>>) {
        if let Some(Err(why)) = written {
            self.give(CoordinatorInput::FileFailed(why));
        }
    }

    /// The matrices of what was measured.
    ///
    /// # Errors
    /// One line about the file of the cells.
    pub(super) fn matrices(&mut self) -> Result<Vec<Matrix>, String> {
        match &mut self.sink {
            Some(sink) => sink.matrices(),
            None => Ok(self.coordinator.document().matrices()),
        }
    }

    /// Writes the cells that are not in their file yet, and its end.
    ///
    /// # Errors
    /// One line.
    pub(super) fn finish_cells(&mut self, complete: bool, lost: Vec<String>) -> Result<(), String> {
        if let Some(why) = self.coordinator.broken() {
            return Err(why.to_owned());
        }
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        sink.begin(|| self.coordinator.head())?;
        for (cell, turn) in self.coordinator.unwritten() {
            sink.write(&cell, turn.is_again())?;
        }
        sink.finish(complete, lost)
    }
}
