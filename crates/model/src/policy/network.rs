//! A network: an address and how many of its bits count.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

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
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                first_bits(own.to_bits().into(), self.bits, 32)
                    == first_bits(other.to_bits().into(), self.bits, 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                first_bits(own.to_bits(), self.bits, 128)
                    == first_bits(other.to_bits(), self.bits, 128)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// First address; IPv4 where it is given as IPv4-mapped IPv6.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Number of leading bits that identify the network.
    #[must_use]
    pub const fn prefix(&self) -> u8 {
        self.bits
    }

    /// The network that a client is counted by: its IPv4 address, or these leading bits of its
    /// IPv6 address.
    #[must_use]
    pub fn of_source(address: IpAddr, v6_bits: u8) -> Self {
        let address = address.to_canonical();
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let bits = if address.is_ipv4() {
            whole
        } else {
            v6_bits.min(whole)
        };
        Self::around(address, bits).unwrap_or(Self {
            address,
            bits: whole,
        })
    }

    /// The network of an address, whatever bits it has behind those that count; `None`
    /// when it has not as many.
    fn around(address: IpAddr, bits: u8) -> Option<Self> {
        // `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
        let (address, bits) = match (address, address.to_canonical()) {
            (IpAddr::V6(_), v4 @ IpAddr::V4(_)) if bits >= 96 => (v4, bits - 96),
            _ => (address, bits),
        };
        let address = match address {
            IpAddr::V4(own) => {
                let kept = first_bits(own.to_bits().into(), bits, 32)?;
                IpAddr::V4(u32::try_from(kept).ok()?.into())
            }
            IpAddr::V6(own) => IpAddr::V6(first_bits(own.to_bits(), bits, 128)?.into()),
        };
        Some(Self { address, bits })
    }
}

/// The first bits of so many, the others 0; `None` when there are not as many.
fn first_bits(all: u128, bits: u8, of: u8) -> Option<u128> {
    let behind = u32::from(of.checked_sub(bits)?);
    Some(all.checked_shr(behind).unwrap_or(0) << (behind % 128))
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
            None if address.is_ipv4() => 32,
            None => 128,
        };
        let network = Self::around(address, bits).ok_or_else(bad)?;
        let canonical = if network.address.is_ipv4() {
            address.to_canonical()
        } else {
            address
        };
        if network.address == canonical {
            Ok(network)
        } else {
            Err(BadNetwork::BitsBehind(text.to_owned(), network))
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
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
