//! An agent's side of a campaign, without input or output: orders, the passing of time and the
//! ends of loads go in, and actions come out.

mod kept;
mod quota;
mod starts;

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::{
    COORDINATOR_SILENCE, CampaignLoad, HostPlace, LoadResult, OPENING, Order, PairToken,
    Preparation, Reply, TokenDigits, VERSION,
};

use kept::KeptResults;
use quota::accept;
pub use quota::{CheckWords, Quota};

/// Time for which the results of a campaign are kept after its end, nanoseconds.
pub const KEPT: u64 = 600_000_000_000;
/// Time after which a load must have ended, beyond its length: so many silences.
const OVERTIME: u64 = 6;

/// Error of a load whose target is lost.
const LOST: &str = "its target is lost";

/// The facts that an agent tells about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// Version of the program.
    pub program: String,
    /// Name of the host.
    pub host: String,
    /// Port of netserver.
    pub port: String,
    /// Number of processors.
    pub cpus: u32,
    /// Place of the host.
    pub place: HostPlace,
}

/// A connection of a coordinator, numbered by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineId(pub u64);

/// Effects that the driver carries out.
#[derive(Debug, PartialEq)]
pub enum AgentAction {
    /// Send this.
    Reply(LineId, Reply),
    /// Close the connection, after what was sent.
    Close(LineId),
    /// Start a load, to begin at this reading of the clock.
    Start(Box<StartedLoad>),
    /// End a load; its end is reported as any other.
    Kill(u32),
    /// Serve clients with these keys, by member, and no others of a campaign.
    Admit(Vec<(String, TokenDigits)>),
    /// Write a line to the log.
    Log(String),
}

/// A load that is to be started.
#[derive(Debug, PartialEq)]
pub struct StartedLoad {
    /// The load.
    pub load: CampaignLoad,
    /// The other member: host and port of its control connection, and address for data.
    pub host: String,
    /// See [`Self::host`].
    pub port: String,
    /// See [`Self::host`].
    pub data: Option<String>,
    /// Key of the pair; none for a stock netserver.
    pub token: Option<TokenDigits>,
    /// Begin by the agent's clock, nanoseconds.
    pub at: u64,
}

/// Stage of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadState {
    Prepared,
    /// Begins at this time.
    Committed(u64),
    /// Has to be over at this time.
    Running(u64),
    Over,
}

/// A campaign in which the agent takes part.
#[derive(Debug)]
struct Part {
    id: String,
    preparation: Option<Box<Preparation>>,
    loads: BTreeMap<u32, LoadState>,
    results: KeptResults,
    /// Last sign of the coordinator.
    heard: u64,
    /// Silence of the coordinator after which all load stops, nanoseconds.
    silence: u64,
    /// End; the results are kept for [`KEPT`].
    ended: Option<u64>,
    /// Aborted: a reply is due once nothing runs.
    stopping: bool,
    /// Members that are lost.
    without: BTreeSet<usize>,
    /// Distance of the system clock from its course when the campaign began, nanoseconds.
    wall: i64,
}

impl Part {
    fn new(id: String, silence: u64, (now, wall): (u64, i64)) -> Self {
        Self {
            id,
            preparation: None,
            loads: BTreeMap::new(),
            results: KeptResults::default(),
            heard: now,
            silence,
            ended: None,
            stopping: false,
            without: BTreeSet::new(),
            wall,
        }
    }

    /// True if the coordinator gave no sign for too long.
    const fn is_alone(&self, now: u64) -> bool {
        now.saturating_sub(self.heard) > self.silence
    }

    fn running(&self) -> impl Iterator<Item = u32> + '_ {
        let runs = |state: &LoadState| matches!(state, LoadState::Running(_));
        let all = self.loads.iter();
        all.filter(move |(_, state)| runs(state)).map(|(id, _)| *id)
    }

    fn is_idle(&self) -> bool {
        self.running().next().is_none()
    }

    fn count(&self, wanted: fn(LoadState) -> bool) -> u32 {
        let all = self.loads.values().filter(|state| wanted(**state));
        u32::try_from(all.count()).unwrap_or(u32::MAX)
    }
}

