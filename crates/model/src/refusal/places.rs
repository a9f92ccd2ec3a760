//! The table of features: the tests and transports in which each has a place.

use super::EndPart::{BothWays, Nothing, Receive, Send, Transactions};
use super::conditions::{
    PLAIN, SENDS_AT_ONCE, TCP_AND_UDP, TELLS_OF_TCP, any_end, asks, has_bursts, is_often_enough,
    is_particular, other_calls, paced_sender, particular_receiver, rate,
};
use super::{EndCase, EndPart, TCP, UDP, is_empty};
use crate::catalog::settings::{Setting, SettingLayer};
use crate::catalog::tests::{Suite, TestId};
use crate::catalog::transports::TransportId;
use crate::io::{Feature, IoMethod, IoPlan};
use crate::many::Many;
use crate::one_way::{Stamper, Stamps};
use crate::plan::{Duplex, EndPlan, RingPlan, TouchPlan};
use crate::quality::NUMBER_BYTES;
use crate::rate::{Arrival, RateUnit};

/// The place of some features.
struct Place {
    features: &'static [Feature],
    /// Parts of an end that have them; empty for all.
    parts: &'static [EndPart],
    not_in_part: &'static str,
    /// Transports that have them; empty for all.
    transports: &'static [TransportId],
    not_over: &'static str,
    /// Reasons against them beside other options, in the order in which they are given.
    unless: &'static [(Condition, &'static str)],
}

