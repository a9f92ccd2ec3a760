//! Data paths: which one a job takes, and the endpoint that moves its bytes.
//!
//! [`choose`] maps a job to a [`DataPath`]. [`stream`], [`aimed`] and [`answering`] map the path, the
//! job and the way of waiting to the type of an endpoint, and pass a maker of such endpoints to a
//! visitor. Loops thus stay generic over the endpoint, for one flow and for many. [`PathDirection`]
//! does the same for bulk data both ways, and [`transfer`] for iperf.

mod opening;
pub mod transfer;
mod visit;

use std::io;
use std::time::Duration;

use netperf_model::{EndJob, EndSetup, Ending, IoMethod, IoPlan, Sources, Stamper, TestId};
use netperf_os::{SockAddr, Socket};

use self::opening::MakeSpliced;
pub use self::opening::{
    EndpointOptions, OpenError, OpenStep, Opened, WaitMode, fills_buffer, size, trains,
};
pub use self::visit::{
    DatagramVisitor, MakeDatagrams, MakeEndpoint, MakeStream, PairVisitor, StreamVisitor,
};
use crate::duplex::PathEndpoint;
use crate::io::{Again, ByRing, Discarding, Numbered, OnRing, Sleep, Spin, Stamped};
use crate::meeting::{Addresses, OnSocket, Parts as _};
use crate::tcp::{Tcp, Written};
use crate::udp::{Aimed, ToPeer, Udp};

/// Data path of a flow, or of one direction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// The connection is only opened.
    OpenOnly,
    /// A connection for each transaction.
    Connections,
    /// Bulk data both ways: each direction has its own path.
    BothWays,
    /// Requests that are sent when they are due.
    OpenLoop,
    /// A file, by sendfile(2).
    File,
    /// From socket to pipe to nowhere, by splice(2).
    Splice,
    /// Many sends under way in a ring of io_uring.
    RingSend,
    /// Many receives under way in a ring of io_uring.
    RingRecv,
    /// Sends without a copy (`MSG_ZEROCOPY`).
    ZeroCopy,
    /// Sends without a copy, by io_uring.
    RingZeroCopy,
    /// Received bytes are dropped in the kernel (`MSG_TRUNC`).
    Discard,
    /// Transactions with time stamps.
    Stamped(Stamper),
    /// Many datagrams in a call to send.
    BatchSend,
    /// Many datagrams in a call to receive.
    BatchRecv,
    /// read(2) and write(2).
    Write,
    /// A call for each message.
    Call,
}

/// Kinds of transports, by the data paths that they offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathClass {
    /// A byte stream on a socket that can be spliced and sent files over.
    Stream,
    /// Datagrams on a socket that can move many of them in a call.
    Datagrams,
    /// Nothing else.
    Other,
}

/// The data path that a job asks for.
#[must_use]
pub fn choose(job: &EndJob, class: PathClass) -> DataPath {
    if job.connects {
        DataPath::Connections
    } else if job.duplex.is_some() && class != PathClass::Other {
        DataPath::BothWays
    } else {
        match class {
            PathClass::Stream => of_stream(job),
            PathClass::Datagrams => of_datagrams(job),
            PathClass::Other if job.is_open_loop() => DataPath::OpenLoop,
            PathClass::Other => DataPath::Call,
        }
    }
}

fn of_stream(job: &EndJob) -> DataPath {
    let io = &job.end.io;
    // netserver takes the option for requests, too.
    let splices = job.end.copy_avoidance && job.receives && !job.is_netperf();
    let by_uring = io.method == IoMethod::Uring;
    let paths = [
        (job.test == TestId::TcpMss, DataPath::OpenOnly),
        (job.test == TestId::TcpSendfile, DataPath::File),
        (splices, DataPath::Splice),
        (
            job.only_receives() && (job.end.copy_avoidance || io.splice),
            DataPath::Splice,
        ),
        (job.only_receives() && by_ring(io), DataPath::RingRecv),
        (job.only_sends() && by_ring(io), DataPath::RingSend),
        (job.only_receives() && io.discard, DataPath::Discard),
        (
            job.only_sends() && io.zerocopy && by_uring,
            DataPath::RingZeroCopy,
        ),
        (job.only_sends() && io.zerocopy, DataPath::ZeroCopy),
    ];
    first(paths).unwrap_or_else(|| {
        let path = of_messages(job);
        if job.use_write && path == DataPath::Call {
            DataPath::Write
        } else {
            path
        }
    })
}

