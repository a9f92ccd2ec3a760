//! Many runs together: sets of results, compared.

mod figures;
mod text;

pub mod curve;
pub mod sweep;

pub mod compare;

pub use compare::{Comparison, Incomparable, Outcome, Row, Set, Wish, compare};
pub use figures::{Better, Figure, of as figures};
pub use netperf_stats::compare::{Design, Judgement};
