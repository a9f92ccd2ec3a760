//! A set of transports, as an option names it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::catalog::transports::{Domain, TRANSPORTS, TransportId, TransportRow};
use crate::words::words;

words! {
    /// Transports that an option names by one word.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TransportGroup {
        /// IP protocols, and what runs over them.
        Ip = "ip",
        /// Sockets within a host, and between a host and its virtual machines.
        Local = "local",
        /// Everything below IP: link-level frames and ATM circuits.
        Link = "link",
    }
}

impl TransportGroup {
    /// The group of a transport.
    #[must_use]
    pub const fn of(row: &TransportRow) -> Self {
        match row.domain {
            Domain::Inet => Self::Ip,
            Domain::Unix | Domain::Vsock => Self::Local,
            Domain::Link | Domain::Atm => Self::Link,
        }
    }

    fn members(self) -> TransportSet {
        TransportSet::of(TRANSPORTS.iter().filter(|row| Self::of(row) == self))
    }
}

/// A set of transports. The default is all that need no right over an interface: IP and local
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportSet(u32);

/// A text that names no transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a list of transports")]
pub struct BadTransports;

impl TransportSet {
    /// Word for every transport.
    const ALL: &'static str = "all";

    fn of<'r>(rows: impl Iterator<Item = &'r TransportRow>) -> Self {
        Self(rows.fold(0, |bits, row| bits | Self::bit(row.id)))
    }

    /// The kernel's default for a stream is TCP, and its name that of a group.
    const fn bit(transport: TransportId) -> u32 {
        if matches!(transport, TransportId::IpDefault) {
            1 << TransportId::Tcp as u32
        } else {
            1 << transport as u32
        }
    }

    /// Every transport.
    #[must_use]
    pub fn all() -> Self {
        Self::of(TRANSPORTS.iter())
    }

    /// True if it has this transport.
    #[must_use]
    pub const fn contains(self, transport: TransportId) -> bool {
        self.0 & Self::bit(transport) != 0
    }

    /// The transports of this set for which the condition holds.
    #[must_use]
    pub fn filtered(self, mut holds: impl FnMut(TransportId) -> bool) -> Self {
        Self::of(
            TRANSPORTS
                .iter()
                .filter(|row| self.contains(row.id) && holds(row.id)),
        )
    }

    /// The transports, in the order of the catalogue.
    pub fn iter(self) -> impl Iterator<Item = TransportId> {
        let ids = TRANSPORTS.iter().map(|row| row.id);
        ids.filter(move |id| self.contains(*id))
    }
}

impl Default for TransportSet {
    fn default() -> Self {
        Self(TransportGroup::Ip.members().0 | TransportGroup::Local.members().0)
    }
}

impl FromStr for TransportSet {
    type Err = BadTransports;

    fn from_str(text: &str) -> Result<Self, BadTransports> {
        let named = |word: &str| match (TransportGroup::named(word), word) {
            (Some(group), _) => Ok(group.members()),
            (None, Self::ALL) => Ok(Self::all()),
            (None, _) => {
                let transport = TransportId::from_option(word).ok_or(BadTransports)?;
                Ok(Self(Self::bit(transport)))
            }
        };
        text.split(',')
            .try_fold(Self(0), |set, word| Ok(Self(set.0 | named(word.trim())?.0)))
    }
}

/// The shortest list that has the same meaning; empty for an empty set.
impl fmt::Display for TransportSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |group: &TransportGroup| {
            let members = group.members().0;
            self.0 & members == members
        };
        let groups = TransportGroup::ALL.into_iter().filter(whole);
        let others = self
            .iter()
            .map(TransportId::row)
            .filter(|row| row.id != TransportId::IpDefault && !whole(&TransportGroup::of(row)));
        let words = groups
            .map(TransportGroup::label)
            .chain(others.map(|row| row.option));
        f.write_str(&words.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_every_transport_but_those_below_ip() {
        let default = TransportSet::default();
        assert_eq!(default.to_string(), "ip,local");
        let off: Vec<&str> = TRANSPORTS
            .iter()
            .filter(|row| !default.contains(row.id))
            .map(|row| row.option)
            .collect();
        assert_eq!(off, ["llc1", "llc2", "packet", "atm"]);
    }

    #[test]
    fn every_set_reads_as_it_is_written() {
        for left_out in TRANSPORTS {
            let set = TransportSet::all().filtered(|id| id.row().option != left_out.option);
            let read = set.to_string().parse();
            assert_eq!(read, Ok(set), "without {}: {set}", left_out.option);
        }
    }

    #[test]
    fn a_list_of_names_and_groups_reads_as_it_is_written() {
        for (text, written) in [
            ("all", "ip,local,link"),
            ("link, unix,ip", "ip,link,unix"),
            ("TCP,udp,tcp", "tcp,udp"),
            ("packet,llc1", "llc1,packet"),
        ] {
            let set: TransportSet = text.parse().unwrap();
            assert_eq!(set.to_string(), written);
            assert_eq!(written.parse(), Ok(set));
        }
        for text in ["", "tcp,", "quic", "links", "tcp udp"] {
            assert_eq!(text.parse::<TransportSet>(), Err(BadTransports), "{text}");
        }
    }
}
