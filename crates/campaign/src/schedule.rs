//! Rounds of a pattern: cells that are measured at the same time.
//!
//! Rounds of pairs are disjoint: no host takes part in two cells of a round, so that no two
//! measurements share an interface. Without uplinks they come from the circle method (one
//! member stays, the others rotate; E. Lucas, Récréations mathématiques, 1883), which needs the
//! fewest rounds possible. With uplinks whose capacity a round would exceed, the rounds are an
//! edge colouring with capacities, made greedily: each round takes the cells of the hosts and
//! uplinks with the most work left first.

mod colouring;

use std::collections::{BTreeMap, BTreeSet};

use netperf_stats::random::SplitMix64;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::pattern::{Cell, PairDirections, Pattern, PatternRequest, ScheduleMembers};

/// Rounds of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundSchedule {
    /// Cells that are measured at the same time, round by round. No round is empty.
    pub rounds: Vec<Vec<Cell>>,
    /// Resource that the cells of a round do not share.
    pub isolation: Isolation,
    /// Seed of the order of members.
    pub seed: u64,
}

/// Resource that the cells of a round do not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// They may share everything: all run at the same time on purpose.
    None,
    /// They share no host. They may share links of the network.
    Hosts,
    /// They share no host, and no uplink has more flows than its capacity.
    Uplinks,
}

/// Why there are no rounds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unschedulable {
    /// One member or none.
    #[error("a campaign needs at least two members, not {0}")]
    TooFewMembers(usize),
    /// A list or a hub names a member that does not exist.
    #[error("there is no member {0}")]
    UnknownMember(usize),
    /// A listed cell of a member with itself.
    #[error("member {0} cannot send to itself")]
    ToItself(usize),
    /// A listed cell of a member that cannot send.
    #[error("member {0} cannot send")]
    CannotSend(usize),
    /// No cell is possible.
    #[error("no member can send")]
    Empty,
}

impl RoundSchedule {
    /// The rounds of a pattern. Cells of members that cannot send are left out, except that
    /// a list must not name them.
    ///
    /// # Errors
    /// If the request names something impossible, or no cell is possible.
    pub fn of(request: &PatternRequest, members: &ScheduleMembers) -> Result<Self, Unschedulable> {
        if members.count < 2 {
            return Err(Unschedulable::TooFewMembers(members.count));
        }
        check(request, members)?;
        let (rounds, isolation) = match request.pattern {
            Pattern::Pairs => pairs(request, members),
            Pattern::List => (one_by_one(&request.list, members), isolation(members)),
            Pattern::Groups => (vec![request.list.clone()], Isolation::None),
            Pattern::Mesh | Pattern::Incast | Pattern::Fanout => {
                (vec![at_once(request, members.count)], Isolation::None)
            }
            Pattern::Bisection | Pattern::Ring => {
                let rounds = in_circles(request, members);
                (both_ways(rounds, request.directions), Isolation::None)
            }
        };
        let possible = |cell: &Cell| members.can_send(*cell);
        let mut kept = Vec::new();
        for mut round in rounds {
            round.retain(possible);
            if !round.is_empty() {
                kept.push(round);
            }
        }
        if kept.is_empty() {
            return Err(Unschedulable::Empty);
        }
        Ok(Self {
            rounds: kept,
            isolation,
            seed: request.seed,
        })
    }

    /// Number of cells of all rounds.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// Leaves only the first rounds: of pairs, a random sample in which each host has the same
    /// number of partners, or one less.
    pub fn truncate(&mut self, rounds: usize) {
        self.rounds.truncate(rounds);
    }
}

fn check(request: &PatternRequest, members: &ScheduleMembers) -> Result<(), Unschedulable> {
    let hub = matches!(request.pattern, Pattern::Incast | Pattern::Fanout);
    if hub && request.hub >= members.count {
        return Err(Unschedulable::UnknownMember(request.hub));
    }
    if !matches!(request.pattern, Pattern::List | Pattern::Groups) {
        return Ok(());
    }
    let receive_only: BTreeSet<usize> = members.receive_only.iter().copied().collect();
    for cell in &request.list {
        for member in [cell.from, cell.to] {
            if member >= members.count {
                return Err(Unschedulable::UnknownMember(member));
            }
        }
        if cell.from == cell.to {
            return Err(Unschedulable::ToItself(cell.from));
        }
        if receive_only.contains(&cell.from) {
            return Err(Unschedulable::CannotSend(cell.from));
        }
    }
    Ok(())
}