/// The state of an agent.
#[derive(Debug)]
pub struct Agent {
    facts: AgentFacts,
    quota: Quota,
    part: Option<Part>,
    /// Connection of the coordinator.
    line: Option<LineId>,
}

impl Agent {
    /// An agent without a campaign.
    #[must_use]
    pub fn new(facts: AgentFacts, quota: Quota) -> Self {
        Self {
            facts,
            quota,
            part: None,
            line: None,
        }
    }

    /// Returns true if no load runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.part.as_ref().is_none_or(Part::is_idle)
    }

    /// Carries out an order that came at `now` by this connection. `stepped` is how far
    /// CLOCK_REALTIME has moved against CLOCK_MONOTONIC.
    pub fn order(
        &mut self,
        line: LineId,
        order: Order,
        (now, stepped): (u64, i64),
        check: CheckWords<'_>,
    ) -> Vec<AgentAction> {
        if let Order::Hello {
            version,
            campaign,
            silence,
        } = order
        {
            let silence = silence.unwrap_or(COORDINATOR_SILENCE);
            return self.greet(line, (version, campaign, silence), (now, stepped));
        }
        if self.line != Some(line) {
            return refused(line, "the first order has to be hello".to_owned());
        }
        let Some(part) = &mut self.part else {
            return refused(line, "there is no campaign: begin with hello".to_owned());
        };
        part.heard = now;
        let reply = |reply| vec![AgentAction::Reply(line, reply)];
        match order {
            Order::Hello { .. } => Vec::new(),
            Order::Clock => reply(Reply::Clock {
                received: now,
                sent: now,
            }),
            Order::Alive => reply(Reply::Alive {
                running: part.count(|state| matches!(state, LoadState::Running(_))),
                done: part.count(|state| state == LoadState::Over),
                stepped: stepped.saturating_sub(part.wall),
            }),
            Order::Prepare(preparation) => self.prepare(line, preparation, check),
            Order::Commit { starts } => part.commit(line, &starts, (now, self.quota.at_once)),
            Order::Collect => {
                let results = part.results.iter().cloned().map(Box::new);
                let results = results.map(|one| AgentAction::Reply(line, Reply::Result(one)));
                results
                    .chain([AgentAction::Reply(line, Reply::Collected)])
                    .collect()
            }
            Order::Abort => {
                part.stopping = true;
                self.stop("aborted by the coordinator", now)
            }
            Order::Without { members } => part.go_on_without(line, &members),
            Order::Bye => self.end(line),
        }
    }

    fn greet(
        &mut self,
        line: LineId,
        (version, campaign, silence): (u32, String, u64),
        (now, wall): (u64, i64),
    ) -> Vec<AgentAction> {
        if version != VERSION {
            return refused(
                line,
                format!("version {version} of the protocol; this agent has {VERSION}"),
            );
        }
        if silence > self.quota.silence {
            let [asked, most] = [silence, self.quota.silence].map(|one| one / 1_000_000_000);
            return refused(line, format!("silence of {asked} s, more than {most}"));
        }
        let part = self.part.as_ref();
        let other = part.filter(|part| part.id != campaign && part.ended.is_none());
        if let Some(part) = other {
            return refused(line, format!("busy with the campaign {}", part.id));
        }
        // A coordinator whose host is gone does not close its connection.
        let alone = part.is_none_or(|part| part.is_alone(now));
        let former = self.line.filter(|one| *one != line);
        if former.is_some() && !alone {
            return refused(line, format!("the campaign {campaign} has a coordinator"));
        }
        self.line = Some(line);
        match &mut self.part {
            Some(part) if part.id == campaign => (part.heard, part.silence) = (now, silence),
            _ => self.part = Some(Part::new(campaign, silence, (now, wall))),
        }
        let AgentFacts {
            program,
            host,
            port,
            cpus,
            place,
        } = self.facts.clone();
        let hello = Reply::Hello {
            version: VERSION,
            program,
            host,
            port,
            cpus,
            place,
        };
        let closed = former.map(AgentAction::Close);
        closed
            .into_iter()
            .chain([AgentAction::Reply(line, hello)])
            .collect()
    }

    fn prepare(
        &mut self,
        line: LineId,
        preparation: Box<Preparation>,
        check: CheckWords<'_>,
    ) -> Vec<AgentAction> {
        let Some(part) = &mut self.part else {
            return Vec::new();
        };
        if !part.is_idle() {
            return refused(line, "loads are running".to_owned());
        }
        if let Err(reason) = accept(&preparation, self.quota, check) {
            // Without a preparation there is nothing to keep: the next campaign is welcome.
            if part.preparation.is_none() {
                (self.part, self.line) = (None, None);
            }
            return refused(line, reason);
        }
        part.loads = preparation
            .loads
            .iter()
            .map(|load| (load.id, LoadState::Prepared))
            .collect();
        part.stopping = false;
        part.ended = None;
        part.without.clear();
        let admit = admission(&preparation, &part.without);
        let text = format!(
            "campaign {}: {} members, {} loads of this agent",
            part.id,
            preparation.roster.len(),
            preparation.loads.len()
        );
        part.preparation = Some(preparation);
        vec![
            admit,
            AgentAction::Log(text),
            AgentAction::Reply(line, Reply::Prepared),
        ]
    }

    /// The campaign is over: nothing of it stays.
    fn end(&mut self, line: LineId) -> Vec<AgentAction> {
        let kills = self.kills();
        self.part = None;
        self.line = None;
        let mut actions = kills;
        actions.extend([AgentAction::Admit(Vec::new()), AgentAction::Close(line)]);
        actions
    }

    fn kills(&self) -> Vec<AgentAction> {
        let running = self.part.iter().flat_map(Part::running);
        running.map(AgentAction::Kill).collect()
    }

    /// Stops all loads and admits no more clients. Results stay.
    fn stop(&mut self, why: &str, now: u64) -> Vec<AgentAction> {
        let mut actions = self.kills();
        let Some(part) = &mut self.part else {
            return actions;
        };
        actions.push(AgentAction::Log(format!("campaign {}: {why}", part.id)));
        actions.push(AgentAction::Admit(Vec::new()));
        let waiting = part.loads.iter_mut();
        for (id, state) in waiting {
            if matches!(state, LoadState::Prepared | LoadState::Committed(_)) {
                *state = LoadState::Over;
                part.results.insert(failed(*id, why));
            }
        }
        part.ended = Some(now);
        actions.extend(self.stopped());
        actions
    }

    /// The reply to an abort, once nothing runs.
    fn stopped(&mut self) -> Option<AgentAction> {
        let line = self.line?;
        let part = self
            .part
            .as_mut()
            .filter(|part| part.stopping && part.is_idle())?;
        part.stopping = false;
        Some(AgentAction::Reply(line, Reply::Stopped))
    }

    /// Returns true for the connection of the coordinator.
    #[must_use]
    pub fn is_led_by(&self, line: LineId) -> bool {
        self.line == Some(line)
    }

    /// The connection sent what is no order.
    pub fn refuse(&mut self, line: LineId, reason: String) -> Vec<AgentAction> {
        self.lost(line);
        refused(line, reason)
    }

    /// The connection has ended. The load goes on until the coordinator was silent for too long.
    pub fn lost(&mut self, line: LineId) {
        if self.line == Some(line) {
            self.line = None;
        }
    }

    /// Starts what is due, and ends what is overdue or has no coordinator.
    pub fn tick(&mut self, now: u64) -> Vec<AgentAction> {
        let Some(part) = &mut self.part else {
            return Vec::new();
        };
        if let Some(ended) = part.ended {
            let old = now.saturating_sub(ended) > KEPT;
            if old && part.is_idle() && self.line.is_none() {
                self.part = None;
            }
            return Vec::new();
        }
        if part.is_alone(now) {
            let mut actions = self.stop("the coordinator is silent", now);
            // Its host may be gone, and then the connection does not end by itself.
            actions.extend(self.line.take().map(AgentAction::Close));
            return actions;
        }
        let overtime = OVERTIME.saturating_mul(part.silence);
        let mut actions = Vec::new();
        let Some(preparation) = &part.preparation else {
            return actions;
        };
        let mut running = part.running().count();
        for (id, state) in &mut part.loads {
            match *state {
                LoadState::Committed(at) if at.saturating_sub(OPENING) <= now => {
                    if running >= self.quota.at_once {
                        // Those before it have not ended in time.
                        *state = LoadState::Over;
                        let result = failed(*id, "too many loads run");
                        let sent = Reply::Result(Box::new(result.clone()));
                        actions.extend(self.line.map(|line| AgentAction::Reply(line, sent)));
                        part.results.insert(result);
                        continue;
                    }
                    running += 1;
                    if let Some(load) = preparation.loads.iter().find(|load| load.id == *id) {
                        let end = at.saturating_add(load.parts.total());
                        *state = LoadState::Running(end.saturating_add(overtime));
                        actions.extend(start(preparation, load, at));
                    }
                }
                LoadState::Running(until) if until <= now => {
                    // Asked again at every tick until it has ended.
                    actions.push(AgentAction::Kill(*id));
                }
                LoadState::Prepared
                | LoadState::Committed(_)
                | LoadState::Running(_)
                | LoadState::Over => {}
            }
        }
        actions
    }

    /// Time of the next [`Self::tick`]; `None` while nothing is due.
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        let part = self.part.as_ref()?;
        let due = part.loads.values().filter_map(|state| match state {
            LoadState::Committed(at) => Some(at.saturating_sub(OPENING)),
            LoadState::Running(until) => Some(*until),
            LoadState::Prepared | LoadState::Over => None,
        });
        let silence = match part.ended {
            None => part.heard.saturating_add(part.silence),
            Some(ended) => ended.saturating_add(KEPT),
        };
        due.chain([silence.saturating_add(1)]).min()
    }

    /// A load has ended.
    pub fn load_ended(&mut self, result: LoadResult) -> Vec<AgentAction> {
        let mut actions = Vec::new();
        let mut result = result.sendable();
        if let Some(part) = &mut self.part {
            if result.error.is_some() && part.lacks_target(result.id) {
                result.error = Some(LOST.to_owned());
            }
            if let Some(state) = part.loads.get_mut(&result.id) {
                *state = LoadState::Over;
                let sent = Reply::Result(Box::new(result.clone()));
                actions.extend(self.line.map(|line| AgentAction::Reply(line, sent)));
                part.results.insert(result);
            }
        }
        actions.extend(self.stopped());
        actions
    }
}

