//! Passing an endpoint on with its type.

use netperf_os::Socket;

use super::opening::Opened;
use crate::endpoint::Endpoint;
use crate::meeting::{OnSocket, Parts};

/// Makes the endpoints of a data path. The types are known when it is compiled.
pub trait MakeEndpoint<I>: Sync {
    /// The endpoint.
    type Endpoint;

    /// Makes one.
    ///
    /// # Errors
    /// Whatever the kernel reports.
    fn one(&self, from: I) -> Opened<Self::Endpoint>;

    /// Makes those of a thread.
    ///
    /// # Errors
    /// As [`Self::one`].
    fn many(&self, from: Vec<I>) -> Opened<Vec<Self::Endpoint>> {
        from.into_iter().map(|from| self.one(from)).collect()
    }
}

impl<I, E, F: Fn(I) -> Opened<E> + Sync> MakeEndpoint<I> for F {
    type Endpoint = E;

    fn one(&self, from: I) -> Opened<E> {
        self(from)
    }
}

/// Makes endpoints of connections.
pub trait MakeStream: MakeEndpoint<Socket, Endpoint: Endpoint + OnSocket> {}

impl<M: MakeEndpoint<Socket, Endpoint: Endpoint + OnSocket>> MakeStream for M {}

/// Makes endpoints of datagrams.
pub trait MakeDatagrams<I>: MakeEndpoint<I, Endpoint: Parts + OnSocket> {}

impl<I, M: MakeEndpoint<I, Endpoint: Parts + OnSocket>> MakeDatagrams<I> for M {}

/// Gets the endpoints of a path over connections. There is a method for each set of loops, so that
/// an endpoint is compiled only with those that it is used with.
pub trait StreamVisitor: Sized {
    /// Result.
    type Out;

    /// One flow, which waits in the endpoint as `--io` says; a thread of many flows waits by itself.
    const IS_ONE: bool;

    /// The program contains netperf's end.
    const ASKS: bool;

    /// Returns true for netperf's end.
    fn is_netperf(&self) -> bool;

    /// The endpoint moves whatever the job asks for.
    fn moves<M: MakeStream>(self, make: M) -> Self::Out;

    /// The endpoint only sends.
    fn sends<M: MakeStream>(self, make: M) -> Self::Out {
        self.moves(make)
    }

    /// The endpoint only receives.
    fn receives<M: MakeStream>(self, make: M) -> Self::Out {
        self.moves(make)
    }

    /// The endpoint moves requests and responses.
    fn exchanges<M: MakeStream>(self, make: M) -> Self::Out {
        self.moves(make)
    }

    /// The endpoint sends requests when they are due.
    fn asks_when_due<M: MakeStream>(self, make: M) -> Self::Out {
        self.moves(make)
    }
}

/// Gets the endpoints of a path of datagrams, made from an `I`; as [`StreamVisitor`].
pub trait DatagramVisitor<I>: Sized {
    /// Result.
    type Out;

    /// One flow, which waits in the endpoint as `--io` says; a thread of many flows waits by itself.
    const IS_ONE: bool;

    /// The endpoint sends to one address, and moves whatever the job asks for.
    fn asks<M: MakeDatagrams<I>>(self, make: M) -> Self::Out;

    /// The endpoint answers each sender, or receives from any.
    fn answers<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.asks(make)
    }

    /// The endpoint only sends.
    fn sends<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.asks(make)
    }

    /// The endpoint only receives.
    fn receives<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.asks(make)
    }

    /// The endpoint sends requests when they are due.
    fn asks_when_due<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.asks(make)
    }
}

/// Gets both directions of one flow. The one that receives is made in its own thread, to which a ring
/// and a pipe belong.
pub trait PairVisitor {
    /// Result.
    type Out;

    /// The flow.
    fn pair<O: Endpoint, I: Endpoint>(
        self,
        outward: O,
        inward: impl FnOnce() -> Opened<I> + Send,
    ) -> Self::Out;
}
