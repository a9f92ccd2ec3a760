//! Signs of life of agents, as a coordinator sees them.

/// Members whose orders and replies need no more time, even on one host.
const MANY: usize = 100;
/// Part of the silence limit for each further member, nanoseconds.
const PER_MEMBER: u64 = 6_000_000;

/// Last message of an agent to a coordinator, and the time since when it waits for a reply;
/// nanoseconds of that agent's clock.
#[derive(Clone, Copy, Debug)]
pub struct AgentSigns {
    heard: u64,
    waits: Option<u64>,
}

impl AgentSigns {
    /// An agent that has just connected.
    #[must_use]
    pub const fn new(now: u64) -> Self {
        Self {
            heard: now,
            waits: None,
        }
    }

    /// It was sent an order that has a reply.
    pub fn asked(&mut self, now: u64) {
        self.waits.get_or_insert(now);
    }

    /// It was heard.
    pub const fn heard(&mut self, now: u64) {
        self.heard = now;
        self.waits = None;
    }

    /// Returns true if it counts as lost: it was not heard for this time, most of which it had for
    /// a reply. A coordinator that itself stood still waits again.
    #[must_use]
    pub fn is_silent(&self, now: u64, limit: u64) -> bool {
        let waited = |since: u64| now.saturating_sub(since) > limit - limit / 4;
        now.saturating_sub(self.heard) > limit && self.waits.is_some_and(waited)
    }
}

/// Silence after which an agent is lost, nanoseconds: longer than that of the plan with many
/// members, whose orders and replies take turns.
#[must_use]
pub const fn silence_limit(planned: u64, members: usize) -> u64 {
    planned + PER_MEMBER * members.saturating_sub(MANY) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::HEARTBEAT;

    /// Limit of a few members.
    const LIMIT: u64 = silence_limit(2_000_000_000, 2);

    #[test]
    fn a_member_without_replies_is_lost_after_two_seconds() {
        let mut signs = AgentSigns::new(0);
        signs.asked(0);
        signs.heard(1_000);
        // The heartbeats that it does not answer.
        for beat in 1..4 {
            signs.asked(beat * HEARTBEAT);
            assert!(!signs.is_silent(beat * HEARTBEAT, LIMIT));
        }
        assert!(!signs.is_silent(LIMIT, LIMIT));
        let noticed = LIMIT + 100_000_000;
        assert!(signs.is_silent(noticed, LIMIT));
        // Five hundred agents take turns.
        let many = silence_limit(2_000_000_000, 500);
        assert!(!signs.is_silent(noticed, many));
        assert!(signs.is_silent(many + HEARTBEAT, many));
    }

    #[test]
    fn a_coordinator_that_stood_still_loses_none() {
        let mut signs = AgentSigns::new(0);
        signs.asked(0);
        signs.heard(1_000);
        let later = 60 * LIMIT;
        assert!(!signs.is_silent(later, LIMIT), "it was not asked");
        signs.asked(later);
        assert!(!signs.is_silent(later + HEARTBEAT, LIMIT));
        assert!(signs.is_silent(later + LIMIT, LIMIT));
    }
}
