//! One flow of either end: it opens the data connection or socket, runs the loop, and ends it.

mod close;
mod connections;
mod datagrams;
#[cfg(feature = "paths")]
mod duplex;
mod loops;
#[cfg(feature = "paths")]
mod open_loop;
mod paths;

#[cfg(feature = "flows")]
pub(crate) use connections::{LocalPorts, entered, port_is_taken, undone};

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock;
use netperf_measure::recorder::LatencyRecorder;
use netperf_model::{
    EndJob, EndSetup, IoCounts, Latency, Limit as LimitPlan, Paced, Quality, Stamps, Tally,
};
use netperf_os::wait::{Interest, ready};
use netperf_os::{SockAddr, Socket, alarm};
use netperf_transport::meeting::{AcceptFilter, Addresses, Connects, Met, OnSocket, Parts as _};
use netperf_transport::one_port::Passed;
use netperf_transport::registry::{self, Asked, Visitor};
use netperf_transport::udp::{Aimed, Udp};
use netperf_transport::{Endpoint, place, socket};

use self::loops::FlowContext;
use crate::alarm_stop::AlarmStop;
use crate::due::hooks::{Hooks, PlannedHooks};
use crate::due::queue::DueQueue;
use crate::early::StopReceiver;
use crate::end::Rings;
use crate::error::{EngineError, Operation};
use crate::limit::RunLimit;
use crate::moved::{ConnectionFacts, Moved};
use crate::path::{self, DataPath, PathClass};
use crate::program::Program;
use crate::ring::Ring;
use crate::stop::{Ended, Stop, control_end, is_gone};
use crate::timing;
use crate::workload;
use crate::workload::connect::NextConnection;

/// Input and output of the loop of one flow.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) job: EndJob,
    pub(crate) rings: Rings,
    pub(crate) setup: EndSetup,
    /// The file that TCP_SENDFILE sends.
    pub(crate) file: Option<File>,
    /// netserver's socket, at netperf.
    pub(crate) to: Option<SockAddr>,
    /// netperf's second socket, which only receives, and where it connects to.
    pub(crate) second: Option<(Socket, SockAddr)>,
    /// Requests that are sent when they are due.
    pub(crate) due: Option<DueQueue>,
    /// Counts of the calls underneath the messages.
    pub(crate) counts: Option<IoCounts>,
    /// Account of a rate.
    pub(crate) paced: Option<Paced>,
    /// Loss, order and jitter, from the numbers in datagrams.
    pub(crate) quality: Option<Quality>,
    /// Time stamps of transactions.
    pub(crate) stamps: Option<Stamps>,
    /// Distribution of operation times.
    pub(crate) latency: Option<Latency>,
    /// Time spent waiting for a turn.
    pub(crate) paused: Duration,
    /// The listener at a port that the request names, kept so that no other test has the port
    /// meanwhile.
    pub(crate) port_holder: Option<Socket>,
}

/// Runs one flow with the loop that its job asks for.
pub(crate) fn run<P: Program>(
    work: &mut Work,
    data: Socket,
    stop: &mut AlarmStop<'_>,
    tally: &mut Tally,
) -> Result<Moved, EngineError> {
    let in_flight = usize::try_from(work.job.burst).unwrap_or(0) + 1;
    let mut recorder = work.job.latency.then(|| LatencyRecorder::new(in_flight));
    if let Some(kept) = &recorder {
        stop.live().keeps(kept.watched());
    }
    let mut hooks = PlannedHooks::of_end(&work.job.end, &work.setup, work.job.sends);
    let flow = OneFlow::<'_, '_, P> {
        program: PhantomData,
        limit: limit(work),
        work: &mut *work,
        stop: &mut *stop,
        tally: &mut *tally,
        recorder: &mut recorder,
        hooks: &mut hooks,
    };
    let moved = match flow.visit(data) {
        Err(error) if has_had_enough(&work.job, &error, stop.control()) => {
            stop.over(Ended::ByPeer);
            Ok(Moved::nothing(Ended::ByPeer))
        }
        moved => moved,
    };
    stop.settle(
        moved.as_ref().map_or(Ended::Abandoned, |moved| moved.ended),
        tally,
    );
    work.paused = hooks.paused();
    work.paced = hooks.paced(tally);
    let ended = moved.as_ref().map(|moved| moved.ended);
    let own = ended.ok().and_then(|ended| hooks.quality(tally, ended));
    let seen = moved.as_ref().ok().and_then(|moved| moved.seen.overflowed);
    let quality = of_both(own, work.quality);
    work.quality = quality.map(|quality| Quality {
        overflowed: seen.map(u64::from),
        ..quality
    });
    work.latency = recorder.map(|kept| kept.latency());
    moved
}

