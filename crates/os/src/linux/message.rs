//! Messages of sendmsg(2) and recvmsg(2): parts, addresses and control data.

use super::call::{Plain, zeroed};

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
    let mut message: libc::msghdr = zeroed();
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    message
}

/// Control data of one kind for a message that is sent (cmsg(3)), aligned and laid out as the
/// kernel wants it.
#[repr(C)]
pub(super) struct Control<T> {
    header: libc::cmsghdr,
    data: T,
}

impl<T: Plain> Control<T> {
    #[inline]
    pub(super) fn new(level: libc::c_int, kind: libc::c_int, data: T) -> Self {
        let mut header: libc::cmsghdr = zeroed();
        header.cmsg_len = (std::mem::offset_of!(Self, data) + size_of::<T>()) as _;
        header.cmsg_level = level;
        header.cmsg_type = kind;
        Self { header, data }
    }

    /// Has a message contain it, which is valid as long as it.
    #[inline]
    pub(super) fn attach(&mut self, message: &mut libc::msghdr) {
        message.msg_control = (&raw mut *self).cast();
        message.msg_controllen = size_of::<Self>() as _;
    }
}

/// Buffer for the control data of a message that is received, aligned for the kernel.
#[repr(align(8))]
#[derive(Clone, Copy)]
pub(super) struct ControlBuffer<const N: usize>([u8; N]);

impl<const N: usize> ControlBuffer<N> {
    /// An empty one.
    #[inline]
    pub(super) const fn new() -> Self {
        Self([0; N])
    }

    /// Has a message receive into it, which is valid as long as it.
    #[inline]
    pub(super) fn attach(&mut self, message: &mut libc::msghdr) {
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = N as _;
    }
}

/// Control data of a received message: level, type and data of each.
#[inline]
pub(super) fn controls(
    message: &libc::msghdr,
) -> impl Iterator<Item = (libc::c_int, libc::c_int, &[u8])> {
    // SAFETY: recvmsg filled in the control data and its length.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    std::iter::from_fn(move || {
        // SAFETY: a header that is not null lies inside the control data.
        let header = unsafe { next.as_ref() }?;
        // SAFETY: both describe the same control data.
        next = unsafe { libc::CMSG_NXTHDR(message, header) };
        // SAFETY: the data follows the header.
        let data = unsafe { libc::CMSG_DATA(header) };
        let before = data.addr() - std::ptr::from_ref(header).addr();
        let length: usize = header.cmsg_len as _;
        let length = length.saturating_sub(before);
        // SAFETY: the kernel wrote this many bytes behind the header.
        let data = unsafe { std::slice::from_raw_parts(data, length) };
        Some((header.cmsg_level, header.cmsg_type, data))
    })
}
