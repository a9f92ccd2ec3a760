//! Data ports of netserver within the range that its operator permits.

use std::io;
use std::net::SocketAddr;

use netperf_measure::clock;
use netperf_model::{EndJob, PortRange};
use netperf_transport::place::{self, PlaceRequest, Placed};
use netperf_transport::socket::{self, OpenedSocket};

use crate::error::{EngineError, Operation};

/// Binds the data socket to a free port of the range: the requested one if it is free and in the
/// range. A socket that connects then also listens, because the kernel lets several sockets bind
/// to a port and only one of them listen.
pub(crate) fn bind(
    job: &EndJob,
    opened: &mut OpenedSocket,
    again: impl Fn() -> Result<OpenedSocket, EngineError>,
    range: PortRange,
) -> Result<Placed, EngineError> {
    let wildcard = socket::wildcard(job.family);
    let address = job.bind.unwrap_or(wildcard);
    let asked = Some(job.port).filter(|port| range.contains(*port));
    // Late datagrams of a test do not arrive at the port of the next one.
    let number = clock::since_epoch().subsec_micros();
    for port in asked.into_iter().chain(range.all_from(number)) {
        let at = |address| listen(job, &opened.socket, SocketAddr::new(address, port));
        let placed = at(address).or_else(|error| {
            if is_taken(&error) {
                return Err(error);
            }
            at(wildcard)
        });
        match placed {
            Ok(placed) => return Ok(placed),
            Err(error) if is_taken(&error) => *opened = again()?,
            Err(error) => return Err(Operation::Bind.failed()(error)),
        }
    }
    Err(exhausted())
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

/// Binds to the port that the request names, or to another one if it is taken. The kernel lets
/// several sockets bind to a port and only one of them listen, so a socket for connections also
/// listens: which of two tests has the port does not depend on their order of steps.
pub(crate) fn bind_as_asked(
    job: &EndJob,
    opened: &mut OpenedSocket,
    again: impl Fn() -> Result<OpenedSocket, EngineError>,
) -> Result<Placed, EngineError> {
    let wildcard = socket::wildcard(job.family);
    let address = job.bind.unwrap_or(wildcard);
    let asked = SocketAddr::new(address, job.port);
    match listen(job, &opened.socket, asked) {
        Ok(placed) => return Ok(placed),
        Err(error) if !job.transport.is_inet() => return Err(Operation::Bind.failed()(error)),
        Err(_) => *opened = again()?,
    }
    listen(job, &opened.socket, SocketAddr::new(address, 0))
        .or_else(|_| listen(job, &opened.socket, SocketAddr::new(wildcard, 0)))
        .map_err(Operation::Bind.failed())
}

/// Binds to an address and, if the transport has connections, listens.
fn listen(job: &EndJob, socket: &netperf_os::Socket, inet: SocketAddr) -> io::Result<Placed> {
    let wanted = PlaceRequest {
        transport: job.transport,
        inet,
        place: &job.end.place,
        asking: false,
    };
    let placed = place::bind(socket, &wanted)?;
    if job.transport.is_connected() {
        socket::listen(socket, &job.end.socket)?;
    }
    Ok(placed)
}

/// Error of a range without enough free ports.
pub(crate) fn exhausted() -> EngineError {
    Operation::DataPorts.failed()(io::ErrorKind::AddrInUse.into())
}