/// Time for netserver's results to follow the refusal of a datagram.
const RESULTS_FOLLOW: Duration = Duration::from_millis(500);

/// Returns true if netserver refuses a datagram because it has the whole amount, or a connection
/// because its time is over, and its results wait. The reason is duplicated datagrams, or that this
/// program was stopped for seconds.
fn has_had_enough(job: &EndJob, error: &EngineError, control: Option<BorrowedFd<'_>>) -> bool {
    let has_amount = matches!(job.limit, LimitPlan::Units(_) | LimitPlan::Messages(_));
    let is_refused = error.error.kind() == io::ErrorKind::ConnectionRefused;
    let may_be = job.is_netperf() && (has_amount || job.connects) && is_refused;
    may_be
        && control.is_some_and(|control| {
            ready(control, Interest::Read, RESULTS_FOLLOW).unwrap_or(false)
                && control_end(control).is_none()
        })
}

/// The quality of both directions, where each datagram had a number.
fn of_both(own: Option<Quality>, got: Option<Quality>) -> Option<Quality> {
    match (own, got) {
        (Some(own), Some(got)) => Some(Quality {
            sent: own.sent,
            ..got
        }),
        (own, got) => own.or(got),
    }
}

/// The amount that ends the run.
fn limit(work: &Work) -> RunLimit {
    let job = &work.job;
    let whole_messages = !job.counts_transactions() && job.transport.keeps_boundaries();
    let message = work.setup.send_size;
    match job.limit {
        LimitPlan::Units(bytes) if whole_messages => {
            RunLimit::at_least(bytes, message.unwrap_or(1))
        }
        LimitPlan::Units(units) => RunLimit::exactly(units),
        // Only netperf counts messages: what it sends them to waits for its end.
        LimitPlan::Messages(count) if job.is_netperf() => {
            let message = message.unwrap_or(0);
            RunLimit::at_least(count.saturating_mul(u64::from(message)), message)
        }
        LimitPlan::Time(_) | LimitPlan::Messages(_) | LimitPlan::UntilStopped => RunLimit::NONE,
    }
}

/// The ring of a direction that is used; preparing made it.
pub(crate) fn needed(ring: &mut Option<Ring>) -> Result<&mut Ring, EngineError> {
    let none = || io::Error::other("the direction has no buffers");
    ring.as_mut()
        .ok_or_else(none)
        .map_err(Operation::Buffers.failed())
}

/// Says which half of an exchange an error belongs to.
fn blame(job: &EndJob) -> impl FnOnce(io::Error) -> EngineError + use<> {
    let only_sends = job.only_sends();
    move |error| {
        let too_long = error.raw_os_error() == Some(netperf_os::io::MESSAGE_TOO_LONG);
        let broken = error.kind() == io::ErrorKind::BrokenPipe;
        let operation = if only_sends || too_long || broken {
            Operation::Send
        } else {
            Operation::Receive
        };
        EngineError { operation, error }
    }
}

/// One flow of an end, under way.
struct OneFlow<'a, 's, P> {
    program: PhantomData<P>,
    work: &'a mut Work,
    limit: RunLimit,
    stop: &'a mut AlarmStop<'s>,
    tally: &'a mut Tally,
    recorder: &'a mut Option<LatencyRecorder>,
    hooks: &'a mut PlannedHooks,
}

/// A flow and its socket, to be matched with the transport's types.
struct OnTransport<'a, 's, P> {
    flow: OneFlow<'a, 's, P>,
    data: Socket,
}

impl<P: Program> Visitor for OnTransport<'_, '_, P> {
    type Out = Result<Moved, EngineError>;

