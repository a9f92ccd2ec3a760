//! Moving a header and a payload with one call, without copying one to the other
//! (sendmsg(2), recvmsg(2)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::io::counted;
use super::message::{message, received_part, sent_part};

/// sendmsg(2) of two parts on a bound or connected socket, never raising `SIGPIPE`.
///
/// # Errors
/// Whatever sendmsg(2) reports.
#[inline]
pub fn send(fd: BorrowedFd<'_>, first: &[u8], second: &[u8]) -> io::Result<usize> {
    let mut parts = [sent_part(first), sent_part(second)];
    let message = message(&mut parts);
    // SAFETY: the parts describe `first` and `second`, which outlive the call; sendmsg
    // only reads from them.
    counted(unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
}

/// recvmsg(2) into two parts: the second is used when the first is full.
///
/// # Errors
/// Whatever recvmsg(2) reports.
#[inline]
pub fn recv(fd: BorrowedFd<'_>, first: &mut [u8], second: &mut [u8]) -> io::Result<usize> {
    let mut parts = [received_part(first), received_part(second)];
    let mut message = message(&mut parts);
    // SAFETY: the parts describe `first` and `second`, which nothing else can see during
    // the call.
    counted(unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) })
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
