//! The endpoints of the data paths.

use std::io;
use std::os::fd::AsFd as _;

use netperf_model::{EndJob, EndSetup};
use netperf_os::Socket;
use netperf_transport::io::while_sending::ReadWhileSending;
use netperf_transport::meeting::{Addresses as _, Parts as _};
use netperf_transport::tcp::{FromFile, Spliced, Tcp, Written};
use netperf_transport::udp::{Aimed, Udp};

use super::{Moved, OneFlow};
use crate::early::StopReceiver;
use crate::error::{EngineError, Operation};
use crate::path::{self, DataPath, by_method, by_polling};
use crate::role::Role;
use crate::stop::Ended;

impl<N: Role> OneFlow<'_, '_, N> {
    /// Runs the loop over a connected byte stream.
    pub(super) fn over_stream(
        &mut self,
        path: DataPath,
        data: Socket,
    ) -> Result<(Ended, Socket), EngineError> {
        let job = &self.work.job;
        match path {
            DataPath::OpenOnly => Ok((Ended::Complete, data)),
            DataPath::File if N::NETPERF => {
                let (offset, width) = (job.end.send.offset, self.work.setup.send_width);
                let file = self.work.file.take();
                let file = file.ok_or_else(|| Operation::Buffers.failed()(no_file()))?;
                self.send(FromFile::new(data, file, u64::from(offset), width))
            }
            DataPath::Splice => {
                let spliced = Spliced::new(data).map_err(Operation::Receive.failed())?;
                if !job.only_receives() {
                    return self.over(spliced);
                }
                by_polling!(&self.work.job, spliced, |endpoint| self.receive(endpoint))
            }
            DataPath::Write => self.over(Written(data)),
            DataPath::Call if N::NETPERF && fills_buffer(job, &self.work.setup) => {
                let most = in_flight(job).saturating_mul(path::size(job.response));
                let endpoint = ReadWhileSending::new(data, most, job.end.io.method.spins());
                let endpoint = endpoint.map_err(Operation::Buffers.failed())?;
                by_method!(job, None, endpoint, |endpoint| self.exchange(endpoint))
            }
            DataPath::Call => by_method!(job, None, Tcp(data), |endpoint| self.over(endpoint)),
            #[cfg(feature = "paths")]
            other => self.over_stream_by(other, data),
            #[cfg(not(feature = "paths"))]
            _ => Err(path::not_built()),
        }
    }

    /// Runs the loop over datagrams, one by one or many in a call.
    pub(super) fn over_datagrams<E: Aimed>(
        self,
        path: DataPath,
        how: &Udp<E>,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let job = &self.work.job;
        let asks = N::NETPERF || job.only_sends();
        if N::NETPERF {
            let to = self.target()?;
            self.stop.aimed(data.as_fd(), &to);
        } else if asks && job.end.until {
            let receiver = StopReceiver::at(data.as_fd(), job.peer.as_ref());
            let receiver = receiver.map_err(Operation::Create.failed())?;
            self.stop.listen(Some(receiver));
        }
        if !asks {
            return self.over_datagrams_of_any(path, how, data);
        }
        let endpoint = self.asking(how, data)?;
        match path {
            DataPath::Call => {
                by_method!(
                    &self.work.job,
                    self.work.job.recv_timeout,
                    endpoint,
                    |endpoint| self.addressed(endpoint)
                )
            }
            #[cfg(feature = "paths")]
            other => self.over_datagrams_by(other, endpoint),
            #[cfg(not(feature = "paths"))]
            _ => Err(path::not_built()),
        }
    }

    /// The same at netserver where it receives: from any address that it may.
    fn over_datagrams_of_any<E: Aimed>(
        self,
        path: DataPath,
        how: &Udp<E>,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let job = &self.work.job;
        match path {
            DataPath::Call => {
                let mut endpoint = how.answering(data).map_err(Operation::Create.failed())?;
                endpoint.take_only_from(&job.sources);
                endpoint.repeat(job.end.numbers, self.work.setup.send_size);
                by_method!(job, None, endpoint, |endpoint| self.answers(endpoint))
            }
            #[cfg(feature = "paths")]
            other => self.over_datagrams_of_any_by(other, data),
            #[cfg(not(feature = "paths"))]
            _ => Err(path::not_built()),
        }
    }
}

/// True if a burst of requests does not fit into the socket's buffer.
fn fills_buffer(job: &EndJob, setup: &EndSetup) -> bool {
    let asks = job.is_request_response() && job.end.rate.is_none();
    asks && job.burst > 0 && path::fills_buffer(in_flight(job), setup)
}

/// Requests that may be without a response at the same time.
fn in_flight(job: &EndJob) -> usize {
    path::size(Some(job.burst)).saturating_add(1)
}

fn no_file() -> io::Error {
    io::Error::other("there is no file to send")
}
