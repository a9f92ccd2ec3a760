//! What no kernel and no peer can do: ways to move bytes that do not go with a test.

use crate::catalog::settings::{Setting, SettingLayer};
use crate::catalog::tests::TestId;
use crate::catalog::transports::TransportId;
use crate::io::{Feature, IoMethod, IoPlan};
use crate::plan::{Duplex, EndPlan, Limit, RingPlan, TestPlan, TouchPlan};
use crate::quality::NUMBER_BYTES;
use crate::rate::{Arrival, RatePlan, RateUnit};

/// Something that was asked for in a test that has no place for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The option that asks for it.
    pub option: &'static str,
    /// Why not.
    pub why: &'static str,
}

/// The first thing that a plan asks for and that cannot be.
#[must_use]
pub fn refusal(plan: &TestPlan) -> Option<Refusal> {
    let flow = plan.flow;
    // Over two connections it is no feature of an end, but has its limits all the same.
    if let Some(why) = flow.duplex.and_then(|over| no_duplex(plan, over)) {
        let option = Feature::Duplex.option();
        return Some(Refusal { option, why });
    }
    if let Some(refusal) = of_sockets(plan) {
        return Some(refusal);
    }
    let local = Way {
        sends: flow.sends,
        receives: flow.receives,
    };
    let remote = Way {
        sends: flow.receives,
        receives: flow.sends,
    };
    let ends = [(&plan.local, local), (&plan.remote, remote)];
    ends.into_iter()
        .find_map(|(end, way)| of_end(plan, end, way))
}

/// What sockets cannot do in some tests, although nothing but a wait without an end tells of it.
fn of_sockets(plan: &TestPlan) -> Option<Refusal> {
    let silent = plan.flow.receives && !plan.flow.sends;
    let apart = plan.flow.duplex == Some(Duplex::Separate);
    if plan.remote.socket.defer_accept && is_tcp(plan.transport) && (silent || apart) {
        return Some(Refusal {
            option: "--defer-accept (-- -a)",
            why: "netserver would wait for data, and netperf sends none over a connection on \
                  which netserver sends: leave it out",
        });
    }
    let exchanges = plan.flow.connects || !plan.transport.row().reliable;
    if plan.response == Some(0) && matches!(plan.limit, Limit::Units(_)) && exchanges {
        return Some(Refusal {
            option: "--request-size (-- -r)",
            why: "a response of no bytes never comes, and nothing else ends this test: give a \
                  byte or more, or a time",
        });
    }
    let local = is_local(plan.transport) || plan.transport == TransportId::UnixDatagram;
    (plan.control.is_none() && local).then_some(Refusal {
        option: "--no-control (-N)",
        why: "over this transport only netserver can tell where its socket is: leave it out",
    })
}

/// What an end does with data.
#[derive(Clone, Copy)]
struct Way {
    sends: bool,
    receives: bool,
}

fn of_end(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<Refusal> {
    end.features().into_iter().find_map(|feature| {
        let why = why_not(plan, end, way, feature)?;
        let own =
            feature == Feature::Setting(Setting::PacingRate) && std::ptr::eq(end, &plan.local);
        let option = if own {
            "--pacing-rate"
        } else {
            feature.option()
        };
        Some(Refusal { option, why })
    })
}

fn why_not(plan: &TestPlan, end: &EndPlan, way: Way, feature: Feature) -> Option<&'static str> {
    match feature {
        Feature::Poll | Feature::Epoll => no_method(plan, end),
        Feature::Uring => no_uring(plan, end, way),
        Feature::ZeroCopy => no_zerocopy(plan, end, way),
        Feature::Discard => no_discard(plan, end, way),
        Feature::Batch => no_batch(plan, end, way),
        Feature::Segments => no_segments(plan, end, way),
        Feature::Splice => no_splice(plan, end, way),
        Feature::Setting(setting) => no_setting(plan, setting),
        Feature::Timestamps | Feature::DeviceStamps => no_stamps(plan, end),
        Feature::Pages if end.series.is_none() => None,
        Feature::Pages | Feature::Series => no_series(plan),
        Feature::Rate => end.rate.as_ref().and_then(|rate| no_rate(plan, end, rate)),
        Feature::Sequence => no_sequence(plan, end, way),
        // Seen to before.
        Feature::Duplex => None,
        Feature::OnePort => no_one_port(plan),
        Feature::Until => no_early_end(plan),
    }
}

