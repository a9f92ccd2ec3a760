//! The error queue of a socket (ip(7), `IP_RECVERR`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::call::first;
use super::message::{ControlBuffer, controls, message};

/// recvmsg(2) of one message of the error queue; `None` when the queue is empty or the message
/// contains no error. Never blocks.
///
/// # Errors
/// Whatever recvmsg(2) reports.
pub(super) fn take(fd: BorrowedFd<'_>) -> io::Result<Option<libc::sock_extended_err>> {
    let mut control = ControlBuffer::<128>::new();
    let mut message = message(&mut []);
    control.attach(&mut message);
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    let result = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE) };
    if result < 0 {
        let error = io::Error::last_os_error();
        let empty = error.kind() == io::ErrorKind::WouldBlock;
        return if empty { Ok(None) } else { Err(error) };
    }
    Ok(extended_error(&message))
}

/// Empties the error queue. Returns true if it contained an error that another host reported by
/// ICMP.
#[cold]
pub fn discard(fd: BorrowedFd<'_>) -> bool {
    const ICMP: [u8; 2] = [libc::SO_EE_ORIGIN_ICMP, libc::SO_EE_ORIGIN_ICMP6];
    let mut remote = false;
    while let Ok(Some(error)) = take(fd) {
        remote |= ICMP.contains(&error.ee_origin);
    }
    remote
}

/// The first control message, if it is an extended error.
fn extended_error(message: &libc::msghdr) -> Option<libc::sock_extended_err> {
    let (level, kind, data) = controls(message).next()?;
    let is_error = matches!(
        (level, kind),
        (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    );
    is_error.then(|| first(data)).flatten()
}
