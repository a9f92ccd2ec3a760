//! Requests that are sent when they are due.

use std::os::fd::BorrowedFd;

use netperf_os::Socket;
use netperf_os::io::set_nonblocking;
use netperf_transport::Endpoint;
use netperf_transport::meeting::{OnSocket, Parts};

use super::{OneFlow, blame, needed};
use crate::due::clock::Polling;
use crate::error::{EngineError, Operation};
use crate::moved::Moved;
use crate::program::Program;
use crate::stop::Ended;
use crate::workload::open;

impl<P: Program> OneFlow<'_, '_, P> {
    /// Requests and responses over a connection.
    pub(super) fn open_loop<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let ended = self.ask_when_due(&mut endpoint)?;
        Ok((ended, endpoint.into_socket()))
    }

    /// Requests and responses as datagrams.
    pub(super) fn open_messages<E: Endpoint + OnSocket + Parts>(
        mut self,
        mut endpoint: E,
    ) -> Result<Moved, EngineError> {
        let ended = self.ask_when_due(&mut endpoint)?;
        Ok(self.parted(endpoint, ended))
    }

    fn ask_when_due<E: Endpoint + OnSocket>(
        &mut self,
        endpoint: &mut E,
    ) -> Result<Ended, EngineError> {
        // netserver only responds: a program without the other end does not contain this loop.
        if !self.is_netperf() {
            return Ok(Ended::Complete);
        }
        let Some(mut due) = self.work.due.take() else {
            // A job of such a test has one.
            return Ok(Ended::Complete);
        };
        let job = &self.work.job;
        let blame = blame(job);
        let clone = |fd: BorrowedFd<'_>| fd.try_clone_to_owned();
        let socket = clone(endpoint.fd()).map_err(Operation::Create.failed())?;
        let ticker = Polling::new(socket, job.end.io.method);
        let mut ticker = ticker.map_err(Operation::Create.failed())?;
        let patience = job
            .response_patience()
            .map(|patience| u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        set_nonblocking(endpoint.fd(), true).map_err(Operation::Create.failed())?;
        let (rings, run) = self.parts();
        let rings = (needed(&mut rings.send)?, needed(&mut rings.recv)?);
        let ended = open::client(endpoint, rings, &mut due, (&mut ticker, patience), run);
        // Calls after the loop block; a socket that is gone needs neither.
        drop(set_nonblocking(endpoint.fd(), false));
        self.work.due = Some(due);
        ended.map_err(blame)
    }
}
