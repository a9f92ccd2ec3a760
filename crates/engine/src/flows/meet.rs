//! Opens the flows of an end and chooses their endpoints.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use netperf_model::sizes::to_usize;
use netperf_model::{Duplex, EndJob, Feature, IoMethod};
use netperf_os::{SockAddr, Socket};
use netperf_transport::meeting::{AcceptFilter, Addresses, Connects, OnSocket, Parts};
use netperf_transport::one_port::Passed;
use netperf_transport::open::{
    self as paths, DatagramVisitor, EndpointOptions, MakeDatagrams, MakeStream, OpenError, Opened,
    PathDirection, StreamVisitor, WaitMode,
};
use netperf_transport::registry::Visitor;
use netperf_transport::udp::{Aimed, Udp};
use netperf_transport::{one_port, socket};

use super::accept::{accept, accept_each};
use super::amount::share;
use super::ends::{ConnectionEnds, DatagramEnds};
use super::flow::FlowEndpoint;
use super::open::{FlowOpener, How, deal, open, open_each};
use super::poller::NAP;
use super::shared::RunStage;
use super::transactions::{TransactionConnects, answers, asks};
use super::worker::WorkerReport;
use super::workers::WorkerSetup;
use crate::direction;
use crate::early::{StopReceiver, StopReceiverSlot};
use crate::error::{EngineError, Operation};
use crate::moved::ConnectionFacts;
use crate::path::{self, DataPath, PathClass};
use crate::program::Program;
use crate::run::Targets;

/// The flows of a run.
#[derive(Clone, Copy)]
pub(super) struct FlowSet<'r, P> {
    pub(super) program: PhantomData<P>,
    pub(super) job: &'r EndJob,
    pub(super) flows: u32,
    pub(super) threads: u32,
    /// netserver's socket that listens; `None` without connections.
    pub(super) listener: Option<&'r Socket>,
    pub(super) targets: &'r Targets,
    /// The file that TCP_SENDFILE sends.
    pub(super) file: Option<&'r File>,
    pub(super) control: Option<BorrowedFd<'r>>,
    pub(super) common: WorkerSetup<'r>,
    /// Receiver of netperf's stop at netserver.
    pub(super) receivers: &'r StopReceiverSlot,
}

/// The flows of a run, to be matched with the transport's types.
pub(super) struct OpenFlows<'r, P, F> {
    pub(super) set: FlowSet<'r, P>,
    /// netserver's sockets without connections.
    pub(super) sockets: Vec<Socket>,
    /// The main thread's part.
    pub(super) coordinate: F,
}

/// Reports of the threads, and the result of the main thread.
pub(super) type Coordination<T> = Result<(Vec<Result<WorkerReport, EngineError>>, T), EngineError>;

/// Opens the flows of a thread.
type Opener<'r, E> = Box<dyn Fn(u32) -> Result<Vec<E>, EngineError> + Sync + 'r>;

