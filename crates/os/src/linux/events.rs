//! Waiting for many descriptors at once (epoll(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use nix::sys::epoll::{self, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::call::waited;

/// Condition to wait for on a descriptor. The end of a connection is always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Something to read.
    Read,
    /// Space to write, or a finished connect.
    Write,
    /// Either.
    Both,
    /// Nothing but the end of a connection.
    Nothing,
    /// Anything that is new since it was told of the last time, and the peer's end.
    Changes,
    /// Something to read that is new since it was told of the last time.
    Edge,
    /// The same, and that the peer has ended its direction.
    EdgeOrEnd,
    /// Something to read, told to one of all that wait for it.
    Shared,
}

impl Watch {
    fn flags(self) -> EpollFlags {
        let (read, write) = (EpollFlags::EPOLLIN, EpollFlags::EPOLLOUT);
        match self {
            Self::Read => read,
            Self::Write => write,
            Self::Both => read | write,
            Self::Nothing => EpollFlags::empty(),
            Self::Changes => read | write | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET,
            Self::Edge => read | EpollFlags::EPOLLET,
            Self::EdgeOrEnd => read | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET,
            Self::Shared => read | EpollFlags::EPOLLEXCLUSIVE,
        }
    }
}

/// Descriptors that are waited for together, level-triggered.
#[derive(Debug)]
pub struct Epoll(epoll::Epoll);

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }
}

impl Epoll {
    /// epoll_create1(2).
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` when there are too many open files.
    pub fn new() -> io::Result<Self> {
        let flags = epoll::EpollCreateFlags::EPOLL_CLOEXEC;
        Ok(Self(epoll::Epoll::new(flags)?))
    }

    /// epoll_ctl(2): adds `fd`; its events carry `token`.
    ///
    /// # Errors
    /// `ENOSPC` or `ENOMEM` when the kernel has no space.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, watch: Watch) -> io::Result<()> {
        Ok(self
            .0
            .add(fd, epoll::EpollEvent::new(watch.flags(), token))?)
    }

    /// epoll_ctl(2): something else is waited for at `fd`.
    ///
    /// # Errors
    /// `ENOENT` when it was never added.
    pub fn change(&self, fd: BorrowedFd<'_>, token: u64, watch: Watch) -> io::Result<()> {
        let mut event = epoll::EpollEvent::new(watch.flags(), token);
        Ok(self.0.modify(fd, &mut event)?)
    }

    /// epoll_ctl(2): `fd` is not waited for any more.
    ///
    /// # Errors
    /// `ENOENT` when it was never added.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(self.0.delete(fd)?)
    }

    /// epoll_wait(2): fills `events`, and says how many there are. None when the time is
    /// over or a signal came.
    ///
    /// # Errors
    /// Whatever epoll_wait(2) reports, `EINTR` aside.
    #[inline]
    pub fn wait(&self, events: &mut Events, within: Duration) -> io::Result<usize> {
        if within.subsec_nanos() % 1_000_000 != 0 {
            self.sleep(within)?;
            return self.wait_millis(events, 0);
        }
        self.wait_millis(
            events,
            i32::try_from(within.as_millis()).unwrap_or(i32::MAX),
        )
    }

    /// As [`Epoll::wait`], until there is something or a signal comes.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn wait_for_ever(&self, events: &mut Events) -> io::Result<usize> {
        self.wait_millis(events, -1)
    }

    /// ppoll(2) on the epoll descriptor, for a time-out in nanoseconds.
    #[cold]
    fn sleep(&self, within: Duration) -> io::Result<()> {
        let mut polled = libc::pollfd {
            fd: self.0.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let time = super::call::timespec(within);
        // SAFETY: both pointers are to values that outlive the call, and there is no mask.
        waited(unsafe { libc::ppoll(&raw mut polled, 1, &raw const time, std::ptr::null()) })
            .map(drop)
    }

    #[inline]
    fn wait_millis(&self, events: &mut Events, millis: i32) -> io::Result<usize> {
        // SAFETY: the pointer and the number describe the list, which nothing else can
        // see during the call.
        let count = waited(unsafe {
            libc::epoll_wait(
                self.0.0.as_raw_fd(),
                events.0.as_mut_ptr(),
                i32::try_from(events.0.len()).unwrap_or(i32::MAX),
                millis,
            )
        })?;
        Ok(count.and_then(|count| count.try_into().ok()).unwrap_or(0))
    }
}

/// Wakes all threads that wait for it (eventfd(2)).
#[derive(Debug)]
pub struct Wakeup(EventFd);

impl Wakeup {
    /// eventfd(2).
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` when there are too many open files.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self(EventFd::from_flags(flags)?))
    }

    /// Rings: news for each [`Watch::Edge`].
    pub fn wake(&self) {
        let written = self.0.write(1);
        // It could only fail when full, after 2^64 rings.
        debug_assert!(written == Ok(8));
    }

    /// Takes back what was rung so far, for one that waits with poll(2).
    pub fn clear(&self) {
        // `EAGAIN`: nothing was rung.
        let _rings = self.0.read();
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Buffer for events.
pub struct Events(Box<[libc::epoll_event]>);

impl Events {
    /// Creates a buffer for this many events, at least one.
    #[must_use]
    pub fn with_room(count: usize) -> Self {
        Self(vec![libc::epoll_event { events: 0, u64: 0 }; count.max(1)].into_boxed_slice())
    }

    /// One of the events that the last wait gave.
    #[inline]
    #[must_use]
    pub fn at(&self, index: usize) -> EpollEvent {
        self.0.get(index).map_or(EpollEvent::NONE, EpollEvent::of)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({})", self.0.len())
    }
}

/// Event of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpollEvent {
    /// Token given to [`Epoll::add`].
    pub token: u64,
    /// Readable, including an end or an error.
    pub readable: bool,
    /// Writable, including an error.
    pub writable: bool,
    /// The peer says no more: it has ended its direction or both, or there is an error.
    /// Told of the first only where that is waited for ([`Watch::Changes`],
    /// [`Watch::EdgeOrEnd`]).
    pub ended: bool,
}

