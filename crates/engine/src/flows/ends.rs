//! Bringing flows to their end, each transport in its own way.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::Moment;
use netperf_model::{IoCounts, TransportId};
use netperf_os::{Socket, io as calls, sockopt};
use netperf_transport::meeting::{Connects, EndMark, OnSocket, Parted, Parting, Parts};
use netperf_transport::socket::{self, SocketFacts};
use netperf_transport::udp::END_MARKS;
use netperf_transport::{Endpoint, dccp};

use super::close::close;
use super::shared::SharedRun;
use crate::finish::{self, Drained, bring_to_its_end};

/// Remains of the flows of a worker.
#[derive(Debug, Default)]
pub(super) struct EndedFlows {
    /// `None` where they are closed.
    pub(super) drained: Option<Drained>,
    /// When data moved last, where a loss ended them.
    pub(super) moved: Option<Moment>,
    /// Longest time for which the other end of one has read nothing, if it is long.
    pub(super) held_back: Option<Duration>,
    /// End marks to repeat, where one may be lost.
    pub(super) marks: Vec<EndMark>,
    /// Facts of the first socket; retransmissions are those of all.
    pub(super) facts: SocketFacts,
    /// Counts of the calls underneath the messages, of all flows.
    pub(super) counts: Option<IoCounts>,
}

/// Closes the flows of one kind.
pub(super) trait CloseFlows<E> {
    /// Closes them all. `tells` is whether this end tells the other that there is no more.
    fn end(&self, endpoints: Vec<E>, shared: &SharedRun, tells: bool) -> io::Result<EndedFlows>;

    /// Tells the other end of one that there is no more to come; what it sends may still come.
    fn tell(&self, endpoint: &mut E);
}

/// Closes connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionEnds {
    pub(super) transport: TransportId,
    pub(super) parting: Parting,
}

impl ConnectionEnds {
    /// Those of a transport.
    pub(super) fn of<C: Connects>(transport: TransportId) -> Self {
        Self {
            transport,
            parting: C::PARTING,
        }
    }
}

impl<E: Endpoint + OnSocket> CloseFlows<E> for ConnectionEnds {
    fn end(
        &self,
        mut endpoints: Vec<E>,
        shared: &SharedRun,
        tells: bool,
    ) -> io::Result<EndedFlows> {
        for endpoint in &mut endpoints {
            endpoint.reclaim();
        }
        let counts = counts(&endpoints);
        let sockets: Vec<Socket> = endpoints.into_iter().map(OnSocket::into_socket).collect();
        // TCP has its facts after the end, other transports only before.
        let late = self.parting == Parting::HalfClose;
        let early = (!late).then(|| facts(self.transport, &sockets));
        let mut left = EndedFlows {
            counts,
            ..EndedFlows::default()
        };
        match self.parting {
            _ if !tells => {}
            Parting::HalfClose => {
                let held_back = |socket: &Socket| finish::held_back(socket.as_fd());
                left.held_back = sockets.iter().filter_map(held_back).max();
                let (drained, moved) = close(&sockets, shared)?;
                left.drained = Some(drained);
                left.moved = matches!(drained, Drained::Lost(_)).then_some(moved);
            }
            parting @ (Parting::Shutdown
            | Parting::Close
            | Parting::EmptyMessages
            | Parting::EndRecord) => left.drained = Some(each(&sockets, parting)),
        }
        left.facts = early.unwrap_or_else(|| facts(self.transport, &sockets));
        if tells && self.parting == Parting::EmptyMessages {
            let marks = sockets
                .into_iter()
                .filter_map(|socket| dccp::DccpEndpoint(socket).part().mark());
            left.marks = marks.collect();
        }
        Ok(left)
    }

    fn tell(&self, endpoint: &mut E) {
        // A connection that is gone already needs no end.
        let _gone = calls::half_close(endpoint.fd());
    }
}

/// One after the other: nothing is sent any more, and netserver reads all at the same time.
fn each(sockets: &[Socket], parting: Parting) -> Drained {
    let mut drained = Drained::Closed;
    for socket in sockets {
        let (one, _) = bring_to_its_end(socket, parting, None);
        if drained == Drained::Closed {
            drained = one;
        }
    }
    drained
}

/// Closes sockets without connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatagramEnds;

impl<E: Parts> CloseFlows<E> for DatagramEnds {
    fn end(&self, endpoints: Vec<E>, _: &SharedRun, tells: bool) -> io::Result<EndedFlows> {
        let known = endpoints.first().and_then(Parts::facts);
        let counts = counts(&endpoints);
        let marks = if tells {
            let parted = endpoints.into_iter().map(Parts::part);
            parted.filter_map(Parted::mark).collect()
        } else {
            Vec::new()
        };
        Ok(EndedFlows {
            marks,
            facts: known.unwrap_or_default(),
            counts,
            ..EndedFlows::default()
        })
    }

    fn tell(&self, endpoint: &mut E) {
        (0..END_MARKS).for_each(|_| endpoint.mark());
    }
}

/// The counts of all endpoints that count calls.
fn counts<E: Endpoint>(endpoints: &[E]) -> Option<IoCounts> {
    let each = endpoints.iter().filter_map(Endpoint::counts);
    each.reduce(IoCounts::plus)
}

/// Facts of the first socket, with the retransmissions of all.
fn facts(transport: TransportId, sockets: &[Socket]) -> SocketFacts {
    let Some((first, others)) = sockets.split_first() else {
        return SocketFacts::default();
    };
    let mut known = socket::facts(transport, first);
    let retransmitted = others.iter().filter_map(|socket| {
        let info = netperf_os::tcp::info(socket.as_fd()).ok()?;
        Some(info.total_retrans)
    });
    let others: u32 = retransmitted.fold(0, u32::saturating_add);
    let overflowed = sockets
        .iter()
        .filter_map(|socket| sockopt::receive_drops(socket.as_fd()).ok());
    known.overflowed = overflowed.reduce(u32::saturating_add);
    known.retransmissions = known
        .retransmissions
        .map(|first| first.saturating_add(others));
    known
}
