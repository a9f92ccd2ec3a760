//! Groups of transports and conditions of an end that the table of features names.

use super::{EndCase, UDP};
use crate::catalog::tests::TestId;
use crate::catalog::transports::TransportId;
use crate::plan::EndPlan;
use crate::rate::{RatePlan, RateUnit};

pub(super) const TCP_AND_UDP: &[TransportId] =
    &[TransportId::Tcp, TransportId::IpDefault, TransportId::Udp];

/// Transports whose sockets take the plain calls.
pub(super) const PLAIN: &[TransportId] = &[
    TransportId::Tcp,
    TransportId::IpDefault,
    TransportId::Udp,
    TransportId::UnixStream,
    TransportId::UnixDatagram,
    TransportId::Vsock,
];

/// Transports over TCP whose sockets have `TCP_INFO`.
pub(super) const TELLS_OF_TCP: &[TransportId] = &[
    TransportId::Tcp,
    TransportId::IpDefault,
    TransportId::Mptcp,
    TransportId::Tls,
    TransportId::Ktls,
];

/// Transports whose sockets report a response, and take a request at once.
pub(super) const SENDS_AT_ONCE: &[TransportId] = &[
    TransportId::Tcp,
    TransportId::IpDefault,
    TransportId::Mptcp,
    TransportId::Sdp,
    TransportId::UnixStream,
    TransportId::Vsock,
    TransportId::Ktls,
    TransportId::UnixSeqPacket,
    TransportId::VsockSeqPacket,
    TransportId::Sctp,
    TransportId::Udp,
    TransportId::UdpLite,
    TransportId::UnixDatagram,
];

pub(super) fn other_calls(case: &EndCase<'_>) -> bool {
    case.plan.use_write || case.end.copy_avoidance || case.is(TestId::TcpSendfile)
}

/// True if a socket reads the addresses of datagrams, or has a single peer.
pub(super) fn is_particular(end: &EndPlan) -> bool {
    end.socket.connected_datagram || end.socket.packet_info
}

pub(super) fn particular_receiver(case: &EndCase<'_>) -> bool {
    case.over(UDP) && case.receives && is_particular(case.end)
}

pub(super) fn paced_sender(case: &EndCase<'_>) -> bool {
    case.over(UDP) && case.sends && has_bursts(case.end)
}

pub(super) fn has_bursts(end: &EndPlan) -> bool {
    end.pace.is_some_and(|pace| pace.burst > 0)
}

pub(super) fn any_end(case: &EndCase<'_>, is: fn(&EndPlan) -> bool) -> bool {
    is(&case.plan.local) || is(&case.plan.remote)
}

pub(super) fn rate<'a>(case: &EndCase<'a>) -> Option<&'a RatePlan> {
    case.end.rate.as_ref()
}

/// True if a rate is one of requests.
pub(super) fn asks(case: &EndCase<'_>) -> bool {
    case.plan.flow.counts_transactions()
}

/// True if messages are due often enough that their absence means an end.
pub(super) fn is_often_enough(case: &EndCase<'_>, rate: &RatePlan) -> bool {
    /// Seconds.
    const SELDOM: f64 = 10.0;
    /// The longest message of UDP, and the least that a byte stream sends at once, bytes.
    const DERIVED: (u32, u32) = (65_507, 1024);
    let plan = case.plan;
    let unit = match rate.unit {
        RateUnit::Transactions | RateUnit::Packets => 1.0,
        RateUnit::Bits => {
            let whole = plan.transport.keeps_boundaries();
            let derived = if whole { DERIVED.0 } else { DERIVED.1 };
            f64::from(case.end.send.size.unwrap_or(derived)) * 8.0
        }
    };
    // Connections are opened by any flow that is free.
    let share = plan.many.as_ref().filter(|_| !plan.flow.connects);
    let flows = share.map_or(1, |many| many.flows);
    unit / rate.of_each(flows).per_second <= SELDOM
}
