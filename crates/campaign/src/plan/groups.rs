//! Several tests at once, each between groups of members.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{BadCampaignPlan, bad, words_of};
use crate::inventory::InventoryMember;
use crate::pattern::Cell;

/// A test between two groups (`[[groups]]` of the plan).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanGroup {
    /// The test, such as `TCP_STREAM`.
    pub test: String,
    /// Further words of its command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The senders: names, or labels such as `rack=r1`.
    pub from: Vec<String>,
    /// The receivers.
    pub to: Vec<String>,
}

/// The words of the load of each cell.
#[derive(Clone, Debug, Default)]
pub struct CellWords {
    groups: Vec<GroupCells>,
    /// Of a plan with one test.
    only: Vec<String>,
}

/// Senders and receivers of a group.
#[derive(Clone, Debug)]
struct GroupCells {
    from: BTreeSet<usize>,
    to: BTreeSet<usize>,
    words: Vec<String>,
}

impl CellWords {
    /// The same words for all cells.
    pub(super) const fn of_all(only: Vec<String>) -> Self {
        Self {
            groups: Vec::new(),
            only,
        }
    }

    /// Those of groups of these members.
    ///
    /// # Errors
    /// When a group is empty, or a cell is in two of them.
    pub(super) fn of_groups(
        groups: &[PlanGroup],
        members: &[InventoryMember],
    ) -> Result<Self, BadCampaignPlan> {
        let group = |one: &PlanGroup| {
            Ok(GroupCells {
                from: chosen(&one.from, members)?,
                to: chosen(&one.to, members)?,
                words: words_of(&one.test, &one.options),
            })
        };
        let groups: Result<Vec<GroupCells>, BadCampaignPlan> = groups.iter().map(group).collect();
        let groups = groups?;
        let mut seen = BTreeSet::new();
        for cell in groups.iter().flat_map(GroupCells::cells) {
            if !seen.insert(cell) {
                let name = |index: usize| members.get(index).map_or("", |one| &one.name);
                return bad(format!(
                    "{} -> {} is in two groups: a pair has one test in each direction",
                    name(cell.from),
                    name(cell.to)
                ));
            }
        }
        Ok(Self {
            groups,
            only: Vec::new(),
        })
    }

    /// All cells of groups, which run at the same time.
    pub(super) fn cells(&self) -> Vec<Cell> {
        self.groups.iter().flat_map(GroupCells::cells).collect()
    }

    /// The words of a cell.
    #[must_use]
    pub fn of(&self, cell: Cell) -> &[String] {
        let mut groups = self.groups.iter();
        let group = groups.find(|one| one.from.contains(&cell.from) && one.to.contains(&cell.to));
        group.map_or(&self.only, |one| &one.words)
    }
}

impl GroupCells {
    fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        let of = |from: usize| self.to.iter().map(move |to| Cell { from, to: *to });
        let all = self.from.iter().flat_map(move |from| of(*from));
        all.filter(|cell| cell.from != cell.to)
    }
}

/// The members with one of these names or labels.
fn chosen(
    words: &[String],
    members: &[InventoryMember],
) -> Result<BTreeSet<usize>, BadCampaignPlan> {
    let mut all = BTreeSet::new();
    for word in words {
        let has = |one: &InventoryMember| match word.split_once('=') {
            Some((label, value)) => one.labels.get(label).is_some_and(|own| own == value),
            None => one.name == *word,
        };
        let found = members.iter().enumerate().filter(|(_, one)| has(one));
        let found: Vec<usize> = found.map(|(index, _)| index).collect();
        if found.is_empty() {
            return bad(format!("{word} is no name and no label of the inventory"));
        }
        all.extend(found);
    }
    Ok(all)
}
