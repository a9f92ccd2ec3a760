//! Statistics of series, of sets of runs and of tables: intervals, warm-up, shape, comparison,
//! changes, outliers.
//!
//! It works on values alone and measures nothing.

pub mod compare;
pub mod discovery;
pub mod moments;
pub mod polish;
pub mod precision;
pub mod random;
mod ranks;
pub mod sections;
pub mod shape;
pub mod shift;
pub mod steady;
pub mod testing;
pub mod until;
