//! How sure a series of figures is, and whether two sets of runs differ.
//!
//! Nothing here measures: it judges what was measured, from values alone.

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
