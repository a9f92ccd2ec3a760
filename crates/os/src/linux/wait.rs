//! Waiting for a descriptor, with a deadline.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, a connection to accept, or the end.
    Read,
    /// Room to write, or a finished connect.
    Write,
}

/// poll(2) on one descriptor. `Ok(false)` when the time is over or a signal came.
///
/// # Errors
/// Whatever poll(2) reports, `EINTR` aside.
pub fn ready(fd: BorrowedFd<'_>, interest: Interest, within: Duration) -> io::Result<bool> {
    Ok(any_ready(&[fd], interest, within)?.is_some())
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
    let events = match interest {
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
    };
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|fd| libc::pollfd {
            fd: fd.as_raw_fd(),
            events,
            revents: 0,
        })
        .collect();
    let millis = i32::try_from(within.as_millis()).unwrap_or(i32::MAX);
    let count = libc::nfds_t::try_from(polled.len()).unwrap_or(0);
    // SAFETY: `polled` holds `count` entries and outlives the call.
    let result = unsafe { libc::poll(polled.as_mut_ptr(), count, millis) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted {
            Ok(None)
        } else {
            Err(error)
        };
    }
    Ok(polled.iter().position(|entry| entry.revents != 0))
}

/// nanosleep(2): sleeps until the time is over or a signal comes.
pub fn sleep(time: Duration) {
    let request = libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(time.subsec_nanos()),
    };
    // SAFETY: the request outlives the call; a null remainder is allowed. A sleep
    // that a signal cuts short is what the caller expects.
    unsafe { libc::nanosleep(&raw const request, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn a_silent_socket_is_not_ready_to_read_but_is_to_write() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let soon = Duration::from_millis(1);
        assert!(!ready(socket.as_fd(), Interest::Read, soon).unwrap());
        assert!(ready(socket.as_fd(), Interest::Write, soon).unwrap());
    }
}
