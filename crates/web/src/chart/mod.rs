//! Charts: from values to shapes on a plane, and from these to pictures.

mod bars;
mod frame;
mod heat;
mod legend;
mod lines;
pub mod palette;
pub mod png;
pub(crate) mod scale;
pub mod scene;
mod simplify;
pub mod svg;

pub use bars::{Bar, Bars};
pub use heat::HeatMap;
pub use lines::{Line, Lines, Point, Thin, X};

use scene::Scene;

/// A picture still to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it is called in the names of files and in the page, unique there.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// Its values.
    pub body: Body,
}

/// The values of a chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Lines over an axis.
    Lines(Lines),
    /// Bars that lie, with parts.
    Bars(Bars),
    /// Counts over time and another axis.
    Heat(HeatMap),
}

/// How large a chart is drawn, with letters of one size.
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
    /// For a page on a desk.
    #[must_use]
    pub fn wide(points: usize) -> Self {
        Self {
            width: 820.0,
            height: 250.0,
            points: points.max(8),
        }
    }

    /// For a page in a hand.
    #[must_use]
    pub fn narrow(points: usize) -> Self {
        Self {
            width: 328.0,
            height: 210.0,
            points: (points / 2).max(8),
        }
    }
}

impl Chart {
    /// Draws it.
    #[must_use]
    pub fn drawn(&self, size: Size) -> Scene {
        match &self.body {
            Body::Lines(lines) => lines.drawn(size),
            Body::Bars(bars) => bars.drawn(size),
            Body::Heat(map) => map.drawn(size),
        }
    }
}

/// The largest number that is drawn: what is beyond is no measurement, and the space
/// between such numbers cannot be calculated with.
pub(crate) const LARGEST: f64 = 1e21;

/// Whether a number can be drawn.
pub(crate) fn is_drawable(value: f64) -> bool {
    value.is_finite() && value.abs() <= LARGEST
}
