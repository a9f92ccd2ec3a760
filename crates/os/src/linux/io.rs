//! Moving bytes. Each function is one system call through its libc symbol.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};

use socket2::{SockAddr, Socket};

use super::call::{Plain, checked, first, number, zeroed};
use super::message::{ControlBuffer, controls, message, received_part};

/// A call's result: a count, or the error in `errno`.
#[inline]
pub(super) fn counted(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// `EMSGSIZE`: a datagram longer than the transport can carry.
pub const MESSAGE_TOO_LONG: i32 = libc::EMSGSIZE;
/// Error number of a connection to a port where no program listens.
pub const CONNECTION_REFUSED: i32 = libc::ECONNREFUSED;

/// `EDESTADDRREQ`: a datagram with nowhere to go.
pub const DESTINATION_REQUIRED: i32 = libc::EDESTADDRREQ;

/// `EAFNOSUPPORT`: sockets of a family that is not there.
pub const NO_SUCH_FAMILY: i32 = libc::EAFNOSUPPORT;

/// `EPROTONOSUPPORT`: the kernel lacks the protocol.
pub const NO_SUCH_PROTOCOL: i32 = libc::EPROTONOSUPPORT;

/// `ENOMEM`: no memory.
pub const NO_MEMORY: i32 = libc::ENOMEM;

/// `EISDIR`: a directory instead of a file.
pub const IS_A_DIRECTORY: i32 = libc::EISDIR;
/// `EFBIG`: a file is too large.
pub const TOO_LARGE: i32 = libc::EFBIG;

/// Returns true if a non-blocking connect is in progress (connect(2), `EINPROGRESS`).
#[must_use]
pub fn goes_on(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}

/// Result of a non-blocking connect, once the socket is writable (connect(2), `EINPROGRESS`).
///
/// # Errors
/// The reason for which the connect failed.
pub fn connect_result(fd: BorrowedFd<'_>) -> io::Result<()> {
    let socket = socket2::SockRef::from(&fd);
    super::without::connect_error(&socket).map_or(Ok(()), Err)
}

/// Returns true if a send failed because a local queue was full: the datagram is lost, and the
/// next one may succeed.
#[must_use]
pub fn is_queue_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

/// The error of a send as it is: but `EPIPE` of an association that the other end is ending
/// (RFC 9260 section 9.2), too. The kernel says `ESHUTDOWN` until it has ended, which is a
/// matter of microseconds.
#[must_use]
pub fn ending_as_ended(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ESHUTDOWN) {
        return io::Error::from_raw_os_error(libc::EPIPE);
    }
    error
}

/// Returns true if a call did nothing because it would have to wait, or was interrupted.
#[must_use]
pub fn is_no_progress(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Returns true if connect(2) failed because an earlier connect is still in progress.
#[must_use]
pub fn is_under_way(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EALREADY | libc::EINPROGRESS)
    )
}

/// Returns true if connect(2) found a connected socket (`EISCONN`).
#[must_use]
pub fn is_connected_already(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EISCONN)
}

/// send(2) on a connected socket, never raising `SIGPIPE`.
///
/// # Errors
/// Whatever send(2) reports.
#[inline]
pub fn send(fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
    send_with(fd, buf, libc::MSG_NOSIGNAL)
}

