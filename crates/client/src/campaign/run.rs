//! The coordinator of a campaign.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_campaign::clock::OffsetInterval;
use netperf_campaign::inventory::InventoryMember;
use netperf_campaign::matrix::Matrix;
use netperf_campaign::outliers::Suspect;
use netperf_campaign::pattern::Cell;
use netperf_campaign::plan::CampaignPlan;
use netperf_campaign::protocol::{HEARTBEAT, Order, Reply};
use netperf_measure::clock;
use netperf_os::signals::Signals;
use netperf_os::wait::ready_of;

use super::cells::{CampaignCells, CellResult};
use super::peer::AgentLink;
use super::progress::Progress;
use super::sink::CellFile;

/// Least time from the commitment to the first opening of connections.
pub(super) const LEAST_LEAD: u64 = 250_000_000;
/// Longest wait between looks for silent agents.
pub(super) const LOOK: u64 = 100_000_000;

/// A member and what is known about it.
pub(super) struct Member {
    pub(super) entry: InventoryMember,
    pub(super) peer: Option<AgentLink>,
    pub(super) version: Option<String>,
    pub(super) cpus: Option<u32>,
    pub(super) before: Option<OffsetInterval>,
    pub(super) after: Option<OffsetInterval>,
    pub(super) stepped: i64,
    pub(super) lost: Option<(String, u64)>,
    /// Loads that run, as it said last.
    pub(super) running: u32,
}

impl Member {
    pub(super) fn new(entry: InventoryMember) -> Self {
        Self {
            entry,
            peer: None,
            version: None,
            cpus: None,
            before: None,
            after: None,
            stepped: 0,
            lost: None,
            running: 0,
        }
    }

    pub(super) const fn is_greeted(&self) -> bool {
        self.version.is_some()
    }

    pub(super) const fn is_there(&self) -> bool {
        self.peer.is_some()
    }
}

/// A campaign in progress.
pub(super) struct CampaignRun<'a> {
    pub(super) id: String,
    pub(super) plan: &'a CampaignPlan,
    /// Silence of a member after which it counts as lost, nanoseconds.
    pub(super) silence: u64,
    pub(super) members: Vec<Member>,
    pub(super) cells: CampaignCells,
    /// The rounds of the plan, if they may be repeated as a whole.
    pub(super) rounds: Vec<Vec<Cell>>,
    /// The begin of the loads is agreed.
    pub(super) agreed: bool,
    /// Results that came before: agent, number of the load, and what came.
    pub(super) early: Vec<(usize, u32, CellResult)>,
    /// The file of the cells.
    pub(super) sink: Option<CellFile>,
    /// Why that file cannot be written.
    pub(super) broken: Option<String>,
    /// Largest error of a window whose cell is in that file, seconds.
    pub(super) cut: Option<f64>,
    /// What looks like an outlier.
    pub(super) suspects: Vec<Suspect>,
    /// Begin of the first load.
    pub(super) begin: u64,
    pub(super) started_unix: f64,
    pub(super) ended: Option<String>,
    pub(super) signals: &'a Signals,
    pub(super) progress: Progress,
    /// Time of the next heartbeat.
    pub(super) next_beat: u64,
    /// Time of the next look for silent agents.
    pub(super) next_look: u64,
    /// The agent whose replies are read first.
    pub(super) next_heard: usize,
    /// Number of members that are lost.
    pub(super) losses: usize,
    /// Lost members of whose loss the others know.
    pub(super) excluded: Vec<usize>,
    /// The agents are let go: the end of a connection is no loss.
    pub(super) parting: bool,
}

pub(super) fn now() -> u64 {
    clock::monotonic()
}

