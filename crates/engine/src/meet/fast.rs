//! The data paths beyond a call for each message.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other paths are calls, which every build has"
)]

use netperf_model::IoMethod;
use netperf_os::{SockAddr, Socket};
use netperf_transport::io::{
    BatchedRecv, BatchedSend, ByRing, Discarding, RingRecv, RingSend, RingZeroCopy, Stamped,
    ZeroCopy,
};
use netperf_transport::tcp::{Tcp, Written};
use netperf_transport::udp::Aimed;

use super::{Moved, OneFlow};
use crate::error::{EngineError, Operation};
use crate::path::{self, DataPath, by_method, by_polling, no_ring, no_stamps};
use crate::role::Role;
use crate::stop::Ended;

impl<N: Role> OneFlow<'_, '_, N> {
    /// Runs the loop over a connected byte stream.
    pub(super) fn over_stream_by(
        &mut self,
        path: DataPath,
        data: Socket,
    ) -> Result<(Ended, Socket), EngineError> {
        let job = &self.work.job;
        match path {
            DataPath::RingRecv => {
                let endpoint = self.ring_recv(data, false)?;
                self.receive(endpoint)
            }
            DataPath::RingSend => {
                let endpoint = self.ring_send::<false>(data, None)?;
                self.send(endpoint)
            }
            DataPath::Discard => {
                // Only netserver and netperf promise to end the connection.
                let endpoint = if job.has_peer {
                    Discarding::gathering(data)
                } else {
                    Discarding(data)
                };
                by_method!(job, None, endpoint, |endpoint| self.receive(endpoint))
            }
            DataPath::RingZeroCopy => {
                let endpoint = RingZeroCopy::new(data, self.work.setup.send_width, None);
                self.send(endpoint.map_err(no_ring())?)
            }
            DataPath::ZeroCopy => {
                let endpoint = ZeroCopy::new(data, self.work.setup.send_width);
                self.send(endpoint.map_err(Operation::Send.failed())?)
            }
            DataPath::Stamped(by) => {
                let endpoint = Stamped::stream(data, N::NETPERF, (by, 1));
                self.over(endpoint.map_err(no_stamps(by))?)
            }
            DataPath::OpenLoop if job.use_write => self.open_loop(Written(data)),
            _ if job.end.io.method == IoMethod::Uring => {
                let endpoint = ByRing::of_both_ways(Tcp(data));
                self.open_loop(endpoint.map_err(no_ring())?)
            }
            _ => self.open_loop(Tcp(data)),
        }
    }

    /// Runs the loop over datagrams to and from one address.
    pub(super) fn over_datagrams_by<E: Aimed>(
        self,
        path: DataPath,
        endpoint: E,
    ) -> Result<Moved, EngineError> {
        let job = &self.work.job;
        match path {
            DataPath::Stamped(by) => {
                let (socket, to) = endpoint.into_parts();
                let endpoint = Stamped::asking(socket, to, (by, 1)).map_err(no_stamps(by))?;
                self.addressed(endpoint)
            }
            DataPath::RingSend => {
                let (socket, to) = endpoint.into_parts();
                let endpoint = self.ring_send::<true>(socket, to)?;
                self.send_messages(endpoint)
            }
            DataPath::BatchSend => {
                let endpoint = self.batched_send(endpoint.into_parts())?;
                by_polling!(job, endpoint, |endpoint| self.send_messages(endpoint))
            }
            DataPath::RingRecv => {
                let endpoint = self.ring_recv(endpoint.into_parts().0, true)?;
                self.receive_messages(endpoint)
            }
            DataPath::BatchRecv => {
                let endpoint = self.batched_recv(endpoint.into_parts().0)?;
                by_polling!(job, endpoint, |endpoint| self.receive_messages(endpoint))
            }
            _ if job.end.io.method == IoMethod::Uring => {
                let endpoint = ByRing::of_both_ways(endpoint);
                self.open_messages(endpoint.map_err(no_ring())?)
            }
            _ => self.open_messages(endpoint),
        }
    }

    /// Runs netserver's loop over datagrams from any address.
    pub(super) fn over_datagrams_of_any_by(
        self,
        path: DataPath,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let job = &self.work.job;
        match path {
            DataPath::RingRecv => {
                let endpoint = self.ring_recv(data, true)?;
                self.receive_messages(endpoint)
            }
            DataPath::Stamped(by) => {
                let endpoint = Stamped::answering(data, (by, 1)).map_err(no_stamps(by))?;
                self.answers(endpoint)
            }
            _ => {
                let endpoint = self.batched_recv(data)?;
                by_polling!(job, endpoint, |endpoint| self.receive_messages(endpoint))
            }
        }
    }

    fn ring_send<const WHOLE: bool>(
        &self,
        socket: Socket,
        to: Option<SockAddr>,
    ) -> Result<RingSend<WHOLE>, EngineError> {
        let plan = (&self.work.job.end.io, &self.work.setup);
        path::ring_send(plan, (socket, to), None).map_err(no_ring())
    }

    fn ring_recv(&self, socket: Socket, tells: bool) -> Result<RingRecv, EngineError> {
        let plan = (&self.work.job.end.io, &self.work.setup);
        path::ring_recv(plan, socket, tells, None).map_err(no_ring())
    }

    fn batched_send(
        &self,
        (socket, to): (Socket, Option<SockAddr>),
    ) -> Result<BatchedSend, EngineError> {
        let trains = path::trains(&self.work.job.end.io);
        let datagram = path::size(self.work.setup.send_size);
        BatchedSend::new(socket, to, trains, datagram).map_err(Operation::Send.failed())
    }

    fn batched_recv(&self, socket: Socket) -> Result<BatchedRecv, EngineError> {
        let io = &self.work.job.end.io;
        let space = path::size(self.work.setup.recv_size);
        BatchedRecv::new(socket, path::trains(io), space, io.discard)
            .map_err(Operation::Receive.failed())
    }
}
