//! Messages of a client: its header, and the beginning of its datagrams.

use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan, Iperf2Rate};

use crate::messages::{
    Amount, ClientHeader, EXTENDED_LEN, Flags, FrameNumbers, HeaderExtension, RateStart, STAMP,
    UdpHeader, UpperFlags, VERSION, WireTime,
};

/// Announced length of datagrams with trip times.
const TIMED_LEN: usize = 108;
/// Length of the whole header of datagrams with trip times.
const TIMED_WHOLE: usize = 128;
/// Small form of datagrams with trip times.
const SMALL_TIMED: [u8; 4] = [0, 2, 0, 0];

/// Bytes in front of the payload of a TCP connection; empty without a header. `now` is the time
/// of day.
#[must_use]
pub fn tcp_header(plan: &Iperf2Plan, now: WireTime) -> Vec<u8> {
    if plan.compatible {
        return Vec::new();
    }
    let mut header = base(plan);
    header.rate_start = (plan.trip_times || plan.fq_rate.is_some()).then(|| rate_start(plan, now));
    let length = header.length();
    header.flags = flags(plan).with_length(length);
    header.encode()
}

/// Bytes behind number and time of a client's datagrams. A datagram that is shorter holds as much
/// as fits; the first is long enough for all.
#[must_use]
pub fn udp_header(plan: &Iperf2Plan, now: WireTime) -> Vec<u8> {
    if plan.compatible {
        return Vec::new();
    }
    if plan.trip_times && plan.block() < TIMED_WHOLE {
        return SMALL_TIMED.to_vec();
    }
    let mut header = base(plan);
    let length = if plan.trip_times {
        TIMED_LEN
    } else {
        STAMP + EXTENDED_LEN
    };
    let asks = header.upper() != UpperFlags::NONE;
    header.flags = flags(plan)
        .with(Flags::SEQUENCE64, true)
        .with(Flags::UDP_TESTS, asks)
        .with_length(length);
    let timed = plan
        .trip_times
        .then(|| (FrameNumbers::default(), rate_start(plan, now)));
    UdpHeader { header, timed }.encode()
}

/// Start time and fair-queue rate, bytes per second.
fn rate_start(plan: &Iperf2Plan, now: WireTime) -> RateStart {
    let rate = plan.fq_rate.unwrap_or_default() / 8;
    let [a, b, c, d, low @ ..] = rate.to_be_bytes();
    RateStart {
        reserved: 0,
        start: now,
        rate: [u32::from_be_bytes(low), u32::from_be_bytes([a, b, c, d])],
    }
}

fn flags(plan: &Iperf2Plan) -> Flags {
    let two_way = matches!(
        plan.direction,
        Iperf2Direction::Reverse | Iperf2Direction::FullDuplex
    );
    Flags::EXTEND
        .with(Flags::VERSION1, plan.direction.connects_back())
        .with(Flags::RUN_NOW, plan.direction == Iperf2Direction::Dual)
        .with(Flags::VERSION2, two_way || plan.detects_peer)
        .with(Flags::PEER_DETECT, plan.detects_peer)
}

fn base(plan: &Iperf2Plan) -> ClientHeader {
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let upper = UpperFlags::NONE
        .with(
            UpperFlags::REVERSE,
            plan.direction == Iperf2Direction::Reverse,
        )
        .with(
            UpperFlags::FULL_DUPLEX,
            plan.direction == Iperf2Direction::FullDuplex,
        )
        .with(UpperFlags::TRIP_TIMES, plan.trip_times)
        .with(UpperFlags::FQ_RATE, plan.fq_rate.is_some())
        .with(
            UpperFlags::NO_UDP_FIN,
            plan.no_udp_fin || (plan.udp && plan.direction == Iperf2Direction::FullDuplex),
        );
    let amount = match plan.amount {
        Iperf2Amount::Bytes(bytes) => Amount::Bytes(word(bytes)),
        Iperf2Amount::Time(time) => Amount::Centiseconds(word(
            u64::try_from(time.as_millis() / 10).unwrap_or(u64::MAX),
        )),
    };
    let rate = match plan.effective_rate() {
        Some(Iperf2Rate::Bits(rate) | Iperf2Rate::Packets(rate)) => word(rate),
        None => 0,
    };
    let length = plan.length.unwrap_or_default();
    ClientHeader {
        threads: plan.streams.max(1),
        port: plan.listen_port.unwrap_or(plan.port).into(),
        buffer_len: u32::try_from(length).unwrap_or(u32::MAX),
        amount,
        extension: Some(HeaderExtension {
            upper,
            version: VERSION,
            tos: plan.tos.unwrap_or_default().into(),
            rate,
            ..HeaderExtension::default()
        }),
        ..ClientHeader::default()
    }
}
