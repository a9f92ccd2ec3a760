//! io_uring(7) on a processor architecture that the `io-uring` crate does not support: every
//! attempt to create a ring fails with `Unsupported`.

#[path = "../uring/types.rs"]
mod types;

use std::convert::Infallible;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::io::Source;
pub use types::{Held, MultishotReceived, Taken, To};

/// No value of this type exists.
#[derive(Debug)]
pub struct Uring(Infallible);

/// No value of this type exists.
#[derive(Debug)]
pub struct Multishot(Infallible);

fn absent<T>() -> io::Result<T> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this program has no io_uring on this processor architecture",
    ))
}

#[expect(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "as in a build with io_uring"
)]
impl Uring {
    pub fn new(_width: usize, _patience: Option<Duration>) -> io::Result<Self> {
        absent()
    }

    pub const fn give_up_sends(&mut self) {
        match self.0 {}
    }

    pub const fn never_wait(&mut self) {
        match self.0 {}
    }

    #[must_use]
    pub const fn enters(&self) -> u64 {
        match self.0 {}
    }

    pub fn take_dropped(&mut self) -> u64 {
        match self.0 {}
    }

    #[must_use]
    pub const fn held(&self) -> Held {
        match self.0 {}
    }

    pub fn send(&mut self, _: BorrowedFd<'_>, _: &[u8], _: To<'_>) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn send_now(&mut self, _: BorrowedFd<'_>, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn recv(&mut self, _: BorrowedFd<'_>, _: &mut [u8], _: bool) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn recv_from(
        &mut self,
        _: BorrowedFd<'_>,
        _: &mut [u8],
        _: &mut Source,
    ) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn send_many(
        &mut self,
        _: BorrowedFd<'_>,
        _: &[u8],
        _size: usize,
        _: To<'_>,
    ) -> io::Result<Taken> {
        match self.0 {}
    }

    pub fn send_zero_copy(&mut self, _: BorrowedFd<'_>, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn wait_for_held(&mut self, _within: Option<Duration>) -> io::Result<bool> {
        match self.0 {}
    }

    pub fn send_later(&mut self, _: BorrowedFd<'_>, _: &[u8], _: To<'_>) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn flush(&mut self) {
        match self.0 {}
    }
}

#[expect(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "as in a build with io_uring"
)]
impl Multishot {
    pub fn new(_width: usize, _size: usize, _patience: Option<Duration>) -> io::Result<Self> {
        absent()
    }

    pub fn of_trains(_width: usize, _size: usize, _patience: Option<Duration>) -> io::Result<Self> {
        absent()
    }

    #[must_use]
    pub const fn source(&self) -> Option<&Source> {
        match self.0 {}
    }

    #[must_use]
    pub const fn enters(&self) -> u64 {
        match self.0 {}
    }

    pub fn recv(&mut self, _: BorrowedFd<'_>) -> io::Result<MultishotReceived> {
        match self.0 {}
    }

    pub fn recv_first(
        &mut self,
        _: BorrowedFd<'_>,
        _: &mut [u8],
        _: &mut Source,
    ) -> io::Result<usize> {
        match self.0 {}
    }
}
