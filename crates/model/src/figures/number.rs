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
}
