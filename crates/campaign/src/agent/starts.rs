//! The begins of an agent's loads, and the loads that a lost member ends.

use super::{AgentAction, LOST, LineId, LoadState, Part, admission, failed, quota, refused};
use crate::protocol::{OPENING, Reply, Start};

impl Part {
    /// True if the target of the load is lost.
    pub(super) fn lacks_target(&self, id: u32) -> bool {
        let loads = self.preparation.iter().flat_map(|one| &one.loads);
        let mut found = loads.filter(|load| load.id == id);
        found.any(|load| self.without.contains(&load.to))
    }

    /// Ends the loads to these members, and serves them no more.
    pub(super) fn go_on_without(&mut self, line: LineId, members: &[usize]) -> Vec<AgentAction> {
        let Some(preparation) = &self.preparation else {
            return Vec::new();
        };
        self.without.extend(members);
        let mut actions = vec![admission(preparation, &self.without)];
        for load in &preparation.loads {
            if !self.without.contains(&load.to) {
                continue;
            }
            match self.loads.get_mut(&load.id) {
                Some(LoadState::Running(_)) => actions.push(AgentAction::Kill(load.id)),
                Some(state @ (LoadState::Prepared | LoadState::Committed(_))) => {
                    *state = LoadState::Over;
                    let result = failed(load.id, LOST);
                    let sent = Reply::Result(Box::new(result.clone()));
                    actions.push(AgentAction::Reply(line, sent));
                    self.results.insert(result);
                }
                Some(LoadState::Over) | None => {}
            }
        }
        actions
    }

    /// Loads whose begin is agreed.
    fn committed(&self) -> impl Iterator<Item = Start> + '_ {
        self.loads.iter().filter_map(|(id, state)| match state {
            LoadState::Committed(at) => Some(Start { id: *id, at: *at }),
            LoadState::Prepared | LoadState::Running(_) | LoadState::Over => None,
        })
    }

    pub(super) fn commit(
        &mut self,
        line: LineId,
        starts: &[Start],
        (now, at_once): (u64, usize),
    ) -> Vec<AgentAction> {
        let unknown = starts
            .iter()
            .find(|start| self.loads.get(&start.id) != Some(&LoadState::Prepared));
        if let Some(start) = unknown {
            return refused(line, format!("load {} is not prepared", start.id));
        }
        let all: Vec<Start> = self.committed().chain(starts.iter().copied()).collect();
        let most = self.preparation.as_ref();
        let most = most.map_or(0, |preparation| quota::at_once(preparation, &all));
        if most > at_once {
            let way_out = "measure with the pattern pairs, or with fewer members";
            let reason = format!("{most} loads at the same time, more than {at_once}: {way_out}");
            return refused(line, reason);
        }
        let first = starts.iter().map(|start| start.at).min();
        let first = first.unwrap_or(u64::MAX);
        let earliest = now.saturating_add(OPENING);
        if let Some(by) = earliest.checked_sub(first).filter(|by| *by > 0) {
            return vec![AgentAction::Reply(line, Reply::Late { by })];
        }
        for start in starts {
            self.loads.insert(start.id, LoadState::Committed(start.at));
        }
        let margin = first - now;
        vec![AgentAction::Reply(line, Reply::Committed { margin })]
    }
}
