//! epoll(7) on one socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

/// Both directions and the peer's end, by edge.
const EVENTS: EpollFlags = EpollFlags::EPOLLIN
    .union(EpollFlags::EPOLLOUT)
    .union(EpollFlags::EPOLLRDHUP)
    .union(EpollFlags::EPOLLET);

/// Waits until a socket that had nothing to do may have something to do.
#[derive(Debug)]
pub struct SocketEpoll(Epoll);

impl SocketEpoll {
    /// Watches a socket for both directions, edge-triggered: a call must have returned
    /// `EWOULDBLOCK` before a wait.
    ///
    /// # Errors
    /// Whatever epoll_create1(2) and epoll_ctl(2) report.
    pub fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(fd, EpollEvent::new(EVENTS, 0))?;
        Ok(Self(epoll))
    }

    /// epoll_wait(2), until something changes or so many milliseconds are over: false
    /// when nothing did; -1 waits without end.
    ///
    /// # Errors
    /// Whatever epoll_wait(2) reports, `EINTR` included.
    #[inline]
    pub fn wait(&self, milliseconds: i32) -> io::Result<bool> {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is space for the one event that is asked for.
        let count =
            unsafe { libc::epoll_wait(self.0.0.as_raw_fd(), &raw mut event, 1, milliseconds) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn a_datagram_ends_the_wait_for_one() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let epoll = SocketEpoll::new(socket.as_fd()).unwrap();
        // The first event is that the socket is writable.
        assert!(epoll.wait(1000).unwrap());
        assert!(!epoll.wait(1).unwrap());
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert!(epoll.wait(1000).unwrap());
    }
}
