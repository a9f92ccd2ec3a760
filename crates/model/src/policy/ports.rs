//! A range of ports.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Ports from the first to the last, both included; port 0 is not a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// A text that names no range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a range of ports")]
pub struct BadPortRange;

impl PortRange {
    /// Returns true if the range contains the port.
    #[must_use]
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// The first port.
    #[must_use]
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The last port.
    #[must_use]
    pub const fn last(self) -> u16 {
        self.last
    }

    /// All ports, each once, from a port that `number` selects. The last is followed by the first.
    pub fn all_from(self, number: u32) -> impl Iterator<Item = u16> {
        let ports = u32::from(self.last - self.first) + 1;
        let start = self.first + u16::try_from(number % ports).unwrap_or(0);
        (start..=self.last).chain(self.first..start)
    }
}

impl FromStr for PortRange {
    type Err = BadPortRange;

    fn from_str(text: &str) -> Result<Self, BadPortRange> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |word: &str| {
            let digits = word.bytes().all(|byte| byte.is_ascii_digit());
            let number = word.parse().ok().filter(|_| digits);
            number.filter(|number| *number != 0).ok_or(BadPortRange)
        };
        let (first, last) = (port(first)?, port(last)?);
        if first > last {
            return Err(BadPortRange);
        }
        Ok(Self { first, last })
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_ports_in_order_or_one() {
        for (text, first, last) in [
            ("40000-40010", 40_000, 40_010),
            ("1-65535", 1, 65_535),
            ("7-7", 7, 7),
            ("7", 7, 7),
        ] {
            assert_eq!(text.parse(), Ok(PortRange { first, last }), "{text}");
        }
        for text in [
            "", "-", "0-9", "9-8", "1-", "-1", "1-65536", "+1-2", "a-b", "1-2-3",
        ] {
            assert_eq!(text.parse::<PortRange>(), Err(BadPortRange), "{text}");
        }
    }

    #[test]
    fn every_port_comes_once_from_any_start() {
        let range: PortRange = "65533-65535".parse().unwrap();
        for number in [0, 1, 2, 3, u32::MAX] {
            let mut ports: Vec<u16> = range.all_from(number).collect();
            assert_eq!(u32::from(ports[0]), 65_533 + number % 3);
            ports.sort_unstable();
            assert_eq!(ports, [65_533, 65_534, 65_535]);
        }
    }
}
