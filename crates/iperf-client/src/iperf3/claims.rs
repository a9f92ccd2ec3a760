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
    let streams: Vec<MatchedStream<'_>> = streams
        .filter_map(|(info, own)| Some((info, own, peer.of(info.id)?)))
        .collect();
    let of_streams = if parameters.protocol == Protocol::Udp {
        let mut streams = streams.iter();
        streams.find_map(|stream| of_datagrams(parameters, totals.seconds, stream))
    } else {
        // The server accepts connections in another order than the client makes them if a packet is
        // lost; both number their streams in their own order.
        let mut ways = [true, false].into_iter();
        ways.find_map(|sends| of_connections(parameters, totals.seconds, &streams, sends))
    };
    let contradiction = of_streams.or_else(|| doubt(peer, totals.seconds, LONGER))?;
    Some(format!(
        "the server reports {contradiction}: its results cannot be right"
    ))
}

/// A stream, its counts here and those of the server.
type MatchedStream<'a> = (&'a StreamInfo, &'a StreamFigures, &'a StreamResults);

/// Contradiction in the sums of all TCP streams in one direction.
fn of_connections(
    parameters: &Parameters,
    seconds: f64,
    streams: &[MatchedStream<'_>],
    sends: bool,
) -> Option<String> {
    let streams = streams.iter().filter(|(info, ..)| info.sends == sends);
    let (mut own_bytes, mut peer_bytes, mut retransmitted, mut connections) = (0_u64, 0, 0, 0);
    for (_, own, peer) in streams {
        own_bytes = own.bytes.saturating_add(own_bytes);
        peer_bytes = peer.bytes.saturating_add(peer_bytes);
        retransmitted = peer.retransmits.unwrap_or(0).saturating_add(retransmitted);
        connections += 1;
    }
    let (sent, received) = if sends {
        (own_bytes, peer_bytes)
    } else {
        (peer_bytes, own_bytes)
    };
    let way = WayClaims {
        sent,
        received,
        connections,
        retransmitted,
        ..way(parameters, seconds)
    };
    let is_more = way.is_whole && received > sent;
    let more = is_more.then(|| format!("{received} bytes received of {sent} bytes sent"));
    more.or_else(|| way.contradiction())
}

/// Contradiction in the counts of a UDP stream.
fn of_datagrams(
    parameters: &Parameters,
    seconds: f64,
    (info, own, peer): &MatchedStream<'_>,
) -> Option<String> {
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
        sent: bytes.0,
        received: bytes.1,
        datagrams: Some(datagrams),
        ..way(parameters, seconds)
    };
    way.contradiction()
}

/// Claims without counts.
fn way(parameters: &Parameters, seconds: f64) -> WayClaims {
    WayClaims {
        // The parts that count begin at different times.
        is_whole: parameters.omit == 0,
        // Times are judged apart.
        seconds: [seconds; 2],
        ..WayClaims::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(id: u32) -> StreamInfo {
        StreamInfo {
            id,
            sends: true,
            local: None,
            remote: None,
        }
    }

    fn of(sent: [u64; 2], received: [u64; 2]) -> Option<String> {
        let infos = [info(1), info(3)];
        let own = sent.map(|bytes| StreamFigures {
            bytes,
            ..StreamFigures::default()
        });
        let peer = [(1, received[0]), (3, received[1])].map(|(id, bytes)| StreamResults {
            id,
            bytes,
            ..StreamResults::default()
        });
        let streams = infos.iter().zip(&own).zip(&peer);
        let streams: Vec<MatchedStream<'_>> = streams
            .map(|((info, own), peer)| (info, own, peer))
            .collect();
        of_connections(&Parameters::default(), 1.0, &streams, true)
    }

    #[test]
    fn connections_are_judged_by_their_sum() {
        assert_eq!(of([300_000, 100_000], [300_000, 100_000]), None);
        assert_eq!(of([300_000, 100_000], [100_000, 300_000]), None);
        let more = of([300_000, 100_000], [300_000, 100_001]);
        let wanted = "400001 bytes received of 400000 bytes sent";
        assert_eq!(more.as_deref(), Some(wanted));
    }
}
