//! Moving bytes by io_uring(7): calls are written down in memory that the kernel sees, and
//! io_uring_enter(2) has it make them and waits for what comes of them.
//!
//! The calls never reach libc: a socket stack that is preloaded in front of it does not see
//! them. Every call here is over when it returns, or moves memory that the ring keeps
//! itself, so that nothing of a caller's is in the kernel's hands afterwards.

mod delayed;
#[cfg(target_arch = "x86_64")]
mod entries;
mod multishot;
mod types;

pub use multishot::Multishot;
pub use types::{Held, MultishotReceived, Taken, To};

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::squeue::Entry;
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use crate::io::Source;
use crate::linux::io::message_from;
use crate::linux::message::received_part;
use crate::wait::Countdown;
use delayed::DelayedSends;

/// User data of completions.
const CALL: u64 = 1;
const ASIDE: u64 = 2;
const DELAYED: u64 = 3;
const MANY: u64 = 4;
const MULTISHOT: u64 = 5;

const MINUS_ENOBUFS: i32 = -libc::ENOBUFS;
const MINUS_ENOMEM: i32 = -libc::ENOMEM;

/// `IORING_SEND_ZC_REPORT_USAGE`: say whether bytes were copied after all (Linux 6.2).
const REPORT_USAGE: u16 = 1 << 3;
/// A stream takes all bytes, unless a signal comes first, as send(2) does.
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;

impl To<'_> {
    fn parts(self) -> (*const libc::sockaddr, libc::socklen_t) {
        match self {
            Self::Peer => (std::ptr::null(), 0),
            Self::Address(to) => (to.as_ptr().cast(), to.len()),
            Self::Source(source) => ((&raw const source.storage).cast(), source.len),
        }
    }
}

/// An io_uring for one thread.
pub struct Uring {
    ring: IoUring,
    patience: Option<Duration>,
    /// The same for a send.
    send_patience: Option<Duration>,
    /// `MSG_DONTWAIT` where calls never wait.
    never_waits: i32,
    enters: u64,
    /// Sends that failed in a batch, or deferred, because a local queue was full.
    dropped: u64,
    /// Result of the call that is waited for.
    outcome: Option<i32>,
    pending_sends: PendingSends,
    delayed: DelayedSends,
    held: Held,
    reports: bool,
    multishot_state: multishot::MultishotState,
}

/// Sends that are waited for together.
#[derive(Clone, Copy, Debug, Default)]
struct PendingSends {
    left: usize,
    taken: Taken,
    error: Option<i32>,
}

impl fmt::Debug for Uring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uring")
            .field("enters", &self.enters)
            .finish_non_exhaustive()
    }
}

impl Uring {
    /// A ring for `width` calls at the same time; a receive gives up after `patience`.
    ///
    /// # Errors
    /// Whatever io_uring_setup(2) reports: `EPERM` where the system does not let this user
    /// have one, `ENOSYS` or `EINVAL` before Linux 6.1.
    pub fn new(width: usize, patience: Option<Duration>) -> io::Result<Self> {
        let width = u32::try_from(width).unwrap_or(u32::MAX).clamp(1, 4096);
        let entries = width + delayed::SLOTS + 8;
        // Without interrupts by the kernel: completions are worked on when we wait.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(entries * 4)
            .build(entries)?;
        Ok(Self {
            ring,
            patience,
            send_patience: None,
            never_waits: 0,
            enters: 0,
            dropped: 0,
            outcome: None,
            pending_sends: PendingSends::default(),
            delayed: DelayedSends::new(),
            held: Held::default(),
            reports: true,
            multishot_state: multishot::MultishotState::default(),
        })
    }

    /// Has a send give up after the same time as a receive: with what it sent, or `EAGAIN`.
    pub const fn give_up_sends(&mut self) {
        self.send_patience = self.patience;
    }

    /// Has calls return `EAGAIN` at once instead of waiting: the caller waits for the socket.
    pub const fn never_wait(&mut self) {
        self.never_waits = libc::MSG_DONTWAIT;
    }

    /// Number of io_uring_enter(2) calls.
    #[must_use]
    pub const fn enters(&self) -> u64 {
        self.enters
    }

    /// Takes the number of datagrams that a full local queue dropped, apart from those whose own
    /// call reported it.
    #[inline]
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// State of zero-copy sends.
    #[must_use]
    pub const fn held(&self) -> Held {
        self.held
    }

    /// Sends as send(2) and sendto(2) do.
    ///
    /// # Errors
    /// What those report; `EINTR` when a signal came before anything was sent.
    #[inline]
    pub fn send(&mut self, fd: BorrowedFd<'_>, buf: &[u8], to: To<'_>) -> io::Result<usize> {
        let entry = self.send_entry(fd, buf, to).build();
        let patience = self.send_patience;
        // SAFETY: buffer and address outlive the call, which is over when this returns.
        unsafe { self.call(entry, patience) }
    }

