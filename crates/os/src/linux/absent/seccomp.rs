//! Filters of system calls on a processor architecture that the `seccompiler` crate does not
//! support: there are none.

use std::io;

/// Returns false: this program cannot filter system calls on this architecture.
#[must_use]
pub const fn is_there() -> bool {
    false
}

/// Fails.
///
/// # Errors
/// `Unsupported`, always.
pub fn restrict(_: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails.
///
/// # Errors
/// `Unsupported`, always.
pub fn refuse_io_uring() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
