//! Many datagrams in one call (sendmmsg(2), recvmmsg(2)), each of which may be a train of
//! many that the kernel cuts or puts together (udp(7), `UDP_SEGMENT` and `UDP_GRO`).

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::SockAddr;

use super::call::{first, zeroed};
use super::message::{ControlBuffer, controls};
use crate::io::{STORAGE_LEN, Source};

/// Control buffer for the segment size of a train.
type BatchControl = ControlBuffer<64>;

/// The headers of the trains that one call moves. They are made once and point into each
/// other's heap memory, which never moves.
pub struct Batch {
    headers: Vec<libc::mmsghdr>,
    parts: Vec<libc::iovec>,
    controls: Vec<BatchControl>,
    /// Destination that the headers point to when sending.
    _to: Option<Box<SockAddr>>,
    /// Source buffer that the first header points to when receiving.
    source: Box<Source>,
    /// Headers that the last receive filled in.
    got: usize,
}

/// Result of a receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchReceived {
    /// Bytes of all datagrams.
    pub bytes: usize,
    /// Datagrams, empty ones not counted.
    pub datagrams: u64,
    /// True if one of them was empty.
    pub empty: bool,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("width", &self.headers.len())
            .finish_non_exhaustive()
    }
}

impl Batch {
    /// Headers for `width` trains to `to`, or to whom the socket is connected to.
    #[must_use]
    pub fn sending(width: usize, to: Option<SockAddr>) -> Self {
        let to = to.map(Box::new);
        let mut batch = Self::plain(width);
        if let Some(to) = &to {
            for header in &mut batch.headers {
                header.msg_hdr.msg_name = to.as_ptr().cast_mut().cast();
                header.msg_hdr.msg_namelen = to.len();
            }
        }
        batch._to = to;
        batch
    }

    /// Headers for `width` messages that arrive, which may be trains where the socket was
    /// asked for them: only then is there something to be told of each.
    #[must_use]
    pub fn receiving(width: usize, trains: bool) -> Self {
        let mut batch = Self::plain(width);
        let controls = if trains { batch.headers.len() } else { 0 };
        batch.controls = vec![BatchControl::new(); controls];
        for (header, control) in batch.headers.iter_mut().zip(&mut batch.controls) {
            control.attach(&mut header.msg_hdr);
        }
        if let Some(first) = batch.headers.first_mut() {
            first.msg_hdr.msg_name = batch.source.storage();
        }
        batch
    }

    fn plain(width: usize) -> Self {
        let width = width.max(1);
        let mut parts: Vec<libc::iovec> = vec![zeroed(); width];
        let mut headers: Vec<libc::mmsghdr> = vec![zeroed(); width];
        for (header, part) in headers.iter_mut().zip(&mut parts) {
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
        Self {
            headers,
            parts,
            controls: Vec::new(),
            _to: None,
            source: Box::new(Source::unknown()),
            got: 0,
        }
    }

    /// sendmmsg(2): `buf` in trains of `train` bytes, the last perhaps shorter; never
    /// raises `SIGPIPE`. The bytes of all trains that the kernel took.
    ///
    /// # Errors
    /// Whatever sendmmsg(2) reports of the first train.
    #[inline]
    pub fn send(&mut self, fd: BorrowedFd<'_>, buf: &[u8], train: usize) -> io::Result<usize> {
        let mut used = 0;
        for (part, bytes) in self.parts.iter_mut().zip(buf.chunks(train.max(1))) {
            part.iov_base = bytes.as_ptr().cast_mut().cast();
            part.iov_len = bytes.len();
            used += 1;
        }
        // SAFETY: the first `used` headers point to parts that describe `buf`, and to an
        // address that this batch keeps; the kernel only reads them.
        let sent = unsafe {
            libc::sendmmsg(
                fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                used,
                libc::MSG_NOSIGNAL,
            )
        };
        let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        Ok(self.headers.iter().take(sent).map(length).sum())
    }

    /// recvmmsg(2): waits for one train, and takes as many more as are there, each into
    /// a slot of `slot` bytes of `buf`.
    ///
    /// # Errors
    /// Whatever recvmmsg(2) reports.
    #[inline]
    pub fn recv(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &mut [u8],
        slot: usize,
    ) -> io::Result<BatchReceived> {
        let (mut used, space) = (0, self.control_room());
        let slots = self.parts.iter_mut().zip(buf.chunks_mut(slot.max(1)));
        for ((part, bytes), header) in slots.zip(&mut self.headers) {
            part.iov_base = bytes.as_mut_ptr().cast();
            part.iov_len = bytes.len();
            header.msg_hdr.msg_controllen = space;
            used += 1;
        }
        self.receive(fd, used, 0)
    }

    /// The same, of which the kernel throws the bytes away.
    ///
    /// # Errors
    /// Whatever recvmmsg(2) reports.
    #[inline]
    pub fn discard(&mut self, fd: BorrowedFd<'_>) -> io::Result<BatchReceived> {
        let (mut used, space) = (0, self.control_room());
        for header in &mut self.headers {
            header.msg_hdr.msg_iovlen = 0;
            header.msg_hdr.msg_controllen = space;
            used += 1;
        }
        self.receive(fd, used, libc::MSG_TRUNC)
    }

    /// Size of the control buffer of each message, bytes.
    fn control_room(&self) -> usize {
        self.controls.first().map_or(0, size_of_val)
    }

    #[inline]
    fn receive(&mut self, fd: BorrowedFd<'_>, used: u32, flags: i32) -> io::Result<BatchReceived> {
        if let Some(first) = self.headers.first_mut() {
            first.msg_hdr.msg_namelen = STORAGE_LEN;
        }
        // SAFETY: the first `used` headers describe memory that outlives the call and that
        // nothing else can see during it; a null time-out is allowed.
        let got = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                used,
                libc::MSG_WAITFORONE | flags,
                std::ptr::null_mut(),
            )
        };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        self.got = got;
        if let Some(first) = self.headers.first() {
            self.source.set_len(first.msg_hdr.msg_namelen);
        }
        let mut arrived = BatchReceived::default();
        for header in self.headers.iter().take(got) {
            let bytes = length(header);
            if bytes == 0 {
                arrived.empty = true;
            } else {
                arrived.bytes += bytes;
                arrived.datagrams += train(header, bytes);
            }
        }
        Ok(arrived)
    }

    /// Shows each datagram that the last receive left in `buf`, empty ones not; `slot` is
    /// what that receive was told.
    #[inline]
    pub fn each(&self, buf: &[u8], slot: usize, mut see: impl FnMut(&[u8])) {
        let headers = self.headers.iter().take(self.got);
        for (header, bytes) in headers.zip(buf.chunks(slot.max(1))) {
            let whole = length(header);
            let bytes = bytes.get(..whole).unwrap_or(bytes);
            let each = segment_size(&header.msg_hdr).unwrap_or(whole);
            bytes.chunks(each.max(1)).for_each(&mut see);
        }
    }

    /// Trains that a call moves at most.
    #[must_use]
    pub fn width(&self) -> usize {
        self.headers.len()
    }

    /// Source of the first train of the last receive.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }
}

