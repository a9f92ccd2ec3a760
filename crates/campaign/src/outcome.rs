//! The result of a campaign: one document, and its text.

mod figures;
mod sums;
mod sums_text;
mod text;

use netperf_web::JsonWeight;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::inventory::InventoryMember;
use crate::matrix::{
    CELLS_SCHEMA, CellOutcome, CellRecord, CellsHead, Matrix, MatrixMember, NO_VALUE, RACK,
};
use crate::outliers::{self, CampaignOutlier, Suspect};
use crate::pattern::Cell;
use crate::plan::CampaignPlan;
use crate::protocol::MOST_MEMBERS;

pub use figures::{CellFigure, CellFigures, FIGURES};
pub use sums::{CellWork, MemberSum, RoundSum, RoundSums};

/// Most memory of the values of a document, bytes.
const HEAVIEST: u64 = 1 << 30;

/// Name of the format.
pub const FORMAT: &str = "netperf-campaign-1";

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignDocument {
    /// [`FORMAT`].
    pub format: String,
    /// Identifier.
    pub campaign: String,
    /// Begin of the first load by the coordinator's system clock, seconds since 1970.
    pub started_unix_seconds: f64,
    /// The plan.
    pub plan: CampaignPlan,
    /// True if every member took part to the end and every cell was measured.
    pub complete: bool,
    /// Why the campaign ended before its end; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The members, in the order of the inventory.
    pub members: Vec<CampaignMember>,
    /// Largest error of the begin and end of a window, seconds; null without any window.
    pub cut_error_seconds: Option<f64>,
    /// Number of cells, of all rounds.
    #[serde(default)]
    pub cells_planned: usize,
    /// Number of those that were measured.
    #[serde(default)]
    pub cells_measured: usize,
    /// The cells, in the order of their loads; empty if a file has them.
    pub cells: Vec<CampaignCell>,
    /// The file of the cells (`--cells`); absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells_file: Option<String>,
    /// Sums of rounds of several cells, or with CPU utilisation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<RoundSum>,
    /// Cells that were measured again, since they looked like outliers.
    #[serde(default)]
    pub cells_again: Vec<CampaignCell>,
    /// Outliers by median polish, also those that the second measurement does not show.
    #[serde(default)]
    pub outliers: Vec<CampaignOutlier>,
}

/// A member and its clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignMember {
    /// The entry of the inventory.
    #[serde(flatten)]
    pub member: InventoryMember,
    /// Version of its program; null for a stock netserver.
    pub version: Option<String>,
    /// Number of its processors; null where unknown.
    pub cpus: Option<u32>,
    /// Its clock; null for a stock netserver, whose windows are not cut.
    pub clock: Option<MemberClock>,
    /// Why it was lost, and when; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostMember>,
}

/// The clock of a member against that of the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberClock {
    /// Method: `inband`.
    pub method: ClockMethod,
    /// Its `CLOCK_MONOTONIC` minus that of the coordinator before the load, seconds.
    pub offset_seconds: f64,
    /// Largest error of the offset, seconds.
    pub bound_seconds: f64,
    /// The same after the load; null if the member was lost.
    pub bound_after_seconds: Option<f64>,
    /// Shortest time from question to answer, seconds.
    pub round_trip_seconds: f64,
    /// Speed beyond that of the coordinator's clock, parts per million; null where the bounds leave
    /// it open.
    pub drift_ppm: Option<f64>,
    /// Largest step of its system clock during the campaign, seconds.
    pub wall_clock_stepped_seconds: f64,
}

impl MemberClock {
    /// Uncertainty for windows of this length, in seconds.
    #[must_use]
    pub fn doubts(&self, window: f64) -> Vec<String> {
        let bound = self.bound_after_seconds.unwrap_or_default();
        let bound = clock::doubt(bound.max(self.bound_seconds), window);
        let step = clock::step(self.wall_clock_stepped_seconds);
        bound.into_iter().chain(step).collect()
    }
}

/// Source of clock offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockMethod {
    /// By questions over the control connection.
    Inband,
}

/// A member that was lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostMember {
    /// Why.
    pub reason: String,
    /// Time since the begin of the first load, seconds; negative before it, null if no begin was
    /// agreed.
    pub at_seconds: Option<f64>,
}

/// One sender, one receiver, one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignCell {
    /// Index of the sender.
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// Round, from 0.
    pub round: usize,
    /// The window; null if nothing was measured.
    pub window: Option<CellWindow>,
    /// Measured values; null for those that this test does not have.
    #[serde(rename = "metrics")]
    pub figures: CellFigures,
    /// Why nothing was measured; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Warnings of the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The part of a load that counted, on the coordinator's time line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellWindow {
    /// Begin after the begin of the first load, seconds.
    pub begin_seconds: f64,
    /// Distance from the agreed begin, seconds.
    pub late_seconds: f64,
    /// Length, seconds.
    pub seconds: f64,
    /// Largest error of begin and end, seconds.
    pub cut_error_seconds: f64,
}

