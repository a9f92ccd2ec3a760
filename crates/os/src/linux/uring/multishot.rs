//! One request that receives again and again, into buffers that the kernel chooses from
//! (io_uring_prep_recv_multishot(3), io_uring_prep_recvmsg_multishot(3),
//! io_uring_register_buf_ring(3)).

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use io_uring::types::{BufRingEntry, Fd, RecvMsgOut};
use io_uring::{cqueue, opcode};

use super::{MULTISHOT, MultishotReceived, Uring, failed};
use crate::io::{STORAGE_LEN, Source};
use crate::linux::batch::segment_size;
use crate::linux::message::message;
use crate::memory::{alignment, slot_distance};

/// The group of buffers; a ring has one.
const GROUP: u16 = 0;
/// The most buffers of a group that is of use.
const MOST: usize = 1024;
/// Time-out of a wait for the end of the request, and number of waits.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 20;

/// Results of the request's completions.
#[derive(Debug, Default)]
pub(super) struct MultishotState {
    received: MultishotReceived,
    /// Buffers that were filled, and how many bytes of each.
    filled: Vec<(u16, usize)>,
    error: Option<i32>,
    /// The request goes on.
    armed: bool,
}

impl MultishotState {
    pub(super) fn completed(&mut self, result: i32, flags: u32) {
        self.armed = cqueue::more(flags);
        let length = usize::try_from(result).unwrap_or(0);
        let filled = cqueue::buffer_select(flags).map(|number| (number, length));
        self.filled.extend(filled);
        match usize::try_from(result) {
            Ok(0) => self.received.empty = true,
            Ok(count) => {
                self.received.bytes += count;
                self.received.messages += 1;
            }
            // All buffers are full: they are free again when this has been looked at.
            Err(_) if result == -libc::ENOBUFS || result == -libc::ECANCELED => {}
            Err(_) => {
                self.error.get_or_insert(result);
            }
        }
    }
}

/// A page of descriptions of buffers.
#[repr(C, align(4096))]
#[derive(Clone)]
struct BufferPage([u8; 4096]);

/// A ring that receives into its own buffers.
pub struct Multishot {
    ring: Uring,
    entries: Vec<BufferPage>,
    memory: Vec<u8>,
    /// Offset of the first buffer in the memory.
    first: usize,
    size: usize,
    mask: u16,
    tail: u16,
    /// Space for the source and the segment size of a message, where each may be a train.
    trains: Option<Box<libc::msghdr>>,
    source: Source,
}

impl fmt::Debug for Multishot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multishot")
            .field("ring", &self.ring)
            .finish_non_exhaustive()
    }
}

impl Multishot {
    /// Creates buffers for `width` messages of `size` bytes; a receive gives up after `patience`.
    ///
    /// # Errors
    /// As [`Uring::new`].
    pub fn new(width: usize, size: usize, patience: Option<Duration>) -> io::Result<Self> {
        let (width, size) = (width.clamp(1, MOST).next_power_of_two(), size.max(1));
        let bytes = width * size_of::<BufRingEntry>();
        let count = u16::try_from(width).unwrap_or(1);
        let memory = vec![0; alignment(size) + width * slot_distance(size)];
        let first = memory.as_ptr().align_offset(alignment(size));
        let mut all = Self {
            ring: Uring::new(width, patience)?,
            entries: vec![BufferPage([0; 4096]); bytes.div_ceil(size_of::<BufferPage>())],
            memory,
            first,
            size,
            mask: count - 1,
            tail: 0,
            trains: None,
            source: Source::unknown(),
        };
        all.ring.multishot_state.filled.reserve(width);
        // SAFETY: there is space for `count` entries, which outlive the ring: it is dropped
        // first, and they are kept for ever where a request may still use them.
        unsafe {
            let at = all.entries.as_ptr() as u64;
            all.ring
                .ring
                .submitter()
                .register_buf_ring_with_flags(at, count, GROUP, 0)
        }?;
        for number in 0..count {
            all.offer(number);
        }
        all.publish();
        Ok(all)
    }