    fn stream<C: Connects>(self, how: C) -> Self::Out {
        let Self { mut flow, data } = self;
        let path = path::choose(&flow.work.job, PathClass::Stream);
        if path == DataPath::Connections {
            return flow.connections(&how, data);
        }
        #[cfg(feature = "paths")]
        if path == DataPath::BothWays {
            return flow.both_ways(&how, data);
        }
        let (endpoint, seen) = match flow.open(&how, data)? {
            Ok(opened) => opened,
            Err(ended) => return Ok(Moved::nothing(ended)),
        };
        let (ended, data) = flow.over_stream(path, endpoint.into_socket())?;
        Ok(flow.close(data, ended, C::PARTING, seen))
    }

    fn connection<C: Connects>(self, how: C) -> Self::Out {
        let Self { mut flow, data } = self;
        if flow.work.job.connects {
            return flow.connections(&how, data);
        }
        let (endpoint, seen) = match flow.open(&how, data)? {
            Ok(opened) => opened,
            Err(ended) => return Ok(Moved::nothing(ended)),
        };
        let (ended, data) = flow.over(endpoint)?;
        Ok(flow.close(data, ended, C::PARTING, seen))
    }

    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out {
        let path = path::choose(&self.flow.work.job, PathClass::Datagrams);
        #[cfg(feature = "paths")]
        if path == DataPath::BothWays {
            return self.flow.both_ways_in_datagrams::<E>(&how, self.data);
        }
        self.flow.over_datagrams(path, &how, self.data)
    }

    fn addressed<A: Addresses>(self, how: A) -> Self::Out {
        let Self { flow, data } = self;
        let job = &flow.work.job;
        if P::is_netperf(job) {
            let endpoint = flow.asking(&how, data)?;
            flow.begin()?;
            flow.addressed(endpoint)
        } else if job.only_sends() {
            let endpoint = flow.asking(&how, data)?;
            flow.send_messages(endpoint)
        } else {
            let mut endpoint = how.answering(data).map_err(Operation::Create.failed())?;
            endpoint.take_only_from(&job.sources);
            flow.answers(endpoint)
        }
    }

    fn absent(self, error: io::Error) -> Self::Out {
        Err(Operation::Create.failed()(error))
    }
}

