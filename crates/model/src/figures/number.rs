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
