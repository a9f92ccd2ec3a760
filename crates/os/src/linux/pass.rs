//! Handing open sockets to another process over a socket of the Unix domain (unix(7),
//! `SCM_RIGHTS`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::call::first;
use super::io::counted;
use super::message::{Control, ControlBuffer, controls, message, received_part, sent_part};
use super::pass_here;

/// Two sockets that are joined and keep messages apart (`SOCK_SEQPACKET`), closed on exec.
///
/// # Errors
/// `EMFILE` or `ENFILE` when there are too many open files.
pub fn pair() -> io::Result<(socket2::Socket, socket2::Socket)> {
    socket2::Socket::pair(socket2::Domain::UNIX, socket2::Type::SEQPACKET, None)
}

/// Sends a message, and with it a descriptor, which the other end then has as well. Does not
/// wait.
///
/// # Errors
/// `EAGAIN` while the other end has too much to read, `ETOOMANYREFS` where too many
/// descriptors are on their way, or whatever else sendmsg(2) reports.
pub fn send(to: BorrowedFd<'_>, bytes: &[u8], with: Option<BorrowedFd<'_>>) -> io::Result<()> {
    match (send_with_rights(to, bytes, with), with) {
        (Err(error), Some(fd)) if has_no_rights(&error) => {
            if let Some(copied) = pass_here::copy(bytes, fd)? {
                return send_with_rights(to, &copied, None);
            }
            let (tagged, place) = pass_here::leave(bytes, fd)?;
            let sent = send_with_rights(to, &tagged, None);
            if sent.is_err() {
                let _not_on_its_way = pass_here::take(place);
            }
            sent
        }
        (sent, _) => sent,
    }
}

/// The error of a system without `SCM_RIGHTS`.
fn has_no_rights(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

fn send_with_rights(
    to: BorrowedFd<'_>,
    bytes: &[u8],
    with: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut part = [sent_part(bytes)];
    let mut message = message(&mut part);
    let rights =
        |fd: BorrowedFd<'_>| Control::new(libc::SOL_SOCKET, libc::SCM_RIGHTS, fd.as_raw_fd());
    let mut control = with.map(rights);
    if let Some(control) = &mut control {
        control.attach(&mut message);
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    counted(unsafe { libc::sendmsg(to.as_raw_fd(), &raw const message, flags) }).map(drop)
}

/// Number of descriptors of [`send_five`].
const FIVE: usize = 5;

/// Sends a message with five descriptors, as [`send`] sends one.
///
/// # Errors
/// As [`send`], and `EINVAL` on a system without `SCM_RIGHTS`.
pub fn send_five(to: BorrowedFd<'_>, bytes: &[u8], with: [BorrowedFd<'_>; FIVE]) -> io::Result<()> {
    let mut part = [sent_part(bytes)];
    let mut message = message(&mut part);
    let numbers = with.map(|fd| fd.as_raw_fd());
    let mut control = Control::new(libc::SOL_SOCKET, libc::SCM_RIGHTS, numbers);
    control.attach(&mut message);
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    counted(unsafe { libc::sendmsg(to.as_raw_fd(), &raw const message, flags) }).map(drop)
}

/// Waits for a message of [`send_five`]: its length, 0 at the end, and its descriptors, with
/// close-on-exec set.
///
/// # Errors
/// Whatever recvmsg(2) reports.
pub fn receive_five(from: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut part = [received_part(buf)];
    let mut message = message(&mut part);
    let mut control = ControlBuffer::<{ size_of::<Control<[RawFd; FIVE]>>() }>::new();
    control.attach(&mut message);
    let flags = libc::MSG_CMSG_CLOEXEC;
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    let count = counted(unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut message, flags) })?;
    Ok((count, descriptors(&message)))
}

/// Blocking mode of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassWait {
    /// As the socket is set.
    AsSet,
    /// It does not.
    Never,
}

/// Receives a message and the descriptor attached to it, with close-on-exec set; 0 bytes at the
/// end. Returns no descriptor if several are attached: this program never sends such messages.
///
/// # Errors
/// Whatever recvmsg(2) reports.
pub fn receive(
    from: BorrowedFd<'_>,
    buf: &mut [u8],
    wait: PassWait,
) -> io::Result<(usize, Option<OwnedFd>)> {
    match receive_with_rights(from, buf, wait, true) {
        Err(error) if has_no_rights(&error) => {
            let mut tagged = vec![0; buf.len() + pass_here::LONGEST];
            let (count, _) = receive_with_rights(from, &mut tagged, wait, false)?;
            let message = tagged.get(..count).unwrap_or_default();
            let copied = pass_here::take_copied(message)?;
            let (length, fd) = match copied.or_else(|| pass_here::take_tagged(message)) {
                Some((length, fd)) => (length, Some(fd)),
                None => (count.min(buf.len()), None),
            };
            for (place, byte) in buf.iter_mut().zip(message.iter().take(length)) {
                *place = *byte;
            }
            Ok((length, fd))
        }
        received => received,
    }
}

