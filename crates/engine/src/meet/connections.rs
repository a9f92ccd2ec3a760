//! A connection for each transaction, one after the other.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use netperf_measure::activity::ActivityWatch;
use netperf_measure::clock;
use netperf_model::{EndJob, LOCAL_PORTS, Tally, Token};
use netperf_os::{SockAddr, Socket, alarm, tcp, without};
use netperf_transport::meeting::{Connects, GiveUp, Met, OnSocket, Parting};
use netperf_transport::one_port;
use netperf_transport::socket::{self, SocketFacts};

use super::{OneFlow, accept, gate};
use crate::alarm_stop::AlarmStop;
use crate::error::{EngineError, Operation};
use crate::moved::{ConnectionFacts, Moved};
use crate::program::Program;
use crate::run::placed;
use crate::stop::{Ended, Phase, Stop};
use crate::timing::IDLE;
use crate::workload;
use crate::workload::connect::{self, Exchange, NextConnection};

impl<P: Program> OneFlow<'_, '_, P> {
    /// Transactions with a connection each.
    pub(super) fn connections<C: Connects>(
        self,
        how: &C,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        if self.is_netperf() {
            let moved = self.ask_over_connections(how);
            drop(data);
            moved
        } else {
            self.answer_over_connections(how, &data)
        }
    }

    fn ask_over_connections<C: Connects>(self, how: &C) -> Result<Moved, EngineError> {
        let to = self.target()?;
        let Self {
            work,
            limit,
            stop,
            tally,
            recorder,
            hooks,
            ..
        } = self;
        let (job, rings) = (&work.job, &mut work.rings);
        let (mut seen, is_tcp) = (None, reads_tcp_info(job));
        let mut local_ports = LocalPorts::of_thread(job, &to, (0, 1));
        let dial = |stop: &mut AlarmStop<'_>, tally: &Tally| {
            let data = socket::open_to_connect(job.transport, job.family, &job.end.socket, true)?;
            if job.end.socket.fast_open && job.sends {
                socket::send_with_connect(&data)?;
            }
            let bound = if job.transport.is_inet() {
                local_ports.bind_next(&data)
            } else {
                placed(job, &data).map(drop).map_err(|failed| failed.error)
            };
            let mut ended = None;
            let met = bound.and_then(|()| {
                entered(how, data, (&to, job.token.as_ref()), &mut || {
                    ended = stop.interrupted(tally);
                    ended.is_some()
                })
            });
            let endpoint = match met {
                Ok(Met::Connected(endpoint)) => endpoint,
                Ok(Met::GivenUp) => {
                    return Ok(NextConnection::Ended(ended.unwrap_or(Ended::Abandoned)));
                }
                Err(error) if job.retry_connects || port_is_taken(&error) || undone(&error) => {
                    local_ports.kernel_has_none();
                    return Ok(NextConnection::Again);
                }
                Err(error) => return Err(error),
            };
            socket::set_on_connection(endpoint.fd(), &job.end.socket)?;
            seen.get_or_insert_with(|| ConnectionFacts::of(job.transport, &endpoint));
            Ok(NextConnection::Ready(endpoint))
        };
        let (mut retransmissions, mut fast_open) = (is_tcp.then_some(0_u32), false);
        let half_close = |endpoint: &mut C::Endpoint| {
            if let Some(all) = &mut retransmissions {
                let known = tcp::info(endpoint.fd()).ok();
                *all = all.saturating_add(known.map_or(0, |info| info.total_retrans));
                fast_open |= known.is_some_and(|info| info.data_in_syn);
            }
            if !job.has_peer && matches!(C::PARTING, Parting::HalfClose | Parting::Shutdown) {
                netperf_os::io::half_close(endpoint.fd())
            } else {
                Ok(())
            }
        };
        let exchange = Exchange {
            send: rings.send.as_mut(),
            recv: rings.recv.as_mut(),
        };
        let run = workload::LoopContext {
            limit,
            stop,
            tally,
            recorder,
            hooks,
        };
        let ended = connect::client(dial, half_close, exchange, run)
            .map_err(Operation::Connect.failed())?;
        Ok(Moved {
            facts: Some(SocketFacts {
                retransmissions,
                fast_open: is_tcp.then_some(fast_open),
                ..SocketFacts::default()
            }),
            seen: seen.unwrap_or_default(),
            ..Moved::nothing(ended)
        })
    }

    fn answer_over_connections<C: Connects>(
        self,
        how: &C,
        listener: &Socket,
    ) -> Result<Moved, EngineError> {
        let Self {
            work,
            limit,
            stop,
            tally,
            ..
        } = self;
        let (job, rings) = (&work.job, &mut work.rings);
        // Requests overwrite what they are received into.
        if let Some(ring) = &mut rings.send {
            ring.fill();
        }
        let mut quiet = ActivityWatch::since(clock::now());
        let accept_next = |stop: &mut AlarmStop<'_>, tally: &Tally| {
            let over = |stop: &mut AlarmStop<'_>, tally: &Tally| {
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
            let opened = accept(how, gate(listener, job), stop, tally, over)?;
            if let NextConnection::Ready(endpoint) = &opened {
                socket::set_on_connection(endpoint.fd(), &job.end.socket)?;
            }
            Ok(opened)
        };
        let exchange = Exchange {
            send: rings.send.as_mut(),
            recv: rings.recv.as_mut(),
        };
        let whole = job.is_request_response();
        let ended = connect::server(accept_next, exchange, whole, limit, stop, tally)
            .map_err(Operation::Accept.failed())?;
        let idle = match ended {
            Ended::TimeOver | Ended::Abandoned => quiet.lasted(),
            Ended::Complete | Ended::ByPeer | Ended::Lost(_) => Duration::ZERO,
        };
        Ok(Moved {
            idle,
            ..Moved::nothing(ended)
        })
    }
}

