//! netperf's loops.

mod duplex;
mod open;
mod paths;

pub(crate) use duplex::{blamed, of_both, wake_up};

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{Duplex, Latency, Limit as LimitPlan, Tally, Token, TransportId};
use netperf_os::{SockAddr, Socket, alarm};
use netperf_transport::meeting::{Addresses, Connects, GiveUp, Met, OnSocket, Parting, Parts};
use netperf_transport::one_port;
use netperf_transport::registry::{self, Asked, Visitor};
use netperf_transport::socket;
use netperf_transport::udp::{Aimed, Udp};
use netperf_transport::{Endpoint, dccp};

use super::loops::{self, Wanted};
use super::{blame, needed};
use crate::client::{Moved, Work, connects_within, placed, schedule};
use crate::due::hooks::{Hooks, PlannedHooks};
use crate::end::Rings;
use crate::error::{EngineError, Operation};
use crate::finish::{self, Drained};
use crate::limit::Limit;
use crate::record::Kept;
use crate::server::PROMPT;
use crate::stop::{ByBell, Ended, Lost, Stop};
use crate::workload;
use crate::workload::connect::{self, Exchange, Opened};

/// A run under way.
struct Going<'a, 'w, 's> {
    work: &'a mut Work<'w>,
    to: SockAddr,
    limit: Limit,
    stop: &'a mut ByBell<'s>,
    tally: &'a mut Tally,
    recorder: &'a mut Option<Kept>,
    hooks: &'a mut Option<PlannedHooks>,
}

/// What is seen of a connection while it stands.
#[derive(Default)]
struct Seen {
    segment_size: Option<u32>,
    cipher: Option<String>,
}

impl Seen {
    fn of(transport: TransportId, endpoint: &impl OnSocket) -> Self {
        Self {
            segment_size: socket::segment_size(transport, endpoint.fd()),
            cipher: endpoint.cipher(),
        }
    }
}

/// A run and what it runs on, to be matched with the transport's types.
struct Visiting<'a, 'w, 's> {
    going: Going<'a, 'w, 's>,
    data: Socket,
}

impl Visitor for Visiting<'_, '_, '_> {
    type Out = Result<Moved, EngineError>;

    fn stream<C: Connects>(self, how: C) -> Self::Out {
        let flow = self.going.work.plan.flow;
        if flow.connects {
            self.going.connections(&how)
        } else if flow.duplex.is_some() {
            self.going.both_ways(&how, self.data)
        } else {
            self.going.stream(&how, self.data)
        }
    }

    fn connection<C: Connects>(self, how: C) -> Self::Out {
        if self.going.work.plan.flow.connects {
            self.going.connections(&how)
        } else {
            self.going.connection(&how, self.data)
        }
    }

    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out {
        if self.going.work.plan.flow.duplex.is_some() {
            let going = self.going;
            return going.both_ways_in_datagrams(&how, self.data);
        }
        self.going.datagrams(&how, self.data)
    }

    fn addressed<A: Addresses>(self, how: A) -> Self::Out {
        let to = self.going.to.clone();
        let endpoint = how
            .asking(self.data, to)
            .map_err(Operation::Connect.failed())?;
        self.going.begin()?;
        self.going.addressed(endpoint)
    }

    fn absent(self, error: std::io::Error) -> Self::Out {
        Err(Operation::Create.failed()(error))
    }
}

/// What a run under way keeps, for the caller to have afterwards.
pub(crate) struct Keeping<'a, 's> {
    pub(crate) stop: &'a mut ByBell<'s>,
    pub(crate) tally: &'a mut Tally,
    /// Where to leave the distribution of operation times.
    pub(crate) latency: &'a mut Option<Latency>,
    /// Where to leave the time spent waiting for a turn.
    pub(crate) paused: &'a mut Duration,
}

/// Runs netperf's end with the loop that the plan asks for.
pub(crate) fn client(
    work: &mut Work<'_>,
    data: Socket,
    to: SockAddr,
    keeping: Keeping<'_, '_>,
) -> Result<Moved, EngineError> {
    let Keeping {
        stop,
        tally,
        latency,
        paused,
    } = keeping;
    let in_flight = usize::try_from(work.plan.burst).unwrap_or(0) + 1;
    let mut recorder = work.plan.latency.then(|| Kept::new(in_flight));
    if let Some(kept) = &recorder {
        stop.keeps(kept.watched());
    }
    let mut hooks = PlannedHooks::of_end(&work.plan.local, &work.setup, work.plan.flow.sends);
    let going = Going {
        limit: limit(work),
        work: &mut *work,
        to,
        stop,
        tally: &mut *tally,
        recorder: &mut recorder,
        hooks: &mut hooks,
    };
    let moved = going.go(data);
    if let Some(hooks) = hooks {
        *paused = hooks.paused();
        work.paced = hooks.paced(tally);
        let ended = moved.as_ref().map(|moved| moved.ended);
        let own = ended.ok().and_then(|ended| hooks.quality(tally, ended));
        work.quality = of_both(own, work.quality);
    }
    *latency = recorder.map(|kept| kept.latency());
    moved
}

