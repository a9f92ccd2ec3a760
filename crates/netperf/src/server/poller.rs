//! Who stirs: everything that the listener waits for, in one epoll(7), so that a round costs
//! what happened in it and not what could have happened.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_os::events::{Epoll, Event, Events, Watch};

/// Events of one round. More are told of in the next, in turn.
const AT_ONCE: usize = 256;

/// Whom an event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PollToken {
    /// A signal came.
    Signals,
    /// The listener with this index.
    Listener(u64),
    /// Somebody at the desk.
    MetricsServer,
    /// Somebody who was turned away.
    Refused,
    /// A datagram at a listener's port.
    Probes,
    /// A connection with this number whose first message is awaited.
    PendingConnection(u64),
    /// One of data with this number whose preamble is awaited.
    ArrivingData(u64),
    /// The session with this number.
    Session(u64),
}

/// How many kinds there are.
const KINDS: u64 = 8;

impl PollToken {
    /// What the kernel keeps of it.
    const fn to_raw(self) -> u64 {
        let (kind, number) = match self {
            Self::Signals => (0, 0),
            Self::Listener(number) => (1, number),
            Self::MetricsServer => (2, 0),
            Self::Refused => (3, 0),
            Self::Probes => (4, 0),
            Self::PendingConnection(number) => (5, number),
            Self::ArrivingData(number) => (6, number),
            Self::Session(number) => (7, number),
        };
        // Numbers are counted up from 0: 2^61 of them take for ever.
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
            6 => Self::ArrivingData(number),
            7 => Self::Session(number),
            _ => Self::Signals,
        }
    }
}

/// Somebody who stirred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PollEvent {
    /// Who it is.
    pub(super) token: PollToken,
    /// Whether nothing more will come from there.
    pub(super) ended: bool,
}

/// Waits for all of them.
///
/// What somebody else has open as well goes on being told of when it is closed here: a session
/// has its client's socket, a supervisor has the listeners, and a process that is being started
/// has everything for a moment. So it has to be forgotten before, or be told of by news alone.
#[derive(Debug)]
pub(super) struct ServerPoller {
    epoll: Epoll,
    events: Events,
}

impl ServerPoller {
    /// # Errors
    /// `EMFILE` or `ENFILE` when there are too many open files.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            events: Events::with_room(AT_ONCE),
        })
    }

    /// From now on something to read there is told, again and again until it is read.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub(super) fn watch(&self, fd: BorrowedFd<'_>, token: PollToken) -> io::Result<()> {
        self.epoll.add(fd, token.to_raw(), Watch::Read)
    }

    /// From now on what is said there is told once, and the end: whoever hears it has to
    /// read all.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub(super) fn watch_edge(&self, fd: BorrowedFd<'_>, token: PollToken) -> io::Result<()> {
        self.epoll.add(fd, token.to_raw(), Watch::NewsOrEnd)
    }

    /// The same under another name, of one that is listened to. What there is to be told at
    /// this moment is told again.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub(super) fn change_token(&self, fd: BorrowedFd<'_>, token: PollToken) -> io::Result<()> {
        self.epoll.change(fd, token.to_raw(), Watch::NewsOrEnd)
    }

    /// Nothing is told of it for a while, or again everything.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub(super) fn pause(
        &self,
        fd: BorrowedFd<'_>,
        token: PollToken,
        paused: bool,
    ) -> io::Result<()> {
        let watch = if paused { Watch::Nothing } else { Watch::Read };
        self.epoll.change(fd, token.to_raw(), watch)
    }

    /// Nothing is told of it any more.
    pub(super) fn remove(&self, fd: BorrowedFd<'_>) {
        // One that nobody has heard of need not be forgotten.
        let _never_known = self.epoll.remove(fd);
    }

    /// Waits until somebody stirs, or this long, to the millisecond.
    ///
    /// # Errors
    /// Whatever epoll_wait(2) reports.
    pub(super) fn wait(&mut self, within: Duration) -> io::Result<Vec<PollEvent>> {
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        let whole = u64::try_from(within.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
        let whole = Duration::from_millis(whole);
        let count = self.epoll.wait(&mut self.events, whole)?;
        let event = |event: Event| PollEvent {
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
    fn everybody_is_known_by_what_the_kernel_keeps() {
        for token in [
            PollToken::Signals,
            PollToken::Listener(0),
            PollToken::Listener(7),
            PollToken::MetricsServer,
            PollToken::Refused,
            PollToken::Probes,
            PollToken::PendingConnection(0),
            PollToken::PendingConnection(1 << 60),
            PollToken::ArrivingData(3),
            PollToken::Session(9),
        ] {
            assert_eq!(PollToken::from_raw(token.to_raw()), token);
        }
    }

    #[test]
    fn what_a_client_says_is_told_once_and_its_end_as_such() {
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
            .change_token(server.as_fd(), PollToken::ArrivingData(6))
            .unwrap();
        let again = poller.wait(long).unwrap();
        assert_eq!(
            again.first().map(|event| event.token),
            Some(PollToken::ArrivingData(6))
        );
        client.shutdown(Shutdown::Write).unwrap();
        let last = poller.wait(long).unwrap();
        assert_eq!(last.first().map(|event| event.ended), Some(true));
        poller.remove(server.as_fd());
        client.shutdown(Shutdown::Both).unwrap();
        assert_eq!(poller.wait(Duration::from_millis(1)).unwrap(), []);
    }

    #[test]
    fn what_somebody_else_has_open_as_well_keeps_nobody_busy_when_it_is_closed() {
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
