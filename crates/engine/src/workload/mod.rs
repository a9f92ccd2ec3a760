//! The loops that are timed. Each exists once, whatever moves the bytes.

pub mod connect;
pub mod message;
pub mod open;
pub mod rr;
pub mod stream;

use netperf_model::Tally;

use crate::limit::Limit;

/// What every loop has besides its endpoint and its buffers. Each part is a type
/// of its own, so that what is not asked for costs nothing.
#[derive(Debug)]
pub struct Run<'a, S, R, P> {
    /// What ends the run besides time.
    pub limit: Limit,
    /// What interrupts it.
    pub stop: &'a mut S,
    /// What it counts.
    pub tally: &'a mut Tally,
    /// What keeps the times of its operations.
    pub recorder: &'a mut R,
    /// What is done before each operation.
    pub hooks: &'a mut P,
}