impl<P: Program, T, F: FnOnce() -> T> Visitor for OpenFlows<'_, P, F> {
    type Out = Coordination<T>;

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "each of the other paths has an endpoint for each connection"
    )]
    fn stream<C: Connects + Sync>(self, how: C) -> Self::Out {
        let job = self.set.job;
        match path::choose(job, PathClass::Stream) {
            DataPath::Connections => self.transactions(&how),
            DataPath::BothWays => self.both_ways(&how),
            path => self.over_path(&how, path),
        }
    }

    fn connection<C: Connects + Sync>(self, how: C) -> Self::Out {
        let FlowSet { job, common, .. } = self.set;
        if job.connects {
            return self.transactions(&how);
        }
        let ends = ConnectionEnds::of::<C>(job.transport);
        let open = self.set.opener(&how)?;
        Ok(common.run::<P, _, _>(&open, &share(job, common.setup), &ends, self.coordinate))
    }

    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out {
        let FlowSet { job, common, .. } = self.set;
        let path = path::choose(job, PathClass::Datagrams);
        if let Some(live) = common.live.filter(|_| job.tells_addresses()) {
            for (socket, to) in self.sockets.iter().zip(self.set.senders()) {
                live.aimed(socket.as_fd(), to);
            }
        }
        let directions = direction::both(job, PathClass::Datagrams, common.setup);
        if path == DataPath::BothWays && !directions.iter().all(PathDirection::is_plain) {
            return self.both_ways_in_datagrams(directions);
        } else if P::is_netperf(job) && job.duplex == Some(Duplex::Separate) {
            return self.in_datagrams_apart::<E>();
        }
        let Self {
            set,
            sockets,
            coordinate,
        } = self;
        if matches!(path, DataPath::RingRecv | DataPath::BatchRecv) {
            return set.receiving(path, sockets, coordinate);
        }
        if P::is_netperf(job) && job.tells_addresses() {
            let aimed = sockets.into_iter().zip(&set.targets.there);
            let aimed = aimed.map(|(socket, to)| how.asking(socket, to.clone()));
            let aimed = aimed.collect::<io::Result<Vec<E>>>();
            let from = dealt(aimed.map_err(Operation::Connect.failed())?, set.threads);
            return set.aimed_at(path, &from, coordinate);
        }
        if P::is_netperf(job) {
            let from = |index: u32| set.asking(&how, index);
            return set.aimed_at(path, &from, coordinate);
        }
        set.answering(path, &how, sockets, coordinate)
    }

    fn addressed<A: Addresses>(self, _: A) -> Self::Out {
        Err(Operation::Connect.unsupported())
    }

    fn messages<A>(self, how: A) -> Self::Out
    where
        A: Addresses + Sync,
        A::Asking: OnSocket + Send,
        A::Answering: OnSocket + Send,
    {
        let Self {
            set,
            sockets,
            coordinate,
        } = self;
        let job = set.job;
        let asking = |(socket, to): (Socket, &SockAddr)| {
            how.asking(socket, to.clone())
                .map_err(Operation::Connect.failed())
        };
        if job.tells_addresses() {
            let each = sockets.into_iter().zip(&set.targets.there).map(asking);
            let open = dealt(each.collect::<Result<_, _>>()?, set.threads);
            return set.over_messages::<A::Asking, _>(&open, coordinate);
        }
        if P::is_netperf(job) {
            let open = |index: u32| set.aimed(index)?.into_iter().map(asking).collect();
            return set.over_messages::<A::Asking, _>(&open, coordinate);
        }
        let endpoints = sockets.into_iter().map(|socket| {
            let mut endpoint = how.answering(socket)?;
            endpoint.take_only_from(&job.sources);
            Ok(endpoint)
        });
        let endpoints = endpoints.collect::<io::Result<Vec<_>>>();
        let open = dealt(endpoints.map_err(Operation::Create.failed())?, set.threads);
        set.over_messages::<A::Answering, _>(&open, coordinate)
    }

    fn absent(self, error: io::Error) -> Self::Out {
        Err(Operation::Create.failed()(error))
    }
}

impl<'r, P: Program, T, F: FnOnce() -> T> OpenFlows<'r, P, F> {
    /// Opens a connection for every transaction.
    fn transactions<C: Connects + Sync>(self, how: &C) -> Coordination<T> {
        let Self {
            set, coordinate, ..
        } = self;
        let FlowSet { job, common, .. } = set;
        if !P::is_netperf(job) {
            let gate = set.gate()?;
            let listener = gate.listener;
            listener
                .set_nonblocking(true)
                .map_err(Operation::Accept.failed())?;
            // A flow has one connection at a time; the end of one more may not be seen yet.
            let space = to_usize(set.flows).saturating_mul(2);
            let whole = job.is_request_response();
            let part = |index| answers(common, index, (how, gate), whole, space);
            return Ok(common.in_threads(&part, coordinate));
        }
        let seen = OnceLock::new();
        let share = share(job, common.setup);
        let part = |index: u32| {
            let mine = (index..set.flows).step_by(to_usize(set.threads));
            let shares: Vec<u64> = mine.map(&share).collect();
            let connects = TransactionConnects {
                job,
                opened: self::how(job),
                how,
                targets: &set.targets.there,
                shared: common.shared,
                seen: &seen,
            };
            asks(common, index, &connects, &shares)
        };
        let (mut reports, coordinated) = common.in_threads(&part, coordinate);
        if let (Some(Ok(first)), Some(seen)) = (reports.first_mut(), seen.into_inner()) {
            let ConnectionFacts {
                segment_size,
                cipher,
                overflowed: _,
            } = seen;
            first.segment_size = segment_size;
            first.cipher = cipher;
        }
        Ok((reports, coordinated))
    }

