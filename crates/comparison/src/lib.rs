//! Runs compared: sets of results, curves of sweeps, and the summary of a run for a person.

mod figures;
mod several;
mod summary;
mod text;
mod verdicts;

pub mod compare;
pub mod curve;
pub mod sweep;

pub use compare::{ChangeOutcome, ComparedFigure, Comparison, Incomparable, Set, Wish, compare};
pub use figures::{Better, RunFigure, of as figures};
pub use netperf_stats::compare::{Design, Judgement, fewest};
pub use several::Comparisons;
pub use summary::RunSummary;
pub use text::{Letters, percent};
pub use verdicts::{in_turn, verdicts};
