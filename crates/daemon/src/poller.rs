//! Poller of the accept loop: one epoll(7) for everything, so that the cost of a round depends
//! on the number of events only.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_os::events::{Epoll, EpollEvent, Events, Watch};

/// Events per round; the rest follow in the next.
const AT_ONCE: usize = 256;

/// Source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollToken {
    /// A signal came.
    Signals,
    /// The listener with this index.
    Listener(u64),
    /// A connection of the metrics server.
    MetricsServer,
    /// A refused client.
    Refused,
    /// A datagram at a listener's port.
    Probes,
    /// A message of a session about its token.
    Handoffs,
    /// The pending connection with this number.
    PendingConnection(u64),
    /// The session with this number.
    Session(u64),
    /// A message of the agent.
    Agent,
    /// Standard input.
    Input,
    /// A datagram at a port of iperf3.
    Iperf3Datagrams,
    /// A message of the iperf3 session with this number.
    Iperf3Session(u64),
    /// A record of the process with this number that serves datagrams of iperf 2.
    Iperf2Datagrams(u64),
    /// An answer of the process that reads files.
    Files,
}

/// Number of kinds.
const KINDS: u64 = 14;

impl PollToken {
    /// Encodes the token for the kernel.
    const fn to_raw(self) -> u64 {
        let (kind, number) = match self {
            Self::Signals => (0, 0),
            Self::Listener(number) => (1, number),
            Self::MetricsServer => (2, 0),
            Self::Refused => (3, 0),
            Self::Probes => (4, 0),
            Self::PendingConnection(number) => (5, number),
            Self::Session(number) => (7, number),
            Self::Handoffs => (8, 0),
            Self::Agent => (9, 0),
            Self::Input => (10, 0),
            Self::Iperf3Datagrams => (12, 0),
            Self::Iperf3Session(number) => (6, number),
            Self::Iperf2Datagrams(number) => (11, number),
            Self::Files => (13, 0),
        };
        // Numbers count up from 0 and never reach 2^59.
        number.wrapping_mul(KINDS).wrapping_add(kind)
    }

