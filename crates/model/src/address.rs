//! Addresses of data sockets of every transport.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::catalog::transports::Domain;

/// The address of a data socket. As text it is what our own ends tell each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// IP address and port: `inet:192.0.2.1:5000`, `inet:[2001:db8::1]:5000`.
    Inet(SocketAddr),
    /// A socket file: `unix:/tmp/netperf`.
    Unix(PathBuf),
    /// Context id and port: `vsock:3:5000`.
    Vsock {
        /// The context id.
        cid: u32,
        /// The port.
        port: u32,
    },
    /// A station and its service access point: `link:02:00:00:00:00:01/84`.
    Link {
        /// The station address (IEEE 802 MAC-48).
        station: [u8; 6],
        /// The service access point.
        sap: u8,
    },
    /// Interface, path and channel: `atm:0.0.100`.
    Atm {
        /// The number of the ATM interface.
        interface: u16,
        /// The virtual path identifier.
        vpi: u16,
        /// The virtual channel identifier.
        vci: u16,
    },
}

/// A text that is no [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not an address of a data socket")]
pub struct BadAddress(pub String);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => write!(f, "inet:{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Vsock { cid, port } => write!(f, "vsock:{cid}:{port}"),
            Self::Link { station, sap } => {
                let [a, b, c, d, e, g] = station;
                write!(
                    f,
                    "link:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}/{sap}"
                )
            }
            Self::Atm {
                interface,
                vpi,
                vci,
            } => write!(f, "atm:{interface}.{vpi}.{vci}"),
        }
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        text.split_once(':')
            .and_then(|(domain, rest)| parse(domain, rest))
            .ok_or_else(|| BadAddress(text.to_owned()))
    }
}

fn parse(domain: &str, rest: &str) -> Option<Address> {
    match domain {
        "inet" => rest.parse().ok().map(Address::Inet),
        "unix" if !rest.is_empty() => Some(Address::Unix(rest.into())),
        "vsock" => {
            let (cid, port) = rest.split_once(':')?;
            Some(Address::Vsock {
                cid: cid.parse().ok()?,
                port: port.parse().ok()?,
            })
        }
        "link" => {
            let (station, sap) = rest.split_once('/')?;
            Some(Address::Link {
                station: parse_station(station)?,
                sap: sap.parse().ok()?,
            })
        }
        "atm" => parse_circuit(rest),
        _ => None,
    }
}

fn parse_station(text: &str) -> Option<[u8; 6]> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16))
        .collect::<Result<_, _>>()
        .ok()?;
    bytes.try_into().ok()
}

/// A circuit as users write it: `interface.vpi.vci`.
#[must_use]
pub fn parse_circuit(text: &str) -> Option<Address> {
    let mut parts = text.split('.').map(|part| part.parse::<u16>().ok());
    let circuit = Address::Atm {
        interface: parts.next()??,
        vpi: parts.next()??,
        vci: parts.next()??,
    };
    parts.next().is_none().then_some(circuit)
}

impl Address {
    /// The kind of address.
    #[must_use]
    pub const fn domain(&self) -> Domain {
        match self {
            Self::Inet(_) => Domain::Inet,
            Self::Unix(_) => Domain::Unix,
            Self::Vsock { .. } => Domain::Vsock,
            Self::Link { .. } => Domain::Link,
            Self::Atm { .. } => Domain::Atm,
        }
    }

    /// The IP address and port, where it has them.
    #[must_use]
    pub const fn inet(&self) -> Option<SocketAddr> {
        match self {
            Self::Inet(address) => Some(*address),
            Self::Unix(_) | Self::Vsock { .. } | Self::Link { .. } | Self::Atm { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_back_from_its_text() {
        for text in [
            "inet:192.0.2.1:5000",
            "inet:[2001:db8::1]:5000",
            "unix:/tmp/a:b",
            "vsock:4294967295:1",
            "link:02:00:00:00:00:0a/84",
            "atm:0.1.100",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_address_is_refused() {
        for text in [
            "",
            "inet",
            "inet:1.2.3.4",
            "unix:",
            "vsock:1",
            "vsock:x:1",
            "link:02:00/84",
            "link:02:00:00:00:00:0a:0b/84",
            "link:02:00:00:00:00:0a/256",
            "atm:1.2",
            "atm:1.2.3.4",
            "atm:1.2.70000",
            "what:ever",
        ] {
            assert_eq!(text.parse::<Address>(), Err(BadAddress(text.to_owned())));
        }
    }
}
