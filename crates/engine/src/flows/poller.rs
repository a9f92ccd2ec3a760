//! Wait of a worker for its flows.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_model::IoMethod;
use netperf_os::events::{Epoll, Events, Wakeup, Watch};
use netperf_os::io as calls;

/// Longest wait of a single flow's call before the worker looks at the stage.
pub(super) const NAP: Duration = Duration::from_millis(20);
/// Events that are taken at once.
const EVENTS: usize = 256;
/// Token of the wakeup.
const CHIME: u64 = u64::MAX;

/// Kinds of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// For many flows at once, asleep.
    Sleeping,
    /// For many flows at once, without ever sleeping (`--io poll`).
    Spinning,
    /// For its only flow, whose own calls wait and come back after a while, or at once
    /// where the worker is to spin. That spares the call that waits for many.
    Alone { spins: bool },
}

impl Waits {
    /// The wait of a thread for all its flows.
    pub(super) const fn together(method: IoMethod) -> Self {
        if method.spins() {
            Self::Spinning
        } else {
            Self::Sleeping
        }
    }
}

/// Says which flows can go on. One type for all ways to wait: a round asks it twice, and a
/// type for each way had all loops made four times (decision 0027).
#[derive(Debug)]
pub(super) struct Poller {
    /// epoll(7), level-triggered, over sockets that do not block; `None` for a flow alone.
    many: Option<PolledFlows>,
    spins: bool,
}

#[derive(Debug)]
struct PolledFlows {
    epoll: Epoll,
    events: Events,
}

impl Poller {
    /// Makes a poller for these sockets; the token of each is its place. The wakeup ends a wait,
    /// too.
    pub(super) fn new<'s>(
        waits: Waits,
        sockets: impl Iterator<Item = BorrowedFd<'s>>,
        watch: Watch,
        wakeup: &Wakeup,
    ) -> io::Result<Self> {
        match waits {
            Waits::Alone { spins } => Self::alone(sockets, spins),
            Waits::Sleeping => Self::together(sockets, watch, wakeup, false),
            Waits::Spinning => Self::together(sockets, watch, wakeup, true),
        }
    }

    fn together<'s>(
        sockets: impl Iterator<Item = BorrowedFd<'s>>,
        watch: Watch,
        wakeup: &Wakeup,
        spins: bool,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(wakeup.as_fd(), CHIME, Watch::News)?;
        for (token, socket) in (0..).zip(sockets) {
            calls::set_nonblocking(socket, true)?;
            epoll.add(socket, token, watch)?;
        }
        let events = Events::with_room(EVENTS);
        Ok(Self {
            many: Some(PolledFlows { epoll, events }),
            spins,
        })
    }

    fn alone<'s>(sockets: impl Iterator<Item = BorrowedFd<'s>>, spins: bool) -> io::Result<Self> {
        let poller = Self { many: None, spins };
        let mut each = sockets.map(|socket| poller.prepare(socket));
        each.try_for_each(|prepared| prepared)?;
        Ok(poller)
    }

    /// Has the calls of a socket wait as this poller needs it.
    fn prepare(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        if self.spins || !self.is_alone() {
            return calls::set_nonblocking(socket, true);
        }
        calls::set_nonblocking(socket, false)?;
        calls::set_patience(socket, Some(NAP))
    }

    /// Returns whether the calls of the only flow block.
    #[inline]
    pub(super) const fn is_alone(&self) -> bool {
        self.many.is_none()
    }

    /// Waits, for so long at most where a time is given: how many flows can go on.
    #[inline]
    pub(super) fn wait(&mut self, within: Option<Duration>) -> io::Result<usize> {
        let Some(PolledFlows { epoll, events }) = &mut self.many else {
            return Ok(1);
        };
        let within = if self.spins {
            Some(Duration::ZERO)
        } else {
            within
        };
        match within {
            // A time would cost a timer in the kernel for each wait.
            None => epoll.wait_for_ever(events),
            Some(within) => epoll.wait(events, within),
        }
    }

    /// Place of a flow; an invalid one for the wakeup.
    #[inline]
    pub(super) fn token(&self, index: usize) -> usize {
        self.many.as_ref().map_or(0, |many| {
            usize::try_from(many.events.at(index).token).unwrap_or(usize::MAX)
        })
    }

    /// Returns whether a flow is readable, and writable.
    #[inline]
    pub(super) fn can(&self, index: usize) -> (bool, bool) {
        self.many.as_ref().map_or((true, true), |many| {
            let event = many.events.at(index);
            (event.readable, event.writable)
        })
    }

    /// Another socket is waited for.
    pub(super) fn add(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.many
            .as_ref()
            .map_or(Ok(()), |many| many.epoll.add(fd, token as u64, watch))
    }

    /// Something else is waited for at a flow.
    pub(super) fn change(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.many
            .as_ref()
            .map_or(Ok(()), |many| many.epoll.change(fd, token as u64, watch))
    }

    /// A flow whose socket may be another since its first datagram is waited for.
    #[cold]
    pub(super) fn renew(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.prepare(fd)?;
        match self.add(fd, token, watch) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            added => added,
        }
    }

    /// A flow is over.
    pub(super) fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.many
            .as_ref()
            .map_or(Ok(()), |many| many.epoll.remove(fd))
    }
}
