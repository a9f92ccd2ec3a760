//! Messages of sendmsg(2) and recvmsg(2): parts, addresses and control data.

use super::io::{STORAGE_LEN, Source};

/// A part that is sent. The kernel only reads it.
#[inline]
pub(super) fn sent_part(buf: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: buf.as_ptr().cast_mut().cast(),
        iov_len: buf.len(),
    }
}

/// A part that is received into.
#[inline]
pub(super) fn received_part(buf: &mut [u8]) -> libc::iovec {
    libc::iovec {
        iov_base: buf.as_mut_ptr().cast(),
        iov_len: buf.len(),
    }
}

/// A message without an address or control data; valid as long as the parts.
#[inline]
pub(super) fn message(parts: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: msghdr is plain data for which all zeros is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    message
}

/// The same with space for the address of its source.
#[inline]
pub(super) fn message_from(parts: &mut [libc::iovec], source: &mut Source) -> libc::msghdr {
    let mut message = message(parts);
    message.msg_name = source.storage();
    message.msg_namelen = STORAGE_LEN;
    message
}

/// Control data of a received message: level, type and data of each.
pub(super) fn controls(
    message: &libc::msghdr,
) -> impl Iterator<Item = (libc::c_int, libc::c_int, *const u8)> + '_ {
    // SAFETY: recvmsg filled in the control data and its length.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    std::iter::from_fn(move || {
        // SAFETY: a header that is not null lies inside the control data.
        let header = unsafe { next.as_ref() }?;
        // SAFETY: both describe the same control data.
        next = unsafe { libc::CMSG_NXTHDR(message, header) };
        // SAFETY: the data follows the header.
        let data = unsafe { libc::CMSG_DATA(header) };
        Some((header.cmsg_level, header.cmsg_type, data.cast_const()))
    })
}
