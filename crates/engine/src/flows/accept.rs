//! netserver's flows: their connections are accepted, their sockets bound.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{EndJob, PortRange};
use netperf_os::wait::{Interest, any_ready};
use netperf_os::{Socket, without};
use netperf_transport::meeting::{AcceptFilter, Connects, Met, OnSocket};
use netperf_transport::place::Placed;
use netperf_transport::socket::{self, Side};

use crate::data_ports;
use crate::error::{EngineError, Operation, refused};
use crate::path;
use crate::stop::control_has_ended;
use crate::timing::{ConnectionWait, is_underway};

/// Time without a further connection while some are missing that ends the wait.
const NEXT_CONNECTION: Duration = Duration::from_secs(15);
/// Most accepted connections that are watched for data while others are missing.
const WATCHED: usize = 64;
/// Interval between looks at the control connection meanwhile.
const LOOK: Duration = Duration::from_millis(200);
/// The port where a search for ports goes on after the highest.
const LOWEST_PORT: u16 = 32_768;

/// Accepts connections whose ends have to agree on something, one after the other.
pub(super) fn accept_each<C: Connects>(
    how: &C,
    gate: AcceptFilter<'_>,
    flows: u32,
    control: Option<BorrowedFd<'_>>,
) -> io::Result<Vec<C::Endpoint>> {
    let mut accepted = Vec::new();
    let mut since = clock::now();
    let mut wait = ConnectionWait::new(NEXT_CONNECTION);
    let listener = gate.listener;
    // A connection has the time-outs of its listener.
    without::set_patience(listener.as_fd(), Some(NEXT_CONNECTION))?;
    while (accepted.len() as u64) < u64::from(flows) {
        if await_readable(&[listener.as_fd()], control, (since, &mut wait))?.is_none() {
            continue;
        }
        let mut give_up = || since.elapsed() >= NEXT_CONNECTION;
        match how.accept(gate, &mut give_up) {
            Ok(Met::Connected(endpoint)) => {
                without::set_patience(endpoint.fd(), None)?;
                accepted.push(endpoint);
                since = clock::now();
                wait = ConnectionWait::new(NEXT_CONNECTION);
            }
            Ok(Met::GivenUp) => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(accepted)
}

/// Connections that are no more than sockets.
pub(super) struct Accepted {
    pub(super) sockets: Vec<Socket>,
    /// Reading of `CLOCK_MONOTONIC` when data of one was first seen, if others were missing then.
    pub(super) data_since: Option<u64>,
}

/// Accepts this many connections that are no more than sockets.
pub(super) fn accept(
    gate: AcceptFilter<'_>,
    flows: u32,
    control: Option<BorrowedFd<'_>>,
) -> io::Result<Accepted> {
    let listener = gate.listener;
    listener.set_nonblocking(true)?;
    let mut accepted: Vec<Socket> = Vec::new();
    let mut data_since = None;
    let mut since = clock::now();
    let mut wait = ConnectionWait::new(NEXT_CONNECTION);
    while (accepted.len() as u64) < u64::from(flows) {
        match gate.accept() {
            Ok((_stranger, from)) if !gate.admits(&from) => {}
            Ok((socket, _)) => {
                accepted.push(socket);
                since = clock::now();
                wait = ConnectionWait::new(NEXT_CONNECTION);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let watched = if data_since.is_none() { WATCHED } else { 0 };
                let mut readable = vec![listener.as_fd()];
                readable.extend(accepted.iter().take(watched).map(AsFd::as_fd));
                let first = await_readable(&readable, control, (since, &mut wait))?;
                if first.is_some_and(|first| first > 0) {
                    data_since = Some(clock::monotonic());
                }
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Accepted {
        sockets: accepted,
        data_since,
    })
}

/// Waits a while for a connection to the listener, which is the first socket, or for data: the
/// position of the first socket that is ready. Fails when no connection has come for too long, or
/// when netperf is gone.
fn await_readable(
    sockets: &[BorrowedFd<'_>],
    control: Option<BorrowedFd<'_>>,
    (since, wait): (Moment, &mut ConnectionWait),
) -> io::Result<Option<usize>> {
    let first = any_ready(sockets, Interest::Read, LOOK)?;
    if first.is_some() {
        return Ok(first);
    }
    if control.is_some_and(control_has_ended) {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    if wait.is_over(since.elapsed(), control.is_some_and(is_underway)) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(None)
}

/// Sockets and ports of many flows of datagrams: the first flow has the data socket of the
/// response, each further one a socket at the next free port.
///
/// # Errors
/// When there are not so many ports, or they cannot be told (extension.md).
pub(crate) fn further(
    job: &EndJob,
    placed: &Placed,
) -> Result<(Vec<Socket>, Vec<u16>), EngineError> {
    let Some(flows) = job.flows.as_ref().filter(|_| !job.transport.is_connected()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let first = u16::try_from(placed.port()).unwrap_or(0);
    let address = job.bind.unwrap_or(socket::wildcard(job.family));
    let (mut sockets, mut ports) = (Vec::new(), vec![first]);
    // Upwards from the first, and then from where the kernel's own choice begins.
    let permits = |port: &u16| job.data_ports.is_none_or(|range| range.contains(*port));
    let lowest = job.data_ports.map_or(LOWEST_PORT, PortRange::first);
    let mut candidates = (first..=u16::MAX)
        .skip(1)
        .chain(lowest..first)
        .filter(permits);
    while (ports.len() as u64) < u64::from(flows.count) {
        let port = candidates.next().ok_or_else(|| match job.data_ports {
            Some(_) => data_ports::exhausted(),
            None => Operation::Bind.failed()(io::ErrorKind::AddrNotAvailable.into()),
        })?;
        let opened = socket::open(job.transport, job.family, &job.end.socket);
        let socket = opened.map_err(Operation::Create.failed())?.socket;
        socket::set_extras(&socket, &job.end.socket, Side::Answers).map_err(refused)?;
        path::take_only_permitted(job, &socket).map_err(Operation::Create.failed())?;
        // Each is to be this program's alone.
        without::share_port(&socket, false);
        match socket::bind(&socket, SocketAddr::new(address, port)) {
            Ok(()) => {
                // A socket at the address that is asked replaces it.
                without::share_port(&socket, job.end.socket.packet_info);
                sockets.push(socket);
                ports.push(port);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(Operation::Bind.failed()(error)),
        }
    }
    Ok((sockets, ports))
}

/// An error of one connection, or none at all.
pub(super) fn is_passing(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::Interrupted || kind == io::ErrorKind::ConnectionAborted
}