    /// Moves the bytes of connections on a data path.
    pub(super) fn over_path<C: Connects + Sync>(self, how: &C, path: DataPath) -> Coordination<T> {
        let set = self.set;
        let offset = u64::from(set.job.end.send.offset);
        let opening = EndpointOptions {
            file: set.file.map(|file| (file, offset)),
            ..set.opening()
        };
        paths::stream(path, opening, ConnectionFlows { flows: self, how })?
    }

    /// Has the bytes of connections moved by other endpoints on their sockets.
    pub(super) fn over_sockets<C: Connects + Sync, E: FlowEndpoint>(
        self,
        how: &C,
        make: impl Fn(Vec<Socket>) -> Opened<Vec<E>> + Sync,
    ) -> Coordination<T> {
        let Self {
            set, coordinate, ..
        } = self;
        let FlowSet { job, common, .. } = set;
        let ends = ConnectionEnds::of::<C>(job.transport);
        let cipher = Mutex::new(None);
        let open = set.opener(how)?;
        let open = |index: u32| {
            let endpoints = open(index)?;
            if let Some(first) = endpoints.first() {
                *locked(&cipher) = first.cipher();
            }
            let sockets = endpoints.into_iter().map(OnSocket::into_socket).collect();
            let operation = match (job.end.io.method, job.end.stamps) {
                (_, Some(by)) => Operation::Extra(by.feature()),
                (IoMethod::Uring, None) => Operation::Extra(Feature::Uring),
                (IoMethod::Blocking | IoMethod::Poll | IoMethod::Epoll, None) => Operation::Create,
            };
            make(sockets).map_err(|OpenError { error, .. }| operation.failed()(error))
        };
        let share = share(job, common.setup);
        let (mut reports, coordinated) = common.run::<P, _, _>(&open, &share, &ends, coordinate);
        if let Some(Ok(first)) = reports.first_mut() {
            first.cipher = locked(&cipher).take();
        }
        Ok((reports, coordinated))
    }
}