fn of_datagrams(job: &EndJob) -> DataPath {
    let io = &job.end.io;
    let one_way = !job.is_request_response() && job.ending == Ending::Omni;
    let many = one_way && (io.is_batched() || io.discard);
    let paths = [
        (many && by_ring(io) && job.sends, DataPath::RingSend),
        (many && by_ring(io), DataPath::RingRecv),
        (many && job.sends, DataPath::BatchSend),
        (many, DataPath::BatchRecv),
    ];
    first(paths).unwrap_or_else(|| of_messages(job))
}

/// Paths that move one message at a time.
fn of_messages(job: &EndJob) -> DataPath {
    match job.end.stamps {
        Some(by) if !job.only_sends() || job.is_netperf() => DataPath::Stamped(by),
        _ if job.is_open_loop() => DataPath::OpenLoop,
        _ => DataPath::Call,
    }
}

fn first<const N: usize>(paths: [(bool, DataPath); N]) -> Option<DataPath> {
    let found = paths.into_iter().find(|(asked, _)| *asked);
    found.map(|(_, path)| path)
}

/// Returns whether a ring moves many messages at a time.
fn by_ring(io: &IoPlan) -> bool {
    io.method == IoMethod::Uring && io.is_batched()
}

/// This build only has the paths of netperf 2.7.
const IS_SMALL: bool = !cfg!(any(feature = "flows", feature = "paths"));

/// A path that has no endpoint, or none in this build.
fn without_endpoint() -> OpenError {
    OpenStep::Socket.failed()(io::ErrorKind::Unsupported.into())
}

fn spinning<E: OnSocket>(inner: E, patience: Option<Duration>) -> Opened<Again<E, Spin>> {
    Again::spinning(inner, patience).map_err(OpenStep::Socket.failed())
}

fn sleeping<E: OnSocket>(inner: E, patience: Option<Duration>) -> Opened<Again<E, Sleep>> {
    Again::sleeping(inner, patience).map_err(OpenStep::Socket.failed())
}

/// Sends the calls of an endpoint through a ring in which none waits.
fn never_waiting<E: OnRing>(inner: E) -> Opened<ByRing<E>> {
    ByRing::of_both_ways(inner).map_err(OpenStep::Ring.failed())
}

/// Passes endpoints to a method of a visitor that wait as `--io` says, where they are of one flow. A
/// receive gives up after `$patience`.
macro_rules! polled {
    ($how:ident, $visitor:ident.$loops:ident, $from:ty, $patience:expr, $make:expr) => {{
        let (make, patience): (_, Option<Duration>) = ($make, $patience);
        match $how.io.method {
            _ if IS_SMALL => $visitor.$loops(make),
            IoMethod::Poll if V::IS_ONE => {
                $visitor.$loops(move |from: $from| spinning(make.one(from)?, patience))
            }
            IoMethod::Epoll if V::IS_ONE => {
                $visitor.$loops(move |from: $from| sleeping(make.one(from)?, patience))
            }
            IoMethod::Blocking | IoMethod::Poll | IoMethod::Epoll | IoMethod::Uring => {
                $visitor.$loops(make)
            }
        }
    }};
}

/// The same for endpoints that a ring serves, of one flow or of many.
macro_rules! waited {
    ($how:ident, $visitor:ident.$loops:ident, $from:ty, $patience:expr, $make:expr) => {{
        let (make, patience): (_, Option<Duration>) = ($make, $patience);
        Ok(match $how.io.method {
            _ if IS_SMALL => $visitor.$loops(make),
            IoMethod::Uring => {
                $visitor.$loops(move |from: $from| $how.by_ring(make(from)?, patience))
            }
            IoMethod::Blocking | IoMethod::Poll | IoMethod::Epoll => {
                polled!($how, $visitor.$loops, $from, patience, make)
            }
        })
    }};
}

