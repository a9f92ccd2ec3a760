//! Results of system calls, data that they fill in, and calls that several modules make.

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

/// Data of the C library or the kernel that is valid whatever its bytes are: numbers, pointers
/// that are not followed, and arrays and structures of them.
///
/// # Safety
/// Any bytes must be a valid value.
pub(super) unsafe trait Plain: Copy {}

/// Declares types as [`Plain`].
macro_rules! plain {
    ($($type:ty),* $(,)?) => {
        // SAFETY: structures of numbers and of pointers that nothing follows.
        $(unsafe impl $crate::linux::call::Plain for $type {})*
    };
}
pub(super) use plain;

plain! {
    u8,
    u32,
    libc::c_int,
    libc::timespec,
    libc::timeval,
    libc::tm,
    libc::iovec,
    libc::msghdr,
    libc::mmsghdr,
    libc::cmsghdr,
    libc::in_pktinfo,
    libc::in6_pktinfo,
    libc::sock_extended_err,
    libc::sockaddr_storage,
    libc::sockaddr_in,
    libc::sockaddr_in6,
    libc::sockaddr_ll,
    libc::ifreq,
    libc::tcp_info,
    libc::addrinfo,
    libc::sched_param,
    libc::sigevent,
    libc::termios,
}
// SAFETY: an array has the bytes of its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// A value whose bytes are zeros.
#[inline]
pub(super) fn zeroed<T: Plain>() -> T {
    // SAFETY: any bytes are a valid value.
    unsafe { std::mem::zeroed() }
}

/// The value at the beginning of these bytes, wherever they lie; `None` if there are too few.
#[inline]
pub(super) fn first<T: Plain>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: there are as many bytes as the value has, and any bytes are a valid one.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
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
pub(super) fn get_option<T: Plain>(
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
    let mut time: libc::timespec = zeroed();
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
