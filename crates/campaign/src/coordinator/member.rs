//! The members of a campaign, as its coordinator knows them.

use std::collections::BTreeSet;

use crate::clock::{ClockCourse, OffsetInterval};
use crate::inventory::{
    self, EngineName, InventoryMember, InventorySource, PORT, host_and_port, is_name, joined,
};
use crate::outcome::{CampaignMember, ClockMethod, LostMember, MemberClock};
use crate::progress::HostState;
use crate::protocol::{Reply, RosterEntry, VERSION};
use crate::signs::{AgentSigns, silence_limit};

/// Labels of an agent, at most.
const MOST_LABELS: usize = 32;
/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

/// A member and what is known about it.
#[derive(Debug)]
pub(super) struct MemberRun {
    pub(super) entry: InventoryMember,
    /// Messages of its agent; empty without a connection.
    signs: Option<AgentSigns>,
    version: Option<String>,
    cpus: Option<u32>,
    pub(super) before: Option<OffsetInterval>,
    pub(super) after: Option<OffsetInterval>,
    stepped: i64,
    pub(super) lost: Option<(String, u64)>,
    /// Loads that run, as it said last.
    running: u32,
}

impl MemberRun {
    const fn new(entry: InventoryMember) -> Self {
        Self {
            entry,
            signs: None,
            version: None,
            cpus: None,
            before: None,
            after: None,
            stepped: 0,
            lost: None,
            running: 0,
        }
    }

    const fn is_greeted(&self) -> bool {
        self.version.is_some()
    }

    const fn is_there(&self) -> bool {
        self.signs.is_some()
    }

    /// Takes its greeting; false for any other reply.
    ///
    /// # Errors
    /// One line, for a version that is not served.
    pub(super) fn greeted(&mut self, reply: &Reply) -> Result<bool, String> {
        let Reply::Hello {
            version,
            program,
            host,
            port,
            cpus,
            place,
        } = reply
        else {
            return Ok(false);
        };
        if *version != VERSION {
            return Err(format!("it has version {version} of the protocol"));
        }
        if !is_name(host) {
            return Err("the name of its host is not valid".to_owned());
        }
        if inventory::port(port).is_none() {
            return Err("its port is not a number from 1 to 65535".to_owned());
        }
        self.version = Some(program.clone());
        self.cpus = Some(*cpus);
        // An inventory knows better.
        for (label, value) in place.labels.iter().take(MOST_LABELS) {
            let labels = &mut self.entry.labels;
            labels.entry(label.clone()).or_insert_with(|| value.clone());
        }
        if self.entry.source.engine == EngineName::Join {
            let (address, _) = host_and_port(&self.entry.control);
            self.entry.control = joined(&address, port);
            self.entry.data = address.parse().ok().into_iter().collect();
            self.entry.name.clone_from(host);
            self.entry.source.id.clone_from(host);
            self.entry.source.uid.clone_from(&place.uid);
        }
        Ok(true)
    }

    /// Takes what it says with a heartbeat.
    pub(super) const fn alive(&mut self, running: u32, stepped: i64) {
        self.running = running;
        if stepped.unsigned_abs() > self.stepped.unsigned_abs() {
            self.stepped = stepped;
        }
    }

    /// The distances of its clock, if they are known.
    pub(super) fn course(&self) -> Option<ClockCourse> {
        Some(ClockCourse {
            before: self.before?,
            after: self.after,
        })
    }

    fn roster_entry(&self) -> RosterEntry {
        let (host, port) = host_and_port(&self.entry.control);
        RosterEntry {
            name: self.entry.name.clone(),
            host,
            port,
            data: self.entry.data.first().map(ToString::to_string),
            agent: self.entry.agent,
        }
    }

