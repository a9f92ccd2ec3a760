//! The data socket of one flow: opened, bound and listening as the job asks.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::{Domain, EndJob, Meeting, Token};
use netperf_os::{SockAddr, Socket, alarm, without};
use netperf_transport::one_port;
use netperf_transport::place::{self, PlaceRequest, Placed};
use netperf_transport::socket::{self, OpenedSocket, Side};

use crate::data_ports;
use crate::end;
use crate::error::{EngineError, Operation, refused};
use crate::path;
use crate::stop::control_has_ended;

/// Opens a data socket with the options of a job.
pub(super) fn open(job: &EndJob) -> Result<OpenedSocket, EngineError> {
    let side = if job.is_netperf() {
        Side::Asks
    } else {
        Side::Answers
    };
    let opened = socket::open(job.transport, job.family, &job.end.socket)
        .map_err(Operation::Create.failed())?;
    socket::set_extras(&opened.socket, &job.end.socket, side).map_err(refused)?;
    // A message that is lost is waited for no longer than this (`-e`).
    let row = job.transport.row();
    let may_miss = row.meeting != Meeting::Connection || !row.reliable;
    if let Some(timeout) = job.recv_timeout.filter(|_| may_miss) {
        let set = opened.socket.set_read_timeout(Some(timeout));
        // The system's number would say that there is no such transport.
        let named = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("time limit of responses (-e): {error}"),
            )
        };
        set.map_err(named).map_err(Operation::Create.failed())?;
    }
    path::take_only_permitted(job, &opened.socket).map_err(Operation::Create.failed())?;
    Ok(opened)
}

/// Has the kernel report messages that a full local queue drops.
pub(super) fn report_drops(job: &EndJob, socket: &Socket) {
    // An endpoint that answers sets it, because it must tolerate what comes with it.
    let one_way = job.is_bulk() || job.is_netperf();
    if job.sends && one_way && end::drops_silently(job.transport) {
        let _or_silently = without::report_drops(socket);
    }
}

/// Binds netperf's data socket where it must be: connect(2) binds by itself, unless an
/// address was asked for; a socket without a connection must have an address to tell.
pub(crate) fn placed(job: &EndJob, socket: &Socket) -> Result<Placed, EngineError> {
    let (transport, local) = (job.transport, job.local_address());
    let chosen = local.port() != 0 || !local.ip().is_unspecified();
    let must_bind = match transport.row().domain {
        _ if job.flows.is_some() => job.tells_addresses(),
        Domain::Inet => !transport.is_connected() || (chosen && !job.connects),
        Domain::Unix => !transport.is_connected() && job.receives,
        Domain::Vsock => false,
        Domain::Link | Domain::Atm => true,
    };
    if !must_bind {
        return Ok(Placed::default());
    }
    let wanted = PlaceRequest {
        transport,
        inet: local,
        place: &job.end.place,
        asking: true,
    };
    place::bind(socket, &wanted).map_err(Operation::Bind.failed())
}

/// Listens at the data socket, or at the handoff socket that connections come through. For
/// datagrams the handoff socket is returned.
pub(super) fn listening(
    job: &EndJob,
    data: Socket,
    handoff: Option<Socket>,
) -> Result<(Socket, Option<Socket>), EngineError> {
    match handoff {
        Some(handoff) if job.transport.is_connected() => {
            // As it was before the last test.
            handoff
                .set_nonblocking(false)
                .and_then(|()| without::set_patience(handoff.as_fd(), None))
                .map_err(Operation::Listen.failed())?;
            Ok((handoff, None))
        }
        None if job.transport.is_connected() => {
            socket::listen(&data, &job.end.socket).map_err(Operation::Listen.failed())?;
            Ok((data, None))
        }
        handoff => Ok((data, handoff)),
    }
}

/// Binds where the request says. A port that is not free is no reason to fail:
/// only the port that the response reports is authoritative (control-protocol.md 2.5.2).
pub(super) fn bind(job: &EndJob, opened: &mut OpenedSocket) -> Result<Placed, EngineError> {
    if let Some(range) = job.data_ports.filter(|_| job.transport.is_inet()) {
        return data_ports::bind(job, opened, || open(job), range);
    }
    data_ports::bind_as_asked(job, opened, || open(job))
}

/// Finds netserver's socket, where datagrams go to the port of the control connection;
/// `false` when the user ended the test first.
pub(super) fn announce(
    job: &EndJob,
    socket: &Socket,
    (to, token): (&SockAddr, &Token),
    control: Option<BorrowedFd<'_>>,
) -> Result<bool, EngineError> {
    let mut over = || alarm::stopped_by_user() || control.is_some_and(control_has_ended);
    let met = one_port::probe(std::iter::once((0, socket)), to, token, &mut over).and_then(|()| {
        if job.sends {
            return Ok(());
        }
        one_port::await_first(socket, to, token, &mut over)
    });
    match met {
        Err(error)
            if error.kind() == io::ErrorKind::ConnectionAborted && alarm::stopped_by_user() =>
        {
            Ok(false)
        }
        other => other.map(|()| true).map_err(Operation::Probe.failed()),
    }
}
