//! The directions of bulk data both ways: each has the data path that it has alone.

use std::io;
use std::time::Duration;

use netperf_model::{EndJob, EndSetup, IoMethod, IoPlan};
use netperf_os::{SockAddr, Socket};
use netperf_transport::duplex::PathEndpoint;
use netperf_transport::io::{
    BatchedRecv, BatchedSend, ByRing, Discarding, OnRing, RingZeroCopy, ZeroCopy,
};
use netperf_transport::tcp::{Spliced, Tcp};
use netperf_transport::udp::ToPeer;

use crate::error::{EngineError, Operation};
use crate::path::{self, DataPath, PathClass};

/// Interval between looks around while nothing arrives on a single flow.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// One direction of an end, and how its calls are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathDirection {
    path: DataPath,
    sends: bool,
    io: IoPlan,
    setup: EndSetup,
    /// Number of flows of the end, whose calls never wait; `None` is a flow that waits in its calls.
    flows: Option<u32>,
}

impl PathDirection {
    /// The direction that sends, and the one that receives.
    pub(crate) fn both(job: &EndJob, class: PathClass, setup: &EndSetup) -> [Self; 2] {
        [true, false].map(|sends| {
            let job = job.direction(sends);
            Self {
                path: path::choose(&job, class),
                sends,
                io: job.end.io,
                setup: *setup,
                flows: job.flows.as_ref().map(|flows| flows.count),
            }
        })
    }

    /// True if each message is a call.
    pub(crate) fn is_plain(&self) -> bool {
        self.path == DataPath::Call
    }

    /// Method of waiting of a single flow, where the endpoint does not wait by itself.
    pub(crate) const fn method(&self) -> IoMethod {
        self.io.method
    }

    /// Names the cause of an endpoint that cannot be made.
    pub(crate) fn failed(self) -> impl FnOnce(io::Error) -> EngineError {
        move |error| match self.io.method {
            IoMethod::Uring => path::no_ring()(error),
            IoMethod::Blocking | IoMethod::Poll | IoMethod::Epoll if self.sends => {
                Operation::Send.failed()(error)
            }
            IoMethod::Blocking | IoMethod::Poll | IoMethod::Epoll => {
                Operation::Receive.failed()(error)
            }
        }
    }

    /// Longest wait of a call of a ring.
    fn patience(&self) -> Option<Duration> {
        let of_one = (!self.sends).then_some(LOOK);
        self.flows.map_or(of_one, |_| Some(Duration::ZERO))
    }

    fn by_ring<E: OnRing>(&self, endpoint: E) -> io::Result<ByRing<E>> {
        match self.flows {
            Some(_) => ByRing::of_both_ways(endpoint),
            None => ByRing::new(endpoint, self.patience(), false),
        }
    }

    /// Makes the endpoint on a socket of a byte stream (`to` is `None`), or on one of datagrams.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other paths are calls for each message"
    )]
    pub(crate) fn endpoint<const WHOLE: bool>(
        &self,
        socket: Socket,
        to: Option<&SockAddr>,
    ) -> io::Result<PathEndpoint<WHOLE>> {
        let (io, setup, at_once) = (&self.io, &self.setup, self.flows.is_some());
        let uring = io.method == IoMethod::Uring;
        // All flows together pin as much memory as one flow.
        let width = (setup.send_width / self.flows.unwrap_or(1).max(1)).max(2);
        Ok(match self.path {
            DataPath::ZeroCopy if at_once => {
                PathEndpoint::ZeroCopy(ZeroCopy::beside_others(socket, width)?)
            }
            DataPath::ZeroCopy => PathEndpoint::ZeroCopy(ZeroCopy::new(socket, width)?),
            DataPath::RingZeroCopy => {
                PathEndpoint::RingZeroCopy(RingZeroCopy::new(socket, width, self.patience())?)
            }
            DataPath::RingSend => {
                let to = (socket, to.cloned());
                PathEndpoint::RingSend(path::ring_send((io, setup), to, self.patience())?)
            }
            DataPath::RingRecv => {
                let tells = WHOLE && to.is_none();
                let ring = path::ring_recv((io, setup), socket, tells, self.patience())?;
                PathEndpoint::RingRecv(ring)
            }
            DataPath::BatchSend => {
                let (trains, size) = (path::trains(io), path::size(setup.send_size));
                let to = to.cloned();
                PathEndpoint::BatchedSend(BatchedSend::new(socket, to, trains, size)?)
            }
            DataPath::BatchRecv => {
                let (trains, space) = (path::trains(io), path::size(setup.recv_size));
                let batch = BatchedRecv::new(socket, trains, space, io.discard)?;
                PathEndpoint::BatchedRecv(batch)
            }
            DataPath::Discard if uring => {
                PathEndpoint::DiscardingByRing(self.by_ring(Discarding(socket))?)
            }
            DataPath::Discard if at_once => PathEndpoint::Discarding(Discarding(socket)),
            DataPath::Discard => PathEndpoint::Discarding(Discarding::gathering(socket)),
            DataPath::Splice => PathEndpoint::Spliced(Spliced::new(socket)?),
            _ if WHOLE => {
                // Of an end that answers, the first datagram tells the address.
                let own = || socket.local_addr();
                let to = to.map_or_else(own, |to| Ok(to.clone()))?;
                let endpoint = ToPeer { socket, to };
                if uring {
                    PathEndpoint::ToPeerByRing(self.by_ring(endpoint)?)
                } else {
                    PathEndpoint::ToPeer(endpoint)
                }
            }
            _ if uring => PathEndpoint::TcpByRing(self.by_ring(Tcp(socket))?),
            _ => PathEndpoint::Tcp(Tcp(socket)),
        })
    }

    /// Makes the endpoints of the flows of a thread, which share a pipe.
    pub(crate) fn endpoints(&self, sockets: Vec<Socket>) -> io::Result<Vec<PathEndpoint<false>>> {
        if self.path == DataPath::Splice {
            let spliced = Spliced::sharing(sockets)?;
            return Ok(spliced.into_iter().map(PathEndpoint::Spliced).collect());
        }
        let one = |socket| self.endpoint(socket, None);
        sockets.into_iter().map(one).collect()
    }
}
