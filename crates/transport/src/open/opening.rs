//! Options of the endpoints of a job, and making of each.

use std::fs::File;
use std::io;
use std::time::Duration;

use netperf_model::{EndJob, EndSetup, IoMethod, IoPlan, Stamper};
use netperf_os::{SockAddr, Socket};

use super::visit::MakeEndpoint;
use crate::io::batch::Trains;
use crate::io::while_sending::ReadWhileSending;
use crate::io::{
    BatchedRecv, BatchedSend, ByRing, Discarding, OnRing, RingRecv, RingSend, RingZeroCopy,
    ZeroCopy,
};
use crate::tcp::{FromFile, Spliced};

/// A size that preparing derived.
#[must_use]
pub fn size(size: Option<u32>) -> usize {
    size.and_then(|size| usize::try_from(size).ok())
        .unwrap_or(0)
}

/// Number of datagrams per call.
#[must_use]
pub fn trains(io: &IoPlan) -> Trains {
    Trains {
        messages: io.batch.unwrap_or(1),
        segments: io.segments,
    }
}

/// Returns true if this many requests may not fit into the socket's send buffer, so that both ends
/// could wait in send(2) for each other.
#[must_use]
pub fn fills_buffer(requests: usize, setup: &EndSetup) -> bool {
    requests.saturating_mul(size(setup.send_size)) > size(setup.send_buffer) / 2
}

/// Waiting party where a call would block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// The only flow of a thread waits in its calls; they return after this time.
    InCalls(Option<Duration>),
    /// A thread waits for so many flows together; calls of a ring return after this time.
    Together(u32, Duration),
}

/// The step of opening that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenStep {
    /// Setting up the socket.
    Socket,
    /// Getting memory or files.
    Buffers,
    /// Making a ring of io_uring.
    Ring,
    /// Setting up a way to send.
    Send,
    /// Setting up a way to receive.
    Receive,
    /// Asking for time stamps.
    Stamps(Stamper),
}

/// An endpoint that cannot be opened.
#[derive(Debug)]
pub struct OpenError {
    /// The step that failed.
    pub step: OpenStep,
    /// Why it failed.
    pub error: io::Error,
}

/// Result of opening.
pub type Opened<T> = Result<T, OpenError>;

impl OpenStep {
    /// Wraps an error; meant for `map_err`.
    pub(super) fn failed(self) -> impl FnOnce(io::Error) -> OpenError {
        move |error| OpenError { step: self, error }
    }
}

/// Options of the endpoints of a job.
#[derive(Clone, Copy, Debug)]
pub struct EndpointOptions<'a> {
    /// Method of moving bytes.
    pub io: IoPlan,
    /// Sizes of messages and buffers.
    pub setup: EndSetup,
    /// Waiting party.
    pub waits: WaitMode,
    /// Time after which a response counts as lost.
    pub recv_timeout: Option<Duration>,
    /// It only receives.
    pub only_receives: bool,
    /// It uses write(2) rather than send(2).
    pub use_write: bool,
    /// The other end is known to end the connection.
    pub has_peer: bool,
    /// A receive follows every send at once, without a wait in between.
    pub puts_off: bool,
    /// Bytes of responses that may come before all requests are sent, where both ends could wait in
    /// send(2) for each other.
    pub early_responses: Option<usize>,
    /// Bytes of a request that its response repeats.
    pub repeats: Option<u8>,
    /// The file that is sent, and where it begins.
    pub file: Option<(&'a File, u64)>,
}

