//! Stands in for many flows, whose cargo feature is off. [`crate::TestEnd::prepare`] has refused
//! them.

use std::os::fd::BorrowedFd;

use netperf_model::EndJob;
use netperf_os::{SockAddr, Socket};
use netperf_transport::place::Placed;

use crate::TestEnd;
use crate::error::EngineError;
use crate::live::Live;
use crate::path;
use crate::report::EndReport;
use crate::role::Role;

/// Addresses that netperf's flows connect to.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// netserver's sockets.
    pub(crate) there: Vec<SockAddr>,
    /// Addresses for connections that only receive.
    pub(crate) back: Vec<SockAddr>,
}

/// No further sockets.
pub(crate) fn further(_: &EndJob, _: &Placed) -> Result<(Vec<Socket>, Vec<u16>), EngineError> {
    Ok((Vec::new(), Vec::new()))
}

/// Refuses to run.
pub(crate) fn run<N: Role>(
    _: TestEnd<N>,
    _: &Targets,
    _: &[BorrowedFd<'_>],
    _: &Live,
) -> Result<EndReport, EngineError> {
    Err(path::not_built())
}
