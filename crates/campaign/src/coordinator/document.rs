//! The result of a campaign.

use super::cells::CellRun;
use super::member::{MemberRun, difference};
use super::{CampaignCoordinator, CellTurn};
use crate::inventory::InventoryMember;
use crate::matrix::CellsHead;
use crate::outcome::{
    CampaignCell, CampaignDocument, CampaignMember, CellWindow, FORMAT, cells_head, matrix_members,
};
use crate::outliers::Suspect;
use crate::pattern::Cell;

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

impl CampaignCoordinator {
    /// Members with what the greeting and the clocks said.
    #[must_use]
    pub fn members(&self) -> Vec<CampaignMember> {
        self.members.document(self.begin)
    }

    /// The members as an inventory has them.
    pub fn entries(&self) -> impl Iterator<Item = &InventoryMember> {
        self.members.entries()
    }

    /// Suspected faults.
    #[must_use]
    pub fn suspects(&self) -> &[Suspect] {
        &self.suspects
    }

    /// Why the file of the cells cannot be written.
    #[must_use]
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// The head of the file of the cells.
    #[must_use]
    pub fn head(&self) -> CellsHead {
        let members = matrix_members(self.members.entries(), &self.facts.plan);
        let facts = (self.facts.id.as_str(), self.facts.started_unix);
        cells_head(facts, &self.facts.plan, members)
    }

    /// The cells that the file has not.
    pub fn unwritten(&self) -> impl Iterator<Item = (CampaignCell, CellTurn)> + '_ {
        let left = self.cells.cells.iter().filter(|run| !run.written);
        left.map(|run| (self.cell(run), CellTurn::of(run.again)))
    }

    /// The document, without outliers.
    #[must_use]
    pub fn document(&self) -> CampaignDocument {
        let of = |again: bool| {
            let cells = self
                .cells
                .cells
                .iter()
                .filter(move |run| run.again == again);
            cells.map(|run| self.cell(run))
        };
        let cells: Vec<CampaignCell> = if self.facts.cells_file.is_some() {
            Vec::new()
        } else {
            of(false).collect()
        };
        let errors = cells.iter().filter_map(|cell| cell.window);
        let worst = errors.map(|window| window.cut_error_seconds);
        let worst = worst.chain(self.cut).reduce(f64::max);
        let planned = self.cells.cells.iter().filter(|run| !run.again);
        let (mut cells_planned, mut cells_measured) = (0, 0);
        for run in planned {
            cells_planned += 1;
            cells_measured += usize::from(run.measured);
        }
        let complete =
            self.ended.is_none() && !self.members.has_losses() && cells_measured == cells_planned;
        let mut sums = self.sums.clone();
        for cell in &cells {
            sums.add(cell.round, (cell.from, cell.to), cell.figures.work());
        }
        let members = self.members();
        let cpus: Vec<Option<u32>> = members.iter().map(|member| member.cpus).collect();
        CampaignDocument {
            format: FORMAT.to_owned(),
            campaign: self.facts.id.clone(),
            started_unix_seconds: self.facts.started_unix,
            plan: self.facts.plan.clone(),
            complete,
            ended: self.ended.clone(),
            cut_error_seconds: worst,
            cells_planned,
            cells_measured,
            sums: sums.of(&cpus),
            members,
            cells,
            cells_file: self.facts.cells_file.clone(),
            cells_again: of(true).collect(),
            outliers: Vec::new(),
        }
    }

    pub(super) fn cell(&self, run: &CellRun) -> CampaignCell {
        let Cell { from, to } = run.cell();
        let came = run.came.as_deref();
        let window = came.and_then(|came| {
            let (begin, seconds) = came.window?;
            let course = self.members.get(from).and_then(MemberRun::course);
            let (here, error) = course?.here(begin);
            Some(CellWindow {
                begin_seconds: (here - difference(self.begin, 0)) / SECOND,
                late_seconds: (here - difference(came.due, 0)) / SECOND,
                seconds,
                cut_error_seconds: error / SECOND,
            })
        });
        let missing = came.and_then(|came| came.missing.clone());
        let missing = missing.or_else(|| (!run.measured).then(|| self.why_missing(from)));
        CampaignCell {
            from,
            to,
            round: run.round as usize,
            window,
            figures: came.map(|came| came.figures).unwrap_or_default(),
            missing,
            warnings: came.map(|came| came.warnings.clone()).unwrap_or_default(),
        }
    }

    pub(super) fn why_missing(&self, from: usize) -> String {
        let member = self.members.get(from);
        match member.and_then(|member| member.lost.as_ref()) {
            Some((why, _)) => format!("{} is lost: {why}", self.members.name(from)),
            None => "the campaign ended before".to_owned(),
        }
    }
}
