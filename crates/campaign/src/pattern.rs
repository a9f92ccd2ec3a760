//! Patterns of a campaign: which members send to which.
//!
//! Members are known by their index. [`crate::schedule`] makes rounds of a pattern.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// Which members send to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each to each other, in rounds of disjoint pairs.
    Pairs,
    /// Each to each other, all at the same time.
    Mesh,
    /// All to one, at the same time.
    #[serde(alias = "n-to-1")]
    Incast,
    /// One to all, at the same time.
    #[serde(alias = "1-to-n")]
    Fanout,
    /// One half to the other, at the same time.
    Bisection,
    /// Each to the next, at the same time.
    Ring,
    /// Cells that the plan names, in rounds of disjoint ones.
    List,
    /// Several tests, each between groups of members, at the same time.
    Groups,
}

/// A sender and a receiver, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
}

impl Cell {
    /// The cell of the opposite direction.
    #[must_use]
    pub const fn back(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
        }
    }
}

/// The two directions between members, in patterns that have both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairDirections {
    /// In separate rounds: a member either sends or receives.
    #[default]
    Separate,
    /// In one round: both members send and receive.
    Together,
}

/// A request for rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternRequest {
    /// The pattern.
    pub pattern: Pattern,
    /// The directions of pairs, bisections and rings.
    pub directions: PairDirections,
    /// The one member of [`Pattern::Incast`] and [`Pattern::Fanout`].
    pub hub: usize,
    /// The cells of [`Pattern::List`] and [`Pattern::Groups`].
    pub list: Vec<Cell>,
    /// Number of random [`Pattern::Bisection`]s, a round for each. With 0, there is one: the
    /// first half of the members in the order of their labels sends to the second.
    pub random_halves: usize,
    /// Seed of the order of members: two schedules of one seed are equal. Otherwise neighbours
    /// always meet early, and a drift over time looks like distance.
    pub seed: u64,
}

impl PatternRequest {
    /// A pattern without further wishes.
    #[must_use]
    pub const fn of(pattern: Pattern) -> Self {
        Self {
            pattern,
            directions: PairDirections::Separate,
            hub: 0,
            list: Vec::new(),
            random_halves: 0,
            seed: 0,
        }
    }
}

/// Groups of members that share uplinks, such as racks or zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplinks {
    /// Name of the label, such as `rack`.
    pub label: String,
    /// Group of each member; `None` if the member has no such label: nothing limits it.
    pub groups: Vec<Option<usize>>,
    /// Capacity of each group's uplink: most flows that leave the group, and most flows that
    /// enter it, at the same time.
    pub flows: Vec<NonZeroUsize>,
}

impl Uplinks {
    /// Groups by the values of a label, each with the same capacity in flows.
    #[must_use]
    pub fn by_label(label: &str, values: &[Option<&str>], flows: NonZeroUsize) -> Self {
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let mut groups = Vec::new();
        for value in values {
            let next = known.len();
            groups.push(value.map(|value| *known.entry(value).or_insert(next)));
        }
        Self {
            label: label.to_owned(),
            groups,
            flows: vec![flows; known.len()],
        }
    }
}

/// Properties of members that limit the cells of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleMembers {
    /// Number of members.
    pub count: usize,
    /// Host of each member, by number: members of one host share its interface. Empty if each
    /// member has its own host.
    pub hosts: Vec<usize>,
    /// Members that cannot send, such as a netserver without an agent.
    pub receive_only: Vec<usize>,
    /// Uplinks with a limit, from the narrowest groups (racks) to the widest (zones).
    pub uplinks: Vec<Uplinks>,
}

impl ScheduleMembers {
    /// Members that can send, on their own hosts, without uplinks.
    #[must_use]
    pub fn of(count: usize) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }

    /// The host of a member.
    #[must_use]
    pub fn host(&self, member: usize) -> usize {
        self.hosts.get(member).copied().unwrap_or(member)
    }

    /// True if a cell is possible: two members, of which the first can send.
    #[must_use]
    pub fn can_send(&self, cell: Cell) -> bool {
        let inside = cell.from < self.count && cell.to < self.count;
        inside && cell.from != cell.to && !self.receive_only.contains(&cell.from)
    }
}
