//! The agreement of a coordinator and its agents about loads and their begin.

use std::time::Duration;

use netperf_campaign::inventory::host_and_port;
use netperf_campaign::pattern::Cell;
use netperf_campaign::plan::CampaignPlan;
use netperf_campaign::protocol::{
    CampaignLoad, LoadParts, OPENING, Order, PairToken, Preparation, Reply, RosterEntry, Start,
    TokenDigits,
};
use netperf_measure::clock;
use zeroize::Zeroizing;

use super::cells::{CampaignCells, LoadPart};
use super::run::{CampaignRun, LEAST_LEAD, Member, now};

/// Time that the opening of the connections of one load may take on a busy host.
const PER_LOAD: u64 = 30_000_000;
/// Time for the queues of a round to empty.
const DRAIN: u64 = 300_000_000;
/// Bytes of a token.
const TOKEN: usize = 32;
/// Largest number of attempts to agree about the begin.
const ATTEMPTS: u64 = 3;

/// What each member is told before the start. Preparations are made one at a time: all of them
/// together are large.
struct LoadShares {
    roster: Vec<RosterEntry>,
    /// The loads of each member: number, target and part.
    loads: Vec<Vec<(u32, usize, LoadPart)>>,
    /// The pairs whose receiver takes a token, by sender; and their tokens.
    pairs: Vec<Cell>,
    tokens: Zeroizing<Vec<u8>>,
    /// The pairs of each receiver.
    accepts: Vec<Vec<u32>>,
    words: Vec<String>,
    parts: LoadParts,
}

impl LoadShares {
    fn new(
        (members, roster): (&[Member], Vec<RosterEntry>),
        cells: &CampaignCells,
        plan: &CampaignPlan,
    ) -> Result<Self, String> {
        let mut loads = vec![Vec::new(); members.len()];
        for (id, load, cell) in cells.of_stage() {
            if let Some(own) = loads.get_mut(cell.from) {
                own.push((id, cell.to, load.part));
            }
        }
        let mut pairs = cells.pairs();
        let takes_token = |cell: &Cell| members.get(cell.to).is_some_and(|one| one.entry.agent);
        pairs.retain(takes_token);
        let mut tokens = Zeroizing::new(vec![0; pairs.len() * TOKEN]);
        let filled = netperf_os::system::random(&mut tokens);
        filled.map_err(|error| netperf_program::output::system_text(&error))?;
        let mut accepts = vec![Vec::new(); members.len()];
        for (number, cell) in (0..).zip(&pairs) {
            if let Some(own) = accepts.get_mut(cell.to) {
                own.push(number);
            }
        }
        Ok(Self {
            roster,
            loads,
            pairs,
            tokens,
            accepts,
            words: plan.words(),
            parts: plan.parts(),
        })
    }

    /// The token of a pair, for one of its members.
    fn token(&self, pair: usize, member: usize) -> Option<PairToken> {
        let bytes = self.tokens.get(pair * TOKEN..(pair + 1) * TOKEN)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(PairToken {
            member,
            token: TokenDigits(digits),
        })
    }

    fn preparation(&self, own: usize) -> Preparation {
        let load = |(id, to, part): &(u32, usize, LoadPart)| CampaignLoad {
            id: *id,
            to: *to,
            words: match part {
                LoadPart::Test => self.words.clone(),
                LoadPart::Loaded | LoadPart::Unloaded => CampaignPlan::probe_words(),
            },
            parts: self.parts,
        };
        let first = self.pairs.partition_point(|cell| cell.from < own);
        let sent = self.pairs.iter().enumerate().skip(first);
        let sent = sent.take_while(|(_, cell)| cell.from == own);
        let accepted = self.accepts.get(own).into_iter().flatten();
        let accepted = accepted.filter_map(|pair| {
            let pair = *pair as usize;
            self.token(pair, self.pairs.get(pair)?.from)
        });
        Preparation {
            roster: self.roster.clone(),
            own,
            loads: self
                .loads
                .get(own)
                .into_iter()
                .flatten()
                .map(load)
                .collect(),
            accepts: accepted.collect(),
            sends: sent
                .filter_map(|(pair, cell)| self.token(pair, cell.to))
                .collect(),
        }
    }
}

impl CampaignRun<'_> {
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

    /// Agrees about the loads of the stage and their begin.
    ///
    /// # Errors
    /// One line.
    pub(super) fn agree(&mut self) -> Result<(), String> {
        let mut slack = 0;
        for attempt in 1..=ATTEMPTS {
            self.agreed = false;
            self.early.clear();
            self.prepare()?;
            match self.commit(slack)? {
                None => break,
                Some(_) if attempt == ATTEMPTS => {
                    return Err("the agents do not answer in time for a common begin".to_owned());
                }
                Some(late) => slack += late.saturating_mul(2) + LEAST_LEAD,
            }
        }
        self.agreed = true;
        self.begin_cells();
        for (index, id, came) in std::mem::take(&mut self.early) {
            self.take_result(index, id, came);
        }
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), String> {
        let shares = LoadShares::new((&self.members, self.roster()), &self.cells, self.plan)?;
        let present = self.present().into_iter();
        let orders =
            present.map(|index| (index, Order::Prepare(Box::new(shares.preparation(index)))));
        self.ask(orders, |_, reply| Ok(*reply == Reply::Prepared))
    }

    /// Time from the begin of a round to that of the next.
    pub(super) fn period(&self) -> u64 {
        self.plan.parts().total() + OPENING + DRAIN
    }

    /// Begin of a round of the stage, or of the probes before it.
    pub(super) fn begin_of(&self, slot: u32) -> u64 {
        let stage = self.cells.stage;
        let slot = slot.saturating_sub(stage.first_slot);
        stage.begin + self.period() * u64::from(slot)
    }

    /// End of the stage.
    pub(super) fn end(&self) -> u64 {
        self.begin_of(self.cells.stage.first_slot + self.cells.stage.slots)
    }

    /// Agrees about the begin of each load. Returns by how much an agent was late.
    fn commit(&mut self, slack: u64) -> Result<Option<u64>, String> {
        let round_trip = self.members.iter().filter_map(|one| one.before);
        let slowest = round_trip.map(|one| one.round_trip).fold(0.0, f64::max);
        let first_slot = self.cells.stage.first_slot;
        let first = self.cells.of_stage();
        let first = first
            .take_while(|(_, load, _)| load.slot == first_slot)
            .count() as u64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time of some seconds"
        )]
        let lead = LEAST_LEAD.max(4 * slowest as u64 + self.members.len() as u64 * 100_000);
        let opening = OPENING + first * PER_LOAD;
        let begin = now() + lead + opening + slack;
        self.cells.stage.begin = begin;
        if self.cells.stage.first_load == 0 {
            self.begin = begin;
            self.started_unix = clock::since_epoch().as_secs_f64()
                + Duration::from_nanos(begin.saturating_sub(now())).as_secs_f64();
        }
        let mut starts: Vec<Vec<Start>> = vec![Vec::new(); self.members.len()];
        for (id, load, cell) in self.cells.of_stage() {
            let offset = self.members.get(cell.from).and_then(|one| one.before);
            if let (Some(offset), Some(starts)) = (offset, starts.get_mut(cell.from)) {
                let at = offset.there(self.begin_of(load.slot));
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
                    late = late.max(Some(*by));
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
        }
        Ok(late)
    }
}