/// The same without waiting.
///
/// # Errors
/// Whatever send(2) reports.
pub fn send_now(fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
    send_with(fd, buf, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
}

#[inline]
fn send_with(fd: BorrowedFd<'_>, buf: &[u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `buf`, which outlives the call.
    counted(unsafe { libc::send(fd.as_raw_fd(), buf.as_ptr().cast(), buf.len(), flags) })
}

#[inline]
fn recv_with(fd: BorrowedFd<'_>, buf: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `buf`, which nothing else can see during the call.
    counted(unsafe { libc::recv(fd.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len(), flags) })
}

/// write(2).
///
/// # Errors
/// Whatever write(2) reports.
#[inline]
pub fn write(fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `buf`, which outlives the call.
    counted(unsafe { libc::write(fd.as_raw_fd(), buf.as_ptr().cast(), buf.len()) })
}

/// recv(2).
///
/// # Errors
/// Whatever recv(2) reports.
#[inline]
pub fn recv(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    recv_with(fd, buf, 0)
}

/// send(2) that leaves the bytes where they are until a completion says otherwise
/// (`MSG_ZEROCOPY`, [`crate::zerocopy`]); never raises `SIGPIPE`.
///
/// # Errors
/// Whatever send(2) reports; `ENOBUFS` while too much is held.
#[inline]
pub fn send_zero_copy(fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
    // The kernel holds the pages themselves, not the mapping: memory that is written or freed
    // meanwhile changes what is sent, and nothing else.
    send_with(fd, buf, libc::MSG_NOSIGNAL | libc::MSG_ZEROCOPY)
}

/// recv(2) of a byte stream, of which the kernel throws away as much as `buf` could hold
/// (`MSG_TRUNC`, tcp(7)).
///
/// # Errors
/// Whatever recv(2) reports.
#[inline]
pub fn discard(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    // Linux does not write to the buffer; a stack preloaded in front of it may.
    recv_with(fd, buf, libc::MSG_TRUNC)
}

/// Has calls on a socket return at once, or block again (`O_NONBLOCK`).
///
/// # Errors
/// Whatever fcntl(2) reports.
pub fn set_nonblocking(fd: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    socket2::SockRef::from(&fd).set_nonblocking(on)
}

/// accept(2) of a connection whose calls return at once (accept4(2), `SOCK_NONBLOCK`).
///
/// # Errors
/// Whatever accept4(2) reports.
pub fn accept_nonblocking(listener: BorrowedFd<'_>) -> io::Result<(Socket, SockAddr)> {
    let accept = |address: *mut _, length| {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the pointers are to the space for an address and its length that `try_init`
        // passes.
        let accepted = unsafe { libc::accept4(listener.as_raw_fd(), address, length, flags) };
        // SAFETY: a descriptor that accept4 returns is open and owned by nothing else.
        number(accepted).map(|fd| unsafe { Socket::from_raw_fd(fd) })
    };
    // SAFETY: accept4 writes the address and its length.
    unsafe { SockAddr::try_init(|address, length| accept(address.cast(), length)) }
}

/// Returns true if a send on this non-blocking socket has no space: its send buffer is full, or
/// nearly so, since data may have left after the call. False for a socket that blocks.
#[must_use]
pub fn has_no_space(fd: BorrowedFd<'_>) -> bool {
    let socket = socket2::SockRef::from(&fd);
    if !socket.nonblocking().unwrap_or(false) {
        return false;
    }
    let space = socket.send_buffer_size().unwrap_or(usize::MAX);
    let queued = super::tcp::unacknowledged(fd).unwrap_or(0);
    usize::try_from(queued).is_ok_and(|queued| queued >= space - space / 16)
}

/// shutdown(2) of our direction.
///
/// # Errors
/// Whatever shutdown(2) reports, such as a connection that is gone.
pub fn half_close(fd: BorrowedFd<'_>) -> io::Result<()> {
    socket2::SockRef::from(&fd).shutdown(Shutdown::Write)
}

/// recv(2) of one byte without waiting and without taking it: 0 at the end.
///
/// # Errors
/// Whatever recv(2) reports.
pub fn peek(fd: BorrowedFd<'_>) -> io::Result<usize> {
    peek_at(fd, &mut [0; 1])
}

/// recv(2) without waiting and without taking anything: 0 at the end.
///
/// # Errors
/// Whatever recv(2) reports.
pub fn peek_at(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    recv_with(fd, buf, libc::MSG_PEEK | libc::MSG_DONTWAIT)
}

/// recv(2) without waiting.
///
/// # Errors
/// Whatever recv(2) reports.
pub fn recv_now(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    recv_with(fd, buf, libc::MSG_DONTWAIT)
}

/// sendto(2), never raising `SIGPIPE`.
///
/// # Errors
/// Whatever sendto(2) reports.
#[inline]
pub fn send_to(fd: BorrowedFd<'_>, buf: &[u8], to: &SockAddr) -> io::Result<usize> {
    // SAFETY: buffer and address are described by their own pointers and lengths
    // and outlive the call.
    counted(unsafe {
        libc::sendto(
            fd.as_raw_fd(),
            buf.as_ptr().cast(),
            buf.len(),
            libc::MSG_NOSIGNAL,
            to.as_ptr().cast(),
            to.len(),
        )
    })
}

/// A datagram's source, filled in place so that a receive loop allocates nothing.
#[derive(Clone, Debug)]
pub struct Source {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) len: libc::socklen_t,
}

/// The size of the largest socket address.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the size of sockaddr_storage is 128"
)]
pub(super) const STORAGE_LEN: libc::socklen_t =
    size_of::<libc::sockaddr_storage>() as libc::socklen_t;