    const fn from_raw(raw: u64) -> Self {
        let number = raw / KINDS;
        match raw % KINDS {
            1 => Self::Listener(number),
            2 => Self::MetricsServer,
            3 => Self::Refused,
            4 => Self::Probes,
            5 => Self::PendingConnection(number),
            7 => Self::Session(number),
            8 => Self::Handoffs,
            9 => Self::Agent,
            10 => Self::Input,
            12 => Self::Iperf3Datagrams,
            6 => Self::Iperf3Session(number),
            11 => Self::Iperf2Datagrams(number),
            13 => Self::Files,
            _ => Self::Signals,
        }
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollEvent {
    /// Source of the event.
    pub token: PollToken,
    /// True if no more input follows.
    pub ended: bool,
}

/// Waits for all event sources.
///
/// epoll continues to report a socket that another process has open after it is closed here: a
/// session shares its client's socket, a supervisor shares the listeners, and a process being
/// started briefly shares everything. Such a socket must therefore be removed before it is
/// closed, or be watched edge-triggered.
#[derive(Debug)]
pub struct ServerPoller {
    epoll: Epoll,
    events: Events,
}

impl ServerPoller {
    /// # Errors
    /// `EMFILE` or `ENFILE` when there are too many open files.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            events: Events::with_room(AT_ONCE),
        })
    }

    /// Watches for input, level-triggered.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub fn watch(&self, fd: BorrowedFd<'_>, token: PollToken) -> io::Result<()> {
        self.epoll.add(fd, token.to_raw(), Watch::Read)
    }

    /// Watches for input and the end, edge-triggered: the caller must read everything.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub fn watch_edge(&self, fd: BorrowedFd<'_>, token: PollToken) -> io::Result<()> {
        self.epoll.add(fd, token.to_raw(), Watch::EdgeOrEnd)
    }

    /// Changes the token of an edge-triggered descriptor. Pending input is reported again.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub fn change_token(&self, fd: BorrowedFd<'_>, token: PollToken) -> io::Result<()> {
        self.epoll.change(fd, token.to_raw(), Watch::EdgeOrEnd)
    }

    /// Suspends or resumes a level-triggered descriptor.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub fn pause(&self, fd: BorrowedFd<'_>, token: PollToken, paused: bool) -> io::Result<()> {
        let watch = if paused { Watch::Nothing } else { Watch::Read };
        self.epoll.change(fd, token.to_raw(), watch)
    }

    /// Removes a descriptor.
    pub fn remove(&self, fd: BorrowedFd<'_>) {
        // An error means that it was not registered.
        let _never_known = self.epoll.remove(fd);
    }

    /// Waits for events, at most this long, rounded up to milliseconds.
    ///
    /// # Errors
    /// Whatever epoll_wait(2) reports.
    pub fn wait(&mut self, within: Duration) -> io::Result<Vec<PollEvent>> {
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        let whole = u64::try_from(within.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
        let whole = Duration::from_millis(whole);
        let count = self.epoll.wait(&mut self.events, whole)?;
        let event = |event: EpollEvent| PollEvent {
            token: PollToken::from_raw(event.token),
            ended: event.ended,
        };
        Ok((0..count).map(|at| event(self.events.at(at))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn poller_knows_clients_by_the_kernels_data() {
        for token in [
            PollToken::Signals,
            PollToken::Listener(0),
            PollToken::Listener(7),
            PollToken::MetricsServer,
            PollToken::Refused,
            PollToken::Probes,
            PollToken::Handoffs,
            PollToken::PendingConnection(0),
            PollToken::PendingConnection(1 << 58),
            PollToken::Session(9),
            PollToken::Iperf3Datagrams,
            PollToken::PendingConnection(1 << 40),
            PollToken::Iperf3Session(2),
            PollToken::Iperf2Datagrams(1),
            PollToken::Files,
        ] {
            assert_eq!(PollToken::from_raw(token.to_raw()), token);
        }
    }

    #[test]
    fn poller_reports_input_once_and_hang_ups_as_such() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut poller = ServerPoller::new().unwrap();
        let long = Duration::from_secs(10);
        poller
            .watch_edge(server.as_fd(), PollToken::PendingConnection(5))
            .unwrap();
        assert_eq!(poller.wait(Duration::ZERO).unwrap(), []);
        client.write_all(b"x").unwrap();
        let event = |ended| PollEvent {
            token: PollToken::PendingConnection(5),
            ended,
        };
        assert_eq!(poller.wait(long).unwrap(), [event(false)]);
        assert_eq!(poller.wait(Duration::ZERO).unwrap(), []);
        poller
            .change_token(server.as_fd(), PollToken::Session(6))
            .unwrap();
        let again = poller.wait(long).unwrap();
        assert_eq!(
            again.first().map(|event| event.token),
            Some(PollToken::Session(6))
        );
        client.shutdown(Shutdown::Write).unwrap();
        let last = poller.wait(long).unwrap();
        assert_eq!(last.first().map(|event| event.ended), Some(true));
        poller.remove(server.as_fd());
        client.shutdown(Shutdown::Both).unwrap();
        assert_eq!(poller.wait(Duration::from_millis(1)).unwrap(), []);
    }

    #[test]
    fn poller_is_idle_after_closing_a_shared_descriptor() {
        let (reader, writer) = netperf_os::process::pipe().unwrap();
        let elsewhere = reader.try_clone().unwrap();
        let mut poller = ServerPoller::new().unwrap();
        poller
            .watch_edge(reader.as_fd(), PollToken::Session(1))
            .unwrap();
        drop(writer);
        drop(reader);
        let ended = poller.wait(Duration::from_secs(10)).unwrap();
        assert_eq!(ended.len(), 1);
        assert_eq!(poller.wait(Duration::ZERO).unwrap(), []);
        drop(elsewhere);
    }
}
