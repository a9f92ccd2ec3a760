//! Operations that are generic over the types of a transport.

use std::io::Error;

use netperf_model::SocketPlan;

use crate::meeting::{Addresses, Connects, OnSocket};
use crate::udp::{Aimed, Udp};

/// An operation that is generic over the types of a transport.
pub trait Visitor {
    /// Result of the operation.
    type Out;

    /// A byte stream whose socket also supports write(2), splice(2) and sendfile(2): any stream
    /// endpoint can be used once it is connected.
    fn stream<C: Connects + Sync>(self, how: C) -> Self::Out;

    /// Any other connection-oriented transport.
    fn connection<C: Connects + Sync>(self, how: C) -> Self::Out;

    /// Datagrams on a socket that supports batched calls.
    fn datagrams<E: Aimed>(self, how: Udp<E>) -> Self::Out;

    /// Any other connectionless transport.
    fn addressed<A: Addresses>(self, how: A) -> Self::Out;

    /// Any other connectionless transport with one socket at each end.
    fn messages<A>(self, how: A) -> Self::Out
    where
        Self: Sized,
        A: Addresses + Sync,
        A::Asking: OnSocket + Send,
        A::Answering: OnSocket + Send,
    {
        self.addressed(how)
    }

    /// A transport that this build does not contain.
    fn absent(self, error: Error) -> Self::Out;
}

/// Parameters of a test that affect the choice of transport types.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Options of the data socket.
    pub socket: &'a SocketPlan,
    /// Number of associations that netperf opens (SCTP one-to-many), if known.
    pub associations: u32,
    /// True if every message is a request or a response.
    pub exchange: bool,
}
