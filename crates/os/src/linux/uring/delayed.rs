//! Sends that wait in the ring's own memory until it is entered the next time.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::opcode;
use io_uring::types::Fd;

use crate::linux::call::zeroed;

use super::{DELAYED, SEND_FLAGS, To, Uring, failed};

/// Number of sends that can be deferred.
pub(super) const SLOTS: u32 = 64;
/// The longest message that can wait; longer ones are sent at once.
pub(super) const LONGEST: usize = 1024;
/// Time-out of one wait after the run.
const LOOK: Duration = Duration::from_millis(50);
/// Looks after which what was not sent is taken back.
const LOOKS: u32 = 10;

/// A message that waits.
struct DelayedSend {
    bytes: [u8; LONGEST],
    to: libc::sockaddr_storage,
}

/// Messages that wait, or that the kernel has and has not sent yet.
pub(super) struct DelayedSends {
    slots: Box<[DelayedSend]>,
    used: usize,
    under_way: usize,
    error: Option<i32>,
}

impl DelayedSends {
    pub(super) fn new() -> Self {
        let slot = |_| DelayedSend {
            bytes: [0; LONGEST],
            to: zeroed(),
        };
        Self {
            slots: (0..SLOTS).map(slot).collect(),
            used: 0,
            under_way: 0,
            error: None,
        }
    }

    /// Sends that have not completed.
    #[inline]
    pub(super) const fn under_way(&self) -> usize {
        self.under_way
    }

    #[inline]
    pub(super) fn take_error(&mut self) -> Option<i32> {
        self.error.take()
    }

    #[inline]
    pub(super) fn completed(&mut self, result: i32) {
        self.under_way = self.under_way.saturating_sub(1);
        if self.under_way == 0 {
            self.used = 0;
        }
        // A full local queue has dropped a datagram: the next may pass.
        if result < 0 && !super::is_dropped(result) {
            self.error.get_or_insert(result);
        }
    }

    /// Puts a message into a free slot; where it is now, and where it goes.
    fn keep(&mut self, buf: &[u8], to: To<'_>) -> Option<(*const u8, *const libc::sockaddr)> {
        let slot = self.slots.get_mut(self.used)?;
        slot.bytes.get_mut(..buf.len())?.copy_from_slice(buf);
        let (address, len) = to.parts();
        let address = if address.is_null() {
            std::ptr::null()
        } else {
            let len = usize::try_from(len).ok()?.min(size_of_val(&slot.to));
            // SAFETY: both are valid for `len` bytes, and the slot has no other user.
            unsafe {
                std::ptr::copy_nonoverlapping(address.cast::<u8>(), (&raw mut slot.to).cast(), len);
            }
            (&raw const slot.to).cast()
        };
        self.used += 1;
        self.under_way += 1;
        Some((slot.bytes.as_ptr(), address))
    }
}

impl Uring {
    /// Defers a send to the next call that waits, and copies its bytes. A message that is too
    /// long is sent at once.
    ///
    /// # Errors
    /// The result of an earlier deferred send; `EINTR` when a signal came before there was
    /// space.
    #[inline]
    pub fn send_later(&mut self, fd: BorrowedFd<'_>, buf: &[u8], to: To<'_>) -> io::Result<usize> {
        if buf.len() > LONGEST {
            return self.send(fd, buf, to);
        }
        if let Some(error) = self.delayed.take_error() {
            return Err(failed(error));
        }
        let (_, len) = to.parts();
        let Some((bytes, address)) = self.delayed.keep(buf, to) else {
            self.enter(self.delayed.under_way, None)?;
            return Err(io::ErrorKind::Interrupted.into());
        };
        let entry = opcode::Send::new(Fd(fd.as_raw_fd()), bytes, super::length(buf))
            .flags(SEND_FLAGS)
            .dest_addr(address)
            .dest_addr_len(len)
            .build()
            .user_data(DELAYED);
        // SAFETY: the slot is in heap memory that the ring keeps until the send is over:
        // it is used again when none is under way, and freed after all were taken back.
        unsafe { self.push(&entry) }?;
        Ok(buf.len())
    }

    /// Sends what was put off, within a deadline; after that it is taken back.
    pub fn flush(&mut self) {
        let mut in_vain = 0;
        while self.delayed.under_way > 0 && in_vain < 2 * LOOKS {
            let before = self.delayed.under_way;
            // A ring that does not work any more sends nothing.
            if in_vain == LOOKS && self.cancel(DELAYED).is_err() {
                return;
            }
            if self.enter(before, Some(LOOK)).is_err() {
                return;
            }
            in_vain += u32::from(self.delayed.under_way == before);
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        self.flush();
        if self.delayed.under_way > 0 {
            // The kernel may still read it.
            std::mem::forget(std::mem::take(&mut self.delayed.slots));
        }
    }
}