/// Opens a path over connected sockets.
///
/// # Errors
/// `Unsupported` for a path that has no endpoint, or none in this build.
pub fn stream<V: StreamVisitor>(
    path: DataPath,
    how: EndpointOptions<'_>,
    visitor: V,
) -> Opened<V::Out> {
    Ok(match path {
        DataPath::File if V::ASKS && visitor.is_netperf() => {
            visitor.sends(move |socket| how.file_sender(socket))
        }
        DataPath::Splice if how.only_receives => {
            polled!(how, visitor.receives, Socket, None, MakeSpliced)
        }
        DataPath::Splice => visitor.moves(MakeSpliced),
        DataPath::Write if V::IS_ONE => visitor.moves(|socket| Ok(Written(socket))),
        DataPath::File | DataPath::OpenOnly | DataPath::Write | DataPath::Call => {
            return plain_stream(how, visitor);
        }
        _ if IS_SMALL => return Err(without_endpoint()),
        DataPath::OpenLoop if V::IS_ONE && how.use_write => {
            visitor.asks_when_due(|socket| Ok(Written(socket)))
        }
        DataPath::OpenLoop if V::IS_ONE && how.is_by_ring() => {
            visitor.asks_when_due(|socket| never_waiting(Tcp(socket)))
        }
        DataPath::OpenLoop if V::IS_ONE => visitor.asks_when_due(|socket| Ok(Tcp(socket))),
        DataPath::OpenLoop => return plain_stream(how, visitor),
        DataPath::RingSend => visitor.sends(move |socket| how.ring_send::<false>((socket, None))),
        DataPath::RingRecv => visitor.receives(move |socket| how.ring_recv(socket, false)),
        DataPath::ZeroCopy => visitor.sends(move |socket| how.zero_copy(socket)),
        DataPath::RingZeroCopy => visitor.sends(move |socket| how.ring_zero_copy(socket)),
        DataPath::Discard => {
            let make = move |socket| Ok(how.discarding(socket));
            return waited!(how, visitor.receives, Socket, None, make);
        }
        DataPath::Stamped(by) => {
            let asks = visitor.is_netperf();
            visitor.moves(move |socket| {
                Stamped::stream(socket, asks, (by, how.flows()))
                    .map_err(OpenStep::Stamps(by).failed())
            })
        }
        DataPath::BatchSend | DataPath::BatchRecv | DataPath::Connections | DataPath::BothWays => {
            return Err(without_endpoint());
        }
    })
}

/// Opens the path of a call for each message.
fn plain_stream<V: StreamVisitor>(how: EndpointOptions<'_>, visitor: V) -> Opened<V::Out> {
    match how.early_responses {
        Some(most) if V::IS_ONE && V::ASKS && visitor.is_netperf() => {
            let make = move |socket| how.early_reader(socket, most);
            waited!(how, visitor.exchanges, Socket, None, make)
        }
        _ if how.use_write && !how.is_by_ring() => Ok(visitor.moves(|socket| Ok(Written(socket)))),
        _ => waited!(how, visitor.moves, Socket, None, |socket| Ok(Tcp(socket))),
    }
}

