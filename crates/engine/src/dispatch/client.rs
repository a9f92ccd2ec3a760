//! netperf's loops.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_model::{Latency, Limit as LimitPlan, Tally, TestId};
use netperf_os::{SockAddr, Socket, bell};
use netperf_transport::Endpoint;
use netperf_transport::socket::{self, Dialled};
use netperf_transport::tcp::{FromFile, OnSocket, Spliced, Tcp, Written};
use netperf_transport::udp::{Connected, Towards};

use super::{blame, needed};
use crate::client::{EndMark, Moved, Work};
use crate::end::Rings;
use crate::error::{EngineError, Operation};
use crate::finish::{self, Drained};
use crate::limit::{AtLeast, Exactly, Limit, Unlimited};
use crate::prelude::{Chores, Nothing, Prelude};
use crate::record::{Kept, Off, Recorder};
use crate::stop::{ByBell, Ended, Stop};
use crate::workload::connect::{self, Exchange, Opened};
use crate::workload::{self, rr, stream};

/// Empty datagrams that tell netserver of the end: one may be lost.
const END_MARKS: usize = 3;

/// A run under way.
struct Going<'a, 'w, 's, R, P> {
    work: &'a mut Work<'w>,
    to: SocketAddr,
    stop: &'a mut ByBell<'s>,
    tally: &'a mut Tally,
    recorder: &'a mut R,
    prelude: &'a mut P,
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
    to: SocketAddr,
    keeping: Keeping<'_, '_>,
) -> Result<Moved, EngineError> {
    let in_flight = usize::try_from(work.plan.burst).unwrap_or(0) + 1;
    if work.plan.latency {
        let mut kept = Kept::new(in_flight);
        let moved = with_prelude(
            work,
            data,
            to,
            (keeping.stop, keeping.tally),
            &mut kept,
            keeping.paused,
        );
        *keeping.latency = Some(kept.latency());
        moved
    } else {
        with_prelude(
            work,
            data,
            to,
            (keeping.stop, keeping.tally),
            &mut Off,
            keeping.paused,
        )
    }
}

