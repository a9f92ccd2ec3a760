//! Opening the flows of a run, and what moves their bytes.

use std::io;
use std::sync::{Mutex, PoisonError};

use netperf_os::{SockAddr, Socket};
use netperf_transport::io::Discarding;
use netperf_transport::meeting::{Addresses, Connects, OnSocket};
use netperf_transport::registry::Visitor;
use netperf_transport::tcp::{FromFile, Tcp, Written};
use netperf_transport::udp::{Aimed, Udp};
use netperf_transport::{one_port, socket};

use super::{Crowd, to_usize};
use crate::error::{EngineError, Operation};
use crate::flows::crew::Common;
use crate::flows::ends::{Connections, Datagrams};
use crate::flows::loops::Moves;
use crate::flows::no_flows;
use crate::flows::open::{Opening, deal, open, open_each};
use crate::flows::shared::Stage;
use crate::flows::transactions::{Dialling, asks};
use crate::flows::worker::Report;

/// The flows of a run, to be matched with the transport's types.
pub(super) struct Visiting<'r, F> {
    pub(super) crowd: &'r Crowd<'r>,
    pub(super) targets: &'r [SockAddr],
    /// Where connections back are made; none where there are none of their own.
    pub(super) back: &'r [SockAddr],
    pub(super) common: Common<'r>,
    pub(super) conduct: F,
}

/// What the threads report, and how they were conducted.
type Conduct<T> = Result<(Vec<Result<Report, EngineError>>, T), EngineError>;

impl<T, F: FnOnce() -> T> Visitor for Visiting<'_, F> {
    type Out = Conduct<T>;

    fn stream<C: Connects + Sync>(self, how: C) -> Self::Out {
        let plan = self.crowd.plan;
        if plan.flow.connects {
            return self.transactions::<C>();
        }
        let only_receives = plan.flow.receives && !plan.flow.sends;
        if let Some(file) = &self.crowd.file {
            let (offset, width) = (plan.local.send.offset, self.crowd.setup.send_width);
            self.over_sockets(&how, |socket| {
                let file = file.try_clone()?;
                Ok(FromFile::new(socket, file, offset.into(), width))
            })
        } else if only_receives && plan.local.io.discard {
            self.over_sockets(&how, |socket| Ok(Discarding(socket)))
        } else if plan.use_write {
            self.over_sockets(&how, |socket| Ok(Written(socket)))
        } else {
            self.over_sockets(&how, |socket| Ok(Tcp(socket)))
        }
    }

    fn connection<C: Connects + Sync>(self, how: C) -> Self::Out {
        if self.crowd.plan.flow.connects {
            return self.transactions::<C>();
        }
        let ends = Connections::of::<C>(self.crowd.plan.transport);
        let open = self.opener(&how);
        let (common, share) = (self.common, self.crowd.share());
        Ok(common.run(&open, &share, &ends, self.conduct))
    }

    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out {
        let (crowd, targets, common) = (self.crowd, self.targets, self.common);
        let open = |index: u32| {
            let to = || crowd.targets_of(index, targets);
            let sockets = to().map(|_| crowd.how().socket());
            let sockets: Vec<Socket> = sockets.collect::<Result<_, _>>()?;
            if let (Some(token), Some(to)) = (&crowd.token, to().next()) {
                let mut over = || common.shared.stage() == Stage::Abandon;
                one_port::probe(&sockets, to, token, &mut over)
                    .map_err(Operation::Probe.failed())?;
            }
            let aimed = sockets.into_iter().zip(to()).map(|(socket, to)| {
                how.asking(socket, to.clone())
                    .map_err(Operation::Connect.failed())
            });
            aimed.collect()
        };
        Ok(common.run(&open, &crowd.share(), &Datagrams, self.conduct))
    }

    fn addressed<A: Addresses>(self, _: A) -> Self::Out {
        Err(no_flows(Operation::Connect))
    }

    fn absent(self, error: std::io::Error) -> Self::Out {
        Err(Operation::Create.failed()(error))
    }
}

