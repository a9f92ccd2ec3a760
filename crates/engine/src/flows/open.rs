//! Opens connections, many at the same time.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{Family, SocketPlan, Token, TransportId};
use netperf_os::events::{Epoll, Events, Watch};
use netperf_os::{SockAddr, Socket, without};
use netperf_transport::meeting::{Connects, Met, OnSocket};
use netperf_transport::{Endpoint, one_port, socket};

use super::shared::{RunStage, SharedRun};
use crate::end;
use crate::error::{EngineError, Operation};

/// Time limit for opening all connections.
const WITHIN: Duration = Duration::from_secs(30);
/// Pause after a full queue.
const BREATHER: Duration = Duration::from_millis(1);
/// Longest wait between looks around.
const LOOK: Duration = Duration::from_millis(50);
/// Connections in progress at the same time: netserver's queue has space for a few thousand.
const UNDER_WAY: usize = 1000;

/// Options for opening connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    pub(super) transport: TransportId,
    pub(super) family: Family,
    pub(super) options: &'a SocketPlan,
    /// Source address; `None` leaves it to the kernel.
    pub(super) from: Option<SocketAddr>,
    /// First bytes, where they use the port of the control connection.
    pub(super) token: Option<Token>,
}

/// The flows of all threads, opened in their order by whichever thread comes first.
///
/// netserver deals out connections in their order of arrival, as this does: a thread at one end
/// then serves one thread at the other.
#[derive(Debug)]
pub(super) struct FlowOpener<E>(Mutex<OpenedFlows<E>>);

#[derive(Debug)]
enum OpenedFlows<E> {
    NotYet,
    Dealt(Vec<Vec<E>>),
    Failed,
}

impl<E> FlowOpener<E> {
    /// Nothing is open.
    pub(super) const fn new() -> Self {
        Self(Mutex::new(OpenedFlows::NotYet))
    }

    /// The flows of one thread; `all` opens those of all, and deals them out.
    ///
    /// # Errors
    /// What `all` reports, to one thread; `ConnectionAborted` to the others.
    pub(super) fn part(
        &self,
        index: u32,
        all: impl FnOnce() -> Result<Vec<Vec<E>>, EngineError>,
    ) -> Result<Vec<E>, EngineError> {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*opened, OpenedFlows::NotYet) {
            *opened = OpenedFlows::Failed;
            *opened = OpenedFlows::Dealt(all()?);
        }
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let part = match &mut *opened {
            OpenedFlows::Dealt(parts) => parts.get_mut(index).map(std::mem::take),
            OpenedFlows::NotYet | OpenedFlows::Failed => None,
        };
        drop(opened);
        let failed = || Operation::Connect.failed()(io::ErrorKind::ConnectionAborted.into());
        part.ok_or_else(failed)
    }
}

/// Deals flows out to threads, one to each in turn.
pub(super) fn deal<E>(flows: Vec<E>, threads: u32) -> Vec<Vec<E>> {
    let mut parts: Vec<Vec<E>> = (0..threads.max(1)).map(|_| Vec::new()).collect();
    let count = parts.len();
    for (index, flow) in flows.into_iter().enumerate() {
        if let Some(part) = parts.get_mut(index % count) {
            part.push(flow);
        }
    }
    parts
}

