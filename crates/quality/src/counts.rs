//! Counts as numbers.

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts of probes")]
pub(crate) const fn number(count: usize) -> f64 {
    count as f64
}
