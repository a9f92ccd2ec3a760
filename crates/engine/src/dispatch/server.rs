//! netserver's loops.

use std::io;
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{Ending, Limit as LimitPlan, ServerJob, Tally};
use netperf_os::{SockAddr, Socket};
use netperf_transport::socket;
use netperf_transport::tcp::{OnSocket, Spliced, Tcp};
use netperf_transport::udp::{Answering, First, Towards};
use netperf_transport::{Endpoint, Received, Sent};

use super::{blame, needed};
use crate::error::{EngineError, Operation};
use crate::limit::{AtLeast, Exactly, Limit, Unlimited};
use crate::prelude::{Chores, Nothing, Prelude};
use crate::record::Off;
use crate::server::{IDLE, Served, Work, sending_schedule};
use crate::stop::{ByBell, Ended, Phase, Stop};
use crate::workload::connect::{self, Exchange, Opened};
use crate::workload::{self, rr, stream};

/// Empty datagrams that tell netperf of the end: one may be lost.
const END_MARKS: usize = 3;

/// A run under way.
struct Going<'a, 's, P> {
    work: &'a mut Work,
    stop: &'a mut ByBell<'s>,
    tally: &'a mut Tally,
    recorder: &'a mut Off,
    prelude: &'a mut P,
}

/// Runs netserver's end with the loop that the request asks for.
pub(crate) fn server(
    work: &mut Work,
    data: Socket,
    stop: &mut ByBell<'_>,
    tally: &mut Tally,
) -> Result<Served, EngineError> {
    if let Some(mut chores) = Chores::of(&work.job.end) {
        Going {
            work,
            stop,
            tally,
            recorder: &mut Off,
            prelude: &mut chores,
        }
        .with_limit(data)
    } else {
        Going {
            work,
            stop,
            tally,
            recorder: &mut Off,
            prelude: &mut Nothing,
        }
        .with_limit(data)
    }
}

