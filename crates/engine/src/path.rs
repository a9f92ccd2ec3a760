//! The data path of one flow, and its effect on sizes and buffers.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use netperf_model::{
    EndJob, EndPlan, EndSetup, Ending, Feature, IoMethod, IoPlan, Stamper, TestId,
};
use netperf_os::{SockAddr, Socket, filter};
use netperf_transport::io::batch::Trains;
use netperf_transport::io::{RingRecv, RingSend};

use crate::due::queue::DueQueue;
use crate::error::{EngineError, Operation};

/// Bytes that are under way without a copy unless `-W` says otherwise, at most.
const UNDER_WAY: u32 = 4 << 20;
/// Buffers for that, at least and at most.
const BUFFERS: (u32, u32) = (16, 1024);

/// Data path of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataPath {
    /// The connection is only opened.
    OpenOnly,
    /// A connection for each transaction.
    Connections,
    /// Bulk data both ways, a thread for each direction.
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
pub(crate) enum PathClass {
    /// A byte stream on a socket that can be spliced and sent files over.
    Stream,
    /// Datagrams on a socket that can move many of them in a call.
    Datagrams,
    /// Nothing else.
    Other,
}

/// The data path that a job asks for.
pub(crate) fn choose(job: &EndJob, class: PathClass) -> DataPath {
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

/// Has the kernel drop datagrams of other sources than netserver's policy permits, for the paths
/// that do not look at each source.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub(crate) fn take_only_permitted(job: &EndJob, socket: &Socket) -> io::Result<()> {
    let may_choose = !job.is_netperf() && job.transport.is_inet() && !job.transport.is_connected();
    let path = may_choose.then(|| choose(job, PathClass::Datagrams));
    let Some(DataPath::BothWays | DataPath::RingRecv | DataPath::BatchRecv | DataPath::Stamped(_)) =
        path
    else {
        return Ok(());
    };
    match job.sources.networks() {
        Some(networks) => filter::attach_sources(socket.as_fd(), &networks),
        None => Ok(()),
    }
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

/// Runs `$go` with an endpoint whose calls block.
#[cfg(not(feature = "paths"))]
macro_rules! by_method {
    ($job:expr, $patience:expr, $endpoint:expr, |$ready:ident| $go:expr) => {
        by_polling!($job, $endpoint, |$ready| $go)
    };
}
#[cfg(not(feature = "paths"))]
macro_rules! by_polling {
    ($job:expr, $endpoint:expr, |$ready:ident| $go:expr) => {{
        let $ready = $endpoint;
        $go
    }};
}
#[cfg(not(feature = "paths"))]
pub(crate) use {by_method, by_polling};

/// Runs `$go` with an endpoint that waits as its plan says. A receive follows every send at
/// once where `$pairs` is true.
#[cfg(feature = "paths")]
macro_rules! by_method {
    ($job:expr, $patience:expr, $endpoint:expr, |$ready:ident| $go:expr) => {{
        use netperf_transport::io::{Again, ByRing};
        let failed = $crate::error::Operation::Create.failed();
        let (method, patience) = ($job.end.io.method, $patience);
        match method {
            netperf_model::IoMethod::Blocking => {
                let $ready = $endpoint;
                $go
            }
            netperf_model::IoMethod::Poll => {
                let $ready = Again::spinning($endpoint, patience).map_err(failed)?;
                $go
            }
            netperf_model::IoMethod::Epoll => {
                let $ready = Again::sleeping($endpoint, patience).map_err(failed)?;
                $go
            }
            netperf_model::IoMethod::Uring => {
                let ridden = ByRing::new($endpoint, patience, $crate::path::pairs($job));
                let $ready = ridden.map_err($crate::path::no_ring())?;
                $go
            }
        }
    }};
}
#[cfg(feature = "paths")]
pub(crate) use by_method;

/// The same for an endpoint that a ring does not serve.
#[cfg(feature = "paths")]
macro_rules! by_polling {
    ($job:expr, $endpoint:expr, |$ready:ident| $go:expr) => {{
        use netperf_transport::io::Again;
        let failed = $crate::error::Operation::Create.failed();
        match $job.end.io.method {
            netperf_model::IoMethod::Blocking | netperf_model::IoMethod::Uring => {
                let $ready = $endpoint;
                $go
            }
            netperf_model::IoMethod::Poll => {
                let $ready = Again::spinning($endpoint, None).map_err(failed)?;
                $go
            }
            netperf_model::IoMethod::Epoll => {
                let $ready = Again::sleeping($endpoint, None).map_err(failed)?;
                $go
            }
        }
    }};
}
#[cfg(feature = "paths")]
pub(crate) use by_polling;

/// A size that preparing derived.
pub(crate) fn size(size: Option<u32>) -> usize {
    size.and_then(|size| usize::try_from(size).ok())
        .unwrap_or(0)
}

/// True if this many requests may not fit into the socket's send buffer, so that both ends could
/// wait in send(2) for each other.
pub(crate) fn fills_buffer(requests: usize, setup: &EndSetup) -> bool {
    requests.saturating_mul(size(setup.send_size)) > size(setup.send_buffer) / 2
}

/// Number of datagrams per call.
pub(crate) fn trains(io: &IoPlan) -> Trains {
    Trains {
        messages: io.batch.unwrap_or(1),
        segments: io.segments,
    }
}

/// Buffers that a sender without copies needs: none is used again before the kernel has
/// given it back.
pub(crate) fn zerocopy_width(size: Option<u32>) -> u32 {
    let (fewest, most) = BUFFERS;
    (UNDER_WAY / size.unwrap_or(1).max(1)).clamp(fewest, most)
}

/// Size and number of the buffers in each direction. Where a call moves many messages, a buffer has
/// space for all of them and there are as many fewer.
pub(crate) fn buffers(
    plan: &EndPlan,
    setup: &EndSetup,
    bulk: bool,
) -> ((Option<u32>, u32), (Option<u32>, u32)) {
    let send = (setup.send_size, setup.send_width);
    let recv = (setup.recv_size, setup.recv_width);
    if !bulk || !plan.io.is_batched() {
        return (send, recv);
    }
    let trains = trains(&plan.io);
    let by_ring = plan.io.method == IoMethod::Uring;
    let larger = |(size, width): (Option<u32>, u32), grown: fn(Trains, usize) -> usize| {
        let Some(size) = size else {
            return (None, width);
        };
        let buffer = grown(trains, usize::try_from(size).unwrap_or(usize::MAX));
        let buffer = u32::try_from(buffer).unwrap_or(u32::MAX);
        let fewer = width.div_ceil((buffer / size.max(1)).max(1));
        (Some(buffer), fewer.max(2))
    };
    (
        larger(send, Trains::send_buffer),
        // A ring has separate receive buffers.
        if by_ring {
            recv
        } else {
            larger(recv, Trains::recv_buffer)
        },
    )
}

/// Returns whether a ring moves many messages at a time.
pub(crate) fn by_ring(io: &IoPlan) -> bool {
    io.method == IoMethod::Uring && io.is_batched()
}

/// Makes a ring that sends many messages at a time.
pub(crate) fn ring_send<const WHOLE: bool>(
    (io, setup): (&IoPlan, &EndSetup),
    (socket, to): (Socket, Option<SockAddr>),
    patience: Option<Duration>,
) -> io::Result<RingSend<WHOLE>> {
    let message = size(setup.send_size);
    let many = (size(io.batch).max(1), trains(io).train(message));
    let ring = RingSend::new(socket, to, many, patience)?;
    if io.segments {
        ring.cut_into(message)
    } else {
        Ok(ring)
    }
}

/// Makes a ring that receives many messages at a time; they have a source to answer where it
/// `tells`.
pub(crate) fn ring_recv(
    (io, setup): (&IoPlan, &EndSetup),
    socket: Socket,
    tells: bool,
    patience: Option<Duration>,
) -> io::Result<RingRecv> {
    let space = trains(io).slot(size(setup.recv_size));
    let many = (size(io.batch).max(1), space);
    if io.segments {
        RingRecv::put_together(socket, many, patience)
    } else {
        RingRecv::new(socket, many, tells, patience)
    }
}

/// Returns whether every receive follows a send at once, without a wait in between.
pub(crate) fn pairs(job: &EndJob) -> bool {
    job.is_request_response() && job.end.pace.is_none_or(|pace| pace.burst == 0)
}

/// The queue of requests that are sent when they are due, where the job asks for that.
pub(crate) fn due_queue(job: &EndJob) -> Option<DueQueue> {
    let rate = job.end.rate.as_ref().filter(|_| job.is_open_loop())?;
    Some(DueQueue::of_one(rate))
}

/// Reports a data path that this build does not contain.
#[cfg(not(all(feature = "flows", feature = "paths")))]
pub(crate) fn not_built() -> EngineError {
    Operation::Create.failed()(io::ErrorKind::Unsupported.into())
}

/// Wraps the refusal of time stamps.
pub(crate) fn no_stamps(by: Stamper) -> impl FnOnce(io::Error) -> EngineError {
    Operation::Extra(by.feature()).failed()
}

/// Wraps the refusal of a ring of io_uring.
pub(crate) fn no_ring() -> impl FnOnce(io::Error) -> EngineError {
    Operation::Extra(Feature::Uring).failed()
}

#[cfg(test)]
mod tests {
    use netperf_model::catalog::transports::TRANSPORTS;
    use netperf_model::{
        Arrival, Duplex, EndRole, Family, Flow, Limit, RatePlan, RateUnit, SocketPlan, TransportId,
        TransportRow,
    };
    use netperf_transport::meeting::{Addresses, Connects};
    use netperf_transport::registry::{self, Asked, Visitor};
    use netperf_transport::udp::{Aimed, Udp};

    use super::*;

    #[test]
    fn a_batch_has_one_buffer_and_there_are_as_many_fewer() {
        let plan = EndPlan {
            io: IoPlan {
                batch: Some(8),
                segments: true,
                ..IoPlan::default()
            },
            ..EndPlan::default()
        };
        let setup = EndSetup {
            send_size: Some(64),
            send_width: 3329,
            ..EndSetup::default()
        };
        let (send, recv) = buffers(&plan, &setup, true);
        assert_eq!(send, (Some(64 * 64 * 8), 7));
        assert_eq!(recv, (None, 0));
        assert_eq!(buffers(&plan, &setup, false).0, (Some(64), 3329));
    }

    #[test]
    fn what_is_sent_without_a_copy_has_room_for_megabytes() {
        assert_eq!(zerocopy_width(Some(16_384)), 256);
        assert_eq!(zerocopy_width(Some(64)), 1024);
        assert_eq!(zerocopy_width(Some(1 << 30)), 16);
    }

    /// The class of a transport, as the registry has it.
    struct Class;

    impl Visitor for Class {
        type Out = PathClass;

        fn stream<C: Connects + Sync>(self, _: C) -> PathClass {
            PathClass::Stream
        }

        fn connection<C: Connects + Sync>(self, _: C) -> PathClass {
            PathClass::Other
        }

        fn datagrams<E: Aimed>(self, _: Udp<E>) -> PathClass {
            PathClass::Datagrams
        }

        fn addressed<A: Addresses>(self, _: A) -> PathClass {
            PathClass::Other
        }

        fn absent(self, _: io::Error) -> PathClass {
            PathClass::Other
        }
    }

    fn class(transport: TransportId) -> PathClass {
        let asked = Asked {
            socket: &SocketPlan::default(),
            associations: 1,
            exchange: false,
        };
        registry::visit(transport, asked, Class)
    }

    /// An option and how it changes the plan of an end.
    type Choice = (&'static str, fn(&mut EndJob));

    const OPTIONS: [Choice; 18] = [
        ("none", |_| {}),
        ("--io epoll", |job| job.end.io.method = IoMethod::Epoll),
        ("--io uring", |job| job.end.io.method = IoMethod::Uring),
        ("--batch", |job| job.end.io.batch = Some(8)),
        ("--io uring --batch", |job| {
            job.end.io.method = IoMethod::Uring;
            job.end.io.batch = Some(8);
        }),
        ("--segments", |job| job.end.io.segments = true),
        ("--io uring --segments", |job| {
            job.end.io.method = IoMethod::Uring;
            job.end.io.segments = true;
        }),
        ("--zerocopy", |job| job.end.io.zerocopy = true),
        ("--io uring --zerocopy", |job| {
            job.end.io.method = IoMethod::Uring;
            job.end.io.zerocopy = true;
        }),
        ("--discard", |job| job.end.io.discard = true),
        ("--splice", |job| job.end.io.splice = true),
        ("-V", |job| job.end.copy_avoidance = true),
        ("--timestamps", |job| job.end.stamps = Some(Stamper::Kernel)),
        ("--rate", |job| {
            job.end.rate = Some(RatePlan {
                per_second: 1e3,
                unit: RateUnit::Transactions,
                arrival: Arrival::Constant,
                seed: None,
            });
        }),
        ("-I", |job| job.use_write = true),
        ("TCP_SENDFILE", |job| job.test = TestId::TcpSendfile),
        ("TCP_MSS", |job| job.test = TestId::TcpMss),
        ("classic UDP_STREAM", |job| {
            job.ending = Ending::OddDatagram(64);
        }),
    ];

    const FLOWS: [(&str, Flow); 6] = [
        ("stream", Flow::SEND),
        ("maerts", Flow::RECEIVE),
        ("rr", Flow::RR),
        ("crr", Flow::CRR),
        ("both, one socket", Flow::both_ways(Duplex::Same)),
        ("both, two sockets", Flow::both_ways(Duplex::Separate)),
    ];

    /// The paths of all options for a kind of test, an option a line unless it changes nothing.
    fn table(class: PathClass, (name, flow): (&str, Flow), role: EndRole) -> String {
        let transport = match class {
            PathClass::Stream => TransportId::Tcp,
            PathClass::Datagrams => TransportId::Udp,
            PathClass::Other => TransportId::Sctp,
        };
        let path = |set: fn(&mut EndJob)| {
            let mut job = EndJob::new(transport, Family::V4, flow, Limit::UntilStopped);
            if role == EndRole::Netperf {
                (job.sends, job.receives) = (flow.sends, flow.receives);
                job.role = role;
            }
            set(&mut job);
            let path = |job: &EndJob| format!("{:?}", choose(job, class));
            match path(&job).as_str() {
                "BothWays" => [true, false]
                    .map(|sends| path(&job.direction(sends)))
                    .join(", "),
                path => path.to_owned(),
            }
        };
        let usual = path(|_| {});
        let mut text = format!("{class:?} {name} {role:?}: {usual}\n");
        for (option, set) in OPTIONS {
            let chosen = path(set);
            if chosen != usual {
                text += &format!("  {option}: {chosen}\n");
            }
        }
        text
    }

    #[test]
    fn every_job_has_the_data_path_of_the_snapshot() {
        let mut text = String::new();
        for class in [PathClass::Stream, PathClass::Datagrams, PathClass::Other] {
            for flow in FLOWS {
                for role in [EndRole::Netperf, EndRole::Netserver] {
                    text += &table(class, flow, role);
                }
            }
        }
        insta::assert_snapshot!("data_paths", text);
    }

    #[test]
    fn every_transport_has_the_class_of_the_snapshot() {
        let line = |row: &TransportRow| format!("{}: {:?}\n", row.option, class(row.id));
        let text: String = TRANSPORTS.iter().map(line).collect();
        insta::assert_snapshot!("path_classes", text);
    }
}
