//! Connections of agents that join and have not proven the key: who gets a place.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Connections at the same time.
const PLACES: usize = 64;
/// Time after which another connection of the same source may take a place, nanoseconds.
const FAIR: u64 = 1_000_000_000;
/// Time to prove the key, nanoseconds.
const PROOF: u64 = 5_000_000_000;

/// Whom a connection is counted by: an IPv4 address, or a network of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JoinSource(u64);

impl JoinSource {
    /// The source of an address.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.to_bits() as u64,
            // A network of 64 bits is one customer.
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
        })
    }
}

/// Outcome of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinPlace {
    /// It has a place, with this number.
    Free(u64),
    /// It has a place, with the first number; the connection of the second one ends.
    InsteadOf(u64, u64),
    /// It has none.
    None,
}

#[derive(Clone, Copy, Debug)]
struct WaitingAgent {
    source: JoinSource,
    since: u64,
}

/// Connections that have not proven the key, by number: the oldest is the first.
#[derive(Debug, Default)]
pub struct JoinPool {
    waiting: BTreeMap<u64, WaitingAgent>,
    next: u64,
}

impl JoinPool {
    /// A new connection. Where all places are taken, the source with most of them loses its oldest
    /// to others; and one that has waited for a while to its own.
    pub fn admit(&mut self, source: JoinSource, now: u64) -> JoinPlace {
        let number = self.next;
        if self.waiting.len() < PLACES {
            self.add(source, now);
            return JoinPlace::Free(number);
        }
        let Some(oldest) = self.loser(source, now) else {
            return JoinPlace::None;
        };
        self.waiting.remove(&oldest);
        self.add(source, now);
        JoinPlace::InsteadOf(number, oldest)
    }

    fn add(&mut self, source: JoinSource, since: u64) {
        self.waiting
            .insert(self.next, WaitingAgent { source, since });
        self.next += 1;
    }

    fn loser(&self, source: JoinSource, now: u64) -> Option<u64> {
        let mut counts: BTreeMap<JoinSource, usize> = BTreeMap::new();
        for one in self.waiting.values() {
            *counts.entry(one.source).or_default() += 1;
        }
        let own = counts.get(&source).copied().unwrap_or_default();
        let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let oldest = |source: JoinSource| {
            let mut all = self.waiting.iter();
            all.find(|(_, one)| one.source == source)
        };
        if count > own + 1 {
            return oldest(most).map(|(number, _)| *number);
        }
        let is_old = |one: &WaitingAgent| now.saturating_sub(one.since) >= FAIR;
        oldest(source)
            .filter(|(_, one)| is_old(one))
            .map(|(number, _)| *number)
    }

    /// A connection has proven the key or ended.
    pub fn leave(&mut self, number: u64) {
        self.waiting.remove(&number);
    }

    /// The connections whose time is over; they have no place any more.
    pub fn expired(&mut self, now: u64) -> Vec<u64> {
        let is_over = |one: &WaitingAgent| now.saturating_sub(one.since) >= PROOF;
        let over = self.waiting.iter().filter(|(_, one)| is_over(one));
        let over: Vec<u64> = over.map(|(number, _)| *number).collect();
        for number in &over {
            self.waiting.remove(number);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> JoinSource {
        JoinSource::of(text.parse().unwrap())
    }

    fn full(of: &str) -> JoinPool {
        let mut pool = JoinPool::default();
        for number in 0..PLACES as u64 {
            assert_eq!(pool.admit(source(of), 0), JoinPlace::Free(number));
        }
        pool
    }

    #[test]
    fn join_pool_gives_others_the_places_of_a_source_that_has_most() {
        let mut pool = full("192.0.2.1");
        let honest = source("192.0.2.2");
        assert_eq!(pool.admit(honest, 1), JoinPlace::InsteadOf(64, 0));
        assert_eq!(pool.admit(honest, 1), JoinPlace::InsteadOf(65, 1));
        // The greedy one gets nothing back while it has most.
        assert_eq!(pool.admit(source("192.0.2.1"), 1), JoinPlace::None);
        // Many sources share the places evenly.
        let mut pool = full("192.0.2.1");
        for step in 0..1000_u32 {
            let address = std::net::Ipv4Addr::from_bits(0xc000_0202 + step % 7);
            pool.admit(JoinSource::of(address.into()), 1);
        }
        let of = |wanted| {
            pool.waiting
                .values()
                .filter(|one| one.source == wanted)
                .count()
        };
        assert!(of(source("192.0.2.1")) <= 9, "{}", of(source("192.0.2.1")));
    }

    #[test]
    fn join_pool_lets_a_source_replace_its_own_silent_connections() {
        let mut pool = full("192.0.2.1");
        let own = source("192.0.2.1");
        assert_eq!(pool.admit(own, FAIR - 1), JoinPlace::None);
        assert_eq!(pool.admit(own, FAIR), JoinPlace::InsteadOf(64, 0));
    }

    #[test]
    fn join_pool_ends_what_does_not_prove_the_key_in_time() {
        let mut pool = full("192.0.2.1");
        pool.leave(3);
        assert!(pool.expired(PROOF - 1).is_empty());
        let over = pool.expired(PROOF);
        assert_eq!(over.len(), PLACES - 1);
        assert!(!over.contains(&3));
        assert_eq!(pool.admit(source("192.0.2.1"), PROOF), JoinPlace::Free(64));
    }

    #[test]
    fn join_source_is_an_address_or_a_network_of_ipv6() {
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:2"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }
}