fn isolation(members: &ScheduleMembers) -> Isolation {
    if members.uplinks.is_empty() {
        Isolation::Hosts
    } else {
        Isolation::Uplinks
    }
}

/// The rounds of all pairs.
fn pairs(request: &PatternRequest, members: &ScheduleMembers) -> (Vec<Vec<Cell>>, Isolation) {
    let order = shuffled(members.count, request.seed);
    let mut rounds = circle(members.count);
    for cell in rounds.iter_mut().flatten() {
        let member = |place: usize| order.get(place).copied().unwrap_or(place);
        *cell = Cell {
            from: member(cell.from),
            to: member(cell.to),
        };
    }
    let rounds = both_ways(rounds, request.directions);
    let unlimited = members.hosts.is_empty() && members.uplinks.is_empty();
    let fit = |round: &Vec<Cell>| {
        let mut load = RoundLoad::default();
        round.iter().all(|cell| load.add(*cell, members))
    };
    let rounds = if unlimited || rounds.iter().all(fit) {
        rounds
    } else {
        colouring::rounds(members, request.directions, &order).0
    };
    (rounds, isolation(members))
}

/// Each pair once, in disjoint rounds, by the circle method: `count - 1` rounds, or `count` if
/// that is odd, of which each member rests in one. In neighbouring rounds, the first member
/// alternates between sending and receiving.
fn circle(count: usize) -> Vec<Vec<Cell>> {
    let even = count + count % 2;
    let rotating = even.saturating_sub(1);
    let pair = |round: usize, step: usize| {
        let at = |place: usize| (round + place) % rotating;
        match step {
            0 if round % 2 == 0 => Cell {
                from: round,
                to: rotating,
            },
            0 => Cell {
                from: rotating,
                to: round,
            },
            step => Cell {
                from: at(step),
                to: at(rotating - step),
            },
        }
    };
    let round = |round: usize| {
        let all = (0..even / 2).map(|step| pair(round, step));
        all.filter(|cell| cell.from < count && cell.to < count)
            .collect()
    };
    (0..rotating).map(round).collect()
}

/// Rounds of one direction of each pair, made rounds of both: all of one direction first, so
/// that the directions of a pair are not measured back to back on warm state alone.
fn both_ways(rounds: Vec<Vec<Cell>>, directions: PairDirections) -> Vec<Vec<Cell>> {
    let reverse = |round: &Vec<Cell>| round.iter().map(|cell| cell.back()).collect::<Vec<_>>();
    let back: Vec<Vec<Cell>> = rounds.iter().map(reverse).collect();
    match directions {
        PairDirections::Separate => rounds.into_iter().chain(back).collect(),
        PairDirections::Together => {
            let both = rounds.into_iter().zip(back);
            both.map(|(there, back)| {
                let mut all: Vec<Cell> = there.into_iter().chain(back).collect();
                let mut seen = BTreeSet::new();
                // A ring of two members has each direction already.
                all.retain(|cell| seen.insert(*cell));
                all
            })
            .collect()
        }
    }
}

/// The cells of patterns whose cells all run at the same time.
fn at_once(request: &PatternRequest, count: usize) -> Vec<Cell> {
    let hub = request.hub;
    let to_hub = (0..count).map(|from| Cell { from, to: hub });
    match request.pattern {
        Pattern::Incast => to_hub.collect(),
        Pattern::Fanout => to_hub.map(Cell::back).collect(),
        Pattern::Mesh
        | Pattern::Pairs
        | Pattern::Bisection
        | Pattern::Ring
        | Pattern::List
        | Pattern::Groups => {
            let of = |from: usize| (0..count).map(move |to| Cell { from, to });
            (0..count).flat_map(of).collect()
        }
    }
}

