//! Limits of what sessions take from netserver's host.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::units::without_exponent;

/// A limit of each session, or of each source, and one of all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Limit of each.
    pub each: u64,
    /// Limit of all.
    pub all: u64,
}

/// A limit as configured: that of all is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetArg {
    each: u64,
    all: Option<u64>,
}

/// Resources that one end of a test takes from netserver's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndNeeds {
    /// Memory of its buffers, bytes.
    pub memory: u64,
    /// Data ports.
    pub ports: u64,
}

/// Invalid limits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{}' is not a number above 0 such as 128M, or two with a comma", .0.escape_debug())]
pub struct BadBudget(String);

impl BudgetArg {
    /// Both limits.
    #[must_use]
    pub const fn of(each: u64, all: u64) -> Self {
        Self {
            each,
            all: Some(all),
        }
    }

    /// The limits; that of all is at least that of each.
    #[must_use]
    pub fn or(self, default: Budget) -> Budget {
        Budget {
            each: self.each,
            all: self.all.unwrap_or_else(|| default.all.max(self.each)),
        }
    }
}

/// A whole number, optionally with a suffix for a power of 1024.
fn number(text: &str) -> Option<u64> {
    let (digits, power) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (text.get(..at)?, 10),
        (at, 'm' | 'M') => (text.get(..at)?, 20),
        (at, 'g' | 'G') => (text.get(..at)?, 30),
        _ => (text, 0),
    };
    let digits = without_exponent(digits)?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| all_digits)?;
    number.checked_mul(1 << power)
}

impl FromStr for BudgetArg {
    type Err = BadBudget;

    fn from_str(text: &str) -> Result<Self, BadBudget> {
        let bad = || BadBudget(text.chars().take(60).collect());
        let (each, all) = match text.split_once(',') {
            Some((each, all)) => (each, Some(number(all).ok_or_else(bad)?)),
            None => (text, None),
        };
        let each = number(each).ok_or_else(bad)?;
        // Without any, no client could be served.
        if each == 0 || all.is_some_and(|all| all < each) {
            return Err(bad());
        }
        Ok(Self { each, all })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.each, self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_all_is_at_least_that_of_each() {
        let default = Budget { each: 1, all: 100 };
        let read = |text: &str| text.parse().map(|limits: BudgetArg| limits.or(default));
        assert_eq!(read("7"), Ok(Budget { each: 7, all: 100 }));
        let (each, all) = (1 << 20, 3 << 30);
        assert_eq!(read("1M,3G"), Ok(Budget { each, all }));
        assert_eq!(
            read("1k"),
            Ok(Budget {
                each: 1024,
                all: 1024
            })
        );
        assert_eq!(read(&default.to_string()), Ok(default));
        for wrong in [
            "",
            "M",
            "1,",
            "2,1",
            "0",
            "0,5",
            "-1",
            "+1",
            "1.5M",
            "99999999999999999999G",
            "1T",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