/// The members to serve: those of the preparation without the lost ones.
fn admission(preparation: &Preparation, without: &BTreeSet<usize>) -> AgentAction {
    let grants = preparation.accepts.iter();
    let grants = grants.filter(|one| !without.contains(&one.member));
    let named = |one: &PairToken| {
        let member = preparation.roster.get(one.member)?;
        Some((member.name.clone(), one.token.clone()))
    };
    AgentAction::Admit(grants.filter_map(named).collect())
}

fn failed(id: u32, why: &str) -> LoadResult {
    LoadResult {
        id,
        document: None,
        error: Some(why.to_owned()),
    }
}

fn refused(line: LineId, reason: String) -> Vec<AgentAction> {
    let log = AgentAction::Log(format!("refused: {reason}"));
    vec![
        log,
        AgentAction::Reply(line, Reply::Refused { reason }),
        AgentAction::Close(line),
    ]
}

fn start(preparation: &Preparation, load: &CampaignLoad, at: u64) -> Option<AgentAction> {
    let member = preparation.roster.get(load.to)?;
    let grant = preparation.sends.iter().find(|one| one.member == load.to);
    Some(AgentAction::Start(Box::new(StartedLoad {
        load: load.clone(),
        host: member.host.clone(),
        port: member.port.clone(),
        data: member.data.clone(),
        token: grant.map(|one| one.token.clone()),
        at,
    })))
}

#[cfg(test)]
mod tests;
