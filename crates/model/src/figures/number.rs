//! Counts as figures, and figures as counts.

/// A count as a figure. Exact up to 2^53, which no run reaches in bytes.
#[must_use]
pub fn count(value: u64) -> f64 {
    value as f64
}

/// A figure as a count: cut off, and negative ones are 0.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast of a float saturates"
)]
pub const fn whole(value: f64) -> u64 {
    value as u64
}

/// Bytes per send or receive: 0 when there was none.
#[must_use]
pub fn per_call(bytes: u64, calls: u64) -> f64 {
    if calls == 0 {
        0.0
    } else {
        count(bytes) / count(calls)
    }
}

/// A number in a larger unit, and the prefix of that unit: that of a power of the factor, or the
/// largest in which the number is at least 1. What is no number is 0.
#[must_use]
pub fn prefixed(number: f64, factor: f64, power: Option<u32>) -> (f64, &'static str) {
    let mut number = if number.is_finite() { number } else { 0.0 };
    let mut prefix = "";
    for (power_so_far, next) in (0..).zip(["K", "M", "G", "T"]) {
        if !power.map_or(number >= factor, |power| power_so_far < power) {
            break;
        }
        number /= factor;
        prefix = next;
    }
    (number, prefix)
}

/// A number with as many digits as fit into four columns.
#[must_use]
pub fn four_columns(number: f64) -> String {
    let digits = if number < 9.995 {
        2
    } else if number < 99.95 {
        1
    } else {
        0
    };
    format!("{number:4.digits$}")
}

/// A part in percent of all; 0 of nothing.
#[must_use]
pub fn percent(part: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        count(part) * 100.0 / count(all)
    }
}

/// A number with two significant digits, as `%.2g` of printf(3) prints it.
#[must_use]
pub fn two_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.1e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            let text = text.trim_end_matches('0');
            text.trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..2).contains(&exponent) {
        let decimals = usize::try_from(1 - exponent).unwrap_or(0);
        trimmed(&format!("{value:.decimals$}"))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixed_number_is_in_the_unit_asked_for_or_the_largest_that_fits() {
        assert_eq!(prefixed(999.0, 1000.0, None), (999.0, ""));
        assert_eq!(prefixed(4096.0, 1024.0, None), (4.0, "K"));
        assert_eq!(prefixed(4096.0, 1024.0, Some(2)), (1.0 / 256.0, "M"));
        assert_eq!(prefixed(4096.0, 1024.0, Some(0)), (4096.0, ""));
        assert_eq!(prefixed(2e15, 1000.0, None), (2000.0, "T"));
        assert_eq!(prefixed(f64::INFINITY, 1000.0, None), (0.0, ""));
    }

    #[test]
    fn percentages_are_those_of_printf() {
        for (value, text) in [
            (0.0, "0"),
            (0.123, "0.12"),
            (1.0, "1"),
            (12.6, "13"),
            (50.0, "50"),
            (100.0, "1e+02"),
            (0.000_012, "1.2e-05"),
        ] {
            assert_eq!(two_digits(value), text);
        }
    }
}
