//! The coordinator connects to its agents.

use std::collections::BTreeSet;

use super::question::{Question, QuestionTopic};
use super::{
    CampaignCoordinator, ClockPurpose, CoordinatorAction, CoordinatorPhase, LOOK_FOR_JOINED,
};
use crate::protocol::{HEARTBEAT, Order, VERSION};

impl CampaignCoordinator {
    /// Waits until there are so many members.
    pub(super) fn wait_for(&mut self, count: usize, within: u64, now: u64) {
        let until = now.saturating_add(within);
        self.phase = self.look_for_joined(count, (until, within), now);
    }

    /// Takes one more member, while it waits for one.
    pub(super) fn join(&mut self, address: &str, now: u64) {
        let CoordinatorPhase::Joining { count, .. } = self.phase else {
            return;
        };
        if self.members.len() < count {
            self.members.join(address, now);
            self.hurry(now);
        }
    }

    pub(super) fn look_for_joined(
        &mut self,
        count: usize,
        (until, within): (u64, u64),
        now: u64,
    ) -> CoordinatorPhase {
        let joined = self.members.len();
        let text = format!("{joined} of {count} agents have joined");
        self.act(CoordinatorAction::Say(text));
        if joined >= count {
            return CoordinatorPhase::Resting;
        }
        if now >= until {
            let seconds = within / 1_000_000_000;
            let why = format!("{joined} of {count} agents joined within {seconds} s");
            self.refusal = Some(why);
            return CoordinatorPhase::Resting;
        }
        if std::mem::take(&mut self.interrupted) {
            self.refusal = Some("interrupted".to_owned());
            return CoordinatorPhase::Resting;
        }
        self.next_tick = now.saturating_add(LOOK_FOR_JOINED);
        CoordinatorPhase::Joining {
            count,
            until,
            within,
        }
    }

    /// Connects to all agents that have not joined.
    pub(super) fn meet(&mut self, now: u64) {
        let wanted = self.members.unconnected();
        let indices = wanted.iter().map(|(index, _)| *index).collect();
        self.state(format!("connecting to {} agents", wanted.len()));
        self.act(CoordinatorAction::Dial(wanted));
        self.hurry(now);
        self.phase = CoordinatorPhase::Connecting(indices);
    }

    /// Greets all agents once they are connected.
    pub(super) fn connect(&mut self, wanted: BTreeSet<usize>, now: u64) -> CoordinatorPhase {
        if std::mem::take(&mut self.interrupted) {
            self.refusal = Some("interrupted".to_owned());
        }
        if self.refusal.is_some() {
            CoordinatorPhase::Resting
        } else if wanted.is_empty() {
            self.greet(now)
        } else {
            CoordinatorPhase::Connecting(wanted)
        }
    }

    pub(super) fn connected(&mut self, index: usize, now: u64) {
        self.members.connected(index, now);
        if let CoordinatorPhase::Connecting(wanted) = &mut self.phase {
            wanted.remove(&index);
        }
    }

    pub(super) fn not_connected(&mut self, index: usize, why: String) {
        if !matches!(self.phase, CoordinatorPhase::Connecting(_)) {
            return;
        }
        let name = self.members.name(index);
        // Many are called what they are reached by.
        let named = why.starts_with(&format!("{name}: "));
        let why = if named { why } else { format!("{name}: {why}") };
        self.refusal.get_or_insert(why);
    }

    /// Greets all agents.
    fn greet(&mut self, now: u64) -> CoordinatorPhase {
        let hello = Order::Hello {
            version: VERSION,
            campaign: self.facts.id.clone(),
            // After it, an agent stops its loads.
            silence: Some(self.silence() + HEARTBEAT),
        };
        let question = Question::new(QuestionTopic::Hello(hello), self.members.present());
        self.ask(question, now)
    }

    /// All have answered the greeting.
    pub(super) fn greeted(&mut self, now: u64) -> CoordinatorPhase {
        self.members.rename();
        self.state("reading the clocks of the agents".to_owned());
        self.begin_to_read_clocks(ClockPurpose::Before, now)
    }
}
