//! netserver's loops.

mod duplex;
mod paths;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{EndJob, Limit as LimitPlan, Tally};
use netperf_os::{SockAddr, Socket, alarm};
use netperf_transport::meeting::{AcceptFilter, Addresses, Connects, Met, OnSocket, Parts as _};
use netperf_transport::one_port::Passed;
use netperf_transport::registry::{self, Asked, Visitor};
use netperf_transport::udp::{Aimed, Udp};
use netperf_transport::{Endpoint, Received, Sent};
use netperf_transport::{place, socket};

use super::client::of_both;
use super::loops::{self, Wanted};
use super::{blame, needed};
use crate::due::hooks::{Hooks, PlannedHooks};
use crate::early::StopReceiver;
use crate::error::{EngineError, Operation};
use crate::limit::Limit;
use crate::quiet::Quiet;
use crate::record::Kept;
use crate::server::{IDLE, Served, Work, sending_schedule};
use crate::stop::{ByBell, Ended, Phase, Stop};
use crate::workload;
use crate::workload::connect::{self, Exchange, Opened};

/// A run under way.
struct Going<'a, 's> {
    work: &'a mut Work,
    limit: Limit,
    stop: &'a mut ByBell<'s>,
    tally: &'a mut Tally,
    /// None: netperf alone keeps times.
    recorder: &'a mut Option<Kept>,
    hooks: &'a mut Option<PlannedHooks>,
}

/// A run and what it runs on, to be matched with the transport's types.
struct Visiting<'a, 's> {
    going: Going<'a, 's>,
    data: Socket,
}

impl Visitor for Visiting<'_, '_> {
    type Out = Result<Served, EngineError>;

    fn stream<C: Connects>(self, how: C) -> Self::Out {
        let flow = self.going.work.job.test_flow();
        if flow.connects {
            self.going.connections(&how, &self.data)
        } else if flow.duplex.is_some() {
            self.going.both_ways(&how, self.data)
        } else {
            self.going.stream(&how, self.data)
        }
    }

    fn connection<C: Connects>(self, how: C) -> Self::Out {
        if self.going.work.job.test_flow().connects {
            self.going.connections(&how, &self.data)
        } else {
            self.going.connection(&how, self.data)
        }
    }

    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out {
        if self.going.work.job.test_flow().duplex.is_some() {
            return self.going.both_ways_in_datagrams(&self.data);
        }
        self.going.datagrams(&how, self.data)
    }

    fn addressed<A: Addresses>(self, how: A) -> Self::Out {
        if self.going.only_sends() {
            let endpoint = self.going.asking(&how, self.data)?;
            self.going.sends_only(endpoint)
        } else {
            let endpoint = how.answering(self.data);
            let mut endpoint = endpoint.map_err(Operation::Create.failed())?;
            endpoint.take_only_from(&self.going.work.job.sources);
            self.going.answers(endpoint)
        }
    }

    fn absent(self, error: std::io::Error) -> Self::Out {
        Err(Operation::Create.failed()(error))
    }
}

/// Runs netserver's end with the loop that the request asks for.
pub(crate) fn server(
    work: &mut Work,
    data: Socket,
    stop: &mut ByBell<'_>,
    tally: &mut Tally,
) -> Result<Served, EngineError> {
    let mut hooks = PlannedHooks::of_end(&work.job.end, &work.setup, work.job.sends);
    let going = Going {
        limit: limit(work),
        work: &mut *work,
        stop,
        tally: &mut *tally,
        recorder: &mut None,
        hooks: &mut hooks,
    };
    let served = going.go(data);
    if let Some(hooks) = hooks {
        work.paced = hooks.paced(tally);
        let ended = served.as_ref().map(|served| served.ended);
        let own = ended.ok().and_then(|ended| hooks.quality(tally, ended));
        work.quality = of_both(own, work.quality);
    }
    served
}

