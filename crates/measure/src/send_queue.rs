//! Progress of what a connection has sent.

use std::os::fd::BorrowedFd;

use netperf_os::tcp;

use crate::clock::{self, Moment};

/// The data that the other end of a connection has not acknowledged. A slow path may take it for
/// seconds and free no space.
#[derive(Debug)]
pub struct SendQueue<'a> {
    fd: BorrowedFd<'a>,
    left: Option<u32>,
    moved: Moment,
}

impl<'a> SendQueue<'a> {
    /// The queue of a connection.
    #[must_use]
    pub fn new(fd: BorrowedFd<'a>) -> Self {
        Self {
            fd,
            left: None,
            moved: clock::now(),
        }
    }

    /// Bytes that are left, where the system tells.
    pub fn look(&mut self) -> Option<u32> {
        let left = tcp::unacknowledged(self.fd).ok()?;
        if self.left.replace(left) != Some(left) {
            self.moved = clock::now();
        }
        Some(left)
    }

    /// When a look first found what the last one did.
    #[must_use]
    pub const fn moved(&self) -> Moment {
        self.moved
    }
}