    /// The same for messages that may be trains of many (udp(7), `UDP_GRO`).
    ///
    /// # Errors
    /// As [`Uring::new`].
    pub fn of_trains(width: usize, size: usize, patience: Option<Duration>) -> io::Result<Self> {
        /// Bytes of a description of a message (io_uring_recvmsg_out) and of its segment size.
        const DESCRIPTION: (usize, usize) = (16, 64);
        let mut space = Box::new(message(&mut []));
        space.msg_iov = std::ptr::null_mut();
        space.msg_namelen = STORAGE_LEN;
        space.msg_controllen = DESCRIPTION.1 as _;
        let extra = DESCRIPTION.0 + DESCRIPTION.1 + size_of::<libc::sockaddr_storage>();
        let mut all = Self::new(width, size + extra, patience)?;
        all.trains = Some(space);
        Ok(all)
    }

    /// Source of the last train that came; `None` without trains.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        self.trains.as_ref().map(|_| &self.source)
    }

    /// Number of io_uring_enter(2) calls.
    #[must_use]
    pub const fn enters(&self) -> u64 {
        self.ring.enters
    }

    /// Waits for a message and takes as many more as are there.
    ///
    /// # Errors
    /// What recv(2) reports; `EINTR` when a signal came first, or the time-out expired.
    pub fn recv(&mut self, fd: BorrowedFd<'_>) -> io::Result<MultishotReceived> {
        loop {
            let fresh = !self.ring.multishot_state.armed;
            if fresh {
                let fd = Fd(fd.as_raw_fd());
                let entry = match &self.trains {
                    Some(space) => opcode::RecvMsgMulti::new(fd, &raw const **space, GROUP).build(),
                    None => opcode::RecvMulti::new(fd, GROUP).build(),
                };
                let entry = entry.user_data(MULTISHOT);
                // SAFETY: it points to nothing but the buffers that were offered and the message,
                // which are kept until it is over.
                unsafe { self.ring.push(&entry) }?;
                self.ring.multishot_state.armed = true;
            }
            self.ring.enter(1, self.ring.patience)?;
            if self.trains.is_some() {
                self.count_trains();
            }
            self.give_back();
            let multishot_state = &mut self.ring.multishot_state;
            let received = std::mem::take(&mut multishot_state.received);
            if received != MultishotReceived::default() {
                return Ok(received);
            }
            if let Some(error) = multishot_state.error.take() {
                return Err(failed(error));
            }
            // The request ended for want of buffers, or else the wait did.
            if multishot_state.armed {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    }

    /// The first message, as recvfrom(2) receives it, so that its source is known.
    ///
    /// # Errors
    /// As [`Uring::recv_from`].
    pub fn recv_first(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &mut [u8],
        source: &mut Source,
    ) -> io::Result<usize> {
        self.ring.recv_from(fd, buf, source)
    }

    /// Counts the messages of the trains that came.
    fn count_trains(&mut self) {
        let mut received = MultishotReceived::default();
        for (number, length) in &self.ring.multishot_state.filled {
            let at = self.first + usize::from(*number) * slot_distance(self.size);
            let buffer = self.memory.get(at..at + length);
            let parts = buffer.zip(self.trains.as_deref());
            let Some(Ok(train)) = parts.map(|(buffer, space)| RecvMsgOut::parse(buffer, space))
            else {
                continue;
            };
            let bytes = train.payload_data().len();
            let mut control = message(&mut []);
            control.msg_control = train.control_data().as_ptr().cast_mut().cast();
            control.msg_controllen = train.control_data().len() as _;
            if bytes == 0 {
                received.empty = true;
            } else {
                let each = segment_size(&control).unwrap_or(bytes).max(1);
                received.bytes += bytes;
                received.messages += bytes.div_ceil(each) as u64;
                self.source.copy_from(train.name_data());
            }
        }
        self.ring.multishot_state.received = received;
    }

    /// Gives the buffers that were filled to the kernel again.
    fn give_back(&mut self) {
        let mut filled = std::mem::take(&mut self.ring.multishot_state.filled);
        for (number, _) in filled.drain(..) {
            self.offer(number);
        }
        self.ring.multishot_state.filled = filled;
        self.publish();
    }

    /// Describes a buffer in the next entry.
    fn offer(&mut self, number: u16) {
        let at = self.first + usize::from(number) * slot_distance(self.size);
        let Some(buffer) = self.memory.get_mut(at..at + self.size) else {
            return;
        };
        let index = usize::from(self.tail & self.mask);
        let entries = self.entries.as_mut_ptr().cast::<BufRingEntry>();
        // SAFETY: there is space for one entry more than the mask says.
        let entry = unsafe { entries.add(index) };
        // SAFETY: nothing else refers to it; the kernel does not look at it before the tail
        // has passed it.
        let entry = unsafe { &mut *entry };
        entry.set_addr(buffer.as_mut_ptr() as u64);
        entry.set_len(u32::try_from(buffer.len()).unwrap_or(u32::MAX));
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Tells the kernel how far the entries go.
    fn publish(&mut self) {
        let entries = self.entries.as_mut_ptr().cast::<BufRingEntry>();
        // SAFETY: it is the first entry of the ring, which begins a page.
        let tail = unsafe { BufRingEntry::tail(entries) };
        // SAFETY: the tail is aligned, and the kernel accesses it atomically.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Multishot {
    fn drop(&mut self) {
        if self.ring.multishot_state.armed {
            let mut looks = 0;
            let asked = self.ring.cancel(MULTISHOT).is_ok();
            while asked && self.ring.multishot_state.armed && looks < LOOKS {
                if self.ring.enter(1, Some(LOOK)).is_err() {
                    break;
                }
                looks += 1;
            }
        }
        if self.ring.multishot_state.armed {
            // The kernel may still write to them.
            std::mem::forget(std::mem::take(&mut self.memory));
            std::mem::forget(std::mem::take(&mut self.entries));
            std::mem::forget(self.trains.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    /// Receives until an empty message.
    fn all_received(ring: &mut Multishot, server: &UdpSocket) -> MultishotReceived {
        let mut all = MultishotReceived::default();
        while !all.empty {
            let received = ring.recv(server.as_fd()).unwrap();
            all.bytes += received.bytes;
            all.messages += received.messages;
            all.empty = received.empty;
        }
        all
    }

    #[test]
    fn every_buffer_starts_on_a_cache_line() {
        for size in [1, 100, 1472, 4096, 65_507] {
            let ring = Multishot::new(4, size, None).unwrap();
            let entries = ring.entries.as_ptr().cast::<BufRingEntry>();
            for number in 0..4 {
                // SAFETY: there are four entries.
                let entry = unsafe { entries.add(number) };
                // SAFETY: the entry is initialised, and nothing changes it.
                let address = unsafe { &*entry }.addr();
                assert_eq!(address % 64, 0, "{size}");
            }
        }
    }

    #[test]
    fn datagrams_are_counted_one_by_one_and_an_empty_one_is_the_end() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let mut ring = Multishot::new(4, 2048, None).unwrap();
        let (mut buf, mut source) = ([0; 64], Source::unknown());
        // More than there are buffers, so that the request runs out of them.
        for _ in 0..21 {
            client.send(&[1; 100]).unwrap();
        }
        client.send(&[]).unwrap();
        let first = ring.recv_first(server.as_fd(), &mut buf, &mut source);
        assert_eq!(first.unwrap(), 64);
        let all = all_received(&mut ring, &server);
        assert_eq!((all.bytes, all.messages), (2000, 20));
    }

    #[test]
    fn trains_are_counted_by_their_datagrams_and_have_a_source() {
        use crate::sockopt::{self, IntOption};
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        sockopt::set(client.as_fd(), IntOption::Segment, 100).unwrap();
        sockopt::set(server.as_fd(), IntOption::Reassemble, 1).unwrap();
        let mut ring = Multishot::of_trains(2, 65_536, None).unwrap();
        for _ in 0..7 {
            client.send(&[1; 1950]).unwrap();
        }
        client.send(&[]).unwrap();
        let all = all_received(&mut ring, &server);
        assert_eq!((all.bytes, all.messages), (7 * 1950, 7 * 20));
        let source = ring.source().and_then(Source::address);
        assert_eq!(source, Some(client.local_addr().unwrap()));
    }

    #[test]
    fn a_stream_is_received_to_its_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        let writer = std::thread::spawn(move || client.write_all(&vec![7; 1 << 20]).unwrap());
        let mut ring = Multishot::new(8, 4096, None).unwrap();
        let mut bytes = 0;
        loop {
            let received = ring.recv(server.as_fd()).unwrap();
            bytes += received.bytes;
            if received.empty {
                break;
            }
        }
        assert_eq!(bytes, 1 << 20);
        writer.join().unwrap();
    }
}