/// Where netserver alone sends it must be told of an end, and stop at once.
fn no_early_end(plan: &TestPlan) -> Option<&'static str> {
    (!plan.transport.hears_of_an_end()).then_some(
        "nothing tells netserver of the end of such a test before its time is over: use -I",
    )
}

/// The listener of netserver is not this test's alone, and only TCP and UDP come in by it.
fn no_one_port(plan: &TestPlan) -> Option<&'static str> {
    let over_tcp = matches!(plan.transport, TransportId::Tls | TransportId::Ktls);
    if !(over_tcp || is_tcp(plan.transport) || is_udp(plan.transport)) {
        return Some("only over TCP, TLS and UDP");
    }
    if plan.control.is_none() {
        return Some("only with a netserver");
    }
    if plan.flow.duplex == Some(Duplex::Separate) {
        return Some("one connection at a time: give --bidirectional same");
    }
    let (local, remote) = (&plan.local.socket, &plan.remote.socket);
    if local.fast_open || remote.fast_open || remote.defer_accept {
        return Some("netserver's port is not the test's own: no Fast Open, no deferred accept");
    }
    if remote.packet_info || remote.settings.value(Setting::FlowLabel).is_some() {
        return Some("netserver's port is not the test's own: not with -B and --flow-label there");
    }
    None
}

/// A transaction is told from others by there being one at a time, at one socket.
fn no_stamps(plan: &TestPlan, end: &EndPlan) -> Option<&'static str> {
    let single = plan.flow.is_request_response() && !plan.flow.connects;
    if !single || !(is_tcp(plan.transport) || is_udp(plan.transport)) {
        return Some("only in request/response tests over TCP and UDP, on one socket");
    }
    if plan.control.is_none() {
        return Some("both ends stamp: only with a netserver");
    }
    if plan.many.is_some() || plan.burst > 0 {
        return Some("not with several transactions at the same time");
    }
    if is_empty(plan) {
        return Some(EMPTY);
    }
    if plan.recv_timeout.is_some() {
        return Some("not together with -e: requests that were lost would be counted differently");
    }
    let socket = &end.socket;
    if socket.connected_datagram || socket.packet_info || socket.fast_open {
        return Some("not together with -n, -N, -B and -F");
    }
    let plain = end.io == IoPlan::default() && !plan.use_write && !end.copy_avoidance;
    (!plain).then_some("only with plain calls: not with --io, -I and -V")
}

/// A second look at one connection takes one that stays, and TCP underneath.
fn no_series(plan: &TestPlan) -> Option<&'static str> {
    if plan.flow.connects || plan.test == TestId::TcpMss {
        return Some(CONNECTS);
    }
    (!tells_of_tcp(plan.transport)).then_some("only TCP tells (TCP_INFO)")
}

/// Whether TCP is underneath, and tells of its connections (`TCP_INFO`).
#[must_use]
pub const fn tells_of_tcp(transport: TransportId) -> bool {
    matches!(
        transport,
        TransportId::Tcp
            | TransportId::IpDefault
            | TransportId::Mptcp
            | TransportId::Tls
            | TransportId::Ktls
    )
}

const CONNECTS: &str = "not in tests that open a connection for every operation";
const BOTH_WAYS: &str = "only in tests that send data one way";

fn no_method(plan: &TestPlan, end: &EndPlan) -> Option<&'static str> {
    if plan.flow.connects {
        return Some(CONNECTS);
    }
    if !(is_tcp(plan.transport) || is_udp(plan.transport) || is_local(plan.transport)) {
        return Some("only over TCP, UDP, Unix-domain and vsock streams");
    }
    if plan.use_write || end.copy_avoidance || plan.test == TestId::TcpSendfile {
        return Some("only with send and recv, not with -I, -V and TCP_SENDFILE");
    }
    (end.io.method == IoMethod::Epoll && end.io.is_batched())
        .then_some("not together with --batch and --segment-offload")
}