/// What ends the run besides time.
fn limit(work: &Work<'_>) -> Limit {
    let plan = work.plan;
    let whole_messages = !plan.flow.counts_transactions() && plan.transport.keeps_boundaries();
    let message = work.setup.send_size;
    match plan.limit {
        LimitPlan::Units(bytes) if whole_messages => Limit::at_least(bytes, message.unwrap_or(1)),
        LimitPlan::Units(units) => Limit::exactly(units),
        LimitPlan::Messages(count) => {
            let message = message.unwrap_or(0);
            Limit::at_least(count.saturating_mul(u64::from(message)), message)
        }
        LimitPlan::Time(_) | LimitPlan::UntilStopped => Limit::NONE,
    }
}

impl<'s> Going<'_, '_, 's> {
    fn go(self, data: Socket) -> Result<Moved, EngineError> {
        let plan = self.work.plan;
        let asked = Asked {
            socket: &plan.local.socket,
            associations: plan.associations,
            exchange: plan.flow.is_request_response(),
        };
        registry::visit(plan.transport, asked, Visiting { going: self, data })
    }

    /// Data over one connection, when what connects also moves it.
    fn connection<C: Connects>(mut self, how: &C, data: Socket) -> Result<Moved, EngineError> {
        let Some(endpoint) = self.connect(how, data)? else {
            return Ok(Moved::nothing(Ended::Abandoned));
        };
        let seen = self.connected(&endpoint)?;
        let (ended, data) = self.over(endpoint)?;
        Ok(self.parted(data, ended, C::PARTING, seen))
    }

    /// What the plan asks for, over one endpoint.
    fn over<E: Endpoint + OnSocket>(
        &mut self,
        endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.plan.flow;
        if self.work.due.is_some() {
            self.open_loop(endpoint)
        } else if flow.is_request_response() {
            self.exchange(endpoint)
        } else if flow.receives {
            self.receive(endpoint)
        } else {
            self.send(endpoint)
        }
    }

    /// Brings the connection to its end.
    fn parted(self, data: Socket, ended: Ended, parting: Parting, seen: Seen) -> Moved {
        self.stop.over();
        let plan = self.work.plan;
        let transport = plan.transport;
        // TCP still knows when it is over how it was; nobody else does.
        let (drained, facts) = if parting == Parting::HalfClose {
            let drained = self.end_connection(&data, ended, parting);
            (drained, socket::facts(transport, &data))
        } else {
            let facts = socket::facts(transport, &data);
            (self.end_connection(&data, ended, parting), facts)
        };
        Moved {
            ended,
            facts: Some(facts),
            segment_size: seen.segment_size,
            cipher: seen.cipher,
            lost: match drained {
                Drained::Lost(lost) => Some(lost),
                Drained::Closed | Drained::StillMoving => None,
            },
            still_moving: drained == Drained::StillMoving,
            end_mark: (parting == Parting::EmptyMessages && plan.flow.sends)
                .then(|| dccp::DccpEndpoint(data).part().mark())
                .flatten(),
        }
    }

    /// Connects the data socket; `None` when the user ended the test first.
    fn connect<C: Connects>(
        &mut self,
        how: &C,
        data: Socket,
    ) -> Result<Option<C::Endpoint>, EngineError> {
        let (stop, tally) = (&mut *self.stop, &*self.tally);
        let token = self.work.token.as_ref();
        let deadline = clock::now().plus(connects_within(self.work.plan));
        let mut give_up = || stop.interrupted(tally).is_some() || deadline.left().is_zero();
        let met = entered(how, data, (&self.to, token), &mut give_up)
            .map_err(Operation::Connect.failed())?;
        match met {
            Met::Connected(endpoint) => {
                self.begin()?;
                Ok(Some(endpoint))
            }
            Met::GivenUp if alarm::stopped_by_user() || self.stop.gone().is_some() => Ok(None),
            Met::GivenUp => Err(EngineError {
                operation: Operation::Connect,
                error: io::ErrorKind::TimedOut.into(),
            }),
        }
    }

