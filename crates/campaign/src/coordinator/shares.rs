//! Instructions for each agent before the start.

use super::action::TokenBytes;
use super::cells::{CampaignCells, LoadPart};
use super::member::MemberRuns;
use crate::inventory::InventoryMember;
use crate::pattern::Cell;
use crate::plan::{CampaignPlan, CellWords};
use crate::protocol::{CampaignLoad, LoadParts, PairToken, Preparation, RosterEntry, TokenDigits};

/// Bytes of a token.
const TOKEN: usize = 32;

/// The pairs of a stage whose receiver takes a token, by sender.
pub(super) fn pairs_with_token(members: &MemberRuns, cells: &CampaignCells) -> Vec<Cell> {
    let mut pairs = cells.pairs();
    let takes_token = |cell: &Cell| members.get(cell.to).is_some_and(|one| one.entry.agent);
    pairs.retain(takes_token);
    pairs
}

/// Random bytes for the tokens of so many pairs.
pub(super) const fn token_bytes(pairs: usize) -> usize {
    pairs * TOKEN
}

/// Instructions for each member before the start. Preparations are made one at a time: all of them
/// together are large.
#[derive(Debug)]
pub(super) struct LoadShares {
    roster: Vec<RosterEntry>,
    /// The loads of each member: number, target and part.
    loads: Vec<Vec<(u32, usize, LoadPart)>>,
    /// The pairs whose receiver takes a token, by sender; and their tokens.
    pairs: Vec<Cell>,
    tokens: TokenBytes,
    /// The pairs of each receiver.
    accepts: Vec<Vec<u32>>,
    words: CellWords,
    parts: LoadParts,
}

impl LoadShares {
    pub(super) fn new(
        members: &MemberRuns,
        cells: &CampaignCells,
        plan: &CampaignPlan,
        tokens: TokenBytes,
    ) -> Self {
        let mut loads = vec![Vec::new(); members.len()];
        for (id, load, cell) in cells.of_stage() {
            if let Some(own) = loads.get_mut(cell.from) {
                own.push((id, cell.to, load.part));
            }
        }
        // The rounds of the same members were made.
        let entries: Vec<InventoryMember> = members.entries().cloned().collect();
        let pairs = pairs_with_token(members, cells);
        let mut accepts = vec![Vec::new(); members.len()];
        for (number, cell) in (0..).zip(&pairs) {
            if let Some(own) = accepts.get_mut(cell.to) {
                own.push(number);
            }
        }
        Self {
            roster: members.roster(),
            loads,
            pairs,
            tokens,
            accepts,
            words: plan.words(&entries).unwrap_or_default(),
            parts: plan.parts(),
        }
    }

    /// The token of a pair, for one of its members.
    fn token(&self, pair: usize, member: usize) -> Option<PairToken> {
        let bytes = self.tokens.0.get(pair * TOKEN..(pair + 1) * TOKEN)?;
        Some(PairToken {
            member,
            token: TokenDigits(base16ct::lower::encode_string(bytes)),
        })
    }

    pub(super) fn preparation(&self, own: usize) -> Preparation {
        let load = |(id, to, part): &(u32, usize, LoadPart)| CampaignLoad {
            id: *id,
            to: *to,
            words: match part {
                LoadPart::Test => self.words.of(Cell { from: own, to: *to }).to_vec(),
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
