//! Many runs together: sets of results compared, and curves; summaries for
//! a person; inventories, manifests and runs of campaigns between many hosts.

mod figures;
mod several;
mod summary;
mod text;
mod verdicts;

pub mod agent;
pub mod campaign_change;
pub mod clock;
pub mod coordinator;
pub mod curve;
pub mod inventory;
pub mod join_pool;
pub mod manifest;
pub mod matrix;
pub mod outcome;
pub mod outliers;
pub mod pattern;
pub mod plan;
pub mod progress;
pub mod protocol;
pub mod schedule;
pub mod signs;
pub mod sweep;

pub mod compare;

pub use compare::{ChangeOutcome, ComparedFigure, Comparison, Incomparable, Set, Wish, compare};
pub use figures::{Better, RunFigure, of as figures};
pub use netperf_stats::compare::{Design, Judgement, fewest};
pub use several::Comparisons;
pub use summary::RunSummary;
pub use text::{Letters, percent};
pub use verdicts::verdicts;
