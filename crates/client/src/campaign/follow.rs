//! What a coordinator does while loads run.

use netperf_campaign::outcome::cells_head;
use netperf_campaign::outliers::{self, Suspect};
use netperf_campaign::pattern::Cell;
use netperf_campaign::progress::{self, HostState};
use netperf_campaign::protocol::{LoadResult, OPENING};

use super::cells::CellResult;
use super::run::{CampaignRun, LOOK, Member, now};

/// Second measurements of a cell that looks wrong: a disturbance of the host may meet one of them.
const AGAIN: usize = 3;
/// Time for the results of the last round: so many silences.
const RESULTS: u64 = 10;

impl CampaignRun<'_> {
    /// States what is to be measured.
    pub(super) fn expect(&mut self, rounds: Vec<Vec<Cell>>) {
        let once = self.plan.rounds_once(rounds.len());
        self.cells
            .expect(&rounds, self.plan.probe.then_some(once), false);
        // Of disjoint rounds, cells are measured again in others.
        if !self.plan.has_disjoint_rounds() {
            self.rounds = rounds;
        }
    }

    /// Measures all rounds, and then what looks wrong three times more.
    ///
    /// # Errors
    /// One line, when nothing was measured.
    pub(super) fn measure(&mut self) -> Result<(), String> {
        self.agree()?;
        let (rounds, _) = self.cells.rounds();
        let noun = if rounds == 1 { "round" } else { "rounds" };
        let left = progress::duration(self.end().saturating_sub(now()) / 1_000_000_000);
        self.progress
            .state(&format!("measuring: {rounds} {noun}, about {left}"));
        self.follow();
        if self.ended.is_none() {
            self.measure_again();
        }
        Ok(())
    }

    /// Writes the head of the file of the cells, and gives the screen its title.
    pub(super) fn begin_cells(&mut self) {
        let members = self.members.iter().map(|one| &one.entry);
        let members = netperf_campaign::outcome::matrix_members(members, self.plan);
        if let Some(live) = &mut self.progress.live {
            let (pattern, test) = (self.plan.pattern_name(), &self.plan.test);
            let count = members.len();
            live.title = format!("Campaign {}: {pattern} of {count} members, {test}", self.id);
            live.members.clone_from(&members);
        }
        let Some(sink) = &mut self.sink else { return };
        let head = || cells_head((&self.id, self.started_unix), self.plan, members);
        if let Err(why) = sink.begin(head) {
            self.broken = Some(why);
        }
    }

    /// Measures the cells that look like outliers again.
    fn measure_again(&mut self) {
        let suspects = match self.matrices() {
            Ok(matrices) => outliers::suspects(&matrices),
            Err(why) => return self.broken = Some(why),
        };
        self.suspects = suspects;
        let is_there = |cell: &Cell| {
            let lost = |member: usize| {
                self.members
                    .get(member)
                    .is_none_or(|one| one.lost.is_some())
            };
            !lost(cell.from) && !lost(cell.to)
        };
        let mut cells = outliers::cells(&self.suspects);
        cells.retain(is_there);
        if !self.plan.recheck || cells.is_empty() {
            return;
        }
        let entries: Vec<_> = self.members.iter().map(|one| one.entry.clone()).collect();
        let rounds = self.plan.rounds_again(&entries, &self.rounds, &cells);
        let Ok(mut rounds) = rounds else { return };
        for round in &mut rounds {
            round.retain(is_there);
        }
        let once = std::mem::take(&mut rounds);
        rounds = std::iter::repeat_n(once, AGAIN).flatten().collect();
        let count = cells.len();
        let cells = if count == 1 { "cell" } else { "cells" };
        self.progress
            .state(&format!("measuring {count} {cells} again that look wrong"));
        let probed = self.plan.probe.then_some(rounds.len());
        self.cells.expect(&rounds, probed, true);
        match self.agree() {
            Ok(()) => self.follow(),
            Err(why) => self.progress.line(&format!("not measured again: {why}")),
        }
    }

    /// What looks wrong.
    pub(super) fn suspects(&self) -> &[Suspect] {
        &self.suspects
    }

    /// Follows the loads until all results are there.
    fn follow(&mut self) {
        let end = self.end() + RESULTS * self.silence;
        while self.cells.is_open() {
            if self.beat() {
                self.show();
                let flushed = self
                    .sink
                    .as_mut()
                    .map_or(Ok(()), super::sink::CellFile::flush);
                self.broken = self.broken.take().or(flushed.err());
            }
            for (index, reply) in self.replies(LOOK) {
                self.take(index, reply);
            }
            self.find_silent();
            let interrupted = self.signals.next();
            if let Some(why) = self.reason_to_end(interrupted) {
                return self.abort(&why);
            }
            self.exclude_lost();
            if now() > end {
                return self.abort("results did not arrive in time");
            }
        }
    }

    /// Takes a result of an agent: that of one of its own loads.
    pub(super) fn result(&mut self, index: usize, result: &LoadResult) {
        let load = self.cells.load(result.id);
        let Some((load, _)) = load.filter(|(_, cell)| cell.from == index) else {
            return;
        };
        let due = self.begin_of(load.slot) + self.plan.parts().warmup;
        let came = CellResult::of(result, due, || self.why_missing(index));
        self.take_result(index, result.id, came);
    }

    /// Takes what has come of a load. It waits while the begin is not agreed.
    pub(super) fn take_result(&mut self, index: usize, id: u32, came: CellResult) {
        if !self.agreed {
            self.early.push((index, id, came));
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
        if !again {
            self.progress.cell(cell.cell(), &cell.figures);
        }
        let Some(sink) = &mut self.sink else { return };
        match sink.write(&cell, again) {
            Ok(()) => {
                if let Some(run) = self.cells.cells.get_mut(number) {
                    run.written = true;
                    // Those that are measured again are few, and the document has them.
                    run.came = run.came.take().filter(|_| again);
                }
                if let Some(window) = cell.window {
                    let cut = window.cut_error_seconds;
                    self.cut = Some(self.cut.map_or(cut, |worst| worst.max(cut)));
                }
            }
            Err(why) => self.broken = Some(why),
        }
    }

    /// Ends the loads of a member that is lost.
    pub(super) fn close_loads(&mut self, index: usize) {
        for id in self.cells.open_of(index) {
            let came = CellResult::without(self.why_missing(index));
            self.take_result(index, id, came);
        }
    }

    /// The states of all hosts.
    fn states(&self) -> Vec<HostState> {
        let stage = self.cells.stage;
        let since = (now() + OPENING).saturating_sub(stage.begin);
        let running = HostState::running(since, self.period(), self.plan.parts());
        let state = |member: &Member| match (&member.lost, member.running) {
            (Some(_), _) => HostState::Lost,
            (None, _) if !member.entry.agent => HostState::Target,
            (None, 0) => HostState::Idle,
            (None, _) => running,
        };
        self.members.iter().map(state).collect()
    }

    fn show(&mut self) {
        let (rounds, done) = self.cells.rounds();
        let left = self.end().saturating_sub(now()) / 1_000_000_000;
        let states = self.states();
        self.progress.hosts(&states, (done, rounds), left);
    }
}
