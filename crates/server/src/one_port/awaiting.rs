//! Data connections with an incomplete preamble.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};

use super::ArrivingData;

/// Largest number of connections of one source.
pub(super) const MOST_OF_SOURCE: usize = 256;

/// Source of connections: an IPv4 address or a network of 64 bits; `None` without IP.
type ConnectionSource = Option<IpAddr>;

/// Connections with an incomplete preamble, in order of expiry.
#[derive(Debug, Default)]
pub(super) struct AwaitingPreambles {
    by_number: BTreeMap<u64, ArrivingData>,
    by_source: HashMap<ConnectionSource, BTreeSet<u64>>,
}

impl AwaitingPreambles {
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// The connection that expires first.
    pub(super) fn first(&self) -> Option<&ArrivingData> {
        self.by_number.first_key_value().map(|(_, one)| one)
    }

    /// Adds a connection. Returns the oldest of the same source if it has too many.
    pub(super) fn insert(&mut self, number: u64, one: ArrivingData) -> Option<ArrivingData> {
        let numbers = self.by_source.entry(source_of(&one)).or_default();
        numbers.insert(number);
        let oldest = (numbers.len() > MOST_OF_SOURCE)
            .then(|| numbers.first().copied())
            .flatten();
        self.by_number.insert(number, one);
        oldest.and_then(|oldest| self.remove(oldest))
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<ArrivingData> {
        let one = self.by_number.remove(&number)?;
        let source = source_of(&one);
        if let Some(numbers) = self.by_source.get_mut(&source) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_source.remove(&source);
            }
        }
        Some(one)
    }

    pub(super) fn remove_first(&mut self) -> Option<ArrivingData> {
        let number = *self.by_number.first_key_value()?.0;
        self.remove(number)
    }

    pub(super) fn clear(&mut self) {
        self.by_number.clear();
        self.by_source.clear();
    }
}

fn source_of(one: &ArrivingData) -> ConnectionSource {
    let address = one.peer.as_socket()?.ip().to_canonical();
    Some(match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    })
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use netperf_measure::clock;
    use netperf_os::{Domain, Socket, Type};

    use super::*;

    fn from(peer: &str) -> ArrivingData {
        ArrivingData {
            data: Socket::new(Domain::IPV4, Type::STREAM, None).unwrap(),
            peer: peer.parse::<SocketAddr>().unwrap().into(),
            until: clock::now().plus(Duration::from_secs(5)),
        }
    }

    #[test]
    fn a_source_with_too_many_connections_loses_its_own_oldest() {
        let mut awaiting = AwaitingPreambles::default();
        for (number, peer) in [(0, "192.0.2.1:1"), (1, "[2001:db8::1]:1")] {
            assert!(awaiting.insert(number, from(peer)).is_none());
        }
        // All addresses of a network of 64 bits are one source.
        for number in 2..=MOST_OF_SOURCE {
            let peer = format!("[2001:db8::{number:x}]:1");
            let number = u64::try_from(number).unwrap();
            assert!(awaiting.insert(number, from(&peer)).is_none());
        }
        let gone = awaiting.insert(1000, from("[2001:db8::1]:2")).unwrap();
        assert_eq!(gone.peer.as_socket().unwrap().port(), 1);
        assert_eq!(awaiting.len(), MOST_OF_SOURCE + 1);
        assert!(awaiting.insert(1001, from("[2001:db8:0:1::1]:1")).is_none());
        // The other source has kept its connection.
        assert!(awaiting.remove(0).is_some());
        while awaiting.remove_first().is_some() {}
        assert!(awaiting.by_source.is_empty());
    }
}
