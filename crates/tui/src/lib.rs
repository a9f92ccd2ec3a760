//! Live view of a running test for a terminal, as text.
//!
//! A [`LiveView`] takes a [`LiveTick`] at each update and returns text: [`View::screen`] for the
//! whole screen, [`View::line`] for one line. It does no I/O and reads no clock, so the
//! text depends only on the ticks. A figure that was not measured is a dash.

mod line;
mod screen;
mod tick;
mod trail;
mod view;
mod words;

pub use console::Term;
pub use screen::{Capabilities, ScreenSize};
pub use tick::{About, Each, FlowTick, Interval, LatencyTick, LiveTick, RunEnd, TcpTick};
pub use view::LiveView;
