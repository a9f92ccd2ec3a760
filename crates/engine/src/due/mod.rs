//! When operations are due: pacing, rates and arrivals, and the account of what was due.

pub mod arrivals;
pub mod book;
pub mod hooks;
pub(crate) mod pacing;
pub(crate) mod queue;
pub(crate) mod rate;
pub(crate) mod spaced;
