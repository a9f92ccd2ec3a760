//! The end of a data connection.

use std::os::fd::AsFd;
use std::time::Duration;

use netperf_model::Duplex;
use netperf_os::{Socket, tcp};
use netperf_transport::meeting::{Parting, Parts as _};
use netperf_transport::{Endpoint, dccp, socket};

use super::OneFlow;
use crate::finish::{self, Drained};
use crate::moved::{ConnectionFacts, Moved};
use crate::program::Program;
use crate::stop::Ended;

impl<P: Program> OneFlow<'_, '_, P> {
    /// Reads the counts underneath the messages, once the kernel has returned what it
    /// borrowed. netserver closes first, so it waits until everything has arrived.
    pub(super) fn settled<E: Endpoint>(&mut self, endpoint: &mut E) {
        endpoint.reclaim();
        if !self.is_netperf() {
            endpoint.settle();
        }
        self.work.counts = endpoint.counts();
        self.work.stamps = endpoint.stamps();
    }

    /// Brings the connection to its end: netserver closes it, netperf waits for that.
    pub(super) fn close(
        self,
        data: Socket,
        ended: Ended,
        parting: Parting,
        seen: ConnectionFacts,
    ) -> Moved {
        let transport = self.work.job.transport;
        if !self.is_netperf() {
            // The close below has to be the last descriptor's.
            self.stop.listen(None);
            return Moved {
                facts: Some(socket::facts(transport, &data)),
                ..Moved::nothing(ended)
            };
        }
        self.stop.over(ended);
        let is_bulk = !self.work.job.counts_transactions();
        let held_back = finish::held_back(data.as_fd()).filter(|_| is_bulk);
        let detail = tcp::detail(data.as_fd()).unwrap_or_default();
        // It may have grown since the connection was made.
        let segment_size = socket::segment_size(transport, data.as_fd()).or(seen.segment_size);
        // TCP has its facts after the end, other transports only before.
        let ((drained, rest), facts) = if parting == Parting::HalfClose {
            let drained = self.end_connection(&data, ended, parting);
            (drained, socket::facts(transport, &data))
        } else {
            let facts = socket::facts(transport, &data);
            (self.end_connection(&data, ended, parting), facts)
        };
        let marks = parting == Parting::EmptyMessages && self.work.job.sends;
        Moved {
            facts: Some(facts),
            seen: ConnectionFacts {
                segment_size,
                ..seen
            },
            drained,
            rest,
            held_back,
            arrived: detail.bytes_received,
            acknowledged: detail.bytes_acked,
            end_mark: marks
                .then(|| dccp::DccpEndpoint(data).part().mark())
                .flatten(),
            ..Moved::nothing(ended)
        }
    }

    /// Ends netperf's direction, and waits for netserver. The end, and the time without progress
    /// before it.
    fn end_connection(&self, data: &Socket, ended: Ended, parting: Parting) -> (Drained, Duration) {
        let job = &self.work.job;
        let at_once = |drained| (drained, Duration::ZERO);
        if ended == Ended::ByPeer {
            return at_once(Drained::Closed);
        }
        if let (Some(Duplex::Same), Ended::Lost(lost)) = (job.duplex, ended) {
            return at_once(Drained::Lost(lost));
        }
        // The peer is gone, so it cannot answer.
        if let Some(lost) = self.stop.gone() {
            return at_once(Drained::Lost(lost));
        }
        let over_one = job.duplex == Some(Duplex::Same) && job.transport.is_connected();
        if (job.only_receives() || over_one) && ended == Ended::Abandoned {
            // The sender, or its kernel, would go on: a reset stops it.
            return at_once(finish::reset(std::iter::once(data.as_fd())));
        }
        if job.only_receives() && !job.has_peer {
            // The sender would go on: closing the socket stops it.
            return at_once(Drained::StillMoving);
        }
        let drained = finish::bring_to_its_end(data, parting, self.stop.control());
        // Only netserver promises to answer the end with an end.
        if job.has_peer {
            drained
        } else {
            at_once(Drained::StillMoving)
        }
    }
}
