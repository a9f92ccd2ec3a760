//! Which members send to which, and in which rounds.
//!
//! In a round of [`Pattern::Pairs`], each member takes part in one pair at most, so that no two
//! pairs share an interface. The rounds come from the circle method: one member stays, the others
//! rotate. With limits for racks, pairs are put into the first round with room for them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each to each other, in rounds of disjoint pairs.
    Pairs,
    /// Each to each other, all at the same time.
    Mesh,
    /// All to one, at the same time.
    Incast,
    /// One to all, at the same time.
    Fanout,
    /// The first half to the second, at the same time.
    Bisection,
    /// Each to the next, at the same time.
    Ring,
    /// Named pairs, one after the other.
    List,
}

/// A sender and a receiver, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
}

/// Cells that are measured at the same time.
pub type Round = Vec<Cell>;

/// What the rounds depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Number of members.
    pub count: usize,
    /// Members that can send; a stock netserver cannot.
    pub senders: Vec<bool>,
    /// Host of each member: members of one host share its interface.
    pub hosts: Vec<usize>,
    /// Rack of each member, by number; empty without racks.
    pub racks: Vec<usize>,
    /// Most cells that leave or enter a rack at the same time; without limit if zero.
    pub uplink: usize,
}

impl Members {
    /// Members of which each can send, on hosts of their own.
    #[must_use]
    pub fn of(count: usize) -> Self {
        Self {
            count,
            senders: vec![true; count],
            hosts: (0..count).collect(),
            racks: Vec::new(),
            uplink: 0,
        }
    }
}

/// Rounds of disjoint pairs of all members, by the circle method. Each pair is in one round.
fn circle(count: usize) -> Vec<Vec<(usize, usize)>> {
    let even = count + count % 2;
    let rotating = even.saturating_sub(1);
    let pair = |round: usize, step: usize| {
        let at = |place: usize| (round + place) % rotating;
        if step == 0 {
            (round, rotating)
        } else {
            (at(step), at(rotating - step))
        }
    };
    let pairs = |round: usize| {
        let all = (0..even / 2).map(|step| pair(round, step));
        all.filter(|(one, other)| *one < count && *other < count)
            .collect()
    };
    (0..rotating).map(pairs).collect()
}

/// The order of members from a seed (Fisher and Yates), so that neighbours do not always meet
/// first.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = seed;
    for last in (1..count).rev() {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let below = u64::try_from(last + 1).unwrap_or(u64::MAX);
        let place = usize::try_from(mixed % below).unwrap_or_default();
        order.swap(last, place);
    }
    order
}

/// Load of a round on hosts and racks.
#[derive(Debug, Default)]
struct RoundLoad {
    busy: Vec<bool>,
    out: BTreeMap<usize, usize>,
    into: BTreeMap<usize, usize>,
}

impl RoundLoad {
    fn has_room(&self, cell: Cell, members: &Members) -> bool {
        let host = |member: usize| members.hosts.get(member).copied().unwrap_or(member);
        let free = |member| !self.busy.get(host(member)).copied().unwrap_or_default();
        if !free(cell.from) || !free(cell.to) {
            return false;
        }
        match crossing(cell, members) {
            Some((from, to)) => {
                let below = |count: Option<&usize>| count.copied().unwrap_or(0) < members.uplink;
                below(self.out.get(&from)) && below(self.into.get(&to))
            }
            None => true,
        }
    }

    fn add(&mut self, cell: Cell, members: &Members) {
        for member in [cell.from, cell.to] {
            let host = members.hosts.get(member).copied().unwrap_or(member);
            if self.busy.len() <= host {
                self.busy.resize(host + 1, false);
            }
            if let Some(busy) = self.busy.get_mut(host) {
                *busy = true;
            }
        }
        if let Some((from, to)) = crossing(cell, members) {
            *self.out.entry(from).or_default() += 1;
            *self.into.entry(to).or_default() += 1;
        }
    }
}

/// The racks of a cell that crosses uplinks with a limit.
fn crossing(cell: Cell, members: &Members) -> Option<(usize, usize)> {
    let rack = |member: usize| members.racks.get(member).copied();
    let (from, to) = (rack(cell.from)?, rack(cell.to)?);
    (members.uplink > 0 && from != to).then_some((from, to))
}

