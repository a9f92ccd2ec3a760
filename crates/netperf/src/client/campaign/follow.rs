//! What a coordinator does while loads run.

use super::run::{CampaignRun, LOOK, Measured, Member, now};

/// Time for the results of the last round.
const RESULTS: u64 = 20_000_000_000;

impl CampaignRun<'_> {
    /// Follows the loads until all results are there.
    pub(super) fn follow(&mut self, rounds: usize) {
        let end = self.begin_of(rounds) + RESULTS;
        while self.is_open() {
            if self.beat() {
                self.show(rounds);
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

    /// True while a result is expected.
    pub(super) fn is_open(&self) -> bool {
        let open = |load: &Measured| {
            let sender = self.members.get(load.cell.from);
            load.result.is_none() && sender.is_some_and(Member::is_there)
        };
        self.loads.iter().any(open)
    }

    pub(super) fn show(&mut self, rounds: usize) {
        let round = self.loads.iter().filter(|one| one.result.is_none());
        let round = round.map(|one| one.round).min().unwrap_or(rounds);
        let left = self.begin_of(rounds).saturating_sub(now()) / 1_000_000_000;
        let lost = self.members.iter().filter(|one| one.lost.is_some()).count();
        let there = self.members.len() - lost;
        let lost = if lost == 0 {
            String::new()
        } else {
            format!(", {lost} lost")
        };
        let done = round.min(rounds);
        self.progress.say(&format!(
            "{there} members{lost}, {done} of {rounds} rounds done, about {left} s left"
        ));
    }
}
