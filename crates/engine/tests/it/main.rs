//! Integration tests, a module for each subject.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod arrivals;
mod endless;
mod job;
mod late;
mod sequence;
mod silence;
