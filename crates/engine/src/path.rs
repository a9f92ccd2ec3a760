//! The effect of a data path on sizes, buffers and sources.

use std::io;
use std::os::fd::AsFd as _;

use netperf_model::{EndJob, EndPlan, EndSetup, IoMethod};
use netperf_os::{Socket, filter};
use netperf_transport::io::batch::Trains;
use netperf_transport::open::trains;
pub(crate) use netperf_transport::open::{DataPath, PathClass, choose};

use crate::due::queue::DueQueue;
#[cfg(not(all(feature = "flows", feature = "paths")))]
use crate::error::{EngineError, Operation};

/// Bytes that are under way without a copy unless `-W` says otherwise, at most.
const UNDER_WAY: u32 = 4 << 20;
/// Buffers for that, at least and at most.
const BUFFERS: (u32, u32) = (16, 1024);

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

/// The queue of requests that are sent when they are due, where the job asks for that.
pub(crate) fn due_queue(job: &EndJob) -> Option<DueQueue> {
    let rate = job.end.rate.as_ref().filter(|_| job.is_open_loop())?;
    Some(DueQueue::of_one(rate))
}

/// Reports a data path that this build does not contain.
#[cfg(not(all(feature = "flows", feature = "paths")))]
pub(crate) fn not_built() -> EngineError {
    Operation::Create.unsupported()
}

#[cfg(test)]
mod tests {
    use netperf_model::catalog::transports::TRANSPORTS;
    use std::io;

    use netperf_model::{
        Arrival, Duplex, EndRole, Ending, Family, Flow, IoPlan, Limit, RatePlan, RateUnit,
        SocketPlan, Stamper, TestId, TransportId, TransportRow,
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
    fn buffers_of_sends_without_a_copy_hold_megabytes() {
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
