//! The agreement of a coordinator and its agents about loads and their begin.

use std::time::Duration;

use netperf_campaign::inventory::host_and_port;
use netperf_campaign::pattern::Cell;
use netperf_campaign::protocol::{
    CampaignLoad, OPENING, Order, PairToken, Preparation, Reply, RosterEntry, Start, TokenDigits,
};
use netperf_measure::clock;

use super::run::{CampaignRun, LEAST_LEAD, Member, now, random};

/// Time that the opening of the connections of one load may take on a busy host.
const PER_LOAD: u64 = 30_000_000;
/// Time for the queues of a round to empty.
const DRAIN: u64 = 300_000_000;

impl CampaignRun<'_> {
    pub(super) fn roster(&self) -> Vec<RosterEntry> {
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
    pub(super) fn shares(&self) -> Result<Vec<Preparation>, String> {
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

    pub(super) fn prepare(&mut self) -> Result<(), String> {
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
    pub(super) fn period(&self) -> u64 {
        self.plan.parts().total() + OPENING + DRAIN
    }

    pub(super) fn begin_of(&self, round: usize) -> u64 {
        self.begin + self.period() * round as u64
    }

    /// Agrees about the begin of each load. Returns by how much an agent was late.
    pub(super) fn commit(&mut self, slack: u64) -> Result<Option<u64>, String> {
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
}