impl<'s, P: Prelude> Going<'_, 's, P> {
    fn with_limit(self, data: Socket) -> Result<Served, EngineError> {
        let job = &self.work.job;
        let whole_messages = !job.flow.counts_transactions() && !job.transport.is_connected();
        match job.limit {
            LimitPlan::Units(units) if whole_messages => self.go(data, &AtLeast(units)),
            LimitPlan::Units(units) => self.go(data, &Exactly(units)),
            LimitPlan::Time(_) | LimitPlan::UntilStopped => self.go(data, &Unlimited),
        }
    }

    /// What a loop needs, in two parts that can be borrowed together.
    fn parts<'r, L>(
        &'r mut self,
        limit: &'r L,
    ) -> (&'r mut Work, workload::Run<'r, L, ByBell<'s>, Off, P>) {
        let run = workload::Run {
            limit,
            stop: self.stop,
            tally: self.tally,
            recorder: self.recorder,
            prelude: self.prelude,
        };
        (self.work, run)
    }

    fn go<L: Limit>(self, data: Socket, limit: &L) -> Result<Served, EngineError> {
        if self.work.job.flow.connects {
            self.connections(&data, limit)
        } else if self.work.job.transport.is_connected() {
            self.connection(data, limit)
        } else {
            self.datagrams(data, limit)
        }
    }

    fn connection<L: Limit>(mut self, listener: Socket, limit: &L) -> Result<Served, EngineError> {
        let data = match accept(&listener, self.stop, self.tally) {
            Ok(Opened::Ready(data)) => data,
            Ok(Opened::Ended(ended)) => return Ok(Served::without_facts(ended)),
            Ok(Opened::Again) => return Ok(Served::without_facts(Ended::Abandoned)),
            Err(error) => {
                return Err(EngineError {
                    operation: Operation::Accept,
                    error,
                });
            }
        };
        drop(listener);
        if let Some(schedule) = sending_schedule(&self.work.job, self.stop.elapsed()) {
            self.stop
                .reschedule(schedule)
                .map_err(Operation::Timer.failed())?;
        }
        let (ended, data) = if self.work.job.end.copy_avoidance && self.work.job.flow.sends {
            let spliced = Spliced::new(data).map_err(Operation::Receive.failed())?;
            self.serve(spliced, limit)?
        } else {
            self.serve(Tcp(data), limit)?
        };
        let facts = Some(socket::facts(&data));
        Ok(Served {
            ended,
            facts,
            idle: Duration::ZERO,
        })
    }

    fn serve<E: Endpoint + OnSocket, L: Limit>(
        &mut self,
        mut endpoint: E,
        limit: &L,
    ) -> Result<(Ended, Socket), EngineError> {
        let flow = self.work.job.flow;
        // netperf ends the connection when it has sent enough.
        let ended = if flow.sends && !flow.receives {
            let (work, run) = self.parts(&Unlimited);
            stream::receive(&mut endpoint, needed(&mut work.rings.recv)?, run)
        } else {
            let (work, run) = self.parts(limit);
            let rings = &mut work.rings;
            if flow.is_request_response() {
                let rings = (needed(&mut rings.recv)?, needed(&mut rings.send)?);
                rr::server(&mut endpoint, rings, run)
            } else {
                stream::send(&mut endpoint, needed(&mut rings.send)?, run)
            }
        };
        Ok((ended.map_err(blame(flow))?, endpoint.into_socket()))
    }

    fn datagrams<L: Limit>(mut self, data: Socket, limit: &L) -> Result<Served, EngineError> {
        let (Work { job, rings }, run) = self.parts(limit);
        let flow = job.flow;
        if flow.receives && !flow.sends {
            let mut endpoint = Towards {
                socket: data,
                to: peer(job)?,
            };
            let ring = needed(&mut rings.send)?;
            let ended = match stream::send(&mut endpoint, ring, run) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ended::ByPeer,
                other => other.map_err(blame(flow))?,
            };
            // A peer that is gone needs no telling.
            (0..END_MARKS).for_each(|_| drop(endpoint.send(&[])));
            return Ok(Served::without_facts(ended));
        }
        let length = match job.ending {
            Ending::Omni => None,
            Ending::OddDatagram(length) => usize::try_from(length).ok(),
        };
        let first = First {
            connect: job.end.socket.connected_datagram,
            answer_from_there: job.end.socket.packet_info,
        };
        let answering = Answering::new(data, first).map_err(Operation::Create.failed())?;
        let mut endpoint = UntilOdd {
            inner: answering,
            length,
        };
        let ended = if flow.is_request_response() {
            let rings = (needed(&mut rings.recv)?, needed(&mut rings.send)?);
            rr::server(&mut endpoint, rings, run)
        } else {
            stream::receive(&mut endpoint, needed(&mut rings.recv)?, run)
        };
        let ended = ended.map_err(blame(flow))?;
        if ended == Ended::Abandoned {
            // The client's own end marks never came, so it may be waiting for one.
            (0..END_MARKS).for_each(|_| endpoint.inner.send_end_mark());
        }
        Ok(Served::without_facts(ended))
    }

    fn connections<L: Limit>(self, listener: &Socket, limit: &L) -> Result<Served, EngineError> {
        let Going {
            work, stop, tally, ..
        } = self;
        let mut idle = IdleWatch::new();
        let accept_next = |stop: &mut ByBell<'_>, tally: &Tally| match listener.accept() {
            Ok((data, _)) => Ok(Opened::Ready(Tcp(data))),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                let over = stop.interrupted(tally).or_else(|| {
                    (stop.phase() == Phase::Finish && idle.is_over(tally))
                        .then_some(Ended::TimeOver)
                });
                Ok(over.map_or(Opened::Again, Opened::Ended))
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(Opened::Again),
            Err(error) => Err(error),
        };
        let exchange = Exchange {
            send: work.rings.send.as_mut(),
            recv: work.rings.recv.as_mut(),
        };
        let ended = connect::server(accept_next, exchange, work.job.flow, limit, stop, tally)
            .map_err(Operation::Accept.failed())?;
        let idle = match ended {
            Ended::TimeOver | Ended::Abandoned => idle.since.elapsed(),
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

/// accept(2) until there is a connection or nothing to wait for.
fn accept(listener: &Socket, stop: &mut ByBell<'_>, tally: &Tally) -> io::Result<Opened<Socket>> {
    loop {
        match listener.accept() {
            Ok((data, _)) => return Ok(Opened::Ready(data)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if let Some(ended) = stop.interrupted(tally) {
                    return Ok(Opened::Ended(ended));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Notices that no transaction was completed for a while.
struct IdleWatch {
    seen: u64,
    since: clock::Moment,
}

impl IdleWatch {
    fn new() -> Self {
        Self {
            seen: 0,
            since: clock::now(),
        }
    }

    fn is_over(&mut self, tally: &Tally) -> bool {
        if tally.transactions != self.seen {
            self.seen = tally.transactions;
            self.since = clock::now();
        }
        self.since.elapsed() >= IDLE
    }
}

/// Where a datagram sender that was never written to sends.
fn peer(job: &ServerJob) -> Result<SockAddr, EngineError> {
    job.peer.map(SockAddr::from).ok_or_else(|| EngineError {
        operation: Operation::Send,
        error: io::Error::from_raw_os_error(netperf_os::io::DESTINATION_REQUIRED),
    })
}

/// Ends at the first datagram of another length, where the request asks for that.
struct UntilOdd<E> {
    inner: E,
    length: Option<usize>,
}

impl<E: Endpoint> Endpoint for UntilOdd<E> {
    const KEEPS_BOUNDARIES: bool = true;

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
