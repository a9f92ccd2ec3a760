//! The loops that are timed. Each exists once, whatever moves the bytes.

pub mod connect;
pub mod message;
pub mod open;
pub mod rr;
pub mod stream;

use netperf_model::Tally;

use crate::limit::RunLimit;

/// State of every loop besides endpoint and buffers. Each part is a type parameter, so that an
/// unused one costs nothing.
#[derive(Debug)]
pub struct LoopContext<'a, S, R, P> {
    /// Amount that ends the run.
    pub limit: RunLimit,
    /// Stop condition.
    pub stop: &'a mut S,
    /// Counts.
    pub tally: &'a mut Tally,
    /// Recorder of operation times.
    pub recorder: &'a mut R,
    /// Hooks around each operation.
    pub hooks: &'a mut P,
}
