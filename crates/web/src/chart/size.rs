//! Sizes of charts, and numbers that can be drawn.

/// The size of a chart; the size of text is fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height of the part between the axes in CSS pixels.
    pub height: f64,
    /// The most points of a line.
    pub points: usize,
}

impl Size {
    /// For a page on a wide screen.
    #[must_use]
    pub fn wide(points: usize) -> Self {
        Self {
            width: 820.0,
            height: 250.0,
            points: points.max(8),
        }
    }

    /// For a column of a page.
    #[must_use]
    pub fn column(points: usize) -> Self {
        Self {
            width: 600.0,
            height: 230.0,
            points: points.max(8),
        }
    }

    /// For a matrix on a page, which is as wide as the page.
    #[must_use]
    pub const fn matrix() -> Self {
        Self {
            width: 1180.0,
            height: 1180.0,
            points: 0,
        }
    }

    /// About how many ticks fit on a horizontal axis.
    pub(crate) fn ticks(&self) -> usize {
        if self.width < 500.0 { 4 } else { 8 }
    }

    /// For a page on a narrow screen.
    #[must_use]
    pub fn narrow(points: usize) -> Self {
        Self {
            width: 328.0,
            height: 210.0,
            points: (points / 2).max(8),
        }
    }
}

/// Ratio of the largest to the smallest value from which an axis is logarithmic.
pub(super) const WIDE: f64 = 8.0;

/// True if an axis for these values is logarithmic.
pub(crate) fn is_wide(values: impl Iterator<Item = f64> + Clone) -> bool {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let greatest = values.fold(0.0, f64::max);
    least > 0.0 && least.is_finite() && greatest / least >= WIDE
}

/// The largest number that is drawn: what is beyond is no measurement, and the space
/// between such numbers cannot be calculated with.
const LARGEST: f64 = 1e21;

/// Returns true if a number can be drawn.
pub(crate) fn is_drawable(value: f64) -> bool {
    value.is_finite() && value.abs() <= LARGEST
}
