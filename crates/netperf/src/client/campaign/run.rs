//! The coordinator of a campaign.

use std::net::TcpListener;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_campaign::clock::{ClockCourse, ClockReading, OffsetInterval};
use netperf_campaign::inventory::{
    EngineName, InventoryMember, InventorySource, host_and_port, joined,
};
use netperf_campaign::outcome::{
    CampaignCell, CampaignDocument, CampaignMember, CellFigures, CellWindow, ClockMethod, FORMAT,
    LostMember, MemberClock,
};
use netperf_campaign::pattern::Cell;
use netperf_campaign::plan::CampaignPlan;
use netperf_campaign::protocol::{
    CampaignLoad, LoadResult, OPENING, Order, PairToken, Preparation, Reply, RosterEntry, Start,
    TokenDigits, VERSION,
};
use netperf_measure::clock;
use netperf_model::{KeyRing, Secret};
use netperf_os::signals::Signals;
use netperf_os::wait::ready_of;

use super::peer::AgentLink;
use super::progress::Progress;

/// Readings of each clock.
const READINGS: usize = 16;
/// Clocks that are read at the same time.
const AT_ONCE: usize = 8;
/// Time for an agent to answer an order.
const ANSWER: u64 = 10_000_000_000;
/// Time to connect to all agents and to read all clocks, at least.
const READ_ALL: u64 = 20_000_000_000;
/// Threads that connect to agents.
const CONNECTING: usize = 16;
/// Least time from the commitment to the first opening of connections.
const LEAST_LEAD: u64 = 250_000_000;
/// Time that the opening of the connections of one load may take on a busy host.
const PER_LOAD: u64 = 30_000_000;
/// Time for the queues of a round to empty.
const DRAIN: u64 = 300_000_000;
/// Time for the results of the last round.
const RESULTS: u64 = 20_000_000_000;
/// Largest number of attempts to agree about the begin.
const ATTEMPTS: u64 = 3;
/// Longest wait between looks for silent agents.
const LOOK: u64 = 100_000_000;
const SECOND: f64 = 1e9;

/// A member and what is known about it.
pub(super) struct Member {
    pub(super) entry: InventoryMember,
    pub(super) peer: Option<AgentLink>,
    version: Option<String>,
    cpus: Option<u32>,
    before: Option<OffsetInterval>,
    after: Option<OffsetInterval>,
    stepped: i64,
    pub(super) lost: Option<(String, u64)>,
}

impl Member {
    fn new(entry: InventoryMember) -> Self {
        Self {
            entry,
            peer: None,
            version: None,
            cpus: None,
            before: None,
            after: None,
            stepped: 0,
            lost: None,
        }
    }

    const fn is_there(&self) -> bool {
        self.peer.is_some()
    }
}

/// A load and its result.
struct Measured {
    cell: Cell,
    round: usize,
    result: Option<LoadResult>,
}

/// A campaign in progress.
pub(super) struct CampaignRun<'a> {
    id: String,
    pub(super) plan: &'a CampaignPlan,
    pub(super) members: Vec<Member>,
    loads: Vec<Measured>,
    /// Begin of the first load.
    pub(super) begin: u64,
    started_unix: f64,
    pub(super) ended: Option<String>,
    signals: &'a Signals,
    pub(super) progress: Progress,
    /// Time of the next heartbeat.
    pub(super) next_beat: u64,
    /// Lost members of whose loss the others know.
    pub(super) excluded: Vec<usize>,
    /// The agents are let go: the end of a connection is no loss.
    pub(super) parting: bool,
}

pub(super) fn now() -> u64 {
    clock::monotonic()
}