    fn document(&self, begin: u64) -> CampaignMember {
        let seconds = |nanos: f64| nanos / SECOND;
        CampaignMember {
            member: self.entry.clone(),
            version: self.version.clone(),
            cpus: self.cpus,
            clock: self.before.map(|before| MemberClock {
                method: ClockMethod::Inband,
                offset_seconds: seconds(before.offset),
                bound_seconds: seconds(before.bound),
                bound_after_seconds: self.after.map(|after| seconds(after.bound)),
                round_trip_seconds: seconds(before.round_trip),
                drift_ppm: self.course().and_then(|course| course.drift_ppm()),
                #[expect(clippy::cast_precision_loss, reason = "a step of a clock")]
                wall_clock_stepped_seconds: seconds(self.stepped as f64),
            }),
            lost: self.lost.as_ref().map(|(reason, at)| LostMember {
                reason: reason.clone(),
                at_seconds: (begin > 0).then(|| seconds(difference(*at, begin))),
            }),
        }
    }
}

/// Distance of two times, nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "times of a campaign")]
pub(super) fn difference(later: u64, earlier: u64) -> f64 {
    if later >= earlier {
        (later - earlier) as f64
    } else {
        -((earlier - later) as f64)
    }
}

/// All members.
#[derive(Debug)]
pub(super) struct MemberRuns {
    all: Vec<MemberRun>,
    /// Number of those that are lost.
    losses: usize,
    /// Lost members of whose loss the others know.
    excluded: usize,
}

impl MemberRuns {
    pub(super) fn new(entries: Vec<InventoryMember>) -> Self {
        Self {
            all: entries.into_iter().map(MemberRun::new).collect(),
            losses: 0,
            excluded: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&MemberRun> {
        self.all.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut MemberRun> {
        self.all.get_mut(index)
    }

    pub(super) fn name(&self, index: usize) -> String {
        let member = self.all.get(index);
        member.map_or_else(String::new, |member| member.entry.name.clone())
    }

    pub(super) fn is_there(&self, index: usize) -> bool {
        self.all.get(index).is_some_and(MemberRun::is_there)
    }

    /// The members that have a connection.
    pub(super) fn present(&self) -> Vec<usize> {
        self.indices(MemberRun::is_there)
    }

    /// Those that have also answered the greeting.
    pub(super) fn greeted(&self) -> Vec<usize> {
        self.indices(|member| member.is_there() && member.is_greeted())
    }

    fn indices(&self, wanted: impl Fn(&MemberRun) -> bool) -> Vec<usize> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, member)| wanted(member))
            .map(|(index, _)| index)
            .collect()
    }

    /// The agents that are to be connected to, with their control addresses.
    pub(super) fn unconnected(&self) -> Vec<(usize, String)> {
        let wanted = self.indices(|member| member.entry.agent && !member.is_there());
        let control = |index: usize| Some((index, self.all.get(index)?.entry.control.clone()));
        wanted.into_iter().filter_map(control).collect()
    }

    /// Adds an agent that has joined from this address.
    pub(super) fn join(&mut self, address: &str, now: u64) {
        let number = self.all.len();
        let mut member = MemberRun::new(InventoryMember {
            name: format!("{address}-{number}"),
            control: joined(address, PORT),
            source: InventorySource {
                engine: EngineName::Join,
                ..InventorySource::default()
            },
            agent: true,
            ..InventoryMember::default()
        });
        member.signs = Some(AgentSigns::new(now));
        self.all.push(member);
    }

    /// A member has a connection now.
    pub(super) fn connected(&mut self, index: usize, now: u64) {
        if let Some(member) = self.all.get_mut(index) {
            member.signs = Some(AgentSigns::new(now));
        }
    }

    /// A member was sent an order that has a reply.
    pub(super) fn asked(&mut self, index: usize, now: u64) {
        let member = self.all.get_mut(index);
        if let Some(signs) = member.and_then(|member| member.signs.as_mut()) {
            signs.asked(now);
        }
    }

    /// A member was heard.
    pub(super) fn heard(&mut self, index: usize, now: u64) {
        let member = self.all.get_mut(index);
        if let Some(signs) = member.and_then(|member| member.signs.as_mut()) {
            signs.heard(now);
        }
    }

    /// Forgets the connection of a member; true if it had one.
    pub(super) fn disconnect(&mut self, index: usize) -> bool {
        let member = self.all.get_mut(index);
        member.and_then(|member| member.signs.take()).is_some()
    }

