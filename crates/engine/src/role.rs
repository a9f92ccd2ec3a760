//! The role of an end, as a type: a program contains the loops of one role alone.

use std::fmt;

use netperf_model::EndRole;

/// The role of an end.
pub trait Role: Copy + fmt::Debug + Sync + 'static {
    /// The role as a value.
    const ROLE: EndRole;
    /// True for netperf's end.
    const NETPERF: bool = matches!(Self::ROLE, EndRole::Netperf);
}

/// netperf's end: it connects and asks.
#[derive(Clone, Copy, Debug)]
pub enum Client {}

impl Role for Client {
    const ROLE: EndRole = EndRole::Netperf;
}

/// netserver's end: it accepts and answers.
#[derive(Clone, Copy, Debug)]
pub enum Server {}

impl Role for Server {
    const ROLE: EndRole = EndRole::Netserver;
}
