//! The quality of a path under load: what a check measures, and what the times of its probes say.
//!
//! Values go in and values come out: nothing here has a socket, a clock or an output.

#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests compare what was written down")
)]

mod distribution;
mod documents;
mod evaluation;
pub mod flent;
mod grade;
mod last;
mod live;
mod load;
mod loss;
mod page;
mod parts;
mod probes;
mod profile;
mod rpm;
mod screen;
mod side;
mod stability;
mod summary;
mod words;

pub use distribution::{Increase, TimeDistribution, rank};
pub use documents::CheckSeries;
pub use grade::{Grade, GradeTable};
pub use last::{LastCheck, SinceLast};
pub use live::CheckProgress;
pub use load::{LoadLimit, LoadTruth, jain};
pub use loss::{DirectionLoss, share_interval};
pub use parts::{BusyCpus, Datagrams, PathEnd};
pub use probes::{DelayJitter, DscpFate, PathProbe, ProbeLateness, ProbeSet, SentAt};
pub use profile::{CheckPhase, Profile, ServiceClass};
pub use rpm::{Responsiveness, RpmFormula, RpmTimes, trimmed_mean};
pub use side::{FlowQueueing, QueueSide, SideIncreases};
pub use stability::{RpmConfidence, Stability};
#[cfg(feature = "schema")]
pub use summary::schema;
pub use summary::{
    CheckRole, CheckRuns, CheckSettings, CheckSummary, CheckWay, ClassLatency, ClassRate,
    LoadSummary, PhaseRuns, PhaseSummary, RunFailure,
};
pub use words::{CallsOutlook, PathVerdict, PhaseVerdict};