impl<'s, P: Program> OneFlow<'_, 's, P> {
    fn visit(self, data: Socket) -> Result<Moved, EngineError> {
        let job = &self.work.job;
        let (transport, options) = (job.transport, job.end.socket.clone());
        let asked = Asked {
            socket: &options,
            associations: job.associations,
            exchange: job.is_request_response(),
        };
        registry::visit(transport, asked, OnTransport { flow: self, data })
    }

    fn is_netperf(&self) -> bool {
        P::is_netperf(&self.work.job)
    }

    /// Splits the state for a loop into buffers and the rest.
    fn parts<'r>(&'r mut self) -> (&'r mut Rings, FlowContext<'r, 's>) {
        // Datagrams have no connection, and overwrite what they are received into.
        if let Some(ring) = &mut self.work.rings.send {
            ring.fill();
        }
        let run = workload::LoopContext {
            limit: self.limit,
            stop: self.stop,
            tally: self.tally,
            recorder: self.recorder,
            hooks: self.hooks,
        };
        (&mut self.work.rings, run)
    }

    /// Target of an end that sends first: netserver's socket, or the address that netperf gave.
    fn target(&self) -> Result<SockAddr, EngineError> {
        let job = &self.work.job;
        if let Some(to) = &self.work.to {
            return Ok(to.clone());
        }
        let peer = job
            .peer
            .as_ref()
            .ok_or_else(|| io::Error::from_raw_os_error(netperf_os::io::DESTINATION_REQUIRED));
        peer.and_then(|peer| place::sock_addr(job.transport, peer))
            .map(|to| socket::labelled(to, &job.end.socket))
            .map_err(Operation::Send.failed())
    }

    /// An end that sends before anything has come.
    fn asking<A: Addresses>(&self, how: &A, data: Socket) -> Result<A::Asking, EngineError> {
        how.asking(data, self.target()?)
            .map_err(Operation::Connect.failed())
    }

    /// Opens the data connection: netperf connects, netserver accepts. How the run ended,
    /// where there is no connection.
    fn open<C: Connects>(
        &mut self,
        how: &C,
        data: Socket,
    ) -> Result<Result<(C::Endpoint, ConnectionFacts), Ended>, EngineError> {
        if !self.is_netperf() {
            let accepted = self.accepted(how, &data)?;
            if let Ok(endpoint) = &accepted {
                self.begin_on(endpoint.fd())?;
            }
            self.work.port_holder = Some(data).filter(|_| self.work.job.port != 0);
            return Ok(accepted.map(|endpoint| (endpoint, ConnectionFacts::default())));
        }
        let to = self.target()?;
        let Some(endpoint) = self.connect(how, data, &to)? else {
            return Ok(Err(Ended::Abandoned));
        };
        self.stop.live().connected(endpoint.fd());
        socket::set_on_connection(endpoint.fd(), &self.work.job.end.socket)
            .map_err(Operation::Create.failed())?;
        let seen = ConnectionFacts::of(self.work.job.transport, &endpoint);
        Ok(Ok((endpoint, seen)))
    }

    /// Connects a socket; `None` when the user ended the test first.
    fn connect<C: Connects>(
        &mut self,
        how: &C,
        data: Socket,
        to: &SockAddr,
    ) -> Result<Option<C::Endpoint>, EngineError> {
        let (stop, tally) = (&mut *self.stop, &*self.tally);
        let token = self.work.job.token.as_ref();
        let deadline = clock::now().plus(timing::connects_within(&self.work.job));
        let mut give_up = || stop.interrupted(tally).is_some() || deadline.left().is_zero();
        let met = connections::entered(how, data, (to, token), &mut give_up)
            .map_err(Operation::Connect.failed())?;
        match met {
            Met::Connected(endpoint) => {
                self.begin()?;
                Ok(Some(endpoint))
            }
            Met::GivenUp if alarm::stopped_by_user() || self.stop.gone().is_some() => Ok(None),
            Met::GivenUp => Err(Operation::Connect.failed()(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Begins netperf's time. The time to connect is part of it, unless connecting took long:
    /// then the time begins with the connection, as netserver's does where only it sends.
    fn begin(&self) -> Result<(), EngineError> {
        let mut schedule = timing::schedule(&self.work.job);
        let spent = self.stop.elapsed();
        let left = schedule.finish_after.map(|time| time.saturating_sub(spent));
        if spent <= timing::PROMPT && left.is_none_or(|left| !left.is_zero()) {
            schedule.finish_after = left;
        } else {
            self.stop.begins_anew();
        }
        self.stop
            .reschedule(schedule)
            .map_err(Operation::Timer.failed())
    }

    /// The one connection of a test at netserver, or how the wait for it ended.
    fn accepted<C: Connects>(
        &mut self,
        how: &C,
        listener: &Socket,
    ) -> Result<Result<C::Endpoint, Ended>, EngineError> {
        let mut wait = timing::ConnectionWait::of(&self.work.job).filter(|_| !self.is_netperf());
        loop {
            let over = |stop: &mut AlarmStop<'_>, tally: &Tally| {
                let ended = stop.interrupted(tally);
                let is_underway = || stop.control().is_some_and(timing::is_underway);
                let wait = wait.as_mut().filter(|_| ended.is_none());
                if wait.is_some_and(|wait| wait.is_over(stop.elapsed(), is_underway())) {
                    alarm::abandon();
                    return Some(Ended::Abandoned);
                }
                ended
            };
            let gate = gate(listener, &self.work.job);
            return match accept(how, gate, self.stop, self.tally, over) {
                Ok(NextConnection::Ready(endpoint)) => Ok(Ok(endpoint)),
                Ok(NextConnection::Ended(ended)) => Ok(Err(ended)),
                Ok(NextConnection::Again) => continue,
                Err(error) => Err(Operation::Accept.failed()(error)),
            };
        }
    }

    /// Begins netserver's time with the connection.
    fn begin_on(&mut self, data: BorrowedFd<'_>) -> Result<(), EngineError> {
        self.work.rings.fill();
        let job = &self.work.job;
        socket::set_on_connection(data, &job.end.socket).map_err(Operation::Create.failed())?;
        self.stop.live().connected(data);
        if job.end.until {
            let receiver = StopReceiver::on(data).map_err(Operation::Accept.failed())?;
            self.stop.listen(Some(receiver));
        }
        match timing::connected_schedule(job, self.stop.elapsed()) {
            Some(schedule) => self
                .stop
                .reschedule(schedule)
                .map_err(Operation::Timer.failed()),
            None => Ok(()),
        }
    }

    /// The loop that the job asks for, over one endpoint.
    fn over<E: Endpoint + OnSocket>(
        &mut self,
        endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        #[cfg(feature = "paths")]
        if self.work.due.is_some() {
            return self.open_loop(endpoint);
        }
        if self.work.job.is_request_response() {
            self.exchange(endpoint)
        } else if self.work.job.receives {
            self.receive(endpoint)
        } else {
            self.send(endpoint)
        }
    }

    fn send<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let (rings, run) = self.parts();
        let ended = loops::send(&mut endpoint, needed(&mut rings.send)?, run);
        self.hooks.over();
        let job = &self.work.job;
        // netperf closes or resets the connection when its time is over.
        let may_be_gone = !self.is_netperf();
        let ended = match ended {
            Err(error) if may_be_gone && is_gone(&error) => Ended::ByPeer,
            other => other.map_err(blame(job))?,
        };
        self.settled(&mut endpoint);
        Ok((ended, endpoint.into_socket()))
    }

    fn receive<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let blame = blame(&self.work.job);
        let (netperf, has_peer) = (self.is_netperf(), self.work.job.has_peer);
        let (rings, mut run) = self.parts();
        run.limit = match (netperf, has_peer) {
            // netperf ends the connection.
            (false, _) => RunLimit::NONE,
            // netserver ends the connection when it has sent enough, or more where it rounds
            // up; a server of another kind may never.
            (true, true) => run.limit.exceeded(),
            (true, false) => run.limit,
        };
        let ended = loops::receive(&mut endpoint, needed(&mut rings.recv)?, run).map_err(blame)?;
        if !netperf {
            self.settled(&mut endpoint);
        }
        Ok((ended, endpoint.into_socket()))
    }

    fn exchange<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let ended = self.request_response(&mut endpoint)?;
        self.settled(&mut endpoint);
        Ok((ended, endpoint.into_socket()))
    }

    /// Requests and responses: netperf asks, netserver answers.
    fn request_response<E: Endpoint>(&mut self, endpoint: &mut E) -> Result<Ended, EngineError> {
        let job = &self.work.job;
        let (netperf, burst, blame) = (P::is_netperf(job), job.burst, blame(job));
        let (rings, run) = self.parts();
        let (send, recv) = (needed(&mut rings.send)?, needed(&mut rings.recv)?);
        let ended = if netperf {
            loops::ask(endpoint, (send, recv), burst, run)
        } else {
            loops::answer(endpoint, (recv, send), run)
        };
        ended.map_err(blame)
    }
}

/// The listener of a job, and the addresses it accepts.
fn gate<'a>(listener: &'a Socket, job: &'a EndJob) -> AcceptFilter<'a> {
    let sources = &job.sources;
    AcceptFilter {
        sources: (!sources.is_anybody()).then_some(sources),
        passed: Passed::of(job),
        ..AcceptFilter::open(listener)
    }
}

/// Waits for a connection, until there is one or the run is over.
fn accept<'s, C: Connects>(
    how: &C,
    gate: AcceptFilter<'_>,
    stop: &mut AlarmStop<'s>,
    tally: &Tally,
    mut over: impl FnMut(&mut AlarmStop<'s>, &Tally) -> Option<Ended>,
) -> io::Result<NextConnection<C::Endpoint>> {
    let mut ended = None;
    let met = how.accept(gate, &mut || {
        ended = over(stop, tally);
        ended.is_some()
    });
    match met {
        Ok(Met::Connected(endpoint)) => Ok(NextConnection::Ready(endpoint)),
        Ok(Met::GivenUp) => Ok(NextConnection::Ended(ended.unwrap_or(Ended::Abandoned))),
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(NextConnection::Again),
        Err(error) => Err(error),
    }
}
