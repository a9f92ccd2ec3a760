//! What a terminal shows while a test runs.
//!
//! A [`View`] takes a [`Tick`] every so often and gives text: [`View::screen`] for a whole
//! screen, [`View::line`] for one line. It does no I/O and reads no clock, so that what is
//! drawn is a function of what was measured; what was not measured is not drawn as a
//! number.

mod line;
mod screen;
mod spark;
mod tick;
mod trail;
mod view;
mod words;

pub use console::Term;
pub use screen::{Look, Size};
pub use tick::{About, Each, End, FlowTick, Interval, LatencyTick, TcpTick, Tick};
pub use view::View;