/// One direction of bisections and rings.
fn in_circles(request: &PatternRequest, members: &ScheduleMembers) -> Vec<Vec<Cell>> {
    let count = members.count;
    let by_label = |member: &usize| {
        let groups = members.uplinks.iter().rev();
        let groups = groups.map(|uplinks| uplinks.groups.get(*member).copied().flatten());
        (groups.collect::<Vec<_>>(), *member)
    };
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(by_label);
    if request.pattern == Pattern::Ring {
        let next = order.iter().cycle().skip(1);
        let cells = order.iter().zip(next);
        return vec![
            cells
                .map(|(from, to)| Cell {
                    from: *from,
                    to: *to,
                })
                .collect(),
        ];
    }
    let halves = |order: &[usize]| -> Vec<Cell> {
        let (first, second) = order.split_at(count / 2);
        let cells = first.iter().zip(second);
        cells
            .map(|(from, to)| Cell {
                from: *from,
                to: *to,
            })
            .collect()
    };
    match request.random_halves {
        0 => vec![halves(&order)],
        many => (0..many as u64)
            .map(|number| halves(&shuffled(count, request.seed.wrapping_add(number))))
            .collect(),
    }
}

/// Listed cells, each in the first round with a place for it, in the order of the list.
fn one_by_one(list: &[Cell], members: &ScheduleMembers) -> Vec<Vec<Cell>> {
    let mut rounds = Vec::new();
    let mut left: Vec<Cell> = list.to_vec();
    while !left.is_empty() {
        let mut load = RoundLoad::default();
        let (round, rest) = left.into_iter().partition(|cell| load.add(*cell, members));
        rounds.push(round);
        left = rest;
    }
    rounds
}

/// Hosts and uplinks that the cells of a round use.
#[derive(Debug, Default)]
struct RoundLoad {
    /// Cell of each busy host.
    hosts: BTreeMap<usize, Cell>,
    /// Flows by number of the kind of uplinks, group, and whether they leave.
    uplinks: BTreeMap<(usize, usize, bool), usize>,
}

impl RoundLoad {
    /// Adds a cell if it fits. The opposite direction of a cell is possible on its
    /// hosts.
    fn add(&mut self, cell: Cell, members: &ScheduleMembers) -> bool {
        let hosts = [members.host(cell.from), members.host(cell.to)];
        let is_free = |host: &usize| self.hosts.get(host).is_none_or(|of| of.back() == cell);
        if !hosts.iter().all(is_free) {
            return false;
        }
        let crossed: Vec<_> = crossed(cell, members).collect();
        let has_room = |(link, flows): &((usize, usize, bool), usize)| {
            self.uplinks.get(link).is_none_or(|used| used < flows)
        };
        if !crossed.iter().all(has_room) {
            return false;
        }
        self.hosts.extend(hosts.map(|host| (host, cell)));
        for (link, _) in crossed {
            *self.uplinks.entry(link).or_default() += 1;
        }
        true
    }
}

/// The uplinks that a cell crosses, each with its capacity: number of the kind, group, and true
/// if the cell leaves the group.
fn crossed(
    cell: Cell,
    members: &ScheduleMembers,
) -> impl Iterator<Item = ((usize, usize, bool), usize)> + '_ {
    members
        .uplinks
        .iter()
        .enumerate()
        .flat_map(move |(kind, uplinks)| {
            let group = |member: usize| uplinks.groups.get(member).copied().flatten();
            let ends = [(group(cell.from), true), (group(cell.to), false)];
            let crosses = ends[0].0 != ends[1].0;
            let ends = ends.into_iter().filter(move |_| crosses);
            ends.filter_map(move |(group, leaves)| {
                let group = group?;
                let flows = uplinks.flows.get(group)?.get();
                Some(((kind, group, leaves), flows))
            })
        })
}

/// The members in an order that a seed gives (R. A. Fisher, F. Yates).
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = SplitMix64::new(seed);
    for last in (1..count).rev() {
        let below = u64::try_from(last + 1).unwrap_or(u64::MAX);
        order.swap(last, usize::try_from(random.roll() % below).unwrap_or(0));
    }
    order
}

#[cfg(test)]
mod tests;
