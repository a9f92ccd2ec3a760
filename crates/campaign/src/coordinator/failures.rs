//! The coordinator after the loss of a member, and at an early end.

use std::time::Duration;

use super::{AfterStop, CampaignCoordinator, ClockPurpose, CoordinatorAction, CoordinatorPhase};
use crate::plan::OnFailure;
use crate::protocol::Order;

/// Longest time for agents to close their connections, nanoseconds.
const PARTING: u64 = 10_000_000_000;
/// Time for agents to stop, beyond the silence of one, nanoseconds.
const STOPPING: u64 = 1_000_000_000;

impl CampaignCoordinator {
    /// Goes on without a member, whose connection ends.
    pub(super) fn lose(&mut self, index: usize, why: String, now: u64) {
        self.hurry(now);
        if self.members.disconnect(index) {
            self.act(CoordinatorAction::Reset(index));
        }
        // The agents are let go: the end of a connection is no loss.
        if matches!(self.phase, CoordinatorPhase::Parting(_)) {
            return;
        }
        let line = format!("{} is lost: {why}", self.members.name(index));
        if self.members.lose(index, why, now) {
            // Before the first load the campaign ends, and its error names the member.
            if self.begin > 0 {
                self.line(line);
            }
            self.close_loads(index);
        }
    }

    /// A member has given no sign of life, and nothing of it waits to be read.
    pub(super) fn silent(&mut self, index: usize, now: u64) {
        let limit = self.members.silence_limit(self.silence());
        let seconds = Duration::from_nanos(limit).as_secs_f64();
        self.lose(index, format!("it is silent for {seconds} s"), now);
    }

    /// Ends the loads of the others to members that were lost.
    pub(super) fn exclude_lost(&mut self) {
        let Some(members) = self.members.newly_lost() else {
            return;
        };
        for index in self.members.present() {
            let members = members.clone();
            self.tell(index, Order::Without { members });
        }
    }

    /// Reads the clocks once more and lets the agents go.
    pub(super) fn finish(&mut self, now: u64) {
        self.hurry(now);
        self.phase = self.begin_to_read_clocks(ClockPurpose::After, now);
    }

    /// Lets all agents go, and waits until they have closed their connections: the end of this
    /// process would cut off orders that they have not read.
    pub(super) fn begin_to_part(&mut self, now: u64) -> CoordinatorPhase {
        for index in self.members.present() {
            self.tell(index, Order::Bye);
        }
        self.hurry(now);
        CoordinatorPhase::Parting(None)
    }

    pub(super) fn part(&self, until: Option<u64>, now: u64) -> CoordinatorPhase {
        let until = until.unwrap_or(now + self.silence().min(PARTING));
        if now < until && !self.members.present().is_empty() {
            CoordinatorPhase::Parting(Some(until))
        } else {
            CoordinatorPhase::Resting
        }
    }

    /// Gives the campaign up before its first load. Where the command line, the plan or a host is
    /// wrong, no document is to be written.
    pub(super) fn give_up(&mut self, why: String) {
        if self.members.first_loss().is_none() && self.ended.is_none() {
            self.refusal = Some(why);
            return;
        }
        self.line(format!("ending: {why}"));
        self.ended = Some(why);
    }

    /// Why the campaign ends now, if it does.
    pub(super) fn reason_to_end(&mut self) -> Option<String> {
        if std::mem::take(&mut self.interrupted) {
            return Some("interrupted".to_owned());
        }
        if self.broken.is_some() || !self.members.has_losses() {
            return self.broken.clone();
        }
        let name = &self.members.first_lost()?.entry.name;
        if self.facts.plan.on_failure() == OnFailure::Abort {
            return Some(format!("{name} is lost"));
        }
        let (left, least) = (self.members.left(), self.facts.plan.min_members);
        (left < least).then(|| {
            let members = if left == 1 {
                "member is"
            } else {
                "members are"
            };
            format!("{left} {members} left, fewer than {least}")
        })
    }

    /// Ends all load.
    pub(super) fn abort(&mut self, why: &str, then: AfterStop, now: u64) -> CoordinatorPhase {
        self.line(format!("ending: {why}"));
        self.ended = Some(why.to_owned());
        let waiting = self.members.present();
        for index in waiting.clone() {
            self.tell(index, Order::Abort);
        }
        self.hurry(now);
        CoordinatorPhase::Stopping {
            waiting,
            until: None,
            then,
        }
    }

    /// Waits until nothing runs.
    pub(super) fn stop(
        &mut self,
        mut waiting: Vec<usize>,
        until: Option<u64>,
        then: AfterStop,
        now: u64,
    ) -> CoordinatorPhase {
        self.watch(now);
        let until = until.unwrap_or(now + self.silence() + STOPPING);
        waiting.retain(|one| self.members.is_there(*one));
        if !waiting.is_empty() && now < until {
            self.beat(now);
            return CoordinatorPhase::Stopping {
                waiting,
                until: Some(until),
                then,
            };
        }
        match then {
            AfterStop::Rest => CoordinatorPhase::Resting,
            AfterStop::Retry(attempt, late) => self.retry(attempt, late),
        }
    }
}
