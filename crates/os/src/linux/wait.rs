//! Waiting for a descriptor, with a deadline.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::call::timespec;
use super::call::{clock, waited};
use super::without;

/// Condition to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, a connection to accept, or the end.
    Read,
    /// Space to write, or a finished connect.
    Write,
    /// Something in the error queue, or an error.
    Error,
}

/// poll(2) on one descriptor. `Ok(false)` when the time is over or a signal came.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn ready(fd: BorrowedFd<'_>, interest: Interest, within: Duration) -> io::Result<bool> {
    let mut polled = polled(fd, events(interest));
    let found = poll(std::slice::from_mut(&mut polled), within)?;
    Ok(found && polled.revents != 0)
}

/// poll(2) on several descriptors, for something to read or the end. None of them when
/// the time is over or a signal came.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn readable_of<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    within: Duration,
) -> io::Result<[bool; N]> {
    let mut polled = fds.map(|fd| polled(fd, libc::POLLIN));
    let found = poll(&mut polled, within)?;
    Ok(polled.map(|polled| found && polled.revents != 0))
}

/// poll(2) on many descriptors, for something to read or the end, and for space to write where
/// that is wanted. Returns which of them are ready: none when the time is over or a signal came.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn ready_of(fds: &[(BorrowedFd<'_>, bool)], within: Duration) -> io::Result<Vec<bool>> {
    let one = |(fd, write): &(BorrowedFd<'_>, bool)| {
        let write = if *write { libc::POLLOUT } else { 0 };
        polled(*fd, libc::POLLIN | write)
    };
    let mut all: Vec<libc::pollfd> = fds.iter().map(one).collect();
    let found = poll(&mut all, within)?;
    Ok(all.iter().map(|one| found && one.revents != 0).collect())
}

/// poll(2) without waiting: returns true if the peer has closed its direction of a connection
/// and still receives. False for a broken connection.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn is_half_closed(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut polled = polled(fd, libc::POLLRDHUP);
    let found = poll(std::slice::from_mut(&mut polled), Duration::ZERO)?;
    Ok(found && polled.revents == libc::POLLRDHUP)
}

/// poll(2) without waiting: returns true if a connection is closed in both directions or broken.
/// Data may still wait to be read.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn is_hung_up(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut polled = polled(fd, 0);
    let found = poll(std::slice::from_mut(&mut polled), Duration::ZERO)?;
    Ok(found && polled.revents & libc::POLLHUP != 0)
}

/// Waits for the error queue; ignores the result.
pub fn until_error(fd: BorrowedFd<'_>, within: Duration) {
    // The next read of the queue shows what happened.
    drop(ready(fd, Interest::Error, within));
}

/// A descriptor for poll(2).
fn polled(fd: BorrowedFd<'_>, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    }
}

const fn events(interest: Interest) -> libc::c_short {
    match interest {
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
        // Told of unasked (poll(2)).
        Interest::Error => 0,
    }
}

/// poll(2); false when a signal came.
fn poll(polled: &mut [libc::pollfd], within: Duration) -> io::Result<bool> {
    let millis = i32::try_from(within.as_millis()).unwrap_or(i32::MAX);
    let count = libc::nfds_t::try_from(polled.len()).unwrap_or(0);
    // SAFETY: `polled` holds `count` entries and outlives the call.
    let found = waited(unsafe { libc::poll(polled.as_mut_ptr(), count, millis) })?;
    Ok(found.is_some())
}

/// ppoll(2) on one descriptor, for input and, with `space`, for space to write, with a time-out
/// in nanoseconds. `Ok(false)` when a signal interrupts.
///
/// # Errors
/// Whatever ppoll(2) reports, `EINTR` aside.
pub fn readable_within(fd: BorrowedFd<'_>, space: bool, within: Duration) -> io::Result<bool> {
    let write = if space { libc::POLLOUT } else { 0 };
    let mut polled = polled(fd, libc::POLLIN | write);
    let time = timespec(within);
    // SAFETY: both outlive the call; without a mask of signals nothing is masked.
    let found =
        waited(unsafe { libc::ppoll(&raw mut polled, 1, &raw const time, std::ptr::null()) });
    Ok(found?.is_some())
}

/// Asks the kernel to end this thread's sleeps on time, rather than up to 50 microseconds
/// late as it does to wake up less often (`PR_SET_TIMERSLACK`, prctl(2)). Returns how long before
/// an exact time a sleep must end so that it ends in time.
pub fn sleep_exactly() -> Duration {
    // SAFETY: the option takes a number and touches no memory. It cannot fail for the calling
    // thread on Linux, and without it a sleep is only less exact.
    let set = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    if set == 0 || !without::sleeps_are_exact() {
        AHEAD
    } else {
        Duration::ZERO
    }
}

/// A sleep ends so long before something is due. The rest is spent spinning: no sleep ends to the
/// microsecond.
pub const AHEAD: Duration = Duration::from_micros(100);

