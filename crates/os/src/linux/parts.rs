//! Moving a header and a payload with one call, without copying one to the other
//! (sendmsg(2), recvmsg(2)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// sendmsg(2) of two parts on a bound or connected socket, never raising `SIGPIPE`.
///
/// # Errors
/// Whatever sendmsg(2) reports.
#[inline]
pub fn send(fd: BorrowedFd<'_>, first: &[u8], second: &[u8]) -> io::Result<usize> {
    let mut parts = [
        libc::iovec {
            iov_base: first.as_ptr().cast_mut().cast(),
            iov_len: first.len(),
        },
        libc::iovec {
            iov_base: second.as_ptr().cast_mut().cast(),
            iov_len: second.len(),
        },
    ];
    let message = message(&mut parts);
    // SAFETY: the parts describe `first` and `second`, which outlive the call; sendmsg
    // only reads from them.
    let result = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// recvmsg(2) into two parts: the second is used when the first is full.
///
/// # Errors
/// Whatever recvmsg(2) reports.
#[inline]
pub fn recv(fd: BorrowedFd<'_>, first: &mut [u8], second: &mut [u8]) -> io::Result<usize> {
    let mut parts = [
        libc::iovec {
            iov_base: first.as_mut_ptr().cast(),
            iov_len: first.len(),
        },
        libc::iovec {
            iov_base: second.as_mut_ptr().cast(),
            iov_len: second.len(),
        },
    ];
    let mut message = message(&mut parts);
    // SAFETY: the parts describe `first` and `second`, which nothing else can see during
    // the call.
    let result = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// A message without an address or control data; valid as long as `parts`.
#[inline]
fn message(parts: &mut [libc::iovec; 2]) -> libc::msghdr {
    // SAFETY: msghdr is plain data for which all zeros is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = 2;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn two_parts_are_one_message_and_come_apart_elsewhere() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        assert_eq!(send(client.as_fd(), b"abc", b"defg").unwrap(), 7);
        let (mut first, mut second) = ([0; 5], [0; 8]);
        assert_eq!(recv(server.as_fd(), &mut first, &mut second).unwrap(), 7);
        assert_eq!((&first, &second[..2]), (b"abcde", &b"fg"[..]));
    }
}
