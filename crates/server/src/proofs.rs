//! Clients that have not proven the key: how many may prove it at a time, and the sources that
//! failed (docs/decisions/0034-unproven-clients.md).

use std::collections::HashMap;
use std::time::Duration;

use netperf_measure::clock::Moment;
use netperf_model::{Denied, Network, Startups};

/// Time to prove the key.
pub(super) const PROOF_TIME: Duration = Duration::from_secs(3);
/// Penalty of a source for a proof that failed.
const PENALTY: Duration = Duration::from_secs(5);
/// Longest penalty in force that is tolerated: six failures.
const TOLERATED: Duration = Duration::from_secs(30);
/// Largest penalty.
const MOST_PENALTY: Duration = Duration::from_secs(90);
/// Largest number of sources with a penalty.
const MOST_SOURCES: usize = 4096;

/// Network that a client is counted by; `None` for addresses that are not IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProofSource(pub(super) Option<Network>);

/// Clients of a source without proof.
#[derive(Clone, Copy, Debug, Default)]
struct SourceState {
    /// Processes in which a client proves the key.
    proving: usize,
    /// End of the penalty.
    penalty: Option<Moment>,
}

impl SourceState {
    fn left(&self, now: Moment) -> Duration {
        self.penalty
            .map_or(Duration::ZERO, |until| until.since(now))
    }
}

/// Clients without proof, by source.
#[derive(Debug, Default)]
pub(super) struct ProofPool {
    sources: HashMap<ProofSource, SourceState>,
    proving: usize,
}

/// Place of a new client without proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProofPlace {
    /// A free one.
    Free,
    /// The place of a waiting connection of this source.
    InsteadOf(ProofSource),
}

impl ProofPool {
    /// Decides about a new client. `waiting` are the sources of the clients that wait for their
    /// proof; `chance` is random, below 100.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub(super) fn admit(
        &self,
        (source, waiting): (ProofSource, &[ProofSource]),
        startups: Startups,
        (now, chance): (Moment, u32),
    ) -> Result<ProofPlace, Denied> {
        let own = self.sources.get(&source).copied().unwrap_or_default();
        let penalty = own.left(now);
        if penalty > TOLERATED {
            return Err(Denied::Penalty(penalty - TOLERATED));
        }
        let mut counts: HashMap<ProofSource, usize> = HashMap::new();
        for one in waiting {
            *counts.entry(*one).or_default() += 1;
        }
        let own_waiting = counts.get(&source).copied().unwrap_or_default();
        let all = u32::try_from(self.proving + waiting.len()).unwrap_or(u32::MAX);
        if all >= startups.full {
            return match counts.into_iter().max_by_key(|(_, count)| *count) {
                Some((most, count)) if count > own_waiting + 1 => Ok(ProofPlace::InsteadOf(most)),
                _ => Err(Denied::Startups),
            };
        }
        let alone = own.proving + own_waiting == 0;
        if !alone && chance < startups.drop_percent(all) {
            return Err(Denied::Startups);
        }
        Ok(ProofPlace::Free)
    }

    /// Returns true if a client of this source may begin its proof. A source may have at most
    /// half of the places, and half of what others leave.
    pub(super) fn has_place(&self, source: ProofSource, startups: Startups) -> bool {
        let places = usize::try_from(startups.start).unwrap_or(usize::MAX).max(1);
        let own = self.sources.get(&source).map_or(0, |one| one.proving);
        let free = places.saturating_sub(self.proving);
        free > 0 && (own == 0 || own < free)
    }

    /// Counts a process in which a client proves the key.
    pub(super) fn begins(&mut self, source: ProofSource) {
        self.sources.entry(source).or_default().proving += 1;
        self.proving += 1;
    }

    /// Counts the end of a proof. A failure extends the penalty of the source; success removes it.
    pub(super) fn ends(&mut self, source: ProofSource, proven: bool, now: Moment) {
        self.proving = self.proving.saturating_sub(1);
        let one = self.sources.entry(source).or_default();
        one.proving = one.proving.saturating_sub(1);
        one.penalty = if proven {
            None
        } else {
            Some(now.plus((one.left(now) + PENALTY).min(MOST_PENALTY)))
        };
        self.forget(source);
        self.forget_others(now);
    }

    fn forget(&mut self, source: ProofSource) {
        let idle = |one: &SourceState| one.proving == 0 && one.penalty.is_none();
        if self.sources.get(&source).is_some_and(idle) {
            self.sources.remove(&source);
        }
    }

    /// Removes sources whose penalty is over, and if there are still too many, all penalties.
    fn forget_others(&mut self, now: Moment) {
        if self.sources.len() <= MOST_SOURCES {
            return;
        }
        let busy = |one: &SourceState| one.proving > 0;
        self.sources
            .retain(|_, one| busy(one) || !one.left(now).is_zero());
        if self.sources.len() > MOST_SOURCES {
            self.sources.retain(|_, one| busy(one));
        }
    }
}

