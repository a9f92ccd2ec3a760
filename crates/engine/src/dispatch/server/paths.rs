//! The ways that byte streams and datagrams know besides one blocking call a message.

use std::io;
use std::os::fd::AsFd as _;

use netperf_model::{Ending, Feature, IoMethod, Stamper};
use netperf_os::{SockAddr, Socket};
use netperf_transport::Endpoint;
use netperf_transport::io::{
    BatchedRecv, BatchedSend, Discarding, RingRecv, RingSend, RingZeroCopy, Stamped, ZeroCopy,
};
use netperf_transport::meeting::{Addresses, Connects, OnSocket, Parts};
use netperf_transport::tcp::{Spliced, Tcp};
use netperf_transport::udp::{Aimed, Udp};

use super::{Going, UntilOdd, peer};
use crate::dispatch::{blame, loops, needed};
use crate::due::hooks::Hooks;
use crate::early::StopReceiver;
use crate::error::{EngineError, Operation};
use crate::limit::Limit;
use crate::paths;
use crate::server::{Served, Work};
use crate::stop::Ended;

impl Going<'_, '_> {
    /// Data over one connection, moved in one of the ways that a byte stream knows.
    pub(super) fn stream<C: Connects>(
        mut self,
        how: &C,
        listener: Socket,
    ) -> Result<Served, EngineError> {
        let endpoint = match self.accepted(how, listener)? {
            Ok(endpoint) => endpoint,
            Err(ended) => return Ok(Served::without_facts(ended)),
        };
        self.begin(&endpoint)?;
        let data = endpoint.into_socket();
        let flow = self.work.job.test_flow();
        let (io, copies) = (self.work.job.end.io, !self.work.job.end.copy_avoidance);
        let receives_only = flow.sends && !flow.receives;
        let pairs = paths::pairs(flow, &self.work.job.end);
        let (ended, data) = if !copies && flow.sends {
            let spliced = Spliced::new(data).map_err(Operation::Receive.failed())?;
            self.serve(spliced)?
        } else if io.splice && receives_only {
            let spliced = Spliced::new(data).map_err(Operation::Receive.failed())?;
            by_polling!(io, spliced, |endpoint| self.receive(endpoint)?)
        } else if paths::by_ring(&io) && receives_only {
            let endpoint = self.ring_recv(data, false)?;
            self.receive(endpoint)?
        } else if paths::by_ring(&io) && self.only_sends() {
            let endpoint = self.ring_send(data, None)?;
            self.send(endpoint)?
        } else if io.discard && receives_only {
            by_method!(io, None, Discarding::gathering(data), |endpoint| self
                .receive(endpoint)?)
        } else if io.zerocopy && self.only_sends() && io.method == IoMethod::Uring {
            let endpoint = RingZeroCopy::new(data, self.work.setup.send_width);
            self.send(endpoint.map_err(no_ring())?)?
        } else if io.zerocopy && self.only_sends() {
            let endpoint = ZeroCopy::new(data, self.work.setup.send_width);
            self.send(endpoint.map_err(Operation::Send.failed())?)?
        } else if let Some(by) = self.work.job.end.stamps {
            let endpoint = Stamped::stream(data, false, by).map_err(no_stamps(by))?;
            self.serve(endpoint)?
        } else {
            by_method!(io, None, pairs, Tcp(data), |endpoint| self
                .serve(endpoint)?)
        };
        Ok(self.served(ended, &data))
    }