    /// Sends to the peer what there is space for, without a wait.
    ///
    /// # Errors
    /// What send(2) reports; `EAGAIN` when there is no space.
    pub fn send_now(&mut self, fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        let entry = opcode::Send::new(Fd(fd.as_raw_fd()), buf.as_ptr(), length(buf));
        // SAFETY: the buffer outlives the call, which is over when this returns.
        unsafe { self.call(entry.flags(flags).build(), None) }
    }

    /// Receives as recv(2) does; with `discards` the kernel throws the bytes away
    /// (`MSG_TRUNC`, tcp(7)).
    ///
    /// # Errors
    /// What recv(2) reports; `EINTR` when a signal came first, `EAGAIN` when the ring's
    /// patience was over.
    #[inline]
    pub fn recv(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &mut [u8],
        discards: bool,
    ) -> io::Result<usize> {
        let flags = if discards { libc::MSG_TRUNC } else { 0 };
        let entry = opcode::Recv::new(Fd(fd.as_raw_fd()), buf.as_mut_ptr(), length(buf))
            .flags(flags | self.never_waits)
            .build();
        let patience = self.patience;
        // SAFETY: nothing else can see the buffer until the call is over, and it is when
        // this returns.
        unsafe { self.call(entry, patience) }
    }

    /// Receives as recvfrom(2) does, leaving the source's address in `source`.
    ///
    /// # Errors
    /// As [`Uring::recv`].
    #[inline]
    pub fn recv_from(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &mut [u8],
        source: &mut Source,
    ) -> io::Result<usize> {
        let mut part = [received_part(buf)];
        let mut message = message_from(&mut part, source);
        let entry = opcode::RecvMsg::new(Fd(fd.as_raw_fd()), &raw mut message)
            .flags(self.never_waits.unsigned_abs())
            .build();
        let patience = self.patience;
        // SAFETY: the message and all that it points to outlive the call, which is over
        // when this returns.
        let count = unsafe { self.call(entry, patience) }?;
        source.len = message.msg_namelen;
        Ok(count)
    }

    /// Sends `buf` in concurrent messages of `size` bytes and waits until the kernel has
    /// accepted them.
    ///
    /// # Errors
    /// The first error, when nothing was sent; `EINTR` when a signal came before that, or the
    /// time-out of sends expired.
    pub fn send_many(
        &mut self,
        fd: BorrowedFd<'_>,
        buf: &[u8],
        size: usize,
        to: To<'_>,
    ) -> io::Result<Taken> {
        self.pending_sends = PendingSends::default();
        for message in buf.chunks(size.max(1)) {
            let entry = self.send_entry(fd, message, to).build().user_data(MANY);
            // SAFETY: buffer and address outlive the calls, which are over when this returns.
            unsafe { self.push(&entry) }?;
            self.pending_sends.left += 1;
        }
        self.enter(self.pending_sends.left, self.send_patience)?;
        if self.pending_sends.left > 0 {
            self.cancel(MANY)?;
            while self.pending_sends.left > 0 {
                self.enter(self.pending_sends.left, None)?;
            }
        }
        let PendingSends { taken, error, .. } = self.pending_sends;
        match error {
            Some(error) if taken.sends == 0 => Err(failed(error)),
            _ => Ok(taken),
        }
    }

    /// Sends as [`Uring::send`] and leaves the bytes where they are: the kernel holds them
    /// ([`Uring::held`]) until they have arrived. It holds the pages themselves: memory that
    /// is written or freed meanwhile changes what is sent, and nothing else.
    ///
    /// # Errors
    /// As [`Uring::send`].
    pub fn send_zero_copy(&mut self, fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
        let flags = if self.reports { REPORT_USAGE } else { 0 };
        let entry = opcode::SendZc::new(Fd(fd.as_raw_fd()), buf.as_ptr(), length(buf))
            .flags(SEND_FLAGS)
            .zc_flags(flags)
            .build();
        let patience = self.send_patience;
        // SAFETY: the buffer outlives the call, which has taken the pages when this returns.
        let sent = unsafe { self.call(entry, patience) };
        match sent {
            // Before Linux 6.2 the kernel does not say whether it copied.
            Err(error) if self.reports && error.kind() == io::ErrorKind::InvalidInput => {
                self.reports = false;
                self.send_zero_copy(fd, buf)
            }
            other => other,
        }
    }

    /// Waits for news of what the kernel holds; false when none came within this time, or
    /// a signal did.
    ///
    /// # Errors
    /// Whatever io_uring_enter(2) reports.
    pub fn wait_for_held(&mut self, within: Option<Duration>) -> io::Result<bool> {
        let before = self.held.now;
        self.enter(1, within)?;
        Ok(self.held.now != before)
    }

