//! Handing open sockets to another process over a socket of the Unix domain (unix(7),
//! `SCM_RIGHTS`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::call::number;
use super::io::counted;
use super::message::{message, received_part, sent_part};
use super::pass_here;

/// Two sockets that are joined and keep messages apart (`SOCK_SEQPACKET`), closed on exec.
///
/// # Errors
/// `EMFILE` or `ENFILE` when there are too many open files.
pub fn pair() -> io::Result<(socket2::Socket, socket2::Socket)> {
    socket2::Socket::pair(socket2::Domain::UNIX, socket2::Type::SEQPACKET, None)
}

/// The size of one descriptor among control data.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the size of an int is a few bytes"
)]
const ONE: libc::c_uint = size_of::<libc::c_int>() as libc::c_uint;

/// Control buffer for one descriptor, aligned for the kernel.
#[repr(align(8))]
struct PassControl([u8; 64]);

/// A message for one buffer and this control data.
fn with_control(part: &mut [libc::iovec], control: &mut PassControl, space: usize) -> libc::msghdr {
    let mut message = message(part);
    if space > 0 {
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = space;
    }
    message
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
    let mut control = PassControl([0; 64]);
    let mut part = [sent_part(bytes)];
    // SAFETY: CMSG_SPACE only computes.
    let space = unsafe { libc::CMSG_SPACE(ONE) } as usize;
    let message = with_control(&mut part, &mut control, with.map_or(0, |_| space));
    if let Some(with) = with {
        // SAFETY: the control data has space for a header, and is zeros.
        let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        // SAFETY: CMSG_LEN only computes.
        let length = unsafe { libc::CMSG_LEN(ONE) };
        // SAFETY: the header lies inside the control data, which has space for it.
        let header = unsafe { &mut *header };
        header.cmsg_level = libc::SOL_SOCKET;
        header.cmsg_type = libc::SCM_RIGHTS;
        header.cmsg_len = length as usize;
        // SAFETY: as above.
        let data = unsafe { libc::CMSG_DATA(header) };
        // SAFETY: there is space for one descriptor behind the header.
        unsafe {
            data.cast::<libc::c_int>().write_unaligned(with.as_raw_fd());
        }
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    counted(unsafe { libc::sendmsg(to.as_raw_fd(), &raw const message, flags) }).map(drop)
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

fn receive_with_rights(
    from: BorrowedFd<'_>,
    buf: &mut [u8],
    wait: PassWait,
    rights: bool,
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut control = PassControl([0; 64]);
    let mut part = [received_part(buf)];
    // SAFETY: CMSG_SPACE only computes.
    let space = unsafe { libc::CMSG_SPACE(ONE) } as usize;
    let (space, close_on_exec) = if rights {
        (space, libc::MSG_CMSG_CLOEXEC)
    } else {
        (0, 0)
    };
    let mut message = with_control(&mut part, &mut control, space);
    let flags = match wait {
        PassWait::AsSet => close_on_exec,
        PassWait::Never => close_on_exec | libc::MSG_DONTWAIT,
    };
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    let count = counted(unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut message, flags) })?;
    Ok((count, descriptor(&message)))
}

/// Extracts the descriptor from the control data of a received message. Because of alignment,
/// the buffer may hold two.
fn descriptor(message: &libc::msghdr) -> Option<OwnedFd> {
    // SAFETY: recvmsg filled in the control data and its length.
    let first = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: a header that is not null lies inside the control data.
    let header = unsafe { first.as_ref() }?;
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
        return None;
    }
    // SAFETY: CMSG_LEN only computes.
    let one = unsafe { libc::CMSG_LEN(ONE) } as usize;
    if header.cmsg_len < one {
        return None;
    }
    // SAFETY: the data follows the header.
    let data = unsafe { libc::CMSG_DATA(header) }.cast::<libc::c_int>();
    let count = header.cmsg_len.saturating_sub(one) / size_of::<libc::c_int>() + 1;
    let mut taken = Vec::new();
    for index in 0..count {
        // SAFETY: the kernel wrote this many descriptors behind the header.
        let place = unsafe { data.add(index) };
        // SAFETY: as above, wherever it lies.
        let fd = unsafe { place.read_unaligned() };
        // SAFETY: the kernel just handed this descriptor out and nothing else owns it.
        taken.push(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    // All other descriptors are closed.
    taken.pop().filter(|_| taken.is_empty())
}

/// Lets a descriptor stay open across exec(2), for a process that is about to be started.
///
/// # Errors
/// Whatever fcntl(2) reports.
pub fn keep_on_exec(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: F_SETFD takes a number.
    number(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) }).map(drop)
}

/// Takes a descriptor that the parent process left open and sets close-on-exec. `None` if it is
/// not open, is a standard stream, or was taken before.
#[must_use]
pub fn take_inherited(number: i32) -> Option<OwnedFd> {
    use std::sync::{Mutex, PoisonError};
    static TAKEN: Mutex<Vec<i32>> = Mutex::new(Vec::new());
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
