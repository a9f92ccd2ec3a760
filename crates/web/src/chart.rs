//! Charts: values become shapes on a plane, and these become pictures.

mod bars;
mod frame;
mod heat;
mod legend;
mod letters;
mod lines;
pub mod matrix;
pub mod palette;
pub mod png;
pub(crate) mod scale;
pub mod scene;
mod simplify;
mod size;
mod strips;
pub mod svg;

pub use bars::{Bar, Bars};
pub use heat::HeatMap;
pub use lines::{Line, LineNotes, Lines, LoadPhase, Point, Thin, X};
pub use matrix::{MapCell, MatrixMap, ValueClasses};
pub use size::Size;
pub(crate) use size::is_wide;
pub use strips::{Strip, Strips};

use scene::Scene;

/// A chart before it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its unique identifier, in the names of files and in the page.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its values.
    pub body: Body,
}

/// The values of a chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Lines over an axis.
    Lines(Lines),
    /// Horizontal bars with parts.
    Bars(Bars),
    /// Counts over time and another axis.
    Heat(HeatMap),
    /// Values of senders and receivers.
    Matrix(MatrixMap),
    /// Values of sets of runs.
    Strips(Strips),
}

impl Chart {
    /// The chart `number`, from 0, of those that share the identifier `id`.
    pub(crate) fn new(id: &str, number: usize, title: impl Into<String>, body: Body) -> Self {
        let id = match number {
            0 => id.to_owned(),
            number => format!("{id}-{}", number + 1),
        };
        let title = title.into();
        Self { id, title, body }
    }

    /// Draws it.
    #[must_use]
    pub fn drawn(&self, size: Size) -> Scene {
        match &self.body {
            Body::Lines(lines) => lines.drawn(size),
            Body::Bars(bars) => bars.drawn(size),
            Body::Heat(map) => map.drawn(size),
            Body::Matrix(map) => map.drawn(size),
            Body::Strips(strips) => strips.drawn(size),
        }
    }
}
