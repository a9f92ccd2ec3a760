//! How a worker waits for its flows.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_os::events::{Chime, Epoll, Events, Watch};
use netperf_os::io as calls;

/// How long a call of a flow alone waits at most before the worker looks at the stage.
const NAP: Duration = Duration::from_millis(20);
/// Events that are taken at once.
const EVENTS: usize = 256;
/// The token of the chime, which is no flow's.
const CHIME: u64 = u64::MAX;

/// Says which flows can go on.
pub(super) trait Poller: Sized {
    /// Waits for these sockets; each carries its place as its token. The chime ends a
    /// wait, too.
    fn new<'s>(
        sockets: impl Iterator<Item = BorrowedFd<'s>>,
        watch: Watch,
        chime: &Chime,
    ) -> io::Result<Self>;

    /// Waits, for so long at most where a time is given: how many flows can go on.
    fn wait(&mut self, within: Option<Duration>) -> io::Result<usize>;

    /// The place of one of them; one that no flow has where it was the chime.
    fn token(&self, index: usize) -> usize;

    /// Whether there is something to read at one of them, and room to write.
    fn can(&self, index: usize) -> (bool, bool);

    /// Another socket is waited for.
    fn add(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()>;

    /// Something else is waited for at a flow.
    fn change(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()>;

    /// A flow is over.
    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()>;
}

/// Many flows: sockets that do not block, and epoll(7), level-triggered.
#[derive(Debug)]
pub(super) struct Together {
    epoll: Epoll,
    events: Events,
}

impl Poller for Together {
    fn new<'s>(
        sockets: impl Iterator<Item = BorrowedFd<'s>>,
        watch: Watch,
        chime: &Chime,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(chime.as_fd(), CHIME, Watch::News)?;
        for (token, socket) in (0..).zip(sockets) {
            calls::set_nonblocking(socket, true)?;
            epoll.add(socket, token, watch)?;
        }
        Ok(Self {
            epoll,
            events: Events::with_room(EVENTS),
        })
    }

    #[inline]
    fn wait(&mut self, within: Option<Duration>) -> io::Result<usize> {
        match within {
            // A time would cost a timer in the kernel for each wait.
            None => self.epoll.wait_for_ever(&mut self.events),
            Some(within) => self.epoll.wait(&mut self.events, within),
        }
    }

    #[inline]
    fn token(&self, index: usize) -> usize {
        usize::try_from(self.events.at(index).token).unwrap_or(usize::MAX)
    }

    #[inline]
    fn can(&self, index: usize) -> (bool, bool) {
        let event = self.events.at(index);
        (event.readable, event.writable)
    }

    fn add(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.epoll.add(fd, token as u64, watch)
    }

    fn change(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.epoll.change(fd, token as u64, watch)
    }

    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.epoll.remove(fd)
    }
}

/// As [`Together`], but it never sleeps (`--io poll`).
#[derive(Debug)]
pub(super) struct Spinning(Together);

impl Poller for Spinning {
    fn new<'s>(
        sockets: impl Iterator<Item = BorrowedFd<'s>>,
        watch: Watch,
        chime: &Chime,
    ) -> io::Result<Self> {
        Together::new(sockets, watch, chime).map(Self)
    }

    #[inline]
    fn wait(&mut self, _: Option<Duration>) -> io::Result<usize> {
        self.0.wait(Some(Duration::ZERO))
    }

    #[inline]
    fn token(&self, index: usize) -> usize {
        self.0.token(index)
    }

    #[inline]
    fn can(&self, index: usize) -> (bool, bool) {
        self.0.can(index)
    }

    fn add(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.0.add(fd, token, watch)
    }

    fn change(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.0.change(fd, token, watch)
    }

    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.0.remove(fd)
    }
}

/// One flow: its own calls wait, and come back after a while, or at once where the worker
/// is to spin. That spares the call that waits for many.
#[derive(Debug)]
pub(super) struct Alone<const SPINS: bool>;

impl<const SPINS: bool> Poller for Alone<SPINS> {
    fn new<'s>(
        sockets: impl Iterator<Item = BorrowedFd<'s>>,
        _: Watch,
        _: &Chime,
    ) -> io::Result<Self> {
        for socket in sockets {
            calls::set_nonblocking(socket, SPINS)?;
            if !SPINS {
                calls::set_patience(socket, Some(NAP))?;
            }
        }
        Ok(Self)
    }

    #[inline]
    fn wait(&mut self, _: Option<Duration>) -> io::Result<usize> {
        Ok(1)
    }

    #[inline]
    fn token(&self, _: usize) -> usize {
        0
    }

    #[inline]
    fn can(&self, _: usize) -> (bool, bool) {
        (true, true)
    }

    fn add(&self, _: BorrowedFd<'_>, _: usize, _: Watch) -> io::Result<()> {
        Ok(())
    }

    fn change(&self, _: BorrowedFd<'_>, _: usize, _: Watch) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }
}
