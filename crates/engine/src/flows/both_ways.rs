//! Flows whose data goes both ways.

use std::io;

use netperf_model::sizes::to_usize;
use netperf_model::{Duplex, EndJob, Setting};
use netperf_os::flow_label::flow_info;
use netperf_os::{SockAddr, Socket, without};
use netperf_transport::duplex::TwoWays;
use netperf_transport::meeting::Connects;
use netperf_transport::open::{OpenError, OpenStep, Opened, PathDirection};
use netperf_transport::udp::Aimed;

use super::meet::{Coordination, FlowSet, OpenFlows, dealt};
use crate::direction;
use crate::end;
use crate::error::{EngineError, Operation};
use crate::path::{DataPath, PathClass};
use crate::program::Program;

impl<P: Program, T, F: FnOnce() -> T> OpenFlows<'_, P, F> {
    /// Moves the bytes of connections both ways, each direction on its data path.
    pub(super) fn both_ways<C: Connects + Sync>(self, how: &C) -> Coordination<T> {
        let FlowSet { job, common, .. } = self.set;
        let [outward, inward] = direction::both(job, PathClass::Stream, common.setup);
        if outward.is_plain() && inward.is_plain() {
            return self.over_path(how, DataPath::Call);
        }
        self.over_sockets(how, |sockets| {
            let own: io::Result<_> = sockets.iter().map(Socket::try_clone).collect();
            let (sends, receives) = (
                outward.endpoints(own.map_err(not_cloned)?)?,
                inward.endpoints(sockets)?,
            );
            let each = sends.into_iter().zip(receives);
            Ok(each
                .map(|(out, inward)| TwoWays::new(out, inward))
                .collect())
        })
    }

    /// The same with datagrams. netserver answers the first of each flow.
    pub(super) fn both_ways_in_datagrams(
        self,
        [outward, inward]: [PathDirection<'_>; 2],
    ) -> Coordination<T> {
        let Self {
            set,
            sockets,
            coordinate,
        } = self;
        let job = set.job;
        let label = job.end.socket.settings.number(Setting::FlowLabel);
        let flow_info = label.map_or(0, flow_info);
        let one = |(socket, to): (Socket, Option<&SockAddr>)| {
            let own = socket.try_clone().map_err(not_cloned)?;
            let sends = outward.endpoint(own, to)?;
            let both = TwoWays::<true>::new(sends, inward.endpoint(socket, to)?);
            Ok(match to {
                Some(_) => both,
                None => both.answering(flow_info),
            })
        };
        let sockets = dealt(sockets, set.threads);
        let open = |index: u32| {
            let own = sockets(index)?;
            let both: Opened<Vec<_>> = if P::is_netperf(job) {
                let aimed = set.aimed_both(index, own)?.into_iter();
                aimed.map(|(socket, to)| one((socket, Some(to)))).collect()
            } else {
                report_drops(&own, job);
                own.into_iter().map(|socket| one((socket, None))).collect()
            };
            both.map_err(direction::failed(outward.method()))
        };
        set.over_messages(&open, coordinate)
    }

    /// Sends to netserver, and receives at sockets that it was told of.
    pub(super) fn in_datagrams_apart<E: Aimed>(self) -> Coordination<T> {
        let Self {
            set,
            sockets,
            coordinate,
        } = self;
        let sockets = dealt(sockets, set.threads);
        let open = |index: u32| {
            let aimed = set.aimed_both(index, sockets(index)?)?.into_iter();
            let each = aimed.map(|(socket, to)| E::aim(socket, to.clone()));
            let each: io::Result<Vec<E>> = each.collect();
            each.map_err(Operation::Connect.failed())
        };
        set.aimed_at(DataPath::Call, &open, coordinate)
    }
}

impl<'r, P: Program> FlowSet<'r, P> {
    /// netserver's sockets that send to netperf's.
    pub(super) fn senders(&self) -> &'r [SockAddr] {
        match self.job.duplex {
            Some(Duplex::Separate) => &self.targets.back,
            Some(Duplex::Same) | None => &self.targets.there,
        }
    }

    /// netperf's sockets of a thread for both directions, and where each goes. Those that only
    /// receive, which netserver was told of, are behind the others.
    fn aimed_both(
        &self,
        index: u32,
        receivers: Vec<Socket>,
    ) -> Result<Vec<(Socket, &'r SockAddr)>, EngineError> {
        let mut aimed = self.aimed(index)?;
        let back = self.targets.back.iter().skip(to_usize(index));
        aimed.extend(
            receivers
                .into_iter()
                .zip(back.step_by(to_usize(self.threads))),
        );
        Ok(aimed)
    }
}

/// Wraps the error of a second descriptor.
fn not_cloned(error: io::Error) -> OpenError {
    let step = OpenStep::Socket;
    OpenError { step, error }
}

/// Has the kernel report datagrams that a full local queue drops.
fn report_drops(sockets: &[Socket], job: &EndJob) {
    if end::drops_silently(job.transport) {
        for socket in sockets {
            let _or_silently = without::report_drops(socket);
        }
    }
}
