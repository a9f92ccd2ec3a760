//! The endpoints of the data paths.

use std::io;
use std::os::fd::AsFd as _;

use netperf_model::{EndJob, EndSetup, IoMethod};
use netperf_os::Socket;
use netperf_transport::io::while_sending::ReadWhileSending;
use netperf_transport::meeting::{Addresses as _, Parts as _};
use netperf_transport::tcp::{FromFile, Spliced, Tcp, Written};
use netperf_transport::udp::{Aimed, Udp};

use super::{Moved, OneFlow};
use crate::early::StopReceiver;
use crate::error::{EngineError, Operation};
#[cfg(not(feature = "paths"))]
use crate::path;
use crate::path::{DataPath, by_method, by_polling};
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
            DataPath::Call if N::NETPERF && fills_buffers(job, &self.work.setup) => {
                let most = in_flight(job, job.response);
                let endpoint = ReadWhileSending::new(data, most);
                self.exchange(endpoint.map_err(Operation::Buffers.failed())?)
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

/// True if the requests in flight may not fit into the socket's buffer, so that both ends could
/// wait in send(2) for each other.
fn fills_buffers(job: &EndJob, setup: &EndSetup) -> bool {
    let plain = job.end.io.method == IoMethod::Blocking && job.end.rate.is_none();
    let room = setup.send_buffer.map_or(0, |bytes| bytes / 2);
    let requests = in_flight(job, job.request);
    plain && job.is_request_response() && job.burst > 0 && requests > to_usize(room)
}

/// Bytes of all messages of this size in flight.
fn in_flight(job: &EndJob, size: Option<u32>) -> usize {
    to_usize(size.unwrap_or(0)).saturating_mul(to_usize(job.burst).saturating_add(1))
}

fn to_usize(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn no_file() -> io::Error {
    io::Error::other("there is no file to send")
}
