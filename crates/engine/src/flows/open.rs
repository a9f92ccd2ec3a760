//! Opening the connections of a worker, many at the same time.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{Family, SocketPlan, TransportId};
use netperf_os::events::{Epoll, Events, Watch};
use netperf_os::{SockAddr, Socket, io as calls};
use netperf_transport::meeting::{Connects, Met, OnSocket};
use netperf_transport::{Endpoint, socket};

use super::shared::{Shared, Stage};
use crate::error::{EngineError, Operation};

/// How long all connections of a worker may take.
const WITHIN: Duration = Duration::from_secs(30);
/// How long to leave a full queue alone.
const BREATHER: Duration = Duration::from_millis(1);
/// How long to wait at most before looking around.
const LOOK: Duration = Duration::from_millis(50);
/// Connections that are under way at the same time: netserver takes them as they come,
/// out of a queue that has room for a few thousand.
const UNDER_WAY: usize = 1000;

/// What connections are opened with.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    pub(super) transport: TransportId,
    pub(super) family: Family,
    pub(super) options: &'a SocketPlan,
    /// Where they come from; `None` leaves that to the kernel.
    pub(super) from: Option<SocketAddr>,
}

impl How<'_> {
    /// A socket that is where it is to be.
    pub(super) fn socket(&self) -> Result<Socket, EngineError> {
        let socket = socket::open_again(self.transport, self.family, self.options)
            .map_err(Operation::Create.failed())?;
        if let Some(from) = self.from {
            socket::bind(&socket, from).map_err(Operation::Bind.failed())?;
        }
        Ok(socket)
    }
}

/// Opens a connection to each of `targets`, one after the other.
///
/// # Errors
/// When one of them cannot be opened in time.
pub(super) fn open_each<'t, C: Connects>(
    opened: How<'_>,
    how: &C,
    targets: impl Iterator<Item = &'t SockAddr>,
    shared: &Shared,
) -> Result<Vec<C::Endpoint>, EngineError> {
    let deadline = clock::now().plus(WITHIN);
    let one = |target: &SockAddr| {
        let socket = opened.socket()?;
        let connected = calls::set_patience(socket.as_fd(), Some(deadline.left().max(LOOK)))
            .and_then(|()| {
                let mut give_up = || {
                    deadline.left().is_zero() || shared.stage() == Stage::Abandon
                };
                how.connect(socket, target, &mut give_up)
            });
        match connected.map_err(Operation::Connect.failed())? {
            Met::Connected(mut endpoint) => {
                endpoint.begin();
                calls::set_patience(endpoint.fd(), None).map_err(Operation::Connect.failed())?;
                Ok(endpoint)
            }
            Met::GivenUp => Err(Operation::Connect.failed()(io::ErrorKind::TimedOut.into())),
        }
    };
    targets.map(one).collect()
}

/// Connections under way.
struct Dialling<'a> {
    how: How<'a>,
    epoll: Epoll,
    deadline: Moment,
    under_way: usize,
}

/// Opens a connection to each of `targets`, in that order.
///
/// # Errors
/// When one of them cannot be opened in time.
pub(super) fn open<'t>(
    how: How<'_>,
    targets: impl Iterator<Item = &'t SockAddr>,
    shared: &Shared,
) -> Result<Vec<Socket>, EngineError> {
    let mut dialling = Dialling {
        how,
        epoll: Epoll::new().map_err(Operation::Connect.failed())?,
        deadline: clock::now().plus(WITHIN),
        under_way: 0,
    };
    let mut events = Events::with_room(UNDER_WAY);
    let mut sockets = Vec::new();
    for target in targets {
        let socket = dialling.dial(target, sockets.len() as u64, shared)?;
        sockets.push(socket);
        while dialling.under_way >= UNDER_WAY {
            dialling
                .settle(&sockets, &mut events, shared)
                .map_err(Operation::Connect.failed())?;
        }
    }
    while dialling.under_way > 0 {
        dialling
            .settle(&sockets, &mut events, shared)
            .map_err(Operation::Connect.failed())?;
    }
    Ok(sockets)
}

impl Dialling<'_> {
    /// Begins to connect.
    fn dial(
        &mut self,
        target: &SockAddr,
        token: u64,
        shared: &Shared,
    ) -> Result<Socket, EngineError> {
        let socket = self.how.socket()?;
        self.connect(&socket, target, token, shared)
            .map_err(Operation::Connect.failed())?;
        Ok(socket)
    }

    fn connect(
        &mut self,
        socket: &Socket,
        target: &SockAddr,
        token: u64,
        shared: &Shared,
    ) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        loop {
            match socket.connect(target) {
                Ok(()) => return Ok(()),
                Err(error) if netperf_os::io::goes_on(&error) => {
                    self.epoll.add(socket.as_fd(), token, Watch::Write)?;
                    self.under_way += 1;
                    return Ok(());
                }
                // The queue of a Unix-domain listener is full (connect(2), EAGAIN).
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.check(shared)?;
                    netperf_os::wait::sleep(BREATHER);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes note of connections that stand.
    fn settle(
        &mut self,
        sockets: &[Socket],
        events: &mut Events,
        shared: &Shared,
    ) -> io::Result<()> {
        for index in 0..self.epoll.wait(events, LOOK)? {
            let token = usize::try_from(events.at(index).token).unwrap_or(usize::MAX);
            let Some(socket) = sockets.get(token) else {
                continue;
            };
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
            self.epoll.remove(socket.as_fd())?;
            self.under_way -= 1;
        }
        self.check(shared)
    }

    /// Whether to go on waiting.
    fn check(&self, shared: &Shared) -> io::Result<()> {
        if self.deadline.left().is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if shared.stage() == Stage::Abandon {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}