/// A message of these parts with space for the address of its source.
#[inline]
pub(super) fn message_from(parts: &mut [libc::iovec], source: &mut Source) -> libc::msghdr {
    let mut message = message(parts);
    message.msg_name = source.storage();
    message.msg_namelen = STORAGE_LEN;
    message
}

impl Source {
    /// No source yet.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            storage: zeroed(),
            len: 0,
        }
    }

    /// Buffer of [`STORAGE_LEN`] bytes for an address that the kernel writes.
    pub(crate) fn storage(&mut self) -> *mut libc::c_void {
        (&raw mut self.storage).cast()
    }

    /// Takes the address that the kernel wrote elsewhere.
    pub(crate) fn copy_from(&mut self, address: &[u8]) {
        let length = address.len().min(size_of::<libc::sockaddr_storage>());
        // SAFETY: both are at least so long, do not overlap, and any bytes are an address.
        unsafe {
            let storage = self.storage().cast::<u8>();
            std::ptr::copy_nonoverlapping(address.as_ptr(), storage, length);
        }
        self.set_len(libc::socklen_t::try_from(length).unwrap_or(0));
    }

    /// The kernel wrote so many bytes.
    pub(crate) fn set_len(&mut self, len: libc::socklen_t) {
        self.len = len;
    }

    /// Returns true if a datagram has been received.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.len != 0
    }

    /// The address of one family; `None` for one of another.
    #[inline]
    fn of_family<T: Plain>(&self, family: libc::c_int) -> Option<&T> {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        let storage = (&raw const self.storage).cast::<T>();
        // SAFETY: the storage is larger, aligned for any address, and plain data.
        (libc::c_int::from(self.storage.ss_family) == family).then(|| unsafe { &*storage })
    }

    #[inline]
    fn v4(&self) -> Option<&libc::sockaddr_in> {
        self.of_family(libc::AF_INET)
    }

    #[inline]
    fn v6(&self) -> Option<&libc::sockaddr_in6> {
        self.of_family(libc::AF_INET6)
    }

    /// Its IP address; `None` for an address that has none.
    #[must_use]
    pub fn ip(&self) -> Option<std::net::IpAddr> {
        if !self.is_known() {
            return None;
        }
        if let Some(v6) = self.v6() {
            return Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into());
        }
        let v4 = self.v4()?;
        Some(Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr)).into())
    }

    /// Address, port and scope; `None` for an address that is not one of IP.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        let mut address = std::net::SocketAddr::new(self.ip()?, self.port());
        if let (std::net::SocketAddr::V6(address), Some(own)) = (&mut address, self.v6()) {
            address.set_scope_id(own.sin6_scope_id);
        }
        Some(address)
    }

    /// Gives an address of IPv6 a flow label ([`crate::flow_label::flow_info`]); any other
    /// has none.
    #[inline]
    pub fn set_flow_info(&mut self, flow_info: u32) {
        if libc::c_int::from(self.storage.ss_family) == libc::AF_INET6 {
            // SAFETY: the storage is larger than a sockaddr_in6, aligned for any address,
            // and plain data.
            let address = unsafe { &mut *(&raw mut self.storage).cast::<libc::sockaddr_in6>() };
            address.sin6_flowinfo = flow_info;
        }
    }

    /// Its port; 0 for an address that has none.
    #[must_use]
    pub fn port(&self) -> u16 {
        let v6 = || self.v6().map(|address| address.sin6_port);
        let port = self.v4().map(|address| address.sin_port).or_else(v6);
        port.map_or(0, u16::from_be)
    }
}

/// recvfrom(2), leaving the source's address in `source`.
///
/// # Errors
/// Whatever recvfrom(2) reports.
#[inline]
pub fn recv_from(fd: BorrowedFd<'_>, buf: &mut [u8], source: &mut Source) -> io::Result<usize> {
    recv_from_with(fd, buf, source, 0)
}

/// recvfrom(2) without waiting, leaving the source's address in `source`.
///
/// # Errors
/// Whatever recvfrom(2) reports; `EAGAIN` where there is nothing.
pub fn recv_from_now(fd: BorrowedFd<'_>, buf: &mut [u8], source: &mut Source) -> io::Result<usize> {
    recv_from_with(fd, buf, source, libc::MSG_DONTWAIT)
}

