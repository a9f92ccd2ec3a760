//! Socket addresses that are not IP addresses (vsock(7), packet(7)).

use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::{fs, io};

use socket2::{SockAddr, SockAddrStorage};

use super::call::{Plain, checked};

/// `VMADDR_CID_ANY` and `VMADDR_PORT_ANY`.
pub const VSOCK_ANY: u32 = libc::VMADDR_CID_ANY;

/// The family of permanent virtual circuits of ATM, `AF_ATMPVC`.
pub const ATM_PVC: i32 = libc::AF_ATMPVC;

/// `IOCTL_VM_SOCKETS_GET_LOCAL_CID` (vsock(7)).
const GET_LOCAL_CID: libc::Ioctl = 0x7b9;

/// A socket address of these bytes, which begin with its family.
pub(super) fn of<T: Plain>(raw: T) -> SockAddr {
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: any bytes are an address, and `view_as` has compared the sizes.
    *unsafe { storage.view_as() } = raw;
    let len = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the storage holds so many bytes of an address.
    unsafe { SockAddr::new(storage, len) }
}

/// The bytes of an address of this family; `None` for one of another.
pub(super) fn read<T: Plain>(address: &SockAddr, family: libc::c_int) -> Option<T> {
    const { assert!(size_of::<T>() <= size_of::<SockAddrStorage>()) };
    // SAFETY: the storage is larger and aligned for any address.
    let raw = || unsafe { address.as_ptr().cast::<T>().read() };
    (libc::c_int::from(address.family()) == family).then(raw)
}

/// The address of a vsock socket.
#[must_use]
pub fn vsock(cid: u32, port: u32) -> SockAddr {
    SockAddr::vsock(cid, port)
}

/// Context id and port of a vsock address.
#[must_use]
pub fn as_vsock(address: &SockAddr) -> Option<(u32, u32)> {
    address.as_vsock_address()
}

/// Context id that an earlier process or user of this program has read.
static KNOWN_CID: OnceLock<u32> = OnceLock::new();

/// Sets the context id of this machine, for a process that cannot open /dev/vsock.
pub fn set_local_cid(cid: u32) {
    // Another value cannot be known.
    let _known = KNOWN_CID.set(cid);
}

/// The context id of this machine.
///
/// # Errors
/// When there is no /dev/vsock, this user cannot open it, or its transport is not loaded.
pub fn local_cid() -> io::Result<u32> {
    if let Some(cid) = KNOWN_CID.get() {
        return Ok(*cid);
    }
    let device = fs::File::open("/dev/vsock")?;
    let mut cid: libc::c_uint = 0;
    // SAFETY: the request writes one unsigned int, which `cid` is.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), GET_LOCAL_CID, &raw mut cid) })?;
    Ok(cid)
}
