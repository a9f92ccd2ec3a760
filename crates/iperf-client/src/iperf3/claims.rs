//! Checks that the results of a server of iperf3 are possible.

use netperf_iperf3::doubt::doubt;
use netperf_iperf3::figures::{StreamFigures, StreamInfo, Totals};
use netperf_iperf3::messages::{Parameters, Protocol, Results, StreamResults};

use netperf_measure::contradiction::{DatagramClaims, WayClaims};

/// Seconds by which a server's test may be longer: it waits for data that the network holds.
const LONGER: f64 = 100.0;

/// Text of the first results of a server that cannot be.
pub(super) fn contradiction(
    parameters: &Parameters,
    infos: &[StreamInfo],
    totals: &Totals,
    peer: &Results,
) -> Option<String> {
    let streams = infos.iter().zip(&totals.streams);
    let of_streams = streams
        .filter_map(|(info, own)| Some((info, own, peer.of(info.id)?)))
        .find_map(|(info, own, peer)| of(parameters, totals.seconds, info, (own, peer)));
    let contradiction = of_streams.or_else(|| doubt(peer, totals.seconds, LONGER))?;
    Some(format!(
        "the server reports {contradiction}: its results cannot be right"
    ))
}

fn of(
    parameters: &Parameters,
    seconds: f64,
    info: &StreamInfo,
    (own, peer): (&StreamFigures, &StreamResults),
) -> Option<String> {
    let udp = parameters.protocol == Protocol::Udp;
    let (bytes, datagrams) = if info.sends {
        let claims = DatagramClaims {
            sent: own.packets,
            expected: peer.packets,
            lost: peer.errors,
        };
        ((own.bytes, peer.bytes), claims)
    } else {
        let claims = DatagramClaims {
            sent: peer.packets,
            expected: own.packets,
            lost: own.lost,
        };
        ((peer.bytes, own.bytes), claims)
    };
    let way = WayClaims {
        uncounted: 0,
        sent: bytes.0,
        received: bytes.1,
        connections: u64::from(!udp),
        datagrams: udp.then_some(datagrams),
        retransmitted: peer.retransmits.filter(|_| !udp).unwrap_or(0),
        // The parts that count begin at different times.
        is_whole: parameters.omit == 0,
        // Times are judged apart.
        seconds: [seconds; 2],
    };
    let is_more = !udp && way.is_whole && bytes.1 > bytes.0;
    let more = is_more.then(|| format!("{} bytes received of {} bytes sent", bytes.1, bytes.0));
    more.or_else(|| way.contradiction())
}