impl<'r, T, F: FnOnce() -> T> Visiting<'r, F> {
    /// Opens a connection for every transaction.
    fn transactions<C: Connects>(self) -> Conduct<T> {
        let make = C::OF_SOCKET.ok_or_else(|| no_flows(Operation::Connect))?;
        let (crowd, common) = (self.crowd, self.common);
        let segment_size = Mutex::new(None);
        let share = crowd.share();
        let part = |index: u32| {
            let mine = (index..crowd.many.flows).step_by(to_usize(crowd.threads));
            let shares: Vec<u64> = mine.map(&share).collect();
            let dialling = Dialling {
                plan: crowd.plan,
                how: crowd.how(),
                targets: self.targets,
                local: crowd.local,
                make,
                segment_size: &segment_size,
            };
            asks(common, index, &dialling, &shares)
        };
        let (mut reports, conducted) = common.in_threads(&part, self.conduct);
        if let Some(Ok(first)) = reports.first_mut() {
            let seen = segment_size.into_inner();
            first.segment_size = seen.unwrap_or_else(PoisonError::into_inner);
        }
        Ok((reports, conducted))
    }

    /// Opens the connections: at the same time where it takes no more than connect(2), and
    /// one after the other where ends have to agree on something.
    fn opener<C: Connects + Sync>(
        &self,
        how: &'r C,
    ) -> impl Fn(u32) -> Result<Vec<C::Endpoint>, EngineError> + Sync + use<'r, C, T, F> {
        let (crowd, shared) = (self.crowd, self.common.shared);
        let opening = Opening::new();
        let one_way = move |targets: &[SockAddr]| {
            let flows = (0..to_usize(crowd.many.flows)).filter(|_| !targets.is_empty());
            let to = flows.map(|flow| &targets[flow % targets.len()]);
            let endpoints: Vec<C::Endpoint> = match C::OF_SOCKET {
                Some(make) => {
                    let sockets = open(crowd.how(), to, shared)?;
                    sockets.into_iter().map(make).collect()
                }
                None => open_each(crowd.how(), how, to, shared)?,
            };
            for endpoint in &endpoints {
                socket::set_on_connection(endpoint.fd(), &crowd.plan.local.socket)
                    .map_err(Operation::Create.failed())?;
            }
            Ok(deal(endpoints, crowd.threads))
        };
        let (targets, back) = (self.targets, self.back);
        let all = move || {
            let (mut parts, back) = (one_way(targets)?, one_way(back)?);
            for (part, back) in parts.iter_mut().zip(back) {
                part.extend(back);
            }
            Ok(parts)
        };
        move |index| opening.part(index, all)
    }

    /// Has the bytes of connections moved by other endpoints on their sockets.
    fn over_sockets<C: Connects + Sync, E: Moves>(
        self,
        how: &C,
        make: impl Fn(Socket) -> io::Result<E> + Sync,
    ) -> Conduct<T> {
        let ends = Connections::of::<C>(self.crowd.plan.transport);
        let cipher = Mutex::new(None);
        let open = self.opener(how);
        let open = |index: u32| {
            let endpoints = open(index)?;
            if let Some(first) = endpoints.first() {
                *cipher.lock().unwrap_or_else(PoisonError::into_inner) = first.cipher();
            }
            let made = endpoints
                .into_iter()
                .map(|endpoint| make(endpoint.into_socket()))
                .collect::<io::Result<Vec<E>>>();
            made.map_err(Operation::Create.failed())
        };
        let (common, share) = (self.common, self.crowd.share());
        let (mut reports, conducted) = common.run(&open, &share, &ends, self.conduct);
        let cipher = cipher.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(Ok(first)) = reports.first_mut() {
            first.cipher = cipher;
        }
        Ok((reports, conducted))
    }
}
