//! iperf3 clients beside those of netperf (docs/decisions/0042-iperf3.md).
//!
//! The listener reads the cookie with which each connection begins: a new one starts a session
//! process, that of a session which expects streams is handed over to it. Datagrams by which
//! streams of UDP begin have no cookie, so that the sessions of one address open theirs one after
//! the other.

pub(super) mod alone;
pub(super) mod authority;
pub(super) mod message;
mod opening;
mod port;
pub(super) mod report;
pub(super) mod session;
mod streams;

pub(super) use port::{Iperf3Port, Iperf3Sockets};