fn with_prelude<R: Recorder>(
    work: &mut Work<'_>,
    data: Socket,
    to: SocketAddr,
    (stop, tally): (&mut ByBell<'_>, &mut Tally),
    recorder: &mut R,
    paused: &mut Duration,
) -> Result<Moved, EngineError> {
    if let Some(mut prelude) = Chores::of(&work.plan.local) {
        let going = Going {
            work,
            to,
            stop,
            tally,
            recorder,
            prelude: &mut prelude,
        };
        let moved = going.with_limit(data);
        *paused = prelude.paused();
        moved
    } else {
        let prelude = &mut Nothing;
        Going {
            work,
            to,
            stop,
            tally,
            recorder,
            prelude,
        }
        .with_limit(data)
    }
}

impl<'s, R: Recorder, P: Prelude> Going<'_, '_, 's, R, P> {
    fn with_limit(self, data: Socket) -> Result<Moved, EngineError> {
        let plan = self.work.plan;
        let whole_messages = !plan.flow.counts_transactions() && !plan.transport.is_stream();
        match plan.limit {
            LimitPlan::Units(units) if whole_messages => self.go(data, &AtLeast(units)),
            LimitPlan::Units(units) => self.go(data, &Exactly(units)),
            LimitPlan::Time(_) | LimitPlan::UntilStopped => self.go(data, &Unlimited),
        }
    }

    fn go<L: Limit>(self, data: Socket, limit: &L) -> Result<Moved, EngineError> {
        if self.work.plan.flow.connects {
            self.connections(limit)
        } else if self.work.plan.transport.is_stream() {
            self.connection(data, limit)
        } else {
            self.datagrams(data, limit)
        }
    }

    fn connection<L: Limit>(mut self, data: Socket, limit: &L) -> Result<Moved, EngineError> {
        if !self.connect(&data)? {
            return Ok(Moved::nothing(Ended::Abandoned));
        }
        self.stop.connected(&data);
        let segment_size = socket::segment_size(data.as_fd());
        let plan = self.work.plan;
        let (ended, data) = if plan.test == TestId::TcpMss {
            (Ended::Complete, data)
        } else if plan.flow.is_request_response() {
            if plan.use_write {
                self.exchange(Written(data), limit)?
            } else {
                self.exchange(Tcp(data), limit)?
            }
        } else if plan.flow.receives {
            if plan.local.copy_avoidance {
                let spliced = Spliced::new(data).map_err(Operation::Receive.failed())?;
                self.receive(spliced, limit)?
            } else {
                self.receive(Tcp(data), limit)?
            }
        } else {
            self.send_stream(data, limit)?
        };
        self.stop.over();
        let drained = self.end_connection(&data, ended);
        let facts = Some(socket::facts(&data));
        let lost = match drained {
            Drained::Lost(lost) => Some(lost),
            Drained::Closed | Drained::StillMoving => None,
        };
        let still_moving = drained == Drained::StillMoving;
        Ok(Moved {
            ended,
            facts,
            segment_size,
            lost,
            still_moving,
            end_mark: None,
        })
    }

    fn send_stream<L: Limit>(
        &mut self,
        data: Socket,
        limit: &L,
    ) -> Result<(Ended, Socket), EngineError> {
        let plan = self.work.plan;
        if let Some(file) = self.work.file.take() {
            let (offset, width) = (plan.local.send.offset, self.work.send_width);
            return self.send(FromFile::new(data, file, u64::from(offset), width), limit);
        }
        if plan.use_write {
            self.send(Written(data), limit)
        } else {
            self.send(Tcp(data), limit)
        }
    }

    /// Connects the data socket; `false` when the user ended the test first.
    fn connect(&mut self, data: &Socket) -> Result<bool, EngineError> {
        let (stop, tally) = (&mut *self.stop, &*self.tally);
        let dialled = socket::connect(data, &self.to.into(), || stop.interrupted(tally).is_some())
            .map_err(Operation::Connect.failed())?;
        match dialled {
            Dialled::Connected => Ok(true),
            Dialled::GivenUp if bell::stopped_by_user() => Ok(false),
            Dialled::GivenUp => Err(EngineError {
                operation: Operation::Connect,
                error: io::ErrorKind::TimedOut.into(),
            }),
        }
    }

    fn send<E: Endpoint + OnSocket, L: Limit>(
        &mut self,
        mut endpoint: E,
        limit: &L,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.plan.flow;
        let (rings, run) = self.parts(limit);
        let ring = needed(&mut rings.send)?;
        let ended = stream::send(&mut endpoint, ring, run).map_err(blame(flow))?;
        Ok((ended, endpoint.into_socket()))
    }

    fn receive<E: Endpoint + OnSocket, L: Limit>(
        &mut self,
        mut endpoint: E,
        limit: &L,
    ) -> Result<(Ended, Socket), EngineError> {
        let plan = self.work.plan;
        // netserver ends the connection when it has sent enough; a server of another
        // kind may never.
        let ended = if plan.control.is_some() {
            let (rings, run) = self.parts(&Unlimited);
            stream::receive(&mut endpoint, needed(&mut rings.recv)?, run)
        } else {
            let (rings, run) = self.parts(limit);
            stream::receive(&mut endpoint, needed(&mut rings.recv)?, run)
        };
        Ok((ended.map_err(blame(plan.flow))?, endpoint.into_socket()))
    }

    fn exchange<E: Endpoint + OnSocket, L: Limit>(
        &mut self,
        mut endpoint: E,
        limit: &L,
    ) -> Result<(Ended, Socket), EngineError> {
        let ended = self.request_response(&mut endpoint, limit)?;
        Ok((ended, endpoint.into_socket()))
    }

    fn request_response<E: Endpoint, L: Limit>(
        &mut self,
        endpoint: &mut E,
        limit: &L,
    ) -> Result<Ended, EngineError> {
        let plan = self.work.plan;
        let (rings, run) = self.parts(limit);
        let rings = (needed(&mut rings.send)?, needed(&mut rings.recv)?);
        rr::client(endpoint, rings, plan.burst, run).map_err(blame(plan.flow))
    }

    /// What a loop needs, in two parts that can be borrowed together.
    fn parts<'r, L>(
        &'r mut self,
        limit: &'r L,
    ) -> (&'r mut Rings, workload::Run<'r, L, ByBell<'s>, R, P>) {
        let run = workload::Run {
            limit,
            stop: self.stop,
            tally: self.tally,
            recorder: self.recorder,
            prelude: self.prelude,
        };
        (&mut self.work.rings, run)
    }

    /// Ends the data connection.
    fn end_connection(&self, data: &Socket, ended: Ended) -> Drained {
        let plan = self.work.plan;
        if ended == Ended::ByPeer {
            return Drained::Closed;
        }
        let only_receives = plan.flow.receives && !plan.flow.sends;
        if only_receives && (plan.control.is_none() || bell::stopped_by_user()) {
            // The sender at the other end would go on: it must feel the end.
            return Drained::StillMoving;
        }
        let drained = finish::half_close_and_drain(data);
        // Without netserver nobody promises to answer the end with an end.
        if plan.control.is_none() {
            Drained::StillMoving
        } else {
            drained
        }
    }

    fn datagrams<L: Limit>(mut self, data: Socket, limit: &L) -> Result<Moved, EngineError> {
        let to = SockAddr::from(self.to);
        let (ended, data) = if self.work.plan.local.socket.connected_datagram {
            data.connect(&to).map_err(Operation::Connect.failed())?;
            self.messages(Connected(data), limit)?
        } else {
            let to = to.clone();
            self.messages(Towards { socket: data, to }, limit)?
        };
        self.stop.over();
        let flow = self.work.plan.flow;
        let end_mark = flow.sends.then(|| EndMark { socket: data, to });
        if let Some(mark) = &end_mark {
            (0..END_MARKS).for_each(|_| mark.send());
        }
        Ok(Moved {
            end_mark,
            ..Moved::nothing(ended)
        })
    }

    fn messages<E: Endpoint + OnSocket, L: Limit>(
        &mut self,
        endpoint: E,
        limit: &L,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.plan.flow;
        if flow.is_request_response() {
            self.exchange(endpoint, limit)
        } else if flow.sends {
            self.send(endpoint, limit)
        } else {
            self.receive_datagrams(endpoint, limit)
        }
    }

    /// Datagrams may be lost, so netperf counts for itself.
    fn receive_datagrams<E: Endpoint + OnSocket, L: Limit>(
        &mut self,
        mut endpoint: E,
        limit: &L,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.plan.flow;
        let (rings, run) = self.parts(limit);
        let ended =
            stream::receive(&mut endpoint, needed(&mut rings.recv)?, run).map_err(blame(flow))?;
        Ok((ended, endpoint.into_socket()))
    }

    fn connections<L: Limit>(self, limit: &L) -> Result<Moved, EngineError> {
        let Going {
            work,
            to,
            stop,
            tally,
            recorder,
            prelude,
        } = self;
        let plan = work.plan;
        let mut segment_size = None;
        let mut dialler = Dialler::new(work.local, to, plan.port_range);
        let (family, rings) = (work.family, &mut work.rings);
        let dial = |stop: &mut ByBell<'_>, tally: &Tally| {
            let data = socket::open_again(plan.transport, family, &plan.local.socket)?;
            if plan.local.socket.fast_open && plan.flow.sends {
                socket::send_with_connect(&data)?;
            }
            dialler.bind_next(&data);
            let dialled =
                match socket::connect(&data, &dialler.to, || stop.interrupted(tally).is_some()) {
                    Ok(dialled) => dialled,
                    Err(error) if plan.retry_connects || port_is_taken(&error) => {
                        return Ok(Opened::Again);
                    }
                    Err(error) => return Err(error),
                };
            if matches!(dialled, Dialled::GivenUp) {
                return Ok(Opened::Ended(Ended::Abandoned));
            }
            segment_size = segment_size.or_else(|| socket::segment_size(data.as_fd()));
            Ok(Opened::Ready(Tcp(data)))
        };
        let without_netserver = plan.control.is_none();
        let half_close = |endpoint: &mut Tcp| {
            if without_netserver {
                endpoint.0.shutdown(std::net::Shutdown::Write)
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
                prelude,
            },
        )
        .map_err(Operation::Connect.failed())?;
        Ok(Moved {
            segment_size,
            ..Moved::nothing(ended)
        })
    }
}

