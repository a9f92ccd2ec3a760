//! Whole numbers of numbers that may be anything.

/// The value rounded down; 0 if it is negative or not a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such a cast saturates, and that is what is wanted"
)]
pub(crate) fn floor(value: f64) -> u64 {
    value.floor() as u64
}

/// The same for an index.
pub(crate) fn index(value: f64) -> usize {
    usize::try_from(floor(value)).unwrap_or(usize::MAX)
}

/// A count as a number to calculate with; exact below 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of things in memory are small"
)]
pub(crate) fn of(count: usize) -> f64 {
    count as f64
}
