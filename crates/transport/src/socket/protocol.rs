//! Numbers of protocols in the catalogue of transports.

pub(super) const IPPROTO_DEFAULT: u16 = 0;
pub(super) const IPPROTO_TCP: u16 = 6;
pub(super) const IPPROTO_SCTP: u16 = 132;
pub(super) const IPPROTO_MPTCP: u16 = 262;