/// Space for control data with one descriptor. Because of alignment, there may be two.
const SPACE: usize = size_of::<Control<RawFd>>();

fn receive_with_rights(
    from: BorrowedFd<'_>,
    buf: &mut [u8],
    wait: PassWait,
    rights: bool,
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut part = [received_part(buf)];
    let mut message = message(&mut part);
    let mut control = ControlBuffer::<SPACE>::new();
    let close_on_exec = if rights {
        control.attach(&mut message);
        libc::MSG_CMSG_CLOEXEC
    } else {
        0
    };
    let flags = match wait {
        PassWait::AsSet => close_on_exec,
        PassWait::Never => close_on_exec | libc::MSG_DONTWAIT,
    };
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    let count = counted(unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut message, flags) })?;
    Ok((count, descriptor(&message)))
}

/// Takes the descriptor from the control data of a received message. If there are several, all are
/// closed.
fn descriptor(message: &libc::msghdr) -> Option<OwnedFd> {
    let mut taken = descriptors(message);
    taken.pop().filter(|_| taken.is_empty())
}

/// Takes the descriptors from the control data of a received message.
fn descriptors(message: &libc::msghdr) -> Vec<OwnedFd> {
    let rights = controls(message)
        .filter(|(level, kind, _)| (*level, *kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS));
    let numbers = rights.flat_map(|(_, _, data)| data.chunks_exact(size_of::<RawFd>()));
    numbers
        .filter_map(first)
        // SAFETY: the kernel just handed this descriptor out and nothing else owns it.
        .map(|fd: RawFd| unsafe { OwnedFd::from_raw_fd(fd) })
        .collect()
}

/// Lets a descriptor stay open across exec(2), for a process that is about to be started.
///
/// # Errors
/// Whatever fcntl(2) reports.
pub fn keep_on_exec(fd: BorrowedFd<'_>) -> io::Result<()> {
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(())
}

/// Takes a descriptor that the parent process left open and sets close-on-exec. `None` if it is
/// not open, is a standard stream, or was taken before.
#[must_use]
pub fn take_inherited(number: RawFd) -> Option<OwnedFd> {
    use std::sync::{Mutex, PoisonError};
    static TAKEN: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if number <= libc::STDERR_FILENO || taken.contains(&number) {
        return None;
    }
    taken.push(number);
    // SAFETY: F_SETFD takes a number; a descriptor that is not open fails.
    let open = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, was before this program began, as its parent says, and the
    // list above makes this its only owner.
    open.then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Takes `count` descriptors from 3 on, which the parent process opened (sd_listen_fds(3)), and
/// sets close-on-exec. A second call returns nothing.
pub fn take_listeners(count: u32) -> Vec<OwnedFd> {
    const FIRST: i32 = 3;
    let count = i32::try_from(count).unwrap_or(0).min(1024);
    (FIRST..FIRST + count).filter_map(take_inherited).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_goes_through_with_its_message() {
        let (near, far) = pair().unwrap();
        let (mut kept, given) = UnixStream::pair().unwrap();
        send(near.as_fd(), b"here", Some(given.as_fd())).unwrap();
        send(near.as_fd(), b"none", None).unwrap();
        drop(given);
        let mut buf = [0; 8];
        let (count, passed) = receive(far.as_fd(), &mut buf, PassWait::AsSet).unwrap();
        assert_eq!(&buf[..count], b"here");
        kept.write_all(b"x").unwrap();
        let mut got = [0; 1];
        let mut passed = UnixStream::from(passed.unwrap());
        passed.read_exact(&mut got).unwrap();
        let (count, passed) = receive(far.as_fd(), &mut buf, PassWait::AsSet).unwrap();
        assert_eq!(
            (&buf[..count], passed.is_none()),
            (b"none".as_slice(), true)
        );
        let nothing = receive(far.as_fd(), &mut buf, PassWait::Never).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        drop(near);
        let (count, passed) = receive(far.as_fd(), &mut buf, PassWait::AsSet).unwrap();
        assert_eq!((count, passed.is_none()), (0, true));
    }

    #[test]
    fn passing_to_a_full_socket_does_not_block() {
        let (near, _far) = pair().unwrap();
        let full = (0..100_000).find_map(|_| send(near.as_fd(), &[0; 512], None).err());
        assert_eq!(full.unwrap().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn closed_descriptors_and_standard_streams_are_not_taken() {
        assert!(take_inherited(0).is_none());
        assert!(take_inherited(1_000_000).is_none());
    }
}
