//! Number of clients that have not proven the key.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Limits of clients that have not proven the key, as `MaxStartups` of sshd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Startups {
    /// Number of clients that may prove the key at a time. Further ones wait, and some are
    /// refused at random.
    pub start: u32,
    /// Share of clients that are refused from `start` on; grows to 100 at `full`.
    pub percent: u32,
    /// Number of clients, those that wait included, from which all further ones are refused.
    pub full: u32,
}

impl Default for Startups {
    fn default() -> Self {
        Self {
            start: 10,
            percent: 30,
            full: 100,
        }
    }
}

impl Startups {
    /// Largest number of clients.
    pub const MOST: u32 = 1000;

    /// Share of clients to refuse when there are `all`, percent.
    #[must_use]
    pub fn drop_percent(&self, all: u32) -> u32 {
        if all < self.start {
            return 0;
        }
        if all >= self.full {
            return 100;
        }
        let rest = 100_u32.saturating_sub(self.percent);
        self.percent + rest * (all - self.start) / (self.full - self.start)
    }
}

/// Invalid limits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{}' is not START:PERCENT:FULL such as 10:30:100, with FULL at most 1000", .0.escape_debug())]
pub struct BadStartups(String);

impl FromStr for Startups {
    type Err = BadStartups;

    fn from_str(text: &str) -> Result<Self, BadStartups> {
        let bad = || BadStartups(text.chars().take(60).collect());
        let numbers: Result<Vec<u32>, _> = text.split(':').map(str::parse).collect();
        let numbers = numbers.map_err(|_| bad())?;
        let (start, percent, full) = match *numbers.as_slice() {
            [full] => (full, 100, full),
            [start, percent, full] => (start, percent, full),
            _ => return Err(bad()),
        };
        if start == 0 || start > full || full > Self::MOST || percent > 100 {
            return Err(bad());
        }
        Ok(Self {
            start,
            percent,
            full,
        })
    }
}

impl fmt::Display for Startups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.start, self.percent, self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_refused_clients_grows_from_the_start_to_the_full_number() {
        let startups: Startups = "10:30:100".parse().unwrap();
        assert_eq!(startups, Startups::default());
        let percent = [0, 9, 10, 55, 99, 100].map(|all| startups.drop_percent(all));
        assert_eq!(percent, [0, 0, 30, 65, 99, 100]);
        let only: Startups = "7".parse().unwrap();
        assert_eq!((only.drop_percent(6), only.drop_percent(7)), (0, 100));
        assert_eq!(only.to_string().parse(), Ok(only));
        for wrong in ["", "0", "10:30", "10:101:100", "11:30:10", "1:1:1001", "-1"] {
            assert!(wrong.parse::<Startups>().is_err(), "{wrong}");
        }
    }
}