impl CampaignDocument {
    /// Reads a document.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(text: &str) -> Result<Self, String> {
        if JsonWeight::of(text.as_bytes()) > HEAVIEST {
            return Err(format!(
                "its values take more than {} GiB of memory",
                HEAVIEST >> 30
            ));
        }
        let document: Self = serde_json::from_str(text)
            .map_err(|error| format!("this is not a result of netperf campaign run: {error}; give the file that run --output wrote"))?;
        if document.format != FORMAT {
            return Err(format!("the format is {}, not {FORMAT}", document.format));
        }
        let members = document.members.len();
        if members > MOST_MEMBERS {
            return Err(format!(
                "{members} members are too many: at most {MOST_MEMBERS}"
            ));
        }
        Ok(document)
    }

    /// Matrices of the figures that the cells of the document have, the main one first, with the
    /// median of all rounds in each cell.
    #[must_use]
    pub fn matrices(&self) -> Vec<Matrix> {
        let has_several = !self.plan.groups.is_empty();
        matrices(self.matrix_members(), &self.cells, has_several)
    }

    /// The members as matrices name them.
    #[must_use]
    pub fn matrix_members(&self) -> Vec<MatrixMember> {
        let members = self.members.iter().map(|one| &one.member);
        matrix_members(members, &self.plan)
    }

    /// Suspected faults, judged by the cells that were measured again.
    #[must_use]
    pub fn judged(&self, matrices: &[Matrix], suspects: &[Suspect]) -> Vec<CampaignOutlier> {
        let again = self.cells_again.iter().filter(|one| one.missing.is_none());
        let again: Vec<(Cell, CellFigures)> = again.map(|one| (one.cell(), one.figures)).collect();
        outliers::judged(matrices, suspects, &again)
    }

    /// The members that were lost.
    #[must_use]
    pub fn lost_members(&self) -> Vec<String> {
        let lost = self.members.iter().filter(|one| one.lost.is_some());
        lost.map(|one| one.member.name.clone()).collect()
    }

    /// Uncertainty of members' clocks, each with its name.
    #[must_use]
    pub fn clock_doubts(&self) -> Vec<String> {
        let of = |one: &CampaignMember| {
            let doubts = one.clock.map(|clock| clock.doubts(self.plan.window));
            let doubts = doubts.unwrap_or_default().into_iter();
            let named = doubts.map(|doubt| format!("{}: {doubt}", one.member.name));
            named.collect::<Vec<_>>()
        };
        self.members.iter().flat_map(of).collect()
    }

    /// The head of a file of the cells.
    #[must_use]
    pub fn head(&self) -> CellsHead {
        cells_head(
            (&self.campaign, self.started_unix_seconds),
            &self.plan,
            self.matrix_members(),
        )
    }
}

/// Members as matrices name them, with the rack of the plan's label.
pub fn matrix_members<'m>(
    members: impl Iterator<Item = &'m InventoryMember>,
    plan: &CampaignPlan,
) -> Vec<MatrixMember> {
    let member = |one: &InventoryMember| {
        let mut labels = one.labels.clone();
        if let Some(rack) = one.labels.get(&plan.rack_label) {
            labels.insert(RACK.to_owned(), rack.clone());
        }
        MatrixMember {
            name: one.name.clone(),
            labels,
        }
    };
    members.map(member).collect()
}

/// The matrices of cells: of those figures that have values. Of several tests, not each has each
/// figure.
fn matrices(members: Vec<MatrixMember>, cells: &[CampaignCell], has_several: bool) -> Vec<Matrix> {
    let mut found = Vec::new();
    for figure in &FIGURES {
        let mut matrix = Matrix::new(figure.of_matrix(), members.clone());
        for one in cells {
            let value = (figure.value)(&one.figures);
            if has_several && value.is_none() && one.missing.is_none() {
                continue;
            }
            matrix.join(
                one.cell(),
                value.ok_or(one.missing.as_deref().unwrap_or(NO_VALUE)),
            );
        }
        if matrix.has_values() {
            found.push(matrix);
        }
    }
    found
}

/// The head of a file of cells.
#[must_use]
pub fn cells_head(
    (campaign, started_unix_seconds): (&str, f64),
    plan: &CampaignPlan,
    members: Vec<MatrixMember>,
) -> CellsHead {
    CellsHead {
        schema: CELLS_SCHEMA.to_owned(),
        campaign: campaign.to_owned(),
        title: format!(
            "{} of {} members, {}",
            plan.pattern_name(),
            members.len(),
            plan.test
        ),
        started_unix_seconds,
        members,
        figures: FIGURES.iter().map(CellFigure::of_matrix).collect(),
        plan: Some(plan.clone()),
    }
}

impl CampaignCell {
    /// Sender and receiver.
    #[must_use]
    pub const fn cell(&self) -> Cell {
        Cell {
            from: self.from,
            to: self.to,
        }
    }

    /// It as a line of a file of cells.
    #[must_use]
    pub fn record(&self, again: bool) -> CellRecord {
        let values = || FIGURES.iter().map(|one| (one.value)(&self.figures));
        CellRecord {
            cell: self.cell(),
            round: self.round,
            again,
            window: self.window,
            outcome: match &self.missing {
                Some(why) => CellOutcome::Missing(why.clone()),
                None => CellOutcome::Values(values().collect()),
            },
        }
    }
}