/// What ends the run besides time.
fn limit(work: &Work) -> Limit {
    let job = &work.job;
    let whole_messages = !job.test_flow().counts_transactions() && job.transport.keeps_boundaries();
    match job.limit {
        LimitPlan::Units(bytes) if whole_messages => {
            Limit::at_least(bytes, work.setup.send_size.unwrap_or(1))
        }
        LimitPlan::Units(units) => Limit::exactly(units),
        // Only netperf counts messages: what it sends them to waits for its end.
        LimitPlan::Time(_) | LimitPlan::Messages(_) | LimitPlan::UntilStopped => Limit::NONE,
    }
}

impl<'s> Going<'_, 's> {
    /// What a loop needs, in two parts that can be borrowed together.
    fn parts<'r>(&'r mut self) -> (&'r mut Work, Wanted<'r, 's>) {
        let run = workload::Run {
            limit: self.limit,
            stop: self.stop,
            tally: self.tally,
            recorder: self.recorder,
            hooks: self.hooks,
        };
        (self.work, run)
    }

    fn go(self, data: Socket) -> Result<Served, EngineError> {
        let transport = self.work.job.transport;
        let plan = self.work.job.end.socket.clone();
        let asked = Asked {
            socket: &plan,
            associations: self.work.job.associations,
            exchange: self.work.job.test_flow().is_request_response(),
        };
        registry::visit(transport, asked, Visiting { going: self, data })
    }

    /// Data over one connection, when what accepts also moves it.
    fn connection<C: Connects>(mut self, how: &C, listener: Socket) -> Result<Served, EngineError> {
        let endpoint = match self.accepted(how, listener)? {
            Ok(endpoint) => endpoint,
            Err(ended) => return Ok(Served::without_facts(ended)),
        };
        self.begin(&endpoint)?;
        let (ended, data) = self.serve(endpoint)?;
        Ok(self.served(ended, &data))
    }

    /// The one connection of a test, or how the wait for it ended.
    fn accepted<C: Connects>(
        &mut self,
        how: &C,
        listener: Socket,
    ) -> Result<Result<C::Endpoint, Ended>, EngineError> {
        loop {
            let over = |stop: &mut ByBell<'_>, tally: &Tally| stop.interrupted(tally);
            let gate = gate(&listener, &self.work.job);
            return match accept(how, gate, self.stop, self.tally, over) {
                Ok(Opened::Ready(endpoint)) => Ok(Ok(endpoint)),
                Ok(Opened::Ended(ended)) => Ok(Err(ended)),
                Ok(Opened::Again) => continue,
                Err(error) => Err(EngineError {
                    operation: Operation::Accept,
                    error,
                }),
            };
        }
    }

    /// The time of a sender begins with the connection.
    fn begin<S: OnSocket>(&mut self, endpoint: &S) -> Result<(), EngineError> {
        self.begin_on(endpoint.fd())
    }

    fn begin_on(&mut self, data: BorrowedFd<'_>) -> Result<(), EngineError> {
        socket::set_on_connection(data, &self.work.job.end.socket)
            .map_err(Operation::Create.failed())?;
        self.stop.connected(data);
        if self.work.job.end.until {
            let stop_receiver = StopReceiver::on(data).map_err(Operation::Accept.failed())?;
            self.stop.listen(Some(stop_receiver));
        }
        match sending_schedule(&self.work.job, self.stop.elapsed()) {
            Some(schedule) => self
                .stop
                .reschedule(schedule)
                .map_err(Operation::Timer.failed()),
            None => Ok(()),
        }
    }

    fn served(&mut self, ended: Ended, data: &Socket) -> Served {
        // What closes the connection now is to be the last that holds it.
        self.stop.listen(None);
        Served {
            facts: Some(socket::facts(self.work.job.transport, data)),
            ..Served::without_facts(ended)
        }
    }

    fn serve<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.job.test_flow();
        if !flow.is_request_response() {
            return if flow.sends {
                self.receive(endpoint)
            } else {
                self.send(endpoint)
            };
        }
        let (work, run) = self.parts();
        let rings = &mut work.rings;
        let rings = (needed(&mut rings.recv)?, needed(&mut rings.send)?);
        let ended = loops::answer(&mut endpoint, rings, run).map_err(blame(flow))?;
        self.settled(&mut endpoint);
        Ok((ended, endpoint.into_socket()))
    }

    fn connections<C: Connects>(self, how: &C, listener: &Socket) -> Result<Served, EngineError> {
        let Going {
            work,
            limit,
            stop,
            tally,
            ..
        } = self;
        let mut quiet = Quiet::since(clock::now());
        let job = work.job.clone();
        let plan = &job.end.socket;
        let accept_next = |stop: &mut ByBell<'_>, tally: &Tally| {
            let over = |stop: &mut ByBell<'_>, tally: &Tally| {
                stop.interrupted(tally).or_else(|| {
                    if stop.phase() != Phase::Finish {
                        return None;
                    }
                    // Half a transaction is no sign of life.
                    quiet.look(&Tally {
                        transactions: tally.transactions,
                        ..Tally::default()
                    });
                    let is_end = quiet.is_end(alarm::overtime(), IDLE);
                    is_end.then_some(Ended::TimeOver)
                })
            };
            let opened = accept(how, gate(listener, &job), stop, tally, over)?;
            if let Opened::Ready(endpoint) = &opened {
                socket::set_on_connection(endpoint.fd(), plan)?;
            }
            Ok(opened)
        };
        let exchange = Exchange {
            send: work.rings.send.as_mut(),
            recv: work.rings.recv.as_mut(),
        };
        let ended = connect::server(
            accept_next,
            exchange,
            work.job.test_flow(),
            limit,
            stop,
            tally,
        )
        .map_err(Operation::Accept.failed())?;
        let idle = match ended {
            Ended::TimeOver | Ended::Abandoned => quiet.lasted(),
            Ended::Complete | Ended::ByPeer | Ended::Lost(_) => Duration::ZERO,
        };
        Ok(Served {
            ended,
            facts: None,
            idle,
        })
    }
}