impl<'r, P: Program> FlowSet<'r, P> {
    /// Options of the endpoints of the flows. No call waits where data goes both ways.
    fn opening(&self) -> EndpointOptions<'static> {
        let most = if self.job.duplex.is_some() {
            Duration::ZERO
        } else {
            NAP
        };
        let waits = WaitMode::Together(self.flows, most);
        EndpointOptions::of(self.job, self.common.setup, waits)
    }

    /// Moves messages over endpoints without connections.
    pub(super) fn over_messages<E: Parts + FlowEndpoint, T>(
        self,
        open: &(dyn Fn(u32) -> Result<Vec<E>, EngineError> + Sync),
        coordinate: impl FnOnce() -> T,
    ) -> Coordination<T> {
        let FlowSet { job, common, .. } = self;
        let share = share(job, common.setup);
        Ok(common.run::<P, E, _>(open, &share, &DatagramEnds, coordinate))
    }

    /// Moves datagrams to the addresses of endpoints.
    pub(super) fn aimed_at<E: Aimed, T>(
        self,
        path: DataPath,
        from: &(dyn Fn(u32) -> Result<Vec<E>, EngineError> + Sync),
        coordinate: impl FnOnce() -> T,
    ) -> Coordination<T> {
        let flows = DatagramFlows {
            set: self,
            from,
            coordinate,
        };
        paths::aimed(path, self.opening(), flows)?
    }

    /// Receives datagrams from any address, many in a call.
    fn receiving<T>(
        self,
        path: DataPath,
        sockets: Vec<Socket>,
        coordinate: impl FnOnce() -> T,
    ) -> Coordination<T> {
        let flows = DatagramFlows {
            set: self,
            from: &dealt(sockets, self.threads),
            coordinate,
        };
        paths::receiving(path, self.opening(), flows)?
    }

    /// Receives datagrams from any address that may send them, and answers where there are requests.
    fn answering<E: Aimed, T>(
        self,
        path: DataPath,
        how: &Udp<E>,
        sockets: Vec<Socket>,
        coordinate: impl FnOnce() -> T,
    ) -> Coordination<T> {
        let end = (how, self.job.sources.clone());
        let flows = DatagramFlows {
            set: self,
            from: &dealt(sockets, self.threads),
            coordinate,
        };
        paths::answering(path, self.opening(), end, flows)?
    }

    /// netserver's listener, and the addresses it accepts.
    fn gate(&self) -> Result<AcceptFilter<'r>, EngineError> {
        let listener = self.listener;
        let listener = listener.ok_or_else(|| Operation::Accept.unsupported())?;
        Ok(AcceptFilter {
            sources: Some(&self.job.sources),
            passed: Passed::of(self.job),
            ..AcceptFilter::open(listener)
        })
    }

    /// netperf's sockets of a thread, each aimed at one of netserver's.
    fn asking<E: Aimed>(&self, udp: &Udp<E>, index: u32) -> Result<Vec<E>, EngineError> {
        let aimed = self.aimed(index)?.into_iter().map(|(socket, to)| {
            udp.asking(socket, to.clone())
                .map_err(Operation::Connect.failed())
        });
        aimed.collect()
    }

    /// netperf's sockets of a thread, and where each goes.
    pub(super) fn aimed(&self, index: u32) -> Result<Vec<(Socket, &'r SockAddr)>, EngineError> {
        let targets = &self.targets.there;
        let mine = (index..self.flows).step_by(to_usize(self.threads));
        let to = mine
            .clone()
            .map(|flow| &targets[to_usize(flow) % targets.len()]);
        let how = how(self.job);
        let sockets = to.clone().map(|_| how.socket());
        let sockets: Vec<Socket> = sockets.collect::<Result<_, _>>()?;
        if let (Some(token), Some(to)) = (&how.token, to.clone().next()) {
            let mut over = || self.common.shared.stage() == RunStage::Abandon;
            one_port::probe(mine.zip(&sockets), to, token, &mut over)
                .map_err(Operation::Probe.failed())?;
        }
        Ok(sockets.into_iter().zip(to).collect())
    }

    /// Opens connections: netserver accepts them now, netperf's threads connect them.
    fn opener<C: Connects + Sync>(&self, how: &'r C) -> Result<Opener<'r, C::Endpoint>, EngineError>
    where
        C::Endpoint: 'r,
    {
        if P::is_netperf(self.job) {
            return Ok(Box::new(self.connects(how)));
        }
        let accepted = self.accepted(how)?;
        if let Some(first) = accepted.first().filter(|_| self.job.end.until) {
            let receiver = StopReceiver::on(first.fd()).map_err(Operation::Accept.failed())?;
            self.receivers.listen(receiver);
        }
        Ok(Box::new(dealt(accepted, self.threads)))
    }

    /// Connects: all at the same time where it takes no more than connect(2), and one after
    /// the other where ends have to agree on something.
    fn connects<C: Connects + Sync>(
        &self,
        connects: &'r C,
    ) -> impl Fn(u32) -> Result<Vec<C::Endpoint>, EngineError> + Sync + use<'r, C, P> {
        let (job, flows, threads) = (self.job, self.flows, self.threads);
        let shared = self.common.shared;
        let opening = FlowOpener::new();
        let one_way = move |targets: &[SockAddr]| {
            let flows = (0..to_usize(flows)).filter(|_| !targets.is_empty());
            let to = flows.map(|flow| &targets[flow % targets.len()]);
            let endpoints: Vec<C::Endpoint> = match C::OF_SOCKET {
                Some(make) => {
                    let sockets = open(how(job), to, shared)?;
                    sockets.into_iter().map(make).collect()
                }
                None => open_each(how(job), connects, to, shared)?,
            };
            set_on_each(&endpoints, job)?;
            Ok::<_, EngineError>(deal(endpoints, threads))
        };
        let targets = self.targets;
        let all = move || {
            let (mut parts, back) = (one_way(&targets.there)?, one_way(&targets.back)?);
            for (part, back) in parts.iter_mut().zip(back) {
                part.extend(back);
            }
            Ok(parts)
        };
        move |index| opening.part(index, all)
    }

    /// Accepts all connections. Their time begins when the last has come.
    fn accepted<C: Connects>(&self, how: &C) -> Result<Vec<C::Endpoint>, EngineError> {
        let gate = self.gate()?;
        let accepted = match C::OF_SOCKET {
            Some(make) => accept(gate, self.flows, self.control).map(|accepted| {
                self.common.shared.note_data_since(accepted.data_since);
                accepted.sockets.into_iter().map(make).collect()
            }),
            None => accept_each(how, gate, self.flows, self.control),
        };
        let accepted: Vec<C::Endpoint> = accepted.map_err(Operation::Accept.failed())?;
        set_on_each(&accepted, self.job)?;
        Ok(accepted)
    }
}

