//! SCTP socket calls beyond ordinary sockets (sctp(7), RFC 6458): notifications, partial
//! messages, the end of one of several associations, and association status.
//!
//! Constants and layouts are those of linux/sctp.h.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::call::{get_option, plain, set_option, zeroed};
use super::io::{Source, counted, message_from};
use super::message::{Control, message, received_part, sent_part};

const SCTP_EVENTS: libc::c_int = 11;
const SCTP_STATUS: libc::c_int = 14;
const SCTP_GET_ASSOC_ID_LIST: libc::c_int = 29;
const SCTP_GET_ASSOC_STATS: libc::c_int = 112;
/// The control message that says how a message is sent (RFC 6458 section 5.3.4).
const SCTP_SNDINFO: libc::c_int = 2;
/// In its flags: no message, but the end of the association.
const SCTP_EOF: u16 = 0x200;
/// Among the flags of recvmsg(2): what came is a notification.
const MSG_NOTIFICATION: libc::c_int = 0x8000;

/// Names an association of a one-to-many socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssociationId(i32);

impl AssociationId {
    /// The only association of a one-to-one socket.
    pub const OWN: Self = Self(0);
}

/// Result of recvmsg(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// Bytes.
    pub count: usize,
    flags: libc::c_int,
}

impl MessagePart {
    /// Returns true if this part ends the message or notification.
    #[must_use]
    pub const fn is_last(self) -> bool {
        self.flags & libc::MSG_EOR != 0
    }

    /// Returns true if this is part of a notification.
    #[must_use]
    pub const fn is_notification(self) -> bool {
        self.flags & MSG_NOTIFICATION != 0
    }
}

/// recvmsg(2): a message or a part of one, its source left in `source`.
///
/// # Errors
/// Whatever recvmsg(2) reports.
#[inline]
pub fn recv(fd: BorrowedFd<'_>, buf: &mut [u8], source: &mut Source) -> io::Result<MessagePart> {
    let mut part = [received_part(buf)];
    let mut message = message_from(&mut part, source);
    // SAFETY: every pointer in `message` describes memory that outlives the call.
    let count = counted(unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) })?;
    source.len = message.msg_namelen;
    Ok(MessagePart {
        count,
        flags: message.msg_flags,
    })
}

/// `struct sctp_sndinfo`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SendInfo {
    stream: u16,
    flags: u16,
    payload_protocol: u32,
    context: u32,
    association: i32,
}

plain!(SendInfo, RawStatus, RawStatistics, RawIds);

/// sendmsg(2) of one message over an association, never raising `SIGPIPE`.
///
/// # Errors
/// Whatever sendmsg(2) reports; `EPIPE` when the association is no more.
#[inline]
pub fn send(fd: BorrowedFd<'_>, buf: &[u8], association: AssociationId) -> io::Result<usize> {
    send_with(fd, buf, association, 0)
}

/// Ends an association once everything sent before has arrived (`SCTP_EOF`).
///
/// # Errors
/// Whatever sendmsg(2) reports; `EPIPE` when the association is no more.
pub fn end(fd: BorrowedFd<'_>, association: AssociationId) -> io::Result<()> {
    send_with(fd, &[], association, SCTP_EOF).map(drop)
}

#[inline]
fn send_with(
    fd: BorrowedFd<'_>,
    buf: &[u8],
    association: AssociationId,
    flags: u16,
) -> io::Result<usize> {
    let info = SendInfo {
        stream: 0,
        flags,
        payload_protocol: 0,
        context: 0,
        association: association.0,
    };
    let mut control = Control::new(libc::IPPROTO_SCTP, SCTP_SNDINFO, info);
    let mut part = [sent_part(buf)];
    let mut message = message(&mut part);
    if buf.is_empty() {
        message.msg_iovlen = 0;
    }
    control.attach(&mut message);
    // SAFETY: every pointer in `message` describes memory that outlives the call, and
    // sendmsg only reads the buffer.
    counted(unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
}

/// The length of the longest notification that [`AssociationChange::of`] reads.
pub const NOTIFICATION_LEN: usize = 20;

/// Association change reported by a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssociationChange {
    /// An association was established.
    Up,
    /// An association ended, gracefully or not.
    Over,
    /// Neither.
    Nothing,
}

impl AssociationChange {
    /// Reads a notification (RFC 6458 section 6.1): `struct sctp_assoc_change` begins with
    /// type, flags and length, and then the state.
    #[must_use]
    pub fn of(notification: &[u8]) -> Self {
        const ASSOC_CHANGE: u16 = 0x8001;
        const COMM_UP: u16 = 0;
        const COMM_LOST: u16 = 1;
        const SHUTDOWN_COMP: u16 = 3;
        let number = |at: usize| {
            let bytes = notification.get(at..at + 2)?;
            bytes.try_into().ok().map(u16::from_ne_bytes)
        };
        match (number(0), number(8)) {
            (Some(ASSOC_CHANGE), Some(COMM_UP)) => Self::Up,
            (Some(ASSOC_CHANGE), Some(COMM_LOST | SHUTDOWN_COMP)) => Self::Over,
            _ => Self::Nothing,
        }
    }
}

