//! The store of `netperf history` and `--history`.

use std::fmt::Display;

use netperf_history::{HistoryError, Location, Store, time};
use netperf_program::key::variable;
use netperf_program::output::{FAILED, Failure, INVALID};

/// A failure of `netperf history`.
#[must_use]
pub fn failure(exit: u8, problem: impl Display) -> Failure {
    Failure::stderr(exit, format_args!("netperf history: {problem}"))
}

/// The failure of an operation on stored results.
#[must_use]
pub fn store_failure(error: HistoryError) -> Failure {
    let exit = match error {
        HistoryError::Store { .. } | HistoryError::Damaged { .. } => FAILED,
        HistoryError::Absent(_)
        | HistoryError::Foreign(_)
        | HistoryError::Folder(_)
        | HistoryError::Newer { .. }
        | HistoryError::Place(_)
        | HistoryError::Document(_)
        | HistoryError::Unknown(_)
        | HistoryError::Ambiguous(_) => INVALID,
    };
    failure(exit, error)
}

/// Opens a store, or makes one.
///
/// # Errors
/// A store that cannot be opened.
pub fn open(asked: Option<&str>, make: bool) -> Result<Store, HistoryError> {
    Store::open(&place(asked)?, make)
}

/// Place of a store: the one asked for, or that of the environment.
///
/// # Errors
/// A place that cannot be read.
pub fn place(asked: Option<&str>) -> Result<Location, HistoryError> {
    Location::find(asked, &variable)
}

/// Now, in microseconds since 1970.
#[must_use]
pub fn now() -> i64 {
    time::micros(netperf_measure::clock::since_epoch().as_secs_f64()).unwrap_or(0)
}
