//! Progress of a campaign: the states of its hosts, in words.

use std::fmt::Display;

use netperf_text::duration::of_seconds;

use crate::protocol::{LoadParts, OPENING};

/// Activity of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostState {
    /// Its loads run, and the window counts.
    Measuring,
    /// Its loads run before the window.
    WarmingUp,
    /// Its loads run after the window.
    CoolingDown,
    /// It opens the connections of its loads.
    Opening,
    /// It sends nothing.
    Idle,
    /// It has no agent: others measure to it.
    Target,
    /// It is lost.
    Lost,
}

impl HostState {
    /// The state of a host with loads, `since` nanoseconds after it began to open the connections
    /// of the first one, where rounds follow each other after `period`.
    #[must_use]
    pub const fn running(since: u64, period: u64, parts: LoadParts) -> Self {
        let since = match since.checked_rem(period) {
            Some(since) => since,
            None => 0,
        };
        let window = OPENING.saturating_add(parts.warmup);
        if since < OPENING {
            Self::Opening
        } else if since < window {
            Self::WarmingUp
        } else if since < window.saturating_add(parts.window) {
            Self::Measuring
        } else {
            Self::CoolingDown
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measuring => "measuring",
            Self::WarmingUp => "warming up",
            Self::CoolingDown => "cooling down",
            Self::Opening => "opening",
            Self::Idle => "idle",
            Self::Target => "without an agent",
            Self::Lost => "lost",
        }
    }
}

/// Hosts by state, such as `8 hosts: 6 measuring, 1 idle, 1 lost`.
#[must_use]
pub fn hosts(states: &[HostState]) -> String {
    let mut sorted = states.to_vec();
    sorted.sort_unstable();
    let groups = sorted.chunk_by(|a, b| a == b);
    let group = |states: &[HostState]| {
        let name = states.first().map_or("", |state| state.name());
        format!("{} {name}", states.len())
    };
    let groups: Vec<String> = groups.map(group).collect();
    format!("{} hosts: {}", states.len(), groups.join(", "))
}

/// A number and its noun, with the plural `s` unless it is one.
pub(crate) fn plural<N: Copy + Display + From<u8> + PartialEq>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Progress in a line: hosts, rounds and time left in seconds.
#[must_use]
pub fn line(states: &[HostState], (done, rounds): (usize, usize), left: u64) -> String {
    let (left, rounds) = (of_seconds(left), plural(rounds, "round"));
    format!(
        "{}; {done} of {rounds} done; about {left} left",
        hosts(states)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_by_state() {
        let states = [
            HostState::Idle,
            HostState::Measuring,
            HostState::Lost,
            HostState::Measuring,
        ];
        assert_eq!(
            line(&states, (3, 14), 200),
            "4 hosts: 2 measuring, 1 idle, 1 lost; 3 of 14 rounds done; about 3 min 20 s left"
        );
    }

    #[test]
    fn a_host_with_loads_is_in_the_part_of_the_round() {
        let second = 1_000_000_000;
        let parts = LoadParts {
            warmup: second,
            window: 2 * second,
            cooldown: second,
        };
        let period = OPENING + parts.total();
        let state = |since: u64| HostState::running(since, period, parts);
        for round in 0..3 {
            let from = round * period;
            assert_eq!(state(from), HostState::Opening);
            assert_eq!(state(from + OPENING), HostState::WarmingUp);
            assert_eq!(state(from + OPENING + second), HostState::Measuring);
            assert_eq!(state(from + OPENING + 3 * second), HostState::CoolingDown);
        }
    }
}
