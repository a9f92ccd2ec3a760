//! What a campaign may ask of an agent.

use crate::protocol::{CampaignLoad, LONGEST_SILENCE, Preparation};

/// What one campaign may ask of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Members.
    pub members: usize,
    /// Loads.
    pub loads: usize,
    /// Time of all loads together, nanoseconds.
    pub time: u64,
    /// Silence of its coordinator, nanoseconds.
    pub silence: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            members: 4096,
            loads: 100_000,
            time: 24 * 3600 * 1_000_000_000,
            silence: LONGEST_SILENCE,
        }
    }
}

/// Checks the words of a load; the driver knows the options.
pub type CheckWords<'a> = &'a dyn Fn(&CampaignLoad) -> Result<(), String>;

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
    let outside = |member: usize| member >= roster.len() || member == *own;
    if *own >= roster.len() {
        return Err(format!("the roster has no member {own}"));
    }
    let mut time = 0_u64;
    // Most loads have the same words and times.
    let mut checked: Option<&CampaignLoad> = None;
    for load in loads {
        if outside(load.to) {
            return Err(format!("load {}: its target is not in the roster", load.id));
        }
        let granted = sends.iter().any(|one| one.member == load.to);
        if roster.get(load.to).is_some_and(|one| one.agent) && !granted {
            return Err(format!(
                "load {}: there is no token for its target",
                load.id
            ));
        }
        let is_known = |one: &CampaignLoad| one.words == load.words && one.parts == load.parts;
        if !checked.is_some_and(is_known) {
            check(load).map_err(|why| format!("load {}: {why}", load.id))?;
            checked = Some(load);
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