/// Opens a path of datagrams to one address.
///
/// # Errors
/// `Unsupported` for a path that this build lacks.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other paths are a call for each message"
)]
pub fn aimed<E: Aimed, V: DatagramVisitor<E>>(
    path: DataPath,
    how: EndpointOptions<'_>,
    visitor: V,
) -> Opened<V::Out> {
    Ok(match path {
        DataPath::Call => return plain_aimed(how, visitor),
        _ if IS_SMALL => return Err(without_endpoint()),
        DataPath::Stamped(by) if how.repeats.is_some() => {
            visitor.asks_when_due(move |endpoint: E| {
                let (socket, to) = endpoint.into_parts();
                Numbered::asking(socket, to).map_err(OpenStep::Stamps(by).failed())
            })
        }
        DataPath::Stamped(by) => visitor.asks(move |endpoint: E| {
            let (socket, to) = endpoint.into_parts();
            Stamped::asking(socket, to, (by, how.flows())).map_err(OpenStep::Stamps(by).failed())
        }),
        DataPath::RingSend => {
            visitor.sends(move |endpoint: E| how.ring_send::<true>(endpoint.into_parts()))
        }
        DataPath::BatchSend => {
            let make = move |endpoint: E| how.batched_send(endpoint.into_parts());
            polled!(how, visitor.sends, E, None, make)
        }
        DataPath::RingRecv => {
            visitor.receives(move |endpoint: E| how.ring_recv(endpoint.into_parts().0, true))
        }
        DataPath::BatchRecv => {
            let make = move |endpoint: E| how.batched_recv(endpoint.into_parts().0);
            polled!(how, visitor.receives, E, None, make)
        }
        DataPath::OpenLoop if V::IS_ONE && how.is_by_ring() => {
            visitor.asks_when_due(|endpoint: E| never_waiting(endpoint))
        }
        DataPath::OpenLoop if V::IS_ONE => visitor.asks_when_due(|endpoint: E| Ok(endpoint)),
        _ => return plain_aimed(how, visitor),
    })
}

fn plain_aimed<E: Aimed, V: DatagramVisitor<E>>(
    how: EndpointOptions<'_>,
    visitor: V,
) -> Opened<V::Out> {
    waited!(how, visitor.asks, E, how.recv_timeout, |endpoint: E| Ok(
        endpoint
    ))
}

/// Opens a path that only receives datagrams, from any address: many of them in a call.
///
/// # Errors
/// `Unsupported` for another path, or for one that this build lacks.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other paths do more than receive"
)]
pub fn receiving<V: DatagramVisitor<Socket>>(
    path: DataPath,
    how: EndpointOptions<'_>,
    visitor: V,
) -> Opened<V::Out> {
    Ok(match path {
        _ if IS_SMALL => return Err(without_endpoint()),
        DataPath::RingRecv => visitor.receives(move |socket| how.ring_recv(socket, true)),
        DataPath::BatchRecv => {
            let make = move |socket| how.batched_recv(socket);
            polled!(how, visitor.receives, Socket, None, make)
        }
        _ => return Err(without_endpoint()),
    })
}

/// Opens a path of datagrams from any of these sources.
///
/// # Errors
/// `Unsupported` for a path that this build lacks.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other paths are a call for each message"
)]
pub fn answering<E: Aimed, V: DatagramVisitor<Socket>>(
    path: DataPath,
    how: EndpointOptions<'_>,
    (udp, sources): (&Udp<E>, Sources),
    visitor: V,
) -> Opened<V::Out> {
    Ok(match path {
        _ if IS_SMALL && path != DataPath::Call => return Err(without_endpoint()),
        DataPath::RingRecv | DataPath::BatchRecv => return receiving(path, how, visitor),
        DataPath::Stamped(by) if how.repeats.is_some() => visitor.answers(move |socket| {
            Numbered::answering(socket, how.setup.send_size).map_err(OpenStep::Stamps(by).failed())
        }),
        DataPath::Stamped(by) => visitor.answers(move |socket| {
            Stamped::answering(socket, (by, how.flows())).map_err(OpenStep::Stamps(by).failed())
        }),
        _ => {
            let make = move |socket| {
                let endpoint = udp.answering(socket);
                let mut endpoint = endpoint.map_err(OpenStep::Socket.failed())?;
                endpoint.take_only_from(&sources);
                endpoint.repeat(how.repeats, how.setup.send_size);
                Ok(endpoint)
            };
            return waited!(how, visitor.answers, Socket, None, make);
        }
    })
}

/// The path of one direction of bulk data both ways.
#[derive(Clone, Copy, Debug)]
pub struct PathDirection<'a> {
    path: DataPath,
    how: EndpointOptions<'a>,
}

