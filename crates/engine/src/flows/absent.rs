//! Stands in for many flows, whose cargo feature is off. [`crate::TestEnd::prepare`] has refused
//! them.

use std::os::fd::BorrowedFd;

use netperf_model::EndJob;
use netperf_os::Socket;
use netperf_transport::place::Placed;

use crate::error::EngineError;
use crate::live::Live;
use crate::path;
use crate::program::Program;
use crate::report::EndReport;
use crate::run::{Targets, TestEnd};

/// No further sockets.
pub(crate) fn further(_: &EndJob, _: &Placed) -> Result<(Vec<Socket>, Vec<u16>), EngineError> {
    Ok((Vec::new(), Vec::new()))
}

/// Refuses to run.
pub(crate) fn run<P: Program>(
    _: TestEnd<P>,
    _: &Targets,
    _: &[BorrowedFd<'_>],
    _: &Live,
) -> Result<EndReport, EngineError> {
    Err(path::not_built())
}
