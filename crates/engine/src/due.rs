//! When operations are due: pacing, rates and arrivals, and the account of what was due.

pub mod clock;
pub mod hooks;
pub(crate) mod pacing;
pub mod queue;