    /// Counts a member as lost, unless it is already.
    pub(super) fn lose(&mut self, index: usize, why: String, now: u64) -> bool {
        let member = self.all.get_mut(index);
        let Some(member) = member.filter(|member| member.lost.is_none()) else {
            return false;
        };
        member.lost = Some((why, now));
        self.losses += 1;
        true
    }

    /// Silence after which a member is lost, nanoseconds.
    pub(super) fn silence_limit(&self, planned: u64) -> u64 {
        silence_limit(planned, self.all.len())
    }

    /// The members that gave no sign of life for this time.
    pub(super) fn silent(&self, limit: u64, now: u64) -> Vec<usize> {
        let is_silent = |signs: &AgentSigns| signs.is_silent(now, limit);
        self.indices(|member| member.signs.as_ref().is_some_and(is_silent))
    }

    pub(super) const fn losses(&self) -> usize {
        self.losses
    }

    /// A member that was lost after so many others, in one line: the last one.
    pub(super) fn loss_after(&self, losses: usize) -> Option<String> {
        if losses == 0 {
            return self.first_loss();
        }
        let lost = self.all.iter().filter_map(|member| {
            let (why, at) = member.lost.as_ref()?;
            Some((at, &member.entry.name, why))
        });
        let last = lost.filter(|_| self.losses > losses).max();
        last.map(|(_, name, why)| format!("{name} is lost: {why}"))
    }

    pub(super) const fn has_losses(&self) -> bool {
        self.losses > 0
    }

    pub(super) fn is_lost(&self, index: usize) -> bool {
        self.all
            .get(index)
            .is_none_or(|member| member.lost.is_some())
    }

    /// The first member that was lost.
    pub(super) fn first_lost(&self) -> Option<&MemberRun> {
        let mut all = self.all.iter().filter(|_| self.has_losses());
        all.find(|member| member.lost.is_some())
    }

    /// The first member that was lost, in one line.
    pub(super) fn first_loss(&self) -> Option<String> {
        let member = self.first_lost()?;
        let (why, _) = member.lost.as_ref()?;
        Some(format!("{} is lost: {why}", member.entry.name))
    }

    /// Number of members that are not lost.
    pub(super) fn left(&self) -> usize {
        self.all.len() - self.losses
    }

    /// The lost members, if the others do not know of all of them; they are told now.
    pub(super) fn newly_lost(&mut self) -> Option<Vec<usize>> {
        if self.losses == self.excluded {
            return None;
        }
        self.excluded = self.losses;
        Some(self.indices(|member| member.lost.is_some()))
    }

    /// Gives members of the same name different ones.
    pub(super) fn rename(&mut self) {
        let mut seen = BTreeSet::new();
        for member in &mut self.all {
            let name = member.entry.name.clone();
            let mut number = 2;
            while !seen.insert(member.entry.name.clone()) {
                member.entry.name = format!("{name}-{number}");
                number += 1;
            }
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &InventoryMember> {
        self.all.iter().map(|member| &member.entry)
    }

    pub(super) fn roster(&self) -> Vec<RosterEntry> {
        self.all.iter().map(MemberRun::roster_entry).collect()
    }

    /// Longest time from question to answer, nanoseconds.
    pub(super) fn slowest(&self) -> f64 {
        let clocks = self.all.iter().filter_map(|member| member.before);
        clocks.map(|clock| clock.round_trip).fold(0.0, f64::max)
    }

    /// The states of all hosts; those with loads are in this one.
    pub(super) fn states(&self, running: HostState) -> Vec<HostState> {
        let state = |member: &MemberRun| match (&member.lost, member.running) {
            (Some(_), _) => HostState::Lost,
            (None, _) if !member.entry.agent => HostState::Target,
            (None, 0) => HostState::Idle,
            (None, _) => running,
        };
        self.all.iter().map(state).collect()
    }

    /// Members with what the greeting and the clocks said, for a first load that began at this
    /// time.
    pub(super) fn document(&self, begin: u64) -> Vec<CampaignMember> {
        let member = |member: &MemberRun| member.document(begin);
        self.all.iter().map(member).collect()
    }
}