fn length(header: &libc::mmsghdr) -> usize {
    usize::try_from(header.msg_len).unwrap_or(0)
}

/// Datagrams in a train of so many bytes.
fn train(header: &libc::mmsghdr, bytes: usize) -> u64 {
    let each = segment_size(&header.msg_hdr).unwrap_or(bytes);
    bytes.div_ceil(each.max(1)) as u64
}

/// Datagram size within a train, bytes; `None` for a single datagram.
pub(super) fn segment_size(message: &libc::msghdr) -> Option<usize> {
    if message.msg_controllen == 0 {
        return None;
    }
    let (level, kind, data) = controls(message).next()?;
    if (level, kind) != (libc::SOL_UDP, libc::UDP_GRO) {
        return None;
    }
    usize::try_from(first::<libc::c_int>(data)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockopt::{self, IntOption};
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    fn pair() -> (UdpSocket, SockAddr, UdpSocket) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap().into();
        (UdpSocket::bind("127.0.0.1:0").unwrap(), to, server)
    }

    #[test]
    fn datagrams_of_a_batch_are_counted_one_by_one_at_both_ends() {
        let (client, to, server) = pair();
        let mut out = Batch::sending(4, Some(to));
        let mut into = Batch::receiving(8, false);
        assert_eq!(out.send(client.as_fd(), &[1; 35], 10).unwrap(), 35);
        let arrived = into.recv(server.as_fd(), &mut [0; 800], 100).unwrap();
        let whole = BatchReceived {
            bytes: 35,
            datagrams: 4,
            empty: false,
        };
        assert_eq!(arrived, whole);
        assert!(into.source().is_known());
        assert_eq!(out.send(client.as_fd(), &[1; 35], 10).unwrap(), 35);
        assert_eq!(into.discard(server.as_fd()).unwrap(), whole);
    }

    #[test]
    fn a_train_that_the_kernel_cuts_and_puts_together_is_so_many_datagrams() {
        let (client, to, server) = pair();
        sockopt::set(client.as_fd(), IntOption::Segment, 100).unwrap();
        sockopt::set(server.as_fd(), IntOption::Reassemble, 1).unwrap();
        let mut out = Batch::sending(1, Some(to));
        let mut into = Batch::receiving(4, true);
        let (mut datagrams, mut bytes) = (0, 0);
        assert_eq!(out.send(client.as_fd(), &[1; 1950], 1950).unwrap(), 1950);
        while bytes < 1950 {
            let mut buf = vec![0; 4 * 65_536];
            let arrived = into.recv(server.as_fd(), &mut buf, 65_536).unwrap();
            datagrams += arrived.datagrams;
            bytes += arrived.bytes;
        }
        assert_eq!((datagrams, bytes), (20, 1950));
    }

    #[test]
    fn an_empty_datagram_among_others_is_seen() {
        let (client, to, server) = pair();
        let mut into = Batch::receiving(4, false);
        client.send_to(b"abc", to.as_socket().unwrap()).unwrap();
        client.send_to(b"", to.as_socket().unwrap()).unwrap();
        let arrived = into.recv(server.as_fd(), &mut [0; 400], 100).unwrap();
        assert_eq!(
            (arrived.bytes, arrived.datagrams, arrived.empty),
            (3, 1, true)
        );
    }
}