impl Served {
    fn without_facts(ended: Ended) -> Self {
        Self {
            ended,
            facts: None,
            idle: Duration::ZERO,
        }
    }
}

/// Where the connections of a job arrive.
fn gate<'a>(listener: &'a Socket, job: &'a EndJob) -> AcceptFilter<'a> {
    let sources = &job.sources;
    AcceptFilter {
        listener,
        sources: (!sources.is_anybody()).then_some(sources),
        passed: Passed::of(job),
    }
}

/// Waits for a connection, until there is one or nothing to wait for.
fn accept<'s, C: Connects>(
    how: &C,
    gate: AcceptFilter<'_>,
    stop: &mut ByBell<'s>,
    tally: &Tally,
    mut over: impl FnMut(&mut ByBell<'s>, &Tally) -> Option<Ended>,
) -> io::Result<Opened<C::Endpoint>> {
    let mut ended = None;
    let met = how.accept(gate, &mut || {
        ended = over(stop, tally);
        ended.is_some()
    });
    match met {
        Ok(Met::Connected(endpoint)) => Ok(Opened::Ready(endpoint)),
        Ok(Met::GivenUp) => Ok(Opened::Ended(ended.unwrap_or(Ended::Abandoned))),
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(Opened::Again),
        Err(error) => Err(error),
    }
}

/// Where a sender of messages that was never written to sends.
fn peer(job: &EndJob) -> Result<SockAddr, EngineError> {
    let peer = job
        .peer
        .as_ref()
        .ok_or_else(|| io::Error::from_raw_os_error(netperf_os::io::DESTINATION_REQUIRED));
    peer.and_then(|peer| place::sock_addr(job.transport, peer))
        .map(|to| socket::labelled(to, &job.end.socket))
        .map_err(Operation::Send.failed())
}

/// Ends at the first datagram of another length, where the request asks for that.
struct UntilOdd<E> {
    inner: E,
    length: Option<usize>,
}

impl<E: Endpoint> Endpoint for UntilOdd<E> {
    const KEEPS_BOUNDARIES: bool = E::KEEPS_BOUNDARIES;
    const OWN_LOOPS: bool = E::OWN_LOOPS;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        self.inner.send(buf)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = self.inner.recv(buf)?;
        let odd = self
            .length
            .is_some_and(|length| got != Received::Bytes(length));
        let is_odd_datagram = odd && matches!(got, Received::Bytes(_));
        Ok(if is_odd_datagram { Received::End } else { got })
    }
}