    fn send_entry(&self, fd: BorrowedFd<'_>, buf: &[u8], to: To<'_>) -> opcode::Send {
        let (address, len) = to.parts();
        opcode::Send::new(Fd(fd.as_raw_fd()), buf.as_ptr(), length(buf))
            .flags(SEND_FLAGS | self.never_waits)
            .dest_addr(address)
            .dest_addr_len(len)
    }

    /// Writes a call down.
    ///
    /// # Safety
    /// What it points to must outlive it.
    #[inline]
    unsafe fn push(&mut self, entry: &Entry) -> io::Result<()> {
        // SAFETY: the caller promises it.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(|_| io::Error::other("the ring is full"))
    }

    /// Submits a call and waits for it and for the deferred sends. Cancels the call on a signal
    /// or at the time-out.
    ///
    /// # Safety
    /// Memory that the entry points to must outlive the call.
    #[inline]
    unsafe fn call(&mut self, entry: Entry, patience: Option<Duration>) -> io::Result<usize> {
        if let Some(error) = self.delayed.take_error() {
            return Err(failed(error));
        }
        self.outcome = None;
        // SAFETY: the caller promises it.
        unsafe { self.push(&entry.user_data(CALL)) }?;
        let left = patience.map(Countdown::from_now);
        self.enter(1 + self.delayed.under_way(), patience)?;
        match self.outcome {
            Some(result) => counted(result),
            None => self.take_back(left.as_ref()),
        }
    }

    /// The call that is waited for was cut short.
    #[cold]
    fn take_back(&mut self, left: Option<&Countdown>) -> io::Result<usize> {
        let timed_out = left.is_some_and(Countdown::is_over);
        self.cancel(CALL)?;
        loop {
            self.enter(1, None)?;
            match self.outcome {
                Some(result) if result == -libc::ECANCELED && timed_out => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Some(result) => return counted(result),
                None => {}
            }
        }
    }

    /// Takes back all calls of a kind: each completes soon, with what it has moved.
    #[cold]
    fn cancel(&mut self, kind: u64) -> io::Result<()> {
        let all = CancelBuilder::user_data(kind).all();
        let entry = opcode::AsyncCancel2::new(all).build().user_data(ASIDE);
        // SAFETY: it points to nothing.
        unsafe { self.push(&entry) }
    }

    /// io_uring_enter(2): has the kernel make the calls that were written down, and waits
    /// for so many completions, until a signal comes or the time is over.
    ///
    /// An error comes before anything was submitted.
    #[inline]
    fn enter(&mut self, want: usize, within: Option<Duration>) -> io::Result<()> {
        self.enters += 1;
        let entered = match within {
            None => self.ring.submit_and_wait(want),
            Some(within) => {
                let within = Timespec::from(within);
                let args = SubmitArgs::new().timespec(&within);
                self.ring.submitter().submit_with_args(want, &args)
            }
        };
        self.reap();
        match entered {
            Ok(_) => Ok(()),
            Err(error) if passes(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn reap(&mut self) {
        let Self {
            ring,
            outcome,
            pending_sends,
            dropped,
            delayed,
            held,
            reports,
            multishot_state,
            ..
        } = self;
        for completion in ring.completion() {
            let (result, flags) = (completion.result(), completion.flags());
            match completion.user_data() {
                CALL if cqueue::notif(flags) => held.given_back(result, *reports),
                CALL => {
                    *outcome = Some(result);
                    held.now += u64::from(cqueue::more(flags));
                }
                DELAYED => {
                    *dropped += u64::from(is_dropped(result));
                    delayed.completed(result);
                }
                MANY => {
                    *dropped += u64::from(is_dropped(result));
                    pending_sends.completed(result);
                }
                MULTISHOT => multishot_state.completed(result, flags),
                _ => {}
            }
        }
    }
}

impl Held {
    fn given_back(&mut self, usage: i32, reported: bool) {
        self.now = self.now.saturating_sub(1);
        self.told += u64::from(reported);
        // `IORING_NOTIF_USAGE_ZC_COPIED` is the sign bit.
        self.copied += u64::from(reported && usage < 0);
    }
}

impl PendingSends {
    fn completed(&mut self, result: i32) {
        self.left = self.left.saturating_sub(1);
        match usize::try_from(result) {
            Ok(count) => {
                self.taken.bytes += count;
                self.taken.sends += 1;
            }
            Err(_) => {
                self.error.get_or_insert(result);
            }
        }
    }
}

/// No call moves more than the kernel's own limit (`MAX_RW_COUNT`), which is less.
fn length(buf: &[u8]) -> u32 {
    u32::try_from(buf.len()).unwrap_or(i32::MAX.unsigned_abs())
}

#[inline]
fn counted(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| failed(result))
}

/// Returns true if a send failed because a local queue was full.
#[inline]
const fn is_dropped(result: i32) -> bool {
    matches!(result, MINUS_ENOBUFS | MINUS_ENOMEM)
}

/// The error of a negative result. What was taken back was cut short by a signal.
#[cold]
fn failed(result: i32) -> io::Error {
    if result == -libc::ECANCELED {
        return io::ErrorKind::Interrupted.into();
    }
    io::Error::from_raw_os_error(-result)
}

/// Errors of io_uring_enter(2) after which it is just called again: a signal, the end of
/// the time, and completions or memory that must be freed first.
fn passes(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;
    use std::thread;

    const SOON: Duration = Duration::from_millis(20);

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_cross_both_ways_and_the_end_is_seen() {
        let (client, mut server) = pair();
        let mut ring = Uring::new(1, None).unwrap();
        let mut buf = [0; 8];
        assert_eq!(ring.send(client.as_fd(), b"abc", To::Peer).unwrap(), 3);
        server.read_exact(&mut buf[..3]).unwrap();
        server.write_all(b"de").unwrap();
        assert_eq!(ring.recv(client.as_fd(), &mut buf, false).unwrap(), 2);
        assert_eq!(&buf[..2], b"de");
        server.write_all(b"fghi").unwrap();
        assert_eq!(ring.recv(client.as_fd(), &mut buf, true).unwrap(), 4);
        assert_eq!(&buf[..2], b"de");
        drop(server);
        assert_eq!(ring.recv(client.as_fd(), &mut buf, false).unwrap(), 0);
    }

    #[test]
    fn a_stream_takes_more_than_it_has_room_for() {
        let (client, mut server) = pair();
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            server.read_to_end(&mut all).unwrap();
            all.len()
        });
        let mut ring = Uring::new(8, None).unwrap();
        let data = vec![7; 16 << 20];
        let fd = client.as_fd();
        assert_eq!(ring.send(fd, &data, To::Peer).unwrap(), data.len());
        let taken = ring.send_many(fd, &data, 2 << 20, To::Peer).unwrap();
        assert_eq!((taken.bytes, taken.sends), (data.len(), 8));
        drop(client);
        assert_eq!(reader.join().unwrap(), 2 * data.len());
    }