/// Rounds of disjoint cells with room on hosts and uplinks: the cells in the order of `wanted`,
/// each in the first round with room.
fn coloured(wanted: impl IntoIterator<Item = Cell>, members: &Members) -> Vec<Round> {
    let mut rounds: Vec<(Round, RoundLoad)> = Vec::new();
    // Rounds before this one are full for crossing cells of a pair of racks.
    let mut first_free: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for cell in wanted {
        let crossing = crossing(cell, members);
        let from = crossing.and_then(|pair| first_free.get(&pair).copied());
        let from = from.unwrap_or_default();
        let fits = |(_, load): &(Round, RoundLoad)| load.has_room(cell, members);
        let found = rounds.iter().skip(from).position(fits);
        let index = found.map_or(rounds.len(), |place| place + from);
        if index == rounds.len() {
            rounds.push(Default::default());
        }
        if let Some((round, load)) = rounds.get_mut(index) {
            round.push(cell);
            load.add(cell, members);
        }
        if let Some(pair) = crossing {
            let full = |(_, load): &(Round, RoundLoad)| {
                let at = |counts: &BTreeMap<usize, usize>, rack| {
                    counts.get(&rack).copied().unwrap_or(0) >= members.uplink
                };
                at(&load.out, pair.0) || at(&load.into, pair.1)
            };
            let mut first = from;
            while rounds.get(first).is_some_and(full) {
                first += 1;
            }
            first_free.insert(pair, first);
        }
    }
    rounds.into_iter().map(|(round, _)| round).collect()
}

/// The rounds of a pattern. `hub` is the one of incast and fanout; `list` has the cells of
/// [`Pattern::List`]. Cells of members that cannot send are left out.
#[must_use]
pub fn rounds(
    pattern: Pattern,
    members: &Members,
    (hub, list): (usize, &[Cell]),
    seed: u64,
) -> Vec<Round> {
    let count = members.count;
    let all = 0..count;
    let others = || (0..count).filter(move |one| *one != hub);
    let rounds = match pattern {
        Pattern::Pairs => pairs(members, seed),
        Pattern::Mesh => {
            let of = |from: usize| (0..count).map(move |to| Cell { from, to });
            vec![all.flat_map(of).collect()]
        }
        Pattern::Incast => vec![others().map(|from| Cell { from, to: hub }).collect()],
        Pattern::Fanout => vec![others().map(|to| Cell { from: hub, to }).collect()],
        Pattern::Bisection => {
            let half = count / 2;
            let pair = |from: usize| Cell {
                from,
                to: from + half,
            };
            vec![(0..half).map(pair).collect()]
        }
        Pattern::Ring => {
            let next = |from: usize| Cell {
                from,
                to: (from + 1) % count.max(1),
            };
            vec![all.map(next).collect()]
        }
        Pattern::List => list.iter().map(|cell| vec![*cell]).collect(),
    };
    let possible = |cell: &Cell| {
        cell.from != cell.to && members.senders.get(cell.from).copied().unwrap_or_default()
    };
    let rounds = rounds.into_iter();
    let rounds = rounds.map(|round: Round| round.into_iter().filter(possible).collect());
    rounds.filter(|round: &Round| !round.is_empty()).collect()
}