type Condition = fn(&EndCase<'_>) -> bool;

/// A place everywhere.
const ANYWHERE: Place = Place {
    features: &[],
    parts: &[],
    not_in_part: "",
    transports: &[],
    not_over: "",
    unless: &[],
};

/// The reason against a feature of an end; `None` where it has a place.
pub(super) fn why_not(case: &EndCase<'_>, feature: Feature) -> Option<&'static str> {
    let place = PLACES
        .iter()
        .find(|place| place.features.contains(&feature));
    let Some(place) = place else {
        return of_setting(case, feature);
    };
    let has = |part: &EndPart| part == &case.part();
    if !place.parts.is_empty() && !place.parts.iter().any(has) {
        return Some(place.not_in_part);
    }
    if !place.transports.is_empty() && !case.over(place.transports) {
        return Some(place.not_over);
    }
    let found = place.unless.iter().find(|(is, _)| is(case));
    found.map(|(_, why)| *why)
}

/// The reason against a socket option, whose own row says which transports have it.
fn of_setting(case: &EndCase<'_>, feature: Feature) -> Option<&'static str> {
    let Feature::Setting(setting) = feature else {
        return None;
    };
    match setting.row().over {
        SettingLayer::Tcp => (!case.over(TCP)).then_some("only TCP has it"),
        SettingLayer::Ip => (!case.plan.transport.is_inet()).then_some("only IP has it"),
    }
}

const PLACES: &[Place] = &[
    Place {
        features: Feature::WAITS,
        transports: PLAIN,
        not_over: NOT_PLAIN,
        unless: &[
            (other_calls, OTHER_CALLS),
            (
                |case| case.plan.flow.connects && !case.plan.transport.is_connected(),
                CONNECTS,
            ),
            (
                |case| case.end.io.method == IoMethod::Epoll && case.end.io.is_batched(),
                "not together with --batch and --segment-offload",
            ),
        ],
        ..ANYWHERE
    },
    // A ring makes the plain calls, many at a time, and none of the other ways.
    Place {
        features: &[Feature::Uring],
        parts: STAYING,
        not_in_part: RING,
        transports: PLAIN,
        not_over: NOT_PLAIN,
        unless: &[
            (other_calls, OTHER_CALLS),
            (
                |case| case.end.io.discard && (case.end.io.batch.is_some() || case.over(UDP)),
                "with --discard only over TCP and without --batch",
            ),
            (
                |case| case.end.io.zerocopy && case.end.io.batch.is_some(),
                "not together with --zerocopy and --batch",
            ),
            // Batches arrive in memory that the kernel chooses.
            (
                |case| {
                    let looks = case.end.touch != TouchPlan::default() || case.end.sequence;
                    case.end.io.is_batched() && case.receives && looks
                },
                "with --batch and --segment-offload the data that arrives is not read: leave out \
                 -k, -K and --sequence",
            ),
        ],
    },
    Place {
        features: &[Feature::ZeroCopy],
        parts: SENDS,
        not_in_part: STREAMS,
        transports: TCP,
        not_over: "only over TCP, and not with TCP_SENDFILE",
        unless: &[
            (
                |case| case.is(TestId::TcpSendfile),
                "only over TCP, and not with TCP_SENDFILE",
            ),
            (
                |case| {
                    let polls = matches!(case.end.io.method, IoMethod::Poll | IoMethod::Epoll);
                    polls || case.plan.use_write
                },
                "it waits for the kernel: not with --io poll or epoll, nor with -I",
            ),
        ],
    },
    Place {
        features: &[Feature::Discard],
        parts: RECEIVES,
        not_in_part: STREAMS,
        transports: TCP_AND_UDP,
        not_over: "only over TCP and UDP",
        unless: &[(|case| case.over(UDP) && is_particular(case.end), PARTICULAR)],
    },
    Place {
        features: &[Feature::Batch],
        parts: BULK,
        not_in_part: STREAMS,
        transports: TCP_AND_UDP,
        not_over: "only over UDP",
        unless: &[
            (
                |case| case.over(TCP) && case.end.io.method != IoMethod::Uring,
                "only over UDP",
            ),
            (particular_receiver, PARTICULAR),
            (paced_sender, PACED),
        ],
    },
    Place {
        features: &[Feature::Segments],
        parts: BULK,
        not_in_part: STREAMS,
        transports: UDP,
        not_over: "only over UDP",
        unless: &[(particular_receiver, PARTICULAR), (paced_sender, PACED)],
    },
    Place {
        features: &[Feature::Splice],
        parts: RECEIVES,
        not_in_part: STREAMS,
        transports: TCP,
        not_over: SPLICE,
        unless: &[(
            |case| case.end.io.discard || case.end.io.method == IoMethod::Uring,
            SPLICE,
        )],
    },
    // Appendices take a series, or time stamps, which say more. Arrivals are counted by every
    // receiver, failed sends by every sender; numbers and fractions of a second are asked for only
    // where they matter.
    Place {
        features: &[
            Feature::Pages,
            Feature::Arrivals,
            Feature::FailedSends,
            Feature::Numbers,
            Feature::Fractions,
        ],
        ..ANYWHERE
    },
    // A second look at one connection takes one that stays, and TCP underneath.
    Place {
        features: &[Feature::Series],
        parts: STAYING,
        not_in_part: CONNECTS,
        transports: TELLS_OF_TCP,
        not_over: "only TCP reports it (TCP_INFO)",
        unless: &[(|case| case.is(TestId::TcpMss), CONNECTS)],
    },
    // One transaction at a time, at one socket, is told from others.
    Place {
        features: &[Feature::Timestamps, Feature::DeviceStamps],
        parts: &[Transactions],
        not_in_part: STAMPS,
        transports: TCP_AND_UDP,
        not_over: STAMPS,
        unless: &[
            (
                |case| case.plan.control.is_none(),
                "client and server stamp: only with a netserver",
            ),
            (
                |case| case.plan.burst > 0,
                "not with several transactions at the same time on a flow",
            ),
            (|case| is_empty(case.plan), EMPTY),
            (
                |case| case.plan.recv_timeout.is_some(),
                "not together with -e: requests that were lost would be counted differently",
            ),
            (
                |case| is_particular(case.end) || case.end.socket.fast_open,
                "not together with -n, -N, -B and -F",
            ),
            (
                |case| {
                    let other = case.plan.use_write || case.end.copy_avoidance;
                    case.end.io != IoPlan::default() || other
                },
                "only with plain calls: not with --io, -I and -V",
            ),
        ],
    },
    Place {
        features: &[Feature::Rate],
        unless: RATE,
        ..ANYWHERE
    },
    Place {
        features: &[Feature::Sequence],
        parts: BULK,
        not_in_part: SEQUENCE,
        transports: &[
            TransportId::Udp,
            TransportId::UdpLite,
            TransportId::Dccp,
            TransportId::UnixDatagram,
        ],
        not_over: SEQUENCE,
        unless: &[
            (
                |case| case.plan.many.as_ref().is_some_and(Many::has_margins),
                "it counts from the first datagram: leave out --warmup and --cooldown",
            ),
            (|case| case.plan.control.is_none(), WITH_A_NETSERVER),
            (
                |case| case.end.io.discard,
                "not together with --discard: the numbers would be thrown away, too",
            ),
            (
                |case| {
                    let short = |ring: &RingPlan| ring.size.is_some_and(|size| size < NUMBER_BYTES);
                    let (send, recv) = (&case.end.send, &case.end.recv);
                    (case.sends && short(send)) || (case.receives && short(recv))
                },
                "a number takes 24 bytes of a message: give -m and -M of 24 or more",
            ),
        ],
    },
    Place {
        features: &[Feature::Duplex],
        parts: &[BothWays],
        not_in_part: DUPLEX,
        transports: &[
            TransportId::Tcp,
            TransportId::IpDefault,
            TransportId::Mptcp,
            TransportId::Udp,
            TransportId::UdpLite,
            TransportId::UnixStream,
            TransportId::Vsock,
        ],
        not_over: "only over TCP, Multipath TCP, UDP, UDP-Lite, Unix-domain and vsock streams",
        unless: BIDIRECTIONAL,
    },
    // The listener belongs to netserver, and accepts TCP and UDP alone.
    Place {
        features: &[Feature::OnePort],
        transports: &[
            TransportId::Tcp,
            TransportId::IpDefault,
            TransportId::Tls,
            TransportId::Ktls,
            TransportId::Udp,
        ],
        not_over: "only over TCP, TLS and UDP",
        unless: &[
            (|case| case.plan.control.is_none(), WITH_A_NETSERVER),
            (
                |case| case.plan.flow.duplex == Some(Duplex::Separate),
                "one connection at a time: give --bidirectional same",
            ),
            (
                |case| {
                    let (local, remote) = (&case.plan.local.socket, &case.plan.remote.socket);
                    local.fast_open || remote.fast_open || remote.defer_accept
                },
                "netserver's port is not the test's own: no Fast Open, no deferred accept",
            ),
            (
                |case| {
                    let remote = &case.plan.remote.socket;
                    remote.packet_info || remote.settings.value(Setting::FlowLabel).is_some()
                },
                "netserver's port is not the test's own: not with -B and --flow-label there",
            ),
        ],
        ..ANYWHERE
    },
    // netserver must hear of the end, and stop at once.
    Place {
        features: &[Feature::Until],
        unless: UNTIL,
        ..ANYWHERE
    },
    Place {
        features: &[Feature::Setting(Setting::FlowLabel)],
        transports: TCP_AND_UDP,
        not_over: "only over TCP and UDP",
        unless: &[(
            |case| {
                let label = |end: &EndPlan| end.socket.settings.value(Setting::FlowLabel);
                let (local, remote) = (label(&case.plan.local), label(&case.plan.remote));
                remote.is_some() && remote != local
            },
            "netserver can only repeat netperf's: give one for both, or netperf's alone",
        )],
        ..ANYWHERE
    },
    // Every other socket over IP takes a pacing rate; TCP and the queue fq heed it.
    Place {
        features: &[Feature::Setting(Setting::PacingRate)],
        unless: &[
            (
                |case| case.over(&[TransportId::Mptcp]),
                "sockets of Multipath TCP have no pacing rate",
            ),
            (|case| !case.plan.transport.is_inet(), "only IP has it"),
        ],
        ..ANYWHERE
    },
];

const RATE: &[(Condition, &str)] = &[
    (
        |case| case.plan.flow.connects && case.plan.many.is_none(),
        "in tests that open a connection for every operation only with --flows, which says how \
         many may be under way at the same time",
    ),
    (
        |case| case.plan.flow.duplex.is_some(),
        "not together with --bidirectional",
    ),
    (
        |case| {
            let (local, remote) = (&case.plan.local, &case.plan.remote);
            let stamps = local.stamps.or(remote.stamps);
            stamps.is_some() && (stamps != Some(Stamper::Kernel) || !case.over(&[TransportId::Udp]))
        },
        "together with --timestamps only --timestamps software, over UDP",
    ),
    (
        |case| case.plan.local.stamps.is_some() && case.plan.many.is_some(),
        "together with --timestamps not with --flows",
    ),
    (
        |case| {
            let plan = case.plan;
            let least = plan.request.min(plan.response).unwrap_or(0);
            plan.local.stamps.is_some() && least < u32::from(Stamps::NUMBER_BYTES)
        },
        "together with --timestamps a number takes 8 bytes of each message: give -- -r 8,8 or more",
    ),
    (
        |case| case.plan.local.auto_io || case.plan.remote.auto_io,
        "not with --io auto, which compares throughput: a rate fixes it",
    ),
    (
        |case| has_bursts(case.end),
        "not together with the other way to pace, -b",
    ),
    (
        |case| rate(case).is_some_and(|rate| !is_often_enough(case, rate)),
        "a message must be due every ten seconds at least, on each flow: give a higher rate or -m",
    ),
    // Requests that are sent when they are due.
    (
        |case| asks(case) && rate(case).is_some_and(|rate| rate.unit == RateUnit::Packets),
        "requests are counted by the second: leave out pps",
    ),
    (
        |case| asks(case) && rate(case).is_some_and(|rate| rate.unit == RateUnit::Bits),
        "requests are counted by the second: leave out the unit",
    ),
    (|case| asks(case) && is_empty(case.plan), EMPTY),
    (
        |case| asks(case) && case.plan.burst > 0,
        "it has as many requests in flight as it takes: leave out the burst (-- -b)",
    ),
    (
        |case| asks(case) && case.plan.flow.connects && case.over(&[TransportId::Dccp]),
        "a response that DCCP loses would hold its flow until the end of the test",
    ),
    (
        |case| asks(case) && !case.plan.flow.connects && !case.over(SENDS_AT_ONCE),
        "over this transport only one way: a call for a response cannot be put off",
    ),
    (
        |case| asks(case) && case.plan.local.socket.non_blocking,
        "not with -B: it has a way of its own not to block",
    ),
    // Data that is evenly spaced.
    (
        |case| !asks(case) && rate(case).is_some_and(|rate| rate.arrival != Arrival::Constant),
        "data that goes one way is evenly spaced: --arrival is for requests",
    ),
    (
        |case| {
            let packets = rate(case).is_some_and(|rate| rate.unit == RateUnit::Packets);
            !asks(case) && packets && !case.plan.transport.keeps_boundaries()
        },
        "a byte stream has no packets of its own: give bits per second",
    ),
    (
        |case| !asks(case) && case.end.io.is_batched(),
        "not together with --batch and --segment-offload: it would space batches",
    ),
    (
        |case| {
            let flow = case.plan.flow;
            flow.receives && !flow.sends && case.plan.has_no_peer() && !asks(case)
        },
        "without a control connection the other end cannot be asked to keep to it",
    ),
];

const BIDIRECTIONAL: &[(Condition, &str)] = &[
    (
        |case| {
            let transactions = case.plan.test.row().flow.counts_transactions();
            let usual = case.is(TestId::Omni) || !transactions;
            !usual || case.is(TestId::TcpSendfile)
        },
        DUPLEX,
    ),
    (|case| case.plan.has_no_peer(), WITH_A_NETSERVER),
    (
        |case| {
            let local = &case.plan.local;
            case.plan.use_write || local.copy_avoidance || local.socket.fast_open
        },
        "not together with -I, -V and -F",
    ),
    (
        |case| any_end(case, is_particular),
        "not together with -n, -N and -B",
    ),
    (
        |case| {
            let apart = case.plan.flow.duplex == Some(Duplex::Separate);
            apart && case.plan.remote.sequence
        },
        "separate is not together with --sequence: give same",
    ),
];

const UNTIL: &[(Condition, &str)] = &[
    (
        |case| case.plan.flow.connects && case.plan.control.is_some(),
        "netserver does not notice the end of tests that open a connection for every \
         operation: use -I, or TCP_RR",
    ),
    (
        |case| {
            let kernel = case.over(&[TransportId::Sctp, TransportId::SctpMany, TransportId::Dccp]);
            kernel && case.part() == Receive && case.plan.control.is_some()
        },
        "the kernel ends both directions of SCTP and DCCP at once, so netserver does not notice \
         the end of such a test before its time is over: use -I",
    ),
    (
        |case| {
            let transport = case.plan.transport;
            let suite = case.plan.test.row().suite;
            let link = matches!(suite, Suite::Dlpi | Suite::Fore | Suite::Hippi);
            let tells = if case.part() == Receive {
                transport.hears_of_an_end()
            } else {
                transport.is_connected() || transport.is_inet()
            };
            case.plan.control.is_some() && (link || !tells)
        },
        "netserver does not notice the end of such a test before its time is over: use -I",
    ),
];

const BULK: &[EndPart] = &[Send, Receive, BothWays, Nothing];
const SENDS: &[EndPart] = &[Send, BothWays];
const RECEIVES: &[EndPart] = &[Receive, BothWays];
const STAYING: &[EndPart] = &[Send, Receive, BothWays, Transactions, Nothing];

const RING: &str = "not in tests that open a connection for every operation, which would set up a \
                    ring for each: give --io epoll";
const CONNECTS: &str = "not in tests that open a connection for every operation";
const STREAMS: &str = "only in tests that send data one way or both ways";
const NOT_PLAIN: &str = "only over TCP, UDP, Unix-domain and vsock streams";
const OTHER_CALLS: &str = "only with send and recv, not with -I, -V and TCP_SENDFILE";
const PARTICULAR: &str = "a receiver of many takes neither -n and -N nor -B";
const PACED: &str = "not together with -b: it would pace batches";
const SPLICE: &str = "only over TCP, and not together with --discard and --io uring";
const STAMPS: &str = "only in request/response tests over TCP and UDP";
const EMPTY: &str = "requests and responses must have a byte at least: not with -- -r of 0";
const SEQUENCE: &str = "only in stream tests over UDP, UDP-Lite, DCCP and Unix-domain datagrams";
const DUPLEX: &str = "only in stream tests, and not with TCP_SENDFILE";
const WITH_A_NETSERVER: &str = "only with a netserver";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_one_place() {
        for feature in Feature::all() {
            let rows = PLACES.iter().filter(|row| row.features.contains(&feature));
            let expected = usize::from(!matches!(feature, Feature::Setting(_)));
            let found = rows.count();
            assert!(found >= expected && found <= 1, "{feature:?}: {found}");
        }
    }
}