    /// A connection that came at once has taken of the time what it took. After a long way
    /// there or a handshake that took a while the time begins with the connection, as
    /// netserver's does where only it sends: a short one would be over already.
    fn begin(&self) -> Result<(), EngineError> {
        let mut schedule = schedule(self.work.plan);
        let spent = self.stop.elapsed();
        let left = schedule.finish_after.map(|time| time.saturating_sub(spent));
        if spent <= PROMPT && left.is_none_or(|left| !left.is_zero()) {
            schedule.finish_after = left;
        } else {
            self.stop.begins_anew();
        }
        self.stop
            .reschedule(schedule)
            .map_err(Operation::Timer.failed())
    }

    fn send<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.plan.flow;
        let (rings, run) = self.parts();
        let ring = needed(&mut rings.send)?;
        let ended = loops::send(&mut endpoint, ring, run).map_err(blame(flow))?;
        self.hooks.over();
        self.settled(&mut endpoint);
        Ok((ended, endpoint.into_socket()))
    }

    fn receive<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let plan = self.work.plan;
        let without_netserver = plan.control.is_none();
        let (rings, mut run) = self.parts();
        // netserver ends the connection when it has sent enough, or more where it rounds up;
        // a server of another kind may never.
        if !without_netserver {
            run.limit = run.limit.exceeded();
        }
        let ended = loops::receive(&mut endpoint, needed(&mut rings.recv)?, run);
        Ok((ended.map_err(blame(plan.flow))?, endpoint.into_socket()))
    }

    fn exchange<E: Endpoint + OnSocket>(
        &mut self,
        mut endpoint: E,
    ) -> Result<(Ended, Socket), EngineError> {
        let ended = self.request_response(&mut endpoint)?;
        self.settled(&mut endpoint);
        Ok((ended, endpoint.into_socket()))
    }

    fn request_response<E: Endpoint>(&mut self, endpoint: &mut E) -> Result<Ended, EngineError> {
        let plan = self.work.plan;
        let (rings, run) = self.parts();
        let rings = (needed(&mut rings.send)?, needed(&mut rings.recv)?);
        loops::ask(endpoint, rings, plan.burst, run).map_err(blame(plan.flow))
    }

    /// What a loop needs, in two parts that can be borrowed together.
    fn parts<'r>(&'r mut self) -> (&'r mut Rings, Wanted<'r, 's>) {
        let run = workload::Run {
            limit: self.limit,
            stop: self.stop,
            tally: self.tally,
            recorder: self.recorder,
            hooks: self.hooks,
        };
        (&mut self.work.rings, run)
    }

    /// Ends the data connection.
    fn end_connection(&self, data: &Socket, ended: Ended, parting: Parting) -> Drained {
        let plan = self.work.plan;
        if ended == Ended::ByPeer {
            return Drained::Closed;
        }
        if let (Some(Duplex::Same), Ended::Lost(lost)) = (plan.flow.duplex, ended) {
            return Drained::Lost(lost);
        }
        // Nobody is left to come to an end with.
        if let Some(lost) = self.stop.gone() {
            return Drained::Lost(lost);
        }
        let only_receives = plan.flow.receives && !plan.flow.sends;
        if only_receives && (plan.control.is_none() || alarm::stopped_by_user()) {
            // The sender at the other end would go on: it must feel the end.
            return Drained::StillMoving;
        }
        let silent = only_receives && self.stop.silent() >= finish::NO_PROGRESS;
        if silent && ended == Ended::Abandoned {
            // It was waited for long enough.
            return Drained::Lost(Lost::NotClosed);
        }
        let drained = finish::bring_to_its_end(data, parting);
        // Without netserver nobody promises to answer the end with an end.
        if plan.control.is_none() {
            Drained::StillMoving
        } else {
            drained
        }
    }

    fn connections<C: Connects>(self, how: &C) -> Result<Moved, EngineError> {
        let Going {
            work,
            to,
            limit,
            stop,
            tally,
            recorder,
            hooks,
        } = self;
        let plan = work.plan;
        let mut seen = None;
        let mut dialler = Dialler::new(work.local, &to, plan.port_range);
        let (family, local, token) = (work.family, work.local, work.token);
        let rings = &mut work.rings;
        let dial = |stop: &mut ByBell<'_>, tally: &Tally| {
            let data = socket::open_again(plan.transport, family, &plan.local.socket)?;
            if plan.local.socket.fast_open && plan.flow.sends {
                socket::send_with_connect(&data)?;
            }
            if plan.transport.is_inet() {
                dialler.bind_next(&data);
            } else {
                placed(plan, local, &data).map_err(|failed| failed.error)?;
            }
            let mut ended = None;
            let met = entered(how, data, (&to, token.as_ref()), &mut || {
                ended = stop.interrupted(tally);
                ended.is_some()
            });
            let endpoint = match met {
                Ok(Met::Connected(endpoint)) => endpoint,
                Ok(Met::GivenUp) => {
                    return Ok(Opened::Ended(ended.unwrap_or(Ended::Abandoned)));
                }
                Err(error) if plan.retry_connects || port_is_taken(&error) || undone(&error) => {
                    return Ok(Opened::Again);
                }
                Err(error) => return Err(error),
            };
            socket::set_on_connection(endpoint.fd(), &plan.local.socket)?;
            seen.get_or_insert_with(|| Seen::of(plan.transport, &endpoint));
            Ok(Opened::Ready(endpoint))
        };
        let without_netserver = plan.control.is_none();
        let half_close = |endpoint: &mut C::Endpoint| {
            if without_netserver && matches!(C::PARTING, Parting::HalfClose | Parting::Shutdown) {
                netperf_os::io::half_close(endpoint.fd())
            } else {
                Ok(())
            }
        };
        let exchange = Exchange {
            send: rings.send.as_mut(),
            recv: rings.recv.as_mut(),
        };
        let ended = connect::client(
            dial,
            half_close,
            exchange,
            workload::Run {
                limit,
                stop,
                tally,
                recorder,
                hooks,
            },
        )
        .map_err(Operation::Connect.failed())?;
        let seen = seen.unwrap_or_default();
        Ok(Moved {
            segment_size: seen.segment_size,
            cipher: seen.cipher,
            ..Moved::nothing(ended)
        })
    }
}