/// All pairs, first in one direction and then in the other.
fn pairs(members: &Members, seed: u64) -> Vec<Round> {
    let order = shuffled(members.count, seed);
    let member = |place: usize| order.get(place).copied().unwrap_or(place);
    let cell = |(one, other): &(usize, usize)| Cell {
        from: member(*one),
        to: member(*other),
    };
    let circle = circle(members.count);
    let there: Vec<Round> = circle
        .iter()
        .map(|round| round.iter().map(cell).collect())
        .collect();
    let shared = {
        let mut hosts = members.hosts.clone();
        hosts.sort_unstable();
        hosts.windows(2).any(|pair| pair[0] == pair[1])
    };
    let limited = members.uplink > 0 && !members.racks.is_empty();
    let rounds = if shared || limited {
        // Members of one host cannot be measured without sharing it.
        let host = |member: usize| members.hosts.get(member).copied().unwrap_or(member);
        let apart = |cell: &Cell| host(cell.from) != host(cell.to);
        coloured(there.into_iter().flatten().filter(apart), members)
    } else {
        there
    };
    let back = |cell: &Cell| Cell {
        from: cell.to,
        to: cell.from,
    };
    let back: Vec<Round> = rounds
        .iter()
        .map(|round| round.iter().map(back).collect())
        .collect();
    rounds.into_iter().chain(back).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn are_disjoint(round: &Round) -> bool {
        let mut seen = BTreeSet::new();
        round
            .iter()
            .all(|cell| seen.insert(cell.from) && seen.insert(cell.to))
    }

    fn every_cell(count: usize) -> BTreeSet<Cell> {
        let of = |from| (0..count).map(move |to| Cell { from, to });
        let all = (0..count).flat_map(of);
        all.filter(|cell| cell.from != cell.to).collect()
    }

    #[test]
    fn pairs_are_disjoint_and_complete_in_as_few_rounds_as_possible() {
        for count in 2..=200 {
            let rounds = rounds(Pattern::Pairs, &Members::of(count), (0, &[]), 7);
            assert!(rounds.iter().all(are_disjoint), "{count}");
            let cells: Vec<Cell> = rounds.iter().flatten().copied().collect();
            assert_eq!(cells.len(), count * (count - 1));
            assert_eq!(
                cells.into_iter().collect::<BTreeSet<_>>(),
                every_cell(count)
            );
            let fewest = count - 1 + count % 2;
            assert_eq!(rounds.len(), 2 * fewest, "{count}");
        }
    }

    #[test]
    fn no_uplink_carries_more_than_its_limit() {
        for (count, racks, uplink) in [(16, 4, 2), (64, 4, 4), (40, 5, 3), (63, 4, 8)] {
            let members = Members {
                racks: (0..count).map(|member| member % racks).collect(),
                uplink,
                ..Members::of(count)
            };
            let rounds = rounds(Pattern::Pairs, &members, (0, &[]), 3);
            let mut crossing_pairs = vec![0; racks];
            for round in &rounds {
                assert!(are_disjoint(round));
                let (mut out, mut into) = (vec![0; racks], vec![0; racks]);
                for cell in round
                    .iter()
                    .filter(|cell| cell.from % racks != cell.to % racks)
                {
                    out[cell.from % racks] += 1;
                    into[cell.to % racks] += 1;
                    crossing_pairs[cell.from % racks] += 1;
                }
                assert!(out.iter().chain(&into).all(|load| *load <= uplink));
            }
            let cells: BTreeSet<Cell> = rounds.iter().flatten().copied().collect();
            assert_eq!(cells, every_cell(count));
            let busiest = crossing_pairs.iter().max().copied().unwrap_or_default();
            let least = (2 * (count - 1)).max(busiest / uplink);
            assert!(
                2 * rounds.len() <= 3 * least,
                "{} rounds, {least}",
                rounds.len()
            );
        }
    }

    #[test]
    fn members_of_one_host_are_not_measured_at_the_same_time() {
        let members = Members {
            hosts: vec![0, 0, 1, 2],
            ..Members::of(4)
        };
        for round in rounds(Pattern::Pairs, &members, (0, &[]), 1) {
            let hosts: Vec<usize> = round
                .iter()
                .flat_map(|cell| [members.hosts[cell.from], members.hosts[cell.to]])
                .collect();
            let different: BTreeSet<usize> = hosts.iter().copied().collect();
            assert_eq!(different.len(), hosts.len(), "{round:?}");
        }
    }

    #[test]
    fn patterns_of_one_round_have_their_cells() {
        let of = |pattern| rounds(pattern, &Members::of(4), (1, &[]), 0);
        let cells = |pairs: &[(usize, usize)]| -> Vec<Round> {
            let cell = |&(from, to): &(usize, usize)| Cell { from, to };
            vec![pairs.iter().map(cell).collect()]
        };
        assert_eq!(of(Pattern::Incast), cells(&[(0, 1), (2, 1), (3, 1)]));
        assert_eq!(of(Pattern::Fanout), cells(&[(1, 0), (1, 2), (1, 3)]));
        assert_eq!(of(Pattern::Bisection), cells(&[(0, 2), (1, 3)]));
        assert_eq!(of(Pattern::Ring), cells(&[(0, 1), (1, 2), (2, 3), (3, 0)]));
        assert_eq!(of(Pattern::Mesh)[0].len(), 12);
        let mut members = Members::of(3);
        members.senders[2] = false;
        let mesh = rounds(Pattern::Mesh, &members, (0, &[]), 0);
        assert_eq!(mesh[0].len(), 4);
    }
}