/// Connections whose sockets are moved to the endpoints of a data path.
struct ConnectionFlows<'r, 'h, P, F, C> {
    flows: OpenFlows<'r, P, F>,
    how: &'h C,
}

impl<P: Program, T, F: FnOnce() -> T, C: Connects + Sync> StreamVisitor
    for ConnectionFlows<'_, '_, P, F, C>
{
    type Out = Coordination<T>;

    const IS_ONE: bool = false;
    const ASKS: bool = P::ASKS;

    fn is_netperf(&self) -> bool {
        P::is_netperf(self.flows.set.job)
    }

    fn moves<M: MakeStream>(self, make: M) -> Self::Out {
        let make = |sockets| make.many(sockets);
        self.flows.over_sockets(self.how, make)
    }
}

/// Datagrams whose endpoints are made, thread by thread, from what `from` gives.
struct DatagramFlows<'r, 'o, P, I, F> {
    set: FlowSet<'r, P>,
    from: &'o (dyn Fn(u32) -> Result<Vec<I>, EngineError> + Sync),
    coordinate: F,
}

impl<P: Program, I, T, F: FnOnce() -> T> DatagramVisitor<I> for DatagramFlows<'_, '_, P, I, F> {
    type Out = Coordination<T>;

    const IS_ONE: bool = false;

    fn asks<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        let open = |index: u32| Ok(make.many((self.from)(index)?)?);
        self.set
            .over_messages::<M::Endpoint, _>(&open, self.coordinate)
    }
}

/// Options for netperf's sockets.
fn how(job: &EndJob) -> How<'_> {
    let local = job.local_address();
    let chosen = job.transport.is_inet() && !local.ip().is_unspecified();
    How {
        transport: job.transport,
        family: job.family,
        options: &job.end.socket,
        from: chosen.then(|| SocketAddr::new(local.ip(), 0)),
        token: job.token,
    }
}

/// Sets the options that a connection must stand for.
fn set_on_each<E: OnSocket>(endpoints: &[E], job: &EndJob) -> Result<(), EngineError> {
    let set = |endpoint: &E| socket::set_on_connection(endpoint.fd(), &job.end.socket);
    let mut each = endpoints.iter().map(set);
    each.try_for_each(|set| set)
        .map_err(Operation::Create.failed())
}

/// Gives each thread its part of flows that are open, dealt out as netperf does.
pub(super) fn dealt<E: Send>(
    flows: Vec<E>,
    threads: u32,
) -> impl Fn(u32) -> Result<Vec<E>, EngineError> + Sync {
    let parts: Vec<_> = deal(flows, threads).into_iter().map(Mutex::new).collect();
    move |index| {
        let part = parts.get(to_usize(index));
        Ok(part.map_or_else(Vec::new, |part| std::mem::take(&mut *locked(part))))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
