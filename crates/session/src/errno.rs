//! Error numbers that netserver answers with where no system call failed.
//!
//! The number on the wire is the server's raw `errno`, which means something only
//! between like systems (control-protocol.md 1.4): these are Linux's.

use netperf_wire::RemoteErrno;

/// A value that makes no sense (`EINVAL`).
pub const INVALID: RemoteErrno = RemoteErrno(22);
/// A transport that this netserver does not have (`EPROTONOSUPPORT`).
pub const PROTOCOL: RemoteErrno = RemoteErrno(93);
/// A kind of socket that this netserver does not have (`ESOCKTNOSUPPORT`).
pub const SOCKET_TYPE: RemoteErrno = RemoteErrno(94);
/// Something that this netserver does not do (`EOPNOTSUPP`).
pub const UNSUPPORTED: RemoteErrno = RemoteErrno(95);
/// A family that this netserver does not have (`EAFNOSUPPORT`).
pub const FAMILY: RemoteErrno = RemoteErrno(97);
/// A failure without a specific number (`EIO`).
pub const OTHER: RemoteErrno = RemoteErrno(5);