    /// Receives until netperf ends the connection.
    pub(super) fn receive<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.job.test_flow();
        let (work, mut run) = self.parts();
        run.limit = Limit::NONE;
        let ended = loops::receive(&mut endpoint, needed(&mut work.rings.recv)?, run);
        let ended = ended.map_err(blame(flow))?;
        self.settled(&mut endpoint);
        Ok((ended, endpoint.into_socket()))
    }

    /// Sends for as long as the request says.
    pub(super) fn send<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.job.test_flow();
        let (work, run) = self.parts();
        let ended = loops::send(&mut endpoint, needed(&mut work.rings.send)?, run);
        self.hooks.over();
        // Over a connection that promises nothing netperf goes when its time is over, and
        // what is still on its way finds nobody.
        let unreliable = !self.work.job.transport.row().reliable;
        let ended = match ended {
            Err(error) if unreliable && is_gone(&error) => Ended::ByPeer,
            other => other.map_err(blame(flow))?,
        };
        self.settled(&mut endpoint);
        Ok((ended, endpoint.into_socket()))
    }

    /// What went on underneath the messages, once the kernel has given back what it
    /// borrowed, and what netserver closes first has arrived.
    pub(super) fn settled<E: Endpoint>(&mut self, endpoint: &mut E) {
        endpoint.reclaim();
        endpoint.settle();
        self.work.counts = endpoint.counts();
        self.work.stamps = endpoint.stamps();
    }

    /// Datagrams, one by one or many in a call.
    pub(super) fn datagrams<E: Aimed>(
        mut self,
        how: &Udp<E>,
        data: Socket,
    ) -> Result<Served, EngineError> {
        let job = &self.work.job;
        let io = job.end.io;
        let one_way = !job.test_flow().is_request_response() && job.ending == Ending::Omni;
        let many = one_way && (io.is_batched() || io.discard);
        if self.only_sends() {
            self.listen_at(&data)?;
            let endpoint = self.asking(how, data)?;
            if many && paths::by_ring(&io) {
                let (socket, to) = endpoint.into_parts();
                let endpoint = self.ring_send(socket, to)?;
                self.sends_only(endpoint)
            } else if many {
                let endpoint = self.batched_send(endpoint)?;
                by_polling!(io, endpoint, |endpoint| self.sends_only(endpoint))
            } else {
                by_method!(io, None, endpoint, |endpoint| self.sends_only(endpoint))
            }
        } else if many && paths::by_ring(&io) {
            let endpoint = self.ring_recv(data, true)?;
            self.receives_only(endpoint)
        } else if many {
            let endpoint = self.batched_recv(data)?;
            by_polling!(io, endpoint, |endpoint| self.receives_only(endpoint))
        } else if let Some(by) = job.end.stamps {
            let endpoint = Stamped::answering(data, by).map_err(no_stamps(by))?;
            self.answers(endpoint)
        } else {
            let mut endpoint = how.answering(data).map_err(Operation::Create.failed())?;
            endpoint.take_only_from(&job.sources);
            let pairs = paths::pairs(job.test_flow(), &job.end);
            by_method!(io, None, pairs, endpoint, |endpoint| self.answers(endpoint))
        }
    }

    /// Hears by this socket that netperf has had enough, where it may end the run.
    fn listen_at(&mut self, data: &Socket) -> Result<(), EngineError> {
        let job = &self.work.job;
        if job.end.until {
            let stop_receiver = StopReceiver::at(data.as_fd(), job.peer.as_ref());
            let stop_receiver = stop_receiver.map_err(Operation::Create.failed())?;
            self.stop.listen(Some(stop_receiver));
        }
        Ok(())
    }

    pub(super) fn only_sends(&self) -> bool {
        let flow = self.work.job.test_flow();
        flow.receives && !flow.sends
    }

    /// An end that sends before it was written to.
    pub(super) fn asking<A: Addresses>(
        &self,
        how: &A,
        data: Socket,
    ) -> Result<A::Asking, EngineError> {
        how.asking(data, peer(&self.work.job)?)
            .map_err(Operation::Connect.failed())
    }

    fn ring_send(&self, socket: Socket, to: Option<SockAddr>) -> Result<RingSend, EngineError> {
        let size = paths::size(self.work.setup.send_size);
        let width = paths::width(&self.work.job.end.io);
        RingSend::new(socket, to, width, size).map_err(no_ring())
    }

    fn ring_recv(&self, socket: Socket, tells: bool) -> Result<RingRecv, EngineError> {
        let io = &self.work.job.end.io;
        let room = paths::trains(io).slot(paths::size(self.work.setup.recv_size));
        RingRecv::new(socket, paths::width(io), room, tells).map_err(no_ring())
    }

    fn batched_send<E: Aimed>(&self, endpoint: E) -> Result<BatchedSend, EngineError> {
        let (socket, to) = endpoint.into_parts();
        let trains = paths::trains(&self.work.job.end.io);
        let datagram = paths::size(self.work.setup.send_size);
        BatchedSend::new(socket, to, trains, datagram).map_err(Operation::Send.failed())
    }

    fn batched_recv(&self, socket: Socket) -> Result<BatchedRecv, EngineError> {
        let io = &self.work.job.end.io;
        let room = paths::size(self.work.setup.recv_size);
        BatchedRecv::new(socket, paths::trains(io), room, io.discard)
            .map_err(Operation::Receive.failed())
    }

    pub(super) fn sends_only<E: Parts>(mut self, mut endpoint: E) -> Result<Served, EngineError> {
        let flow = self.work.job.test_flow();
        let (Work { rings, .. }, run) = self.parts();
        let ring = needed(&mut rings.send)?;
        let ended = match loops::send(&mut endpoint, ring, run) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ended::ByPeer,
            other => other.map_err(blame(flow))?,
        };
        self.hooks.over();
        // What closes the socket now is to be the last that holds it.
        self.stop.listen(None);
        self.work.counts = endpoint.counts();
        let facts = endpoint.facts();
        drop(endpoint.part());
        Ok(Served {
            facts,
            ..Served::without_facts(ended)
        })
    }

    fn receives_only<E: Parts>(mut self, mut endpoint: E) -> Result<Served, EngineError> {
        let flow = self.work.job.test_flow();
        let (Work { rings, .. }, run) = self.parts();
        let ended = loops::receive(&mut endpoint, needed(&mut rings.recv)?, run);
        let ended = ended.map_err(blame(flow))?;
        self.work.counts = endpoint.counts();
        tell_if_abandoned(endpoint, ended);
        Ok(Served::without_facts(ended))
    }

    pub(super) fn answers<E: Parts>(mut self, answering: E) -> Result<Served, EngineError> {
        let (Work { job, rings, .. }, run) = self.parts();
        let mut endpoint = UntilOdd {
            inner: answering,
            length: match job.ending {
                Ending::Omni => None,
                Ending::OddDatagram(length) => usize::try_from(length).ok(),
                Ending::Silence(length) => length.and_then(|length| usize::try_from(length).ok()),
            },
        };
        let ended = if job.test_flow().is_request_response() {
            let rings = (needed(&mut rings.recv)?, needed(&mut rings.send)?);
            loops::answer(&mut endpoint, rings, run)
        } else {
            loops::receive(&mut endpoint, needed(&mut rings.recv)?, run)
        };
        let ended = ended.map_err(blame(job.test_flow()))?;
        endpoint.inner.reclaim();
        let counts = endpoint.inner.counts();
        let stamps = endpoint.inner.stamps();
        let idle = endpoint.inner.waited_in_vain();
        tell_if_abandoned(endpoint.inner, ended);
        self.work.counts = counts;
        self.work.stamps = stamps;
        Ok(Served {
            idle,
            ..Served::without_facts(ended)
        })
    }
}

/// The client's own end marks never came, so it may be waiting for one.
fn tell_if_abandoned<E: Parts>(endpoint: E, ended: Ended) {
    if ended == Ended::Abandoned {
        drop(endpoint.part());
    }
}

/// Wraps the refusal of stamps.
fn no_stamps(by: Stamper) -> impl FnOnce(io::Error) -> EngineError {
    Operation::Extra(by.feature()).failed()
}

/// Wraps the refusal of a ring.
fn no_ring() -> impl FnOnce(io::Error) -> EngineError {
    Operation::Extra(Feature::Uring).failed()
}

/// Whether the other end has closed the connection.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected
    )
}