/// Returns true if TCP_INFO of each connection is of use.
fn reads_tcp_info(job: &EndJob) -> bool {
    let is_asked_for = job.retransmissions || job.end.socket.fast_open;
    is_asked_for && netperf_model::tells_of_tcp(job.transport)
}

/// Connects a data socket. Where it goes to the port of the control connection it says
/// first which test it is of.
pub(crate) fn entered<C: Connects>(
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
pub(crate) fn undone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Local ports, one for each connection: of the kernel's choice unless a range or an address was
/// given, or netperf closes first. Otherwise one after the other, so that none is used again while
/// an end of its connection is in TIME_WAIT.
pub(crate) struct LocalPorts {
    /// connect(2) chooses.
    of_kernel: bool,
    local: SocketAddr,
    ports: Range<u16>,
    next: u16,
    avoid: u16,
}

impl LocalPorts {
    /// The ports of one of several threads of netperf.
    pub(crate) fn of_thread(job: &EndJob, to: &SockAddr, (index, threads): (u32, u32)) -> Self {
        let local = job.local_address();
        let of_kernel = job.port_range.is_none()
            && job.bind.is_none_or(|bound| bound.is_unspecified())
            && job.has_peer;
        let ports = part_of(job.port_range.unwrap_or(LOCAL_PORTS), index, threads);
        Self {
            of_kernel,
            ..Self::new(local, to, ports)
        }
    }

    fn new(local: SocketAddr, to: &SockAddr, (from, until): (u16, u16)) -> Self {
        let ports = from..until.max(from.saturating_add(1));
        let span = u64::from(ports.end - ports.start);
        let nanos = u64::from(netperf_measure::clock::since_epoch().subsec_nanos());
        let start = ports.start + u16::try_from(nanos / 1000 % span).unwrap_or(0);
        Self {
            of_kernel: false,
            local,
            next: start,
            avoid: to.as_socket().map_or(0, |to| to.port()),
            ports,
        }
    }

    /// A connection failed for want of a port: the range of ports that the kernel chooses from
    /// is smaller than the one that is taken then.
    #[cold]
    pub(crate) const fn kernel_has_none(&mut self) {
        self.of_kernel = false;
    }

    /// Binds to the next port that is free.
    ///
    /// # Errors
    /// When no port of the range can be had.
    pub(crate) fn bind_next(&mut self, data: &Socket) -> io::Result<()> {
        if self.of_kernel {
            return Ok(());
        }
        without::share_port(data, true);
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        for _ in self.ports.clone() {
            if self.next == self.avoid {
                self.step();
            }
            self.local.set_port(self.next);
            self.step();
            match socket::bind(data, self.local) {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        let Range { start, end } = self.ports;
        Err(io::Error::other(format!(
            "no local port from {start} to {} (-p) can be had: {last}",
            end - 1
        )))
    }

    fn step(&mut self) {
        self.next = if self.next + 1 >= self.ports.end {
            self.ports.start
        } else {
            self.next + 1
        };
    }
}

/// A thread's part of the local ports.
fn part_of((from, until): (u16, u16), index: u32, threads: u32) -> (u16, u16) {
    let span = u32::from(until.saturating_sub(from));
    if span < threads.saturating_mul(2) {
        return (from, until);
    }
    let edge = |index: u32| from + u16::try_from(span * index / threads).unwrap_or(0);
    (edge(index), edge(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_all_threads_are_the_ports_of_the_test() {
        let parts: Vec<_> = (0..3)
            .map(|index| part_of((5000, 65_535), index, 3))
            .collect();
        assert_eq!((parts[0].0, parts[2].1), (5000, 65_535));
        assert!(parts.windows(2).all(|two| two[0].1 == two[1].0));
        assert_eq!(part_of((7, 8), 4, 9), (7, 8));
    }

    #[test]
    fn a_port_that_is_taken_is_passed_over_and_a_range_without_a_free_one_is_an_error() {
        let local = "127.0.0.1:0".parse().unwrap();
        let taken = std::net::TcpListener::bind(local).unwrap();
        let port = taken.local_addr().unwrap().port();
        let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let mut local_ports = LocalPorts::new(local, &to.into(), (port, port + 1));
        let data = socket::any(netperf_model::TransportId::Tcp).unwrap();
        let error = local_ports.bind_next(&data).unwrap_err().to_string();
        let wanted = format!("no local port from {port} to {port} (-p) can be had: ");
        assert!(error.starts_with(&wanted), "{error}");
    }

    #[test]
    fn local_ports_are_walked_through_in_a_circle_without_the_servers() {
        let local = "127.0.0.1:0".parse().unwrap();
        let to: SocketAddr = "127.0.0.1:30001".parse().unwrap();
        let mut local_ports = LocalPorts::new(local, &to.into(), (30_000, 30_003));
        let mut seen = Vec::new();
        for _ in 0..4 {
            if local_ports.next == local_ports.avoid {
                local_ports.step();
            }
            seen.push(local_ports.next);
            local_ports.step();
        }
        assert!(
            seen.iter().all(|port| [30_000, 30_002].contains(port)),
            "{seen:?}"
        );
    }
}
