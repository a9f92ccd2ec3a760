//! The coordinator while loads run.

use super::cells::CellResult;
use super::{AfterStop, CampaignCoordinator, CellTurn, CoordinatorAction, CoordinatorPhase};
use crate::matrix::Matrix;
use crate::outliers;
use crate::pattern::Cell;
use crate::progress::HostState;
use crate::protocol::{LoadResult, OPENING};

/// Second measurements of a cell that looks wrong: a disturbance of the host may meet one of them.
const AGAIN: usize = 3;
/// Time for the results of the last round: so many silences.
const RESULTS: u64 = 10;

impl CampaignCoordinator {
    /// Measures these rounds, if the agents were met.
    pub(super) fn measure(&mut self, rounds: Vec<Vec<Cell>>, now: u64) {
        let once = self.facts.plan.rounds_once(rounds.len());
        let probed = self.facts.plan.probe.then_some(once);
        self.cells.expect(&rounds, probed, false);
        // Of disjoint rounds, cells are measured again in others.
        if !self.facts.plan.has_disjoint_rounds() {
            self.rounds = rounds;
        }
        match self.unmet.take() {
            Some(why) => self.give_up(why),
            None => self.phase = self.agree(false),
        }
        self.hurry(now);
    }

    /// Follows the loads, whose begin is agreed.
    pub(super) fn begin_to_follow(&mut self, again: bool, now: u64) -> CoordinatorPhase {
        if !again {
            let (rounds, _) = self.cells.rounds();
            let noun = if rounds == 1 { "round" } else { "rounds" };
            let left =
                netperf_text::duration::of_seconds(self.end().saturating_sub(now) / 1_000_000_000);
            self.state(format!("measuring: {rounds} {noun}, about {left}"));
        }
        let end = self.end() + RESULTS * self.silence();
        self.go_on((end, again), now)
    }

    /// Follows the loads until all results are there.
    pub(super) fn follow(&mut self, (end, again): (u64, bool), now: u64) -> CoordinatorPhase {
        self.watch(now);
        if let Some(why) = self.reason_to_end() {
            return self.abort(&why, AfterStop::Rest, now);
        }
        self.exclude_lost();
        if now > end {
            return self.abort("results did not arrive in time", AfterStop::Rest, now);
        }
        self.go_on((end, again), now)
    }

    fn go_on(&mut self, (end, again): (u64, bool), now: u64) -> CoordinatorPhase {
        if self.cells.is_open() {
            if self.beat(now) {
                self.show(now);
                self.act(CoordinatorAction::Flush);
            }
            return CoordinatorPhase::Following { end, again };
        }
        if again || self.ended.is_some() {
            return CoordinatorPhase::Resting;
        }
        self.act(CoordinatorAction::MakeMatrices);
        CoordinatorPhase::Judging
    }

    /// Measures the cells that look like outliers again.
    pub(super) fn judge(&mut self, matrices: Result<Vec<Matrix>, String>, now: u64) {
        if !matches!(self.phase, CoordinatorPhase::Judging) {
            return;
        }
        self.hurry(now);
        self.phase = match matrices {
            Ok(matrices) => {
                self.suspects = outliers::suspects(&matrices);
                self.measure_again()
            }
            Err(why) => {
                self.broken = Some(why);
                CoordinatorPhase::Resting
            }
        };
    }

    fn measure_again(&mut self) -> CoordinatorPhase {
        let is_there =
            |cell: &Cell| !self.members.is_lost(cell.from) && !self.members.is_lost(cell.to);
        let mut cells = outliers::cells(&self.suspects);
        cells.retain(is_there);
        if !self.facts.plan.recheck || cells.is_empty() {
            return CoordinatorPhase::Resting;
        }
        let entries: Vec<_> = self.members.entries().cloned().collect();
        let rounds = self.facts.plan.rounds_again(&entries, &self.rounds, &cells);
        let Ok(mut rounds) = rounds else {
            return CoordinatorPhase::Resting;
        };
        for round in &mut rounds {
            round.retain(is_there);
        }
        let once = std::mem::take(&mut rounds);
        rounds = std::iter::repeat_n(once, AGAIN).flatten().collect();
        let count = cells.len();
        let cells = if count == 1 { "cell" } else { "cells" };
        self.state(format!("measuring {count} {cells} again that look wrong"));
        let probed = self.facts.plan.probe.then_some(rounds.len());
        self.cells.expect(&rounds, probed, true);
        self.agree(true)
    }

    /// Takes a result of an agent: that of one of the agent's loads.
    pub(super) fn result(&mut self, index: usize, result: &LoadResult) {
        let load = self.cells.load(result.id);
        let Some((load, _)) = load.filter(|(_, cell)| cell.from == index) else {
            return;
        };
        let due = self.begin_of(load.slot) + self.facts.plan.parts().warmup;
        let came = CellResult::of(result, due, || self.why_missing(index));
        self.take_result(index, result.id, came);
    }

    /// Takes what has come of a load. It waits while the begin is not agreed.
    pub(super) fn take_result(&mut self, index: usize, id: u32, came: CellResult) {
        if let Some(early) = &mut self.early {
            early.push((index, id, came));
        } else if let Some(number) = self.cells.take(id, came) {
            self.complete(number);
        }
    }

    /// Writes a cell of which everything has come, and shows it.
    fn complete(&mut self, number: usize) {
        let Some(run) = self.cells.cells.get(number) else {
            return;
        };
        let cell = self.cell(run);
        let again = run.again;
        if self.facts.cells_file.is_some() && self.broken.is_none() {
            if let Some(window) = cell.window {
                let cut = window.cut_error_seconds;
                self.cut = Some(self.cut.map_or(cut, |worst| worst.max(cut)));
            }
            if !again {
                let ends = (cell.from, cell.to);
                self.sums.add(cell.round, ends, cell.figures.work());
            }
            self.cells.written(number);
        }
        self.act(CoordinatorAction::Cell(Box::new(cell), CellTurn::of(again)));
    }

    /// Ends the loads of a member that is lost.
    pub(super) fn close_loads(&mut self, index: usize) {
        for id in self.cells.open_of(index) {
            let came = CellResult::without(self.why_missing(index));
            self.take_result(index, id, came);
        }
    }

    fn show(&mut self, now: u64) {
        let since = (now + OPENING).saturating_sub(self.cells.stage.begin);
        let running = HostState::running(since, self.period(), self.facts.plan.parts());
        let (rounds, done) = self.cells.rounds();
        let left = self.end().saturating_sub(now) / 1_000_000_000;
        let states = self.members.states(running);
        self.act(CoordinatorAction::Hosts(states, (done, rounds), left));
    }
}