/// A time that runs out, for loops that never sleep.
#[derive(Clone, Copy, Debug)]
pub struct Countdown {
    until: Duration,
}

impl Countdown {
    /// It is over after this long.
    #[must_use]
    pub fn from_now(time: Duration) -> Self {
        Self {
            until: monotonic().saturating_add(time),
        }
    }

    /// Returns true if it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        monotonic() >= self.until
    }
}

/// The monotonic clock (clock_gettime(2)).
fn monotonic() -> Duration {
    let time = clock(libc::CLOCK_MONOTONIC);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// poll(2) on several descriptors: the index of the first that is ready.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn any_ready(
    fds: &[BorrowedFd<'_>],
    interest: Interest,
    within: Duration,
) -> io::Result<Option<usize>> {
    let wanted = fds.iter().map(|fd| polled(*fd, events(interest)));
    let mut polled: Vec<libc::pollfd> = wanted.collect();
    if !poll(&mut polled, within)? {
        return Ok(None);
    }
    Ok(polled.iter().position(|entry| entry.revents != 0))
}

/// poll(2) on several descriptors for something to read: for each whether it is ready, or
/// nothing when the time is over or a signal came.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn all_ready(fds: &[BorrowedFd<'_>], within: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<libc::pollfd> = fds.iter().map(|fd| polled(*fd, libc::POLLIN)).collect();
    if !poll(&mut polled, within)? {
        return Ok(vec![false; fds.len()]);
    }
    Ok(polled.iter().map(|entry| entry.revents != 0).collect())
}

/// nanosleep(2): sleeps until the time is over or a signal comes.
pub fn sleep(time: Duration) {
    let request = timespec(time);
    // SAFETY: the request outlives the call; a null remainder is allowed. A sleep
    // that a signal cuts short is what the caller expects.
    unsafe { libc::nanosleep(&raw const request, std::ptr::null_mut()) };
}

/// A point in time, for waits that signals interrupt over and over.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Duration);

impl Deadline {
    /// This long from now.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self(monotonic().saturating_add(time))
    }

    /// The time left; zero when it is over.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.0.saturating_sub(monotonic())
    }

    /// poll(2) on one descriptor until it is ready or the time is over, signals or not.
    ///
    /// # Errors
    /// Whatever poll(2) reports, `EINTR` aside.
    pub fn ready(&self, fd: BorrowedFd<'_>, interest: Interest) -> io::Result<bool> {
        loop {
            let left = self.left();
            // Rounded up: a time-out of zero is no wait.
            let turn = left.min(Duration::from_secs(1)) + Duration::from_millis(1);
            if ready(fd, interest, turn)? {
                return Ok(true);
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    #[test]
    fn a_silent_socket_is_not_ready_to_read_but_is_to_write() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let soon = Duration::from_millis(1);
        assert!(!ready(socket.as_fd(), Interest::Read, soon).unwrap());
        assert!(ready(socket.as_fd(), Interest::Write, soon).unwrap());
    }

    #[test]
    fn a_broken_connection_is_hung_up_although_data_waits() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut asking = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut answers = listener.accept().unwrap().0;
        asking.write_all(b"more").unwrap();
        assert!(ready(answers.as_fd(), Interest::Read, Duration::from_secs(5)).unwrap());
        assert!(!is_hung_up(answers.as_fd()).unwrap());
        answers.write_all(b"unread").unwrap();
        assert!(ready(asking.as_fd(), Interest::Read, Duration::from_secs(5)).unwrap());
        drop(asking);
        // Loopback delivers the reset at once.
        assert!(is_hung_up(answers.as_fd()).unwrap());
        assert_eq!(answers.peek(&mut [0; 8]).unwrap_or(0), 4);
    }

    #[test]
    fn a_direction_that_was_ended_is_told_from_a_connection_that_is_gone() {
        let pair = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let asking = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (listener.accept().unwrap().0, asking)
        };
        let (sends, has_enough) = pair();
        assert!(!is_half_closed(sends.as_fd()).unwrap());
        has_enough.shutdown(Shutdown::Write).unwrap();
        assert!(ready(sends.as_fd(), Interest::Read, Duration::from_secs(5)).unwrap());
        assert!(is_half_closed(sends.as_fd()).unwrap());
        let (sends, mut is_cut) = pair();
        let mut unread = &sends;
        unread.write_all(b"unread").unwrap();
        is_cut.read_exact(&mut [0]).unwrap();
        drop(is_cut);
        assert!(ready(sends.as_fd(), Interest::Read, Duration::from_secs(5)).unwrap());
        assert!(!is_half_closed(sends.as_fd()).unwrap());
    }

    #[test]
    fn a_deadline_ends_a_wait_for_a_silent_socket() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let deadline = Deadline::after(Duration::from_millis(20));
        assert!(!deadline.left().is_zero());
        assert!(!deadline.ready(socket.as_fd(), Interest::Read).unwrap());
        assert!(deadline.left().is_zero());
    }
}
