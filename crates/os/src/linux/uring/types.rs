//! Arguments and results of calls.

use socket2::SockAddr;

use crate::io::Source;

/// Destination of a message.
#[derive(Clone, Copy, Debug)]
pub enum To<'a> {
    /// To whom the socket is connected.
    Peer,
    /// To an address.
    Address(&'a SockAddr),
    /// Back to where an earlier message came from.
    Source(&'a Source),
}

/// Result of several sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Bytes that the kernel took.
    pub bytes: usize,
    /// Sends that it took any of.
    pub sends: u64,
}

/// Sends without a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Sends whose bytes the kernel still holds.
    pub now: u64,
    /// Sends whose bytes it needs no more, and of which it says whether it copied them.
    pub told: u64,
    /// The number of these that it copied.
    pub copied: u64,
}

/// Result of a receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultishotReceived {
    /// Bytes of all messages.
    pub bytes: usize,
    /// Messages, empty ones not counted.
    pub messages: u64,
    /// True if one was empty: the end.
    pub empty: bool,
}