fn no_zerocopy(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<&'static str> {
    if plan.flow.connects || way.receives || !way.sends {
        return Some("only where one end sends and the other receives");
    }
    if !is_tcp(plan.transport) || plan.test == TestId::TcpSendfile {
        return Some("only over TCP, and not with TCP_SENDFILE");
    }
    let waits = matches!(end.io.method, IoMethod::Blocking | IoMethod::Uring) && !plan.use_write;
    (!waits).then_some("it waits for the kernel: not with --io poll or epoll, nor with -I")
}

fn no_discard(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<&'static str> {
    if plan.flow.connects || way.sends || !way.receives {
        return Some(BOTH_WAYS);
    }
    if is_udp(plan.transport) {
        return no_batch(plan, end, way);
    }
    (!is_tcp(plan.transport)).then_some("only over TCP and UDP")
}

fn no_batch(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<&'static str> {
    if plan.flow.connects || plan.flow.is_request_response() {
        return Some(BOTH_WAYS);
    }
    if !is_udp(plan.transport) {
        let many_at_once = end.io.method == IoMethod::Uring && is_tcp(plan.transport);
        return (!many_at_once).then_some("only over UDP");
    }
    let particular = end.socket.connected_datagram || end.socket.packet_info;
    if way.receives && particular {
        return Some("a receiver of many takes neither -n and -N nor -B");
    }
    let paced = end.pace.is_some_and(|pace| pace.burst > 0);
    (way.sends && paced).then_some("not together with -b: it would pace batches")
}

fn no_duplex(plan: &TestPlan, over: Duplex) -> Option<&'static str> {
    let (test, transport) = (plan.test, plan.transport);
    let usual = test == TestId::Omni || !test.row().flow.counts_transactions();
    if plan.flow.connects || !usual || test == TestId::TcpSendfile {
        return Some("only in stream tests, and not with TCP_SENDFILE");
    }
    if !(is_tcp(transport) || carries_both(transport)) {
        return Some("only over TCP, Multipath TCP, UDP, UDP-Lite, Unix-domain and vsock streams");
    }
    if plan.control.is_none() {
        return Some("only with a netserver");
    }
    if plan.use_write || plan.local.copy_avoidance || plan.local.socket.fast_open {
        return Some("not together with -I, -V and -F");
    }
    let ends = [&plan.local, &plan.remote];
    if plan.many.is_none() && ends.iter().any(|end| end.io != IoPlan::default()) {
        return Some("not together with --io and the other options about data paths");
    }
    if ends.iter().any(|end| !is_plain(&end.io)) {
        return Some("of the data paths many flows both ways have --io epoll and poll alone");
    }
    let particular = |end: &&EndPlan| end.socket.connected_datagram || end.socket.packet_info;
    if ends.iter().any(particular) {
        return Some("not together with -n, -N and -B");
    }
    (over == Duplex::Separate && plan.remote.sequence)
        .then_some("separate is not together with --sequence: give same")
}

/// Whether an end waits in a usual way, and then makes the usual calls.
fn is_plain(io: &IoPlan) -> bool {
    let usual = IoPlan {
        method: io.method,
        ..IoPlan::default()
    };
    *io == usual && io.method != IoMethod::Uring
}

const fn carries_both(transport: TransportId) -> bool {
    matches!(
        transport,
        TransportId::Mptcp
            | TransportId::Udp
            | TransportId::UdpLite
            | TransportId::UnixStream
            | TransportId::Vsock
    )
}