/// Random digits.
pub(super) fn random<const N: usize>() -> Result<String, String> {
    let mut bytes = [0; N];
    let filled = netperf_os::system::random(&mut bytes);
    filled.map_err(|error| netperf_program::output::system_text(&error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl<'a> CampaignRun<'a> {
    /// A coordinator of these members.
    pub(super) fn new(
        plan: &'a CampaignPlan,
        members: Vec<InventoryMember>,
        signals: &'a Signals,
    ) -> Result<Self, String> {
        Ok(Self {
            id: random::<8>()?,
            plan,
            silence: plan.silence(),
            members: members.into_iter().map(Member::new).collect(),
            cells: CampaignCells::default(),
            rounds: Vec::new(),
            agreed: false,
            early: Vec::new(),
            sink: None,
            broken: None,
            cut: None,
            suspects: Vec::new(),
            begin: 0,
            started_unix: clock::since_epoch().as_secs_f64(),
            ended: None,
            signals,
            progress: Progress::default(),
            next_beat: 0,
            next_look: 0,
            next_heard: 0,
            losses: 0,
            excluded: Vec::new(),
            parting: false,
        })
    }

    /// Silence of the coordinator after which an agent stops its loads, nanoseconds.
    pub(super) const fn own_silence(&self) -> u64 {
        self.silence + HEARTBEAT
    }

    /// Time for an agent to answer an order, nanoseconds.
    pub(super) const fn answer(&self) -> u64 {
        5 * self.silence
    }

    pub(super) fn name(&self, index: usize) -> String {
        let member = self.members.get(index);
        member.map_or_else(String::new, |member| member.entry.name.clone())
    }

    pub(super) fn present(&self) -> Vec<usize> {
        let all = self.members.iter().enumerate();
        all.filter(|(_, member)| member.is_there())
            .map(|(index, _)| index)
            .collect()
    }

    /// Sends an order; a member that does not take it is lost.
    pub(super) fn tell(&mut self, index: usize, order: &Order) {
        let within = Duration::from_nanos(self.silence);
        let Some(member) = self.members.get_mut(index) else {
            return;
        };
        let peer = member.peer.as_mut();
        if let Some(Err(why)) = peer.map(|peer| peer.tell(order, within)) {
            self.lose(index, why);
        }
    }

    /// Waits for replies of the agents; who closes the connection is lost. With many replies it
    /// returns after a while, so that heartbeats go out, and goes on with the other agents.
    pub(super) fn replies(&mut self, within: u64) -> Vec<(usize, Reply)> {
        let mut present = self.present();
        let first = present.partition_point(|index| *index < self.next_heard);
        present.rotate_left(first);
        let fds: Vec<(BorrowedFd<'_>, bool)> = present
            .iter()
            .filter_map(|index| self.members.get(*index)?.peer.as_ref())
            .map(|peer| (peer.fd(), false))
            .collect();
        let within = Duration::from_nanos(within) + Duration::from_micros(999);
        let ready = ready_of(&fds, within).unwrap_or_default();
        let until = now().saturating_add(LOOK);
        let mut all = Vec::new();
        for (index, _) in present.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            if now() > until {
                self.next_heard = index;
                break;
            }
            let peer = self
                .members
                .get_mut(index)
                .and_then(|one| one.peer.as_mut());
            match peer.map(AgentLink::hear) {
                Some(Ok(replies)) => all.extend(replies.into_iter().map(|one| (index, one))),
                Some(Err(why)) => self.lose(index, why),
                None => {}
            }
        }
        all
    }

    /// Tells agents and collects an answer of each. Orders are made one at a time: all of them
    /// together are large. Replies that `take` does not use are taken as usual.
    ///
    /// # Errors
    /// A line that names the member which refused, was lost, or gave no answer.
    pub(super) fn ask(
        &mut self,
        orders: impl Iterator<Item = (usize, Order)>,
        mut take: impl FnMut(&mut Member, &Reply) -> Result<bool, String>,
    ) -> Result<(), String> {
        let mut waiting = std::collections::BTreeSet::new();
        for (index, order) in orders {
            // Others wait meanwhile.
            self.beat();
            self.tell(index, &order);
            waiting.insert(index);
        }
        let until = now().saturating_add(self.answer());
        while !waiting.is_empty() {
            self.beat();
            let left = until.saturating_sub(now());
            if left == 0 {
                let names: Vec<String> = waiting.iter().map(|one| self.name(*one)).collect();
                let seconds = self.answer() / 1_000_000_000;
                let names = names.join(", ");
                return Err(format!("no answer within {seconds} s from {names}"));
            }
            for (index, reply) in self.replies(left.min(LOOK)) {
                if let Reply::Refused { reason } = &reply {
                    let reason = netperf_web::escape::line(reason);
                    return Err(format!("{} refuses: {reason}", self.name(index)));
                }
                let Some(member) = self.members.get_mut(index) else {
                    continue;
                };
                let done = take(member, &reply);
                if done.map_err(|why| format!("{}: {why}", self.name(index)))? {
                    waiting.remove(&index);
                } else {
                    self.take(index, reply);
                }
            }
            self.find_silent();
            if let Some(line) = self.first_loss() {
                return Err(line);
            }
            if self.signals.next().is_some() {
                self.ended = Some("interrupted".to_owned());
                return Err("interrupted".to_owned());
            }
        }
        Ok(())
    }

    /// The matrices of what was measured.
    ///
    /// # Errors
    /// One line about the file of the cells.
    pub(super) fn matrices(&mut self) -> Result<Vec<Matrix>, String> {
        match &mut self.sink {
            Some(sink) => sink.matrices(),
            None => Ok(self.document().matrices()),
        }
    }

    pub(super) fn take(&mut self, index: usize, reply: Reply) {
        match reply {
            Reply::Result(result) => self.result(index, &result),
            Reply::Alive {
                stepped, running, ..
            } => {
                if let Some(member) = self.members.get_mut(index) {
                    member.running = running;
                    if stepped.unsigned_abs() > member.stepped.unsigned_abs() {
                        member.stepped = stepped;
                    }
                }
            }
            Reply::Refused { reason } => {
                let reason = netperf_web::escape::line(&reason);
                self.lose(index, format!("it refuses: {reason}"));
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

    /// Reads the clocks once more and lets the agents go.
    pub(super) fn finish(&mut self) {
        if let Ok(offsets) = self.read_clocks() {
            for (member, offset) in self.members.iter_mut().zip(offsets) {
                member.after = offset;
            }
        }
        self.part();
        self.progress.end();
    }
}