#[inline]
fn recv_from_with(
    fd: BorrowedFd<'_>,
    buf: &mut [u8],
    source: &mut Source,
    flags: libc::c_int,
) -> io::Result<usize> {
    source.len = STORAGE_LEN;
    // SAFETY: the buffer is described by its own pointer and length; `storage` is
    // as large as `len` says, and both outlive the call.
    counted(unsafe {
        libc::recvfrom(
            fd.as_raw_fd(),
            buf.as_mut_ptr().cast(),
            buf.len(),
            flags,
            (&raw mut source.storage).cast(),
            &raw mut source.len,
        )
    })
}

/// sendto(2) to the source of an earlier datagram.
///
/// # Errors
/// Whatever sendto(2) reports.
#[inline]
pub fn send_back(fd: BorrowedFd<'_>, buf: &[u8], to: &Source) -> io::Result<usize> {
    // SAFETY: the buffer is described by its own pointer and length; the kernel
    // filled `len` bytes of `storage`.
    counted(unsafe {
        libc::sendto(
            fd.as_raw_fd(),
            buf.as_ptr().cast(),
            buf.len(),
            libc::MSG_NOSIGNAL,
            (&raw const to.storage).cast(),
            to.len,
        )
    })
}

/// recvmsg(2) on a socket that was asked for packet information: the source goes to
/// `source`, and the address that the datagram was sent to is returned beside the
/// length.
///
/// # Errors
/// Whatever recvmsg(2) reports.
pub fn recv_with_destination(
    fd: BorrowedFd<'_>,
    buf: &mut [u8],
    source: &mut Source,
) -> io::Result<(usize, Option<IpAddr>)> {
    let mut control = ControlBuffer::<64>::new();
    let mut part = [received_part(buf)];
    let mut message = message_from(&mut part, source);
    control.attach(&mut message);
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    let count = counted(unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) })?;
    source.len = message.msg_namelen;
    Ok((count, destination(&message)))
}

/// The first packet information among the control data of a received message.
fn destination(message: &libc::msghdr) -> Option<IpAddr> {
    controls(message).find_map(|(level, kind, data)| match (level, kind) {
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            let info: libc::in_pktinfo = first(data)?;
            Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into())
        }
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            let info: libc::in6_pktinfo = first(data)?;
            Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into())
        }
        _ => None,
    })
}

/// connect(2) to the source of an earlier datagram.
///
/// # Errors
/// Whatever connect(2) reports.
pub fn connect_back(fd: BorrowedFd<'_>, to: &Source) -> io::Result<()> {
    // SAFETY: the kernel filled `len` bytes of `storage`.
    checked(unsafe { libc::connect(fd.as_raw_fd(), (&raw const to.storage).cast(), to.len) })
}

/// sendfile(2): bytes of `file` from `offset` to a socket, without a copy to user space.
///
/// # Errors
/// Whatever sendfile(2) reports.
#[inline]
pub fn send_file(
    fd: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    offset: i64,
    count: usize,
) -> io::Result<usize> {
    #[cfg(target_pointer_width = "64")]
    use libc::sendfile;
    // The plain name has an offset of 32 bits there.
    #[cfg(target_pointer_width = "32")]
    use libc::sendfile64 as sendfile;
    let mut offset = offset;
    // SAFETY: `offset` is a valid place for the kernel to write the new offset to.
    counted(unsafe { sendfile(fd.as_raw_fd(), file.as_raw_fd(), &raw mut offset, count) })
}

/// splice(2): moves bytes between a descriptor and a pipe without a copy to user space.
///
/// # Errors
/// Whatever splice(2) reports.
#[inline]
pub fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
    // SAFETY: null offsets are allowed: both ends use their own position.
    counted(unsafe {
        libc::splice(
            from.as_raw_fd(),
            std::ptr::null_mut(),
            to.as_raw_fd(),
            std::ptr::null_mut(),
            count,
            libc::SPLICE_F_MOVE,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn an_answer_goes_back_to_the_source_of_the_datagram() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        assert_eq!(send(client.as_fd(), b"ask").unwrap(), 3);
        let mut buf = [0; 8];
        let mut source = Source::unknown();
        assert!(!source.is_known());
        assert_eq!(recv_from(server.as_fd(), &mut buf, &mut source).unwrap(), 3);
        assert_eq!(source.port(), client.local_addr().unwrap().port());
        assert_eq!(send_back(server.as_fd(), b"back", &source).unwrap(), 4);
        assert_eq!(recv(client.as_fd(), &mut buf).unwrap(), 4);
    }
}