/// Enables notifications about the beginning and the end of associations.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn notify_of_changes(fd: BorrowedFd<'_>) -> io::Result<()> {
    // struct sctp_event_subscribe up to the association event: data_io, association.
    let events: [u8; 2] = [0, 1];
    // A kernel takes any length up to its own structure's.
    set_option(fd, libc::IPPROTO_SCTP, SCTP_EVENTS, &events)
}

/// `struct sctp_status` with its `struct sctp_paddrinfo`, which is packed to 4 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawStatus {
    association: i32,
    state: i32,
    window: u32,
    unacknowledged: u16,
    pending: u16,
    streams_in: u16,
    streams_out: u16,
    fragmentation_point: u32,
    primary_association: i32,
    primary_address: [u32; 32],
    primary_state: i32,
    primary_window: u32,
    primary_round_trip: u32,
    primary_timeout: u32,
    primary_mtu: u32,
}

/// Status of an association (`SCTP_STATUS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Largest part of a message in one packet, bytes.
    pub fragmentation_point: u32,
    /// Chunks in flight and in the send queue.
    pub outstanding: u32,
    /// Receive window of the peer, bytes.
    pub peer_window: u32,
    /// Smoothed round trip on the primary path; `None` below the kernel's resolution of
    /// a few milliseconds.
    pub round_trip: Option<Duration>,
}

/// getsockopt(2) of `SCTP_STATUS`.
///
/// # Errors
/// `EINVAL` when the association is no more.
pub fn status(fd: BorrowedFd<'_>, association: AssociationId) -> io::Result<Status> {
    let mut raw: RawStatus = zeroed();
    raw.association = association.0;
    get_option(fd, libc::IPPROTO_SCTP, SCTP_STATUS, &mut raw)?;
    let millis = u64::from(raw.primary_round_trip);
    Ok(Status {
        fragmentation_point: raw.fragmentation_point,
        outstanding: u32::from(raw.unacknowledged) + u32::from(raw.pending),
        peer_window: raw.window,
        round_trip: (millis > 0).then(|| Duration::from_millis(millis)),
    })
}

/// `struct sctp_assoc_stats` up to the retransmitted chunks and a little more: the kernel
/// fills what fits.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawStatistics {
    association: i32,
    timeout_address: libc::sockaddr_storage,
    max_timeout: u64,
    selective_acks_in: u64,
    selective_acks_out: u64,
    packets_out: u64,
    packets_in: u64,
    retransmitted: u64,
}

/// Chunks that were sent again since the association was made (`SCTP_GET_ASSOC_STATS`).
///
/// # Errors
/// `EINVAL` when the association is no more.
pub fn retransmissions(fd: BorrowedFd<'_>, association: AssociationId) -> io::Result<u64> {
    let mut raw: RawStatistics = zeroed();
    raw.association = association.0;
    get_option(fd, libc::IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &mut raw)?;
    Ok(raw.retransmitted)
}

/// `struct sctp_assoc_ids` with space for one.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawIds {
    count: u32,
    first: i32,
}

/// The association of a one-to-many socket that has one (`SCTP_GET_ASSOC_ID_LIST`).
///
/// # Errors
/// `NotConnected` when it has none, `EINVAL` when it has more.
pub fn only_association(fd: BorrowedFd<'_>) -> io::Result<AssociationId> {
    let mut raw = RawIds { count: 0, first: 0 };
    get_option(fd, libc::IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, &mut raw)?;
    if raw.count == 0 {
        return Err(io::ErrorKind::NotConnected.into());
    }
    Ok(AssociationId(raw.first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<SendInfo>(), 16);
        assert_eq!(size_of::<RawStatus>(), 176);
        assert_eq!(std::mem::offset_of!(RawStatus, primary_round_trip), 164);
        #[cfg(target_pointer_width = "64")]
        assert_eq!(std::mem::offset_of!(RawStatistics, retransmitted), 176);
    }

    #[test]
    fn a_notification_tells_of_the_beginning_and_the_end_of_an_association() {
        let change = |kind: u16, state: u16| {
            let mut bytes = [0; NOTIFICATION_LEN];
            bytes[..2].copy_from_slice(&kind.to_ne_bytes());
            bytes[8..10].copy_from_slice(&state.to_ne_bytes());
            AssociationChange::of(&bytes)
        };
        assert_eq!(change(0x8001, 0), AssociationChange::Up);
        assert_eq!(change(0x8001, 1), AssociationChange::Over);
        assert_eq!(change(0x8001, 3), AssociationChange::Over);
        // CANT_STR_ASSOC: it was never established.
        assert_eq!(change(0x8001, 4), AssociationChange::Nothing);
        assert_eq!(change(0x8005, 0), AssociationChange::Nothing);
        assert_eq!(
            AssociationChange::of(&[1, 0x80]),
            AssociationChange::Nothing
        );
    }
}