impl Moved {
    fn nothing(ended: Ended) -> Self {
        Self {
            ended,
            facts: None,
            segment_size: None,
            lost: None,
            still_moving: false,
            end_mark: None,
        }
    }
}

/// A local port that is still in use or waiting: another will do.
fn port_is_taken(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::AddrInUse || kind == io::ErrorKind::AddrNotAvailable
}

/// Walks through local ports, one for each connection, so that none is used again
/// while netserver's end of it is still waiting to be forgotten.
struct Dialler {
    local: SocketAddr,
    to: SockAddr,
    ports: std::ops::Range<u16>,
    next: u16,
    avoid: u16,
}

impl Dialler {
    fn new(local: SocketAddr, to: SocketAddr, (from, until): (u16, u16)) -> Self {
        let ports = from..until.max(from.saturating_add(1));
        let span = u64::from(ports.end - ports.start);
        let nanos = u64::from(netperf_measure::clock::since_epoch().subsec_nanos());
        let start = ports.start + u16::try_from(nanos / 1000 % span).unwrap_or(0);
        Self {
            local,
            to: to.into(),
            next: start,
            avoid: to.port(),
            ports,
        }
    }

    /// Binds to the next port. A port that cannot be had is left to the kernel to choose.
    fn bind_next(&mut self, data: &Socket) {
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
        let to = "127.0.0.1:30001".parse().unwrap();
        let mut dialler = Dialler::new(local, to, (30_000, 30_003));
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