/// Connects a data socket. Where it goes to the port of the control connection it says
/// first which test it is of.
fn entered<C: Connects>(
    how: &C,
    data: Socket,
    (to, token): (&SockAddr, Option<&Token>),
    give_up: GiveUp<'_>,
) -> io::Result<Met<C::Endpoint>> {
    match token {
        None => how.connect(data, to, give_up),
        Some(token) => one_port::enter(&data, to, token, give_up)?
            .and_then(|()| how.connect(data, to, give_up)),
    }
}

impl Moved {
    pub(crate) fn nothing(ended: Ended) -> Self {
        Self {
            ended,
            facts: None,
            segment_size: None,
            cipher: None,
            lost: None,
            still_moving: false,
            end_mark: None,
        }
    }
}

/// A local port that is still in use or waiting: another will do. LLC says of an access
/// point whose last connection is not forgotten yet that it is busy.
pub(crate) fn port_is_taken(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(
        kind,
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable | io::ErrorKind::ResourceBusy
    )
}

/// A signal undid what was begun: the next socket may have more luck.
fn undone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Walks through local ports, one for each connection, so that none is used again
/// while netserver's end of it is still waiting to be forgotten.
pub(crate) struct Dialler {
    local: SocketAddr,
    ports: std::ops::Range<u16>,
    next: u16,
    avoid: u16,
}

impl Dialler {
    pub(crate) fn new(local: SocketAddr, to: &SockAddr, (from, until): (u16, u16)) -> Self {
        let ports = from..until.max(from.saturating_add(1));
        let span = u64::from(ports.end - ports.start);
        let nanos = u64::from(netperf_measure::clock::since_epoch().subsec_nanos());
        let start = ports.start + u16::try_from(nanos / 1000 % span).unwrap_or(0);
        Self {
            local,
            next: start,
            avoid: to.as_socket().map_or(0, |to| to.port()),
            ports,
        }
    }

    /// Binds to the next port. A port that cannot be had is left to the kernel to choose.
    pub(crate) fn bind_next(&mut self, data: &Socket) {
        if self.next == self.avoid {
            self.step();
        }
        self.local.set_port(self.next);
        self.step();
        let _left_to_the_kernel = socket::bind(data, self.local);
    }

    fn step(&mut self) {
        self.next = if self.next + 1 >= self.ports.end {
            self.ports.start
        } else {
            self.next + 1
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_ports_are_walked_through_in_a_circle_without_the_servers() {
        let local = "127.0.0.1:0".parse().unwrap();
        let to: SocketAddr = "127.0.0.1:30001".parse().unwrap();
        let mut dialler = Dialler::new(local, &to.into(), (30_000, 30_003));
        let mut seen = Vec::new();
        for _ in 0..4 {
            if dialler.next == dialler.avoid {
                dialler.step();
            }
            seen.push(dialler.next);
            dialler.step();
        }
        assert!(
            seen.iter().all(|port| [30_000, 30_002].contains(port)),
            "{seen:?}"
        );
    }
}