impl EpollEvent {
    /// Nothing happened.
    pub const NONE: Self = Self {
        token: 0,
        readable: false,
        writable: false,
        ended: false,
    };

    #[inline]
    fn of(event: &libc::epoll_event) -> Self {
        const OVER: u32 = (libc::EPOLLHUP | libc::EPOLLERR) as u32;
        let bits = event.events;
        Self {
            token: event.u64,
            readable: bits & (libc::EPOLLIN as u32 | OVER) != 0,
            writable: bits & (libc::EPOLLOUT as u32 | OVER) != 0,
            ended: bits & (libc::EPOLLRDHUP as u32 | OVER) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn an_event_carries_the_token_of_its_descriptor() {
        let (quiet, busy) = (udp(), udp());
        let epoll = Epoll::new().unwrap();
        epoll.add(quiet.as_fd(), 7, Watch::Read).unwrap();
        epoll.add(busy.as_fd(), 9, Watch::Read).unwrap();
        let mut events = Events::with_room(4);
        let soon = Duration::from_millis(1);
        assert_eq!(epoll.wait(&mut events, soon).unwrap(), 0);
        busy.send_to(b"x", busy.local_addr().unwrap()).unwrap();
        assert_eq!(epoll.wait(&mut events, Duration::from_secs(5)).unwrap(), 1);
        let event = events.at(0);
        assert_eq!(
            (event.token, event.readable, event.writable),
            (9, true, false)
        );
        epoll.change(busy.as_fd(), 9, Watch::Both).unwrap();
        epoll.wait(&mut events, soon).unwrap();
        assert!(events.at(0).writable);
        epoll.remove(busy.as_fd()).unwrap();
        assert_eq!(epoll.wait(&mut events, soon).unwrap(), 0);
    }

    #[test]
    fn chimes_wake_each_listener_once() {
        let wakeup = Wakeup::new().unwrap();
        let waiting = [Epoll::new().unwrap(), Epoll::new().unwrap()];
        for epoll in &waiting {
            epoll.add(wakeup.as_fd(), 3, Watch::Edge).unwrap();
        }
        let mut events = Events::with_room(1);
        for _ in 0..2 {
            wakeup.wake();
            for epoll in &waiting {
                assert_eq!(epoll.wait_for_ever(&mut events).unwrap(), 1);
                assert_eq!(events.at(0).token, 3);
                assert_eq!(epoll.wait(&mut events, Duration::ZERO).unwrap(), 0);
            }
        }
    }

    #[test]
    fn a_wait_may_be_shorter_than_a_millisecond() {
        let quiet = udp();
        let epoll = Epoll::new().unwrap();
        epoll.add(quiet.as_fd(), 1, Watch::Nothing).unwrap();
        let mut events = Events::with_room(1);
        let short = Duration::from_micros(300);
        assert_eq!(epoll.wait(&mut events, short).unwrap(), 0);
    }

    fn udp() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").unwrap()
    }
}
