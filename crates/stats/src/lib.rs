//! Statistics of series and of sets of runs: intervals, warm-up, shape, comparison, changes.
//!
//! It works on values alone and measures nothing.

pub mod compare;
pub mod moments;
pub mod precision;
mod ranks;
pub mod sections;
pub mod shape;
pub mod shift;
pub mod steady;
pub mod testing;
pub mod until;