fn no_rate(plan: &TestPlan, end: &EndPlan, rate: &RatePlan) -> Option<&'static str> {
    if plan.flow.connects && plan.many.is_none() {
        return Some(
            "in tests that open a connection for every operation only with --flows, which says \
             how many may be under way at the same time",
        );
    }
    if plan.flow.duplex.is_some() {
        return Some("not together with --bidirectional");
    }
    if plan.local.stamps.or(plan.remote.stamps).is_some() {
        return Some("not together with --timestamps");
    }
    if plan.local.auto_io || plan.remote.auto_io {
        return Some("at a rate every way to move bytes moves as much: not with --io auto");
    }
    if end.pace.is_some_and(|pace| pace.burst > 0) {
        return Some("not together with the other way to pace, -b");
    }
    if !is_often_enough(plan, end, rate) {
        return Some(
            "a message must be due every ten seconds at least, on each flow: give a higher rate \
             or -m",
        );
    }
    if plan.flow.counts_transactions() {
        no_open_loop(plan, end, rate)
    } else {
        no_even_spacing(plan, end, rate)
    }
}

/// Whether what is due comes often enough for an end not to be taken for a dead one.
fn is_often_enough(plan: &TestPlan, end: &EndPlan, rate: &RatePlan) -> bool {
    /// Seconds.
    const SELDOM: f64 = 10.0;
    /// The longest message of UDP, and the least that a byte stream sends at once, bytes.
    const DERIVED: (u32, u32) = (65_507, 1024);
    let unit = match rate.unit {
        RateUnit::Transactions | RateUnit::Packets => 1.0,
        RateUnit::Bits => {
            let whole = plan.transport.keeps_boundaries();
            let derived = if whole { DERIVED.0 } else { DERIVED.1 };
            f64::from(end.send.size.unwrap_or(derived)) * 8.0
        }
    };
    // Connections are opened by whoever is free.
    let share = plan.many.as_ref().filter(|_| !plan.flow.connects);
    let flows = share.map_or(1, |many| many.flows);
    unit / rate.of_each(flows).per_second <= SELDOM
}

/// Whether requests or responses are nothing that could be told from an end.
fn is_empty(plan: &TestPlan) -> bool {
    [plan.request, plan.response].contains(&Some(0))
}

const EMPTY: &str = "requests and responses must have a byte at least: not with -- -r of 0";

/// Why requests cannot be sent at times of their own.
fn no_open_loop(plan: &TestPlan, end: &EndPlan, rate: &RatePlan) -> Option<&'static str> {
    if rate.unit != RateUnit::Transactions {
        return Some("requests are counted by the second: leave out pps");
    }
    if is_empty(plan) {
        return Some(EMPTY);
    }
    if plan.burst > 0 {
        return Some("it has as many requests in flight as it takes: leave out the burst (-- -b)");
    }
    if !sends_at_once(plan.transport) {
        return Some("over this transport only one way: a call for a response cannot be put off");
    }
    if plan.local.socket.non_blocking {
        return Some("not with -B: it has a way of its own not to block");
    }
    // Threads with flows wait for both in any case.
    let waits = plan.many.is_some() || matches!(end.io.method, IoMethod::Blocking | IoMethod::Poll);
    (!waits).then_some(
        "it waits for the time and the response at once: with --io blocking or poll at this end",
    )
}

/// Why data that goes one way cannot be spaced evenly.
fn no_even_spacing(plan: &TestPlan, end: &EndPlan, rate: &RatePlan) -> Option<&'static str> {
    if rate.arrival != Arrival::Constant {
        return Some("data that goes one way is evenly spaced: --arrival is for requests");
    }
    if rate.unit == RateUnit::Packets && !plan.transport.keeps_boundaries() {
        return Some("a byte stream has no packets of its own: give bits per second");
    }
    if end.io.is_batched() {
        return Some("not together with --batch and --segment-offload: it would space batches");
    }
    let by_netserver = plan.flow.receives && !plan.flow.sends;
    (by_netserver && plan.control.is_none())
        .then_some("with no control connection nobody can ask the other end to keep to it")
}

/// Transports whose socket tells when a response is there, and takes a request at once.
const fn sends_at_once(transport: TransportId) -> bool {
    matches!(
        transport,
        TransportId::Tcp
            | TransportId::IpDefault
            | TransportId::Mptcp
            | TransportId::Sdp
            | TransportId::UnixStream
            | TransportId::Vsock
            | TransportId::Ktls
            | TransportId::UnixSeqPacket
            | TransportId::VsockSeqPacket
            | TransportId::Sctp
            | TransportId::Udp
            | TransportId::UdpLite
            | TransportId::UnixDatagram
    )
}

