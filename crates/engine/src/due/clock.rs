//! The clock of what is due, and sleeping until then.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::IoMethod;
use netperf_os::events::{Epoll, Events, Watch};
use netperf_os::{alarm, wait};

/// The clock of the loop, and the wait between two looks at the socket.
pub trait Ticker {
    /// Nanoseconds since the beginning.
    fn now(&mut self) -> u64;

    /// Returns whether the alarm has rung since the last call.
    fn rang(&mut self) -> bool;

    /// Waits for data to receive, or with `space` for send space as well, until `until` at most. May
    /// return early.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn wait(&mut self, now: u64, until: u64, space: bool) -> io::Result<()>;
}

/// The longest sleep, nanoseconds.
const LONGEST: u64 = 100_000_000;

/// Nanoseconds since the beginning, and the signals that cut sleeps short.
#[derive(Clone, Debug)]
pub(super) struct DueClock {
    began: Moment,
    fired: u32,
    /// A sleep ends so long before something is due, nanoseconds. The rest is spent spinning.
    ahead: u64,
    /// Spins instead of sleeping.
    spins: bool,
}

impl DueClock {
    pub(super) fn new(method: IoMethod) -> Self {
        Self {
            began: clock::now(),
            fired: alarm::fired(),
            ahead: nanos(wait::AHEAD),
            spins: method.spins(),
        }
    }

    /// Begins now, with exact sleeps.
    pub(super) fn begin(&mut self) {
        self.ahead = nanos(wait::sleep_exactly());
        self.began = clock::now();
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        clock::now().nanos_since(self.began)
    }

    /// Returns whether a signal has come since the last call.
    #[inline]
    pub(super) fn rang(&mut self) -> bool {
        let fired = alarm::fired();
        std::mem::replace(&mut self.fired, fired) != fired
    }

    /// Time to sleep until an event that is due in so many nanoseconds; `None` when it is time to
    /// spin.
    #[inline]
    pub(super) fn sleep(&self, left: u64) -> Option<Duration> {
        let sleeps = !self.spins && left > self.ahead;
        sleeps.then(|| Duration::from_nanos((left - self.ahead).min(LONGEST)))
    }

    /// Time from the end of a sleep to the due time, nanoseconds.
    #[inline]
    pub(super) const fn ahead(&self) -> u64 {
        self.ahead
    }

    #[cfg(test)]
    pub(super) fn put_back(&mut self, by: Duration) {
        self.began = self.began.minus(by);
    }
}

/// A time in nanoseconds.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The clock of requests that are sent when they are due, and the wait for a socket.
#[derive(Debug)]
pub(crate) struct Polling {
    clock: DueClock,
    socket: OwnedFd,
    /// Waits instead of poll(2).
    epoll: Option<PolledSocket>,
}

/// A socket that epoll(7) waits for.
#[derive(Debug)]
struct PolledSocket {
    epoll: Epoll,
    events: Events,
    /// Space to send is waited for, too.
    space: bool,
}

impl PolledSocket {
    fn new(socket: &OwnedFd) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(socket.as_fd(), 0, Watch::Read)?;
        Ok(Self {
            epoll,
            events: Events::with_room(1),
            space: false,
        })
    }

    fn wait(&mut self, socket: &OwnedFd, space: bool, within: Duration) -> io::Result<()> {
        if self.space != space {
            let watch = if space { Watch::Both } else { Watch::Read };
            self.epoll.change(socket.as_fd(), 0, watch)?;
            self.space = space;
        }
        self.epoll.wait(&mut self.events, within).map(drop)
    }
}

impl Polling {
    /// Begins now, with a duplicate of the socket's descriptor.
    ///
    /// # Errors
    /// Whatever epoll_create1(2) and epoll_ctl(2) report.
    pub(crate) fn new(socket: OwnedFd, method: IoMethod) -> io::Result<Self> {
        let epoll = match method {
            // A ring makes calls that never wait.
            IoMethod::Epoll | IoMethod::Uring => Some(PolledSocket::new(&socket)?),
            IoMethod::Blocking | IoMethod::Poll => None,
        };
        let mut clock = DueClock::new(method);
        clock.begin();
        Ok(Self {
            clock,
            socket,
            epoll,
        })
    }
}

impl Ticker for Polling {
    #[inline]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    #[inline]
    fn rang(&mut self) -> bool {
        self.clock.rang()
    }

    fn wait(&mut self, now: u64, until: u64, space: bool) -> io::Result<()> {
        match self.clock.sleep(until.saturating_sub(now)) {
            // A signal ends the wait; the count of signals shows it afterwards.
            Some(within) => match &mut self.epoll {
                Some(polled) => polled.wait(&self.socket, space, within),
                None => wait::readable_within(self.socket.as_fd(), space, within).map(drop),
            },
            None => {
                std::hint::spin_loop();
                Ok(())
            }
        }
    }
}
