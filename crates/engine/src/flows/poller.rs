//! How a worker waits for its flows.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_os::Socket;
use netperf_os::events::{Epoll, Events, Watch};

/// How long a worker waits at most before it looks at the stage.
const NAP: Duration = Duration::from_millis(20);
/// Events that are taken at once.
const EVENTS: usize = 256;

/// Says which flows can go on.
pub(super) trait Poller: Sized {
    /// Waits for these sockets; each carries its place as its token.
    fn new<'s>(sockets: impl Iterator<Item = &'s Socket>, watch: Watch) -> io::Result<Self>;

    /// Waits a while: how many flows can go on.
    fn wait(&mut self) -> io::Result<usize>;

    /// The place of one of them.
    fn token(&self, index: usize) -> usize;

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
    fn new<'s>(sockets: impl Iterator<Item = &'s Socket>, watch: Watch) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        for (token, socket) in (0..).zip(sockets) {
            socket.set_nonblocking(true)?;
            epoll.add(socket.as_fd(), token, watch)?;
        }
        Ok(Self {
            epoll,
            events: Events::with_room(EVENTS),
        })
    }

    #[inline]
    fn wait(&mut self) -> io::Result<usize> {
        self.epoll.wait(&mut self.events, NAP)
    }

    #[inline]
    fn token(&self, index: usize) -> usize {
        usize::try_from(self.events.at(index).token).unwrap_or(usize::MAX)
    }

    fn change(&self, fd: BorrowedFd<'_>, token: usize, watch: Watch) -> io::Result<()> {
        self.epoll.change(fd, token as u64, watch)
    }

    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.epoll.remove(fd)
    }
}

/// One flow: its own calls wait, and come back after a while. That spares the call that
/// waits for many.
#[derive(Debug)]
pub(super) struct Alone;

impl Poller for Alone {
    fn new<'s>(sockets: impl Iterator<Item = &'s Socket>, _: Watch) -> io::Result<Self> {
        for socket in sockets {
            socket.set_nonblocking(false)?;
            socket.set_read_timeout(Some(NAP))?;
            socket.set_write_timeout(Some(NAP))?;
        }
        Ok(Self)
    }

    #[inline]
    fn wait(&mut self) -> io::Result<usize> {
        Ok(1)
    }

    #[inline]
    fn token(&self, _: usize) -> usize {
        0
    }

    fn change(&self, _: BorrowedFd<'_>, _: usize, _: Watch) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }
}