fn no_segments(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<&'static str> {
    if !is_udp(plan.transport) && !plan.flow.connects && !plan.flow.is_request_response() {
        return Some("only over UDP");
    }
    no_batch(plan, end, way)
}

/// A ring takes calls as they are, many at a time, and none of the other ways.
fn no_uring(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<&'static str> {
    if let Some(why) = no_method(plan, end) {
        return Some(why);
    }
    let io = &end.io;
    if io.segments {
        return Some("not together with --segment-offload");
    }
    if io.discard && (io.batch.is_some() || is_udp(plan.transport)) {
        return Some("with --discard only over TCP and without --batch");
    }
    if io.zerocopy && io.batch.is_some() {
        return Some("not together with --zerocopy and --batch");
    }
    // What arrives many at a time lies in memory that the kernel chooses from.
    let looks = end.touch != TouchPlan::default() || end.sequence;
    let elsewhere = io.batch.is_some() && way.receives && looks;
    elsewhere
        .then_some("with --batch nobody looks at what arrives: leave out -k, -K and --sequence")
}

fn no_splice(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<&'static str> {
    if plan.flow.connects || way.sends || !way.receives {
        return Some(BOTH_WAYS);
    }
    if !is_tcp(plan.transport) || end.io.discard || end.io.method == IoMethod::Uring {
        return Some("only over TCP, and not together with --discard and --io uring");
    }
    None
}

fn no_setting(plan: &TestPlan, setting: Setting) -> Option<&'static str> {
    if setting == Setting::FlowLabel {
        return no_flow_label(plan);
    }
    // Sockets of other transports take a pacing rate, though only TCP and the queue fq keep to it.
    if setting == Setting::PacingRate && plan.transport == TransportId::Mptcp {
        return Some("sockets of Multipath TCP have no pacing rate");
    }
    match setting.row().over {
        SettingLayer::Tcp => (!is_tcp(plan.transport)).then_some("only TCP has it"),
        SettingLayer::Ip => (!plan.transport.is_inet()).then_some("only IP has it"),
    }
}

fn no_flow_label(plan: &TestPlan) -> Option<&'static str> {
    if !(is_tcp(plan.transport) || is_udp(plan.transport)) {
        return Some("only over TCP and UDP");
    }
    let label = |end: &EndPlan| end.socket.settings.value(Setting::FlowLabel);
    let (local, remote) = (label(&plan.local), label(&plan.remote));
    let another = remote.is_some() && remote != local;
    another.then_some("netserver can only repeat netperf's: give one for both, or netperf's alone")
}

fn no_sequence(plan: &TestPlan, end: &EndPlan, way: Way) -> Option<&'static str> {
    let counts = plan.flow.connects || plan.flow.is_request_response();
    if counts || !is_datagram(plan.transport) {
        return Some("only in stream tests over UDP, UDP-Lite, DCCP and Unix-domain datagrams");
    }
    if plan.many.is_some() {
        return Some("not together with options about many flows");
    }
    if plan.control.is_none() {
        return Some("only with a netserver");
    }
    if end.io.discard {
        return Some("not together with --discard: the numbers would be thrown away, too");
    }
    let too_short = |ring: &RingPlan| ring.size.is_some_and(|size| size < NUMBER_BYTES);
    let short = (way.sends && too_short(&end.send)) || (way.receives && too_short(&end.recv));
    short.then_some("a number takes 24 bytes of a message: give -m and -M of 24 or more")
}

const fn is_datagram(transport: TransportId) -> bool {
    matches!(
        transport,
        TransportId::Udp | TransportId::UdpLite | TransportId::Dccp | TransportId::UnixDatagram
    )
}

const fn is_tcp(transport: TransportId) -> bool {
    matches!(transport, TransportId::Tcp | TransportId::IpDefault)
}

const fn is_udp(transport: TransportId) -> bool {
    matches!(transport, TransportId::Udp)
}

const fn is_local(transport: TransportId) -> bool {
    matches!(
        transport,
        TransportId::UnixStream | TransportId::UnixDatagram | TransportId::Vsock
    )
}