    #[test]
    fn an_answer_goes_back_to_the_source_of_the_datagram() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap().into();
        let (mut here, mut there) = (
            Uring::new(1, None).unwrap(),
            Uring::new(1, Some(SOON)).unwrap(),
        );
        let (mut buf, mut source) = ([0; 8], Source::unknown());
        let silent = there.recv_from(server.as_fd(), &mut buf, &mut source);
        assert_eq!(silent.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let sent = here.send(client.as_fd(), b"ask", To::Address(&to));
        assert_eq!(sent.unwrap(), 3);
        let got = there.recv_from(server.as_fd(), &mut buf, &mut source);
        assert_eq!(got.unwrap(), 3);
        assert_eq!(source.port(), client.local_addr().unwrap().port());
        let back = there.send(server.as_fd(), b"back", To::Source(&source));
        assert_eq!(back.unwrap(), 4);
        assert_eq!(here.recv(client.as_fd(), &mut buf, false).unwrap(), 4);
    }

    #[test]
    fn a_send_that_was_put_off_goes_with_the_next_receive() {
        let (client, mut server) = pair();
        let echo = thread::spawn(move || {
            let mut buf = [0; 4];
            server.read_exact(&mut buf).unwrap();
            server.write_all(&buf).unwrap();
        });
        let mut ring = Uring::new(1, None).unwrap();
        let fd = client.as_fd();
        assert_eq!(ring.send_later(fd, b"ab", To::Peer).unwrap(), 2);
        assert_eq!(ring.send_later(fd, b"cd", To::Peer).unwrap(), 2);
        assert_eq!(ring.enters(), 0);
        let mut buf = [0; 8];
        assert_eq!(ring.recv(fd, &mut buf, false).unwrap(), 4);
        assert_eq!((&buf[..4], ring.enters()), (b"abcd".as_slice(), 1));
        echo.join().unwrap();
    }

    #[test]
    fn the_ring_is_told_of_every_send_without_a_copy() {
        let (client, mut server) = pair();
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            server.read_to_end(&mut all).unwrap();
            all.len()
        });
        let mut ring = Uring::new(1, None).unwrap();
        let data = vec![7; 50_000];
        for _ in 0..20 {
            let sent = ring.send_zero_copy(client.as_fd(), &data).unwrap();
            assert_eq!(sent, data.len());
        }
        while ring.held().now > 0 {
            assert!(ring.wait_for_held(Some(SOON * 100)).unwrap());
        }
        assert!(ring.held().told == 20 || !ring.reports);
        drop(client);
        assert_eq!(reader.join().unwrap(), 20 * data.len());
    }
}