impl How<'_> {
    /// A socket that is where it is to be.
    pub(super) fn socket(&self) -> Result<Socket, EngineError> {
        let socket = socket::open_again(self.transport, self.family, self.options)
            .map_err(Operation::Create.failed())?;
        if !self.transport.is_connected() {
            // Two sockets that may share a port are given the same one before long, and
            // answers to one of them come to the other.
            without::share_port(&socket, false);
        }
        if end::drops_silently(self.transport) {
            let _or_silently = without::report_drops(&socket);
        }
        if let Some(from) = self.from {
            socket::bind(&socket, from).map_err(Operation::Bind.failed())?;
        } else if let Some(anywhere) = self.anywhere() {
            // When ports run out, sendto(2) on a socket without a port fails with EAGAIN (ip(7)).
            socket::bind(&socket, anywhere).map_err(Operation::Bind.failed())?;
        }
        Ok(socket)
    }

    /// Any port of this host, where nothing else gives a socket one before it sends.
    fn anywhere(&self) -> Option<SocketAddr> {
        let unnamed = !self.transport.is_connected() && self.transport.is_inet();
        let any = match self.family {
            Family::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            Family::Unspecified => return None,
        };
        unnamed.then(|| SocketAddr::new(any, 0))
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
    shared: &SharedRun,
) -> Result<Vec<C::Endpoint>, EngineError> {
    let deadline = clock::now().plus(WITHIN);
    let one = |target: &SockAddr| {
        let socket = opened.socket()?;
        let connected = without::set_patience(socket.as_fd(), Some(deadline.left().max(LOOK)))
            .and_then(|()| {
                let mut give_up =
                    || deadline.left().is_zero() || shared.stage() == RunStage::Abandon;
                match &opened.token {
                    None => how.connect(socket, target, &mut give_up),
                    Some(token) => one_port::enter(&socket, target, token, &mut give_up)?
                        .and_then(|()| how.connect(socket, target, &mut give_up)),
                }
            });
        match connected.map_err(Operation::Connect.failed())? {
            Met::Connected(mut endpoint) => {
                endpoint.begin();
                without::set_patience(endpoint.fd(), None).map_err(Operation::Connect.failed())?;
                Ok(endpoint)
            }
            Met::GivenUp => Err(Operation::Connect.failed()(io::ErrorKind::TimedOut.into())),
        }
    };
    targets.map(one).collect()
}

/// Connections under way.
struct PendingConnects<'a> {
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
    shared: &SharedRun,
) -> Result<Vec<Socket>, EngineError> {
    let mut connects = PendingConnects {
        how,
        epoll: Epoll::new().map_err(Operation::Connect.failed())?,
        deadline: clock::now().plus(WITHIN),
        under_way: 0,
    };
    let mut events = Events::with_room(UNDER_WAY);
    let mut sockets = Vec::new();
    for target in targets {
        let socket = connects.begin(target, sockets.len() as u64, shared)?;
        sockets.push(socket);
        while connects.under_way >= UNDER_WAY {
            connects
                .settle(&sockets, &mut events, shared)
                .map_err(Operation::Connect.failed())?;
        }
    }
    while connects.under_way > 0 {
        connects
            .settle(&sockets, &mut events, shared)
            .map_err(Operation::Connect.failed())?;
    }
    if let Some(token) = &how.token {
        let mut presented = sockets
            .iter()
            .map(|one| one_port::present(one.as_fd(), token));
        presented
            .try_for_each(|presented| presented)
            .map_err(Operation::Connect.failed())?;
    }
    Ok(sockets)
}

impl PendingConnects<'_> {
    /// Begins to connect.
    fn begin(
        &mut self,
        target: &SockAddr,
        token: u64,
        shared: &SharedRun,
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
        shared: &SharedRun,
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
        shared: &SharedRun,
    ) -> io::Result<()> {
        for index in 0..self.epoll.wait(events, LOOK)? {
            let token = usize::try_from(events.at(index).token).unwrap_or(usize::MAX);
            let Some(socket) = sockets.get(token) else {
                continue;
            };
            if let Some(error) = without::connect_error(socket) {
                return Err(error);
            }
            self.epoll.remove(socket.as_fd())?;
            self.under_way -= 1;
        }
        self.check(shared)
    }

    /// Returns an error when the wait is over.
    fn check(&self, shared: &SharedRun) -> io::Result<()> {
        if self.deadline.left().is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if shared.stage() == RunStage::Abandon {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_opened_once_and_dealt_out_in_their_order() {
        let opening = FlowOpener::new();
        let mut calls = 0;
        let mut part = |index| {
            let all = || {
                calls += 1;
                Ok(deal((0..7).collect(), 3))
            };
            opening.part(index, all).unwrap()
        };
        assert_eq!(part(1), [1, 4]);
        assert_eq!(part(0), [0, 3, 6]);
        assert_eq!(part(2), [2, 5]);
        assert_eq!(calls, 1);
    }

    #[test]
    fn a_failure_is_told_once_and_the_others_stop() {
        let opening = FlowOpener::<u32>::new();
        let fails = || Err(Operation::Connect.failed()(io::ErrorKind::TimedOut.into()));
        let kind = |error: EngineError| error.error.kind();
        let first = opening.part(0, fails).map_err(kind);
        assert_eq!(first, Err(io::ErrorKind::TimedOut));
        let second = opening.part(1, || Ok(vec![vec![1]])).map_err(kind);
        assert_eq!(second, Err(io::ErrorKind::ConnectionAborted));
    }
}
