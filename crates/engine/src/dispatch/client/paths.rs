//! The ways that byte streams and datagrams know besides one blocking call a message.

use std::os::fd::AsFd as _;

use netperf_model::{Feature, IoMethod, Stamper, TestId};
use netperf_os::{SockAddr, Socket};
use netperf_transport::Endpoint;
use netperf_transport::io::{
    BatchedRecv, BatchedSend, Discarding, RingRecv, RingSend, RingZeroCopy, Stamped, ZeroCopy,
};
use netperf_transport::meeting::{Addresses, Connects, OnSocket, Parted, Parts};
use netperf_transport::socket;
use netperf_transport::tcp::{FromFile, Spliced, Tcp, Written};
use netperf_transport::udp::{Aimed, Udp};

use super::{Going, Seen};
use crate::client::Moved;
use crate::dispatch::{blame, loops, needed};
use crate::due::hooks::Hooks;
use crate::error::{EngineError, Operation};
use crate::paths;
use crate::stop::Ended;

impl Going<'_, '_, '_> {
    /// Data over one connection, moved in one of the many ways that a byte stream knows.
    pub(super) fn stream<C: Connects>(
        mut self,
        how: &C,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let Some(endpoint) = self.connect(how, data)? else {
            return Ok(Moved::nothing(Ended::Abandoned));
        };
        let seen = self.connected(&endpoint)?;
        let (plan, data) = (self.work.plan, endpoint.into_socket());
        let only_receives = plan.flow.receives && !plan.flow.sends;
        let only_sends = plan.flow.sends && !plan.flow.receives;
        let (ended, data) = if plan.test == TestId::TcpMss {
            (Ended::Complete, data)
        } else if let Some(file) = self.work.file.take() {
            let (offset, width) = (plan.local.send.offset, self.work.setup.send_width);
            let endpoint = FromFile::new(data, file, u64::from(offset), width);
            self.send(endpoint)?
        } else if only_receives && (plan.local.copy_avoidance || plan.local.io.splice) {
            let spliced = Spliced::new(data).map_err(Operation::Receive.failed())?;
            by_polling!(plan.local.io, spliced, |endpoint| self.receive(endpoint)?)
        } else if only_receives && paths::by_ring(&plan.local.io) {
            let endpoint = self.ring_recv(data, false)?;
            self.receive(endpoint)?
        } else if only_sends && paths::by_ring(&plan.local.io) {
            let endpoint = self.ring_send(data, None)?;
            self.send(endpoint)?
        } else if only_receives && plan.local.io.discard {
            // Nobody promises an end that comes without netserver.
            let endpoint = if plan.control.is_some() {
                Discarding::gathering(data)
            } else {
                Discarding(data)
            };
            by_method!(plan.local.io, None, endpoint, |endpoint| self
                .receive(endpoint)?)
        } else if only_sends && plan.local.io.zerocopy && plan.local.io.method == IoMethod::Uring {
            let endpoint = RingZeroCopy::new(data, self.work.setup.send_width);
            self.send(endpoint.map_err(no_ring())?)?
        } else if only_sends && plan.local.io.zerocopy {
            let endpoint = ZeroCopy::new(data, self.work.setup.send_width);
            self.send(endpoint.map_err(Operation::Send.failed())?)?
        } else if let Some(by) = plan.local.stamps {
            let endpoint = Stamped::stream(data, true, by).map_err(no_stamps(by))?;
            self.over(endpoint)?
        } else if self.work.due.is_some() && !plan.use_write {
            self.open_loop(Tcp(data))?
        } else if plan.use_write {
            self.over(Written(data))?
        } else {
            let pairs = paths::pairs(plan.flow, &plan.local);
            by_method!(plan.local.io, None, pairs, Tcp(data), |endpoint| self
                .over(endpoint)?)
        };
        Ok(self.parted(data, ended, C::PARTING, seen))
    }

    /// Datagrams to an address, one by one or many in a call.
    pub(super) fn datagrams<E: Aimed>(
        self,
        how: &Udp<E>,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let plan = self.work.plan;
        let (io, flow) = (plan.local.io, plan.flow);
        self.stop.aimed(data.as_fd(), &self.to);
        let connecting = Operation::Connect.failed();
        let endpoint = how.asking(data, self.to.clone()).map_err(connecting)?;
        if let Some(by) = plan.local.stamps {
            let (socket, to) = endpoint.into_parts();
            let endpoint = Stamped::asking(socket, to, by).map_err(no_stamps(by))?;
            self.addressed(endpoint)
        } else if self.work.due.is_some() {
            self.open_messages(endpoint)
        } else if flow.is_request_response() || !(io.is_batched() || io.discard) {
            let pairs = paths::pairs(flow, &plan.local);
            by_method!(io, plan.recv_timeout, pairs, endpoint, |endpoint| self
                .addressed(endpoint))
        } else if paths::by_ring(&io) {
            let (socket, to) = endpoint.into_parts();
            if flow.sends {
                let endpoint = self.ring_send(socket, to)?;
                self.send_messages(endpoint)
            } else {
                let endpoint = self.ring_recv(socket, true)?;
                self.receive_messages(endpoint)
            }
        } else if flow.sends {
            let endpoint = self.batched_send(endpoint.into_parts())?;
            by_polling!(io, endpoint, |endpoint| self.send_messages(endpoint))
        } else {
            let (socket, _) = endpoint.into_parts();
            let endpoint = self.batched_recv(socket)?;
            by_polling!(io, endpoint, |endpoint| self.receive_messages(endpoint))
        }
    }

    fn ring_send(&self, socket: Socket, to: Option<SockAddr>) -> Result<RingSend, EngineError> {
        let size = paths::size(self.work.setup.send_size);
        let width = paths::width(&self.work.plan.local.io);
        RingSend::new(socket, to, width, size).map_err(no_ring())
    }

    fn ring_recv(&self, socket: Socket, tells: bool) -> Result<RingRecv, EngineError> {
        let io = &self.work.plan.local.io;
        let room = paths::trains(io).slot(paths::size(self.work.setup.recv_size));
        RingRecv::new(socket, paths::width(io), room, tells).map_err(no_ring())
    }

    fn batched_send(
        &self,
        (socket, to): (Socket, Option<SockAddr>),
    ) -> Result<BatchedSend, EngineError> {
        let trains = paths::trains(&self.work.plan.local.io);
        let datagram = paths::size(self.work.setup.send_size);
        BatchedSend::new(socket, to, trains, datagram).map_err(Operation::Send.failed())
    }

    fn batched_recv(&self, socket: Socket) -> Result<BatchedRecv, EngineError> {
        let io = &self.work.plan.local.io;
        let room = paths::size(self.work.setup.recv_size);
        BatchedRecv::new(socket, paths::trains(io), room, io.discard)
            .map_err(Operation::Receive.failed())
    }

    /// What the plan asks for, over an endpoint that is at an address.
    pub(super) fn addressed<E: Parts>(mut self, mut endpoint: E) -> Result<Moved, EngineError> {
        let flow = self.work.plan.flow;
        if !flow.is_request_response() {
            return if flow.sends {
                self.send_messages(endpoint)
            } else {
                self.receive_messages(endpoint)
            };
        }
        let ended = self.request_response(&mut endpoint)?;
        Ok(self.parted_from(endpoint, ended))
    }

    fn send_messages<E: Parts>(mut self, mut endpoint: E) -> Result<Moved, EngineError> {
        let flow = self.work.plan.flow;
        let (rings, run) = self.parts();
        let ended = loops::send(&mut endpoint, needed(&mut rings.send)?, run);
        let ended = ended.map_err(blame(flow))?;
        self.hooks.over();
        Ok(self.parted_from(endpoint, ended))
    }

    /// Messages may be lost, so netperf counts for itself what it receives.
    fn receive_messages<E: Parts>(mut self, mut endpoint: E) -> Result<Moved, EngineError> {
        let flow = self.work.plan.flow;
        let (rings, run) = self.parts();
        let ended = loops::receive(&mut endpoint, needed(&mut rings.recv)?, run);
        let ended = ended.map_err(blame(flow))?;
        Ok(self.parted_from(endpoint, ended))
    }

    pub(super) fn parted_from<E: Parts>(self, mut endpoint: E, ended: Ended) -> Moved {
        self.stop.over();
        endpoint.reclaim();
        self.work.counts = endpoint.counts();
        self.work.stamps = endpoint.stamps();
        let sends = self.work.plan.flow.sends;
        let facts = endpoint.facts();
        // netserver, which alone sends, may not have heard that this is enough.
        let unheard = self.work.plan.remote.until && ended != Ended::ByPeer;
        let tells = sends || unheard;
        let end_mark = tells.then(|| endpoint.part()).and_then(Parted::mark);
        Moved {
            segment_size: facts.as_ref().and_then(|facts| facts.segment_size),
            facts,
            end_mark,
            ..Moved::nothing(ended)
        }
    }

    /// The loop is about to use this connection: what is seen of it.
    pub(super) fn connected<S: OnSocket>(&self, endpoint: &S) -> Result<Seen, EngineError> {
        self.stop.connected(endpoint.fd());
        socket::set_on_connection(endpoint.fd(), &self.work.plan.local.socket)
            .map_err(Operation::Create.failed())?;
        Ok(Seen::of(self.work.plan.transport, endpoint))
    }

    /// What went on underneath the messages, once the kernel has what it borrowed.
    pub(super) fn settled<E: Endpoint>(&mut self, endpoint: &mut E) {
        endpoint.reclaim();
        self.work.counts = endpoint.counts();
        self.work.stamps = endpoint.stamps();
    }
}

/// Wraps the refusal of stamps.
fn no_stamps(by: Stamper) -> impl FnOnce(std::io::Error) -> EngineError {
    Operation::Extra(by.feature()).failed()
}

/// Wraps the refusal of a ring.
fn no_ring() -> impl FnOnce(std::io::Error) -> EngineError {
    Operation::Extra(Feature::Uring).failed()
}