#[cfg(test)]
mod tests {
    use netperf_measure::clock;

    use super::*;

    const STARTUPS: Startups = Startups {
        start: 10,
        percent: 30,
        full: 100,
    };
    fn source(number: u8) -> ProofSource {
        ProofSource(Some(Network::of_source([192, 0, 2, number].into(), 64)))
    }

    #[test]
    fn a_flood_of_one_source_leaves_places_to_another() {
        let (mut pool, now) = (ProofPool::default(), clock::now());
        let (mut waiting, mut refused) = (Vec::new(), 0);
        for chance in 0..10_000 {
            match pool.admit((source(1), &waiting), STARTUPS, (now, chance % 100)) {
                Ok(_) if pool.has_place(source(1), STARTUPS) => pool.begins(source(1)),
                Ok(_) => waiting.push(source(1)),
                Err(_) => refused += 1,
            }
        }
        assert_eq!((pool.proving, waiting.len(), refused), (5, 95, 9900));
        for other in 2..5 {
            let place = pool.admit((source(other), &waiting), STARTUPS, (now, 0));
            assert_eq!(place, Ok(ProofPlace::InsteadOf(source(1))));
            assert!(pool.has_place(source(other), STARTUPS), "{other}");
            pool.begins(source(other));
            pool.ends(source(other), true, now);
        }
    }

    #[test]
    fn connections_are_dropped_early_at_random() {
        let (pool, now) = (ProofPool::default(), clock::now());
        let dropped = |waiting: &[ProofSource]| {
            let refused = |chance: &u32| {
                let admitted = pool.admit((source(1), waiting), STARTUPS, (now, *chance));
                admitted.is_err()
            };
            (0..100).filter(refused).count()
        };
        let waiting = [source(1); 100];
        let counts = [9, 10, 55, 100].map(|count| dropped(&waiting[..count]));
        assert_eq!(counts, [0, 30, 65, 100]);
        // The only client of a source is not dropped early.
        let alone = (source(2), &waiting[..99]);
        assert!(pool.admit(alone, STARTUPS, (now, 0)).is_ok());
    }

    #[test]
    fn failures_exclude_a_source_for_a_time_and_a_proof_ends_it() {
        let (mut pool, now) = (ProofPool::default(), clock::now());
        let admit =
            |pool: &ProofPool, number, now| pool.admit((source(number), &[]), STARTUPS, (now, 0));
        let fail = |pool: &mut ProofPool| {
            pool.begins(source(1));
            pool.ends(source(1), false, now);
            admit(pool, 1, now)
        };
        for _ in 0..6 {
            assert_eq!(fail(&mut pool), Ok(ProofPlace::Free));
        }
        assert_eq!(fail(&mut pool), Err(Denied::Penalty(PENALTY)));
        for _ in 0..100 {
            assert!(fail(&mut pool).is_err());
        }
        let longest = MOST_PENALTY - TOLERATED;
        let second = Duration::from_secs(1);
        assert!(admit(&pool, 1, now.plus(longest - second)).is_err());
        assert!(admit(&pool, 1, now.plus(longest)).is_ok());
        assert!(admit(&pool, 2, now).is_ok());
        pool.begins(source(1));
        pool.ends(source(1), true, now);
        assert!(admit(&pool, 1, now).is_ok());
        assert_eq!((pool.proving, pool.sources.len()), (0, 0));
    }

    #[test]
    fn the_number_of_sources_is_limited() {
        let (mut pool, now) = (ProofPool::default(), clock::now());
        for number in 0_u32..10_000 {
            let address = std::net::Ipv4Addr::from(number);
            let source = ProofSource(Some(Network::of_source(address.into(), 64)));
            pool.begins(source);
            pool.ends(source, false, now);
            assert!(pool.sources.len() <= MOST_SOURCES);
        }
    }

    #[test]
    fn addresses_of_one_link_are_one_source() {
        let source = |text: &str, bits| Network::of_source(text.parse().unwrap(), bits);
        assert_eq!(source("2001:db8::1", 64), source("2001:db8::ffff:1", 64));
        assert_ne!(source("2001:db8::1", 64), source("2001:db8:0:1::1", 64));
        assert_ne!(source("2001:db8::1", 128), source("2001:db8::2", 128));
        assert_eq!(source("::ffff:192.0.2.1", 64), source("192.0.2.1", 64));
        assert_ne!(source("192.0.2.1", 8), source("192.0.2.2", 8));
    }
}
