//! A network: an address and how many of its bits count.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use thiserror::Error;

/// Addresses that begin with the same bits. All others are 0 in its own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpNet);

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadNetwork {
    /// It has no shape that an address or a network has.
    #[error(
        "'{}' is not a network such as 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7",
        .0.escape_debug()
    )]
    NoNetwork(String),
    /// There are bits behind those that count: the network that was meant, perhaps.
    #[error("'{0}' is an address in a network; did you mean {1}?")]
    BitsBehind(String, Network),
}

impl Network {
    /// True if an address is in it. An IPv4-mapped IPv6 address is IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// First address; IPv4 where it is given as IPv4-mapped IPv6.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.0.addr()
    }

    /// Number of leading bits that identify the network.
    #[must_use]
    pub fn prefix(&self) -> u8 {
        self.0.prefix_len()
    }

    /// The network that a client is counted by: its IPv4 address, or these leading bits of its
    /// IPv6 address.
    #[must_use]
    pub fn of_source(address: IpAddr, v6_bits: u8) -> Self {
        let whole = IpNet::from(address.to_canonical());
        let of_v6 = match whole {
            IpNet::V4(_) => None,
            IpNet::V6(_) => Self::around(whole.addr(), v6_bits),
        };
        of_v6.unwrap_or(Self(whole))
    }

    /// The network of an address, whatever bits it has behind those that count; `None`
    /// when it has not as many.
    fn around(address: IpAddr, bits: u8) -> Option<Self> {
        // `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
        let (address, bits) = match (address, address.to_canonical()) {
            (IpAddr::V6(_), v4 @ IpAddr::V4(_)) if bits >= 96 => (v4, bits - 96),
            _ => (address, bits),
        };
        Some(Self(IpNet::new(address, bits).ok()?.trunc()))
    }
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let bad = || BadNetwork::NoNetwork(text.chars().take(60).collect());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let bits = match bits {
            Some(bits) if bits.starts_with('+') => return Err(bad()),
            Some(bits) => bits.parse().map_err(|_| bad())?,
            None => IpNet::from(address).prefix_len(),
        };
        let network = Self::around(address, bits).ok_or_else(bad)?;
        let canonical = if network.address().is_ipv4() {
            address.to_canonical()
        } else {
            address
        };
        if network.address() == canonical {
            Ok(network)
        } else {
            Err(BadNetwork::BitsBehind(text.to_owned(), network))
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Networks with commas between them.
///
/// # Errors
/// The first that is none.
pub(super) fn list(text: &str) -> Result<Vec<Network>, BadNetwork> {
    text.split(',').map(|word| word.trim().parse()).collect()
}

impl Network {
    /// Networks with commas between them.
    ///
    /// # Errors
    /// The first that is none.
    pub fn list(text: &str) -> Result<Vec<Self>, BadNetwork> {
        list(text)
    }
}
