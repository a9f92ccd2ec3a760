//! Limits of campaigns at an agent.

use std::collections::{BTreeMap, BTreeSet};

use crate::inventory::{is_host, is_one_host, port};
use crate::protocol::{
    CampaignLoad, LONGEST_SILENCE, LoadParts, MOST_LOADS, MOST_MEMBERS, OPENING, Preparation,
    RosterEntry, Start,
};

/// Limits of one campaign at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Members.
    pub members: usize,
    /// Loads.
    pub loads: usize,
    /// Loads at the same time, which are processes.
    pub at_once: usize,
    /// Time of all loads together, nanoseconds.
    pub time: u64,
    /// Silence of its coordinator, nanoseconds.
    pub silence: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            members: MOST_MEMBERS,
            loads: MOST_LOADS,
            at_once: 256,
            time: 24 * 3600 * 1_000_000_000,
            silence: LONGEST_SILENCE,
        }
    }
}

/// Most different words and times of loads: each takes time to check.
const MOST_TESTS: usize = 64;

/// Checks the words of a load; the driver knows the options.
pub type CheckWords<'a> = &'a dyn Fn(&CampaignLoad) -> Result<(), String>;

/// Error in the place of a member: loads reach hosts over IP, one at a time.
fn wrong_place(member: &RosterEntry) -> Option<String> {
    let data = member.data.as_ref();
    let is_data = |data: &String| data.parse().is_ok_and(is_one_host);
    let why = if !is_host(&member.host) {
        "its host is neither a name nor the address of a host"
    } else if port(&member.port).is_none() {
        "its port is not a number from 1 to 65535"
    } else if !data.is_none_or(is_data) {
        "its address for data is not that of a host"
    } else {
        return None;
    };
    Some(format!(
        "{}: {why}",
        netperf_web::escape::line(&member.name)
    ))
}

/// Checks a preparation against the roster and the quota.
pub(super) fn accept(
    preparation: &Preparation,
    quota: Quota,
    check: CheckWords<'_>,
) -> Result<(), String> {
    let Preparation {
        roster,
        own,
        loads,
        accepts,
        sends,
    } = preparation;
    let over = |what: &str, asked: usize, limit: usize| {
        (asked > limit).then(|| format!("{asked} {what}, more than {limit}"))
    };
    let too_much = over("members", roster.len(), quota.members)
        .or_else(|| over("loads", loads.len(), quota.loads));
    if let Some(line) = too_much {
        return Err(line);
    }
    if let Some(line) = roster.iter().find_map(wrong_place) {
        return Err(line);
    }
    let outside = |member: usize| member >= roster.len() || member == *own;
    if *own >= roster.len() {
        return Err(format!("the roster has no member {own}"));
    }
    let mut time = 0_u64;
    let granted: BTreeSet<usize> = sends.iter().map(|one| one.member).collect();
    // Most loads have the same words and times.
    let mut checked = BTreeSet::new();
    for load in loads {
        if outside(load.to) {
            return Err(format!("load {}: its target is not in the roster", load.id));
        }
        let is_agent = roster.get(load.to).is_some_and(|one| one.agent);
        if is_agent && !granted.contains(&load.to) {
            return Err(format!(
                "load {}: there is no token for its target",
                load.id
            ));
        }
        let LoadParts {
            warmup,
            window,
            cooldown,
        } = load.parts;
        if checked.insert((&load.words, [warmup, window, cooldown])) {
            if checked.len() > MOST_TESTS {
                return Err(format!("more than {MOST_TESTS} different tests"));
            }
            check(load).map_err(|why| format!("load {}: {why}", load.id))?;
        }
        time = time.saturating_add(load.parts.total());
    }
    if time > quota.time {
        let seconds = |nanos: u64| nanos / 1_000_000_000;
        return Err(format!(
            "{} s of load, more than {}",
            seconds(time),
            seconds(quota.time)
        ));
    }
    let mut ids: Vec<u32> = loads.iter().map(|load| load.id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("two loads have the same number".to_owned());
    }
    match accepts.iter().chain(sends).find(|one| outside(one.member)) {
        Some(one) => Err(format!(
            "a token for member {}, who is not in the roster",
            one.member
        )),
        None => Ok(()),
    }
}

/// Largest number of loads that run at the same time when these begin.
pub(super) fn at_once(preparation: &Preparation, starts: &[Start]) -> usize {
    let parts: BTreeMap<u32, LoadParts> = preparation
        .loads
        .iter()
        .map(|load| (load.id, load.parts))
        .collect();
    let mut changes: Vec<(u64, bool)> = Vec::with_capacity(2 * starts.len());
    for start in starts {
        let total = parts.get(&start.id).map_or(0, |parts| parts.total());
        changes.push((start.at.saturating_sub(OPENING), true));
        changes.push((start.at.saturating_add(total), false));
    }
    // One that ends frees a place for one that begins then.
    changes.sort_unstable();
    let (mut now, mut most) = (0_usize, 0);
    for (_, begins) in changes {
        now = if begins {
            now + 1
        } else {
            now.saturating_sub(1)
        };
        most = most.max(now);
    }
    most
}