impl PathDirection<'_> {
    /// The direction that sends, or the one that receives.
    #[must_use]
    pub fn new(
        job: &EndJob,
        class: PathClass,
        setup: &EndSetup,
        sends: bool,
        waits: WaitMode,
    ) -> Self {
        let job = job.direction(sends);
        Self {
            path: choose(&job, class),
            how: EndpointOptions {
                // Both ends of data both ways end their connections.
                has_peer: true,
                ..EndpointOptions::of(&job, setup, waits)
            },
        }
    }

    /// Returns true if each message is a call.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.path == DataPath::Call
    }

    /// Method of waiting.
    #[must_use]
    pub const fn method(&self) -> IoMethod {
        self.how.io.method
    }

    /// Makes the endpoint on a socket of a byte stream (`to` is `None`), or on one of datagrams.
    ///
    /// # Errors
    /// Whatever the kernel reports.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other paths are calls for each message"
    )]
    pub fn endpoint<const WHOLE: bool>(
        &self,
        socket: Socket,
        to: Option<&SockAddr>,
    ) -> Opened<PathEndpoint<WHOLE>> {
        let how = &self.how;
        let (uring, patience) = (how.is_by_ring(), how.patience());
        Ok(match self.path {
            DataPath::ZeroCopy => PathEndpoint::ZeroCopy(how.zero_copy(socket)?),
            DataPath::RingZeroCopy => PathEndpoint::RingZeroCopy(how.ring_zero_copy(socket)?),
            DataPath::RingSend => PathEndpoint::RingSend(how.ring_send((socket, to.cloned()))?),
            DataPath::RingRecv => {
                PathEndpoint::RingRecv(how.ring_recv(socket, WHOLE && to.is_none())?)
            }
            DataPath::BatchSend => {
                PathEndpoint::BatchedSend(how.batched_send((socket, to.cloned()))?)
            }
            DataPath::BatchRecv => PathEndpoint::BatchedRecv(how.batched_recv(socket)?),
            DataPath::Discard if uring => {
                PathEndpoint::DiscardingByRing(how.by_ring(Discarding(socket), patience)?)
            }
            DataPath::Discard => PathEndpoint::Discarding(how.discarding(socket)),
            DataPath::Splice => PathEndpoint::Spliced(MakeSpliced.one(socket)?),
            _ if WHOLE => {
                // Of an end that answers, the first datagram tells the address.
                let own = || socket.local_addr();
                let to = to.map_or_else(own, |to| Ok(to.clone()));
                let to = to.map_err(OpenStep::Socket.failed())?;
                let endpoint = ToPeer { socket, to };
                if uring {
                    PathEndpoint::ToPeerByRing(how.by_ring(endpoint, patience)?)
                } else {
                    PathEndpoint::ToPeer(endpoint)
                }
            }
            _ if uring => PathEndpoint::TcpByRing(how.by_ring(Tcp(socket), patience)?),
            _ => PathEndpoint::Tcp(Tcp(socket)),
        })
    }

    /// Makes the endpoints of the flows of a thread.
    ///
    /// # Errors
    /// As [`Self::endpoint`].
    pub fn endpoints(&self, sockets: Vec<Socket>) -> Opened<Vec<PathEndpoint<false>>> {
        if self.path == DataPath::Splice {
            let spliced = MakeSpliced.many(sockets)?;
            return Ok(spliced.into_iter().map(PathEndpoint::Spliced).collect());
        }
        let one = |socket| self.endpoint(socket, None);
        sockets.into_iter().map(one).collect()
    }
}

/// Opens both directions of one flow, over the sockets that send and receive.
///
/// # Errors
/// Whatever opening the direction that sends reports.
pub fn pair<const WHOLE: bool, V: PairVisitor>(
    [outward, inward]: [PathDirection<'_>; 2],
    (sends, receives): (Socket, Socket),
    to: Option<&SockAddr>,
    visitor: V,
) -> Opened<V::Out> {
    let patience = inward.how.patience();
    let out = outward.endpoint::<WHOLE>(sends, to)?;
    let made = move || inward.endpoint::<WHOLE>(receives, to);
    Ok(match outward.method() {
        IoMethod::Blocking | IoMethod::Uring => visitor.pair(out, made),
        IoMethod::Poll => visitor.pair(spinning(out, None)?, move || spinning(made()?, patience)),
        IoMethod::Epoll => visitor.pair(sleeping(out, None)?, move || sleeping(made()?, patience)),
    })
}