/// Random digits.
fn random<const N: usize>() -> Result<String, String> {
    let mut bytes = [0; N];
    let filled = netperf_os::system::random(&mut bytes);
    filled.map_err(|error| crate::output::system_text(&error))?;
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
            members: members.into_iter().map(Member::new).collect(),
            loads: Vec::new(),
            begin: 0,
            started_unix: clock::since_epoch().as_secs_f64(),
            ended: None,
            signals,
            progress: Progress::default(),
            next_beat: 0,
            excluded: Vec::new(),
            parting: false,
        })
    }

    /// Connects to all agents, or waits until as many have joined.
    ///
    /// # Errors
    /// One line that names the member.
    pub(super) fn connect(&mut self, secret: &Secret) -> Result<(), String> {
        self.progress.say("connecting");
        let wanted: Vec<(usize, String)> = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.entry.agent && member.peer.is_none())
            .map(|(index, member)| (index, member.entry.control.clone()))
            .collect();
        let share = wanted.len().div_ceil(CONNECTING).max(1);
        let connected: Vec<(usize, Result<AgentLink, String>)> = std::thread::scope(|scope| {
            let connect = |part: &[(usize, String)]| -> Vec<_> {
                let one = |(index, control): &(usize, String)| {
                    (*index, AgentLink::connect(control, secret))
                };
                part.iter().map(one).collect()
            };
            let threads: Vec<_> = wanted
                .chunks(share)
                .map(|part| scope.spawn(move || connect(part)))
                .collect();
            let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.flat_map(Result::unwrap_or_default).collect()
        });
        for (index, peer) in connected {
            let name = self.name(index);
            let peer = peer.map_err(|why| format!("{name}: {why}"))?;
            if let Some(member) = self.members.get_mut(index) {
                member.peer = Some(peer);
            }
        }
        Ok(())
    }

    /// Waits until `count` agents have joined at this address.
    ///
    /// # Errors
    /// One line.
    pub(super) fn wait_for(
        &mut self,
        (listener, count): (&TcpListener, usize),
        keys: &KeyRing,
        within: Duration,
    ) -> Result<(), String> {
        let until = clock::now().plus(within);
        let system = |error: std::io::Error| crate::output::system_text(&error);
        listener.set_nonblocking(true).map_err(system)?;
        while self.members.len() < count {
            let joined = self.members.len();
            self.progress
                .say(&format!("{joined} of {count} agents have joined"));
            if until.left().is_zero() {
                let seconds = within.as_secs();
                return Err(format!(
                    "{joined} of {count} agents joined within {seconds} s"
                ));
            }
            if self.signals.next().is_some() {
                return Err("interrupted".to_owned());
            }
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            stream.set_nonblocking(false).map_err(system)?;
            // Whoever does not prove the key is not counted.
            if let Ok(peer) = AgentLink::accept(stream, keys) {
                let address = peer.address().unwrap_or_default();
                self.members.push(Member {
                    peer: Some(peer),
                    ..Member::new(InventoryMember {
                        name: format!("{address}-{joined}"),
                        control: joined_address(&address),
                        source: InventorySource {
                            engine: EngineName::Join,
                            ..InventorySource::default()
                        },
                        agent: true,
                        ..InventoryMember::default()
                    })
                });
            }
        }
        Ok(())
    }

    fn name(&self, index: usize) -> String {
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
        let Some(member) = self.members.get_mut(index) else {
            return;
        };
        if let Some(Err(why)) = member.peer.as_mut().map(|peer| peer.tell(order)) {
            self.lose(index, why);
        }
    }

    /// Waits for replies of the agents; who closes the connection is lost.
    pub(super) fn replies(&mut self, within: u64) -> Vec<(usize, Reply)> {
        let present = self.present();
        let fds: Vec<(BorrowedFd<'_>, bool)> = present
            .iter()
            .filter_map(|index| self.members.get(*index)?.peer.as_ref())
            .map(|peer| (peer.fd(), false))
            .collect();
        let within = Duration::from_nanos(within) + Duration::from_micros(999);
        let ready = ready_of(&fds, within).unwrap_or_default();
        let mut all = Vec::new();
        for (index, _) in present.into_iter().zip(ready).filter(|(_, ready)| *ready) {
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
    /// together are large.
    ///
    /// # Errors
    /// A line that names the member which refused, was lost, or gave no answer.
    fn ask(
        &mut self,
        orders: impl Iterator<Item = (usize, Order)>,
        mut take: impl FnMut(&mut Member, Reply) -> Result<bool, String>,
    ) -> Result<(), String> {
        let mut waiting = Vec::new();
        for (index, order) in orders {
            self.tell(index, &order);
            waiting.push(index);
        }
        let until = now().saturating_add(ANSWER);
        while !waiting.is_empty() {
            self.beat();
            let left = until.saturating_sub(now());
            if left == 0 {
                let names: Vec<String> = waiting.iter().map(|one| self.name(*one)).collect();
                return Err(format!("no answer within 10 s from {}", names.join(", ")));
            }
            for (index, reply) in self.replies(left.min(LOOK)) {
                if let Reply::Refused { reason } = &reply {
                    let reason = netperf_web::escape::line(reason);
                    return Err(format!("{} refuses: {reason}", self.name(index)));
                }
                let Some(member) = self.members.get_mut(index) else {
                    continue;
                };
                let done = take(member, reply);
                if done.map_err(|why| format!("{}: {why}", self.name(index)))? {
                    waiting.retain(|one| *one != index);
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

    /// Greets all agents.
    ///
    /// # Errors
    /// One line that names the member.
    pub(super) fn greet(&mut self) -> Result<(), String> {
        let hello = Order::Hello {
            version: VERSION,
            campaign: self.id.clone(),
        };
        let present = self.present().into_iter();
        let orders = present.map(|index| (index, hello.clone()));
        self.ask(orders, |member, reply| {
            let Reply::Hello {
                version,
                program,
                host,
                port,
                cpus,
            } = reply
            else {
                return Ok(false);
            };
            if version != VERSION {
                return Err(format!("it has version {version} of the protocol"));
            }
            member.version = Some(program);
            member.cpus = Some(cpus);
            if member.entry.source.engine == EngineName::Join {
                let (address, _) = host_and_port(&member.entry.control);
                member.entry.control = joined(&address, &port);
                member.entry.data = address.parse().ok().into_iter().collect();
                member.entry.name = host;
            }
            Ok(true)
        })?;
        self.rename();
        Ok(())
    }

    /// Gives members of the same name different ones.
    fn rename(&mut self) {
        let mut seen = std::collections::BTreeSet::new();
        for member in &mut self.members {
            let name = member.entry.name.clone();
            let mut number = 2;
            while !seen.insert(member.entry.name.clone()) {
                member.entry.name = format!("{name}-{number}");
                number += 1;
            }
        }
    }

    /// Reads the clocks of all agents.
    fn read_clocks(&mut self) -> Result<Vec<Option<OffsetInterval>>, String> {
        let mut waiting = self.present();
        waiting.reverse();
        let mut readings: Vec<Vec<ClockReading>> = vec![Vec::new(); self.members.len()];
        // When each was asked.
        let mut asked: Vec<Option<u64>> = vec![None; self.members.len()];
        let until = now() + READ_ALL + ANSWER / 100 * waiting.len() as u64;
        loop {
            while asked.iter().flatten().count() < AT_ONCE {
                let Some(index) = waiting.pop() else { break };
                self.read_clock(index, &mut asked);
            }
            if asked.iter().all(Option::is_none) && waiting.is_empty() {
                break;
            }
            self.beat();
            for (index, reply) in self.replies(LOOK) {
                let peer = self.members.get(index).and_then(|one| one.peer.as_ref());
                let answered = peer.map_or_else(now, |peer| peer.came);
                let Reply::Clock { received, sent } = reply else {
                    self.take(index, reply);
                    continue;
                };
                let Some(question) = asked.get_mut(index).and_then(Option::take) else {
                    continue;
                };
                let Some(own) = readings.get_mut(index) else {
                    continue;
                };
                own.push(ClockReading {
                    asked: question,
                    received,
                    sent,
                    answered,
                });
                if own.len() < READINGS {
                    self.read_clock(index, &mut asked);
                }
            }
            self.find_silent();
            for (index, asked) in asked.iter_mut().enumerate() {
                if self.members.get(index).is_some_and(|one| !one.is_there()) {
                    *asked = None;
                }
            }
            if now() > until {
                return Err("the clocks of the agents could not be read in time".to_owned());
            }
        }
        Ok(readings.iter().map(|all| OffsetInterval::of(all)).collect())
    }

    fn read_clock(&mut self, index: usize, asked: &mut [Option<u64>]) {
        if let Some(asked) = asked.get_mut(index) {
            *asked = Some(now());
        }
        self.tell(index, &Order::Clock);
    }

    /// Reads the clocks before the load.
    ///
    /// # Errors
    /// One line.
    pub(super) fn synchronise(&mut self) -> Result<(), String> {
        self.progress.say("reading clocks");
        let offsets = self.read_clocks()?;
        for (member, offset) in self.members.iter_mut().zip(offsets) {
            member.before = offset;
        }
        self.first_loss().map_or(Ok(()), Err)
    }

    /// States what is to be measured.
    pub(super) fn expect(&mut self, rounds: &[Vec<Cell>]) {
        for (number, round) in rounds.iter().enumerate() {
            self.loads.extend(round.iter().map(|cell| Measured {
                cell: *cell,
                round: number,
                result: None,
            }));
        }
    }

    /// Measures all rounds.
    ///
    /// # Errors
    /// One line, when nothing was measured.
    pub(super) fn measure(&mut self) -> Result<(), String> {
        let rounds = self.loads.iter().map(|load| load.round + 1).max();
        let mut slack = 0;
        for attempt in 1..=ATTEMPTS {
            self.prepare()?;
            match self.commit(slack)? {
                None => break,
                Some(_) if attempt == ATTEMPTS => {
                    return Err("the agents do not answer in time for a common begin".to_owned());
                }
                Some(late) => slack += late.saturating_mul(2) + LEAST_LEAD,
            }
        }
        self.follow(rounds.unwrap_or_default());
        Ok(())
    }

    fn roster(&self) -> Vec<RosterEntry> {
        let entry = |member: &Member| {
            let (host, port) = host_and_port(&member.entry.control);
            RosterEntry {
                name: member.entry.name.clone(),
                host,
                port,
                data: member.entry.data.first().map(ToString::to_string),
                agent: member.entry.agent,
            }
        };
        self.members.iter().map(entry).collect()
    }

    /// Loads and tokens of each member, without the roster.
    fn shares(&self) -> Result<Vec<Preparation>, String> {
        let share = |own| Preparation {
            roster: Vec::new(),
            own,
            loads: Vec::new(),
            accepts: Vec::new(),
            sends: Vec::new(),
        };
        let mut parts: Vec<Preparation> = (0..self.members.len()).map(share).collect();
        let (words, times) = (self.plan.words(), self.plan.parts());
        let mut known = std::collections::BTreeSet::new();
        for (id, load) in (0..).zip(&self.loads) {
            let Cell { from, to } = load.cell;
            if let Some(part) = parts.get_mut(from) {
                part.loads.push(CampaignLoad {
                    id,
                    to,
                    words: words.clone(),
                    parts: times,
                });
            }
            let needs_token = self.members.get(to).is_some_and(|one| one.entry.agent);
            if needs_token && known.insert(load.cell) {
                let token = random::<32>()?;
                let grant = |member| PairToken {
                    member,
                    token: TokenDigits(token.clone()),
                };
                if let Some(part) = parts.get_mut(from) {
                    part.sends.push(grant(to));
                }
                if let Some(part) = parts.get_mut(to) {
                    part.accepts.push(grant(from));
                }
            }
        }
        Ok(parts)
    }

    fn prepare(&mut self) -> Result<(), String> {
        let roster = self.roster();
        let present = self.present();
        let shares = self.shares()?.into_iter().enumerate();
        let shares = shares.filter(|(index, _)| present.contains(index));
        let orders = shares.map(|(index, mut part)| {
            part.roster.clone_from(&roster);
            (index, Order::Prepare(Box::new(part)))
        });
        self.ask(orders, |_, reply| Ok(reply == Reply::Prepared))
    }

    /// Time from the begin of a round to that of the next.
    fn period(&self) -> u64 {
        self.plan.parts().total() + OPENING + DRAIN
    }

    fn begin_of(&self, round: usize) -> u64 {
        self.begin + self.period() * round as u64
    }

    /// Agrees about the begin of each load. Returns by how much an agent was late.
    fn commit(&mut self, slack: u64) -> Result<Option<u64>, String> {
        let round_trip = self.members.iter().filter_map(|one| one.before);
        let slowest = round_trip.map(|one| one.round_trip).fold(0.0, f64::max);
        let first = self.loads.iter().filter(|load| load.round == 0).count() as u64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time of some seconds"
        )]
        let lead = LEAST_LEAD.max(4 * slowest as u64 + self.members.len() as u64 * 100_000);
        let opening = OPENING + first * PER_LOAD;
        self.begin = now() + lead + opening + slack;
        self.started_unix = clock::since_epoch().as_secs_f64()
            + Duration::from_nanos(self.begin - now()).as_secs_f64();
        let mut starts: Vec<Vec<Start>> = vec![Vec::new(); self.members.len()];
        for (id, load) in (0..).zip(&self.loads) {
            let offset = self.members.get(load.cell.from).and_then(|one| one.before);
            if let (Some(offset), Some(starts)) = (offset, starts.get_mut(load.cell.from)) {
                let at = offset.there(self.begin_of(load.round));
                starts.push(Start { id, at });
            }
        }
        let orders = starts.into_iter().enumerate();
        let orders = orders.filter(|(_, starts)| !starts.is_empty());
        let orders = orders.map(|(index, starts)| (index, Order::Commit { starts }));
        let mut late = None;
        self.ask(orders, |_, reply| {
            Ok(match reply {
                Reply::Committed { .. } => true,
                Reply::Late { by } => {
                    late = late.max(Some(by));
                    true
                }
                Reply::Hello { .. }
                | Reply::Clock { .. }
                | Reply::Prepared
                | Reply::Alive { .. }
                | Reply::Result(_)
                | Reply::Collected
                | Reply::Stopped
                | Reply::Refused { .. } => false,
            })
        })?;
        if late.is_some() {
            self.abort("a begin that was too early");
            self.ended = None;
            self.loads.iter_mut().for_each(|load| load.result = None);
        }
        Ok(late)
    }

    /// Follows the loads until all results are there.
    fn follow(&mut self, rounds: usize) {
        let end = self.begin_of(rounds) + RESULTS;
        while self.is_open() {
            if self.beat() {
                self.show(rounds);
            }
            for (index, reply) in self.replies(LOOK) {
                self.take(index, reply);
            }
            self.find_silent();
            let interrupted = self.signals.next();
            if let Some(why) = self.reason_to_end(interrupted) {
                return self.abort(&why);
            }
            self.exclude_lost();
            if now() > end {
                return self.abort("results did not arrive in time");
            }
        }
    }

    /// True while a result is expected.
    fn is_open(&self) -> bool {
        let open = |load: &Measured| {
            let sender = self.members.get(load.cell.from);
            load.result.is_none() && sender.is_some_and(Member::is_there)
        };
        self.loads.iter().any(open)
    }

    pub(super) fn take(&mut self, index: usize, reply: Reply) {
        match reply {
            Reply::Result(result) => {
                let load = usize::try_from(result.id).ok();
                let load = load.and_then(|id| self.loads.get_mut(id));
                // The results of an agent are those of its own loads.
                if let Some(load) = load.filter(|load| load.cell.from == index) {
                    load.result = Some(*result);
                }
            }
            Reply::Alive { stepped, .. } => {
                if let Some(member) = self.members.get_mut(index) {
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

    fn show(&mut self, rounds: usize) {
        let round = self.loads.iter().filter(|one| one.result.is_none());
        let round = round.map(|one| one.round).min().unwrap_or(rounds);
        let left = self.begin_of(rounds).saturating_sub(now()) / 1_000_000_000;
        let lost = self.members.iter().filter(|one| one.lost.is_some()).count();
        let there = self.members.len() - lost;
        let lost = if lost == 0 {
            String::new()
        } else {
            format!(", {lost} lost")
        };
        let done = round.min(rounds);
        self.progress.say(&format!(
            "{there} members{lost}, {done} of {rounds} rounds done, about {left} s left"
        ));
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

    /// Members with what the greeting and the clocks said.
    pub(super) fn members(&self) -> Vec<CampaignMember> {
        let seconds = |nanos: f64| nanos / SECOND;
        let member = |member: &Member| CampaignMember {
            member: member.entry.clone(),
            version: member.version.clone(),
            cpus: member.cpus,
            clock: member.before.map(|before| MemberClock {
                method: ClockMethod::Inband,
                offset_seconds: seconds(before.offset),
                bound_seconds: seconds(before.bound),
                bound_after_seconds: member.after.map(|after| seconds(after.bound)),
                round_trip_seconds: seconds(before.round_trip),
                drift_ppm: course(member).and_then(|course| course.drift_ppm()),
                #[expect(clippy::cast_precision_loss, reason = "a step of a clock")]
                wall_clock_stepped_seconds: seconds(member.stepped as f64),
            }),
            lost: member.lost.as_ref().map(|(reason, at)| LostMember {
                reason: reason.clone(),
                at_seconds: (self.begin > 0).then(|| seconds(difference(*at, self.begin))),
            }),
        };
        self.members.iter().map(member).collect()
    }

    /// The document.
    pub(super) fn document(&self) -> CampaignDocument {
        let cells: Vec<CampaignCell> = self.loads.iter().map(|load| self.cell(load)).collect();
        let errors = cells.iter().filter_map(|cell| cell.window);
        let worst = errors
            .map(|window| window.cut_error_seconds)
            .reduce(f64::max);
        let members = self.members();
        let complete = self.ended.is_none()
            && members.iter().all(|one| one.lost.is_none())
            && cells.iter().all(|cell| cell.missing.is_none());
        CampaignDocument {
            format: FORMAT.to_owned(),
            campaign: self.id.clone(),
            started_unix_seconds: self.started_unix,
            plan: self.plan.clone(),
            complete,
            ended: self.ended.clone(),
            members,
            cut_error_seconds: worst,
            cells,
        }
    }

    fn cell(&self, load: &Measured) -> CampaignCell {
        let Cell { from, to } = load.cell;
        let result = load.result.as_ref();
        let document = result.filter(|one| one.error.is_none());
        let document = document.and_then(|one| one.document.as_ref());
        let window = document.and_then(|document| {
            let run = &document["iterations"][0]["flows"];
            let begin = run["window_begin_nanoseconds"].as_u64()?;
            let seconds = run["counted_seconds"].as_f64()?;
            let course = course(self.members.get(from)?)?;
            let (here, error) = course.here(begin);
            let due = self.begin_of(load.round) + self.plan.parts().warmup;
            Some(CellWindow {
                begin_seconds: (here - difference(self.begin, 0)) / SECOND,
                late_seconds: (here - difference(due, 0)) / SECOND,
                seconds,
                cut_error_seconds: error / SECOND,
            })
        });
        let figures = window
            .and(document)
            .map(CellFigures::of)
            .unwrap_or_default();
        let missing = if figures.main().is_some() {
            None
        } else {
            let error = result.and_then(|one| one.error.clone());
            Some(error.unwrap_or_else(|| self.why_missing(from)))
        };
        let warnings = document.and_then(|one| one["warnings"].as_array());
        let warnings = warnings.into_iter().flatten();
        CampaignCell {
            from,
            to,
            round: load.round,
            window,
            figures,
            missing: missing.map(|why| netperf_web::escape::line(&why)),
            warnings: warnings
                .filter_map(|one| one["message"].as_str().map(netperf_web::escape::line))
                .collect(),
        }
    }

    fn why_missing(&self, from: usize) -> String {
        let member = self.members.get(from);
        match member.and_then(|member| member.lost.as_ref()) {
            Some((why, _)) => format!("{} is lost: {why}", self.name(from)),
            None => "the campaign ended before".to_owned(),
        }
    }
}

fn joined_address(address: &str) -> String {
    joined(address, netperf_campaign::inventory::PORT)
}

fn course(member: &Member) -> Option<ClockCourse> {
    Some(ClockCourse {
        before: member.before?,
        after: member.after,
    })
}

#[expect(clippy::cast_precision_loss, reason = "times of a campaign")]
fn difference(later: u64, earlier: u64) -> f64 {
    if later >= earlier {
        (later - earlier) as f64
    } else {
        -((earlier - later) as f64)
    }
}
