//! Wait of a worker for its flows.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_model::{IoMethod, Tally};
use netperf_os::events::{Epoll, EpollEvent, Events, Wakeup, Watch};
use netperf_os::{io as calls, without};

/// Longest wait of a single flow's call before the worker looks at the stage.
pub(super) const NAP: Duration = Duration::from_millis(20);
/// Number of rounds without data after which a spinning wait sleeps: some 0.1 s.
const IDLE_ROUNDS: u32 = 200_000;
/// Longest sleep of a spinning wait. Data ends that of many flows at once.
const IDLE_SLEEP: Duration = Duration::from_millis(1);
/// The same of a single flow, which nothing ends.
const ALONE_SLEEP: Duration = Duration::from_micros(100);
/// Events that are taken at once.
const EVENTS: usize = 256;
/// Token of the wakeup.
const WAKEUP: u64 = u64::MAX;

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
    /// Rounds of a spinning wait without data so far, and bytes and transactions before them.
    idle: u32,
    moved: u64,
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
        epoll.add(wakeup.as_fd(), WAKEUP, Watch::Edge)?;
        for (token, socket) in (0..).zip(sockets) {
            calls::set_nonblocking(socket, true)?;
            epoll.add(socket, token, watch)?;
        }
        let events = Events::with_room(EVENTS);
        Ok(Self {
            many: Some(PolledFlows { epoll, events }),
            ..Self::without_epoll(spins)
        })
    }

    const fn without_epoll(spins: bool) -> Self {
        Self {
            many: None,
            spins,
            idle: 0,
            moved: 0,
        }
    }

    fn alone<'s>(sockets: impl Iterator<Item = BorrowedFd<'s>>, spins: bool) -> io::Result<Self> {
        let poller = Self::without_epoll(spins);
        let mut each = sockets.map(|socket| poller.prepare(socket));
        each.try_for_each(|prepared| prepared)?;
        Ok(poller)
    }

    /// Has the calls of a socket wait as this poller needs it.
    fn prepare(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        if !self.is_alone() {
            return calls::set_nonblocking(socket, true);
        }
        calls::set_nonblocking(socket, false)?;
        without::set_patience(socket, Some(NAP))
    }

    /// Returns whether the calls of the only flow block.
    #[inline]
    pub(super) const fn is_alone(&self) -> bool {
        self.many.is_none() && !self.spins
    }

    /// Time that a spinning wait may sleep: none while data moves.
    #[inline]
    fn idle_sleep(&mut self, tally: &Tally, most: Duration) -> Duration {
        let moved = tally.bytes_sent + tally.bytes_received + tally.transactions;
        if moved != self.moved {
            (self.moved, self.idle) = (moved, 0);
        }
        if self.idle < IDLE_ROUNDS {
            self.idle += 1;
            Duration::ZERO
        } else {
            most
        }
    }

    /// Waits, for so long at most where a time is given: how many flows can go on. `tally`
    /// is what they have moved so far.
    #[inline]
    pub(super) fn wait(&mut self, within: Option<Duration>, tally: &Tally) -> io::Result<usize> {
        if self.spins {
            return self.spin(within, tally);
        }
        let Some(PolledFlows { epoll, events }) = &mut self.many else {
            return Ok(1);
        };
        match within {
            // A time would cost a timer in the kernel for each wait.
            None => epoll.wait_for_ever(events),
            Some(within) => epoll.wait(events, within),
        }
    }

    /// The same without sleep while data moves.
    fn spin(&mut self, within: Option<Duration>, tally: &Tally) -> io::Result<usize> {
        let most = if self.many.is_some() {
            within.unwrap_or(IDLE_SLEEP).min(IDLE_SLEEP)
        } else {
            ALONE_SLEEP
        };
        let sleep = self.idle_sleep(tally, most);
        if let Some(PolledFlows { epoll, events }) = &mut self.many {
            return epoll.wait(events, sleep);
        }
        if !sleep.is_zero() {
            std::thread::sleep(sleep);
        }
        Ok(1)
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

    /// An event of a flow; one that says nothing where none is waited for.
    #[inline]
    pub(super) fn event(&self, index: usize) -> EpollEvent {
        self.many
            .as_ref()
            .map_or(EpollEvent::NONE, |many| many.events.at(index))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinning_wait_sleeps_only_while_nothing_moves() {
        let mut poller = Poller::without_epoll(true);
        let mut tally = Tally::default();
        let mut sleep = |tally: &Tally| poller.idle_sleep(tally, IDLE_SLEEP);
        assert!((0..IDLE_ROUNDS).all(|_| sleep(&tally).is_zero()));
        assert_eq!(sleep(&tally), IDLE_SLEEP);
        for moved in [1, 2] {
            tally.bytes_received = moved;
            assert!(sleep(&tally).is_zero());
        }
        tally.transactions = 1;
        assert!(sleep(&tally).is_zero());
    }
}