impl EndpointOptions<'_> {
    /// Values derived from a job and its sizes.
    #[must_use]
    pub fn of(job: &EndJob, setup: &EndSetup, waits: WaitMode) -> Self {
        let exchanges = job.is_request_response();
        let pairs = exchanges && job.end.pace.is_none_or(|pace| pace.burst == 0);
        // A thread of many flows may wait between a send and the receive that follows.
        let receives_at_once = match waits {
            WaitMode::InCalls(_) => true,
            WaitMode::Together(..) => {
                job.burst == 0 && job.end.rate.is_none() && job.response_patience().is_none()
            }
        };
        let in_flight = size(Some(job.burst)).saturating_add(1);
        let is_burst = exchanges && job.end.rate.is_none() && job.burst > 0;
        let may_fill = job.is_netperf() && is_burst && fills_buffer(in_flight, setup);
        Self {
            io: job.end.io,
            setup: *setup,
            waits,
            recv_timeout: job.recv_timeout,
            only_receives: job.only_receives(),
            use_write: job.use_write && job.duplex.is_none(),
            has_peer: job.has_peer,
            puts_off: pairs && receives_at_once,
            early_responses: may_fill.then(|| in_flight.saturating_mul(size(job.response))),
            repeats: job.end.numbers,
            file: None,
        }
    }

    /// Number of flows of the thread.
    pub(super) const fn flows(&self) -> u32 {
        match self.waits {
            WaitMode::InCalls(_) => 1,
            WaitMode::Together(flows, _) => flows,
        }
    }

    /// Longest wait of a call of a ring.
    pub(super) const fn patience(&self) -> Option<Duration> {
        match self.waits {
            WaitMode::InCalls(patience) => patience,
            WaitMode::Together(_, most) => Some(most),
        }
    }

    pub(super) fn is_by_ring(&self) -> bool {
        self.io.method == IoMethod::Uring
    }

    /// Buffers that a flow may have lent to the kernel: all flows together pin as much memory as one.
    fn zerocopy_width(&self) -> u32 {
        (self.setup.send_width / self.flows().max(1)).max(2)
    }

    pub(super) fn by_ring<E: OnRing>(
        &self,
        inner: E,
        patience: Option<Duration>,
    ) -> Opened<ByRing<E>> {
        let ring = match self.waits {
            WaitMode::InCalls(_) => ByRing::new(inner, patience, self.puts_off),
            WaitMode::Together(_, Duration::ZERO) => ByRing::of_both_ways(inner),
            WaitMode::Together(_, most) => ByRing::of_flow(inner, most, self.puts_off),
        };
        ring.map_err(OpenStep::Ring.failed())
    }

    pub(super) fn early_reader(&self, socket: Socket, most: usize) -> Opened<ReadWhileSending> {
        let reader = ReadWhileSending::new(socket, most, self.io.method.spins());
        reader.map_err(OpenStep::Buffers.failed())
    }

    pub(super) fn file_sender(&self, socket: Socket) -> Opened<FromFile> {
        let missing = || io::Error::other("there is no file to send");
        let (file, offset) = self
            .file
            .ok_or_else(missing)
            .map_err(OpenStep::Buffers.failed())?;
        let file = file.try_clone().map_err(OpenStep::Buffers.failed())?;
        let width = self.setup.send_width;
        Ok(FromFile::new(socket, file, offset, width))
    }

    pub(super) fn discarding(&self, socket: Socket) -> Discarding {
        match self.waits {
            // The last bytes are reported when the connection ends.
            WaitMode::InCalls(_) if self.has_peer => Discarding::gathering(socket),
            WaitMode::InCalls(_) | WaitMode::Together(..) => Discarding(socket),
        }
    }

    pub(super) fn zero_copy(&self, socket: Socket) -> Opened<ZeroCopy> {
        let width = self.zerocopy_width();
        let endpoint = match self.waits {
            WaitMode::InCalls(_) => ZeroCopy::new(socket, width),
            WaitMode::Together(..) => ZeroCopy::beside_others(socket, width),
        };
        endpoint.map_err(OpenStep::Send.failed())
    }

    pub(super) fn ring_zero_copy(&self, socket: Socket) -> Opened<RingZeroCopy> {
        RingZeroCopy::new(socket, self.zerocopy_width(), self.patience())
            .map_err(OpenStep::Ring.failed())
    }

    pub(super) fn ring_send<const WHOLE: bool>(
        &self,
        (socket, to): (Socket, Option<SockAddr>),
    ) -> Opened<RingSend<WHOLE>> {
        let message = size(self.setup.send_size);
        let many = (size(self.io.batch).max(1), trains(&self.io).train(message));
        let ring = RingSend::new(socket, to, many, self.patience()).and_then(|ring| {
            if self.io.segments {
                ring.cut_into(message)
            } else {
                Ok(ring)
            }
        });
        ring.map_err(OpenStep::Ring.failed())
    }

    /// Messages have a source to answer where it `tells`.
    pub(super) fn ring_recv(&self, socket: Socket, tells: bool) -> Opened<RingRecv> {
        let space = trains(&self.io).slot(size(self.setup.recv_size));
        let many = (size(self.io.batch).max(1), space);
        let ring = if self.io.segments {
            RingRecv::put_together(socket, many, self.patience())
        } else {
            RingRecv::new(socket, many, tells, self.patience())
        };
        ring.map_err(OpenStep::Ring.failed())
    }

    pub(super) fn batched_send(
        &self,
        (socket, to): (Socket, Option<SockAddr>),
    ) -> Opened<BatchedSend> {
        BatchedSend::new(socket, to, trains(&self.io), size(self.setup.send_size))
            .map_err(OpenStep::Send.failed())
    }

    pub(super) fn batched_recv(&self, socket: Socket) -> Opened<BatchedRecv> {
        let space = size(self.setup.recv_size);
        BatchedRecv::new(socket, trains(&self.io), space, self.io.discard)
            .map_err(OpenStep::Receive.failed())
    }
}

/// Makes endpoints that splice; those of a thread share a pipe.
#[derive(Clone, Copy, Debug)]
pub(super) struct MakeSpliced;

impl MakeEndpoint<Socket> for MakeSpliced {
    type Endpoint = Spliced;

    fn one(&self, socket: Socket) -> Opened<Spliced> {
        Spliced::new(socket).map_err(OpenStep::Receive.failed())
    }

    fn many(&self, sockets: Vec<Socket>) -> Opened<Vec<Spliced>> {
        Spliced::sharing(sockets).map_err(OpenStep::Receive.failed())
    }
}
