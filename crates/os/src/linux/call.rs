//! Results of system calls, and calls that several modules make.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The result of a call that returns 0 or fails: the error is in `errno`.
#[inline]
pub(super) fn checked(result: impl Into<i64>) -> io::Result<()> {
    if result.into() == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The result of a call that returns a descriptor or a number, or -1: the error is in `errno`.
#[inline]
pub(super) fn number(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The result of a wait; `None` when a signal interrupted it.
#[inline]
pub(super) fn waited(result: libc::c_int) -> io::Result<Option<libc::c_int>> {
    match number(result) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        other => other.map(Some),
    }
}

/// setsockopt(2) of a value as it lies in memory.
pub(super) fn set_option<T: ?Sized>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let len = libc::socklen_t::try_from(size_of_val(value)).unwrap_or(0);
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: pointer and length describe the value, which outlives the call. The call only
    // reads it.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, len) })
}

/// getsockopt(2) into a value, which may hold a request; returns the length of the answer in
/// bytes.
///
/// # Safety
/// `T` must be plain data, valid for any bytes.
pub(super) unsafe fn get_option<T: ?Sized>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut T,
) -> io::Result<usize> {
    let mut len = libc::socklen_t::try_from(size_of_val(value)).unwrap_or(0);
    let value = std::ptr::from_mut(value).cast();
    // SAFETY: the value has space for `len` bytes and both outlive the call.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value, &raw mut len) })?;
    Ok(usize::try_from(len).unwrap_or(0))
}

/// clock_gettime(2) of a clock that every system has, so that the call cannot fail. Safe in a
/// signal handler.
#[inline]
pub(super) fn clock(id: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    time
}

/// A time as system calls take it.
pub(super) fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: i32::try_from(time.subsec_nanos()).unwrap_or(0).into(),
    }
}
